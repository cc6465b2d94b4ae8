"""How fast programs of the graph run, beside PyTorch (eager and compiled) and JAX jit: ``python -m benchmarks.graph``.

Rows: 20 elementwise operations on 10 million numbers, also as a share of what copying allows (two arrays in, one out);
softmax and layer norm of 4096 rows of 4096 numbers, forward and with the gradient; a step of MnistNet (784-128-10,
batch 128, SGD) by a formula, which is recorded once, and by tensors and a tape, recorded at each step, beside the
explicit layers'; convolutions of the twelve kinds, beside those whose windows are stored and the whole op, with the
most memory that each holds; and the first step of a process, with an empty cache of kernels and with the one that it
left.

All engines get the same arrays and two threads. First the results are compared. Then the engines alternate within the
process, a run of each in turn; a time is the median, a ratio that of medians, and ``least`` compares the fastest runs.
Compilers that are not installed, or fail, are left out by name. ``--target avx2`` holds every engine to AVX2 on a
processor that has AVX-512. ``--one-core`` counts the CPU seconds of one core, where other work uses the machine, too.
The exit code is 1 if results disagree.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, final

import numpy as np
from jaxtyping import Float

from benchmarks import machine
from benchmarks.absent import why_not, without
from typednn import Array1, Array2, Gradient, GraphLayer, Parameter, S
from typednn.engines.memory import pool
from typednn.graph import Tape, Tensor2, conv2d, decomposed, linear, maximum, realize, softmax_cross_entropy, tensor
from typednn.graph.graph import GRAPH
from typednn.graph.passes import without_passes

THREADS = 2
NUMBERS = 10_000_000
SIDE = 4096
RUNS = 11
PEERS = ("torch", "torch.compile", "jax")

Engines = dict[str, Callable[[], Any]]


def elementwise(x: Any, y: Any, maximum: Callable[[Any, Any], Any], exp: Callable[[Any], Any]) -> Any:
    """20 operations: products, additions, maxima, one negation and one exponential."""
    z = x
    for _ in range(6):
        z = maximum(z * 0.5 + y, x)
    return exp(-z)


def _arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def _numpy(value: Any) -> list[Any]:
    values = value if isinstance(value, tuple | list) else (value,)
    return [np.asarray(each.numpy() if hasattr(each, "numpy") else each) for each in values]


def works() -> dict[str, tuple[Any, list[Any]]]:
    """By name: the functions of each engine's arrays, and the arrays."""
    rows = (SIDE, SIDE)
    return {
        "20 operations": ("elementwise", _arrays((NUMBERS,), (NUMBERS,))),
        "softmax": ("softmax", _arrays(rows)),
        "softmax and gradient": ("softmax_gradient", _arrays(rows, rows)),
        "layer norm": ("layer_norm", _arrays(rows, (SIDE,), (SIDE,))),
        "layer norm and gradient": ("layer_norm_gradient", _arrays(rows, (SIDE,), (SIDE,), rows)),
    }


def _graph() -> dict[str, Callable[..., Any]]:
    from typednn.graph.nodes import binary, realize, unary
    from typednn.graph.operations import Binary, Unary
    from typednn.graph.tape import Tape

    def exp(x: Any) -> Any:
        return unary(Unary.EXP, x)

    def maximum(x: Any, y: Any) -> Any:
        return binary(Binary.MAXIMUM, x, y)

    def softmax(x: Any) -> Any:
        e = exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        moved = x - x.mean(-1, keepdims=True)
        variance = (moved * moved).mean(-1, keepdims=True)
        return moved / unary(Unary.SQRT, variance + 1e-5) * weight + bias

    def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            *inputs, next_grad = given
            with Tape() as tape:
                y = function(*inputs)
                found = tape.gradient((y * next_grad).sum(), inputs, zeros=True)
            realize(y, *found)
            return y, *found

        return run

    def realized(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: function(*given).realize()

    return {
        "elementwise": realized(lambda x, y: elementwise(x, y, maximum, exp)),
        "softmax": realized(softmax),
        "softmax_gradient": with_gradient(softmax),
        "layer_norm": realized(layer_norm),
        "layer_norm_gradient": with_gradient(layer_norm),
    }


def _torch(torch: Any, compiled: bool) -> dict[str, Callable[..., Any]]:
    functional = torch.nn.functional

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function) if compiled else function

    def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
        forward = made(function)

        def run(*given: Any) -> Any:
            *inputs, next_grad = given
            leaves = [each.detach().requires_grad_() for each in inputs]
            y = forward(*leaves)
            y.backward(next_grad)
            return y.detach(), *(each.grad for each in leaves)

        return run

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        return functional.layer_norm(x, (SIDE,), weight, bias)

    def softmax(x: Any) -> Any:
        return functional.softmax(x, -1)

    return {
        "elementwise": made(lambda x, y: elementwise(x, y, torch.maximum, torch.exp)),
        "softmax": made(softmax),
        "softmax_gradient": with_gradient(softmax),
        "layer_norm": made(layer_norm),
        "layer_norm_gradient": with_gradient(layer_norm),
    }


