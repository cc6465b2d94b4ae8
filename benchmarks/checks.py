"""What checking costs per call, apart from any arithmetic: ``python -m benchmarks.checks``.

The layers, loss and optimizer here carry the annotations of typednn's own around bodies that hand back an array made
before, so that the wrapper is all there is to time. ``bare`` is the method without its wrapper; the columns of the modes
say what each of them adds to it:

======  ===============================================================================================
off     the wrapper itself: the mode is read, and a layer in training notes that it was called
cached  the default: the signatures are looked up, and known
full    every annotation is judged anew
======  ===============================================================================================

Methods and modes take turns, in many short rounds. Whatever else a machine does, and a clock that it slows down, can only
add to a round: the quickest tenth of a method's rounds counts, with its medians. What is compared was thus measured within
the same milliseconds. ``update`` is the inherited one, of a weight and a bias; its walk to them is part of ``bare``.
Ends with 1 where ``cached`` costs more than a microsecond over ``off``.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import timeit
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from types import MethodType
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.trivial import (
    IMAGES,
    LINEAR_GRAD,
    MAPS,
    POOLED,
    ROWS,
    SCORES,
    WEIGHT,
    Conv2d,
    CrossEntropy,
    Linear,
    MaxPool2d,
    NoStep,
    PlainStep,
    ReLU,
)
from typednn.checks import Mode, checking

LIMIT = 1.0  # µs per call, of cached over off
MODES: tuple[Mode, ...] = ("off", "cached", "full")

Call = Callable[[], Any]


def cases() -> dict[str, tuple[MethodType, tuple[Any, ...]]]:
    """What is called, with what; layers have been called forward, so that their backward may be."""
    rng = np.random.default_rng(0)
    linear, relu, evaluated = Linear(4, 3).init(rng), ReLU(), Linear(4, 3).init(rng).eval()
    conv2d, pool = Conv2d(3, 4, 3).init(rng), MaxPool2d(2)
    return {
        "Linear.forward": (_method(linear.forward), (ROWS,)),
        "Linear.forward, eval": (_method(evaluated.forward), (ROWS,)),
        "Linear.backward": (_method(linear.backward), (SCORES,)),
        "Conv2d.forward": (_method(conv2d.forward), (IMAGES,)),
        "MaxPool2d.forward": (_method(pool.forward), (MAPS,)),
        "ReLU.forward": (_method(relu.forward), (POOLED,)),
        "Linear.update": (_method(linear.update), (PlainStep(), LINEAR_GRAD)),
        "CrossEntropy.loss_grad": (_method(CrossEntropy().loss_grad), (SCORES, SCORES)),
        "SGD.step": (_method(NoStep().step), (WEIGHT, WEIGHT)),
    }


def _method(method: Any) -> MethodType:
    assert isinstance(method, MethodType)
    return method


def measured(method: MethodType, arguments: tuple[Any, ...], calls: int) -> dict[str, float]:
    """One round: seconds per call, bare and in each mode."""
    bare: Call = partial(MethodType(inspect.unwrap(method.__func__), method.__self__), *arguments)
    enforced: Call = partial(method, *arguments)
    with checking("off"):
        times = {"bare": timeit.timeit(bare, number=calls) / calls}
    for mode in MODES:
        # Judging takes a hundred times as long as looking up.
        number = max(1, calls // 100) if mode == "full" else calls
        with checking(mode):
            if isinstance(method.__self__, Linear) and method.__name__ == "backward":
                method.__self__.forward(ROWS)
            enforced()
            times[mode] = timeit.timeit(enforced, number=number) / number
    return times


def settled(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Microseconds per call: the medians over the quickest tenth of the rounds."""
    quickest = sorted(rounds, key=lambda times: times["bare"] + times["off"] + times["cached"])[: max(1, len(rounds) // 10)]
    return {what: median(times[what] for times in quickest) * 1e6 for what in ("bare", *MODES)}


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark; 0 where ``cached`` keeps its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="rounds of each mode (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=500, help="calls per round (default: %(default)s)")
    options = parser.parse_args(arguments)

    print(f"Checks: µs per call, the quickest tenth of {options.rounds} rounds of {options.calls} calls")
    print(f"  {machine.described()}")
    print(f"  {'':24}{'bare':>8}{'+off':>8}{'+cached':>9}{'+full':>8}{'cached-off':>12}")
    noise = machine.Noise.now()
    kept = True
    given = cases()
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in given}
    for _ in range(options.rounds):
        for name, (method, values) in given.items():
            seen[name].append(measured(method, values, options.calls))
    for name, rounds in seen.items():
        found = settled(rounds)
        added = {mode: found[mode] - found["bare"] for mode in MODES}
        cost = added["cached"] - added["off"]
        kept &= cost <= LIMIT
        verdict = "pass" if cost <= LIMIT else "FAIL"
        print(f"  {name:24}{found['bare']:8.2f}{added['off']:8.2f}{added['cached']:9.2f}{added['full']:8.1f}{cost:12.2f}  {verdict}")
    print(f"  {noise.until_now()}")
    print(f"\n{'PASS' if kept else 'FAIL'}: in mode 'cached' a check costs at most {LIMIT:g} µs per call over 'off'")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
