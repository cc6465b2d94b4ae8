"""tanh in Halide against the reference."""

import numpy as np
from fast_ops import agree, at_any_size, every_target, floats, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels.pointwise import tanh

pytestmark = [needs_halide, quiet]


large_forward = at_any_size(tanh.forward)


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_forward(size, special, seed, dtype):
    x = numbers(seed, size, special=special, dtype=dtype)
    agree("tanh.forward", large_forward, x, magnitude=lambda x: abs(np.tanh(x)))


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 3), size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_backward(rows, size, special, seed, dtype):
    x, other = (
        numbers(seed, rows, size, special=special, dtype=dtype),
        numbers(seed + 1, rows, size, special=special, dtype=dtype),
    )
    agree("tanh.backward", tanh.backward, other, x, magnitude=lambda next_grad, y: abs(next_grad) * (1 + y * y))


def test_small_arrays_are_left_to_numpy():
    for size, engine in ((32768, "reference"), (32769, "halide")):
        with counting() as counts:
            tanh.forward(numbers(0, size))
        assert dict(counts) == {("tanh.forward", engine): 1}


def test_float64_is_left_to_numpy():
    with counting() as counts:
        tanh.forward(numbers(0, 40_000, dtype=np.float64))
    assert dict(counts) == {("tanh.forward", "reference"): 1}


def test_special_pairs():
    x, other = special_pairs()
    agree("tanh.forward", large_forward, x, magnitude=lambda x: abs(np.tanh(x)))
    agree("tanh.backward", tanh.backward, other, x, magnitude=lambda next_grad, y: abs(next_grad) * (1 + y * y))


def test_forward_on_every_target(tmp_path):
    x = numbers(0, 1001)
    every_target(tanh.formulas[0].kernels[x.dtype], (x,), [((1001,), np.float32)], tmp_path)


def test_backward_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(tanh.formulas[1].kernels[x.dtype], (other, x), [((1001,), np.float32)], tmp_path)
