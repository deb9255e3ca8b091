#!/usr/bin/env python3
"""A trained model in PyTorch: rebuilt from its result file, attention written out.

    from torch_model import load            # with scripts/ on the path
    model = load("results/NAME/ID/run.h5")  # an nn.Module; dtype=torch.float64 is possible
    logits = model(tokens)                  # tokens [items, length], logits [.., vocabulary]

On the command line:

    scripts/torch_model.py RESULT.h5                     what it holds
    scripts/torch_model.py RESULT.h5 --check FORWARD.h5  compares with `./harness forward RESULT.h5`
    scripts/torch_model.py RESULT.h5 ... --vectors       logits for src/selftest_vectors.h

Needs torch, h5py and numpy (scripts/requirements-torch.txt). Every encoding is one function below,
written from its paper in terms of whole [query, key] matrices: easy to read, quadratic in memory.
docs/PYTORCH.md says more."""

import argparse
import json
import math
import platform
import sys
import textwrap
from dataclasses import dataclass, replace

import h5py
import numpy as np
import torch
from torch import nn
from torch.nn import functional

TOLERANCE = 1e-4  # of the largest logit: what float training has to be faithful to


@dataclass
class Attention:
    """What the encoding of one layer works on: b items, h heads, t tokens, d channels of a head."""

    q: torch.Tensor  # [b, h, t, d], like k and v
    k: torch.Tensor
    v: torch.Tensor
    x: torch.Tensor  # [b, t, width] the layer's input, after its norm
    positions: torch.Tensor  # [b, t]
    visible: torch.Tensor  # [b, 1, t, t] of query and key: may the query see the key?
    options: dict  # of the encoding, as in docs/CONFIG.md
    weights: dict  # parameters of the encoding, by their names
    causal: bool
    trained_length: int  # the longest of training

    @property
    def distance(self):  # [b, 1, t, t] query position - key position
        return self.positions[:, None, :, None] - self.positions[:, None, None, :]

    def by_head(self, numbers):  # a number a head, [1, h, 1, 1]
        return torch.as_tensor(numbers, dtype=self.q.dtype, device=self.q.device).view(1, -1, 1, 1)

    def softmax(self, scores, visible=None):
        """Probabilities of the keys that are seen; all 0 where a query sees none."""
        visible = self.visible if visible is None else visible
        p = scores.masked_fill(~visible, -math.inf).softmax(-1)
        return p.masked_fill(~visible, 0).to(self.v.dtype)


def scores(q, k):
    return q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])


# ---- encodings: a function from q, k, v to the output of attention [b, h, t, d] ----------------

ATTENTION = {}  # by name
ROTATION = {}  # those that turn q and k, and no more: functions to both
EMBEDDING = {}  # those that work on the embedding of tokens: x [b, t, width] to x
CAUSAL_ONLY = {"xpos", "hard_alibi", "cope", "fox", "stick_breaking"}


def attention(function):
    ATTENTION[function.__name__] = function
    return function


def rotation(function):
    ROTATION[function.__name__] = function

    def turned(a):
        return a.softmax(scores(*function(a))) @ a.v

    ATTENTION[function.__name__] = turned
    return function


def embedding(function):
    EMBEDDING[function.__name__] = function
    return function


@attention
def nope(a):
    return a.softmax(scores(a.q, a.k)) @ a.v


