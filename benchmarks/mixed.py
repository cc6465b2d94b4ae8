"""Mixed precision beside float32, and beside PyTorch's autocast: ``python -m benchmarks.mixed``.

========  ============================================================================================================
products  of a linear layer in GPT-2's shapes: its output and both derivatives
step      a training step of GPT-2 124M with AdamW on 4 sequences of 64, and of 256 tokens
text      ``--text FILE``: the loss on a file's last tenth after training a small model on the rest, both ways
========  ============================================================================================================

The first losses and the gradients are compared before anything is measured. Then the contestants take turns in one
process, with the variables that `benchmarks.machine` sets. The exit code is 1 where results disagree or the goal is
missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import absent, machine
from benchmarks.gpt2 import BATCH, same_weights, takes_turns
from benchmarks.gpt2_works import SIZES, apart, tokens
from typednn.engines import set_threads
from typednn.engines.precision import mixed_precision, multiplies_bfloat16

GOAL = 0.70  # of a step in float32
NEAR = 0.05  # how far gradients may be apart, as a part of their norm: 8 binary digits, in a model of twelve blocks
SHAPES = ((1024, 768, 768), (1024, 768, 3072), (1024, 3072, 768), (256, 768, 3072), (768, 384, 1536))
REPEATS = 20  # of small work in a turn
INSIDE = "TYPEDNN_BENCHMARK_INSIDE"  # set in the process that measures


def _mixed(run: Callable[..., Any], *arguments: Any) -> Any:
    with mixed_precision():
        return run(*arguments)


def _autocast(run: Callable[..., Any], *arguments: Any) -> Any:
    torch: Any = import_module("torch")
    with torch.autocast("cpu", torch.bfloat16):
        return run(*arguments)


def _shown(name: str, times: Sequence[float], plain: Sequence[float]) -> None:
    ratios = median(times) / median(plain), min(times) / min(plain)
    print(f"    {name:22}{1e3 * median(times):9.2f} ms{1e3 * min(times):9.2f} ms{ratios[0]:8.2f}{ratios[1]:8.2f}")


def products(rounds: int) -> None:
    """GFLOP/s of the three products of a linear layer."""
    from typednn.kernels import linear

    rng = np.random.default_rng(0)
    print("  products of a linear layer, GFLOP/s (median, fastest): float32, bfloat16, and the ratio of their times")
    for rows, inner, out in SHAPES:
        x, weight, next_grad = (
            rng.standard_normal(shape, np.float32) for shape in ((rows, inner), (out, inner), (rows, out))
        )

        def both(x: Any = x, weight: Any = weight, next_grad: Any = next_grad) -> Any:
            linear.forward(x, weight, None)
            return linear.backward(next_grad, x, weight)

        far, _ = apart(dict(enumerate(_mixed(both)[:2])), dict(enumerate(both()[:2])))  # type: ignore[arg-type]
        if far > NEAR:
            sys.exit(f"  DISAGREES products of {rows} x {inner} x {out}: {far:.2g}")

        def often(both: Callable[[], object] = both) -> None:
            for _ in range(REPEATS):
                both()

        times = takes_turns({"float32": often, "bfloat16": partial(_mixed, often)}, rounds)
        work = REPEATS * 6e-9 * rows * inner * out
        rates = [f"{work / median(each):5.0f} ({work / min(each):.0f})" for each in times.values()]
        ratio = min(times["bfloat16"]) / min(times["float32"])
        print(f"    {rows:5} x {inner:4} x {out:4} {rates[0]:>14}{rates[1]:>14}{ratio:8.2f}", flush=True)


def steps(name: str, time: int, rounds: int, with_torch: bool) -> bool:
    """Whether a step in mixed precision meets the goal."""
    size = SIZES[name]
    x, labels = tokens(size, BATCH, time), tokens(size, BATCH, time, seed=1)
    everyone, _ = same_weights(size, ["torch"] if with_torch else [])
    ours = everyone["typednn"]
    far, what = apart(_mixed(ours.results, x, labels), ours.results(x, labels))
    print(f"  GPT-2 of {name}, step of {BATCH} x {time} tokens; {what} is {far:.2g} of its norm from float32's")
    if far > NEAR:
        sys.exit("  DISAGREES")
    runs: dict[str, Callable[[], object]] = {
        "typednn float32": partial(ours.step, x, labels),
        "typednn bf16-mixed": partial(_mixed, ours.step, x, labels),
    }
    if with_torch:
        runs["PyTorch float32"] = partial(everyone["torch"].step, x, labels)
        runs["PyTorch autocast"] = partial(_autocast, everyone["torch"].step, x, labels)
    times = takes_turns(runs, rounds)
    for each, found in times.items():
        _shown(each, found, times["typednn float32"])
    return median(times["typednn bf16-mixed"]) <= GOAL * median(times["typednn float32"])


def losses_on(text: bytes, count: int) -> dict[str, float]:
    """The mean loss on the last tenth, after so many steps on the rest."""
    from typednn.losses import SoftmaxCrossEntropy
    from typednn.models import GPT2
    from typednn.optim import AdamW

    data, length = np.frombuffer(text, np.uint8).astype(np.int64), 64
    loss, end = SoftmaxCrossEntropy(), len(data) * 9 // 10
    found: dict[str, float] = {}
    for name, mixed in (("float32", False), ("bf16-mixed", True)):
        rng = np.random.default_rng(0)
        model: Any = GPT2(256, length, 128, 4, 4, rng=rng)
        optimizer = AdamW(1e-3)

        def drawn(first: int, last: int, rows: int, rng: Any = rng) -> Any:
            return np.stack([data[at : at + length + 1] for at in rng.integers(first, last - length - 1, rows)])

        for _ in range(count):
            some = drawn(0, end, 16)
            with mixed_precision(mixed):
                _, next_grad = loss.loss_and_grad(model.forward(some[:, :-1]), some[:, 1:])
                model.update(optimizer, model.backward(next_grad))
        some = drawn(end, len(data), 256)
        model.eval()
        found[name] = float(loss.loss(model.forward(some[:, :-1]), some[:, 1:]))
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if results agree and the goal is met, or is not judged."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="124M", choices=list(SIZES), help="of the model (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of both libraries (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns (default: %(default)s)")
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 256], help="in a sequence")
    parser.add_argument("--text", type=Path, help="compare losses on this file, and measure nothing else")
    parser.add_argument("--steps", type=int, default=400, help="of --text (default: %(default)s)")
    options = parser.parse_args(arguments)
    how = machine.How(options.threads)
    if INSIDE not in os.environ:  # libraries read their variables when they are loaded
        command = [sys.executable, "-m", "benchmarks.mixed", *arguments]
        return subprocess.call(command, env=machine.environment(how) | {INSIDE: "1"})
    set_threads(options.threads)
    print(f"mixed precision: {machine.described()}; {options.threads} threads")
    if options.text:
        found = losses_on(options.text.read_bytes(), options.steps)
        print("\n".join(f"  {name:12}{value:8.4f}" for name, value in found.items()))
        return int(found["bf16-mixed"] > found["float32"] + 0.01)
    judged = multiplies_bfloat16()
    noise, with_torch = machine.Noise.now(), _has_torch(options.threads)
    products(options.rounds)
    held = [steps(options.size, time, options.rounds, with_torch) for time in options.tokens]
    print(f"  {noise.until_now()}")
    print(f"  goal: a step in at most {GOAL} of float32's: {'held' if all(held) else 'MISSED'}")
    return int(judged and options.size == "124M" and not all(held))


def _has_torch(threads: int) -> bool:
    if absent.without("PyTorch", "torch", "transformers"):
        return False
    torch: Any = import_module("torch")
    torch.set_num_threads(threads)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