def _jax(jax: Any) -> dict[str, Callable[..., Any]]:
    xp = jax.numpy

    def softmax(x: Any) -> Any:
        return jax.nn.softmax(x, -1)

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / xp.sqrt(variance + 1e-5) * weight + bias

    def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            *inputs, next_grad = given
            y, pullback = jax.vjp(function, *inputs)
            return y, *pullback(next_grad)

        return run

    def waited(function: Callable[..., Any]) -> Callable[..., Any]:
        jitted = jax.jit(function)
        return lambda *given: jax.block_until_ready(jitted(*given))

    return {
        "elementwise": waited(lambda x, y: elementwise(x, y, xp.maximum, xp.exp)),
        "softmax": waited(softmax),
        "softmax_gradient": waited(with_gradient(softmax)),
        "layer_norm": waited(layer_norm),
        "layer_norm_gradient": waited(with_gradient(layer_norm)),
    }


def engines(name: str, arrays: Sequence[Any], threads: int = THREADS) -> tuple[Engines, list[str]]:
    """What runs a work, by engine, and which fail; those that are not installed are in neither."""
    from typednn.graph.nodes import tensor

    leaves = [tensor(each) for each in arrays]
    run = _graph()[name]
    found: Engines = {"graph": lambda: run(*leaves)}
    failed: list[str] = []
    for engine in (each for each in PEERS if not why_not(each.partition(".")[0])):
        try:
            library: Any = importlib.import_module(engine.partition(".")[0])
            if engine == "jax":
                theirs, given = _jax(library), [library.numpy.asarray(each) for each in arrays]
            else:
                library.set_num_threads(threads)
                theirs, given = (
                    _torch(library, engine == "torch.compile"),
                    [library.from_numpy(each) for each in arrays],
                )
            function = theirs[name]
            function(*given)
        except Exception as error:  # a peer that can't compile leaves the others
            failed.append(f"{engine}: {type(error).__name__}")
            continue
        found[engine] = lambda function=function, given=given: function(*given)  # type: ignore[misc]
    return found, failed


