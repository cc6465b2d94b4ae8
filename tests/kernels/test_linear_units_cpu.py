"""GELU, SiLU, softplus, ELU and the hard ones in Halide, beside the reference."""

import numpy as np
import pytest
from fast_ops import SPECIAL, agree, every_target, floats, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import linear_units

pytestmark = [needs_halide, quiet]

NUMBERS = {"softplus": (2.0, 5.0), "elu": (1.67, 1.05)}
GATED = ("gelu", "gelu_tanh", "silu")
each = pytest.mark.parametrize("name", [*GATED, "softplus", "elu", "hardswish", "hardsigmoid"])
# Tails below the smallest normal number become 0, and are multiplied by up to a hundred.
LEAST = 1e-35


def size_of_value(x, *_):
    """Roundings are of x near 0, where every function is about as large as it, or of a constant."""
    return np.minimum(abs(x), 1e30) + 1


def size_of_value_gated(x):
    return np.minimum(abs(x), 1e30)


def size_of_slope(dy, x, *_):
    return 2 * np.nan_to_num(abs(dy))  # an infinite dy gives 0 where the slope is 0


@each
@settings(max_examples=30, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_forward(name, size, special, seed, dtype):
    """G-L4."""
    op = getattr(linear_units, name)
    x = numbers(seed, size, special=special, dtype=dtype)
    magnitude = size_of_value_gated if name in GATED else size_of_value
    agree(f"{name}.forward", op.forward, x, *NUMBERS.get(name, ()), magnitude=magnitude, ulps=4, least=LEAST)


@each
@settings(max_examples=30, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_backward(name, size, special, seed, dtype):
    """G-L4."""
    op = getattr(linear_units, name)
    x, dy = numbers(seed, size, special=special, dtype=dtype), numbers(seed + 1, size, special=special, dtype=dtype)
    agree(f"{name}.backward", op.backward, dy, x, *NUMBERS.get(name, ()), magnitude=size_of_slope, ulps=8, least=LEAST)


@each
def test_special_pairs(name):
    op, (x, dy) = getattr(linear_units, name), special_pairs()
    agree(f"{name}.forward", op.forward, SPECIAL, *NUMBERS.get(name, ()), magnitude=size_of_value, least=LEAST)
    agree(f"{name}.backward", op.backward, dy, x, *NUMBERS.get(name, ()), magnitude=size_of_slope, least=LEAST)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*GATED, "softplus", "elu"])
def test_small_results_keep_their_digits(name, dtype):
    """Not only beside x: relative to the result itself, with the rounding of the exponent."""
    op, numbers = getattr(linear_units, name), NUMBERS.get(name, ())
    x = np.concatenate([-np.logspace(-6, 0.6, 1000), -np.linspace(4, 8, 500)]).astype(dtype)
    exact = op.formulas[0].reference(x.astype(np.longdouble), *numbers)
    got = op.forward(x, *numbers)
    assert (abs(got / exact - 1) < np.finfo(dtype).eps * (4 + 2 * x * x)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_slope_of_the_tanh_form_is_exact_where_pytorchs_is_not(dtype):
    """G-L4: within 2 eps of the formula as written, in long doubles."""
    x = np.linspace(-12, 12, 20001).astype(dtype)
    wide = x.astype(np.longdouble)
    root, cubic = np.longdouble("0.79788456080286535587989211986876373695"), np.longdouble("0.044715")
    v, slope_of_v = root * (wide + cubic * wide**3), root * (1 + 3 * cubic * wide**2)
    exact = (1 + np.tanh(v)) / 2 + wide * slope_of_v / (2 * np.cosh(v) ** 2)
    assert abs(linear_units.gelu_tanh.backward(np.ones_like(x), x) - exact).max() < 2 * np.finfo(dtype).eps


@each
def test_on_every_target(name, tmp_path):
    op, others, shapes = getattr(linear_units, name), NUMBERS.get(name, ()), [((1001,), np.float32)]
    x, dy = numbers(0, 1001), numbers(1, 1001)
    every_target(op.formulas[0].kernels[x.dtype], (x, *others), shapes, tmp_path)
    every_target(op.formulas[1].kernels[x.dtype], (dy, x, *others), shapes, tmp_path)
