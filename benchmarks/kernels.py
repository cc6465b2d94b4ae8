"""How fast networks run and train on this processor, beside PyTorch, ONNX Runtime and JAX: ``python -m
benchmarks.kernels``.

All engines get the same weights, data and number of threads. First the results are compared: outputs, losses, every
gradient, and the weights after a few steps. If an engine differs from typednn, its row has no times. Then the engines
alternate within one process, a few runs at a time, after a pause (the threads of the engine before still spin for a
moment) and some runs that are not counted. Some processes are slow throughout, so there are several. A time is the
median over processes of their medians, a ratio the median of their ratios. If PyTorch has two layouts, the faster one
is the peer. The least and the greatest ratio of the processes are in brackets; ``least`` compares the fastest runs.

======  ================================================================================================================
limit   a lower bound of the time: the operations that the ops declare at the rate of a large matrix product, plus the
        bytes of input, parameters and optimizer at the rate of a copy, both measured in the same processes
memory  the largest resident size of a process that only trains LeNet5, Python and libraries included
epoch   ``typednn train lenet5 --data mnist --epochs 1`` beside `benchmarks.mnist_torch`, both from start to end of the
        process
checks  calls of checked methods per step, times the cost of a check (`benchmarks.checks`), over the time of the step
======  ================================================================================================================

``--target avx2`` holds every engine to AVX2 on a processor that has AVX-512, which goals of its own are for. ONNX
Runtime can't be held.

The exit code is 1 if results disagree, or if the better of typednn's two variants misses a goal, by its medians or by
its fastest runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, cast

from benchmarks import machine, works
from benchmarks.absent import data_of
from benchmarks.lenet5 import peak_memory
from benchmarks.limits import limits
from benchmarks.works import BOTH, LAYOUTS, WORKS, Contestant, Work

REPOSITORY = Path(__file__).resolve().parent.parent
PAUSE = 0.01  # seconds before each engine's samples
SAMPLE = 0.002  # seconds of a timed sample, at least one run
TURN = 5  # samples
BEGUN = "TYPEDNN_BENCHMARK_BEGUN"  # the variable with the start time of a process
# jaxtyping imports JAX if it is installed, tensorboardX imports PyTorch: 130 MB and seconds that users without them do
# not have.
HIDDEN = ("jax", "torch")
OWN_COMMAND = f"import sys; sys.modules.update(dict.fromkeys({HIDDEN})); from typednn.cli import main; sys.exit(main())"
ALLOWED = 0.01  # between accuracies after an epoch


@dataclass(frozen=True, slots=True)
class Goal:
    """At most ``ratio`` times the time of the fastest of ``peers``, with AVX-512; with AVX2 ``avx2`` times. None: no
    goal.
    """

    row: str
    peer: str
    peers: tuple[str, ...]
    ratio: float | None
    avx2: float | None = None


LIMIT = ("limit",)
GOALS = (
    Goal("lenet5-forward", "PyTorch", LAYOUTS, 1 / 6),
    Goal("lenet5-forward", "ONNX Runtime", ("onnxruntime",), 0.30, 0.45),
    Goal("lenet5-forward", "the limit", LIMIT, 1.35, 1.5),
    Goal("lenet5-step", "PyTorch", LAYOUTS, 0.15, 0.22),
    Goal("lenet5-step", "JAX jit", ("jax",), 1 / 20),
    Goal("lenet5-step", "the limit", LIMIT, 1.45, 1.7),
    Goal("lenet5-one", "PyTorch", LAYOUTS, 1 / 3, 1 / 3),
    Goal("lenet5-one", "ONNX Runtime", ("onnxruntime",), 0.8, 0.8),
    Goal("control-one", "PyTorch", ("torch",), 1 / 3, 1 / 3),
    Goal("control-step", "PyTorch", ("torch",), 0.5, 0.65),
    Goal("mlp-step", "PyTorch", ("torch",), 0.5),
    Goal("mlp-step", "the limit", LIMIT, 1.25, 1.25),
    Goal("vgg-step", "PyTorch", LAYOUTS, 0.8, 1.0),
    Goal("vgg-step-8", "PyTorch", LAYOUTS, 1.0, 1.0),
    Goal("vgg-step-1", "PyTorch", LAYOUTS, 1.0, 1.0),
    Goal("memory", "PyTorch", LAYOUTS, 1 / 3, 1 / 3),
    Goal("epoch", "PyTorch loop", LAYOUTS, 0.27, 0.36),
)
CHECKED = ("lenet5-step", "control-step")
SHARE = 0.02
TITLES = {name: work.title for name, work in WORKS.items()} | {
    "memory": "LeNet5, batch 600, training: peak memory",
    "epoch": "one epoch of MNIST, typednn train",
}
ROWS = (*TITLES, "checks")

Result = dict[str, Any]


# ---------------------------------------------------------------------------------------------------- within a process


def contest(work: Work, seconds: float, quick: bool = False) -> Result:
    """One process's part of a row: the engines, whether their results agree and, if so, each engine's
    seconds per run.
    """
    contestants: dict[str, Contestant] = {}
    absent: dict[str, str] = {}
    results: dict[str, works.Results] = {}
    for engine in work.engines:
        reason = works.missing(engine)
        if reason:
            absent[engine] = reason
            continue
        try:
            contestants[engine] = works.new_contestant(engine, work)
            results[engine] = contestants[engine].results()
        except Exception as error:  # after any error the other rows are still measured
            absent[engine] = f"failed: {type(error).__name__}: {error}"
            contestants.pop(engine, None)
    flops, traffic = works.needed(work)
    agreement = {
        engine: works.difference(results["typednn"], its, work.slack)
        for engine, its in results.items()
        if "typednn" in results
    }
    result: Result = {
        "absent": absent,
        "described": {engine: contestant.described() for engine, contestant in contestants.items()},
        "apart": agreement,
        "times": {},
        "flops": flops,
        "traffic": traffic,
    }
    if "typednn" not in results or any(not far <= 1 for far, _ in agreement.values()):
        return result
    result["ran"] = {
        engine: [[op, by, count] for (op, by), count in contestant.ran().items()]
        for engine, contestant in contestants.items()
        if isinstance(contestant, works.Typednn)
    }
    if work.optimizer:
        result["checked"] = {
            engine: checked_calls(partial_run(contestants[engine])) for engine in BOTH if engine in contestants
        }
    machine_limits = limits(256, 2**16, 1) if quick else limits()
    result["limit"] = {"flops": machine_limits.flops, "copied": machine_limits.copied}
    result["times"], result["cores"] = timed(contestants, seconds)
    return result


def partial_run(contestant: Contestant) -> Callable[[], None]:
    """One run."""
    return lambda: contestant.run(1)


def timed(contestants: Mapping[str, Contestant], seconds: float) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds per run of each sample; and the number of cores that each engine used."""
    times: dict[str, list[float]] = {engine: [] for engine in contestants}
    spent = {engine: [0.0, 0.0] for engine in contestants}
    runs: dict[str, int] = {}
    for engine, contestant in contestants.items():
        contestant.run(2)
        started = time.perf_counter()
        contestant.run(1)
        runs[engine] = max(1, round(SAMPLE / (time.perf_counter() - started)))
    end = time.perf_counter() + seconds
    order = list(contestants)
    turns = 0
    while turns < len(order) or time.perf_counter() < end:
        for engine in order[turns % len(order) :] + order[: turns % len(order)]:
            run, number = contestants[engine].run, runs[engine]
            time.sleep(PAUSE)
            run(number + 1)
            before = time.perf_counter(), time.process_time()
            for _ in range(TURN):
                started = time.perf_counter()
                run(number)
                times[engine].append((time.perf_counter() - started) / number)
            spent[engine][0] += time.perf_counter() - before[0]
            spent[engine][1] += time.process_time() - before[1]
        turns += 1
    return times, {engine: cpu / wall for engine, (wall, cpu) in spent.items()}


