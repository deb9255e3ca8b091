"""Golden values from other people's code: cope from x-transformers, fox and stick_breaking from
flash-linear-attention, deberta (p2c_index = "code") from Hugging Face's transformers.

    pip install torch x-transformers flash-linear-attention transformers
    python3 scripts/golden/packages.py > tests/vectors/packages.h"""

import importlib.metadata
import math

import numpy as np
import torch
from fla.ops.forgetting_attn.naive import naive_forgetting_attn
from fla.ops.stickbreaking_attn.naive import naive_stickbreaking_attn
from transformers.models.deberta_v2.configuration_deberta_v2 import DebertaV2Config
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention
from x_transformers.x_transformers import CoPE

from inputs import D, HEADS, WIDTH, Header, parameter, tokens

# Everything in double: naive_forgetting_attn asks for float.
torch.set_default_dtype(torch.float64)
torch.Tensor.float = torch.Tensor.double


def tensors(length):
    return [torch.from_numpy(array) for array in tokens(length)]


def softmax_attention(scores, v, causal):
    length = scores.shape[-1]
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -math.inf)
    p = scores.softmax(-1)
    return p.numpy(), (p @ v).numpy()


@torch.no_grad()
def cope(length, npos):
    q, k, v, _ = tensors(length)
    module = CoPE(D, HEADS, npos)
    module.pos_emb.copy_(torch.from_numpy(parameter(0, npos, D)))
    scores = q @ k.transpose(-1, -2) / math.sqrt(D)
    hidden = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -1e300)
    return softmax_attention(scores + module(q[None], hidden[None])[0], v, True)


@torch.no_grad()
def fox(length):
    q, k, v, x = tensors(length)
    weight = torch.from_numpy(parameter(0, HEADS, WIDTH))
    bias = torch.from_numpy(parameter(1, HEADS))
    gates = torch.nn.functional.logsigmoid(x @ weight.T + bias)[None]
    q, k, v = (array.transpose(0, 1)[None] for array in (q, k, v))
    return naive_forgetting_attn(q, k, v, gates)[0].transpose(0, 1).numpy()


@torch.no_grad()
def stick_breaking(length):
    q, k, v, _ = tensors(length)
    q, k, v = (array.transpose(0, 1)[None] for array in (q, k, v))
    return naive_stickbreaking_attn(q, k, v)[0][0].transpose(0, 1).numpy()


@torch.no_grad()
def deberta(length, causal, span, buckets):
    q, k, v, _ = tensors(length)
    module = DisentangledSelfAttention(
        DebertaV2Config(
            hidden_size=WIDTH,
            num_attention_heads=HEADS,
            relative_attention=True,
            pos_att_type=["c2p", "p2c"],
            max_relative_positions=span,
            position_buckets=buckets or -1,
        )
    ).eval()
    for n, projection in enumerate((module.pos_key_proj, module.pos_query_proj)):
        projection.weight.copy_(torch.from_numpy(parameter(1 + n, WIDTH, WIDTH)).T)
        projection.bias.zero_()
    table = torch.from_numpy(parameter(0, 2 * (buckets or span), WIDTH))
    bias = module.disentangled_attention_bias(q, k, None, table, 3)
    bias *= float(np.float32(math.sqrt(3 * D))) / math.sqrt(3 * D)  # its scale is a float
    return softmax_attention(q @ k.transpose(-1, -2) / math.sqrt(3 * D) + bias, v, causal)


versions = ", ".join(
    f"{name} {importlib.metadata.version(name)}"
    for name in ("x-transformers", "flash-linear-attention", "transformers", "torch")
)
header = Header("packages", versions)
for length in (9, 300):
    for npos in (3, 16):
        p, o = cope(length, npos)
        header.case("cope", f"npos={npos} scale=content", length, o, p if length < 20 else None)
    header.case("fox", "", length, fox(length))
    header.case("stick_breaking", "", length, stick_breaking(length))
    for causal in (True, False):
        for span, buckets in [(6, 0), (40, 8)]:
            p, o = deberta(length, causal, span, buckets)
            options = f"span={span} buckets={buckets} p2c_index=code"
            header.case("deberta", options, length, o, p if length < 20 else None, causal)
header.print()
