"""Flatten of sequences and of some axes, and Reshape: values, and what they refuse, in a stack, in a config and at run
time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import Input, config
from typednn.errors import ArgumentError, ConfigError, ShapeError, StackError
from typednn.layers import Concat, Flatten, LastStep, Linear, MaxPool2d, ReLU, Reshape


def numbers(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("layer", "before", "after"),
    [
        (Flatten(), (5, 4), (20,)),
        (Flatten(), (5, 4, 3), (60,)),
        (Flatten(1, 2), (5, 4, 3), (20, 3)),
        (Flatten(1, 3), (5, 4, 3), (60,)),
        (Flatten(2), (5, 4, 3), (5, 12)),
        (Flatten(2, 3), (5, 4, 3), (5, 12)),
        (Reshape(4, 3, 5), (60,), (4, 3, 5)),
        (Reshape(12, 5), (5, 12), (12, 5)),
        (Reshape(60), (5, 4, 3), (60,)),
    ],
)
def test_same_numbers_in_the_same_order(layer: Any, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    x, next_grad = numbers(2, *before), numbers(2, *after)
    y = layer.forward(x)
    assert np.array_equal(y, x.reshape(2, *after))
    assert np.shares_memory(y, x)  # a view
    assert np.array_equal(layer.backward(next_grad).input, next_grad.reshape(x.shape))
    assert layer.shape_after(x.shape) == y.shape
    chain = (Input(*before) >> layer).eval()
    assert np.array_equal(chain.forward(x), y)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Flatten(0), "Flatten: start_dim is 1 or 2: the batch, axis 0, stays, got 0"),  # type: ignore[call-overload]
        (lambda: Flatten(2, 1), "of images also 1 to 2, 1 to 3, 2 to 3 or 2 to -1, got 2 to 1"),  # type: ignore[call-overload]
        (lambda: Flatten(1, 4), "got 1 to 4; -1 is the last axis, which is included"),  # type: ignore[call-overload]
        (lambda: Flatten(1, -2), "Flatten: end_dim must be an integer of at least -1, got -2"),  # type: ignore[call-overload]
        (lambda: Reshape(), "Reshape: takes one to three sizes of one sample, got 0"),  # type: ignore[call-overload]
        (lambda: Reshape(2, 2, 2, 2), "Reshape: takes one to three sizes of one sample, got 4"),  # type: ignore[call-overload]
        (
            lambda: Reshape(4, -1),
            "Reshape: every size is stated, so that it can be checked before anything runs, got -1; write the number",
        ),
        (lambda: Reshape(0), "Reshape: shape must be an integer of at least 1, got 0"),
    ],
)
def test_arguments_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        build()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Input(5) >> Flatten(), "Flatten cannot follow Input(5): expects 3 or 4 axes, gets 2 axes (batch, 5)"),
        (
            lambda: Input(5, 4) >> Flatten(1, 2),
            "expects 4 axes (batch, height, width, channels), gets 3 axes (batch, 5, 4)",
        ),
        (lambda: Input(5, 4) >> Flatten() >> Linear(21, 3), "expects 21 features, gets 20 (= 5*4, from Input(5, 4))"),
        (
            lambda: Input(780) >> Reshape(28, 28, 1),
            "Reshape(28, 28, 1) cannot follow Input(780): expects 784 numbers, gets 780",
        ),
        (
            lambda: Input(12, 13, 6) >> MaxPool2d(2) >> Reshape(28, 28),
            "Reshape(28, 28) cannot follow MaxPool2d(2): expects 784 numbers, gets 216 (= 6*6*6, from MaxPool2d "
            "on 12x13x6)",
        ),
    ],
)
def test_stacks_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(StackError) as refused:
        build()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (Flatten(), (2, 3), "expects 3 or 4 axes, gets 2 axes (2, 3)"),
        (Flatten(2), (2, 3, 4), "expects 4 axes"),
        (Reshape(4), (2, 3), "expects 4 numbers, gets 3"),
        (Reshape(4), (2, 3, 2), "expects 4 numbers, gets 6 (= 3*2)"),
        (Reshape(4), (2, 2, 1, 2, 1), "expects 2, 3 or 4 axes, gets 5 axes (2, 2, 1, 2, 1)"),
        (ReLU() >> Reshape(4), (2, 3), "Reshape(4) cannot follow ReLU: expects 4 numbers, gets 3"),
    ],
)
def test_arrays_are_refused(layer: Any, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError) as refused:
        layer.forward(numbers(*shape))
    assert message in str(refused.value)


def test_in_a_config() -> None:
    text = (
        'format = 1\ninput = [{}]\n[[layer]]\ntype = "Reshape"\nshape = [5, 4, 3]\n[[layer]]\ntype = '
        '"Flatten"\nend_dim = 2\n'
    )
    model = config.loads(text.format(60)).model()
    assert np.array_equal(model.forward(numbers(2, 60)), numbers(2, 60))
    with pytest.raises(ConfigError, match="expects 60 numbers, gets 61"):
        config.loads(text.format(61)).model()


def test_an_unknown_rank_is_not_guessed() -> None:
    Concat(Flatten() >> Linear(20, 3), LastStep() >> Linear(4, 2))  # the second reads sequences, so both do
