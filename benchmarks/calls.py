"""What three shortcuts around a kernel's call buy, each beside the public way that does the same: ``python -m
benchmarks.calls``.

=========  ===================================================  ========================================================
shortcut   in typednn                                           the public way
=========  ===================================================  ========================================================
addresses  `engines.memory.addresses` reads an array's header   ``array.ctypes.data``
memory     `engines.memory.pool` reuses what nothing refers to  ``numpy.empty``
callers    `engines.halide.frames` generates a kernel's caller  a loop over the arguments, `looping` in this file
=========  ===================================================  ========================================================

One process has all three shortcuts, and one process for each shortcut lacks it. They take short turns, so other work of
the machine slows all of them. The rows: a kernel's call on small arrays; networks of `benchmarks.works`, by plans
unless said. A column is the median time without that shortcut, and in brackets its ratio to the time with all of them,
of medians and of the fastest turns. A shortcut stays in typednn only where it makes a row at least a twentieth faster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine, works

VARIANTS = ("all", "addresses", "memory", "callers")
NETWORKS = {
    "lenet5-one": "typednn-planned",
    "control-one": "typednn-planned",
    "lenet5-step": "typednn-planned",
    "lenet5-layers": "typednn",
}
ROWS = ("kernel", *NETWORKS)
TITLES = {
    "kernel": "ReLU's kernel on 64 numbers",
    **{row: works.WORKS[row].title for row in ROWS[1:-1]},
    "lenet5-layers": "the same, layer by layer",
}
TURN = 0.02  # seconds
FLOAT32 = np.dtype(np.float32)

Run = Callable[[int], object]


# ---------------------------------------------------------------------------------------------------- within a process


def without(shortcut: str) -> None:
    """Put the public way in place of a shortcut, before any kernel is made."""
    from typednn import engines
    from typednn.engines.halide import compiled
    from typednn.engines.memory import addresses, pool

    patched: Any
    match shortcut:
        case "addresses":
            addresses._word = None
        case "memory":
            for patched in (engines, pool):
                patched.empty = fresh
        case "callers":
            patched = compiled
            patched.caller_of = looping
        case _:
            pass


def fresh(shape: tuple[int, ...], dtype: Any = FLOAT32) -> Any:
    """A new array, as ``pool.empty`` gives one."""
    return np.empty(shape, dtype)


def looping(plan: Any, run: Callable[[int], int], complaint: Callable[[], str]) -> Callable[..., None]:
    """What `frames.caller_of` generates, as a loop over the arguments. Errors name no argument."""
    from typednn.engines.halide.frames import Frame
    from typednn.engines.halide.toolchain import Array
    from typednn.engines.memory.addresses import address

    blank, inputs = Frame(plan), len(plan.inputs)
    arguments = (*plan.inputs, *plan.outputs)
    places = [
        (
            blank.slot(number),
            argument.dtype == "float32",
            np.dtype(argument.dtype) if isinstance(argument, Array) else None,
            number >= inputs,
        )
        for number, argument in enumerate(arguments)
    ]
    frames: dict[Any, list[Frame]] = {}

    def call(*given: Any) -> None:
        values = (*given[:inputs], *(given[number] for number in plan.written), *given[inputs:])
        shapes = tuple([getattr(value, "shape", None) for value in values])
        idle = frames.setdefault(shapes, [])
        if idle:
            frame = idle.pop()
        else:
            frame = Frame(plan)
            frame.fit(values)
        for value, (slot, is_float, dtype, written) in zip(values, places, strict=True):
            if dtype is None:
                (frame.floats if is_float else frame.integers)[slot] = value
                continue
            flags = value.flags
            if (
                type(value) is not np.ndarray
                or value.dtype is not dtype
                or not (flags.carray if written else flags.c_contiguous)
            ):
                frame.fit(values)
            frame.words[slot] = address(value)
        code = run(frame.address)
        idle.append(frame)
        if code:
            raise RuntimeError(complaint())

    return call


def measured(row: str) -> Run:
    """What a row measures: a function that does it so many times."""
    if row in NETWORKS:
        return works.new_contestant(NETWORKS[row], works.WORKS[row.replace("layers", "step")]).run
    from typednn.kernels import pointwise

    each = pointwise.relu.formulas[0].kernels[FLOAT32]
    x, y = np.ones(64, np.float32), np.empty(64, np.float32)

    def small(times: int) -> None:
        for _ in range(times):
            each.call(x, y)

    return small


def turn(run: Run, times: int) -> float:
    """Seconds of one of ``times`` runs."""
    start = perf_counter()
    run(times)
    return (perf_counter() - start) / times


def child(shortcut: str, rows: Sequence[str]) -> int:
    """Answer the names of rows on standard input with the seconds of a turn."""
    without(shortcut)
    runs, times = {row: measured(row) for row in rows}, dict.fromkeys(rows, 1)
    for row, run in runs.items():
        run(3)
        while turn(run, times[row]) * times[row] < TURN:
            times[row] *= 2
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(turn(runs[line.strip()], times[line.strip()])), flush=True)
    return 0


# ---------------------------------------------------------------------------------------------------- between processes


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calls", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=60, help="of each process, in each row")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--without", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.without:
        return child(options.without, options.rows)
    print(machine.described())
    noise = machine.Noise.now()
    command = [sys.executable, "-m", "benchmarks.calls", "--without"]
    children = {
        variant: subprocess.Popen(
            [*command, variant, "--rows", *options.rows],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=machine.environment(machine.How(options.threads)),
            cwd=Path(__file__).resolve().parent.parent,
        )
        for variant in VARIANTS
    }
    for process in children.values():
        answer(process)
    print(f"{'µs':42}{'all shortcuts':>14}" + "".join(f"{f'without {variant}':>28}" for variant in VARIANTS[1:]))
    for row in options.rows:
        times: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
        for number in range(options.turns):
            for variant in VARIANTS[:: 1 if number % 2 else -1]:
                process = children[variant]
                assert process.stdin is not None
                print(row, file=process.stdin, flush=True)
                times[variant].append(json.loads(answer(process)))
        middle, least = (
            {name: median(each) for name, each in times.items()},
            {name: min(each) for name, each in times.items()},
        )
        cells = [
            f"{middle[name] * 1e6:.2f} ({middle[name] / middle['all']:.2f}; least {least[name] / least['all']:.2f})"
            for name in VARIANTS[1:]
        ]
        print(f"{TITLES[row]:42}{middle['all'] * 1e6:14.2f}" + "".join(f"{cell:>28}" for cell in cells), flush=True)
    for process in children.values():
        process.communicate()
    print(noise.until_now())
    return 0


def answer(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"a measured process ended with {process.wait()}")
    return line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
