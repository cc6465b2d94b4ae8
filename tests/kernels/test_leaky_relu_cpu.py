"""leaky_relu in Halide against the reference: the same bits."""

import numpy as np
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels.pointwise import leaky_relu

pytestmark = [needs_halide, quiet]


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), slope=st.sampled_from([0.0, 0.01, 0.1, 1.0, -2.5]), seed=seeds, dtype=floats)
def test_forward(size, special, slope, seed, dtype):
    x = numbers(seed, size, special=special, dtype=dtype)
    agree("leaky_relu.forward", leaky_relu.forward, x, slope)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 3),
    size=sizes,
    special=st.booleans(),
    slope=st.sampled_from([0.0, 0.01, 0.1, 1.0, -2.5]),
    seed=seeds,
    dtype=floats,
)
def test_backward(rows, size, special, slope, seed, dtype):
    x, other = (
        numbers(seed, rows, size, special=special, dtype=dtype),
        numbers(seed + 1, rows, size, special=special, dtype=dtype),
    )
    agree("leaky_relu.backward", leaky_relu.backward, other, x, slope)


def test_special_pairs():
    x, other = special_pairs()
    slope = 0.1
    agree("leaky_relu.forward", leaky_relu.forward, x, slope)
    agree("leaky_relu.backward", leaky_relu.backward, other, x, slope)


def test_forward_on_every_target(tmp_path):
    x = numbers(0, 1001)
    every_target(leaky_relu.formulas[0].kernels[x.dtype], (x, 0.1), [((1001,), np.float32)], tmp_path)


def test_backward_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(leaky_relu.formulas[1].kernels[x.dtype], (other, x, 0.1), [((1001,), np.float32)], tmp_path)
