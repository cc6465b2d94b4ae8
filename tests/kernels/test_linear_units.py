"""GELU, SiLU, softplus, ELU and the hard ones: the reference beside Python's math, and its slopes beside central
differences.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import linear_units
from typednn.kernels.pointwise import relu

pytestmark = pytest.mark.usefixtures("on_the_reference")


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


SCALE, ALPHA = 1.05, 1.67
# op -> (its numbers, the formula)
CASES = {
    "gelu": ((), lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
    "gelu_tanh": ((), lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": ((), lambda x: x * sigmoid(x)),
    "softplus": ((2.0, 5.0), lambda x: x if 2 * x > 5 else math.log1p(math.exp(2 * x)) / 2),
    "elu": ((ALPHA, SCALE), lambda x: SCALE * x if x > 0 else SCALE * ALPHA * math.expm1(x)),
    "hardswish": ((), lambda x: x * min(max(x + 3, 0), 6) / 6),
    "hardsigmoid": ((), lambda x: min(max(x + 3, 0), 6) / 6),
}
CORNERS = {"softplus": (2.5,), "elu": (0.0,), "hardswish": (-3.0, 3.0), "hardsigmoid": (-3.0, 3.0)}
each = pytest.mark.parametrize("name", CASES)


@each
@settings(max_examples=20, deadline=None)
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    scale=st.sampled_from([1.0, 5.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_value_and_slope(name, normal, assert_slope, shape, scale, seed):
    """G-L4: the function, and its gradient."""
    op, (numbers, formula) = getattr(linear_units, name), CASES[name]
    x, next_grad = scale * normal(seed, *shape), normal(seed + 1, *shape)
    for corner in CORNERS.get(name, ()):
        x = np.where(abs(x - corner) < 1e-3, corner + 0.1, x)
    y = op.forward(x, *numbers)
    # Where the tail is small rounding of x² in an exponent counts.
    np.testing.assert_allclose(
        y, np.array([formula(number) for number in x.ravel()]).reshape(shape), rtol=1e-12, atol=1e-16
    )
    assert_slope(op.backward(next_grad, x, *numbers), lambda x: op.forward(x, *numbers), x, next_grad)


@pytest.mark.parametrize(
    ("name", "digits"), [("gelu", (1.9544997, -0.0455003)), ("gelu_tanh", (1.9545977, -0.0454023))]
)
def test_golden(name, digits):
    """G-L4, C-R6: gelu of 2, -2, 0, 10 and -10 to the digits of the fixtures; relu exactly."""
    y = getattr(linear_units, name).forward(np.array([2.0, -2.0, 0.0, 10.0, -10.0]))
    np.testing.assert_allclose(y, [*digits, 0, 10, 0], atol=1e-7, rtol=0)
    np.testing.assert_array_equal(relu.forward(np.array([5.0, -3.0, 0.0])), [5, 0, 0])


def test_the_normal_tail_keeps_its_digits():
    """G-L4: gelu(x)/x is Φ(x) down to 1e-300, beside math.erfc."""
    x = -np.linspace(0.01, 37, 2000)
    exact = np.array([math.erfc(-number / math.sqrt(2)) / 2 for number in x])
    assert (abs(linear_units.gelu.forward(x) / x / exact - 1) < 4e-16 * (2 + x * x)).all()


@each
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_far_out_without_warning(name, dtype):
    """The limits: x or a constant on the right, 0 or a constant on the left; their slopes."""
    op, (numbers, _) = getattr(linear_units, name), CASES[name]
    x = np.array([-np.inf, -3e4, -1000, 1000, 3e4, np.inf], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, slope = op.forward(x, *numbers), op.backward(np.ones_like(x), x, *numbers)
    right, left = {"elu": (SCALE, -SCALE * ALPHA), "hardsigmoid": (0, 0)}.get(name, (1, 0))
    np.testing.assert_allclose(y[3:], np.ones(3) if name == "hardsigmoid" else (x[3:] * dtype(right)), rtol=1e-3)
    np.testing.assert_allclose(y[:3], left, rtol=1e-3)
    np.testing.assert_allclose(slope, [0, 0, 0, right, right, right], rtol=1e-3)


@each
def test_nan_and_an_infinite_derivative(name):
    op, (numbers, _) = getattr(linear_units, name), CASES[name]
    x = np.array([np.nan, -200.0, 2.0], np.float32)
    assert np.isnan(op.forward(x, *numbers)).tolist() == [True, False, False]
    slope = op.backward(np.full(3, np.inf, np.float32), x, *numbers)
    # Where rounding alone makes the slope 0, its sign is kept; where it is 0, it is 0.
    tail = {"hardswish": 0, "hardsigmoid": 0, "softplus": np.inf, "elu": np.inf}.get(name, -np.inf)
    assert slope[1:].tolist() == [tail, np.inf]
