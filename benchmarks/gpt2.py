"""GPT-2 beside PyTorch: ``python -m benchmarks.gpt2``, or ``python -m benchmarks gpt2``.

Rows are training steps with AdamW on 4 sequences of 64 and of 256 tokens, and greedy generation of 128 tokens behind
16, also with the matrices in bfloat16 and in int8. The peer is `transformers`' model, eager or by ``torch.compile``,
whichever is faster, with the same random weights. First the loss, every gradient, and the losses of three steps are
compared, or the texts; of fewer bits the scores, with those of the numbers that they stand for. Then the contestants
take turns in one process, in several processes.

``the limit`` is a lower bound of a step, measured in the same process: each matrix product in the model's own shapes,
by the faster library, attention's products at the rate of a large one, and AdamW's bytes at the rate of a large copy. A
generated token reads every weight once; the rate at which it does is compared with that of reading a large array.
``memory`` is how much a process grows from before the model is made to the largest it is in two training steps; of 256
tokens also with checkpointing, which the goal allows.

``--text FILE`` trains a small model on a file's bytes instead, and prints the loss on its last tenth, with the matrices
in fewer bits too.

The exit code is 1 if results disagree or a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from gc import collect
from pathlib import Path
from shutil import which
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks import absent, machine
from benchmarks.gpt2_works import CONTESTANTS, SIZES, STEPS, Compact, Ours, Size, apart, losses, tokens
from benchmarks.limits import Limits, limits, product_seconds, reading

TOLERANCE = 1e-4  # of the norm of an array, and of the losses
PAUSE = 0.05  # seconds, in which the threads of the one before go to sleep
BATCH, TIMES = 4, (64, 256)
PROMPT, NEW = 16, 128
ADAMW = 28  # bytes that a step of a parameter moves: four numbers read, three written
STEP, LIMIT, MEMORY = 0.55, 1.35, {64: 0.9, 256: 0.75}  # goals, as parts of the peer's
CHECKPOINTED = (256,)  # tokens where the goal of memory allows checkpointing
FASTER, BANDWIDTH = 1.25, 0.8  # goals of generation
COMPACT = {"bfloat16": 1.6, "int8": 2.5}  # times the tokens per second of float32


def peers(eager: bool = False) -> list[str]:
    """PyTorch, and with a C++ compiler also compiled PyTorch, unless it is to be ``eager``; nobody where it is not
    installed.
    """
    if absent.why_not("torch", "transformers"):
        return []
    return ["torch"] if eager or which("g++") is None else ["torch", "torch-compiled"]


def takes_turns(everyone: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """The seconds of each contestant's runs, after one that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in everyone}
    for number in range(rounds + 1):
        for name, run in everyone.items():
            sleep(PAUSE)
            started = perf_counter()
            run()
            times[name] += [perf_counter() - started] * (number > 0)
    return times


def measure_step(size: Size, time: int, rounds: int, names: Sequence[str]) -> dict[str, Any]:
    """In this process: how far results are apart, the seconds of steps by contestant, the limit and
    what it is made of.
    """
    x, labels = tokens(size, BATCH, time), tokens(size, BATCH, time, seed=1)
    everyone, distance = same_weights(size, names)
    ours = everyone["typednn"]
    expected = ours.results(x, labels)
    for name in everyone:
        if name != "typednn":
            distance[name] = apart(expected, everyone[name].results(x, labels))
    del expected
    batches = [(tokens(size, BATCH, time, seed), tokens(size, BATCH, time, seed + 1)) for seed in range(STEPS)]
    first = losses(ours, batches)
    for name, (far, _) in distance.items():
        theirs = losses(everyone[name], batches)
        further = max(abs(a - b) / abs(b) for a, b in zip(first, theirs, strict=True))
        distance[name] = max((far, distance[name][1]), (further, f"the losses of {STEPS} steps"))
    if wrong(distance):
        return {"apart": distance, "times": {}}
    times = takes_turns({name: partial(each.step, x, labels) for name, each in everyone.items()}, rounds)
    found = limits()
    products = sum(count * sum(product_seconds(*shape)) for count, *shape in _with_rows(size, BATCH * time))
    attention = 7 * size.attention(BATCH, time) / found.flops
    needed = {"products": products, "attention": attention, "AdamW": ADAMW * size.parameters / found.copied}
    return {"apart": distance, "times": times, "limit": needed, "rates": _rates(found)}


