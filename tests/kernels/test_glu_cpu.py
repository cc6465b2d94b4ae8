"""GLU in Halide against the reference."""

import numpy as np
import pytest
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import glu
from typednn.kernels.glu import cpu

pytestmark = [needs_halide, quiet]

shapes = st.one_of(
    st.tuples(st.integers(1, 9), st.integers(1, 70)),
    st.sampled_from([(1, 5000), (3000, 1), (700, 129), (1025, 64), (4, 20_000)]),
)


def size_of_value(x):
    half = x.shape[1] // 2
    return np.nan_to_num(abs(x[:, :half]), posinf=1e30)


def size_of_slope(dy, x):
    a = np.nan_to_num(abs(x[:, : x.shape[1] // 2]), posinf=1e30)
    dy = np.nan_to_num(abs(dy), posinf=1e30)
    return np.concatenate((dy, dy * a), axis=1)


@settings(max_examples=50, deadline=None)
@given(shape=shapes, special=st.booleans(), seed=seeds, dtype=floats)
def test_forward(shape, special, seed, dtype):
    rows, half = shape
    agree(
        "glu.forward", glu.forward, numbers(seed, rows, 2 * half, special=special, dtype=dtype), magnitude=size_of_value
    )


@settings(max_examples=50, deadline=None)
@given(shape=shapes, special=st.booleans(), seed=seeds, dtype=floats)
def test_backward(shape, special, seed, dtype):
    rows, half = shape
    x = numbers(seed, rows, 2 * half, special=special, dtype=dtype)
    agree(
        "glu.backward",
        glu.backward,
        numbers(seed + 1, rows, half, dtype=dtype),
        x,
        magnitude=size_of_slope,
        least=1e-7 * special + 2e-38,
    )


@pytest.mark.parametrize("half", [3, 37])
def test_on_every_target(half, tmp_path):
    x, dy = numbers(0, 9, 2, half), numbers(1, 9, half)
    every_target(cpu._forward[x.dtype], (x,), [((9, half), np.float32)], tmp_path)
    every_target(cpu._backward[x.dtype], (dy, x), [((9, 2, half), np.float32)], tmp_path)
