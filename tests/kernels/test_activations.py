"""Activations as values: the formulas of the ops, forward from z and backward from y."""

from typing import Any

import numpy as np
import pytest
from strict_array import StrictArray, register, to_numpy

from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.pointwise import leaky_relu, relu, sigmoid, tanh

register()

LEAKY = Activation("leaky_relu", 0.1)
EACH = [IDENTITY, RELU, LEAKY, Activation("leaky_relu"), Activation("sigmoid"), Activation("tanh")]
each = pytest.mark.parametrize("activation", EACH, ids=repr)


@each
def test_backward_is_the_slope_of_forward(
    activation: Activation, off_kink: Any, normal: Any, assert_slope: Any
) -> None:
    z, next_grad = off_kink(0, 4, 5), normal(1, 4, 5)
    y = activation.forward(z)
    assert_slope(activation.backward(next_grad, y), activation.forward, z, next_grad)


def test_the_ops_own_formulas() -> None:
    z = np.linspace(-3, 3, 41, dtype=np.float32)
    ops: list[tuple[Activation, Any]] = [
        (RELU, relu.formulas[0].reference(z)),
        (LEAKY, leaky_relu.formulas[0].reference(z, 0.1)),
    ]
    ops += [
        (Activation("sigmoid"), sigmoid.formulas[0].reference(z)),
        (Activation("tanh"), tanh.formulas[0].reference(z)),
        (IDENTITY, z),
    ]
    for activation, y in ops:
        np.testing.assert_array_equal(activation.forward(z), y)
        assert activation.forward(z).dtype == np.float32
        assert activation.backward(z, y).dtype == np.float32


@each
def test_on_another_device(activation: Activation, normal: Any) -> None:
    z = normal(0, 3, 4).astype(np.float32)
    y = activation.forward(StrictArray(z))
    np.testing.assert_array_equal(to_numpy(y), activation.forward(z))
    np.testing.assert_array_equal(
        to_numpy(activation.backward(StrictArray(z), y)), activation.backward(z, activation.forward(z))
    )


def test_an_infinite_derivative_stops_where_relu_does() -> None:
    y, next_grad = np.array([0.0, 2.0]), np.array([np.inf, np.inf])
    np.testing.assert_array_equal(RELU.backward(next_grad, y), [0, np.inf])


def test_values() -> None:
    assert len({*EACH, Activation("tanh")}) == len(EACH)
    assert [activation.monotone for activation in EACH] == [True] * len(EACH)
    assert not Activation("leaky_relu", -0.1).monotone
    assert eval(repr(LEAKY)) == LEAKY  # a kernel's key says all of it
