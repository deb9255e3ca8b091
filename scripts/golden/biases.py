"""Golden values of the encodings that bias scores by distance, from the papers' formulas in numpy.

    .venv/bin/python scripts/golden/biases.py > tests/vectors/biases.h

Nothing here follows the program: slopes are recursive as in the authors' code, buckets are found
with integers, xPos is computed with complex numbers and without a centre."""

import numpy as np

from buckets import bucket


def slopes(heads):
    """get_slopes of ofirpress/attention_with_linear_biases."""
    power = 1 << (heads.bit_length() - 1)
    if power == heads:
        start = 2 ** (-(2 ** -(np.log2(heads) - 3)))
        return [start * start**i for i in range(heads)]
    return slopes(power) + slopes(2 * power)[0::2][: heads - power]


def wave(count, rate, phase):
    """Numbers of order 1 that the test computes too: sin(rate i + phase)."""
    return np.sin(rate * np.arange(count) + phase)


def xpos_scores(length, heads, width, base, scale_base):
    """Re sum_c q_c conj(k_c) exp(i w_c n) z_c^(n/B) / sqrt(d), n the distance; -1 where masked."""
    shape = (heads, length, width)
    q = wave(heads * length * width, 0.7, 0.1).reshape(shape)
    k = wave(heads * length * width, 1.3, 0.5).reshape(shape)
    q, k = q[..., 0::2] + 1j * q[..., 1::2], k[..., 0::2] + 1j * k[..., 1::2]
    channel = np.arange(0, width, 2) / width
    w, z = base**-channel, (channel + 0.4) / 1.4
    n = np.subtract.outer(np.arange(length), np.arange(length))[..., None]
    factor = np.exp(1j * w * n) * z ** (n / scale_base)
    scores = np.einsum("hic,hjc,ijc->hij", q, k.conj(), factor).real / np.sqrt(width)
    return np.where(np.tril(np.ones((length, length), bool)), scores, -1)


def sandwich(heads, d_bar, distances):
    """Inner products of the sinusoids of two positions, minus that of a position with itself."""
    w = 10000.0 ** (-2 * np.arange(1, d_bar // 2 + 1) / d_bar)
    at = lambda m: np.concatenate([np.sin(m * w), np.cos(m * w)])
    products = np.array([at(5000 + n) @ at(5000) - at(0) @ at(0) for n in distances])
    return np.array([products / (8 * h / heads) for h in range(1, heads + 1)])


def emit(name, values, kind="double"):
    print(f"\nstatic const {kind} {name}[] = {{")
    line = "   "
    for value in np.ravel(values):
        text = f" {int(value)}," if kind == "int" else f" {float(value)!r},"
        if len(line + text) > 100:
            print(line)
            line = "   "
        line += text
    print(line + "};")


print("/* Written by: .venv/bin/python scripts/golden/biases.py > tests/vectors/biases.h */")
emit("golden_slopes", sum((slopes(heads) for heads in range(1, 41)), []))
for causal, buckets, farthest in [(1, 32, 128), (1, 32, 256), (1, 8, 32), (1, 16, 64), (1, 7, 20),
                                  (0, 32, 128), (0, 8, 20)]:
    found = [bucket(n, causal, buckets, farthest) for n in range(-300, 301)]
    emit(f"golden_{'causal' if causal else 'both'}_{buckets}_{farthest}", found, "int")
far = np.array([0, 1, 2, 3, 7, 10, 50, 100, 500, 1000, 4095])
emit("golden_far", far, "int")
emit("golden_kerple_log", [-r1 * np.log(1 + r2 * far) for r1, r2 in [(0.5, 2), (1.25, 0.0625)]])
emit("golden_kerple_power", [-r1 * far**r2 for r1, r2 in [(0.5, 2), (1.25, 0.0625)]])
emit("golden_sandwich_128", sandwich(4, 128, far))
emit("golden_sandwich_6", sandwich(4, 6, far))
emit("golden_xpos", xpos_scores(6, 2, 8, 10000.0, 512))
emit("golden_xpos_short", xpos_scores(6, 2, 8, 100.0, 4))
