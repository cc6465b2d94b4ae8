"""Convolutions with what stands around them, run as one kernel: which neighbours are taken in, and that nothing else
changes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from effort import very_expensive
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fused_twin import fused_twin
from typednn import Input, Sequential
from typednn.engines import available, counting, using
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
    "a falling LeakyReLU": (
        lambda: [LeakyReLU(-0.1), MaxPool2d(2)],
        ONE | {"leaky_relu.forward", "max_pool2d.forward"},
    ),
    "overlapping pooling": (lambda: [ReLU(), MaxPool2d(3, 2)], ONE | {"max_pool2d.forward"}),
}
each_chain = pytest.mark.parametrize(("after", "ops"), AFTER.values(), ids=AFTER)


def chain(after: list[Any], stride: int = 1) -> Any:
    return Sequential([Pad2d(1), Conv2d(3, 5, 3, stride, bias=True), *after], input=Input(9, 12, 3)).init(
        np.random.default_rng(0)
    )


def normal(seed: int, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def assert_same(first: Any, second: Any) -> None:
    np.testing.assert_allclose(first, second, rtol=0, atol=2e-5 * max(1, float(np.abs(second).max())))


@pytest.mark.parametrize(
    ("after", "ops", "stride"),
    [
        *(pytest.param(*AFTER[name], 1, id=name) for name in AFTER),
        *(
            pytest.param(*AFTER[name], 2, id=f"{name}, strided")
            for name in ("nothing", "Tanh and pooling", "overlapping pooling")
        ),
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
    blocks: list[Any] = [
        Pad2d(1),
        Conv2d(2, 16, 3, bias=True),
        ReLU(),
        Pad2d(1),
        Conv2d(16, 20, 3),
        ReLU(),
        MaxPool2d(2),
    ]
    model: Any = Sequential([*blocks, Flatten(), Linear(3 * 4 * 20, 4)], input=Input(6, 8, 2)).init(
        np.random.default_rng(3)
    )
    fused = fused_twin(model)
    x, dy = normal(4, (5, 6, 8, 2)), normal(5, (5, 4))
    assert_same(fused.forward(x), model.forward(x))
    grad, other = model.backward(dy), fused.backward(dy)
    assert list(other.leaves()) == list(grad.leaves())
    for name, wanted in grad.leaves().items():
        assert_same(other.leaves()[name], wanted)
    assert_same(other.input, grad.input)


ACTIVATIONS: dict[str, Callable[[], Any]] = {
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "relu": ReLU,
    "leaky_relu": lambda: LeakyReLU(0.1),
}


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("pooling", [0, 2])
@very_expensive
@given(
    activation=st.sampled_from(list(ACTIVATIONS)),
    image=st.tuples(st.integers(5, 12), st.integers(5, 12), st.sampled_from([1, 2, 8])),
    batch=st.integers(1, 5),
    channels=st.sampled_from([1, 3, 8, 16]),
    kernel=st.sampled_from([1, 3, 5]),
    values=st.lists(st.sampled_from([np.inf, -np.inf, np.nan]), min_size=1, max_size=4),
    seed=st.integers(0, 2**32 - 1),
)
def test_special_values_go_where_the_chain_sends_them(
    pooling: int,
    activation: str,
    image: tuple[int, int, int],
    batch: int,
    channels: int,
    kernel: int,
    values: list[float],
    seed: int,
) -> None:
    """Infinities and NaN in the input: kernels against the reference, the fused one and that of one layer after
    another.

    What no window won counts as 0·slope and 0·x in some derivatives of the references, NaN where these are no numbers.
    Kernels may leave it out: so there numbers alone are compared.
    """
    parts: list[Any] = [Pad2d(kernel // 2), Conv2d(image[2], channels, kernel, bias=True), ACTIVATIONS[activation]()]
    model: Any = Sequential([*parts, *([MaxPool2d(pooling)] if pooling else [])], input=Input(*image)).init(
        np.random.default_rng(seed)
    )
    fused, rng, x = fused_twin(model), np.random.default_rng(seed), normal(seed, (batch, *image))
    for value in values:
        x[tuple(rng.integers(0, size) for size in x.shape)] = value

    def results(model: Any) -> list[Any]:
        y = model.forward(x)
        grad = model.backward(normal(seed + 1, y.shape))
        return [y, grad.input, grad.parts[1].bias, grad.parts[1].weight]

    ours = results(fused)
    with using("reference"):
        reference, chained = results(fused), results(model)
    for each, *wanted in zip(ours, reference, chained, strict=True):
        for place, its in enumerate(wanted):
            close = 2e-5 * max(1.0, float(np.abs(its[np.isfinite(its)]).max(initial=0)))
            known = (
                ~np.isnan(its) if each is ours[3] or (place == 1 and each is not ours[0]) else np.full(its.shape, True)
            )
            np.testing.assert_allclose(each[known], its[known], rtol=0, atol=close)
