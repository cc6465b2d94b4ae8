"""Convolutions with what stands around them, run as one kernel: which neighbours are taken in, and that nothing else changes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.fused_twin import fused_twin
from typednn import Input, Sequential
from typednn.engines import available, counting
from typednn.layers import Conv2d, Flatten, LeakyReLU, Linear, MaxPool2d, Pad2d, ReLU, Sigmoid, Tanh

# What follows a Pad2d and a Conv2d, and which ops compute it all.
ONE = {"conv2d.forward"}
AFTER: dict[str, tuple[Callable[[], list[Any]], set[str]]] = {
    "nothing": (list, ONE),
    "ReLU": (lambda: [ReLU()], ONE),
    "Tanh and pooling": (lambda: [Tanh(), MaxPool2d(2)], ONE),
    "Sigmoid and pooling": (lambda: [Sigmoid(), MaxPool2d(3)], ONE),
    "LeakyReLU and pooling": (lambda: [LeakyReLU(0.1), MaxPool2d(2)], ONE),
    "pooling": (lambda: [MaxPool2d(2)], ONE),
    "pooling, then ReLU": (lambda: [MaxPool2d(2), ReLU()], ONE | {"relu.forward"}),
    "a falling LeakyReLU": (lambda: [LeakyReLU(-0.1), MaxPool2d(2)], ONE | {"leaky_relu.forward", "max_pool2d.forward"}),
    "overlapping pooling": (lambda: [ReLU(), MaxPool2d(3, 2)], ONE | {"max_pool2d.forward"}),
}
each_chain = pytest.mark.parametrize(("after", "ops"), AFTER.values(), ids=AFTER)


def chain(after: list[Any], stride: int = 1) -> Any:
    return Sequential([Pad2d(1), Conv2d(3, 5, 3, stride, bias=True), *after], input=Input(9, 12, 3)).init(np.random.default_rng(0))


def normal(seed: int, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def assert_same(first: Any, second: Any) -> None:
    np.testing.assert_allclose(first, second, rtol=0, atol=2e-5 * max(1, float(np.abs(second).max())))


@pytest.mark.parametrize(
    ("after", "ops", "stride"),
    [
        *(pytest.param(*AFTER[name], 1, id=name) for name in AFTER),
        *(pytest.param(*AFTER[name], 2, id=f"{name}, strided") for name in ("nothing", "Tanh and pooling", "overlapping pooling")),
    ],
)
def test_outputs_and_gradients_are_the_chain_s(after: Callable[[], list[Any]], ops: set[str], stride: int) -> None:
    model = chain(after(), stride)
    fused = fused_twin(model)
    x = normal(1, (4, 9, 12, 3))
    y = model.forward(x)
    assert_same(fused.forward(x), y)
    dy = normal(2, y.shape)
    grad, other = model.backward(dy), fused.backward(dy)
    assert_same(other.input, grad.input)
    for name, wanted in grad.leaves().items():
        assert_same(other.leaves()[name], wanted)
    for ours, theirs in zip(other.parts, grad.parts, strict=True):
        assert_same(ours.input, theirs.input)
    fused.eval()
    assert_same(fused.forward(x), y)


@pytest.mark.skipif(not available(), reason="Halide is not installed")
@each_chain
def test_which_ops_run(after: Callable[[], list[Any]], ops: set[str]) -> None:
    fused = chain(after()).eval()
    with counting() as counts:
        fused.forward(np.ones((4, 9, 12, 3), np.float32))
    assert {name for name, _ in counts} == ops


def test_convolutions_by_twos() -> None:
    """As networks like VGG have them: not every convolution is followed by pooling."""
    blocks: list[Any] = [Pad2d(1), Conv2d(2, 16, 3, bias=True), ReLU(), Pad2d(1), Conv2d(16, 20, 3), ReLU(), MaxPool2d(2)]
    model: Any = Sequential([*blocks, Flatten(), Linear(3 * 4 * 20, 4)], input=Input(6, 8, 2)).init(np.random.default_rng(3))
    fused = fused_twin(model)
    x, dy = normal(4, (5, 6, 8, 2)), normal(5, (5, 4))
    assert_same(fused.forward(x), model.forward(x))
    grad, other = model.backward(dy), fused.backward(dy)
    assert list(other.leaves()) == list(grad.leaves())
    for name, wanted in grad.leaves().items():
        assert_same(other.leaves()[name], wanted)
    assert_same(other.input, grad.input)
