"""sigmoid in Halide against the reference."""

import numpy as np
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels.pointwise import sigmoid

pytestmark = [needs_halide, quiet]


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_forward(size, special, seed, dtype):
    x = numbers(seed, size, special=special, dtype=dtype)
    agree("sigmoid.forward", sigmoid.forward, x, magnitude=lambda x: 1 / (1 + np.exp(-x)))


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 3), size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_backward(rows, size, special, seed, dtype):
    x, other = (
        numbers(seed, rows, size, special=special, dtype=dtype),
        numbers(seed + 1, rows, size, special=special, dtype=dtype),
    )
    agree(
        "sigmoid.backward",
        sigmoid.backward,
        other,
        x,
        magnitude=lambda next_grad, y: abs(next_grad) * (1 + abs(y)) * abs(y),
    )


def test_special_pairs():
    x, other = special_pairs()
    agree("sigmoid.forward", sigmoid.forward, x, magnitude=lambda x: 1 / (1 + np.exp(-x)))
    agree(
        "sigmoid.backward",
        sigmoid.backward,
        other,
        x,
        magnitude=lambda next_grad, y: abs(next_grad) * (1 + abs(y)) * abs(y),
    )


def test_forward_on_every_target(tmp_path):
    x = numbers(0, 1001)
    every_target(sigmoid.formulas[0].kernels[x.dtype], (x,), [((1001,), np.float32)], tmp_path)


def test_backward_on_every_target(tmp_path):
    x, other = numbers(0, 1001), numbers(1, 1001)
    every_target(sigmoid.formulas[1].kernels[x.dtype], (other, x), [((1001,), np.float32)], tmp_path)
