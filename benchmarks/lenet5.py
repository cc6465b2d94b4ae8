"""LeNet5, one training step on 600 images in float32, beside PyTorch: ``python -m benchmarks.lenet5`` (P-E7).

The paper gives 0.4 s forward, 1.5 s backward and 0.8 GB; typednn's target is a fifth of the times and half of the
memory. typednn runs layer by layer, with every derivative between them: ``fuse(False)``.

==========  ==========================================================================================
forward     Pad2d, two of Conv2d + ReLU + MaxPool2d, Flatten, three Linear, Softmax
backward    cross entropy's gradient, then backward through the model
update      one SGD step of every parameter, and freeing the arrays that forward kept
memory      the largest resident size of a process that only trains, Python and libraries included
==========  ==========================================================================================

Every engine runs in its own process and begins with the same weights. First, outputs and gradients of all engines must
agree. Then the engines alternate, one step at a time, so other work of the machine affects all equally. The warm-up
rounds are not counted. The result is the median over processes of the medians over rounds. PyTorch (eager) is measured
in both of its memory layouts; the faster one is the peer. Its backward does not compute the derivative by the images;
typednn's does. Without PyTorch, only typednn is measured. The exit code is 1 if engines disagree, or if no number of
threads meets the targets.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Literal, Protocol, get_args

import numpy as np

from benchmarks import absent, machine

Engine = Literal["typednn", "torch", "torch-channels-last"]
PHASES = ("forward", "backward", "update")

BATCH = 600  # the paper's
PAPER = {"forward": 0.4, "backward": 1.5, "memory": 0.8}  # seconds, seconds, GB
TARGET = {"forward": 0.08, "backward": 0.3, "memory": 0.4}
RATE = 0.1
FLOOR = 1e-7  # the cross entropy's eps
# Outputs are probabilities, gradients are divided by their largest number. float32 has 7 digits; sums of 5·10⁵ terms
# agree to 4.
AGREEMENT = 1e-4

# The order of Linear's columns in PyTorch, whose Flatten has channels first; typednn's has channels last.
_COLUMNS = np.arange(5 * 5 * 16).reshape(5, 5, 16).transpose(2, 0, 1).ravel()

# typednn's name of each parameter, its shape, and PyTorch's name.
PARAMETERS: tuple[tuple[str, tuple[int, ...], str], ...] = (
    ("1.weight", (6, 5, 5, 1), "0.weight"),
    ("4.weight", (16, 5, 5, 6), "3.weight"),
    ("8.weight", (120, 400), "7.weight"),
    ("8.bias", (120,), "7.bias"),
    ("10.weight", (84, 120), "9.weight"),
    ("10.bias", (84,), "9.bias"),
    ("12.weight", (10, 84), "11.weight"),
    ("12.bias", (10,), "11.bias"),
)


def weights() -> dict[str, Any]:
    """The same numbers in every process, in typednn's layout."""
    rng = np.random.default_rng(42)
    return {
        name: (rng.standard_normal(shape) / math.sqrt(math.prod(shape[1:]))).astype(np.float32)
        for name, shape, _ in PARAMETERS
    }


def samples(batch: int) -> tuple[Any, Any]:
    """Images (batch, 28, 28, 1) and targets (batch, 10): 0.91 for the right class, 0.01 for the others, as in the
    paper.
    """
    rng = np.random.default_rng(6)
    images = rng.standard_normal((batch, 28, 28, 1)).astype(np.float32)
    targets = np.full((batch, 10), 0.01, np.float32)
    targets[np.arange(batch), rng.integers(0, 10, batch)] = 0.91
    return images, targets


# ---------------------------------------------------------------------------------------------------- the engines


class Trained(Protocol):
    """A model, its loss and its optimizer, in one of the engines."""

    def forward(self) -> Any: ...
    def backward(self, prediction: Any) -> Any: ...
    def update(self, grad: Any) -> None: ...

    def results(self) -> dict[str, Any]:
        """Output and gradients before any step, in typednn's names and layout."""
        ...

    def described(self) -> str: ...