def checked_calls(step: Callable[[], None]) -> int:
    """The number of calls of checked methods in a step."""
    places = {
        "contracts/checks.py": {"checked"},
        "module/calls.py": {"called", "backward"},
        "module/updates.py": {"checked_uses"},
    }
    calls = 0

    def profile(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        if event == "call":
            place = "/".join(Path(frame.f_code.co_filename).parts[-2:])
            calls += frame.f_code.co_name in places.get(place, ())

    step()
    sys.setprofile(profile)
    try:
        step()
    finally:
        sys.setprofile(None)
    return calls


def memory(engine: str, work: Work, steps: int) -> Result:
    """Train one engine in this process: seconds from its start to the end of the first step, the final loss, and the
    peak memory.
    """
    reason = works.missing(engine)
    if reason:
        return {"absent": reason}
    contestant: Any = works.new_contestant(engine, work)
    contestant.run(1)
    first = time.time() - float(os.environ.get(BEGUN, "nan"))
    contestant.run(steps - 2)
    loss = float(contestant.step()[1])
    return {"first": first, "loss": loss, "peak": peak_memory(), "described": contestant.described()}


def cost_of_checks(quick: bool) -> Result:
    """Seconds that ``cached`` adds to a call, for each method."""
    from benchmarks import checks

    rounds, calls = (2, 10) if quick else (60, 500)
    costs: dict[str, float] = {}
    for name, (method, values) in checks.cases().items():
        seen = checks.fastest_medians([checks.measured(method, values, calls) for _ in range(rounds)])
        costs[name] = (seen["cached"] - seen["off"]) * 1e-6
    return {"costs": costs}


def profile(work: Work, engine: str, runs: int) -> None:
    """Print the time of each op of `typednn.kernels` in a run, and the remaining time of Python."""
    contestant: Any = works.new_contestant(engine, work)
    if contestant.planned:
        contestant.run(works.PLANNED)
        print(f"{work.title}, {engine}:\n{contestant.learner.explain(times=min(runs, 50))}")
        return
    contestant.run(3)
    started = time.perf_counter()
    contestant.run(runs)
    bare = (time.perf_counter() - started) / runs
    with works.profiled() as result:
        started = time.perf_counter()
        contestant.run(runs)
        whole = (time.perf_counter() - started) / runs
    print(f"{work.title}, {engine}: {_time(bare)} a run, {_time(whole)} under this profile")
    rest = whole
    for name, seconds in sorted(result.items(), key=lambda item: -sum(item[1])):
        share = sum(seconds) / runs
        rest -= share
        each = f"{len(seconds) / runs:g} calls, median {_time(median(seconds))}, least {_time(min(seconds))}"
        print(f"  {name:36}{_time(share):>12}{share / whole:7.1%}   {each}")
    print(f"  {'outside the ops: layers, checks, walk':36}{_time(rest):>12}{rest / whole:7.1%}")


# ---------------------------------------------------------------------------------------------------- from outside


def run_process(arguments: Sequence[str], how: machine.How, **more: str) -> Result:
    """Run this program in a new process; return its JSON result."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.kernels", *arguments],
        cwd=REPOSITORY,
        env=machine.environment(how) | more | {BEGUN: repr(time.time())},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"benchmarks.kernels {' '.join(arguments)} ended with {done.returncode}\n{done.stderr}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def memories(how: machine.How, quick: bool) -> Result:
    """The peak memory of each engine in its own process; for typednn also with an empty kernel cache."""
    options = ["--quick"] if quick else []
    result: dict[str, Result] = {}
    for engine in BOTH:  # fills the kernel cache
        run_process(["--worker", "memory", "--engine", engine, *options], how)
    for engine in (*BOTH, *LAYOUTS):
        result[engine] = run_process(["--worker", "memory", "--engine", engine, *options], how)
    with tempfile.TemporaryDirectory() as empty:
        result["cold"] = run_process(["--worker", "memory", "--engine", "typednn", *options], how, TYPEDNN_CACHE=empty)
    measured = {engine: one for engine, one in result.items() if "absent" not in one}
    losses = {engine: one["loss"] for engine, one in measured.items()}
    apart = {engine: [abs(loss / losses["typednn"] - 1) / 1e-3, "loss"] for engine, loss in losses.items()}
    return {
        "absent": {engine: one["absent"] for engine, one in result.items() if "absent" in one},
        "described": {engine: one["described"] for engine, one in measured.items() if engine != "cold"},
        "apart": apart,
        "times": {engine: [one["peak"]] for engine, one in measured.items() if engine != "cold"},
        "first": {engine: one["first"] for engine, one in measured.items()},
        "cold": measured["cold"]["peak"],
    }


def epoch(how: machine.How) -> Result:
    """One epoch by typednn's command and by the plain PyTorch loop, each in its own process."""
    from typednn.data import source_folder

    folder = source_folder("mnist")  # `main` has looked whether it can be had
    absent = {engine: works.missing(engine) for engine in LAYOUTS if works.missing(engine)}
    times: dict[str, list[float]] = {}
    accuracies: dict[str, float] = {}
    variables = machine.environment(how) | {"TYPEDNN_DATA": str(folder), "PYTHONPATH": str(REPOSITORY)}
    for engine in ("typednn", *(engine for engine in LAYOUTS if engine not in absent)):
        with tempfile.TemporaryDirectory() as temporary:
            command = ["-c", OWN_COMMAND, "train", "lenet5", "--data", "mnist", "--epochs", "1", "--run", "run", "-q"]
            if engine != "typednn":
                layout = "channels_last" if engine == LAYOUTS[1] else "contiguous_format"
                command = ["-m", "benchmarks.mnist_torch", str(folder), layout]
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, *command], cwd=temporary, env=variables, capture_output=True, text=True, check=False
            )
            times[engine] = [time.perf_counter() - started]
            if done.returncode:
                raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr}")
            if engine == "typednn":
                accuracies[engine] = json.loads(Path(temporary, "run", "report.json").read_text(encoding="utf-8"))[
                    "accuracy"
                ]
            else:
                accuracies[engine] = json.loads(done.stdout)["test"]
    apart = {engine: [abs(right - accuracies["typednn"]) / ALLOWED, "accuracy"] for engine, right in accuracies.items()}
    described = {engine: f"{engine}: {right:.2%} of the test images" for engine, right in accuracies.items()}
    return {"absent": absent, "times": times, "apart": apart, "described": described}


