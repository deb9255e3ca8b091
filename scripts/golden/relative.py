"""Golden values of shaw, transformer_xl and deberta: the papers' formulas, score by score.

    python3 scripts/golden/relative.py > tests/vectors/relative.h"""

import math

import numpy as np

from inputs import D, HEADS, WIDTH, Header, parameter, places, softmax, tokens


def attention(length, causal, score, value):
    """p and o from functions of (head, i, j)."""
    p, o = np.zeros((HEADS, length, length)), np.zeros((HEADS, length, D))
    for h in range(HEADS):
        for i in range(length):
            seen = range(i + 1 if causal else length)
            p[h, i, : len(seen)] = softmax(np.array([score(h, i, j) for j in seen]))
            for j in seen:
                o[h, i] += p[h, i, j] * value(h, i, j)
    return p, o


def shaw(length, causal, kind, clip, values):
    """Equations 3 and 4 of arXiv 1803.02155."""
    q, k, v, _ = tokens(length)
    at = places(kind, length)
    a_k, a_v = parameter(0, 2 * clip + 1, D), parameter(1, 2 * clip + 1, D)

    def w(table, i, j):
        return table[int(max(-clip, min(clip, at[j] - at[i]))) + clip]

    return attention(
        length,
        causal,
        lambda h, i, j: q[h, i] @ (k[h, j] + w(a_k, i, j)) / math.sqrt(D),
        lambda h, i, j: v[h, j] + (w(a_v, i, j) if values else 0),
    )


def transformer_xl(length, causal, kind):
    """Section 3.3 of arXiv 1901.02860, with the sinusoids of the authors' code: sines, cosines."""
    q, k, v, _ = tokens(length)
    at = places(kind, length)
    w_r, u, bias_v = parameter(0, WIDTH, WIDTH), parameter(1, HEADS, D), parameter(2, HEADS, D)

    def key(h, distance):
        angles = [distance / 10000 ** (2 * t / WIDTH) for t in range(WIDTH // 2)]
        r = np.array([math.sin(a) for a in angles] + [math.cos(a) for a in angles])
        return (r @ w_r)[h * D : (h + 1) * D]

    def score(h, i, j):
        content = (q[h, i] + u[h]) @ k[h, j]
        return (content + (q[h, i] + bias_v[h]) @ key(h, at[i] - at[j])) / math.sqrt(D)

    return attention(length, causal, score, lambda h, i, j: v[h, j])


def log_bucket(distance, buckets, span):
    """DeBERTa-v2: exact up to the middle, then logarithmic."""
    middle = buckets // 2
    if abs(distance) <= middle:
        return distance
    steps = math.log(abs(distance) / middle) / math.log((span - 1) / middle) * (middle - 1)
    return math.copysign(math.ceil(steps) + middle, distance)


def deberta(length, causal, kind, span, buckets=0, terms=("c2p", "p2c"), p2c="paper"):
    """Equations 2 to 4 of arXiv 2006.03654."""
    q, k, v, _ = tokens(length)
    at = places(kind, length)
    side = buckets or span
    table, n = parameter(0, 2 * side, WIDTH), 1
    w_key = w_query = None
    if "c2p" in terms:
        w_key, n = parameter(n, WIDTH, WIDTH), n + 1
    if "p2c" in terms:
        w_query = parameter(n, WIDTH, WIDTH)

    def row(distance):
        b = log_bucket(distance, buckets, span) if buckets else distance
        return table[int(max(0, min(2 * side - 1, b + side)))]

    def score(h, i, j):
        mine = slice(h * D, (h + 1) * D)
        sum_ = q[h, i] @ k[h, j]
        if "c2p" in terms:
            sum_ += q[h, i] @ (row(at[i] - at[j]) @ w_key)[mine]
        if "p2c" in terms:
            delta = at[j] - at[i] if p2c == "paper" else at[i] - at[j]
            sum_ += k[h, j] @ (row(delta) @ w_query)[mine]
        return sum_ / math.sqrt(D * (1 + len(terms)))

    return attention(length, causal, score, lambda h, i, j: v[h, j])


header = Header("relative", "the papers' formulas in numpy")
for length, causal, kind in [(9, True, "plain"), (9, False, "gaps"), (300, True, "plain"),
                             (300, False, "gaps")]:
    for clip, values in [(3, True), (40, False)]:
        p, o = shaw(length, causal, kind, clip, values)
        options = f"clip={clip} values={str(values).lower()}"
        header.case("shaw", options, length, o, p if length < 20 else None, causal, kind)
for length, causal, kind in [(9, True, "plain"), (9, False, "plain"), (9, False, "fractions"),
                             (300, True, "plain"), (300, True, "fractions"), (300, False, "plain"),
                             (300, False, "gaps")]:
    p, o = transformer_xl(length, causal, kind)
    header.case("transformer_xl", "", length, o, p if length < 20 else None, causal, kind)
for length, causal, kind in [(9, True, "plain"), (9, False, "gaps"), (300, True, "plain"),
                             (300, False, "gaps")]:
    for span, buckets, terms, p2c in [(5, 0, "both", "paper"), (40, 8, "both", "code"),
                                      (24, 0, "c2p", "paper"), (50, 10, "p2c", "paper")]:
        each = ("c2p", "p2c") if terms == "both" else (terms,)
        p, o = deberta(length, causal, kind, span, buckets, each, p2c)
        options = f"span={span} buckets={buckets} terms={terms} p2c_index={p2c}"
        header.case("deberta", options, length, o, p if length < 20 else None, causal, kind)
header.print()
