"""Requests to a served model: ``python -m benchmarks.serving``.

An mlp gets an image as JSON, 784 numbers; LeNet5 gets one as a PNG of 28 x 28. The same server answers
(`typednn.serving`): it reads the request, scales, asks a model for scores, and writes probabilities. Only that model
differs:

===========  ======================================================================================
typednn      the run's own, by plans
torch.jit    the same weights, traced by PyTorch and frozen
onnxruntime  the same weights, exported to ONNX
===========  ======================================================================================

Each engine is a server in a process of its own, with one thread, on loopback. Before times are measured, the answers to
some images must agree. Then the engines take turns: so many seconds each, with one connection, which waits for each
answer, and with several. A result is the median of the rounds: requests per second, and the median and the 99th
percentile of a round's latencies, and the seconds of CPU that the server took for a request, which other work on the
machine changes least. A ratio is the median of the rounds' ratios of the engine's such seconds to typednn's. Client and
server share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from safetensors.numpy import load_file

from benchmarks import absent, machine
from typednn.exchange import export_onnx, export_torch
from typednn.html import png
from typednn.recipes import Predictor, Samples, load_run, recipe, train

MODELS = ("mlp", "lenet5")
ENGINES = {"typednn": "", "torch.jit": "torch", "onnxruntime": "onnxruntime"}
NEEDS = {"torch.jit": ("torch",), "onnxruntime": ("onnxruntime", "onnx")}
AGREEMENT = 1e-5  # of probabilities


def images(count: int) -> Any:
    """Images of MNIST's shape, in bytes."""
    return np.random.default_rng(0).integers(0, 256, (count, 28, 28, 1), dtype=np.uint8)


def request_of(model: str, image: Any) -> bytes:
    """The whole request for one image."""
    if model == "mlp":
        kind, body = "application/json", json.dumps([image.ravel().tolist()]).encode()
    else:
        kind, body = "image/png", png(image)
    head = f"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def make_run(model: str, folder: Path) -> None:
    """A run that has learned for a moment: speed does not depend on what."""
    x = images(64).astype(np.float32)
    y = np.arange(64) % 10
    samples = Samples("noise", "made here", x, y, x, y)
    train(recipe(model).changed({"epochs": 1, "least_steps": 1}), samples, run=folder, progress=False)


# --- servers --------------------------------------------------------------------------------------------------------


class Peer:
    """Another library's model, in place of the run's own."""

    def __init__(self, scores: Any) -> None:
        self.forward = scores

    def eval(self) -> Peer:
        return self

    def named_modules(self) -> tuple[()]:
        return ()


def with_onnxruntime(predictor: Predictor) -> Any:
    """Scores by ONNX Runtime."""
    runtime: Any = import_module("onnxruntime")
    with tempfile.TemporaryDirectory() as folder:
        path = export_onnx(predictor.running, Path(folder, "model.onnx"))
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def with_torch(predictor: Predictor) -> Any:
    """Scores by a model that PyTorch has traced."""
    torch: Any = import_module("torch")
    nn = torch.nn
    torch.set_num_threads(1)
    if predictor.plan.recipe.name == "mlp":
        layers = [nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)]
    else:
        layers = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU()]
        layers += [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()]
        layers += [nn.Linear(84, 10)]
    model = nn.Sequential(*layers).eval()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        export_torch(predictor.running, path)
        arrays = load_file(path)
    names = [name for name in predictor.running.parameter_shapes() if name in arrays]
    own = zip(model.state_dict(), (torch.tensor(arrays[name]) for name in names), strict=True)
    model.load_state_dict(dict(own))
    frozen = torch.jit.freeze(torch.jit.trace(model, torch.zeros(1, 1, 28, 28)))

    def scores(x: Any) -> Any:
        with torch.inference_mode():
            return frozen(torch.from_numpy(x).permute(0, 3, 1, 2)).numpy()

    return scores


def serve_one(engine: str, run: str) -> None:
    """Serve until a signal ends it; prints the address."""
    from typednn.serving import create_app, serve  # not at the top: `main` says what it lacks

    predictor = load_run(run)
    makers = {"onnxruntime": with_onnxruntime, "torch.jit": with_torch}
    if engine in makers:
        object.__setattr__(predictor, "running", Peer(makers[engine](predictor)))
    serve(create_app(predictor), "127.0.0.1", 0, lambda address: print(address, flush=True))


