"""Golden values of linear attention: RoFormer (arXiv 2104.09864), equation 19, weight by weight.

    python3 scripts/golden/linear.py > tests/vectors/linear.h"""

import numpy as np

from inputs import D, HEADS, Header, places, tokens


def elu_plus_one(x):
    return np.where(x > 0, x + 1, np.exp(x))


def rotation(position, pairs=D // 2, base=10000.0):
    """R of equation 15 for channel pairs (c, c + D/2), this program's default layout."""
    matrix = np.zeros((D, D))
    for c in range(pairs):
        angle = position * base ** (-2 * c / D)
        first, second = c, c + pairs
        matrix[first, first] = matrix[second, second] = np.cos(angle)
        matrix[first, second], matrix[second, first] = -np.sin(angle), np.sin(angle)
    return matrix


def linear(length, causal, kind, feature, turns):
    """turns: "after" the features, in the numerator alone (equation 19), "before", "never"."""
    q, k, v, _ = tokens(length)
    turn = [rotation(position) for position in places(kind, length)]
    p, o = np.zeros((HEADS, length, length)), np.zeros((HEADS, length, D))
    for h in range(HEADS):
        if turns == "before":
            fq = [feature(turn[i] @ q[h, i]) for i in range(length)]
            fk = [feature(turn[i] @ k[h, i]) for i in range(length)]
        else:
            fq, fk = feature(q[h]), feature(k[h])
        for i in range(length):
            seen = range(i + 1 if causal else length)
            below = sum(fq[i] @ fk[j] for j in seen)
            for j in seen:
                if turns == "after":
                    above = (turn[i] @ fq[i]) @ (turn[j] @ fk[j])
                else:
                    above = fq[i] @ fk[j]
                p[h, i, j] = above / below
            o[h, i] = p[h, i] @ v[h]
    return p, o


header = Header("linear", "the papers' formulas in numpy")
for map_name, feature in [("elu", elu_plus_one), ("exp", np.exp)]:
    for turns in ["never", "after", "before"]:
        name = f"linear nope {map_name}" if turns == "never" else f"linear rope {map_name} {turns}"
        for length, causal, kind in [(9, True, "plain"), (9, False, "gaps"),
                                     (150, True, "fractions"), (150, False, "plain")]:
            p, o = linear(length, causal, kind, feature, turns)
            header.case(name, "", length, o, p if length < 20 else None, causal, kind)
header.print()
