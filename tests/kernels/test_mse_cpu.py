"""mse in Halide against the reference: the same bits."""

import numpy as np
from fast_ops import agree, every_target, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting, fast
from typednn.kernels import mse
from typednn.kernels.mse import cpu

pytestmark = [needs_halide, quiet]


def large_elementwise(prediction, target):
    """mse.elementwise, which leaves small arrays to NumPy, without that choice."""
    return cpu.elementwise(prediction, target) if fast(prediction, target) else mse.elementwise(prediction, target)


def large_gradient(prediction, target, scale):
    """mse.gradient, which leaves small arrays to NumPy, without that choice."""
    return cpu.gradient(prediction, target, scale) if fast(prediction, target) else mse.gradient(prediction, target, scale)


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds)
def test_elementwise(size, special, seed):
    x, other = numbers(seed, size, special=special), numbers(seed + 1, size, special=special)
    agree("mse.elementwise", large_elementwise, x, other)


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 3), size=sizes, special=st.booleans(), scale=st.floats(0.01, 10), seed=seeds)
def test_gradient(rows, size, special, scale, seed):
    x, other = numbers(seed, rows, size, special=special), numbers(seed + 1, rows, size, special=special)
    agree("mse.gradient", large_gradient, other, x, scale)


def test_small_arrays_are_left_to_numpy():
    for size, engine in ((2048, "reference"), (2049, "halide")):
        with counting() as counts:
            mse.elementwise(numbers(0, size), numbers(1, size))
            mse.gradient(numbers(0, size), numbers(1, size), 0.5)
        assert dict(counts) == {("mse.elementwise", engine): 1, ("mse.gradient", engine): 1}


def test_special_pairs():
    x, other = special_pairs()
    scale = 0.3
    agree("mse.elementwise", large_elementwise, x, other)
    agree("mse.gradient", large_gradient, other, x, scale)


def test_elementwise_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(cpu._elementwise, (x, other), [((1001,), np.float32)], tmp_path)


def test_gradient_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(cpu._gradient, (x, other, 0.3), [((1001,), np.float32)], tmp_path)