@embedding
def sinusoidal(x, positions, options, weights):
    """Vaswani et al. 2017, section 3.5."""
    width = x.shape[-1]
    half = (width + 1) // 2
    t = torch.arange(half, dtype=positions.dtype, device=positions.device)
    paper = options["exponent"] == "paper"
    w = options["base"] ** (-2 * t / width if paper else -t / max(half - 1, 1))
    angles = positions[..., None] * w
    sines, cosines = angles.sin(), angles.cos()[..., : width // 2]
    out = torch.cat([sines, cosines], -1)
    if options["layout"] == "interleaved":
        order = [t // 2 if t % 2 == 0 else half + t // 2 for t in range(width)]
        out = out[..., order]
    return options["token_scale"] * x + options["scale"] * out


@embedding
def learned(x, positions, options, weights):
    """Gehring et al. 2017, and what the options say of positions past the table's end."""
    table, past_end = weights["table"], options["past_end"]
    n, length = len(table), positions.shape[1]
    if past_end == "random" and positions.max() > n - 1:
        raise ValueError("learned: rows that are drawn past the table's end are not in this file")
    if past_end == "interpolate" and length > n:
        positions = positions * (n - 1) / (length - 1)
    if past_end == "hierarchical":  # Su: row (i, j) is P[j] + a / (1 - a) (P[i] - P[0])
        coarse = options["alpha"] / (1 - options["alpha"]) * (table - table[0])
        table = (coarse[:, None] + table[None]).flatten(0, 1)
    positions = positions.clamp(0, len(table) - 1)
    low = positions.floor().long()
    high = (low + 1).clamp(max=len(table) - 1)
    share = (positions - low)[..., None].to(table.dtype)
    return x + (1 - share) * table[low] + share * table[high]


def rotated(x, angles, layout):
    """The first channels of x turned pair by pair; angles [b, t, pairs]."""
    pairs = angles.shape[-1]
    cosine, sine = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
    n = 2 * pairs
    if layout == "half":
        first, second = x[..., :pairs], x[..., pairs:n]
    else:
        first, second = x[..., 0:n:2], x[..., 1:n:2]
    turned = first * cosine - second * sine, first * sine + second * cosine
    if layout == "half":
        turned = torch.cat(turned, -1)
    else:
        turned = torch.stack(turned, -1).flatten(-2)
    return torch.cat([turned, x[..., n:]], -1)


def pair_index(a, pairs):
    return torch.arange(pairs, dtype=a.positions.dtype, device=a.q.device)


def rope_frequencies(a, width):
    """[b, 1, pairs] radians a token: RoFormer's, stretched for sequences `factor` times longer."""
    o, factor = a.options, a.options["factor"]
    pair = pair_index(a, width // 2)
    original = o["original_length"] or a.trained_length
    base = torch.full_like(a.positions[:, :1], o["base"])  # [b, 1]
    if o["scaling"] == "ntk":
        base = base * factor ** (width / (width - 2))
    if o["scaling"] == "dynamic":  # follows the length of the sequence
        length = (a.positions.amax(-1, True) + 1).clamp(min=original)
        base = base * (factor * length / original - (factor - 1)) ** (width / (width - 2))
    w = base[..., None] ** (-2 * pair / width)
    if o["scaling"] == "linear":
        w = w / factor
    if o["scaling"] in ("yarn", "llama3"):
        turns = original * w / (2 * math.pi)
        yarn = o["scaling"] == "yarn"
        slow = o["beta_slow" if yarn else "low_factor"]
        fast = o["beta_fast" if yarn else "high_factor"]
        kept = ((turns - slow) / (fast - slow)).clamp(0, 1)
        if yarn and o["ramp"] == "code":  # linear in the pair's index
            fast_pair, slow_pair = (
                width * math.log(original / (2 * math.pi * turns), o["base"]) / 2
                for turns in (fast, slow)
            )
            low, high = max(math.floor(fast_pair), 0), min(math.ceil(slow_pair), width - 1)
            kept = 1 - ((pair - low) / max(high - low, 1e-9)).clamp(0, 1)
        w = w * (kept + (1 - kept) / factor)
    return w * (pair < round(o["turning"] * (width // 2)))


@rotation
def rope(a):
    """RoFormer (Su et al. 2021), equations 15 and 34."""
    o = a.options
    width = round(o["fraction"] * a.q.shape[-1])
    angles = a.positions[..., None] * rope_frequencies(a, width)
    magnitude = 1
    if o["scaling"] == "yarn":
        magnitude = o["attention_factor"] or 0.1 * math.log(o["factor"]) + 1
    scale = torch.ones_like(a.q[0, 0, 0])
    scale[:width] = magnitude
    return tuple(rotated(x, angles, o["layout"]) * scale for x in (a.q, a.k))


@rotation
def xpos(a):
    """Sun et al. 2022, section 3.2. Positions count from the middle: scores do not depend on it."""
    width = a.q.shape[-1]
    c = pair_index(a, width // 2)
    w = a.options["base"] ** (-2 * c / width)
    decay = (2 * c / width + 0.4) / 1.4
    middle = (a.positions.amin(-1, True) + a.positions.amax(-1, True)) / 2
    powers = decay ** ((a.positions - middle)[..., None] / a.options["scale_base"])
    powers = powers.repeat_interleave(2, -1)[:, None].to(a.q.dtype)
    angles = a.positions[..., None] * w
    q, k = (rotated(x, angles, "interleaved") for x in (a.q, a.k))
    return q * powers, k / powers


@attention
def pope(a):
    """Gopalakrishnan et al. 2025: channels give magnitudes, position and a phase give angles."""
    d = a.q.shape[-1]
    w = a.options["base"] ** (-pair_index(a, d) / d)
    angles = (a.positions[..., None] * w)[:, None].to(a.q.dtype)
    q, k = functional.softplus(a.q), functional.softplus(a.k)
    turned = angles + a.weights["phase"][:, None]
    q = torch.cat([q * angles.cos(), q * angles.sin()], -1)
    k = torch.cat([k * turned.cos(), k * turned.sin()], -1)
    return a.softmax(q @ k.transpose(-1, -2) / math.sqrt(d)) @ a.v


@attention
def shaw(a):
    """Shaw et al. 2018, equations 3 and 4: r = clip(j - i)."""
    clip = a.options["clip"]
    row = (-a.distance[:, 0]).clamp(-clip, clip).long() + clip  # [b, t, t]
    added = torch.einsum("bhid,bijd->bhij", a.q, a.weights["key"][row])
    p = a.softmax(scores(a.q, a.k) + added / math.sqrt(a.q.shape[-1]))
    o = p @ a.v
    if a.options["values"]:
        o = o + torch.einsum("bhij,bijd->bhid", p, a.weights["value"][row])
    return o


@attention
def transformer_xl(a):
    """Dai et al. 2019, section 3.3; u and v are vectors of a head."""
    b, h, t, d = a.q.shape
    half = h * d // 2
    w = a.options["base"] ** (-pair_index(a, half) / half)
    angles = a.distance[:, 0, :, :, None] * w
    sinusoids = torch.cat([angles.sin(), angles.cos()], -1).to(a.q.dtype)  # [b, t, t, width]
    r = (sinusoids @ a.weights["w"]).view(b, t, t, h, d)
    u, v = (a.weights[name][:, None] for name in "uv")
    by_position = torch.einsum("bhid,bijhd->bhij", a.q + v, r)
    return a.softmax(scores(a.q + u, a.k) + by_position / math.sqrt(d)) @ a.v


def deberta_row(distance, span, buckets):
    """clip(distance) + k; with buckets DeBERTa-v2's, exact up to the middle, then logarithmic."""
    if not buckets:
        return (distance.clamp(-span, span - 1) + span).long()
    middle, far = buckets // 2, distance.abs()
    steps = (far.clamp(min=1) / middle).log() / math.log((span - 1) / middle) * (middle - 1)
    bucket = torch.where(far <= middle, distance, distance.sign() * (steps.ceil() + middle))
    return (bucket + buckets).clamp(0, 2 * buckets - 1).long()


@attention
def deberta(a):
    """He et al. 2020, equations 2 to 4."""
    b, h, t, d = a.q.shape
    options = a.options
    terms = {"both": ["c2p", "p2c"], "none": []}.get(options["terms"], [options["terms"]])
    total = a.q @ a.k.transpose(-1, -2)

    def rows(name, distance):  # the projected rows [b, t, t, h, d] of every pair
        table = (a.weights["table"] @ a.weights[name]).view(-1, h, d)
        return table[deberta_row(distance, options["span"], options["buckets"])]

    distance = a.distance[:, 0]
    if "c2p" in terms:
        total = total + torch.einsum("bhid,bijhd->bhij", a.q, rows("key", distance))
    if "p2c" in terms:
        sign = -1 if options["p2c_index"] == "paper" else 1
        total = total + torch.einsum("bhjd,bijhd->bhij", a.k, rows("query", sign * distance))
    return a.softmax(total / math.sqrt(d * (1 + len(terms)))) @ a.v


def bucket_bias(a):
    """A bias by head and bucket of the distance: Raffel et al. 2020, section 2.1, with the buckets
    of the authors' code."""
    buckets, distance = a.options["buckets"], a.distance[:, 0]
    start = torch.zeros_like(distance)
    if a.causal:
        n = distance.clamp(min=0)
    else:
        buckets //= 2
        n, start = distance.abs(), buckets * (distance < 0)
    exact = buckets // 2
    farthest = math.log(a.options["max_distance"] / exact)
    # A distance on the edge of a bucket must not fall below it by a rounding.
    steps = ((n.clamp(min=1) / exact).log() / farthest * (buckets - exact) + 1e-9).floor()
    bucket = torch.where(n < exact, n, (exact + steps).clamp(max=buckets - 1))
    return a.weights["bias"][:, (start + bucket).long()].transpose(0, 1)


@attention
def t5(a):
    return a.softmax(scores(a.q, a.k) + bucket_bias(a)) @ a.v


@attention
def tupe(a):
    """Ke, He, Liu 2020: positions meet positions through projections of their own."""
    b, h, t, d = a.q.shape
    table, positions = a.weights["table"], a.positions
    if a.options["past_end"] == "interpolate" and t > len(table):
        positions = positions * (len(table) - 1) / (t - 1)
    positions = positions.clamp(0, len(table) - 1)
    low = positions.floor().long()
    high = (low + 1).clamp(max=len(table) - 1)
    share = (positions - low)[..., None].to(table.dtype)

    def projected(name):
        rows = functional.layer_norm(table, table.shape[-1:], eps=1e-5) @ a.weights[name]
        rows = (1 - share) * rows[low] + share * rows[high]
        return rows.view(b, t, h, d).transpose(1, 2)

    total = a.q @ a.k.transpose(-1, -2)
    total = (total + projected("query") @ projected("key").transpose(-1, -2)) / math.sqrt(2 * d)
    return a.softmax(total + bucket_bias(a) if a.options["relative"] else total) @ a.v


def alibi_slopes(heads):
    """The authors' code: for other counts than powers of two, every second slope of the next."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * n / power) for n in range(1, power + 1)]
    return slopes + [2 ** (-4 * n / power) for n in range(1, 2 * power, 2)][: heads - power]


@attention
def alibi(a):
    """Press, Smith, Lewis 2021."""
    slopes = a.by_head(alibi_slopes(a.q.shape[1]))
    return a.softmax(scores(a.q, a.k) - slopes * a.distance.abs()) @ a.v


@attention
def hard_alibi(a):
    """Jelassi et al. 2024, section 3.2: head n of the masked ones sees the last n + 1 tokens."""
    heads, masked = a.q.shape[1], a.options["masked"]
    masked = heads // 2 if masked < 0 else masked
    window = a.by_head([n + 1.0 if n < masked else math.inf for n in range(heads)])
    near = (a.distance < window) & ((a.distance >= 0) | window.isinf())
    return a.softmax(scores(a.q, a.k), a.visible & near) @ a.v


@attention
def kerple(a):
    """Chi et al. 2022, section 4."""
    r1, r2 = (a.by_head(a.weights[name]) for name in ("r1", "r2"))
    far = a.distance.abs()
    if a.options["kernel"] == "log":
        return a.softmax(scores(a.q, a.k) - r1 * (1 + r2 * far).log()) @ a.v
    return a.softmax(scores(a.q, a.k) - r1 * far**r2) @ a.v


@attention
def sandwich(a):
    """Chi et al. 2023, section 6, shifted to 0 at distance 0."""
    heads, width = a.q.shape[1], a.options["d_bar"]
    bias = sum((a.distance / 10000 ** (2 * t / width)).cos() - 1 for t in range(1, width // 2 + 1))
    ratio = a.by_head([8 * n / heads for n in range(1, heads + 1)])
    return a.softmax(scores(a.q, a.k) + bias / ratio) @ a.v


@attention
def fire(a):
    """Li et al. 2023: a small network of the distance, as a share of the query's position."""
    w = a.weights
    start = a.options["threshold"] or max(a.trained_length / 2, 1)
    threshold = w["multiplier"].abs() * start

    def psi(x):
        return (w["c"].abs() * x + 1).log()

    furthest = torch.maximum(a.positions, threshold)[:, :, None]
    x = psi(a.distance[:, 0].abs()) / (psi(furthest) + 1e-6)
    hidden = (x[..., None] * w["in_weight"] + w["in_bias"]).relu()
    bias = hidden @ w["out_weight"].to(hidden.dtype) + w["out_bias"]
    return a.softmax(scores(a.q, a.k) + bias.permute(0, 3, 1, 2)) @ a.v


@attention
def cope(a):
    """Golovneva et al. 2024: a key is as far away as gates are open between it and the query."""
    table, content = a.weights["table"], scores(a.q, a.k)
    gates = content.sigmoid().masked_fill(~a.visible, 0)
    p = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=len(table) - 1)
    low = p.floor().long()
    high = (low + 1).clamp(max=len(table) - 1)
    logits = a.q @ table.T  # q meets every row of the table
    if a.options["scale"] == "both":
        logits = logits / math.sqrt(a.q.shape[-1])
    share = p - low
    added = (1 - share) * logits.gather(-1, low) + share * logits.gather(-1, high)
    return a.softmax(content + added) @ a.v


@attention
def fox(a):
    """Lin et al. 2025: log forget gates summed from the key's next token to the query."""
    gates = functional.logsigmoid(a.x @ a.weights["weight"].T + a.weights["bias"])
    kept = gates.cumsum(1).transpose(1, 2)  # [b, h, t]
    return a.softmax(scores(a.q, a.k) + kept[..., :, None] - kept[..., None, :]) @ a.v


@attention
def stick_breaking(a):
    """Tan et al. 2024: each key, from the nearest back, takes a share of what is left."""
    t = a.q.shape[2]
    before = a.visible & torch.ones(t, t, dtype=torch.bool, device=a.q.device).tril(-1)
    z = scores(a.q, a.k)
    left = functional.logsigmoid(-z).masked_fill(~before, 0)
    nearer = left.flip(-1).cumsum(-1).flip(-1) - left  # the logarithm of what they leave
    return (functional.logsigmoid(z) + nearer).exp().masked_fill(~before, 0) @ a.v


def linear_attention(a, options, turn):
    """Katharopoulos et al. 2020; features turn as in equation 19 of RoFormer, in the numerator
    alone ("after"), or q and k turn before they become features. There is no 1/sqrt(d)."""

    def features(q, k):
        if options["feature_map"] == "elu":
            return functional.elu(q) + 1, functional.elu(k) + 1
        return (q - q.amax(-1, True)).exp(), k.clamp(max=60).exp()

    if options["rotate"] == "before":
        a = replace(a, **dict(zip("qk", turn(a))))
    q, k = features(a.q, a.k)
    below = (q @ k.transpose(-1, -2)).masked_fill(~a.visible, 0).sum(-1, True).clamp(min=1e-6)
    if options["rotate"] == "after":
        q, k = turn(replace(a, q=q, k=k))
    return (q @ k.transpose(-1, -2)).masked_fill(~a.visible, 0) / below @ a.v


# ---- the model ---------------------------------------------------------------------------------


class Model(nn.Module):
    """A decoder-only transformer, pre-norm. `weights` are arrays under the names that they have in
    the result file's /parameters; `config` is its resolved config."""

    def __init__(self, config, weights, trained_length, dtype=torch.float32):
        super().__init__()
        self.trained_length = trained_length
        self.config = config["model"]
        self.encoding = dict(self.config["encoding"])
        self.kind = self.encoding.pop("kind")
        self.causal = self.config["causal"]
        self.features = dict(self.config["attention"])  # of linear attention; None: softmax
        if self.features.pop("kind") == "softmax":
            self.features = None
        if self.kind not in ATTENTION and self.kind not in EMBEDDING:
            raise ValueError(f"encoding {self.kind} is not in this file")
        if self.features and self.kind not in {"nope", *ROTATION, *EMBEDDING}:
            raise ValueError(f"encoding {self.kind} is not for linear attention")
        if self.kind in CAUSAL_ONLY and not self.causal:
            raise ValueError(f"encoding {self.kind} needs a causal model")
        self.weights = nn.ParameterDict()
        for name, values in weights.items():
            self.weights[name] = nn.Parameter(torch.tensor(values, dtype=dtype))

    def encoding_weights(self, layer):
        """Those of a layer and those that all layers share, by their last name."""
        prefixes = (f"encoding/{self.kind}/", f"layer{layer}/encoding/{self.kind}/")
        return {n.split("/")[-1]: w for n, w in self.weights.items() if n.startswith(prefixes)}

    def linear(self, name, x):
        y = x @ self.weights[name + "/weight"]
        return y + self.weights[name + "/bias"] if name + "/bias" in self.weights else y

    def norm(self, name, x):
        gain = self.weights[name + "/gain"]
        bias = self.weights[name + "/bias"] if name + "/bias" in self.weights else None
        return functional.layer_norm(x, x.shape[-1:], gain, bias, 1e-5)

    def forward(self, tokens, positions=None, segments=None):
        """tokens, positions, segments [items, length]. Positions are 0, 1, 2 ... unless given. A
        token sees its own segment alone; segment -1 is padding."""
        items, length = tokens.shape
        dtype, device = self.weights["embedding"].dtype, tokens.device
        if positions is None:
            positions = torch.arange(length, device=device).expand(items, -1)
        positions = positions.double()  # angles of far positions need it
        visible = torch.ones(items, 1, length, length, dtype=torch.bool, device=device)
        if self.causal:
            visible = visible.tril()
        if segments is not None:
            same = segments[:, None, :, None] == segments[:, None, None, :]
            visible = visible & same & (segments >= 0)[:, None, None, :]

        x = self.weights["embedding"][tokens]
        if self.kind in EMBEDDING:
            x = EMBEDDING[self.kind](x, positions, self.encoding, self.encoding_weights(0))
            x = x.to(dtype)
        for layer in range(self.config["layers"]):
            x = x + self.attend(layer, x, positions, visible)
            if self.config["mlp"]:
                y = self.linear(f"layer{layer}/mlp/up", self.norm(f"layer{layer}/mlp/norm", x))
                y = functional.gelu(y, approximate="tanh")
                x = x + self.linear(f"layer{layer}/mlp/down", y)
        x = self.norm("final/norm", x)
        return x @ self.weights["embedding"].T if self.config["tied"] else self.linear("output", x)

    def attend(self, layer, x, positions, visible):
        items, length, width = x.shape
        x = self.norm(f"layer{layer}/attention/norm", x)
        qkv = self.linear(f"layer{layer}/attention/qkv", x)
        q, k, v = qkv.view(items, length, 3, self.config["heads"], -1).permute(2, 0, 3, 1, 4)
        a = Attention(q, k, v, x, positions, visible, self.encoding, self.encoding_weights(layer),
                      self.causal, self.trained_length)
        if self.features:
            turn = ROTATION.get(self.kind, lambda a: (a.q, a.k))
            o = linear_attention(a, self.features, turn)
        else:
            o = ATTENTION.get(self.kind, nope)(a)
        return self.linear(f"layer{layer}/attention/out", o.transpose(1, 2).reshape(x.shape))


def parameters(file):
    """The arrays of an open file's /parameters by name."""
    weights = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            weights[name] = item[:]

    file["parameters"].visititems(keep)
    return weights


def read(path):
    """The config, the weights and the longest length of training of a result file."""
    with h5py.File(path) as file:
        if file.attrs.get("format") != "posenc-run":
            raise ValueError(f"{path} is not a result of the harness")
        config = json.loads(file["config/resolved_json"].asstr()[()])
        return config, parameters(file), int(file.attrs["trained_length"])


def load(path, dtype=torch.float32):
    """The trained model of a result file."""
    return Model(*read(path), dtype=dtype).eval()


# ---- checks ------------------------------------------------------------------------------------


@torch.no_grad()
def error(result, forward):
    """The largest difference from the logits of `./harness forward`, as a share of the largest
    logit; computed in double."""
    model = load(result, torch.float64)
    with h5py.File(forward) as file:
        names = [name for name in ("positions", "segments") if name in file]
        given = {name: torch.tensor(file[name][:]) for name in names}
        tokens, logits = (torch.tensor(file[name][:]) for name in ("tokens", "logits"))
    if model.config["positions"]["kind"] != "plain" and "positions" not in given:
        raise ValueError(f"{forward}: positions were drawn; give them with forward's --tokens")
    difference = (model(tokens.long(), **given) - logits).abs().max() / logits.abs().max()
    return difference.item()


def pattern(seed, *shape):
    """Whole numbers 0 ... 1008 without a visible order, the same in src/selftest.c."""
    n = np.arange(math.prod(shape), dtype=np.int64)
    return ((seed + n * (37 * n + 11)) % 1009).reshape(shape)


def pattern_weights(weights):
    """Values for all weights, from their names: within 1/2 of 0; of 1 for vectors that are no
    biases (gains, and what has to be positive)."""
    filled = {}
    for name, array in weights.items():
        seed = sum((n + 1) * code for n, code in enumerate(name.encode()))
        centre = 1 if array.ndim == 1 and not name.endswith("bias") else 0
        filled[name] = centre + (pattern(seed, *array.shape) / 504 - 1) / 2
    return filled


VECTOR_LENGTH = 14


@torch.no_grad()
def vectors(results):
    """The C header: every result's encoding and options, with the weights of `pattern`."""
    arrays, cases, shapes = [], [], set()
    for result in results:
        config, weights, trained = read(result)
        options = dict(config["model"]["encoding"])
        kind = options.pop("kind")
        model, vocabulary = config["model"], weights["embedding"].shape[0]
        linear = dict(model["attention"])
        linear.pop("kind")
        shape = [model[key] for key in ("layers", "heads", "width", "mlp", "bias")]
        shapes.add((*shape, vocabulary, trained))
        tokens = torch.tensor(pattern(0, 1, VECTOR_LENGTH) % vocabulary)
        n = torch.arange(VECTOR_LENGTH)[None]
        for causal, jumps in [(True, False), (True, True), (False, False)]:
            if not causal and kind in CAUSAL_ONLY:
                continue
            model["causal"] = causal
            torch_model = Model(config, pattern_weights(weights), trained, torch.float64)
            positions = n + n // 3 if jumps else n
            logits = torch_model(tokens, positions)
            moves = (torch_model(tokens, positions + 7) - logits).abs().max().item() > 1e-3
            name = f"logits_{len(arrays)}"
            arrays.append(c_array(name, logits))
            words = ", ".join([*map(c_value, (causal, jumps, moves)), name])
            names = [kind]
            if kind == "nope" and not linear:
                names.append("custom")  # without a function
            for name in names:
                cases.append(f'    {{"{name}",\n     "{c_options(options)}",\n     '
                             f'"{c_options(linear)}", {words}}},')
    if len(shapes) != 1:
        raise ValueError(f"the results have models of different shapes: {sorted(shapes)}")
    names = ("LAYERS", "HEADS", "WIDTH", "MLP", "BIAS", "VOCABULARY", "TRAINED")
    shape = [f"    VECTOR_{name} = {int(value)}," for name, value in zip(names, shapes.pop())]
    return "\n".join(
        ["/* Written by: make torch-vectors (scripts/torch_model.py --vectors)",
         f"   torch {torch.__version__}, in double; Python {platform.python_version()}, "
         f"numpy {np.__version__}. */",
         "enum {", *shape, f"    VECTOR_LENGTH = {VECTOR_LENGTH}", "};\n",
         "\n\n".join(arrays) + "\n",
         "static const TorchVector torch_vectors[] = {", *cases, "};"])


def c_value(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def c_options(options):
    words = " ".join(f"{key}={c_value(value)}" for key, value in options.items())
    lines = textwrap.wrap(words, 88, break_on_hyphens=False) or [""]
    return ' "\n     "'.join(lines)


def c_array(name, values):
    lines, line = [], "   "
    for value in values.flatten().tolist():
        text = f" {value:.16g},"
        if len(line + text) > 100:
            lines.append(line)
            line = "   "
        line += text
    return f"static const double {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="+", help="result files (run.h5)")
    parser.add_argument("--check", metavar="FORWARD.h5", help="what `harness forward` wrote")
    parser.add_argument("--vectors", action="store_true", help="print a C header of logits")
    arguments = parser.parse_args()
    if arguments.vectors:
        print(vectors(arguments.result))
        return 0
    if arguments.check:
        share = error(arguments.result[0], arguments.check)
        good = share <= TOLERANCE
        print(f"{load(arguments.result[0]).kind}: largest difference {share:.1e} of the largest "
              "logit, " + ("ok" if good else f"more than {TOLERANCE}"))
        return 0 if good else 1
    for result in arguments.result:
        model = load(result)
        print(f"{result}: {model.kind} {model.encoding}")
        for name, weight in model.weights.items():
            print(f"  {name} {tuple(weight.shape)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as problem:
        sys.exit(f"torch_model.py: {problem}")