def alternating(
    contestants: Engines, runs: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each, in turns."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(runs + 2):
        for name, function in contestants.items():
            time.sleep(0.01)  # the threads of the engine before still spin
            function()
            begun = clock()
            function()
            if turn > 1:
                times[name].append(clock() - begun)
    return times


def apart(contestants: Engines) -> dict[str, float]:
    """How far each peer's results are from the graph's, relative to the largest number."""
    own = _numpy(contestants["graph"]())
    found: dict[str, float] = {}
    for name, function in contestants.items():
        theirs = _numpy(function())
        found[name] = max(
            float(np.abs(x - y).max() / (1e-30 + np.abs(x).max())) for x, y in zip(own, theirs, strict=True)
        )
    return found


@final
@dataclass(frozen=True, slots=True)
class MnistNetGrad(Gradient):
    """The derivative of the loss by each quantity."""

    input: Float[Array2, "batch 784"]
    weight1: Float[Array2, "128 784"]
    bias1: Float[Array1, " 128"]
    weight2: Float[Array2, "10 128"]
    bias2: Float[Array1, " 10"]


@final
class MnistNet(GraphLayer[Array2, Array2, MnistNetGrad, S]):
    """An MLP of two affine maps, as one formula."""

    weight1: Parameter[Float[Array2, "128 784"]]
    bias1: Parameter[Float[Array1, " 128"]]
    weight2: Parameter[Float[Array2, "10 128"]]
    bias2: Parameter[Float[Array1, " 10"]]

    def formula(self, x: Float[Tensor2, "batch 784"]) -> Float[Tensor2, "batch 10"]:
        weight1, bias1, weight2, bias2 = map(tensor, (self.weight1, self.bias1, self.weight2, self.bias2))
        return linear(maximum(linear(x, weight1, bias1), 0.0), weight2, bias2)


def mnist() -> Engines:
    """A step of MnistNet by explicit layers; by a formula, recorded once; and by tensors and a tape, recorded at each
    step.
    """
    from typednn import Input
    from typednn.layers import Linear, ReLU
    from typednn.losses import SoftmaxCrossEntropy
    from typednn.optim import SGD
    from typednn.random import PCG32

    (x,) = _arrays((128, 784))
    labels = np.random.default_rng(1).integers(0, 10, 128)
    model: Any = (Input(784) >> Linear(784, 128) >> ReLU() >> Linear(128, 10)).init(PCG32(0))
    arrays = [array.copy() for array in model.state_dict().values()]
    net: Any = MnistNet()
    net.load_state_dict(dict(zip(("weight1", "bias1", "weight2", "bias2"), arrays, strict=True)))
    parameters: list[Any] = [tensor(array) for array in arrays]
    criterion, optimizer = SoftmaxCrossEntropy(), SGD(0.01)

    def stepped(model: Any) -> Callable[[], Any]:
        def step() -> Any:
            loss, derivative = criterion.loss_and_grad(model.forward(x), labels)
            model.update(optimizer, model.backward(derivative))
            return loss

        return step

    def by_tensors() -> Any:
        nonlocal parameters
        with Tape() as tape:
            weight1, bias1, weight2, bias2 = parameters
            scores = linear(maximum(linear(tensor(x), weight1, bias1), 0.0), weight2, bias2)
            loss = softmax_cross_entropy(scores, tensor(labels))
            gradients = tape.gradient(loss, parameters, zeros=True)
            updated = [each - gradient * 0.01 for each, gradient in zip(parameters, gradients, strict=True)]
        realize(loss, *updated)
        parameters = updated
        return loss.numpy()

    return {"graph": stepped(net), "tensors": by_tensors, "layers": stepped(model)}


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "convolution of 32x28x28x6, 16 windows of 5x5": ((32, 28, 28, 6), (16, 5, 5, 6), 0),
    "convolution of 8x56x56x64, 64 windows of 3x3": ((8, 56, 56, 64), (64, 3, 3, 64), 1),
}


def convolutions(image: tuple[int, ...], weights: tuple[int, ...], padding: int, gradient: bool) -> Engines:
    """Of the twelve kinds; the same with its windows stored; and the whole op."""
    x, weight = map(tensor, _arrays(image, weights))

    def run(mode: AbstractContextManager[Any], passes: AbstractContextManager[Any]) -> Any:
        with mode, Tape() as tape:
            y = conv2d(x, weight, padding=padding)
            results = [y, *(tape.gradient((y * y).sum(), [x, weight], zeros=True) if gradient else [])]
            with passes:
                realize(*results)
        return results

    return {
        "graph": lambda: run(decomposed(), nullcontext()),
        "windows stored": lambda: run(decomposed(), without_passes("windows")),
        "whole op": lambda: run(nullcontext(), nullcontext()),
    }


def most_held(function: Callable[[], Any]) -> int:
    """The most bytes that a call holds, its results and what the pool keeps for the next call among them. It must have
    run once.
    """
    GRAPH.collect()  # results of the call before
    pool.clear()
    tracemalloc.start()
    function()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


FIRST = (
    "import time; t = time.perf_counter(); from benchmarks.graph import mnist; mnist()['graph'](); "
    "print(time.perf_counter() - t)"
)


