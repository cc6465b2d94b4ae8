"""Training on several ranks of one thread: ``python -m benchmarks.parallel``.

=========  ===========================================================================================================
scaling    two ranks beside one rank, LeNet5 and a GPT-2 of 10.7 M parameters, each also with the plain all-reduce
torch      the same beside PyTorch's DistributedDataParallel over gloo, two processes
jax        LeNet5 beside JAX with two processes, whose collectives are gloo's
stages     a model in two stages, and two ranks with a part of the batch each, beside one rank
zero       two ranks that share out the optimizer, and PyTorch's ZeroRedundancyOptimizer, beside two that do not
mlp        ShallowSpeed's own network beside ShallowSpeed, of which ``--shallowspeed FOLDER`` has a copy
exchange   the sum of a vector to the same bits on any number of ranks, beside a plain all-reduce
messages   how long a message takes, by its size: point to point, all-reduce, all-to-all
overlap    an exchange that is under way while matrices are multiplied, also with MPICH's thread for messages
=========  ===========================================================================================================

Losses and gradients of a first step are compared before anything is measured. The jobs take turns: each has some steps
while the others sleep. Medians over all steps, and the fastest step, which other work on the machine disturbs least.
The exit code is 1 where results disagree or a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

import numpy as np

from benchmarks import absent
from benchmarks.gpt2_works import Ours, apart
from benchmarks.machine import How, Noise, described, environment
from benchmarks.parallel_works import GPT2, SHARED_OUT, SIZES
from typednn.parallel.job import mpiexec

PARTS = ("scaling", "torch", "jax", "stages", "zero", "mlp", "exchange", "messages", "overlap")
TOLERANCE = 2e-4  # of the norm of an array
EFFICIENCY = {"lenet5": 0.90, "gpt2": 0.85}
PEER = {"lenet5": 1 / 3, "gpt2": 0.7, "mlp": 0.5}
TITLES = {
    "lenet5": "LeNet5, batch 1200, step with SGD",
    "gpt2": f"GPT-2, {GPT2.parameters / 1e6:.1f} M parameters, 16 x 256 tokens, step with AdamW",
    "mlp": f"MLP {'-'.join(map(str, SIZES))}, batch 128, step with SGD",
}
MORE = {  # by its part: the work, what has to be installed, and who does it on how many ranks, beside the last of them
    "jax": ("lenet5", "jax", (("typednn", 2), ("jax", 2))),
    "stages": ("gpt2", "typednn", (("typednn-stages", 2), ("typednn", 2), ("typednn", 1))),
    "zero": ("gpt2", "torch", (("typednn-sharded", 2), ("typednn", 2), ("torch-zero", 2), ("torch", 2))),
}
Results = dict[str, tuple[float, float]]
STEPS = {"lenet5": 20, "gpt2": 1, "mlp": 100}  # of a turn


def on_ranks(count: int, *words: str) -> list[str]:
    """The command that starts so many ranks of a module."""
    return [mpiexec() or "", "-n", str(count), sys.executable, "-m", *words]


@dataclass(frozen=True, slots=True)
class Turns:
    """A job of several ranks, which steps when told to."""

    title: str
    process: subprocess.Popen[str]

    @classmethod
    def start(cls, name: str, work: str, count: int, folder: str, shallowspeed: str = "") -> Turns:
        command = on_ranks(count, "benchmarks.parallel_works", name, work, folder)
        given = environment(How(1)) | {"SHALLOWSPEED": shallowspeed}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=given)
        return cls(f"{name}, {count} {'rank' if count == 1 else 'ranks'}", process)

    def ask(self, order: str) -> Any:
        """What the job answers; an end of the program where it has ended."""
        given, told = cast("tuple[IO[str], IO[str]]", (self.process.stdin, self.process.stdout))
        print(order, file=given, flush=True)
        line = told.readline()
        if not line:
            sys.exit(f"{self.title}: the job has ended")
        return json.loads(line)

    def end(self) -> None:
        """Let the job end, and wait for it."""
        given, told = cast("tuple[IO[str], IO[str]]", (self.process.stdin, self.process.stdout))
        with suppress(BrokenPipeError):
            given.close()
        self.process.wait(timeout=60)
        told.close()


def compare(work: str, contestants: Sequence[tuple[str, int]], rounds: int, shallowspeed: str) -> Results:
    """The seconds of a step of each, median and least; nothing where results are apart from those of the first."""
    with TemporaryDirectory() as folder:
        if work == "gpt2":
            from typednn.models import save_gpt2

            save_gpt2(Ours(GPT2).model, folder)
        jobs = [Turns.start(name, work, count, folder, shallowspeed) for name, count in contestants]
        try:
            files = [Path(folder, f"{name}-{work}-{count}.npz") for name, count in contestants]
            for each in jobs:
                each.ask("results")
            first, *others = [dict(np.load(file)) for file in files]
            for each, found in zip(jobs[1:], others, strict=True):
                names = first.keys() & found.keys()  # ShallowSpeed has no loss
                far, what = apart({name: first[name] for name in names}, {name: found[name] for name in names})
                print(f"  {each.title} is apart from {jobs[0].title} by {far:.1e} ({what})")
                if not (names and far <= TOLERANCE):
                    print("  results disagree: nothing is measured")
                    return {}
            seconds: dict[str, list[float]] = {each.title: [] for each in jobs}
            for number in range(rounds + 1):
                for each in jobs:
                    found = each.ask(f"steps {STEPS[work]}")
                    seconds[each.title] += found if number else []
            for each in jobs:
                told = ", ".join(f"{now:.0f} MB, at most {most:.0f}" for now, most in each.ask("memory"))
                print(f"  {each.title:28}{told}")
            return {title: (median(found), min(found)) for title, found in seconds.items()}
        finally:
            for each in jobs:
                each.end()


def scaling(work: str, rounds: int) -> bool:
    """Two ranks beside one; whether the goal is held."""
    print(TITLES[work], flush=True)
    found = compare(work, [("typednn", 1), *((name, 2) for name in SHARED_OUT)], rounds, "")
    if not found:
        return False
    (alone, best), *others = found.values()
    shares = [(alone / 2 / seconds, best / 2 / least) for seconds, least in others]
    for (title, (seconds, least)), share in zip(found.items(), [(0.5, 0.5), *shares], strict=True):
        told = f"  efficiency {share[0]:.3f}, of the fastest steps {share[1]:.3f}" if share in shares else ""
        print(f"  {title:28}{1e3 * seconds:9.2f} ms, at least {1e3 * least:.2f}{told}")
    return _verdict(f"efficiency, exact, at least {EFFICIENCY[work]}", [each >= EFFICIENCY[work] for each in shares[0]])


def told(work: str, contestants: Sequence[tuple[str, int]], rounds: int, shallowspeed: str = "") -> list[Any]:
    """The times of each as a part of those of the last, which are printed; nothing where results are apart."""
    print(f"{TITLES[work]}, beside {contestants[-1][0]}", flush=True)
    found = compare(work, contestants, rounds, shallowspeed)
    *_, (theirs, best) = found.values() or [(1.0, 1.0)]
    ratios = [(seconds / theirs, least / best) for seconds, least in found.values()]
    for (title, (seconds, least)), ratio in zip(found.items(), ratios, strict=True):
        beside = f"  ratio {ratio[0]:.3f}, of the fastest steps {ratio[1]:.3f}"
        print(f"  {title:28}{1e3 * seconds:9.2f} ms, at least {1e3 * least:.2f}{beside}", flush=True)
    return ratios


def beside(work: str, peer: str, rounds: int, shallowspeed: str) -> bool:
    """Two ranks of typednn beside two of a peer; whether the goal is held."""
    ratios = told(work, [(name, 2) for name in (*SHARED_OUT, peer)], rounds, shallowspeed)
    return bool(ratios) and _verdict(
        f"ratio, exact, at most {PEER[work]:.2f}", [each <= PEER[work] for each in ratios[0]]
    )


def _verdict(goal: str, held: Sequence[bool]) -> bool:
    by_median, by_least = held
    told = (
        "held" if all(held) else "by the median only" if by_median else "by the fastest only" if by_least else "missed"
    )
    print(f"  goal: {goal}: {told}", flush=True)
    return all(held)


def messages(part: str, counts: Sequence[int], **given: str) -> None:
    """The table of `benchmarks.parallel_messages`, by number of ranks; variables of the environment may be given."""
    for count in counts:
        command = on_ranks(count, "benchmarks.parallel_messages", part)
        subprocess.run(command, env=environment(How(1)) | given, check=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; by default all")
    parser.add_argument("--work", choices=tuple(EFFICIENCY), action="append", help="only this model; by default both")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each job")
    parser.add_argument("--shallowspeed", default="", metavar="FOLDER", help="a copy of ShallowSpeed")
    options = parser.parse_args(argv)
    if absent.without("parallel", "mpi4py"):
        return 0
    if not mpiexec():
        absent.left_out("parallel", "needs mpiexec, got no such program; pip install 'typednn[mpi]'")
        return 0
    parts, noise = options.part or PARTS, Noise.now()
    print(f"{described()}; one thread for each rank; load {os.getloadavg()[0]:.1f}", flush=True)
    held: list[bool] = []
    for work in options.work or EFFICIENCY:
        if "scaling" in parts:
            held.append(scaling(work, options.rounds))
        if "torch" in parts and not absent.without(f"torch, {work}", "torch"):
            held.append(beside(work, "torch", options.rounds, ""))
    for part in (each for each in MORE if each in parts):
        work, library, contestants = MORE[part]
        if not absent.without(part, library):
            held.append(bool(told(work, contestants, options.rounds)))
    if "mlp" in parts and options.shallowspeed:
        held.append(beside("mlp", "shallowspeed", options.rounds, options.shallowspeed))
    elif "mlp" in parts:
        absent.left_out("mlp", "needs a copy of ShallowSpeed, got none; --shallowspeed FOLDER names one")
    for part in ("exchange", "messages"):
        if part in parts:
            messages(part, (2, 4))
    if "overlap" in parts:
        for thread in "01":
            messages("overlap", (2,), MPICH_ASYNC_PROGRESS=thread)
    print(noise.until_now())
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
