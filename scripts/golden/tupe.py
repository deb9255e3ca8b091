"""Golden values of tupe: section 3 of arXiv 2006.15595 in numpy, with a layer norm of p.

    python3 scripts/golden/tupe.py > tests/vectors/tupe.h"""

import math

import numpy as np

from buckets import bucket
from inputs import D, HEADS, WIDTH, Header, parameter, places, softmax, tokens


def tupe(length, causal, kind, rows, past_end, relative, buckets, farthest):
    q, k, v, _ = tokens(length)
    at = places(kind, length)
    table = parameter(0, rows, WIDTH)
    centred = table - table.mean(1, keepdims=True)
    norm = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    sides = [(norm @ parameter(n, WIDTH, WIDTH)).reshape(rows, HEADS, D) for n in (1, 2)]
    bias = parameter(3, HEADS, buckets)
    if past_end == "interpolate" and length > rows:
        at = at * (rows - 1) / (length - 1)
    row = np.clip(at, 0, rows - 1)
    low, high = np.floor(row).astype(int), np.ceil(row).astype(int)
    share = (row - low)[:, None, None]
    of_q, of_k = ((1 - share) * side[low] + share * side[high] for side in sides)

    at = places(kind, length)
    p, o = np.zeros((HEADS, length, length)), np.zeros((HEADS, length, D))
    for h in range(HEADS):
        for i in range(length):
            seen = i + 1 if causal else length
            scores = (k[h, :seen] @ q[h, i] + of_k[:seen, h] @ of_q[i, h]) / math.sqrt(2 * D)
            if relative:
                scores += [bias[h, bucket(int(at[i] - at[j]), causal, buckets, farthest)]
                           for j in range(seen)]
            p[h, i, :seen] = softmax(scores)
            o[h, i] = p[h, i] @ v[h]
    return p, o


header = Header("tupe", "the paper's formula in numpy")
for length, causal, kind, rows, past_end, relative, buckets, farthest in [
    (9, True, "plain", 9, "error", 0, 32, 128),
    (9, False, "plain", 12, "error", 1, 8, 9),
    (9, True, "plain", 4, "interpolate", 1, 6, 9),
    (300, True, "plain", 300, "error", 1, 32, 128),
    (300, False, "gaps", 2100, "error", 1, 32, 128),
    (300, True, "gaps", 310, "clamp", 0, 32, 128),
    (300, False, "plain", 47, "interpolate", 0, 32, 128),
]:
    p, o = tupe(length, causal, kind, rows, past_end, relative, buckets, farthest)
    options = f"positions={rows} past_end={past_end} relative={str(bool(relative)).lower()}"
    if relative:
        options += f" buckets={buckets} max_distance={farthest}"
    header.case("tupe", options, length, o, p if length < 20 else None, causal, kind)
header.print()
