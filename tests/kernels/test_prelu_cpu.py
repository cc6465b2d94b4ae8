"""prelu in Halide against the reference: the same bits, but for the slope's gradient, a sum."""

import numpy as np
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds, sizes, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting, using
from typednn.kernels import prelu
from typednn.kernels.prelu import cpu

pytestmark = [needs_halide, quiet]

slopes = st.sampled_from([0.0, 0.01, 1.0, -2.5]).map(lambda slope: np.array([slope], np.float32))


@settings(max_examples=60, deadline=None)
@given(size=sizes, special=st.booleans(), slope=slopes, seed=seeds, dtype=floats)
def test_forward(size, special, slope, seed, dtype):
    agree("prelu.forward", prelu.forward, numbers(seed, size, special=special, dtype=dtype), slope.astype(dtype))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 3),
    size=sizes.filter(lambda size: size >= cpu.SUMS),
    special=st.booleans(),
    slope=slopes,
    seed=seeds,
    dtype=floats,
)
def test_backward(rows, size, special, slope, seed, dtype):
    x, next_grad = (
        numbers(seed, rows, size, special=special, dtype=dtype),
        numbers(seed + 1, rows, size, special=special, dtype=dtype),
    )
    slope = slope.astype(dtype)
    # Infinities and NaN are the reference's; dx is compared below, and the sum where it has a bound.
    dx, dslope = agree("prelu.backward", prelu.backward, next_grad, x, slope, magnitude=lambda *_: np.inf)
    with using("reference"):
        np.testing.assert_array_equal(dx, prelu.backward(next_grad, x, slope)[0])
    if not special:
        terms = np.where(x > 0, 0, next_grad.astype(float) * x)
        assert abs(dslope[0] - terms.sum()) <= 16 * np.finfo(dtype).eps * abs(terms).sum()


def test_special_pairs():
    x, other = special_pairs()
    agree("prelu.forward", prelu.forward, x, np.array([0.25], np.float32))
    for number, by in zip(x, other, strict=True):
        among = np.linspace(-1, 1, 101, dtype=np.float32)
        for place in (3, 100):
            among_x, among_other = among.copy(), among.copy()
            among_x[place], among_other[place] = number, by
            agree(
                "prelu.backward",
                prelu.backward,
                among_other,
                among_x,
                np.array([0.25], np.float32),
                magnitude=lambda *_: np.inf,
            )


def test_the_gradient_of_small_arrays_is_left_to_the_reference():
    x = numbers(0, cpu.SUMS - 1)
    with counting() as counts:
        prelu.backward(x, x, np.array([0.25], np.float32))
    assert dict(counts) == {("prelu.backward", "reference"): 1}


def test_forward_on_every_target(tmp_path):
    every_target(
        cpu._forward[np.dtype(np.float32)],
        (numbers(0, 1001), np.array([0.25], np.float32)),
        [((1001,), np.float32)],
        tmp_path,
    )


def test_backward_on_every_target(tmp_path):
    given = (numbers(0, 40_001), numbers(1, 40_001), np.array([0.25], np.float32))
    every_target(
        cpu._backward[np.dtype(np.float32)], given, [((40_001,), np.float32), ((1,), np.float32)], tmp_path, rtol=1e-4
    )
