"""What the golden scripts share with tests/golden.c: inputs that both compute, and the C header.

Every array is sin(0.37 n^2 + seed) of the running index n: numbers of order 1 without a pattern."""

import platform

import numpy as np

HEADS, D = 2, 4
WIDTH = HEADS * D
SEED = {"q": 1, "k": 2, "v": 3, "x": 4, "parameter": 11}  # an encoding's n-th parameter: 11 + n


def wave(seed, *shape):
    n = np.arange(int(np.prod(shape)), dtype=float)
    return np.sin(0.37 * (n * n) + seed).reshape(shape)


def parameter(n, *shape):
    return wave(SEED["parameter"] + n, *shape)


def tokens(length):
    """q, k, v of every head [HEADS, length, D], the layer's input [length, WIDTH]."""
    heads = [wave(SEED[name], HEADS, length, D) for name in ("q", "k", "v")]
    return *heads, wave(SEED["x"], length, WIDTH)


def places(kind, length):
    i = np.arange(length)
    return {"plain": i * 1.0, "gaps": i + i * i // 50 * 1.0, "fractions": 1.37 * i}[kind]


def softmax(scores):
    top = np.exp(scores - np.max(scores))
    return top / top.sum()


class Header:
    """Cases of tests/golden.h: probabilities where asked for, outputs of every stride-th token."""

    def __init__(self, name, how):
        self.name, self.how, self.arrays, self.cases = name, how, [], []

    def array(self, values):
        name = f"{self.name}_{len(self.arrays)}"
        lines, line = [], "   "
        for value in np.ravel(values):
            text = f" {float(value):.17g},"
            if len(line + text) > 100:
                lines.append(line)
                line = "   "
            line += text
        body = "\n".join(lines + [line])
        self.arrays.append(f"static const double {name}[] = {{\n{body}\n}};")
        return name

    def case(self, encoding, options, length, o, probability=None, causal=True, kind="plain"):
        stride = 1 if length < 20 else 23
        p = "NULL" if probability is None else self.array(probability)
        outputs = self.array(o[:, ::stride])
        self.cases.append(
            f'    {{"{encoding}", "{options}", {length}, {stride},\n'
            f"     {str(causal).lower()}, POSITIONS_{kind.upper()}, {p}, {outputs}}},"
        )

    def print(self):
        print(f"/* Written by: python3 scripts/golden/{self.name}.py > tests/vectors/{self.name}.h")
        print(f"   {self.how};")
        print(f"   Python {platform.python_version()}, numpy {np.__version__}. */")
        print("\n\n".join(self.arrays))
        print(f"\nstatic const GoldenCase {self.name}_cases[] = {{")
        print("\n".join(self.cases))
        print("};")
