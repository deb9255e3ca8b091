"""Golden values of pope from PoPE-pytorch, which x-transformers has to agree with.

    pip install torch einops PoPE-pytorch x-transformers
    python3 scripts/golden/pope.py > tests/vectors/pope.h"""

import importlib.metadata
import math

import torch
from PoPE_pytorch import PoPE
from x_transformers.x_transformers import apply_polar_pos_emb

from inputs import D, HEADS, Header, parameter, places, tokens

# Everything in double: both ask for float.
torch.set_default_dtype(torch.float64)
torch.Tensor.float = torch.Tensor.double


@torch.no_grad()
def pope(length, causal, kind, base):
    q, k, v, _ = (torch.from_numpy(array) for array in tokens(length))
    module = PoPE(D, heads=HEADS, theta=base)
    # Both clamp the phases to -2 pi ... 0: the same angles, there.
    phase = torch.from_numpy(parameter(0, HEADS, D))
    module.bias.copy_(phase - 2 * math.pi * (phase > 0))
    freqs, bias = module(torch.from_numpy(places(kind, length) * 1.0))
    wide_q, wide_k = PoPE.apply_pope_to_qk((freqs, bias), q[None], k[None])
    scores = (wide_q @ wide_k.transpose(-1, -2))[0] / math.sqrt(D)
    other = apply_polar_pos_emb(q, freqs[None]) @ apply_polar_pos_emb(
        k, freqs[None] + bias[:, None]
    ).transpose(-1, -2)
    assert torch.allclose(other / math.sqrt(D), scores, rtol=0, atol=1e-13)
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
    p = scores.softmax(-1)
    return p.numpy(), (p @ v).numpy()


versions = ", ".join(
    f"{name} {importlib.metadata.version(name)}"
    for name in ("PoPE-pytorch", "x-transformers", "torch")
)
header = Header("pope", versions)
for length, causal, kind, base in [
    (9, True, "plain", 10000),
    (9, False, "fractions", 100),
    (300, True, "plain", 10000),
    (300, False, "gaps", 10000),
]:
    p, o = pope(length, causal, kind, base)
    header.case("pope", f"base={base}", length, o, p if length < 20 else None, causal, kind)
header.print()