# ---------------------------------------------------------------------------------------------------- the report


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _amount(row: str, amount: float) -> str:
    return f"{amount / 1e6:.0f} MB" if row == "memory" else _time(amount)


def _verdict(held: bool, judged: bool) -> str:
    return ("held" if held else "MISSED") if judged else "-"


@dataclass(frozen=True, slots=True)
class Line:
    """One variant of typednn beside one peer; ``ratio`` is the goal, if there is one."""

    goal: Goal
    ratio: float | None
    engine: str
    ours: float
    peer: str
    theirs: float
    ratios: tuple[float, ...]
    least: float
    limit: float | None

    @property
    def held(self) -> bool:
        """Whether the goal is met, by the medians and by the fastest runs."""
        return self.ratio is None or max(median(self.ratios), self.least) <= self.ratio

    def text(self, judged: bool) -> str:
        """The line of the table."""
        spread = f"{median(self.ratios):6.3f} ({min(self.ratios):.3f}-{max(self.ratios):.3f})"
        limit = f"{self.limit:8.1f}x" if self.limit is not None else f"{'-':>9}"
        goal = f"{'-':>7}" if self.ratio is None else f"{self.ratio:7.3f}"
        verdict = _verdict(self.held, judged and self.ratio is not None)
        ours, theirs = _amount(self.goal.row, self.ours), _amount(self.goal.row, self.theirs)
        return (
            f"  {TITLES[self.goal.row]:49.49}{self.engine:16}{ours:>10}  "
            f"{self.peer:21}{theirs:>10}{spread:>22}{self.least:7.3f}"
            f"{goal}  {verdict:8}{limit}"
        )


