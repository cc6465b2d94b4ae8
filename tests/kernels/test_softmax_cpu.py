"""softmax in Halide against the reference."""

import numpy as np
import pytest
from effort import expensive
from fast_ops import agree, batches, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import given
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels import softmax
from typednn.kernels.softmax import cpu

pytestmark = [needs_halide, quiet]

features = st.one_of(st.integers(2, 70), st.sampled_from([255, 256, 257, 300, 1023]))


def error(x):
    """A rounding of the result, and one of the exponent."""
    z = x - x.max(axis=1, keepdims=True)
    y = np.exp(z)
    return (2 + abs(np.where(y > 0, z, 0))) * y / y.sum(axis=1, keepdims=True)


def error_backward(next_grad, y):
    return (abs(next_grad) + abs(next_grad * y).sum(axis=1, keepdims=True) * 4) * abs(y)


@expensive
@given(
    batch=batches,
    features=features,
    special=st.booleans(),
    scale=st.sampled_from([0.1, 3.0, 50.0]),
    seed=seeds,
    dtype=floats,
)
def test_forward(batch, features, special, scale, seed, dtype):
    x = numbers(seed, batch, features, special=special, scale=scale, dtype=dtype)
    agree("softmax.forward", softmax.forward, x, magnitude=error)


@expensive
@given(batch=batches, features=features, special=st.booleans(), seed=seeds, dtype=floats)
def test_backward(batch, features, special, seed, dtype):
    next_grad = numbers(seed, batch, features, special=special, dtype=dtype)
    y = abs(numbers(seed + 1, batch, features, dtype=dtype))
    agree("softmax.backward", softmax.backward, next_grad, y, magnitude=error_backward)


@pytest.mark.parametrize("features", [2, 5, 16, 17, 64, 700])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e30])
def test_each_place(features, special):
    """One special number at each place of a row, and a row of nothing else."""
    x = numbers(0, features + 1, features).copy()
    x[-1] = special
    np.fill_diagonal(x, special)
    agree("softmax.forward", softmax.forward, x, magnitude=error)


def test_a_row_of_one_is_left_to_the_reference():
    with counting() as counts:
        np.testing.assert_array_equal(
            softmax.forward(np.array([[3], [np.nan], [np.inf]], np.float32)), [[1], [np.nan], [np.nan]]
        )
    assert dict(counts) == {("softmax.forward", "reference"): 1}


@pytest.mark.parametrize("features", [3, 10, 37, 300])
def test_on_every_target(features, tmp_path):
    x, other, shapes = numbers(0, 9, features), numbers(1, 9, features), [((9, features), np.float32)]
    every_target(cpu.plan(x)[0], (x,), shapes, tmp_path)
    every_target(cpu.plan(x)[1], (x, other), shapes, tmp_path, rtol=1e-4)
