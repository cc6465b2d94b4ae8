"""The cost of `typednn.training.fit` over a bare loop: ``python -m benchmarks.training``.

======  ================================================================================================================
bare    for each batch: index the arrays, forward, loss_grad, backward, update; checks off, nothing shown, nothing
        written
fit     the same steps through a `Loader` and `fit`, with a run folder: checks in their default mode, loss, check for
        NaN, progress bar, metrics, TensorBoard events if tensorboardX is installed, gradient norms every 50 steps, a
        checkpoint at the end
======  ================================================================================================================

The model is LeNet5 on random images of MNIST's shape, layer by layer; with ``--compile`` both compute by plans. Both
loops alternate, and each round starts with the same weights. Before times are measured, both must end with the same
bits. The result is the median of the rounds' ratios; ``least`` is the ratio of the fastest rounds. The exit code is 1
if the result is above the goal. ``--memory`` trains a tiny model for 10,000 steps instead, and prints the growth of the
memory between step 1,000 and the end.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console

import typednn
from benchmarks import machine
from typednn import Input, checking
from typednn.data import Loader
from typednn.engines import get_threads
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import lenet5
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.runs import Run
from typednn.training import Callback, Step, fit

GOAL = 1.05


def data(rows: int) -> tuple[Any, Any]:
    """Images of MNIST's shape, and labels."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, 28, 28, 1), dtype=np.float32), rng.integers(0, 10, rows)


def new_model() -> Any:
    """A LeNet5 with the same weights in every call."""
    return lenet5(bias=True, softmax=False, rng=PCG32(0))


class Clocks:
    """Wall seconds, and CPU seconds of all threads of this process. Other work on the machine changes
    only the first.
    """

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def elapsed(self) -> tuple[float, float]:
        """Seconds since the object was created."""
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def bare(x: Any, y: Any, batch_size: int, planned: bool) -> tuple[tuple[float, float], Any]:
    """Seconds by both clocks, and the model."""
    model, loss, optimizer = new_model(), SoftmaxCrossEntropy(), SGD(0.01, momentum=0.9)
    learner: Any = typednn.compile(model) if planned else model
    order = PCG32(1).permutation(len(x))
    with checking("cached" if planned else "off"):  # there are no plans where checks are off
        clocks = Clocks()
        for first in range(0, len(x), batch_size):
            rows = order[first : first + batch_size]
            scores = learner.forward(x[rows])
            model.update(optimizer, learner.backward(loss.loss_grad(scores, y[rows])))
        return clocks.elapsed(), model


def fitted(x: Any, y: Any, batch_size: int, planned: bool, folder: Path) -> tuple[tuple[float, float], Any]:
    """Seconds of `fit` in a new run, and the model."""
    model, optimizer = new_model(), SGD(0.01, momentum=0.9)
    loader = Loader(x, y, batch_size=batch_size, rng=PCG32(1))
    with Run.create(folder, "", model) as run:
        clocks = Clocks()
        fit(model, SoftmaxCrossEntropy(), optimizer, loader, epochs=1, run=run, compile=planned)
        return clocks.elapsed(), model


def overhead(rows: int, batch_size: int, planned: bool, rounds: int) -> float:
    """Print the medians; return the median ratio."""
    x, y = data(rows)
    with tempfile.TemporaryDirectory() as temporary, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # A terminal that writes to the null device: the progress bar is drawn as for a user.
        terminal = partial(Console, file=nowhere, force_terminal=True, width=120)
        with patch("rich.console.Console", lambda **_: terminal()):
            _, first = bare(x, y, batch_size, planned)
            _, second = fitted(x, y, batch_size, planned, Path(temporary, "first"))
            for expected, actual in zip(first.parameters(), second.parameters(), strict=True):
                assert expected.tobytes() == actual.tobytes(), "both loops must give the same bits"
            pairs = [
                (bare(x, y, batch_size, planned)[0], fitted(x, y, batch_size, planned, Path(temporary, str(number)))[0])
                if number % 2
                else (
                    fitted(x, y, batch_size, planned, Path(temporary, str(number)))[0],
                    bare(x, y, batch_size, planned)[0],
                )[::-1]
                for number in range(rounds)
            ]
    steps = -(-rows // batch_size)
    alone, whole = (median(pair[place][0] for pair in pairs) / steps * 1e3 for place in (0, 1))
    ratio, by_cpu = (median(pair[1][clock] / pair[0][clock] for pair in pairs) for clock in (0, 1))
    least = min(pair[1][0] for pair in pairs) / min(pair[0][0] for pair in pairs)
    verdict = "pass" if ratio <= GOAL else "FAIL"
    print(
        f"  batch {batch_size:<5}{alone:9.2f} ms{whole:9.2f} ms{ratio:9.3f}{least:9.3f}{by_cpu:9.3f}  {verdict}",
        flush=True,
    )
    return ratio


def memory(steps: int) -> int:
    """0 if the memory after ``steps`` steps is that after a tenth of them, except for the history of the epochs."""
    sizes: list[int] = []

    class MemoryAtStep(Callback):
        def on_step(self, step: Step) -> None:
            if step.step in (steps // 10, steps):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((1000, 4), dtype=np.float32), rng.integers(0, 2, 1000)
    model = (Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)).init(PCG32(0))
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as temporary, Run.create(Path(temporary, "run"), "", model) as run:
        epochs = -(-steps // 100)
        loader = Loader(x, y, batch_size=10, rng=PCG32(1))
        fit(
            model,
            SoftmaxCrossEntropy(),
            SGD(0.1),
            loader,
            epochs=epochs,
            run=run,
            callbacks=[MemoryAtStep()],
            progress=False,
        )
    tracemalloc.stop()
    more = sizes[1] - sizes[0]
    print(
        f"Memory: {sizes[0]:,} bytes after {steps // 10:,} steps, {more:+,} after {steps:,} ({epochs} epochs "
        "remembered)"
    )
    return 0 if more < 64_000 else 1


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if the goal is met."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=600, help="steps per round (default: %(default)s)")
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 128], help="batch sizes (default: %(default)s)")
    parser.add_argument("--compile", action="store_true", help="both by plans")
    parser.add_argument("--memory", action="store_true", help="look at the memory of 10,000 steps instead")
    options = parser.parse_args(arguments)
    if options.memory:
        return memory(10_000)
    print(
        f"Training: LeNet5{', by plans' * options.compile}, ms per step, medians of {options.rounds} rounds of "
        f"{options.steps} steps"
    )
    print(f"  {machine.described()}; {get_threads()} threads")
    print(f"  {'':10}{'bare':>12}{'fit':>12}{'ratio':>9}{'least':>9}{'of CPU':>9}")
    noise = machine.Noise.now()
    ratios = [overhead(options.steps * size, size, options.compile, options.rounds) for size in options.batch]
    print(f"  {noise.until_now()}")
    passed = max(ratios) <= GOAL
    print(f"\n{'PASS' if passed else 'FAIL'}: fit costs at most {GOAL - 1:.0%} over the bare loop")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