def first_steps() -> tuple[float, float]:
    """Seconds of the first step of a process, imports included: with an empty cache of kernels, then with the one it
    left.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TYPEDNN_CACHE": cache}
        cold, warm = (
            float(
                subprocess.run(
                    [sys.executable, "-W", "ignore", "-c", FIRST],
                    env=environment,
                    cwd=Path(__file__).parent.parent,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for _ in range(2)
        )
    return cold, warm


def main(arguments: Sequence[str] | None = None) -> int:
    """All rows."""
    import typednn.engines
    from typednn.graph import counters

    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument(
        "--target",
        choices=machine.TARGETS,
        default="",
        help="hold every engine to these instructions (default: to none)",
    )
    parser.add_argument(
        "--one-core", action="store_true", help="CPU seconds of one core, for a machine that does other work too"
    )
    options = parser.parse_args(arguments)
    threads = 1 if options.one_core else THREADS
    # libraries read these variables when they are loaded
    if options.target and os.environ.get("TYPEDNN_TARGET") != options.target:
        command = [sys.executable, "-m", "benchmarks.graph", f"--runs={options.runs}", f"--target={options.target}"]
        command += ["--one-core"] * options.one_core
        environment = machine.environment(machine.How(threads, options.target))
        return subprocess.run(command, env=environment, cwd=Path(__file__).parent.parent, check=False).returncode
    print(
        f"{machine.described()}{f', everybody held to {options.target}' if options.target else ''}; {threads} threads",
        flush=True,
    )
    clock = time.perf_counter
    if options.one_core:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        clock = time.process_time
    typednn.engines.set_threads(threads)
    wrong = 0
    for engine in PEERS:
        without(engine, engine.partition(".")[0])
    for title, (name, arrays) in works().items():
        contestants, failed = engines(name, arrays, threads)
        difference = apart(contestants)
        wrong += any(each > 1e-4 for each in difference.values())
        if name == "elementwise":
            x, y, out = arrays[0], arrays[1], np.empty_like(arrays[0])
            halves = [slice(None, NUMBERS // 2), slice(NUMBERS // 2, None)]
            copy = _copier(x, y, out, halves)
            contestants = {**contestants, "copy": copy}
        report(title, alternating(contestants, options.runs, clock), failed, difference)
    steps = mnist()
    losses = {name: float(step()) for name, step in steps.items()}
    wrong += max(abs(loss - losses["layers"]) for loss in losses.values()) > 1e-5
    apart_by = {name: abs(loss - losses["layers"]) for name, loss in losses.items()}
    report("MnistNet, a step", alternating(steps, 10 * options.runs, clock), [], apart_by)
    for title, (image, weights, padding) in CONVOLUTIONS.items():
        for gradient in (False, True):
            contestants = convolutions(image, weights, padding, gradient)
            difference = apart(contestants)
            wrong += any(each > 1e-4 for each in difference.values())
            report(
                f"{title}{' and gradient' * gradient}", alternating(contestants, options.runs, clock), [], difference
            )
            print(
                "  most held:",
                ", ".join(f"{name} {most_held(each) / 1e6:.1f} MB" for name, each in contestants.items()),
            )
    print(
        f"the graph ran {counters().kernels_run} kernels, "
        f"{'by Halide' if typednn.engines.available() else 'and the interpreter'}"
    )
    cold, warm = first_steps()
    print(f"first step of a process: cold {cold:.2f} s, warm {warm:.2f} s")
    return int(wrong > 0)


def _copier(x: Any, y: Any, out: Any, halves: Sequence[slice]) -> Callable[[], Any]:
    """As much traffic as two arrays in and one out: 1.5 copies of an array, by two threads."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(THREADS)
    spare = np.empty_like(x[: len(x) // 2])

    def part(half: slice) -> None:
        np.copyto(out[half], x[half])
        size = (half.stop or len(x)) - (half.start or 0)
        place = 0 if half.start is None else len(spare) // 2
        np.copyto(spare[place : place + size // 2], y[half][: size // 2])

    return lambda: list(pool.map(part, halves))


def report(title: str, times: dict[str, list[float]], failed: Sequence[str], difference: dict[str, float]) -> None:
    """A row: times, and the graph's against each."""
    own = times["graph"]
    cells = [f"graph {1e3 * median(own):.2f} ms"]
    for name, theirs in times.items():
        if name != "graph":
            far = f", apart {difference[name]:.0e}" if name in difference else ""
            ratio, least = median(own) / median(theirs), min(own) / min(theirs)
            cells.append(f"{name} {1e3 * median(theirs):.2f} ms (ratio {ratio:.2f}, least {least:.2f}{far})")
    print(f"{title}: {'; '.join([*cells, *failed])}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
