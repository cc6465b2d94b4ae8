"""max_pool2d in Halide against the reference: the same bits."""

import numpy as np
import pytest
from effort import expensive
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import given
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels import max_pool2d
from typednn.kernels.max_pool2d import cpu

pytestmark = [needs_halide, quiet]

channel_counts = st.sampled_from([1, 2, 3, 6, 15, 16, 17, 33])


@st.composite
def geometries(draw):
    """(height, width), kernel, stride, dilation, padding; up to 20 pixels more than the kernel needs."""
    kernel, stride, dilation = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(3))
    spare = draw(st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 2, 3, 20])))
    size = tuple(d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True))
    padding = tuple(draw(st.integers(0, (d * (k - 1) + 1) // 2)) for d, k in zip(dilation, kernel, strict=True))
    return size, kernel, stride, dilation, draw(st.sampled_from([(0, 0), padding]))


def pixels(seed, shape, levels, dtype=np.float32):
    """Few distinct values, hence many ties; some pixels NaN or -inf."""
    x = np.random.default_rng(seed).integers(0, levels + 2, shape).astype(dtype)
    x[x == levels], x[x == levels + 1] = np.nan, -np.inf
    x.setflags(write=False)
    return x


def both_ways(x, *window):
    y, index = agree(max_pool2d.forward, x, *window)
    next_grad = numbers(0, *y.shape, special=True, dtype=x.dtype)
    agree(max_pool2d.backward, next_grad, index, x.shape, *window)


@expensive
@given(
    geometry=geometries(),
    batch=st.integers(1, 3),
    channels=channel_counts,
    levels=st.integers(1, 9),
    seed=seeds,
    dtype=floats,
)
def test_any_geometry(geometry, batch, channels, levels, seed, dtype):
    size, *rest = geometry
    x = pixels(seed, (batch, *size, channels), levels, dtype)
    both_ways(x, *rest)


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "dilation", "padding"),
    [
        ((75, 28, 28, 6), (2, 2), (2, 2), (1, 1), (0, 0)),
        ((101, 29, 27, 1), (2, 2), (2, 2), (1, 1), (0, 0)),
        ((3, 65, 66, 32), (3, 3), (2, 2), (1, 1), (0, 0)),
        ((40, 17, 19, 17), (2, 3), (3, 3), (1, 1), (0, 0)),
        ((1, 150, 152, 2), (2, 2), (2, 2), (1, 1), (0, 0)),
        ((2, 17, 18, 3), (16, 17), (1, 1), (1, 1), (0, 0)),
        ((3, 16, 16, 5), (8, 8), (8, 8), (1, 1), (0, 0)),
        ((2, 20, 21, 1), (5, 5), (5, 5), (2, 2), (0, 0)),
        ((2, 33, 34, 20), (3, 3), (2, 2), (1, 1), (1, 1)),
    ],
)
def test_large_images_and_windows(shape, kernel, stride, dilation, padding):
    """Enough work for several threads; more than 256 taps; the first pool of a ResNet."""
    both_ways(pixels(1, shape, 7), kernel, stride, dilation, padding)


@pytest.mark.parametrize("channels", [1, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_a_number(channels, dtype):
    """Windows of border, -inf and NaN of either sign have index 0. Zeros of either sign are equal; the winner's sign is
    kept.
    """
    nan, inf, least = np.nan, np.inf, np.finfo(dtype).tiny / 4
    rows = [
        [-inf] * 4,
        [nan] * 4,
        [nan, -inf, -nan, -inf],
        [-inf, nan, -inf, -nan],
        [-nan, -inf, -1e38, -inf],
        [nan, inf, -nan, 2],
    ]
    rows += [
        [-0.0, 0.0, -0.0, -1],
        [0.0, -0.0, -inf, nan],
        [-least, -0.0, nan, -inf],
        [-least, -2 * least, -1, 0],
        [least, 0, 0, inf],
    ]
    x = np.broadcast_to(np.array(rows, dtype)[:, None, :, None], (len(rows), 1, 4, channels)).copy()
    agree(max_pool2d.forward, x, (1, 2), (1, 1), (1, 1), (0, 0))
    y, index = agree(max_pool2d.forward, x, (3, 2), (1, 1), (1, 1), (1, 1))
    columns = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=-inf)
    won = np.where(index % 2, columns[:, :, 1:], columns[:, :, :-1])
    np.testing.assert_array_equal(np.signbit(y), np.signbit(np.where(np.isnan(won), -inf, won)))


@pytest.mark.parametrize("dtype", [np.int64, np.uint32])  # uint32 is the dtype of larger windows
def test_another_index_is_left_to_the_reference(dtype):
    x = numbers(0, 1, 4, 4, 1)
    y, index = max_pool2d.forward(x, (2, 2), (2, 2), (1, 1))
    with counting() as counts:
        dx = max_pool2d.backward(y, index.astype(dtype), x.shape, (2, 2), (2, 2), (1, 1))
    assert dict(counts) == {("max_pool2d.backward", "reference"): 1}
    np.testing.assert_array_equal(dx, max_pool2d.backward(y, index, x.shape, (2, 2), (2, 2), (1, 1)))


@pytest.mark.parametrize(
    ("channels", "kernel", "stride", "padding"),
    [
        (1, (2, 2), (2, 2), (0, 0)),
        (1, (3, 3), (2, 1), (1, 1)),
        (6, (2, 2), (2, 2), (0, 0)),
        (20, (3, 3), (2, 1), (1, 1)),
    ],
)
def test_on_every_target(channels, kernel, stride, padding, tmp_path):
    x = pixels(0, (2, 11, 12, channels), 7)
    y, index = max_pool2d.forward(x, kernel, stride, (1, 1), padding)
    forward, backward, size = cpu.kernels[x.shape[1:3], x.shape[3], kernel, stride, (1, 1), x.dtype, padding]
    every_target(forward, (x,), [((2, *size), np.float32), ((2, *size), np.uint8)], tmp_path)
    every_target(backward, (numbers(0, *y.shape), index), [(x.shape, np.float32)], tmp_path)
