"""mse in Halide against the reference: the same bits."""

import numpy as np
from fast_ops import agree, at_any_size, every_target, floats, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels.pointwise_losses import mse, mse_forward_and_backward

pytestmark = [needs_halide, quiet]


large_elementwise, large_gradient, large_both = map(at_any_size, (mse.forward, mse.backward, mse_forward_and_backward))


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_elementwise(size, special, seed, dtype):
    x, other = numbers(seed, size, special=special, dtype=dtype), numbers(seed + 1, size, special=special, dtype=dtype)
    agree("mse.forward", large_elementwise, x, other)


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 3), size=sizes, special=st.booleans(), scale=st.floats(0.01, 10), seed=seeds, dtype=floats)
def test_gradient(rows, size, special, scale, seed, dtype):
    x, other = (
        numbers(seed, rows, size, special=special, dtype=dtype),
        numbers(seed + 1, rows, size, special=special, dtype=dtype),
    )
    agree("mse.backward", large_gradient, other, x, scale)


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 3), size=sizes, special=st.booleans(), scale=st.floats(0.01, 10), seed=seeds, dtype=floats)
def test_both_in_one_pass(rows, size, special, scale, seed, dtype):
    x, other = (
        numbers(seed, rows, size, special=special, dtype=dtype),
        numbers(seed + 1, rows, size, special=special, dtype=dtype),
    )
    loss, grad = agree("mse.forward_and_backward", large_both, other, x, scale)
    np.testing.assert_array_equal(loss, large_elementwise(other, x))
    np.testing.assert_array_equal(grad, large_gradient(other, x, scale))


def test_small_arrays_are_left_to_numpy():
    for size, engine in ((2048, "reference"), (2049, "halide")):
        with counting() as counts:
            mse.forward(numbers(0, size), numbers(1, size))
            mse.backward(numbers(0, size), numbers(1, size), 0.5)
        assert dict(counts) == {("mse.forward", engine): 1, ("mse.backward", engine): 1}


def test_special_pairs():
    x, other = special_pairs()
    scale = 0.3
    agree("mse.forward", large_elementwise, x, other)
    agree("mse.backward", large_gradient, other, x, scale)


def test_elementwise_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(mse.formulas[0].kernels[x.dtype], (x, other), [((1001,), np.float32)], tmp_path)


def test_gradient_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(mse.formulas[1].kernels[x.dtype], (x, other, 0.3), [((1001,), np.float32)], tmp_path)


def test_both_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    formula = mse_forward_and_backward.op.engines[0].run.__self__
    every_target(formula.kernels[x.dtype], (x, other, 0.3), [((1001,), np.float32)] * 2, tmp_path)