HEAD = (
        f"  {'work':49}{'ours':16}{'':>10}  {'peer':21}{'':>10}{'ratio (processes)':>22}{'least':>7}{'goal':>7}  "
        f"{'':8}{'limit':>9}"
)  # fmt: skip


def lines(goal: Goal, processes: Sequence[Result], avx2: bool = False) -> list[Line]:
    """A goal's lines, one for each measured variant of typednn; empty without the peer."""
    table: list[Line] = []
    measured = [_with_limit(result) for result in processes]
    peers = [peer for peer in goal.peers if all(peer in times for times in measured)]
    if not peers or not processes:
        return []
    medians = [{engine: median(seconds) for engine, seconds in times.items()} for times in measured]
    best = min(peers, key=lambda peer: median(one[peer] for one in medians))
    for engine in BOTH:
        if not all(engine in one for one in medians):
            continue
        ratios = tuple(one[engine] / min(one[peer] for peer in peers) for one in medians)
        least = {who: min(min(times[who]) for times in measured) for who in (engine, *peers)}
        limit = (
            median(one[engine] / one["limit"] for one in medians) if all("limit" in one for one in medians) else None
        )
        table.append(
            Line(
                goal,
                goal.avx2 if avx2 else goal.ratio,
                engine,
                median(one[engine] for one in medians),
                best,
                median(one[best] for one in medians),
                ratios,
                least[engine] / min(least[peer] for peer in peers),
                limit,
            )
        )
    return table


def _with_limit(result: Result) -> dict[str, list[float]]:
    """The times of one process, and the limit's."""
    times: dict[str, list[float]] = dict(result["times"])
    if times and "limit" in result:
        times["limit"] = [result["flops"] / result["limit"]["flops"] + result["traffic"] / result["limit"]["copied"]]
    return times