class Typednn:
    """typednn."""

    def __init__(self, batch: int) -> None:
        from typednn import Input
        from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU, Softmax
        from typednn.losses import CrossEntropy
        from typednn.optim import SGD

        images = (
            Input(28, 28, 1)
            >> Pad2d(2)
            >> Conv2d(1, 6, 5)
            >> ReLU()
            >> MaxPool2d(2)
            >> Conv2d(6, 16, 5)
            >> ReLU()
            >> MaxPool2d(2)
        )
        self.model = (
            images
            >> Flatten()
            >> Linear(400, 120)
            >> ReLU()
            >> Linear(120, 84)
            >> ReLU()
            >> Linear(84, 10)
            >> Softmax()
        )
        self.model.load_state_dict(weights())
        self.loss = CrossEntropy(eps=FLOOR)
        self.optimizer = SGD(RATE)
        self.images, self.targets = samples(batch)

    def forward(self) -> Any:
        return self.model.forward(self.images)

    def backward(self, prediction: Any) -> Any:
        return self.model.backward(self.loss.loss_grad(prediction, self.targets))

    def update(self, grad: Any) -> None:
        self.model.update(self.optimizer, grad)
        self.model.free_cache()

    def results(self) -> dict[str, Any]:
        output = self.forward()
        grad = self.backward(output)
        return {"output": output, "input": grad.input, **self.model.named_gradients(grad)}

    def described(self) -> str:
        from typednn import __version__, get_checks
        from typednn.engines import counting

        with counting() as ran:
            self.backward(self.forward())
        used = sorted({engine for _, engine in ran})
        return (
            f"typednn {__version__}, {', '.join(used)} kernels, checks {get_checks()!r}, NumPy {np.__version__} "
            f"with {_blas()}"
        )


class Torch:
    """PyTorch, eager, as its users write LeNet5."""

    def __init__(self, batch: int, layout: Literal["contiguous_format", "channels_last"]) -> None:
        import torch
        from torch import nn

        self.torch = torch
        self.layout = layout
        images = [
            nn.Conv2d(1, 6, 5, padding=2, bias=False),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5, bias=False),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        rows = [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10), nn.Softmax(1)]
        self.model = nn.Sequential(*images, nn.Flatten(), *rows)
        initial = weights()
        self.model.load_state_dict(
            {theirs: torch.tensor(_to_torch(ours, initial[ours])) for ours, _, theirs in PARAMETERS}
        )
        self.model = self.model.to(memory_format=getattr(torch, layout))
        self.optimizer = torch.optim.SGD(self.model.parameters(), RATE)
        pixels, targets = samples(batch)
        self.images = torch.tensor(pixels).permute(0, 3, 1, 2).contiguous(memory_format=getattr(torch, layout))
        self.targets = torch.tensor(targets)

    def forward(self) -> Any:
        return self.model(self.images)

    def backward(self, prediction: Any) -> Any:
        loss = -(prediction.clamp(min=FLOOR).log() * self.targets).mean()
        loss.backward()
        return loss

    def update(self, grad: Any) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()

    def results(self) -> dict[str, Any]:
        self.images.requires_grad_()
        output = self.forward()
        self.backward(output)
        results = {"output": output.detach().numpy(), "input": self.images.grad.permute(0, 2, 3, 1).numpy()}
        named = dict(self.model.named_parameters())
        results |= {ours: _from_torch(ours, named[theirs].grad.numpy()) for ours, _, theirs in PARAMETERS}
        self.images.requires_grad_(False)
        self.images.grad = None
        self.optimizer.zero_grad()
        return results

    def described(self) -> str:
        return f"PyTorch {self.torch.__version__}, eager, {self.layout}, {self.torch.get_num_threads()} threads"


def _to_torch(name: str, array: Any) -> Any:
    if array.ndim == 4:
        return np.ascontiguousarray(array.transpose(0, 3, 1, 2))
    return array[:, _COLUMNS] if name == "8.weight" else array


def _from_torch(name: str, array: Any) -> Any:
    if array.ndim == 4:
        return array.transpose(0, 2, 3, 1)
    return array[:, np.argsort(_COLUMNS)] if name == "8.weight" else array


def _blas() -> str:
    """NumPy's BLAS and its threads, if threadpoolctl is installed."""
    if find_spec("threadpoolctl") is not None:
        pools = [pool for pool in import_module("threadpoolctl").threadpool_info() if pool["user_api"] == "blas"]
        if pools:
            return " and ".join(
                f"{pool['internal_api']} {pool['version']} ({pool['architecture']}), {pool['num_threads']} threads"
                for pool in pools
            )
    return f"{os.environ.get('OPENBLAS_NUM_THREADS', 'its own number of')} BLAS threads"


