"""How fast plans are beside the same model layer by layer, and what is left for Python: ``python -m benchmarks.plans``.

Rows: forward at batch 1, and training steps (forward, loss, backward, update) of LeNet5, two MLPs, a hand-written
LeNet5 that calls its layers one by one, the character model of nanoGPT's CPU settings, an LSTM, and `fit` over a bare
step. First both are trained six steps from the same weights, and must have the same bits. Then they alternate within
the process; times are medians, ratios those of medians, ``least`` compares the fastest runs. ``ops``: of the plan.
``rest``: the share of its step that is not in these: the loss, the optimizer, and Python. ``--rows`` selects rows,
``--seconds`` says how long each is measured. The exit code is 1 if results disagree.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, final

from benchmarks.machine import LEFT_OUT, described

for _name in LEFT_OUT:  # before NumPy and typednn are imported
    os.environ.pop(_name, None)

import numpy as np  # noqa: E402
from jaxtyping import Float  # noqa: E402

import typednn  # noqa: E402
from typednn import Gradient, Input, Layer, S  # noqa: E402
from typednn.arrays import Array2, Array4  # noqa: E402
from typednn.data import Loader  # noqa: E402
from typednn.engines import get_threads  # noqa: E402
from typednn.layers import LSTM, Conv2d, Flatten, Linear, MaxPool2d, ReLU  # noqa: E402
from typednn.layers.conv2d import Conv2dGrad  # noqa: E402
from typednn.layers.linear import LinearGrad  # noqa: E402
from typednn.losses import MSE, SoftmaxCrossEntropy  # noqa: E402
from typednn.models import GPT2, lenet5  # noqa: E402
from typednn.optim import SGD, Adam, AdamW  # noqa: E402
from typednn.training import fit  # noqa: E402


@final
@dataclass(frozen=True, slots=True)
class ByHandGrad(Gradient):
    """The gradients of the layers that learn."""

    input: Float[Array4, "batch 28 28 1"]
    conv1: Conv2dGrad
    conv2: Conv2dGrad
    fc1: LinearGrad
    fc2: LinearGrad
    fc3: LinearGrad


@final
class ByHand(Layer[Array4, Array2, ByHandGrad, S]):
    """LeNet5 as people write it who call their layers one by one."""

    def __init__(self) -> None:
        self.conv1: Conv2d = Conv2d(1, 6, 5, padding=2)
        self.act1: ReLU = ReLU()
        self.pool1: MaxPool2d = MaxPool2d(2)
        self.conv2: Conv2d = Conv2d(6, 16, 5)
        self.act2: ReLU = ReLU()
        self.pool2: MaxPool2d = MaxPool2d(2)
        self.flatten: Flatten = Flatten()
        self.fc1: Linear = Linear(400, 120)
        self.act3: ReLU = ReLU()
        self.fc2: Linear = Linear(120, 84)
        self.act4: ReLU = ReLU()
        self.fc3: Linear = Linear(84, 10)

    def forward(self, x: Float[Array4, "batch 28 28 1"]) -> Float[Array2, "batch 10"]:
        y = self.pool1.forward(self.act1.forward(self.conv1.forward(x)))
        y = self.pool2.forward(self.act2.forward(self.conv2.forward(y)))
        z = self.act3.forward(self.fc1.forward(self.flatten.forward(y)))
        return self.fc3.forward(self.act4.forward(self.fc2.forward(z)))

    def backward(self, next_grad: Float[Array2, "batch 10"]) -> ByHandGrad:
        fc3 = self.fc3.backward(next_grad)
        fc2 = self.fc2.backward(self.act4.backward(fc3.input).input)
        fc1 = self.fc1.backward(self.act3.backward(fc2.input).input)
        back = self.pool2.backward(self.flatten.backward(fc1.input).input)
        conv2 = self.conv2.backward(self.act2.backward(back.input).input)
        back = self.pool1.backward(conv2.input)
        conv1 = self.conv1.backward(self.act1.backward(back.input).input)
        return ByHandGrad(conv1.input, conv1, conv2, fc1, fc2, fc3)


@dataclass(frozen=True)
class Work:
    """A model, batches for it, and how it learns; forward alone where there is no optimizer."""

    model: Callable[[np.random.Generator], Any]
    batches: Callable[[np.random.Generator], tuple[Any, Any]]
    optimizer: Callable[[], Any] | None = None
    loss: Callable[[], Any] = SoftmaxCrossEntropy


def _images(count: int) -> Callable[[np.random.Generator], tuple[Any, Any]]:
    return lambda rng: (rng.standard_normal((count, 28, 28, 1), np.float32), rng.integers(0, 10, count))


def _rows(count: int, features: int, classes: int) -> Callable[[np.random.Generator], tuple[Any, Any]]:
    return lambda rng: (rng.standard_normal((count, features), np.float32), rng.integers(0, classes, count))


def _tokens(rng: np.random.Generator) -> tuple[Any, Any]:
    return rng.integers(0, 65, (12, 64)), rng.integers(0, 65, (12, 64))


def _sequences(rng: np.random.Generator) -> tuple[Any, Any]:
    return rng.standard_normal((64, 64, 128), np.float32), rng.standard_normal((64, 64, 128), np.float32)


def _mlp(*sizes: int) -> Callable[[np.random.Generator], Any]:
    def made(rng: np.random.Generator) -> Any:
        model: Any = Input(sizes[0]) >> Linear(sizes[0], sizes[1]) >> ReLU() >> Linear(sizes[1], sizes[2])
        return (model >> ReLU() >> Linear(sizes[2], sizes[3])).init(rng)

    return made


def _lenet(rng: np.random.Generator) -> Any:
    return lenet5(softmax=False, rng=rng)


WORKS: dict[str, Work] = {
    "LeNet5, batch 1, forward": Work(_lenet, _images(1)),
    "MLP 17-256-256-6, batch 1, forward": Work(_mlp(17, 256, 256, 6), _rows(1, 17, 6)),
    "LeNet5, batch 64, step with SGD": Work(_lenet, _images(64), lambda: SGD(0.01)),
    "LeNet5, batch 600, step with SGD": Work(_lenet, _images(600), lambda: SGD(0.01)),
    "LeNet5 by hand, batch 64, step": Work(lambda rng: ByHand().init(rng), _images(64), lambda: SGD(0.01)),
    "LeNet5 by hand, batch 600, step": Work(lambda rng: ByHand().init(rng), _images(600), lambda: SGD(0.01)),
    "MLP 17-256-256-6, batch 256, step with Adam": Work(_mlp(17, 256, 256, 6), _rows(256, 17, 6), lambda: Adam(1e-3)),
    "MLP 784-1024-1024-10, batch 256, step with Adam": Work(
        _mlp(784, 1024, 1024, 10), _rows(256, 784, 10), lambda: Adam(1e-3)
    ),
    "characters, 4 layers of 128, 12 x 64, step with AdamW": Work(
        lambda rng: GPT2(65, 64, 128, 4, 4, rng=rng), _tokens, lambda: AdamW(1e-3)
    ),
    "LSTM, 128 wide, 64 steps, batch 64, step": Work(
        lambda rng: (Input(64, 128) >> LSTM(128, 128)).init(rng), _sequences, lambda: SGD(0.01), MSE
    ),
}


def _step(model: Any, learner: Any, loss: Any, optimizer: Any, x: Any, y: Any) -> Any:
    """One step; of forward alone, the output."""
    prediction = learner.forward(x)
    if optimizer is None:
        return prediction
    value, derivative = loss.loss_and_grad(prediction, y)
    model.update(optimizer, learner.backward(derivative))
    return value


def _same(model: Any, other: Any) -> bool:
    pairs = zip(model.named_parameters().values(), other.named_parameters().values(), strict=True)
    return all(one.tobytes() == two.tobytes() for one, two in pairs)


def measured(name: str, work: Work, seconds: float) -> bool:
    """Print a row; False where the bits differ."""
    rng = np.random.default_rng(0)
    eager = work.model(rng)
    eager = eager.train() if work.optimizer is not None else eager.eval()
    planned = copy.deepcopy(eager)
    compiled: Any = typednn.compile(planned)
    x, y = work.batches(rng)
    loss = work.loss()
    both: list[Callable[[], Any]] = []
    for model, learner in ((eager, eager), (planned, compiled)):
        optimizer = None if work.optimizer is None else work.optimizer().bind(model)
        both.append(lambda m=model, c=learner, o=optimizer: _step(m, c, loss, o, x, y))  # type: ignore[misc]
    for _ in range(6):
        one, two = (np.asarray(run()) for run in both)
        if one.tobytes() != two.tobytes() or not _same(eager, planned):
            print(f"{name:56} the bits differ")
            return False
    if compiled.why_not():
        print(f"{name:56} no plan: {compiled.why_not()}")
        return False
    explained = compiled.explain(times=10)
    taken: list[list[float]] = [[], []]
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for run, samples in zip(both, taken, strict=True):
            for _ in range(3):
                run()
            many = max(int(2e-3 / max(min(samples, default=1e-3), 1e-6)), 1)
            began = time.perf_counter()
            for _ in range(many):
                run()
            samples.append((time.perf_counter() - began) / many)
    layers, plan = (median(samples) for samples in taken)
    least = min(taken[1]) / min(taken[0])
    rest = max(1 - explained.seconds / plan, 0.0)
    print(
        f"{name:56} {layers * 1e6:9.1f} {plan * 1e6:9.1f} {plan / layers:6.2f} {least:6.2f} "
        f"{len(explained.lines):6} {rest:7.0%}",
        flush=True,
    )
    return True


def of_fit(seconds: float) -> None:
    """`fit` over a bare planned step, batch 64: seconds of its steps by seconds of `CompiledStep`."""
    rng = np.random.default_rng(0)
    x, y = _images(6400)(rng)
    model = _lenet(rng)
    step = typednn.compile(copy.deepcopy(model), SoftmaxCrossEntropy(), SGD(0.01))
    bare: list[float] = []
    whole: list[float] = []
    ends = time.perf_counter() + seconds
    rows = [slice(place, place + 64) for place in range(0, 6400, 64)]
    while time.perf_counter() < ends or len(whole) < 3:
        began = time.perf_counter()
        for each in rows:
            step(x[each], y[each])
        bare.append(time.perf_counter() - began)
        own = copy.deepcopy(model)
        loader: Any = Loader(x, y, batch_size=64, rng=np.random.default_rng(0))
        began = time.perf_counter()
        fit(own, SoftmaxCrossEntropy(), SGD(0.01), loader, epochs=2, progress=False)
        whole.append((time.perf_counter() - began) / 2)
    ratio, least = median(whole) / median(bare), min(whole) / min(bare)
    print(f"fit over the bare step, LeNet5, batch 64, an epoch of 100: {ratio:.2f}, least {least:.2f}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each row")
    options = parser.parse_args(argv)
    print(f"{described()}, {get_threads()} threads")
    print(f"{'':56} {'layers':>9} {'plan':>9}")
    print(f"{'work':56} {'µs':>9} {'µs':>9} {'ratio':>6} {'least':>6} {'ops':>6} {'rest':>7}")
    chosen = {name: work for name, work in WORKS.items() if options.rows in name}
    fine = [measured(name, work, options.seconds) for name, work in chosen.items()]
    if options.rows in "fit":
        of_fit(options.seconds)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
