"""Golden values of fire: section 3 of arXiv 2310.04418 in numpy, pair by pair.

    python3 scripts/golden/fire.py > tests/vectors/fire.h"""

import math

import numpy as np

from inputs import D, HEADS, Header, parameter, places, softmax, tokens


def bias(at, i, seen, c, far_from, w1, b1, w2, b2):
    """What query i adds to the scores of the keys before `seen`: [seen, HEADS]."""
    x = np.log1p(c * np.abs(at[i] - at[:seen])) / (np.log1p(c * max(far_from, at[i])) + 1e-6)
    return np.maximum(x[:, None] * w1 + b1, 0) @ w2 + b2


def network(hidden):
    w1, b1 = parameter(2, hidden), parameter(3, hidden)
    return w1, b1, parameter(4, hidden, HEADS), parameter(5, HEADS)


def fire(length, causal, kind, hidden, threshold):
    q, k, v, _ = tokens(length)
    at = places(kind, length)
    c = abs(parameter(0, 1)[0])
    far_from = abs(parameter(1, 1)[0]) * threshold
    p, o = np.zeros((HEADS, length, length)), np.zeros((HEADS, length, D))
    for i in range(length):
        seen = i + 1 if causal else length
        added = bias(at, i, seen, c, far_from, *network(hidden))
        for h in range(HEADS):
            p[h, i, :seen] = softmax(k[h, :seen] @ q[h, i] / math.sqrt(D) + added[:, h])
            o[h, i] = p[h, i] @ v[h]
    return p, o


def near_zero(c, kind):
    """The bias of two queries, one on each side of L0 = 100, with a kink of f near 0."""
    w1, b1, w2, b2 = network(32)
    w1[0], b1[0] = 1, -0.02
    at = places(kind, 300)
    rows = [bias(at, i, i + 1, c, 100, w1, b1, w2, b2)[::23] for i in (46, 299)]
    return np.concatenate(rows).ravel()


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

print("\n/* c, are positions fractions, the bias of queries 46 and 299 to every 23rd key. */")
print("static const struct {\n    double c;\n    bool fractions;\n    double bias[17][2];")
print("} fire_near_zero[] = {")
for c in (0, 1e-9, 1e-7, 1e-5, 1e-3):
    for kind in ("plain", "fractions"):
        pairs = near_zero(c, kind).reshape(-1, 2)
        print(f"    {{{c:g}, {str(kind == 'fractions').lower()},")
        print("     {" + ",\n      ".join(f"{{{a:.17g}, {b:.17g}}}" for a, b in pairs) + "}},")
print("};")
