#!/usr/bin/env python3
"""The harness against PyTorch: the same model on the same data from the same weights, in turns.

    bench/peer_torch.py HARNESS CONFIG.lua [KEY=VALUE ...] [--rounds 5] [--threads N] [--no-compile]

First both train 20 steps, and their losses are compared: both do the same work. Then, round by
round, the harness (`bench`), PyTorch as it is and PyTorch compiled train for some steps each. The
ratios are those of the medians; FLOPs are counted as `harness bench` counts them.

Attention is torch's scaled_dot_product_attention; an encoding that adds to the scores gives it a
matrix (alibi a constant one, t5 one that is gathered anew in every step), and shaw, for which it
has no place, is written out with products by clipped distance instead of by pair.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait leave the cores to others

import h5py
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
import torch_model

EQUAL_STEPS = 20
LEAST_SECONDS = 1.5  # of timed steps in a round, and at least STEPS of them
STEPS = 3
SAME = ["train.warmup=0", "train.weight_decay=0", "train.log_every=1"]


class Model(torch_model.Model):
    """torch_model's, with attention as fast as PyTorch has it. Angles, distances and buckets are
    computed once."""

    def prepare(self, length):
        heads, width = self.config["heads"], self.config["width"] // self.config["heads"]
        positions = torch.arange(length)
        distance = positions[:, None] - positions[None, :]
        causal = torch.full((length, length), -math.inf).triu(1)
        if self.kind == "rope":
            example = torch_model.Attention(
                torch.zeros(1, 1, 1, width), None, None, None, positions[None].double(), None,
                self.encoding, {}, True, self.trained_length)
            angles = positions[:, None].double() * torch_model.rope_frequencies(example, width)
            angles = torch.cat([angles, angles], -1)
            self.cosines, self.sines = angles.cos().float(), angles.sin().float()
        elif self.kind == "alibi":
            slopes = torch.tensor(torch_model.alibi_slopes(heads)).view(-1, 1, 1)
            self.mask = (causal - slopes * distance.clamp(min=0))[None]
        elif self.kind == "t5":
            one = torch_model.Attention(None, None, None, None, positions[None].double(), None,
                                        self.encoding, {"bias": torch.arange(
                                            self.encoding["buckets"]).view(1, -1)}, True, 0)
            self.bucket, self.causal_mask = torch_model.bucket_bias(one)[0, 0].long(), causal
        elif self.kind == "shaw":
            clip = self.encoding["clip"]
            self.row = (-distance).clamp(-clip, clip) + clip
            self.causal_mask = causal
        elif self.kind != "nope":
            raise ValueError(f"no fast form of {self.kind} in this file")

    def turned(self, x):
        half = x.shape[-1] // 2
        other = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * self.cosines + other * self.sines

    def shaw(self, q, k, v, weights):
        row = self.row.expand(*q.shape[:2], -1, -1)
        added = (q @ weights["key"].T).gather(-1, row)
        p = ((q @ k.transpose(-1, -2) + added) / math.sqrt(q.shape[-1]) + self.causal_mask)
        p = p.softmax(-1)
        o = p @ v
        if self.encoding["values"]:
            by_row = p.new_zeros(*p.shape[:-1], len(weights["value"])).scatter_add(-1, row, p)
            o = o + by_row @ weights["value"]
        return o

    def attend(self, layer, x, positions, visible):
        items, length, width = x.shape
        y = self.norm(f"layer{layer}/attention/norm", x)
        qkv = self.linear(f"layer{layer}/attention/qkv", y)
        q, k, v = qkv.view(items, length, 3, self.config["heads"], -1).permute(2, 0, 3, 1, 4)
        weights = self.encoding_weights(layer)
        if self.kind == "shaw":
            o = self.shaw(q, k, v, weights)
        elif self.kind in ("alibi", "t5"):
            mask = self.mask if self.kind == "alibi" else (
                weights["bias"][:, self.bucket] + self.causal_mask)[None]
            o = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            if self.kind == "rope":
                q, k = self.turned(q), self.turned(k)
            o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.linear(f"layer{layer}/attention/out", o.transpose(1, 2).reshape(x.shape))

    def loss(self, tokens, targets):
        x = self.weights["embedding"][tokens]
        for layer in range(self.config["layers"]):
            x = x + self.attend(layer, x, None, None)
            y = self.linear(f"layer{layer}/mlp/up", self.norm(f"layer{layer}/mlp/norm", x))
            x = x + self.linear(f"layer{layer}/mlp/down", functional.gelu(y, approximate="tanh"))
        logits = self.linear("output", self.norm("final/norm", x))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Trainer:
    def __init__(self, start, compiled):
        with h5py.File(start) as file:
            config = json.loads(file["config/resolved_json"].asstr()[()])
            weights = torch_model.parameters(file)
            self.batches = []
            for step in range(1, int(file.attrs["steps"]) + 1):
                group = file[f"step{step}"]
                targets = torch.tensor(group["targets"][:]).long()
                targets[~torch.tensor(group["scored"][:])] = -100  # what cross_entropy leaves out
                self.batches.append((torch.tensor(group["tokens"][:]).long(), targets))
            model = Model(config, weights, int(file.attrs["trained_length"]))
        model.prepare(self.batches[0][0].shape[1])
        train = config["train"]
        if model.config["mlp"] == 0 or model.config["tied"] or train["decay"] != "constant":
            raise ValueError("this file trains models with an MLP, an untied output, a fixed rate")
        self.parameters = list(model.parameters())
        self.clip = train["clip"]
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=train["learning_rate"], betas=(train["beta1"], train["beta2"]),
            eps=train["epsilon"], weight_decay=train["weight_decay"], fused=True)
        self.loss = torch.compile(model.loss) if compiled else model.loss
        self.count = 0

    def step(self):
        tokens, targets = self.batches[self.count % len(self.batches)]
        self.count += 1
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(tokens, targets)
        loss.backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        return loss.item()

    def tokens_per_second(self):
        seconds, start = [], time.perf_counter()
        while len(seconds) < STEPS or time.perf_counter() - start < LEAST_SECONDS:
            before = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - before)
        return self.batches[0][0].numel() / statistics.median(seconds)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("harness", help="the program, build/ISA/harness")
    parser.add_argument("config", help="one of bench/, say")
    parser.add_argument("override", nargs="*", help="KEY=VALUE of the config")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-compile", action="store_true", help="PyTorch as it is only")
    arguments = parser.parse_intermixed_args()
    torch.set_num_threads(arguments.threads)
    config = [arguments.config, *SAME, *arguments.override]
    threads = ["--threads", str(arguments.threads)]

    with tempfile.TemporaryDirectory() as folder:
        start = f"{folder}/start.h5"
        run(arguments.harness, "data", *config, "-n", str(EQUAL_STEPS), "-o", start)
        run(arguments.harness, *config, f"train.steps={EQUAL_STEPS}", "evaluate.examples=1",
            "--output", folder, "--quiet", *threads)
        with h5py.File(next(Path(folder).glob("*/*/run.h5"))) as result:
            losses = {"harness": result["train/loss"][-1]}
        trainers = {"torch": Trainer(start, compiled=False)}
        if not arguments.no_compile:
            trainers["torch.compile"] = Trainer(start, compiled=True)
    for name, trainer in trainers.items():
        for _ in range(EQUAL_STEPS):
            losses[name] = trainer.step()

    speed = {name: [] for name in ["harness", *trainers]}
    shares = []
    for _ in range(arguments.rounds):
        line = json.loads(run(arguments.harness, "bench", "--json", *threads, *config))
        speed["harness"].append(line["tokens_per_second"])
        shares.append(line["peak_fraction"])
        for name, trainer in trainers.items():
            speed[name].append(trainer.tokens_per_second())

    name = " ".join([arguments.config, *arguments.override])
    print(f"{name}: torch {torch.__version__}, {arguments.threads} threads, median of "
          f"{arguments.rounds} rounds")
    median = {name: statistics.median(values) for name, values in speed.items()}
    share = statistics.median(shares)
    for name, value in median.items():
        ratios = [a / b for a, b in zip(speed["harness"], speed[name])]
        print(f"  {name:14}{value:10.0f} tokens/s {100 * share * value / median['harness']:6.1f} % "
              f"of peak  loss after {EQUAL_STEPS} steps {losses[name]:.6f}", end="")
        print("" if name == "harness" else
              f"   harness / {name} {median['harness'] / value:.2f} "
              f"({min(ratios):.2f} .. {max(ratios):.2f})")
    best = max(median[name] for name in trainers)
    print(f"  against the better: {median['harness'] / best:.2f}")
    worst = max(abs(losses[name] / losses["harness"] - 1) for name in trainers)
    if worst > 1e-3:
        raise ValueError(f"the losses differ by {worst:.1e}: not the same work")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as problem:
        sys.exit(f"peer_torch.py: {problem}")
