"""Networks on a GPU, beside PyTorch on the same GPU: ``python -m benchmarks.gpu``. Needs CuPy; PyTorch with CUDA is the
peer.

The networks are those of `benchmarks.kernels` (`benchmarks.works`), as they run unless told otherwise. All engines get
the same weights and data. Times are measured only if outputs, losses, gradients and steps agree. Then the engines
alternate: a few runs that are not counted, then samples of many runs each, with a wait for the GPU at the end. A step
reads the loss's value, so it waits for the GPU once. PyTorch is eager, in both memory layouts (the faster one is the
peer), with cuDNN's search for the best algorithm; two steps are compared with PyTorch's compiler too, and LeNet5's with
JAX. All compute in float32 without TF32. The exit code is 1 if results differ, or if there is no GPU.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Any, Literal, Protocol

import numpy as np

from benchmarks import machine, works
from benchmarks.kernels import engines_used
from benchmarks.works import Results, Work
from typednn.backends import select, synchronize, to_device, to_numpy
from typednn.errors import DeviceError, MissingExtra

ROWS = ("lenet5-forward", "lenet5-step", "control-step", "mlp-step", "vgg-step")
COMPILED = ("lenet5-step", "mlp-step")  # a compilation takes up to a minute
SAMPLES = 7


class Contestant(Protocol):
    """One engine that computes one work on a device."""

    def results(self) -> Results:
        """As `benchmarks.works.Contestant.results`, as NumPy arrays."""
        ...

    def run(self, times: int) -> None:
        """Do the work ``times`` times, and wait for the device."""
        ...

    def described(self) -> str: ...


class Ours:
    """typednn."""

    def __init__(self, work: Work, device: str) -> None:
        self.inner = works.Typednn(work, planned=False)
        self.inner.model.to(device)
        self.inner.x, self.inner.y = (to_device(array, device) for array in (self.inner.x, self.inner.y))
        self.work, self.device = work, device

    def run(self, times: int) -> None:
        self.inner.run(times)
        synchronize(self.device)

    def results(self) -> Results:
        model = self.inner.model
        if not self.work.optimizer:
            return {"output": to_numpy(model.forward(self.inner.x))}
        before = works.weights(self.work)
        output, loss, grad = self.inner.step()
        results = {"output": to_numpy(output.copy()), "loss": np.array(loss)}
        results |= {f"gradient {name}": to_numpy(array.copy()) for name, array in model.named_gradients(grad).items()}
        for _ in range(works.STEPS - 1):
            self.inner.step()
        return results | {
            f"way {name}": to_numpy(array) - before[name] for name, array in model.named_parameters().items()
        }

    def described(self) -> str:
        ran = [[op, engine, count] for (op, engine), count in self.inner.ran().items()]
        return f"typednn: {engines_used(ran)}"


class Theirs:
    """PyTorch."""

    def __init__(
        self, work: Work, device: str, layout: Literal["contiguous_format", "channels_last"], compiled: bool = False
    ) -> None:
        self.inner = works.Torch(work, layout)
        self.inner.model.to(device)
        self.inner.x, self.inner.y = (tensor.to(device) for tensor in (self.inner.x, self.inner.y))
        self.work, self.device, self.compiled = work, device, compiled
        self.torch: Any = self.inner.torch
        self.torch.backends.cudnn.benchmark = True
        self.torch.backends.cudnn.allow_tf32 = self.torch.backends.cuda.matmul.allow_tf32 = False
        if compiled:
            self.inner.model.compile()

    def run(self, times: int) -> None:
        if self.work.optimizer:
            for _ in range(times):
                _, loss = self.inner.step()
                loss.item()
        else:
            self.inner.run(times)
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def results(self) -> Results:
        if not self.work.optimizer:
            with self.torch.inference_mode():
                return {"output": self._host(self.inner.model(self.inner.x))}
        before = works.weights(self.work)
        output, loss = self.inner.step()
        results = {"output": self._host(output), "loss": self._host(loss)}
        named = dict(self.inner.model.named_parameters())
        for ours, theirs in self.inner.names.items():
            results[f"gradient {ours}"] = works.channels_last(self.work, ours, self._host(named[theirs].grad)).copy()
        for _ in range(works.STEPS - 1):
            self.inner.step()
        for ours, theirs in self.inner.names.items():
            results[f"way {ours}"] = works.channels_last(self.work, ours, self._host(named[theirs])) - before[ours]
        return results

    @staticmethod
    def _host(tensor: Any) -> Any:
        return tensor.detach().cpu().contiguous().numpy()

    def described(self) -> str:
        layout = self.inner.layout if self.work.images else "rows"
        return f"PyTorch {self.torch.__version__}, {'compiled' if self.compiled else 'eager'}, {layout}"


def contestants(
    work: Work, device: str, peer: bool, compiled: bool = False, jax: bool = False
) -> dict[str, Contestant]:
    """The engines: typednn and, if ``peer`` is true, PyTorch in its layouts; PyTorch ``compiled``, and ``jax``, if
    asked for.
    """
    engines: dict[str, Contestant] = {"typednn": Ours(work, device)}
    if peer:
        engines["torch"] = Theirs(work, device, "contiguous_format")
        if work.images:
            engines["torch-channels-last"] = Theirs(work, device, "channels_last")
        if compiled:
            engines["compiled"] = Theirs(work, device, "contiguous_format", compiled=True)
    if jax:
        engines["JAX"] = works.Jax(work, device)
    return engines


def disagreements(work: Work, everyone: Mapping[str, Contestant]) -> list[str]:
    """Engines that differ from typednn by more than rounding allows, as messages."""
    ours = everyone["typednn"].results()
    messages: list[str] = []
    for name, contestant in everyone.items():
        difference, where = works.difference(ours, contestant.results(), work.slack) if name != "typednn" else (0.0, "")
        if difference > 1:
            messages.append(f"{name} differs {difference:.1f} times as much as is allowed ({where})")
    return messages


def measured(work: Work, everyone: Mapping[str, Contestant], seconds: float) -> tuple[str, bool]:
    """A row of the table, and whether the engines agree; prints what each of them runs, which is a step more."""
    differences = disagreements(work, everyone)
    text = f"  {work.title:46} {'; '.join(differences)}" if differences else line(work, timed(everyone, seconds))
    for contestant in everyone.values():
        print(f"  {work.title}: {contestant.described()}")
    return text, not differences


def timed(everyone: Mapping[str, Contestant], seconds: float) -> dict[str, list[float]]:
    """Seconds of one run: a few samples of each engine, alternating, of about ``seconds`` in total."""
    times: dict[str, int] = {}
    for name, contestant in everyone.items():
        contestant.run(3)
        one = _clocked(contestant.run, 3) / 3
        times[name] = max(int(seconds / SAMPLES / one), 1)
    samples: dict[str, list[float]] = {name: [] for name in everyone}
    for _ in range(SAMPLES):
        for name, contestant in everyone.items():
            samples[name].append(_clocked(contestant.run, times[name]) / times[name])
    return samples


def _clocked(run: Callable[[int], None], times: int) -> float:
    started = time.perf_counter()
    run(times)
    return time.perf_counter() - started


def line(work: Work, samples: Mapping[str, Sequence[float]]) -> str:
    """A row of the table: medians, and the ratios of medians and of the fastest samples. Below 1 typednn is faster."""
    peers = [name for name in samples if name.startswith("torch")]
    text = f"  {work.title:46}{median(samples['typednn']) * 1e3:9.3f} ms"
    if not peers:
        return text
    peer = min(peers, key=lambda name: median(samples[name]))
    ratio, least = (one(samples["typednn"]) / one(samples[peer]) for one in (median, min))
    text += f"{median(samples[peer]) * 1e3:9.3f} ms  {peer:20}{ratio:7.2f}{least:7.2f}"
    for name in sorted(samples.keys() - {"typednn", *peers}):
        text += (
            f"  {name} {median(samples[name]) * 1e3:.3f} ms {median(samples['typednn']) / median(samples[name]):.2f}"
        )
    return text


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 if there is a GPU and the results agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="networks (default: all)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each engine and network (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        gpu: Any = select("cuda").namespace
    except (DeviceError, MissingExtra) as error:
        print(f"nothing measured: {error}")
        return 1
    print(f"{gpu.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CuPy {gpu.__version__}; {machine.described()}")
    peer = find_spec("torch") is not None and import_module("torch").cuda.is_available()
    if not peer:
        print("no PyTorch that can use this GPU: typednn alone, nothing to compare with")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the GPU's memory
    has_jax = find_spec("jax_cuda13_plugin") is not None or find_spec("jax_cuda12_plugin") is not None
    os.environ.setdefault("OMP_NUM_THREADS", str(machine.cores()))
    table: list[str] = []
    agreed = True
    for row in options.rows:
        work = works.WORKS[row]
        everyone = contestants(work, "cuda", peer, peer and row in COMPILED, has_jax and "jax" in work.engines)
        text, same = measured(work, everyone, options.seconds)
        agreed &= same
        table.append(text)
    print(f"\n  {'work':46}{'typednn':>12}{'PyTorch':>12}  {'layout':20}{'ratio':>7}{'least':>7}")
    print("\n".join(table))
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
