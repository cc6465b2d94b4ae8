"""A character model of Tiny Shakespeare beside PyTorch: ``python -m benchmarks.shakespeare``.

typednn trains the recipe ``gpt2`` with its preset shakespeare-char. PyTorch trains, in a loop written for it, nanoGPT's
model with the settings that nanoGPT publishes for a CPU: 4 layers, 4 heads, 128 wide, 64 positions, 2000 steps of 12
random windows, AdamW (0.9, 0.99), weight decay 0.1 on matrices, learning rate 1e-3 to 1e-4 by a cosine after 100 steps,
the gradient clipped at 1, no dropout, no biases, exact GELU. Both measure the loss over all windows of the last tenth
of the text at the end. Each training has a process of its own; they take turns, seed by seed. Compiled PyTorch is only
timed, once and for fewer steps, as it computes what eager PyTorch does.

Seconds of a step are those from step 50 to the last, so kernels are compiled before. The exit code is 1 where the mean
loss is more than 0.02 above PyTorch's, or a step takes more than half of PyTorch's faster one.
Source: A. Karpathy, nanoGPT, "quick start" in its README: validation loss 1.88 with these settings.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import absent
from benchmarks.machine import TARGETS, How, cores, described, environment, has_avx512

APART, STEP = 0.02, {"AVX-512": 0.5, "AVX2": 0.8}
WARM = 50  # steps that are not timed
LENGTH, BATCH = 64, 12


def ours(seed: int, steps: int, text: str) -> dict[str, float]:
    """The recipe, with its own settings."""
    from typednn.recipes import recipe, train
    from typednn.training import Callback

    clock: list[float] = []

    class Times(Callback):
        def on_step(self, step: Any) -> None:
            clock.append(step.seconds)

    settings = {"seed": seed, "max_steps": steps, "evaluate_every": steps, "checkpoint_every": steps}
    result = train(recipe("gpt2").changed(settings), text, progress=False, callbacks=[Times()])
    report: Any = result.test
    return {
        "loss": report.loss,
        "seconds": clock[-1] - clock[min(WARM, steps // 2)],
        "steps": steps - 1 - min(WARM, steps // 2),
    }


def theirs(seed: int, steps: int, text: str, compiled: bool = False) -> dict[str, float]:
    """nanoGPT's model and settings."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):  # type: ignore[misc]  # PyTorch is not installed with the checkers
        def __init__(self, wide: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.ln_1, self.ln_2 = nn.LayerNorm(wide, bias=False), nn.LayerNorm(wide, bias=False)
            self.c_attn, self.c_proj = nn.Linear(wide, 3 * wide, bias=False), nn.Linear(wide, wide, bias=False)
            self.c_fc, self.out_proj = nn.Linear(wide, 4 * wide, bias=False), nn.Linear(4 * wide, wide, bias=False)

        def forward(self, x: Any) -> Any:
            batch, time, wide = x.shape
            split = self.c_attn(self.ln_1(x)).view(batch, time, 3, self.heads, wide // self.heads)
            q, k, v = (split[:, :, place].transpose(1, 2) for place in range(3))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.c_proj(y.transpose(1, 2).reshape(batch, time, wide))
            return x + self.out_proj(functional.gelu(self.c_fc(self.ln_2(x))))

    class GPT(nn.Module):  # type: ignore[misc]
        def __init__(self, kinds: int, wide: int = 128, layers: int = 4, heads: int = 4) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(kinds, wide), nn.Embedding(LENGTH, wide)
            self.blocks = nn.ModuleList([Block(wide, heads) for _ in range(layers)])
            self.ln_f = nn.LayerNorm(wide, bias=False)
            for name, weight in self.named_parameters():
                if weight.ndim == 2:
                    nn.init.normal_(weight, std=0.02 / (2 * layers) ** 0.5 if name.endswith("_proj.weight") else 0.02)

        def forward(self, x: Any) -> Any:
            features = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
            for block in self.blocks:
                features = block(features)
            return self.ln_f(features) @ self.wte.weight.T

    torch.manual_seed(seed)
    characters = sorted(set(text))
    tokens = torch.tensor([characters.index(character) for character in text])
    held = int(len(tokens) * 0.9)
    data, end = tokens[:held], tokens[held:]
    model: Any = GPT(len(characters))
    matrices = [weight for weight in model.parameters() if weight.ndim == 2]
    vectors = [weight for weight in model.parameters() if weight.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
    call: Any = torch.compile(model) if compiled else model
    started, warm = 0.0, min(WARM, steps // 2)
    for step in range(steps):
        if step == warm + 1:
            started = perf_counter()
        done = (step - 100) / max(steps - 100, 1)
        rate = 1e-3 * (step + 1) / 101 if step < 100 else 1e-4 + 0.5 * (1 + np.cos(np.pi * done)) * 9e-4
        for group in optimizer.param_groups:
            group["lr"] = rate
        places = torch.randint(len(data) - LENGTH, (BATCH,))
        x, y = (torch.stack([data[place + moved : place + moved + LENGTH] for place in places]) for moved in (0, 1))
        loss = functional.cross_entropy(call(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    seconds = perf_counter() - started
    count = (len(end) - 1) // LENGTH
    x, y = (end[moved : moved + count * LENGTH].view(count, LENGTH) for moved in (0, 1))
    with torch.no_grad():
        pairs = zip(x.split(100), y.split(100), strict=True)
        losses = [
            functional.cross_entropy(model(some).flatten(0, 1), wanted.flatten(), reduction="sum")
            for some, wanted in pairs
        ]
    return {"loss": float(sum(losses)) / y.numel(), "seconds": seconds, "steps": steps - 1 - warm}


def alone(name: str, seed: int, steps: int, text: str, how: How) -> dict[str, float]:
    """One training, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.shakespeare",
        "--only",
        name,
        "--seed",
        str(seed),
        "--steps",
        str(steps),
        "--text",
        text,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(how))
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Train, print, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each library")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--target", choices=tuple(TARGETS), default="", help="hold both to an instruction set")
    parser.add_argument("--text", default="", help="a text file; by default Tiny Shakespeare")
    parser.add_argument(
        "--only", choices=("typednn", "torch", "torch-compiled"), help="train once, and print the result as JSON"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    if not options.text:
        folder = absent.data_of("shakespeare", "tinyshakespeare")
        if folder is None:
            return 0
        options.text = str(folder / "input.txt")
    if options.only == "typednn":
        print(json.dumps(ours(options.seed, options.steps, options.text)))
        return 0
    if options.only is not None:
        text = Path(options.text).read_text(encoding="utf-8")
        print(json.dumps(theirs(options.seed, options.steps, text, compiled=options.only == "torch-compiled")))
        return 0
    how = How(options.threads, options.target)
    print(f"{described()}, {how.threads} threads{f', held to {how.target}' if how.target else ''}", flush=True)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in contestants()}
    for seed in range(options.seeds):
        for name, results in found.items():
            if seed and name == "torch-compiled":
                continue
            steps = options.steps if name != "torch-compiled" else max(options.steps // 5, 3)
            results.append(alone(name, seed, steps, options.text, how))
            last = results[-1]
            print(
                f"{name:15} seed {seed}  loss {last['loss']:.4f}  {1e3 * last['seconds'] / last['steps']:.2f} "
                "ms a step",
                flush=True,
            )
    return verdict(found, how) if "torch" in found else 0


def contestants() -> list[str]:
    """typednn, and those of PyTorch that run on this machine."""
    if absent.without("PyTorch", "torch"):
        return ["typednn"]
    return ["typednn", "torch", *["torch-compiled"] * (not absent.without_compiler("torch-compiled", "g++"))]


def verdict(found: dict[str, list[dict[str, float]]], how: How) -> int:
    """Print the means and the ratio; 1 where a goal is missed."""
    losses = {name: mean([each["loss"] for each in results]) for name, results in found.items()}
    times = {name: median([each["seconds"] / each["steps"] for each in results]) for name, results in found.items()}
    peer = min(seconds for name, seconds in times.items() if name != "typednn")
    goal = STEP["AVX-512" if has_avx512(how) else "AVX2"]
    further, ratio = losses["typednn"] - losses["torch"], times["typednn"] / peer
    print(
        f"validation loss, mean: typednn {losses['typednn']:.4f}, torch {losses['torch']:.4f}: {further:+.4f} "
        f"(goal: within {APART})"
    )
    print(
        f"a step, median: typednn {1e3 * times['typednn']:.2f} ms, torch {1e3 * peer:.2f} ms: {ratio:.2f} (goal {goal})"
    )
    return int(further > APART or ratio > goal)


if __name__ == "__main__":
    sys.exit(main())
