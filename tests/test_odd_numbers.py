"""Odd numbers: what people's data, weights and gradients hold, each with the right answer, worked out by hand. A new
one is a row.

Odd files have a table of their own in tests/data/test_odd_files.py, wrong turns in tests/test_habits.py and
tests/cli/test_cures.py. Columns that float32 can't tell apart (dates, Unix seconds) are in
tests/recipes/test_large_numbers.py; what is ignored or masked, whatever its number, in
tests/losses/test_what_does_not_count.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from typednn import Module, losses, metrics, optim
from typednn.engines import available, using
from typednn.errors import TypednnError
from typednn.layers import (
    GELU,
    BatchNorm1d,
    Embedding,
    GroupNorm,
    LayerNorm,
    Linear,
    LogSoftmax,
    MaxPool2d,
    ReLU,
    RMSNorm,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)

INF, NAN = float("inf"), float("nan")


class Odd(NamedTuple):
    """What is odd, what is computed of it, and the answer: numbers, or words of the error."""

    what: str
    compute: Callable[[], Any]
    answer: Any


class Refused(str):
    """Words of an error."""


def row(*values: float) -> Any:
    return np.array([values], np.float32)


def through(layer: Any, *values: float) -> Callable[[], Any]:
    """What ``layer`` gives for one row."""
    return lambda: layer.forward(row(*values))


def slope(layer: Any, *values: float) -> Callable[[], Any]:
    """The derivative of the sum of what ``layer`` gives by one row."""

    def compute() -> Any:
        y = layer.forward(row(*values))
        grad = layer.backward(np.ones_like(y))
        return getattr(grad, "input", grad)

    return compute


def normalised(layer: Any, *values: float) -> Callable[[], Any]:
    return through(layer.init(np.random.default_rng(0)), *values)


def loss(kind: Any, prediction: Any, target: Any) -> Callable[[], Any]:
    return lambda: kind.loss(np.asarray(prediction, np.float32), np.asarray(target))


def by(kind: Any, prediction: Any, target: Any) -> Callable[[], Any]:
    return lambda: kind.loss_grad(np.asarray(prediction, np.float32), np.asarray(target))


def stepped(optimizer: Any, *gradients: float) -> Callable[[], Any]:
    """What a weight of 0 is after a step with each of the gradients."""

    def compute() -> Any:
        layer: Module = Linear(1, 1, bias=False).init(np.random.default_rng(0))
        layer.weight[...] = 0  # type: ignore[attr-defined]
        for gradient in gradients:
            layer.forward(row(1.0))
            layer.update(optimizer, layer.backward(row(gradient)))
        return layer.weight  # type: ignore[attr-defined]

    return compute


def clipped(*values: float) -> Callable[[], Any]:
    def compute() -> Any:
        layer = Linear(len(values), 1, bias=False).init(np.random.default_rng(0))
        layer.forward(row(*values))
        grad = layer.backward(row(1.0))
        return optim.clip_grad_norm(grad, 1.0).weight

    return compute


ROWS = [
    # scores beyond the range of exp
    Odd("softmax of large scores", through(Softmax(), 1000.0, 0.0), [[1, 0]]),
    Odd("softmax of small scores", through(Softmax(), -1000.0, -1000.0), [[0.5, 0.5]]),
    Odd("softmax where one is -∞", through(Softmax(), -INF, 3.0), [[0, 1]]),
    Odd("log-softmax of large scores", through(LogSoftmax(), 1000.0, 0.0), [[0, -1000]]),
    Odd("a class far behind", loss(losses.SoftmaxCrossEntropy(), [[1000.0, 0.0]], [1]), 1000),
    Odd("a class far ahead", loss(losses.SoftmaxCrossEntropy(), [[1000.0, 0.0]], [0]), 0),
    Odd("its derivative", by(losses.SoftmaxCrossEntropy(), [[1000.0, 0.0]], [1]), [[1, -1]]),
    Odd("a far logit, wrong", loss(losses.BCEWithLogits(), [[1000.0]], np.zeros((1, 1), np.float32)), 1000),
    Odd("a far logit, right", loss(losses.BCEWithLogits(), [[1000.0]], np.ones((1, 1), np.float32)), 0),
    Odd("its derivative", by(losses.BCEWithLogits(), [[-1000.0]], np.ones((1, 1), np.float32)), [[-1]]),
    # activations at their ends
    Odd("sigmoid", through(Sigmoid(), -1000.0, 1000.0, -INF, INF), [[0, 1, 0, 1]]),
    Odd("its derivative", slope(Sigmoid(), -1000.0, 1000.0, 0.0), [[0, 0, 0.25]]),
    Odd("tanh", through(Tanh(), -1e4, 1e4, 1e-30), [[-1, 1, 1e-30]]),
    Odd("softplus", through(Softplus(), -1000.0, 1000.0, 0.0), [[0, 1000, np.log(2)]]),
    Odd("its derivative", slope(Softplus(), -1000.0, 1000.0, 0.0), [[0, 1, 0.5]]),
    Odd("GELU", through(GELU(), -1e4, 1e4), [[0, 1e4]]),
    Odd("its derivative", slope(GELU(), -1e4, 1e4, 0.0), [[0, 1, 0.5]]),
    Odd("SiLU", through(SiLU(), -1e4, 1e4), [[0, 1e4]]),
    Odd("ReLU of NaN, and of no number below 0", through(ReLU(), NAN, -INF, INF, -0.0), [[NAN, 0, INF, 0]]),
    Odd("the largest of NaN and others, as the layer says",
        lambda: MaxPool2d(2).forward(row(1, NAN, 3, 4).reshape(1, 2, 2, 1)), [[[[4]]]]),
    Odd("the largest of -∞", lambda: MaxPool2d(2).forward(np.full((1, 2, 2, 1), -INF, np.float32)), [[[[-INF]]]]),
    # squares beyond float32, and below it
    Odd("layer norm of large numbers", normalised(LayerNorm(2), 2e19, -2e19), [[1, -1]]),
    Odd("group norm of large numbers",
        lambda: GroupNorm(1, 2).init(np.random.default_rng(0)).forward(row(2e19, -2e19).reshape(1, 1, 1, 2)),
        [[[[1, -1]]]]),
    Odd("RMS norm of large numbers", normalised(RMSNorm(2), 3e19, 4e19), [[3 / 12.5**0.5, 4 / 12.5**0.5]]),
    Odd("layer norm of equal numbers", normalised(LayerNorm(3), 7.0, 7.0, 7.0), [[0, 0, 0]]),
    Odd("layer norm far from 0", normalised(LayerNorm(2), 16777216.0, 16777218.0),
        [[-1 / (1 + 1e-5) ** 0.5, 1 / (1 + 1e-5) ** 0.5]]),
    Odd("batch norm of equal rows",
        lambda: BatchNorm1d(1).init(np.random.default_rng(0)).forward(np.full((4, 1), 1e6, np.float32)), [[0]] * 4),
    Odd("a gradient's norm beyond float32", clipped(3e30, 4e30), [[0.6, 0.8]]),
    Odd("a gradient's norm below float32", clipped(3e-30, 4e-30), [[3e-30, 4e-30]]),
    # optimizers
    Odd("Adam, a small gradient", stepped(optim.Adam(1.0), 1e-30), [[-1e-22]]),
    Odd("Adam, no gradient", stepped(optim.Adam(1.0), 0.0), [[0]]),
    Odd("Adam without memory, a large one and a small one", stepped(optim.Adam(1.0, betas=(0.0, 0.0)), 1e4, 1e-4),
        [[-2 + 1e-4]]),
    Odd("Lion, a small gradient", stepped(optim.Lion(0.5), 1e-30), [[-0.5]]),
    Odd("SGD with momentum of 0", stepped(optim.SGD(0.5, momentum=0.0), 1e-30, 1e30), [[-5e29]]),
    # labels and ids
    Odd("a label beyond the classes", loss(losses.SoftmaxCrossEntropy(), [[0.0, 0.0]], [2]),
        Refused("labels are 0 to 1, got 2")),
    Odd("a label below 0", loss(losses.SoftmaxCrossEntropy(), [[0.0, 0.0]], [-1]),
        Refused("labels are 0 to 1, got -1")),
    Odd("a label beyond int64",
        loss(losses.SoftmaxCrossEntropy(), [[0.0, 0.0]], np.array([2**63], np.uint64)),
        Refused("got 9223372036854775808")),
    Odd("labels that are floats", loss(losses.SoftmaxCrossEntropy(), [[0.0, 0.0]], [1.0]),
        Refused("target must be integer")),
    Odd("all labels ignored", loss(losses.SoftmaxCrossEntropy(), [[1.0, 2.0]], [-100]), 0),
    Odd("an id beyond the table",
        lambda: Embedding(3, 2).init(np.random.default_rng(0)).forward(np.array([[2**40]])), Refused("0 to 2, got")),
    # measures
    # As scikit-learn has it: 1 if all is right, 0 otherwise.
    Odd("R² of one number, all right",
        lambda: metrics.RegressionReport.from_batches([(np.ones((3, 1)), np.ones((3, 1)))]).r2, 1),
    Odd("R² of one number, all wrong",
        lambda: metrics.RegressionReport.from_batches([(np.zeros((3, 1)), np.ones((3, 1)))]).r2, 0),
    Odd("the error of large numbers", loss(losses.MSE(), [[1e15]], np.array([[0.0]], np.float32)), 1e30),
    Odd("the share of nobody", lambda: metrics.accuracy(np.zeros((0, 2), np.float32), np.zeros(0, np.int64)),
        Refused("one, got 0")),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("odd", ROWS, ids=[f"{number} {odd.what}" for number, odd in enumerate(ROWS)])
def test_an_odd_number(odd: Odd, engine: str) -> None:
    if engine == "fast" and not available():
        pytest.skip("needs Halide")
    with using(engine):
        if isinstance(odd.answer, Refused):
            with pytest.raises(TypednnError) as raised:
                odd.compute()
            assert odd.answer in str(raised.value)
        else:
            np.testing.assert_allclose(np.asarray(odd.compute(), np.float64), odd.answer, rtol=2e-6, atol=0)