def new_model(engine: Engine, batch: int) -> Trained:
    """A new model in the engine."""
    match engine:
        case "typednn":
            return Typednn(batch)
        case "torch":
            return Torch(batch, "contiguous_format")
        case "torch-channels-last":
            return Torch(batch, "channels_last")


# ------------------------------------------------------------------------------------------------- one engine's process


def peak_memory() -> int:
    """The largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.is_file():
        # getrusage counts the parent as well, until exec: with a large parent its number would be the parent's.
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def work(engine: Engine, batch: int) -> None:
    """Execute commands from standard input, one per line: ``results PATH``, ``step``, ``memory``."""
    trained = new_model(engine, batch)
    print(json.dumps(trained.described()), flush=True)
    for line in sys.stdin:
        order, _, argument = line.strip().partition(" ")
        match order:
            case "results":
                np.savez(argument, **trained.results())
                answer: Any = None
            case "step":
                answer = _timed_step(trained)
            case "memory":
                answer = peak_memory()
            case _:
                raise SystemExit(f"unknown order {order!r}")
        print(json.dumps(answer), flush=True)


def _timed_step(trained: Trained) -> dict[str, float]:
    started = time.perf_counter()
    prediction = trained.forward()
    forwarded = time.perf_counter()
    grad = trained.backward(prediction)
    backwarded = time.perf_counter()
    trained.update(grad)
    updated = time.perf_counter()
    return {"forward": forwarded - started, "backward": backwarded - forwarded, "update": updated - backwarded}


class Worker:
    """The process of one engine, used from the parent process."""

    def __init__(self, engine: Engine, batch: int, threads: int, kernels: str) -> None:
        command = [sys.executable, "-m", "benchmarks.lenet5", "--worker", engine, "--batch", str(batch)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=machine.environment(machine.How(threads)) | {"TYPEDNN_ENGINE": kernels},
            cwd=Path(__file__).resolve().parent.parent,
        )
        self.described: str = self._answer()

    def ask(self, order: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(
                f"{' '.join(self.process.args if isinstance(self.process.args, list) else [])} ended with "
                f"{self.process.wait()}"
            )
        return json.loads(line)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


# ------------------------------------------------------------------------------------------------- comparing and timing


def disagreement(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[float, str]:
    """The largest difference, in units of each array's largest number, and where it is."""
    if set(ours) != set(theirs):
        raise SystemExit(f"engines give different results: {sorted(set(ours) ^ set(theirs))}")
    apart = {name: float(np.abs(ours[name] - theirs[name]).max() / np.abs(theirs[name]).max()) for name in ours}
    worst = max(apart, key=lambda name: apart[name])
    return apart[worst], worst


