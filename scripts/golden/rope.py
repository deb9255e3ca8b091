"""Golden frequencies and magnitudes of rope's scalings, from Hugging Face's transformers. That code
computes in float32; here its float32 is made float64, so that the values are exact to 1e-15.

    pip install torch transformers
    python3 scripts/golden/rope.py > tests/vectors/rope.h"""

import platform

import torch
import transformers
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

torch.float = torch.float32 = torch.float64

# our options, head width, current length, and what transformers calls the same
CASES = [
    ("", 32, 64, {"rope_type": "linear", "factor": 1.0}),
    ("scaling=linear factor=4", 32, 64, {"rope_type": "linear", "factor": 4.0}),
    ("scaling=linear factor=3 fraction=0.5 base=500000", 64, 64,
     {"rope_type": "linear", "factor": 3.0, "partial_rotary_factor": 0.5, "rope_theta": 5e5}),
    ("turning=0.75", 32, 64, {"rope_type": "proportional", "partial_rotary_factor": 0.75}),
    ("turning=0.25 base=1000000", 64, 64,
     {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}),
] + [
    ("scaling=dynamic factor=2 original_length=64", 32, length,
     {"rope_type": "dynamic", "factor": 2.0, "original": 64})
    for length in (20, 64, 65, 128, 256)
] + [
    ("scaling=dynamic factor=1 original_length=64 fraction=0.25", 64, 700,
     {"rope_type": "dynamic", "factor": 1.0, "original": 64, "partial_rotary_factor": 0.25}),
    ("scaling=yarn factor=4 original_length=64", 32, 64,
     {"rope_type": "yarn", "factor": 4.0, "original": 64}),
    ("scaling=yarn factor=4 original_length=2048", 64, 8192,
     {"rope_type": "yarn", "factor": 4.0, "original": 2048}),
    ("scaling=yarn factor=16 original_length=4096", 128, 64,
     {"rope_type": "yarn", "factor": 16.0, "original": 4096}),
    ("scaling=yarn factor=8 original_length=256 beta_fast=8 beta_slow=2 attention_factor=1.25", 32,
     64, {"rope_type": "yarn", "factor": 8.0, "original": 256, "beta_fast": 8, "beta_slow": 2,
          "attention_factor": 1.25}),
    ("scaling=yarn factor=4 original_length=512 fraction=0.5 base=500000", 64, 64,
     {"rope_type": "yarn", "factor": 4.0, "original": 512, "partial_rotary_factor": 0.5,
      "rope_theta": 5e5}),
    ("scaling=llama3 factor=8 original_length=8192 base=500000", 128, 64,
     {"rope_type": "llama3", "factor": 8, "original": 8192, "rope_theta": 5e5}),
    ("scaling=llama3 factor=32 original_length=8192 base=500000", 64, 64,
     {"rope_type": "llama3", "factor": 32.0, "original": 8192, "rope_theta": 5e5}),
    ("scaling=llama3 factor=4 original_length=64 low_factor=0.5 high_factor=2", 32, 64,
     {"rope_type": "llama3", "factor": 4.0, "original": 64, "low_freq_factor": 0.5,
      "high_freq_factor": 2.0}),
]


def theirs(width, length, given):
    given = dict(given)
    original = given.pop("original", 64)
    parameters = {"rope_theta": 1e4, "original_max_position_embeddings": original}
    if given["rope_type"] == "llama3":
        parameters |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    config = LlamaConfig(hidden_size=width, num_attention_heads=1, head_dim=width,
                         max_position_embeddings=original, rope_parameters=parameters | given)
    return ROPE_INIT_FUNCTIONS[given["rope_type"]](config, "cpu", seq_len=length)


print("/* Written by: python3 scripts/golden/rope.py > tests/vectors/rope.h")
print("   ROPE_INIT_FUNCTIONS of transformers, its float32 made float64;")
print(f"   transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]};"
      f" Python {platform.python_version()}. */")
cases = []
for number, (options, width, length, given) in enumerate(CASES):
    frequency, magnitude = theirs(width, length, given)
    assert frequency.dtype == torch.float64
    lines, line = [], "   "
    for value in frequency.tolist():
        text = f" {value:.17g},"
        if len(line + text) > 100:
            lines.append(line)
            line = "   "
        line += text
    print(f"static const double rope_{number}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n")
    cases.append(f'    {{"{options}",\n     {width}, {length}, {magnitude!r}, '
                 f"{len(frequency)}, rope_{number}}},")
print("static const struct {\n    const char *options;\n    int head_width;\n    double length, "
      "magnitude;\n    size_t pairs;\n    const double *frequency;\n} rope_cases[] = {")
print("\n".join(cases))
print("};")