def measure_text(size: Size, prompt: int, new: int, rounds: int) -> dict[str, Any]:
    """In this process: whether texts differ, the seconds of each, and the rate of reading a large array."""
    everyone, distance = same_weights(size, peers()[:1])
    start = tokens(size, 1, prompt)
    expected = everyone["typednn"].text(start, new)
    for name, each in everyone.items():
        if name != "typednn":
            distance[name] = float((expected != each.text(start, new)).sum()), "tokens"
    small = {kind: Compact(everyone["typednn"], kind) for kind in COMPACT}
    distance |= {kind: each.apart(everyone["typednn"], start) for kind, each in small.items()}
    if wrong(distance):
        return {"apart": distance, "times": {}}
    times = takes_turns({name: partial(each.text, start, new) for name, each in (everyone | small).items()}, rounds)
    return {"apart": distance, "times": times, "read": reading()}


def losses_on(text: bytes, steps: int = 400) -> dict[str, float]:
    """The mean loss of a model of bytes on the last tenth of a text, after training on the rest: in float32, and in
    fewer bits.
    """
    from typednn.losses import SoftmaxCrossEntropy
    from typednn.models import GPT2, compact
    from typednn.optim import AdamW

    data, length, rng = np.frombuffer(text, np.uint8).astype(np.int64), 64, np.random.default_rng(0)
    model: Any = GPT2(256, length, 128, 4, 4, rng=rng)
    loss, optimizer, end = SoftmaxCrossEntropy(), AdamW(1e-3), len(data) * 9 // 10

    def drawn(first: int, last: int, count: int) -> Any:
        return np.stack([data[at : at + length + 1] for at in rng.integers(first, last - length - 1, count)])

    for _ in range(steps):
        some = drawn(0, end, 16)
        _, next_grad = loss.loss_and_grad(model.forward(some[:, :-1]), some[:, 1:])
        model.update(optimizer, model.backward(next_grad))
    some = drawn(end, len(data), 128)
    found: dict[str, float] = {}
    for name, each in {
        "float32": model.eval(),
        "bfloat16": compact(model, "bfloat16"),
        "int8": compact(model, "int8"),
    }.items():
        state, total = (), 0.0
        for place in range(length):
            scores, state = each.step(some[:, place], state)
            total += loss.loss(scores, some[:, place + 1])
        found[name] = total / length
    return found


