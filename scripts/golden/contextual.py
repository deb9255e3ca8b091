"""Golden values of cope, stick_breaking and fox: the papers' formulas, product by product.

    python3 scripts/golden/contextual.py > tests/vectors/contextual.h"""

import math

import numpy as np

from inputs import D, HEADS, WIDTH, Header, parameter, softmax, tokens


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def weights(length, row):
    """p and o from row(head, i, z), the probabilities of keys 0 … i; z are the scaled products."""
    q, k, v, _ = tokens(length)
    p, o = np.zeros((HEADS, length, length)), np.zeros((HEADS, length, D))
    for h in range(HEADS):
        for i in range(length):
            z = [float(q[h, i] @ k[h, j]) / math.sqrt(D) for j in range(i + 1)]
            p[h, i, : i + 1] = row(h, i, z)
            for j in range(i + 1):
                o[h, i] += p[h, i, j] * v[h, j]
    return p, o


def cope(length, npos, scale):
    """Equations 3 to 5 of arXiv 2405.18719."""
    q, table = tokens(length)[0], parameter(0, npos, D)

    def row(h, i, z):
        scores = []
        for j in range(i + 1):
            position = min(sum(sigmoid(z[t]) for t in range(j, i + 1)), npos - 1)
            low, high = math.floor(position), math.ceil(position)
            e = table[low] + (position - low) * (table[high] - table[low])
            scores.append(z[j] + q[h, i] @ e / (math.sqrt(D) if scale == "both" else 1))
        return softmax(np.array(scores))

    return weights(length, row)


def stick_breaking(length):
    """Section 2 of arXiv 2410.17980: what each key breaks off, from the nearest."""

    def row(h, i, z):
        p, left = [0.0] * (i + 1), 1.0
        for j in reversed(range(i)):
            p[j] = left * sigmoid(z[j])
            left *= 1 - sigmoid(z[j])
        return p

    return weights(length, row)


def fox(length):
    """Equation 4 of arXiv 2503.02130: exponentials of scores times products of forget gates."""
    x = tokens(length)[3]
    gate_weight, gate_bias = parameter(0, HEADS, WIDTH), parameter(1, HEADS)

    def row(h, i, z):
        f = [sigmoid(float(gate_weight[h] @ x[t]) + gate_bias[h]) for t in range(i + 1)]
        kept = [math.exp(z[j]) * math.prod(f[j + 1 : i + 1]) for j in range(i + 1)]
        return np.array(kept) / sum(kept)

    return weights(length, row)


header = Header("contextual", "the papers' formulas in numpy")
for length in (9, 300):
    for npos, scale in [(3, "both"), (7, "content"), (400, "both")]:
        p, o = cope(length, npos, scale)
        options = f"npos={npos} scale={scale}"
        header.case("cope", options, length, o, p if length < 20 else None)
    for name, of in [("stick_breaking", stick_breaking), ("fox", fox)]:
        p, o = of(length)
        header.case(name, "", length, o, p if length < 20 else None)
header.print()