# --- client ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """Requests per second; median and 99th percentile of the latencies, and the server's CPU time for a request, in
    ms.
    """

    rate: float
    middle: float
    late: float
    cpu: float


def _cpu(process: int) -> float:
    """Seconds of CPU that a process has taken so far; 0 where the system does not tell."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.is_file():
        return 0.0
    user, system = stat.read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    assert head.startswith(b"HTTP/1.1 200 "), head
    assert length is not None
    return await reader.readexactly(int(length[1]))


async def _answers(address: str, requests: Sequence[bytes]) -> list[Any]:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
    found = [json.loads(await _ask(reader, writer, request))["predictions"][0] for request in requests]
    writer.close()
    return found


async def _measured(
    address: str, process: int, requests: Sequence[bytes], connections: int, seconds: float
) -> Measured:
    latencies: list[float] = []
    start, before = time.perf_counter(), _cpu(process)

    async def one(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
        number = first
        while (asked := time.perf_counter()) < start + seconds:
            await _ask(reader, writer, requests[number % len(requests)])
            latencies.append(time.perf_counter() - asked)
            number += 1
        writer.close()

    await asyncio.gather(*(one(number) for number in range(connections)))
    taken = time.perf_counter() - start
    middle, late = np.percentile(latencies, (50, 99)) * 1e3
    cpu = 1e3 * (_cpu(process) - before) / len(latencies)
    return Measured(len(latencies) / taken, float(middle), float(late), cpu)


def compare(model: str, run: Path, engines: Sequence[str], options: argparse.Namespace) -> int:
    """Print a row for each engine and number of connections; 0 if all agree."""
    requests = [request_of(model, image) for image in images(16)]
    servers = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serving", "--serve", engine, "--run", str(run)],
            stdout=subprocess.PIPE,
            text=True,
            env=machine.environment(machine.How(1)),
        )
        for engine in engines
    ]
    try:
        addresses = [server.stdout.readline().strip() if server.stdout else "" for server in servers]
        found = [asyncio.run(_answers(address, requests)) for address in addresses]
        shares = [np.array([list(answer["probabilities"].values()) for answer in answers]) for answers in found]
        apart = max(float(np.abs(each - shares[0]).max()) for each in shares)
        if apart > AGREEMENT:
            print(f"FAIL: {model}: probabilities are up to {apart:.2g} apart")
            return 1
        for connections in options.connections:
            rounds: list[list[Measured]] = []
            for number in range(options.rounds + 1):  # the first is not counted
                order = [(place + number) % len(engines) for place in range(len(engines))]
                taken = {
                    place: asyncio.run(
                        _measured(addresses[place], servers[place].pid, requests, connections, options.seconds)
                    )
                    for place in order
                }
                if number:
                    rounds.append([taken[place] for place in range(len(engines))])
            for place, engine in enumerate(engines):
                rate, middle, late, cpu = (
                    median(getattr(each[place], name) for each in rounds) for name in ("rate", "middle", "late", "cpu")
                )
                ratio = median(each[place].cpu / max(each[0].cpu, 1e-9) for each in rounds)
                print(
                    f"  {model:8}{connections:12}  {engine:14}{rate:8,.0f}/s{middle:9.2f} ms{late:9.2f} ms{cpu:9.2f} ms"
                    f"{ratio:8.2f}",
                    flush=True,
                )
    finally:
        for server in servers:
            server.terminate()
            server.wait()
    return 0


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if the engines agree."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.serving", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a measurement (default: %(default)s)")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16], help="(default: %(default)s)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--without-peers", action="store_true", help="typednn alone")
    parser.add_argument("--serve", choices=list(ENGINES), help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve_one(options.serve, options.run)
        return 0
    if absent.without("serving", "starlette", "uvicorn"):
        return 0
    engines = [
        engine
        for engine, package in ENGINES.items()
        if not package or not (options.without_peers or absent.without(engine, *NEEDS[engine]))
    ]
    versions = ", ".join(f"{ENGINES[name]} {version(ENGINES[name])}" for name in engines if ENGINES[name])
    how = f"medians of {options.rounds} rounds of {options.seconds:g} s"
    print(f"Serving: one image a request, {how}; {versions or 'typednn alone'}")
    print(f"  {machine.described()}; servers with one thread, the client beside them")
    print(
        f"  {'':8}{'connections':>12}  {'engine':14}{'requests':>10}{'median':>12}{'99 %':>12}{'CPU':>12}{'ratio':>8}"
    )
    noise, result = machine.Noise.now(), 0
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            make_run(model, Path(folder, model))
            result = max(result, compare(model, Path(folder, model), engines, options))
    print(f"  {noise.until_now()}")
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