def compare(workers: Mapping[Engine, Worker]) -> bool:
    """Print each engine's largest difference from typednn's outputs and gradients; return whether all agree."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[Engine, dict[str, Any]] = {}
        for engine, worker in workers.items():
            path = Path(folder) / f"{engine}.npz"
            worker.ask(f"results {path}")
            with np.load(path) as arrays:
                found[engine] = dict(arrays)
    agree = True
    for engine, results in found.items():
        if not all(np.isfinite(array).all() for array in results.values()):
            raise SystemExit(f"{engine} gives numbers that are not finite")
        if engine != "typednn":
            apart, where = disagreement(found["typednn"], results)
            agree &= apart <= AGREEMENT
            print(
                f"  output and {len(results) - 1} gradients: typednn and {engine} differ by at most {apart:.1e} "
                f"({where})"
            )
    return agree


Times = dict[Engine, dict[str, list[float]]]


def measure(
    engines: Sequence[Engine], batch: int, threads: int, kernels: str, processes: int, rounds: int, warm_up: int
) -> tuple[bool, Times]:
    """Whether the engines agree; and for every engine the median of each phase in each process, and the peak memory."""
    agree = True
    times: Times = {engine: {what: [] for what in (*PHASES, "memory")} for engine in engines}
    for turn in range(processes):
        workers = {engine: Worker(engine, batch, threads, kernels) for engine in engines}
        try:
            if turn == 0:
                for worker in workers.values():
                    print(f"  {worker.described}")
                agree = compare(workers)
            seen: dict[Engine, dict[str, list[float]]] = {engine: {phase: [] for phase in PHASES} for engine in engines}
            for number in range(warm_up + rounds):
                for engine, worker in workers.items():
                    # The threads of the engine before spin for a moment before they sleep.
                    time.sleep(0.02)
                    step = worker.ask("step")
                    if number >= warm_up:
                        for phase, seconds in step.items():
                            seen[engine][phase].append(seconds)
            for engine, worker in workers.items():
                for phase in PHASES:
                    times[engine][phase].append(median(seen[engine][phase]))
                times[engine]["memory"].append(worker.ask("memory") / 1e9)
        finally:
            for worker in workers.values():
                worker.__exit__()
    return agree, times


# ---------------------------------------------------------------------------------------------------- the report


def print_table(times: Times, batch: int) -> bool:
    """Print the table; return whether the targets are met. They are for the paper's batch; with another one the result
    is True.
    """
    middle = {engine: {what: median(values) for what, values in numbers.items()} for engine, numbers in times.items()}
    others = [engine for engine in middle if engine != "typednn"]
    peer = min(others, key=lambda engine: sum(middle[engine][phase] for phase in PHASES), default=None)
    print(
        f"  {'':10}"
        + "".join(f"{engine:>22}" for engine in middle)
        + (f"{'ratio':>10}" if peer else "")
        + f"{'paper':>9}{'target':>9}"
    )
    met = True
    for what in (*PHASES, "memory"):
        unit, factor, digits = ("GB", 1.0, 3) if what == "memory" else ("ms", 1e3, 1)
        cells = []
        for engine in middle:
            low, high = min(times[engine][what]) * factor, max(times[engine][what]) * factor
            cells.append(
                f"{middle[engine][what] * factor:.{digits}f} {unit} ({low:.{digits}f}-{high:.{digits}f})".rjust(22)
            )
        line = f"  {what:10}" + "".join(cells)
        if peer:
            line += f"{middle['typednn'][what] / middle[peer][what]:9.2f}x"
        if what in PAPER:
            line += f"{PAPER[what] * factor:6g} {unit}{TARGET[what] * factor:6g} {unit}"
            if batch == BATCH:
                passed = middle["typednn"][what] <= TARGET[what]
                met &= passed
                line += "  pass" if passed else "  FAIL"
        print(line)
    if peer:
        print(f"  ratio: typednn to {peer}, the faster of PyTorch's layouts; below 1 typednn is faster, or smaller")
    return met


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if the engines agree and the targets are met, or are not judged."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lenet5", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--batch",
        type=int,
        default=BATCH,
        help="images per step (default: %(default)s, the paper's; targets hold for it only)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=sorted({1, machine.cores()}),
        help="numbers of threads to try (default: %(default)s)",
    )
    parser.add_argument(
        "--kernels", choices=("fast", "reference"), default="fast", help="typednn's (default: %(default)s)"
    )
    parser.add_argument("--processes", type=int, default=3, help="fresh processes per engine (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="steps timed in each (default: %(default)s)")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before that (default: %(default)s)")
    parser.add_argument("--without-torch", action="store_true", help="time typednn alone")
    parser.add_argument("--worker", choices=get_args(Engine), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker is not None:
        work(options.worker, options.batch)
        return 0

    how = f"{options.processes} processes x {options.rounds} rounds; median (least-most of the processes)"
    print(f"LeNet5, batch {options.batch}, float32: {how}")
    print(f"  {machine.described()}")
    engines: tuple[Engine, ...] = get_args(Engine)
    if options.without_torch or absent.without("PyTorch", "torch"):
        engines = ("typednn",)
        print("  typednn alone, nothing to compare with")
    else:
        print(f"  PyTorch {version('torch')} is the peer")
    met = []
    agreed = True
    for threads in options.threads:
        print(f"\n{threads} thread{'s' if threads > 1 else ''} per engine")
        noise = machine.Noise.now()
        agree, times = measure(
            engines, options.batch, threads, options.kernels, options.processes, options.rounds, options.warm_up
        )
        if not agree:
            print(f"  the results differ by more than {AGREEMENT:g}: no times")
            agreed = False
            continue
        met.append(print_table(times, options.batch))
        print(f"  {noise.until_now()}")
    if not agreed:
        return 1
    if options.batch != BATCH:
        print(f"\nnot judged: the paper's numbers are for a batch of {BATCH}")
        return 0
    print(
        f"\n{'PASS' if any(met) else 'FAIL'}: a fifth of the paper's times and half of its memory, with one of "
        "these numbers of threads"
    )
    return 0 if any(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