def engines_used(ran: Sequence[Sequence[Any]]) -> str:
    """``halide 12, blas 6, reference 1 (pad2d.forward)``."""
    totals: dict[str, int] = {}
    for _, by, count in ran:
        totals[by] = totals.get(by, 0) + count
    slow = sorted({op for op, by, _ in ran if by == "reference"})
    text = (
        ", ".join(f"{by} {count}" for by, count in sorted(totals.items(), key=lambda item: -item[1]))
        or "no op was noted"
    )
    return f"{text} ({', '.join(slow)})" if slow else text


def disagreements(result: Result) -> list[str]:
    """Engines whose results disagree with typednn's, as messages."""
    return [
        f"{engine} is {far:.3g} times farther from typednn than allowed ({where})"
        for engine, (far, where) in result["apart"].items()
        if not far <= 1  # NaN differs too
    ]


def print_check_shares(processes: Mapping[str, Sequence[Result]], costs: Sequence[Result], judged: bool) -> bool:
    """Print the share of the checks in a step's time; return whether every share is within the limit."""
    if not costs:
        return True
    cost = median(max(result["costs"].values()) for result in costs)
    passed = True
    for row in CHECKED:
        for engine in BOTH:
            measured = [result for result in processes.get(row, ()) if engine in result["times"]]
            if not measured:
                continue
            calls = measured[0]["checked"][engine]
            step = median(median(result["times"][engine]) for result in measured)
            share = calls * cost / step
            passed &= share <= SHARE
            sums = f"{calls} checked calls x {cost * 1e6:.2f} µs of {_time(step)}"
            print(
                f"  checks, {TITLES[row]:48}{engine:16}  {sums:46}{share:8.2%}  goal {SHARE:.0%}  "
                f"{_verdict(share <= SHARE, judged)}"
            )
    return passed


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if results agree and goals are met, or are not judged."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kernels", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="some of the rows")
    parser.add_argument("--processes", type=int, default=5, help="fresh processes per row (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="of alternating runs in each (default: %(default)s)")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of every engine (default: %(default)s, as in the goals)"
    )
    parser.add_argument(
        "--target",
        choices=machine.TARGETS,
        default="",
        help="hold every engine to these instructions (default: to none)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one process, tiny batches, no epoch: shows that it works, and judges nothing",
    )
    parser.add_argument("--json", type=Path, help="write everything that was measured there")
    parser.add_argument("--profile", action="store_true", help="show where typednn's time goes instead")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    how = machine.How(options.threads, options.target)
    if options.worker is not None:
        _work(options)
        return 0
    if options.profile:
        for row in options.rows:
            for engine in BOTH:
                if row in WORKS and not works.missing(engine):
                    subprocess.run(
                        [sys.executable, "-m", "benchmarks.kernels", "--worker", f"profile {row}", "--engine", engine],
                        cwd=REPOSITORY,
                        env=machine.environment(how),
                        check=True,
                    )
        return 0

    count = 1 if options.quick else options.processes
    seconds = 0.0 if options.quick else options.seconds
    rows = [row for row in ROWS if row in options.rows and not (row == "epoch" and options.quick)]
    method = f"{count} process{'es' if count > 1 else ''} per row, {seconds:g} s of alternating runs each; medians"
    print(f"Kernels: {options.threads} threads for everybody, float32, {method}")
    print(f"  {machine.described()}{f', everybody held to {options.target}' if options.target else ''}")
    ignored = [f"{name}={os.environ[name]}" for name in machine.LEFT_OUT if name in os.environ]
    if ignored:
        print(f"  left out of the measured processes' environment: {', '.join(ignored)}")
    if "epoch" in rows and data_of(TITLES["epoch"], "mnist") is None:
        rows.remove("epoch")
    noise = machine.Noise.now()
    processes: dict[str, list[Result]] = {row: [] for row in rows}
    for number in range(count):
        for row in rows:
            print(f"process {number + 1} of {count}: {TITLES.get(row, row)}", file=sys.stderr)
            processes[row].append(_measured(row, seconds, how, options.quick))
    if options.json is not None:
        options.json.write_text(json.dumps(processes), encoding="utf-8")
    good = print_report(processes, judged=not options.quick, avx2=not machine.has_avx512(how))
    print(f"  {noise.until_now()}")
    return 0 if good else 1


