"""max_pool2d in CUDA against the reference: the same bits, forward and backward."""

import numpy as np
import pytest
from fast_ops import numbers, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, distinct

from typednn.engines import counting
from typednn.kernels import max_pool2d

# (kernel, stride, dilation): few, since each is compiled anew. Apart, touching, overlapping, with gaps, spread out, on
# one axis only.
WINDOWS = [
    ((2, 2), (2, 2), (1, 1)),
    ((3, 3), (2, 2), (1, 1)),
    ((3, 2), (1, 1), (1, 1)),
    ((2, 3), (3, 4), (1, 1)),
    ((2, 3), (1, 2), (3, 2)),
    ((3, 1), (2, 3), (2, 1)),
    ((1, 1), (1, 1), (1, 1)),
]


def pixels(seed, shape, levels, dtype):
    """Few distinct values, hence many ties; some pixels NaN, -inf or inf."""
    x = np.random.default_rng(seed).integers(0, levels + 3, shape).astype(dtype)
    for place, value in enumerate((np.nan, -np.inf, np.inf)):
        x[x == levels + place] = value
    x.setflags(write=False)
    return x


def both_ways(gpu, x, *window):
    y, index = gpu.run(max_pool2d.forward, x, *window)
    expected, winners = gpu.reference(max_pool2d.forward, x, *window)
    for got, wanted in ((y, expected), (index, winners)):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
    next_grad = numbers(0, *y.shape, special=True).astype(x.dtype)
    dx = gpu.run(max_pool2d.backward, next_grad, index, x.shape, *window)
    assert dx.dtype == x.dtype
    np.testing.assert_array_equal(dx, gpu.reference(max_pool2d.backward, next_grad, index, x.shape, *window))


@settings(max_examples=100, deadline=None)
@given(
    window=st.sampled_from(WINDOWS),
    spare=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    batch=st.integers(1, 3),
    channels=st.integers(1, 7),
    levels=st.integers(1, 9),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=seeds,
)
def test_any_size(gpu, window, spare, batch, channels, levels, dtype, seed):
    kernel, _, dilation = window
    size = tuple(d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True))
    both_ways(gpu, pixels(seed, (batch, *size, channels), levels, dtype), *window)


@pytest.mark.parametrize(
    ("shape", "window"),
    [
        ((2, 17, 18, 3), ((16, 17), (1, 1), (1, 1))),  # more taps than a byte can tell apart
        ((3, 16, 16, 5), ((16, 16), (1, 1), (1, 1))),  # as many as it can
        ((40, 28, 28, 6), WINDOWS[0]),
        ((5, 65, 66, 33), WINDOWS[1]),
    ],
)
def test_many_taps_and_many_blocks(gpu, shape, window):
    both_ways(gpu, pixels(1, shape, 7, np.float32), *window)


def test_a_window_without_a_number_gives_the_lowest(gpu):
    x = np.full((1, 2, 2, 1), np.nan, np.float32)
    y, index = gpu.run(max_pool2d.forward, x, *WINDOWS[0])
    assert y == -np.inf
    assert index == 0


def test_slopes_in_float64(gpu):
    window = WINDOWS[1]
    x = distinct(0, 1, 5, 7, 2)
    y, index = gpu.run(max_pool2d.forward, x, *window)
    next_grad = np.random.default_rng(0).normal(size=y.shape)
    dx = gpu.run(max_pool2d.backward, next_grad, index, x.shape, *window)
    assert_slopes([dx], lambda x: gpu.run(max_pool2d.forward, x, *window)[0], [x], next_grad)


def test_what_does_not_fit_is_left_to_the_reference(gpu):
    """An index of another dtype or size, another dtype of numbers, an array with gaps."""
    x = numbers(0, 1, 4, 6, 2)
    y, index = gpu.reference(max_pool2d.forward, x, *WINDOWS[0])
    with counting() as counts:
        max_pool2d.forward(gpu.put(x.astype(np.float16)), *WINDOWS[0])
        max_pool2d.forward(gpu.put(x)[:, :, ::2], *WINDOWS[0])
        max_pool2d.backward(gpu.put(y), gpu.put(index.astype(np.int64)), x.shape, *WINDOWS[0])
        with pytest.raises(ValueError, match="broadcast"):
            max_pool2d.backward(gpu.put(y), gpu.put(index), (1, 6, 6, 2), *WINDOWS[0])
    assert dict(counts) == {
        ("max_pool2d.forward", "reference"): 2,
        ("max_pool2d.backward", "reference"): 1,
    }  # one that raises is not told of
