"""pad2d in CUDA: forward and the constant border's gradient to the bit, the replicated border's against float64."""

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, normal

from typednn.engines import counting
from typednn.kernels import pad2d

sides = st.tuples(*[st.integers(0, 4)] * 4)


@settings(max_examples=100, deadline=None)
@given(
    padding=sides,
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    batch=st.integers(1, 3),
    channels=st.integers(1, 5),
    mode=st.sampled_from(["constant", "replicate"]),
    value=st.sampled_from([0.0, -0.1, 7, np.inf, np.nan]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=seeds,
)
def test_is_the_reference(gpu, padding, size, batch, channels, mode, value, dtype, seed):
    x = numbers(seed, batch, *size, channels, special=True).astype(dtype)
    y = gpu.run(pad2d.forward, x, padding, mode, value)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, gpu.reference(pad2d.forward, x, padding, mode, value))

    next_grad = numbers(seed, *y.shape, special=mode == "constant").astype(dtype)
    dx = gpu.run(pad2d.backward, next_grad, padding, mode)
    assert dx.dtype == dtype
    assert dx.flags.c_contiguous
    if mode == "constant":
        np.testing.assert_array_equal(dx, gpu.reference(pad2d.backward, next_grad, padding, mode))
    else:
        exact, sizes = (
            gpu.reference(pad2d.backward, array.astype(np.float64), padding, mode)
            for array in (next_grad, np.abs(next_grad))
        )
        repeated = (max(padding[:2]) + 1) * (max(padding[2:]) + 1) * 4  # a pixel is at most at all four corners
        assert (np.abs(dx - exact) <= repeated * np.finfo(dtype).eps * sizes).all()


@pytest.mark.parametrize("mode", ["constant", "replicate"])
def test_slopes_in_float64(gpu, mode):
    x, padding = normal(0, 2, 3, 2, 2), (1, 2, 0, 3)
    y = gpu.run(pad2d.forward, x, padding, mode, 0.5)
    next_grad = normal(1, *y.shape)
    dx = gpu.run(pad2d.backward, next_grad, padding, mode)
    assert_slopes([dx], lambda x: gpu.run(pad2d.forward, x, padding, mode, 0.5), [x], next_grad)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_reach_the_pixel_that_is_repeated(gpu, bad):
    padding = (2, 1, 1, 2)
    for place in range(6 * 7):
        next_grad = np.ones((1, 6, 7, 1), np.float32)
        next_grad.reshape(-1)[place] = bad
        dx = gpu.run(pad2d.backward, next_grad, padding, "replicate")
        np.testing.assert_array_equal(dx, gpu.reference(pad2d.backward, next_grad, padding, "replicate"))


def test_a_border_that_leaves_nothing_is_left_to_the_reference(gpu):
    with counting() as counts:
        pad2d.backward(gpu.put(numbers(0, 1, 3, 3, 1)), (1, 2, 0, 0), "constant")
        pad2d.forward(gpu.put(numbers(0, 1, 3, 3, 1).astype(np.int32)), (1, 2, 0, 0), "constant", 0.0)
    assert dict(counts) == {("pad2d.backward", "reference"): 1, ("pad2d.forward", "reference"): 1}
