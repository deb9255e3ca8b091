"""Golden values of fire: section 3 of arXiv 2310.04418 in numpy, pair by pair.

    python3 scripts/golden/fire.py > tests/vectors/fire.h"""

import math

import numpy as np

from inputs import D, HEADS, Header, parameter, places, softmax, tokens


def fire(length, causal, kind, hidden, threshold):
    q, k, v, _ = tokens(length)
    at = places(kind, length)
    c = abs(parameter(0, 1)[0])
    far_from = abs(parameter(1, 1)[0]) * threshold
    w1, b1 = parameter(2, hidden), parameter(3, hidden)
    w2, b2 = parameter(4, hidden, HEADS), parameter(5, HEADS)

    def psi(x):
        return np.log(c * x + 1)

    p, o = np.zeros((HEADS, length, length)), np.zeros((HEADS, length, D))
    for i in range(length):
        seen = i + 1 if causal else length
        x = psi(np.abs(at[i] - at[:seen])) / (psi(max(far_from, at[i])) + 1e-6)
        bias = np.maximum(x[:, None] * w1 + b1, 0) @ w2 + b2
        for h in range(HEADS):
            p[h, i, :seen] = softmax(k[h, :seen] @ q[h, i] / math.sqrt(D) + bias[:, h])
            o[h, i] = p[h, i] @ v[h]
    return p, o


header = Header("fire", "the paper's formula in numpy")
for length, causal, kind, hidden, threshold in [
    (9, True, "plain", 5, 8),
    (9, False, "plain", 32, 8),
    (9, True, "fractions", 3, 8),
    (300, True, "plain", 32, 200),
    (300, True, "gaps", 32, 200),
    (300, False, "plain", 32, 200),
    (300, False, "fractions", 17, 200),
    (300, True, "plain", 64, 1),
]:
    p, o = fire(length, causal, kind, hidden, threshold)
    header.case("fire", f"hidden={hidden} threshold={threshold}", length, o,
                p if length < 20 else None, causal, kind)
header.print()
