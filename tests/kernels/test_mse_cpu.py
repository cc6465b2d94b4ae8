"""mse in Halide against the reference: the same bits."""

import numpy as np
from fast_ops import agree, every_target, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import mse
from typednn.kernels.mse import cpu

pytestmark = [needs_halide, quiet]


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds)
def test_elementwise(size, special, seed):
    x, other = numbers(seed, size, special=special), numbers(seed + 1, size, special=special)
    agree("mse.elementwise", mse.elementwise, x, other)


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 3), size=sizes, special=st.booleans(), scale=st.floats(0.01, 10), seed=seeds)
def test_gradient(rows, size, special, scale, seed):
    x, other = numbers(seed, rows, size, special=special), numbers(seed + 1, rows, size, special=special)
    agree("mse.gradient", mse.gradient, other, x, scale)


def test_special_pairs():
    x, other = special_pairs()
    scale = 0.3
    agree("mse.elementwise", mse.elementwise, x, other)
    agree("mse.gradient", mse.gradient, other, x, scale)


def test_elementwise_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(cpu._elementwise, (x, other), [((1001,), np.float32)], tmp_path)


def test_gradient_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(cpu._gradient, (x, other, 0.3), [((1001,), np.float32)], tmp_path)
