"""Layers, and ResNet-18, beside PyTorch: ``python -m benchmarks.layers``.

Each row is a forward and a backward, of ResNet-18 a whole training step, with the same weights and the same numbers.
Results are compared first. Then the contestants take turns, in several processes; shown are the medians, the ratio to
PyTorch's faster memory layout by medians and by the fastest runs, and the goal. Of attention the growth of the
process's memory during one forward and backward is compared too.

``--target avx2`` holds both libraries to AVX2. The exit code is 1 if results disagree or a goal is missed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from gc import collect
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks import absent, machine
from benchmarks.layer_works import WORKS, Contestant, attention

TOLERANCE = 2e-4  # of the largest number of an array: sums of thousands of products in another order
SAMPLES = 3  # of one turn, after a run that is not counted
PAUSE = 0.01  # seconds, in which the threads of the one before go to sleep


@dataclass(frozen=True, slots=True)
class Goal:
    """At most this part of PyTorch's time, with AVX-512 and with AVX2; and of the memory by which it grows."""

    avx512: float
    avx2: float
    memory: float | None = None


GOALS: dict[str, Goal] = {
    "resnet18": Goal(0.8, 1.0),
    "batch_norm_relu": Goal(0.8, 0.8),
    "layer_norm": Goal(0.8, 0.8),
    "gelu": Goal(0.8, 0.8),
    "gelu_tanh": Goal(0.8, 0.8),
    "dropout": Goal(0.8, 0.8),
    "depthwise": Goal(0.8, 1.0),
    "lstm": Goal(0.5, 0.8),
    "attention": Goal(0.7, 1.0, memory=0.5),
    "attention_dropout": Goal(0.7, 1.0),
}


def timed(run: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = perf_counter()
    run()
    return perf_counter() - start


def compared(row: str, contestants: dict[str, Contestant]) -> list[str]:
    """What disagrees with the first contestant's results."""
    wrong: list[str] = []
    (_, ours), *others = contestants.items()
    expected = ours.results()
    for name, other in others:
        for what, theirs in other.results().items():
            apart = float(np.abs(expected[what] - theirs).max()) / max(float(np.abs(theirs).max()), 1e-30)
            if not apart <= TOLERANCE:
                wrong.append(f"{row}: {what} is {apart:.2g} of its largest number away from that of {name}")
    return wrong


def measure(row: str, seconds: float) -> dict[str, Any]:
    """In this process: disagreements, and the seconds of each run by contestant."""
    contestants = WORKS[row]()
    wrong = compared(row, contestants)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for each in contestants.values():
        each.run()
    began = perf_counter()
    while perf_counter() - began < seconds or len(next(iter(times.values()))) < SAMPLES:
        for name, each in contestants.items():
            sleep(PAUSE)
            each.run()
            times[name] += [timed(each.run) for _ in range(SAMPLES)]
    return {"wrong": wrong, "times": times}


def growth(row: str, engine: str) -> int:
    """In this process: how many bytes its memory grows by in the first run of ``engine``, after a small one that loads
    libraries.

    What the allocator holds free, of the other contestants' inputs too, is given back first: it would be used without
    growth.
    """
    attention(16)[engine].run()
    contestant = WORKS[row]()[engine]
    collect()
    ctypes.CDLL(None).malloc_trim(0)
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    clear.write_text("5", encoding="ascii")  # the largest memory is counted from now on
    before = _kilobytes(status, "VmRSS")
    contestant.run()
    return (_kilobytes(status, "VmHWM") - before) * 1024


def _kilobytes(status: Path, name: str) -> int:
    return next(
        int(line.split()[1]) for line in status.read_text(encoding="ascii").splitlines() if line.startswith(f"{name}:")
    )


def child(arguments: Sequence[str], how: machine.How) -> Any:
    """The answer of another process of this file."""
    command = [sys.executable, "-m", "benchmarks.layers", *arguments, "--threads", str(how.threads)]
    done = subprocess.run(command, env=machine.environment(how), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def shown(row: str, results: Sequence[dict[str, Any]], goal: float, judged: bool) -> bool:
    """Print a row; return whether its goal is met by the medians and by the fastest runs."""
    middle = {name: median(median(result["times"][name]) for result in results) for name in results[0]["times"]}
    least = {name: min(min(result["times"][name]) for result in results) for name in results[0]["times"]}
    ours, *peers = middle
    peer = min(peers, key=middle.__getitem__)
    ratio, fastest = middle[ours] / middle[peer], least[ours] / min(least[name] for name in peers)
    verdict = (
        ""
        if not judged
        else "pass"
        if max(ratio, fastest) <= goal
        else "half"
        if min(ratio, fastest) <= goal
        else "FAIL"
    )
    times = f"{middle[ours] * 1e3:10.2f} ms  {peer:20}{middle[peer] * 1e3:10.2f} ms"
    print(f"  {row:18}{times}{ratio:8.3f}{fastest:8.3f}{goal:7.2f}  {verdict}", flush=True)
    return bool(max(ratio, fastest) <= goal)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if results agree and the goals are met, or are not judged."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--only", nargs="+", default=list(GOALS), choices=list(GOALS), metavar="ROW", help=f"of {', '.join(GOALS)}"
    )
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of both libraries (default: %(default)s, as in the goals)"
    )
    parser.add_argument(
        "--target", default="", choices=["", *machine.TARGETS], help="hold both libraries to an instruction set"
    )
    parser.add_argument("--processes", type=int, default=3, help="processes for each row (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="seconds of turns in each process (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="one process, few turns, no verdict")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--growth", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure or options.growth:
        import torch

        torch.set_num_threads(options.threads)
        print(json.dumps(measure(options.measure, options.seconds) if options.measure else growth(*options.growth)))
        return 0
    if absent.without(f"layers ({', '.join(options.only)})", "torch"):
        return 0
    how = machine.How(options.threads, options.target)
    processes, seconds = (1, 0.2) if options.quick else (options.processes, options.seconds)
    print(f"Layers beside PyTorch: forward and backward, {processes} processes")
    print(f"  {machine.described()}; {options.threads} threads{f', held to {options.target}' * bool(options.target)}")
    print(f"  {'':18}{'typednn':>13}  {'fastest of PyTorch':20}{'':13}{'ratio':>8}{'least':>8}{'goal':>7}")
    noise, wrong, met = machine.Noise.now(), [], True
    for row in options.only:
        goal = GOALS[row].avx512 if machine.has_avx512(how) else GOALS[row].avx2
        results = [child(["--measure", row, "--seconds", str(seconds)], how) for _ in range(processes)]
        wrong += results[0]["wrong"]
        met &= shown(row, results, goal, judged=not options.quick)
        if GOALS[row].memory is not None:
            met &= _shown_growth(row, GOALS[row].memory or 1.0, partial(child, how=how), judged=not options.quick)
    print(f"  {noise.until_now()}")
    print("\n".join(f"  DISAGREES {each}" for each in wrong) or "  all results agree")
    return 1 if wrong or not (met or options.quick) else 0


def _shown_growth(row: str, goal: float, ask: Callable[[Sequence[str]], Any], judged: bool) -> bool:
    ours, *theirs = (ask(["--growth", row, engine]) / 2**20 for engine in WORKS[row]())
    ratio = ours / min(theirs)
    verdict = "" if not judged else "pass" if ratio <= goal else "FAIL"
    print(f"  {'  memory':18}{ours:10.1f} MiB {'':20}{min(theirs):10.1f} MiB{ratio:7.3f}{'':8}{goal:7.2f}  {verdict}")
    return bool(ratio <= goal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
