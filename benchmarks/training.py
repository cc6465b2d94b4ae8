"""What `typednn.training.fit` costs over the bare loop: ``python -m benchmarks.training``.

======  =============================================================================================================================
bare    for each batch: index the arrays, forward, loss_grad, backward, update; checks off, nothing shown, nothing written
fit     the same steps through a `Loader` and `fit`, with a run folder: checks in their default mode, loss, finiteness, a bar that is
        drawn, metrics, TensorBoard events where tensorboardX is there, gradient norms every 50 steps, a checkpoint at the end
======  =============================================================================================================================

LeNet5 on random images of MNIST's shape. Both take turns, each round from the same weights; that both end with the same bits is checked
before a clock starts. What counts is the median of the rounds' own ratios. Ends with 1 where that is above the goal.
``--memory`` trains a tiny model for 10,000 steps instead, and tells what the process holds more at the end than after 1,000.
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

from benchmarks import machine
from typednn import Input, checking
from typednn.data import Loader
from typednn.layers import Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import LeNet5
from typednn.optim import SGD
from typednn.random import PCG32
from typednn.runs import Run
from typednn.training import Callback, Step, fit

GOAL = 1.05


def data(rows: int) -> tuple[Any, Any]:
    """Images of MNIST's shape, and labels."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, 28, 28, 1), dtype=np.float32), rng.integers(0, 10, rows)


def made() -> Any:
    """A LeNet5, the same each time."""
    return LeNet5(bias=True, softmax=False, rng=PCG32(0))


class Clocks:
    """Seconds by the wall, and of the processor (all threads of this process): the second does not mind who else is working."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def passed(self) -> tuple[float, float]:
        """Since it was made."""
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def bare(x: Any, y: Any, batch_size: int) -> tuple[tuple[float, float], Any]:
    """Seconds by both clocks, and the model."""
    model, loss, optimizer = made(), SoftmaxCrossEntropy(), SGD(0.01, momentum=0.9)
    order = PCG32(1).permutation(len(x))
    with checking("off"):
        clocks = Clocks()
        for first in range(0, len(x), batch_size):
            rows = order[first : first + batch_size]
            scores = model.forward(x[rows])
            model.update(optimizer, model.backward(loss.loss_grad(scores, y[rows])))
        return clocks.passed(), model


def fitted(x: Any, y: Any, batch_size: int, folder: Path) -> tuple[tuple[float, float], Any]:
    """Seconds of `fit` in a new run, and the model."""
    model, optimizer = made(), SGD(0.01, momentum=0.9)
    loader = Loader(x, y, batch_size=batch_size, rng=PCG32(1))
    with Run.create(folder, "", model) as run:
        clocks = Clocks()
        fit(model, SoftmaxCrossEntropy(), optimizer, loader, epochs=1, run=run)
        return clocks.passed(), model


def overhead(rows: int, batch_size: int, rounds: int) -> float:
    """The median ratio, told with the medians."""
    x, y = data(rows)
    with tempfile.TemporaryDirectory() as temporary, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # A terminal whose text goes nowhere: the bar is made and drawn as for a person.
        terminal = partial(Console, file=nowhere, force_terminal=True, width=120)
        with patch("rich.console.Console", lambda **_: terminal()):
            _, first = bare(x, y, batch_size)
            _, second = fitted(x, y, batch_size, Path(temporary, "first"))
            for mine, its in zip(first.parameters(), second.parameters(), strict=True):
                assert mine.tobytes() == its.tobytes(), "both loops must give the same bits"
            pairs = [
                (bare(x, y, batch_size)[0], fitted(x, y, batch_size, Path(temporary, str(number)))[0])
                if number % 2
                else (fitted(x, y, batch_size, Path(temporary, str(number)))[0], bare(x, y, batch_size)[0])[::-1]
                for number in range(rounds)
            ]
    steps = -(-rows // batch_size)
    alone, whole = (median(pair[place][0] for pair in pairs) / steps * 1e3 for place in (0, 1))
    ratio, by_cpu = (median(pair[1][clock] / pair[0][clock] for pair in pairs) for clock in (0, 1))
    verdict = "pass" if ratio <= GOAL else "FAIL"
    print(f"  batch {batch_size:<5}{alone:9.2f} ms{whole:9.2f} ms{ratio:9.3f}{by_cpu:9.3f}  {verdict}", flush=True)
    return ratio


def memory(steps: int) -> int:
    """0 where the process holds as much after ``steps`` steps as after a tenth of them, but for an epoch's numbers."""
    sizes: list[int] = []

    class Watch(Callback):
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
        fit(model, SoftmaxCrossEntropy(), SGD(0.1), loader, epochs=epochs, run=run, callbacks=[Watch()], progress=False)
    tracemalloc.stop()
    more = sizes[1] - sizes[0]
    print(f"Memory: {sizes[0]:,} bytes after {steps // 10:,} steps, {more:+,} after {steps:,} ({epochs} epochs remembered)")
    return 0 if more < 64_000 else 1


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark; 0 where the goal is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=600, help="steps per round (default: %(default)s)")
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 128], help="batch sizes (default: %(default)s)")
    parser.add_argument("--memory", action="store_true", help="look at the memory of 10,000 steps instead")
    options = parser.parse_args(arguments)
    if options.memory:
        return memory(10_000)
    print(f"Training: LeNet5, ms per step, medians of {options.rounds} rounds of {options.steps} steps")
    print(f"  {machine.described()}")
    print(f"  {'':10}{'bare':>12}{'fit':>12}{'ratio':>9}{'of CPU':>9}")
    noise = machine.Noise.now()
    ratios = [overhead(options.steps * size, size, options.rounds) for size in options.batch]
    print(f"  {noise.until_now()}")
    kept = max(ratios) <= GOAL
    print(f"\n{'PASS' if kept else 'FAIL'}: fit costs at most {GOAL - 1:.0%} over the bare loop")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