def same_weights(size: Size, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """typednn with random weights, and others that got them through a folder; and a place for how far results are
    apart.
    """
    everyone: dict[str, Any] = {"typednn": (ours := Ours(size))}
    if names:
        from typednn.models import save_gpt2

        with TemporaryDirectory() as folder:
            save_gpt2(ours.model, folder)
            everyone |= {name: CONTESTANTS[name](size, Path(folder)) for name in names}
    return everyone, {}


def wrong(distance: dict[str, Any]) -> list[str]:
    """Who is too far from typednn, and in what."""
    return [f"{name}: {what} {far:.2g} apart" for name, (far, what) in distance.items() if not far <= TOLERANCE]


def measure_memory(size: Size, time: int, name: str) -> int:
    """In this process: by how many bytes it grows from before the model is made, in four steps; libraries are loaded
    first.
    """
    x, labels = tokens(size, BATCH, time), tokens(size, BATCH, time, seed=1)
    CONTESTANTS[name](SIZES["tiny"]).step(*(tokens(SIZES["tiny"], 1, 16, seed) for seed in range(2)))
    collect()
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    clear.write_text("5", encoding="ascii")  # the largest memory is counted from now on
    before = _kilobytes(status, "VmRSS")
    contestant = CONTESTANTS[name](size)
    for _ in range(4):  # the second and the third of a plan need most
        contestant.step(x, labels)
    return (_kilobytes(status, "VmHWM") - before) * 1024


def _kilobytes(status: Path, name: str) -> int:
    return next(
        int(line.split()[1]) for line in status.read_text(encoding="ascii").splitlines() if line.startswith(f"{name}:")
    )


def _with_rows(size: Size, rows: int) -> list[tuple[int, int, int, int]]:
    return [(count, rows, out, inner) for count, out, inner in size.products]


def _rates(found: Limits) -> dict[str, float]:
    return {"flops": found.flops, "copied": found.copied}


def child(arguments: Sequence[str], how: machine.How) -> Any:
    """The answer of another process of this file."""
    command = [sys.executable, "-m", "benchmarks.gpt2", *arguments, "--threads", str(how.threads)]
    done = subprocess.run(command, env=machine.environment(how), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def merged(results: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Of each contestant the median of the processes' medians, and the fastest run."""
    names = results[0]["times"]
    return {
        name: {
            "median": median(median(each["times"][name]) for each in results),
            "least": min(min(each["times"][name]) for each in results),
        }
        for name in names
    }


class Report:
    """Prints rows, and remembers goals that are missed."""

    def __init__(self, judged: bool) -> None:
        self.judged, self.missed = judged, 0

    def goal(self, what: str, value: str, ratios: Sequence[float], goal: float, least: bool = False) -> None:
        """``ratios`` by the medians and by the fastest runs, which may be at most, or at ``least``, the goal."""
        met = [ratio >= goal if least else ratio <= goal for ratio in ratios]
        verdict = "" if not self.judged else "pass" if all(met) else "half" if any(met) else "FAIL"
        self.missed += self.judged and not all(met)
        shown = "".join(f"{ratio:9.3f}" for ratio in ratios)
        print(f"  {what:30}{value:>36}{shown}{'' if len(ratios) > 1 else ' ' * 9}{goal:8.2f}  {verdict}", flush=True)


def show_step(report: Report, time: int, results: Sequence[dict[str, Any]]) -> None:
    """Print the row of a training step."""
    found, what = merged(results), f"step, {BATCH} x {time} tokens"
    ours = found.pop("typednn")
    if found:
        peer = min(found, key=lambda name: found[name]["median"])
        ratios = ours["median"] / found[peer]["median"], ours["least"] / min(each["least"] for each in found.values())
        report.goal(what, f"{_ms(ours['median'])}, {peer} {_ms(found[peer]['median'])}", ratios, STEP)
        others = ", ".join(f"{name} {_ms(each['median'])} (least {_ms(each['least'])})" for name, each in found.items())
        print(f"    typednn least {_ms(ours['least'])}; {others}")
    limit = median(sum(each["limit"].values()) for each in results)
    report.goal("  beside the limit", _ms(limit), (ours["median"] / limit, ours["least"] / limit), LIMIT)
    parts = ", ".join(f"{name} {_ms(median(each['limit'][name] for each in results))}" for name in results[0]["limit"])
    rates = [f"{median(each['rates'][name] for each in results) / 1e9:.0f}" for name in ("flops", "copied")]
    print(f"    of it {parts}; a large product {rates[0]} GFLOP/s, a copy {rates[1]} GB/s", flush=True)


def show_text(report: Report, size: Size, new: int, results: Sequence[dict[str, Any]]) -> None:
    """Print the row of generation, in tokens per second."""
    found = {name: {how: new / seconds for how, seconds in each.items()} for name, each in merged(results).items()}
    ours, small = found.pop("typednn"), {kind: found.pop(kind) for kind in COMPACT if kind in found}
    if found:
        ((peer, theirs),) = found.items()
        ratios = ours["median"] / theirs["median"], ours["least"] / theirs["least"]
        report.goal(
            f"generation, {new} tokens",
            f"{ours['median']:.1f}/s, {peer} {theirs['median']:.1f}/s",
            ratios,
            FASTER,
            least=True,
        )
    read, needed = median(each["read"] for each in results), 4 * size.read
    shares = ours["median"] * needed / read, ours["least"] * needed / read
    report.goal(
        "  of the reading rate", f"{ours['median']:.1f}/s, {read / 1e9:.1f} GB/s", shares, BANDWIDTH, least=True
    )
    for kind, its in small.items():
        ratios = its["median"] / ours["median"], its["least"] / ours["least"]
        report.goal(f"  matrices in {kind}", f"{its['median']:.1f}/s", ratios, COMPACT[kind], least=True)


def show_memory(report: Report, time: int, grown: dict[str, int]) -> None:
    """Print the rows of memory: each of typednn's, of which the last is judged, by the smallest of the others."""
    *plain, judged = [name for name in grown if name.startswith("typednn")]
    theirs = {name: grown[name] for name in grown if not name.startswith("typednn")}
    for name in plain if theirs else [*plain, judged]:
        print(f"  {_memory_of(name, time):46}{grown[name] / 1e6:17.0f} MB")
    if theirs:
        peer = min(theirs, key=theirs.__getitem__)
        text = f"{grown[judged] / 1e6:.0f} MB, {peer} {theirs[peer] / 1e6:.0f} MB"
        report.goal(_memory_of(judged, time), text, (grown[judged] / theirs[peer],), MEMORY.get(time, 1.0))


def _memory_of(name: str, time: int) -> str:
    return f"memory, {BATCH} x {time} tokens{name.removeprefix('typednn').replace('-', ', ')}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.1 else f"{seconds * 1e3:.3g} ms"


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if results agree and the goals are met, or are not judged."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpt2", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--size", default="124M", choices=list(SIZES), help="of the model (default: %(default)s); others are not judged"
    )
    parser.add_argument(
        "--only", nargs="+", default=list(ROWS), choices=list(ROWS), metavar="ROW", help=f"of {', '.join(ROWS)}"
    )
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of both libraries (default: %(default)s, as in the goals)"
    )
    parser.add_argument("--processes", type=int, default=2, help="processes for each row (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns in each process (default: %(default)s)")
    parser.add_argument("--new", type=int, default=NEW, help="tokens to generate (default: %(default)s)")
    parser.add_argument(
        "--eager", action="store_true", help="leave out torch.compile, which takes a minute for each row"
    )
    parser.add_argument("--text", type=Path, help="tell the loss on this file in fewer bits, and measure nothing else")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    size = SIZES[options.size]
    if options.measure:
        return _measured(options, size)
    if options.text:
        for name, value in losses_on(options.text.read_bytes()).items():
            print(f"{name:10}{value:8.4f}")
        return 0
    how, noise = machine.How(options.threads), machine.Noise.now()
    print(f"GPT-2 of {options.size} beside PyTorch: {options.processes} processes, {options.rounds} turns each")
    print(f"  {machine.described()}; {options.threads} threads")
    if not (absent.without("PyTorch", "torch", "transformers") or options.eager):
        absent.without_compiler("torch-compiled", "g++")
    print(f"  {_engine()}; peers: {', '.join(peers(options.eager)) or 'none'}")
    print(f"  {'':66}{'median':>9}{'least':>9}{'goal':>8}")
    report, bad = Report(judged=options.size == "124M"), []
    ask = partial(child, how=how)
    common = [
        "--size",
        options.size,
        "--rounds",
        str(options.rounds),
        "--new",
        str(options.new),
        *["--eager"] * options.eager,
    ]
    for row in options.only:
        kind, time = ROWS[row]
        if kind == "memory":
            names = ["typednn", *["typednn-checkpointing"] * (time in CHECKPOINTED), *peers()[:1]]
            show_memory(report, time, {name: ask([*common, "--measure", kind, str(time), name]) for name in names})
            continue
        results = [ask([*common, "--measure", kind, str(time)]) for _ in range(options.processes)]
        for name, (far, what) in results[0]["apart"].items():
            print(f"  {row}: {name} differs in {what} by {far:.2g}, at most {TOLERANCE:g} is allowed")
        bad += [each for result in results for each in wrong(result["apart"])]
        if not any(not each["times"] for each in results):
            show_step(report, time, results) if kind == "step" else show_text(report, size, options.new, results)
    print(f"  {noise.until_now()}")
    print("\n".join(f"  DISAGREES {each}" for each in bad) or "  all results agree")
    return 1 if bad or report.missed else 0


def _measured(options: argparse.Namespace, size: Size) -> int:
    kind, time, *name = options.measure
    if peers():
        import torch

        torch.set_num_threads(options.threads)
    if kind == "memory":
        answer: Any = measure_memory(size, int(time), name[0])
    elif kind == "step":
        answer = measure_step(size, int(time), options.rounds, peers(options.eager))
    else:
        answer = measure_text(size, int(time), options.new, options.rounds)
    print(json.dumps(answer))
    return 0


def _engine() -> str:
    from typednn.engines.blas import why

    return why()


ROWS = {f"step-{time}": ("step", time) for time in TIMES} | {f"memory-{time}": ("memory", time) for time in TIMES} | {
    "generation": ("text", PROMPT)
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