def _measured(row: str, seconds: float, how: machine.How, quick: bool) -> Result:
    """One process's part of a row."""
    if row == "memory":
        return memories(how, quick)
    if row == "epoch":
        return epoch(how)
    return run_process(["--worker", row, "--seconds", str(seconds), *(["--quick"] if quick else [])], how)


def _work(options: argparse.Namespace) -> None:
    """A measured process; it prints its result as the last line."""
    kind, _, row = options.worker.partition(" ")
    if kind == "profile":
        work = WORKS[row]
        flops = works.needed(work)[0]
        profile(work, options.engine, max(20, round(2e9 / flops)) if flops > 1e8 else 2000)
    elif kind == "memory":
        if options.engine in BOTH:
            sys.modules.update(cast(Any, dict.fromkeys(HIDDEN)))
        work = WORKS["lenet5-step"]
        print(
            json.dumps(
                memory(options.engine, replace(work, batch=4) if options.quick else work, 3 if options.quick else 30)
            )
        )
    elif kind == "checks":
        print(json.dumps(cost_of_checks(options.quick)))
    else:
        work = WORKS[kind]
        print(
            json.dumps(
                contest(
                    replace(work, batch=min(work.batch, 2)) if options.quick else work, options.seconds, options.quick
                )
            )
        )


def print_report(processes: Mapping[str, Sequence[Result]], judged: bool = True, avx2: bool = False) -> bool:
    """Print the engines and the table; return whether results agree and the goals are met."""
    contests = {row: result for row, result in processes.items() if row != "checks"}
    good = True
    print("\nWho")
    for text in dict.fromkeys(
        text
        for row, results in contests.items()
        if row != "epoch"
        for result in results[:1]
        for text in result["described"].values()
    ):
        print(f"  {text}")
    for text in dict.fromkeys(
        f"{engine}: {why}"
        for results in contests.values()
        for result in results
        for engine, why in result["absent"].items()
    ):
        print(f"  without {text}")
        good &= "failed" not in text
    print("\nResults: how far from typednn, in units of what is allowed")
    for row, results in contests.items():
        for text in dict.fromkeys(text for result in results for text in disagreements(result)):
            print(f"  {TITLES[row]}: refused, no times: {text}")
            good = False
        far = {
            engine: max(result["apart"][engine][0] for result in results)
            for engine in results[0]["apart"]
            if engine != "typednn"
        }
        print(
            "  "
            f"{TITLES[row]:49.49}"
            f"{', '.join(f'{engine} {one:.2g}' for engine, one in far.items()) or 'nobody to compare with'}"
        )
    print("\nWhich engine ran typednn's ops")
    for row, results in contests.items():
        for engine, ran in results[0].get("ran", {}).items():
            print(f"  {TITLES[row]:49.49}{engine:17}{engines_used(ran)}")
    measured = [result["limit"] for results in contests.values() for result in results if "limit" in result]
    if measured:
        product, copy = (median(result[what] for result in measured) / 1e9 for what in ("flops", "copied"))
        print(f"\nLimit of this machine: matrix product {product:.0f} GFLOP/s, copy {copy:.0f} GB/s")
    print(f"\n{HEAD}")
    met: dict[Goal, bool] = {}
    for goal in GOALS:
        results = contests.get(goal.row, ())
        if not results or any(disagreements(result) for result in results):
            continue
        table = lines(goal, results, avx2)
        for line in table:
            print(line.text(judged))
            if line.ratio is not None:
                met[goal] = met.get(goal, False) or line.held
        if not table:
            ours = ", ".join(
                f"{who} {_amount(goal.row, median(median(result['times'][who]) for result in results))}"
                for who in results[0]["times"]
            )
            print(f"  {TITLES[goal.row]:49.49}without {goal.peer}: {ours or 'nothing measured'}")
    shares = print_check_shares(contests, processes.get("checks", ()), judged)
    for result in contests.get("memory", ())[:1]:
        first = ", ".join(f"{engine} {seconds:.2f} s" for engine, seconds in result["first"].items())
        print(f"\n  from the start of the process to the end of LeNet5's first step: {first}")
        print(f"  cold: kernels not compiled yet; that process's peak memory is {result['cold'] / 1e6:.0f} MB")
    if not judged:
        print("\nnot judged: too small")
        return good
    missed = [f"{TITLES[goal.row]} beside {goal.peer}" for goal, held in met.items() if not held]
    print(f"\n{len(met) - len(missed)} of {len(met)} goals held, checks {'within' if shares else 'over'} their share")
    for text in missed:
        print(f"  missed: {text}")
    return good and shares and not missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
