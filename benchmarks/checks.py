"""The cost of the checks per call, without arithmetic: ``python -m benchmarks.checks``.

The layers, loss and optimizer here have the annotations of typednn's own. Their bodies return a constant array, so only
the wrapper takes time. ``bare`` is the method without its wrapper. The other columns are the time that each mode adds:

======  ===============================================================================================
off     the wrapper itself: it reads the mode, and a layer in training records the call
cached  the default: the kind of call is known, its sizes are compared
full    every annotation is checked again
======  ===============================================================================================

Methods and modes alternate in many short rounds, so compared times are measured within the same milliseconds. Other
work of the machine, or a lower clock rate, can only make a round slower. So only the fastest tenth of a method's rounds
counts, with its medians. ``update`` is the inherited one, for a weight and a bias; its traversal is part of ``bare``.

The rows *new sizes* change the batch size at each call. The last line is the extra time of a whole LeNet5's forward if
the batch size differs from the call before.

The exit code is 1 if ``cached`` costs more than a microsecond over ``off``, or if a row exceeds its own limit.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import timeit
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import perf_counter
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
    AnyBatch,
    Conv2d,
    CrossEntropy,
    Linear,
    MaxPool2d,
    NoStep,
    PlainStep,
    ReLU,
)
from typednn import checking
from typednn.contracts.checks import Mode
from typednn.engines import counting
from typednn.models import lenet5

LIMIT = 1.0  # µs per call, of cached over off
LIMIT_NEW = 2.5  # if the sizes differ from the call before
LIMIT_LENET = 50.0  # µs per forward, new sizes minus known sizes
MODES: tuple[Mode, ...] = ("off", "cached", "full")

Call = Callable[[], Any]
Case = tuple[MethodType, tuple[tuple[Any, ...], ...]]


def cases() -> dict[str, Case]:
    """The measured methods and their arguments; a layer's forward is measured before its backward."""
    rng = np.random.default_rng(0)
    linear, relu, evaluated = Linear(4, 3).init(rng), ReLU(), Linear(4, 3).init(rng).eval()
    conv2d, pool = Conv2d(3, 4, 3).init(rng), MaxPool2d(2)
    return {
        "Linear.forward": _case(linear.forward, (ROWS,)),
        "Linear.forward, eval": _case(evaluated.forward, (ROWS,)),
        "Linear.backward": _case(linear.backward, (SCORES,)),
        "forward, new sizes": _case(AnyBatch().forward, (ROWS,), (SCORES,)),
        "Conv2d.forward": _case(conv2d.forward, (IMAGES,)),
        "MaxPool2d.forward": _case(pool.forward, (MAPS,)),
        "ReLU.forward": _case(relu.forward, (POOLED,)),
        "Linear.update": _case(linear.update, (PlainStep(), LINEAR_GRAD)),
        "CrossEntropy.loss_grad": _case(CrossEntropy().loss_grad, (SCORES, SCORES)),
        "SGD.step": _case(NoStep().step, (WEIGHT, WEIGHT)),
        "SGD.step, new sizes": _case(NoStep().step, (WEIGHT, WEIGHT), (ROWS, ROWS)),
    }


def _case(method: Any, *arguments: tuple[Any, ...]) -> Case:
    assert isinstance(method, MethodType)
    return method, arguments


def measured(method: MethodType, arguments: Sequence[tuple[Any, ...]], calls: int) -> dict[str, float]:
    """One round: seconds per call, bare and in each mode; several ``arguments`` alternate."""
    bare = _calls(MethodType(inspect.unwrap(method.__func__), method.__self__), arguments)
    enforced = _calls(method, arguments)
    with checking("off"):
        times = {"bare": timeit.timeit(bare, number=calls) / calls / len(arguments)}
    for mode in MODES:
        # A full check takes a hundred times as long as a cached one.
        number = max(1, calls // 100) if mode == "full" else calls
        with checking(mode):
            if isinstance(method.__self__, Linear) and method.__name__ == "backward":
                method.__self__.forward(ROWS)
            enforced()
            times[mode] = timeit.timeit(enforced, number=number) / number / len(arguments)
    return times


def _calls(method: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Call:
    first, *others = (partial(method, *values) for values in arguments)
    return (lambda: (first(), others[0]())) if others else first


def lenet(rounds: int) -> tuple[float, str]:
    """The extra microseconds of a LeNet5's forward, layer by layer, on a batch size other than before, and the engines
    that ran.

    The difference of the medians.
    """
    model = lenet5(rng=np.random.default_rng(0)).eval()
    times: dict[bool, list[float]] = {True: [], False: []}
    images = [np.zeros((batch, 28, 28, 1), np.float32) for batch in (1, 2)]
    with counting() as ran:
        model.forward(images[1])
    for x in images * rounds:
        for new in (True, False):
            start = perf_counter()
            model.forward(x)
            times[new].append(perf_counter() - start)
    return (median(times[True]) - median(times[False])) * 1e6, ", ".join(sorted({engine for _, engine in ran}))


def fastest_medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Microseconds per call: the medians over the fastest tenth of the rounds."""
    fastest = sorted(rounds, key=lambda times: times["bare"] + times["off"] + times["cached"])[
        : max(1, len(rounds) // 10)
    ]
    return {what: median(times[what] for times in fastest) * 1e6 for what in ("bare", *MODES)}


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if every limit holds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help="rounds of each mode (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=500, help="calls per round (default: %(default)s)")
    options = parser.parse_args(arguments)

    print(f"Checks: µs per call, the quickest tenth of {options.rounds} rounds of {options.calls} calls")
    print(f"  {machine.described()}")
    print(f"  {'':24}{'bare':>8}{'+off':>8}{'+cached':>9}{'+full':>8}{'cached-off':>12}")
    noise = machine.Noise.now()
    passed = True
    methods = cases()
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
    for _ in range(options.rounds):
        for name, (method, values) in methods.items():
            seen[name].append(measured(method, values, options.calls))
    for name, rounds in seen.items():
        times = fastest_medians(rounds)
        added = {mode: times[mode] - times["bare"] for mode in MODES}
        cost, limit = added["cached"] - added["off"], LIMIT_NEW if "new" in name else LIMIT
        passed &= cost <= limit
        verdict = "pass" if cost <= limit else "FAIL"
        print(
            "  "
            f"{name:24}{times['bare']:8.2f}{added['off']:8.2f}{added['cached']:9.2f}{added['full']:8.1f}{cost:12.2f} "
            ""
            ""
            f" {verdict}"
        )
    cost, engines = lenet(options.rounds)
    passed &= cost <= LIMIT_LENET
    print(f"  LeNet5, forward in eval: a new batch size costs {cost:.1f} µs more ({engines} kernels)")
    print(f"  {noise.until_now()}")
    print(
        f"\n{'PASS' if passed else 'FAIL'}: in mode 'cached' a check costs at most {LIMIT:g} µs per call over "
        f"'off', {LIMIT_NEW:g} µs "
        f"where sizes are new, and a new batch size at most {LIMIT_LENET:g} µs in a LeNet5"
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
