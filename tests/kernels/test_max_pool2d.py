"""P-L13, P-L17: max_pool2d against loops, finite differences and the paper's fixtures."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes, distinct, normal

from typednn.kernels import max_pool2d

pytestmark = pytest.mark.usefixtures("on_the_reference")

seeds = st.integers(0, 2**32 - 1)
IMAGE = np.array([[1.0, 2, 5, 3], [3, 4, 2, 1], [3, 2, 3, 7], [6, 1, 2, 1]])[None, :, :, None]


@st.composite
def geometries(draw):
    """(height, width), kernel, stride, dilation, padding; up to 3 pixels more than the kernel needs, so that strides
    leave a remainder.
    """
    kernel, stride, dilation, spare = (
        draw(st.tuples(st.integers(low, 3), st.integers(low, 3))) for low in (1, 1, 1, 0)
    )
    size = tuple(d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True))
    padding = tuple(draw(st.integers(0, (d * (k - 1) + 1) // 2)) for d, k in zip(dilation, kernel, strict=True))
    return size, kernel, stride, dilation, padding


def loops(x, kernel, stride, dilation, padding):
    """Eq 38 with the stride, a comparison at a time; what lies outside the image is passed over."""
    batch, height, width, channels = x.shape
    axes = zip((height, width), kernel, stride, dilation, padding, strict=True)
    out = tuple((size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, s, d, p in axes)
    y, index = np.zeros((batch, *out, channels)), np.zeros((batch, *out, channels), int)
    for b, r, c, k in np.ndindex(y.shape):
        best, winner = -np.inf, 0
        for i, j in np.ndindex(kernel):
            row, column = r * stride[0] + i * dilation[0] - padding[0], c * stride[1] + j * dilation[1] - padding[1]
            pixel = x[b, row, column, k] if 0 <= row < height and 0 <= column < width else -np.inf
            if pixel > best:
                best, winner = pixel, i * kernel[1] + j
        y[b, r, c, k], index[b, r, c, k] = best, winner
    return y, index


@settings(max_examples=40, deadline=None)
@given(geometry=geometries(), batch=st.integers(1, 2), channels=st.integers(1, 3), levels=st.integers(1, 9), seed=seeds)
def test_forward_is_the_loop(geometry, batch, channels, levels, seed):
    """P-L13, P-L17: few distinct values, hence many ties; some pixels NaN or -inf."""
    size, *window = geometry
    x = np.random.default_rng(seed).integers(0, levels + 2, (batch, *size, channels)).astype(float)
    x[x == levels], x[x == levels + 1] = np.nan, -np.inf
    x.setflags(write=False)
    y, index = max_pool2d.forward(x, *window)
    expected, winners = loops(x, *window)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(index, winners)


@settings(max_examples=30, deadline=None)
@given(geometry=geometries(), batch=st.integers(1, 2), channels=st.integers(1, 2), seed=seeds)
def test_backward_is_the_slope(geometry, batch, channels, seed):
    """P-L13: overlapping windows are summed (eq 39); non-square kernels."""
    size, *window = geometry
    x = distinct(seed, batch, *size, channels)
    y, index = max_pool2d.forward(x, *window)
    # -inf where a dilated window lies in the border alone
    next_grad = np.where(np.isfinite(y), normal(seed, *y.shape), 0.0)
    dx = max_pool2d.backward(next_grad, index, x.shape, *window)
    assert_slopes([dx], lambda at: np.where(np.isfinite(y), max_pool2d.forward(at, *window)[0], 0.0), [x], next_grad)


@pytest.mark.parametrize(
    ("stride", "dilation", "values"),
    [
        ((2, 2), (1, 1), [[4, 5], [6, 7]]),
        ((1, 1), (1, 1), [[4, 5, 5], [4, 4, 7], [6, 3, 7]]),
        ((1, 1), (2, 2), [[5, 7], [6, 4]]),
    ],
    ids=["k2s2", "k2s1 overlap", "k2s1d2"],
)
def test_fixture_forward(stride, dilation, values):
    """P-L13: the 4x4 image of ml-rs."""
    np.testing.assert_array_equal(max_pool2d.forward(IMAGE, (2, 2), stride, dilation)[0][0, :, :, 0], values)


def test_fixture_backward():
    """P-L13: k2s2 gives indices 3 0 / 2 1, and sends 1 2 3 4 to the four winners."""
    _, index = max_pool2d.forward(IMAGE, (2, 2), (2, 2), (1, 1))
    np.testing.assert_array_equal(index[0, :, :, 0], [[3, 0], [2, 1]])
    dx = max_pool2d.backward(np.array([[1.0, 2], [3, 4]])[None, :, :, None], index, IMAGE.shape, (2, 2), (2, 2), (1, 1))
    np.testing.assert_array_equal(dx[0, :, :, 0], [[0, 0, 2, 0], [0, 1, 0, 0], [0, 0, 0, 4], [3, 0, 0, 0]])


def test_fixture_overlap_backward():
    """P-L13: k2s1, ones; one pixel wins three windows."""
    _, index = max_pool2d.forward(IMAGE, (2, 2), (1, 1), (1, 1))
    dx = max_pool2d.backward(np.ones((1, 3, 3, 1)), index, IMAGE.shape, (2, 2), (1, 1), (1, 1))
    np.testing.assert_array_equal(dx[0, :, :, 0], [[0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 1, 2], [1, 0, 0, 0]])


def test_fixture_misalign():
    """P-L13: a fifth row and column that no window meets get no gradient."""
    x = np.full((1, 5, 5, 1), 9.0)
    x[:, :4, :4] = IMAGE
    y, index = max_pool2d.forward(x, (2, 2), (2, 2), (1, 1))
    np.testing.assert_array_equal(y[0, :, :, 0], [[4, 5], [6, 7]])
    dx = max_pool2d.backward(np.ones_like(y), index, x.shape, (2, 2), (2, 2), (1, 1))
    assert dx.shape == x.shape
    assert dx.sum() == 4
    assert not dx[:, 4].any()
    assert not dx[:, :, 4].any()


def test_ties_go_to_the_first():
    """P-L17: strict > in window order."""
    _, index = max_pool2d.forward(np.ones((1, 4, 6, 2)), (2, 3), (2, 3), (1, 1))
    np.testing.assert_array_equal(index, 0)
    late = np.array([[1.0, 5, 5], [5, 5, 5]])[None, :, :, None]
    assert max_pool2d.forward(late, (2, 3), (1, 1), (1, 1))[1].item() == 1


def test_nan_never_wins():
    """P-L17: one NaN is passed over; nothing but NaN yields -inf and index 0; no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = np.array([[np.nan, 1], [2, np.nan]])[None, :, :, None]
        y, index = max_pool2d.forward(x, (2, 2), (2, 2), (1, 1))
        assert (y.item(), index.item()) == (2, 2)
        y, index = max_pool2d.forward(np.full((1, 2, 2, 1), np.nan), (2, 2), (2, 2), (1, 1))
        assert (y.item(), index.item()) == (-np.inf, 0)


@pytest.mark.parametrize(("kernel", "dtype"), [((16, 16), np.uint8), ((16, 17), np.uint32)])
def test_index_reaches_the_last_tap(kernel, dtype):
    """P-L13: the index type is as small as the window allows, and no smaller."""
    x = np.arange(kernel[0] * kernel[1], dtype=float).reshape(1, *kernel, 1)
    y, index = max_pool2d.forward(x, kernel, (1, 1), (1, 1))
    assert index.dtype == dtype
    assert index.item() == x.size - 1
    dx = max_pool2d.backward(np.ones_like(y), index, x.shape, kernel, (1, 1), (1, 1))
    np.testing.assert_array_equal(dx, x == x.size - 1)
