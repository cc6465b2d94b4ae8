"""max_pool2d in Halide against the reference: the same bits."""

import numpy as np
import pytest
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels import max_pool2d
from typednn.kernels.max_pool2d import cpu

pytestmark = [needs_halide, quiet]

channel_counts = st.sampled_from([1, 2, 3, 6, 15, 16, 17, 33])


@st.composite
def geometries(draw):
    """(height, width), kernel, stride, dilation; up to 20 pixels more than the kernel needs."""
    kernel, stride, dilation = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(3))
    spare = draw(st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 2, 3, 20])))
    size = tuple(d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True))
    return size, kernel, stride, dilation


def pixels(seed, shape, levels, dtype=np.float32):
    """Few distinct values, hence many ties; some pixels NaN or -inf."""
    x = np.random.default_rng(seed).integers(0, levels + 2, shape).astype(dtype)
    x[x == levels], x[x == levels + 1] = np.nan, -np.inf
    x.setflags(write=False)
    return x


def both_ways(x, kernel, stride, dilation):
    y, index = agree("max_pool2d.forward", max_pool2d.forward, x, kernel, stride, dilation)
    next_grad = numbers(0, *y.shape, special=True, dtype=x.dtype)
    agree("max_pool2d.backward", max_pool2d.backward, next_grad, index, x.shape, kernel, stride, dilation)


@settings(max_examples=60, deadline=None)
@given(geometry=geometries(), batch=st.integers(1, 3), channels=channel_counts, levels=st.integers(1, 9), seed=seeds, dtype=floats)
def test_any_geometry(geometry, batch, channels, levels, seed, dtype):
    size, *rest = geometry
    both_ways(pixels(seed, (batch, *size, channels), levels, dtype), *rest)


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "dilation"),
    [
        ((75, 28, 28, 6), (2, 2), (2, 2), (1, 1)),
        ((101, 29, 27, 1), (2, 2), (2, 2), (1, 1)),
        ((3, 65, 66, 32), (3, 3), (2, 2), (1, 1)),
        ((40, 17, 19, 17), (2, 3), (3, 3), (1, 1)),
        ((1, 150, 152, 2), (2, 2), (2, 2), (1, 1)),
        ((2, 17, 18, 3), (16, 17), (1, 1), (1, 1)),
        ((3, 16, 16, 5), (8, 8), (8, 8), (1, 1)),
        ((2, 20, 21, 1), (5, 5), (5, 5), (2, 2)),
    ],
)
def test_large_images_and_windows(shape, kernel, stride, dilation):
    """Enough work for several threads; more than 256 taps."""
    both_ways(pixels(1, shape, 7), kernel, stride, dilation)


@pytest.mark.parametrize("dtype", [np.int64, np.uint32])  # uint32 is the dtype of larger windows
def test_another_index_is_left_to_the_reference(dtype):
    x = numbers(0, 1, 4, 4, 1)
    y, index = max_pool2d.forward(x, (2, 2), (2, 2), (1, 1))
    with counting() as counts:
        dx = max_pool2d.backward(y, index.astype(dtype), x.shape, (2, 2), (2, 2), (1, 1))
    assert dict(counts) == {("max_pool2d.backward", "reference"): 1}
    np.testing.assert_array_equal(dx, max_pool2d.backward(y, index, x.shape, (2, 2), (2, 2), (1, 1)))


@pytest.mark.parametrize("channels", [1, 6, 20])
@pytest.mark.parametrize(("kernel", "stride"), [((2, 2), (2, 2)), ((3, 3), (2, 1))])
def test_on_every_target(channels, kernel, stride, tmp_path):
    x = pixels(0, (2, 11, 12, channels), 7)
    y, index = max_pool2d.forward(x, kernel, stride, (1, 1))
    forward, backward, size = cpu.kernels[x.shape[1:3], x.shape[3], kernel, stride, (1, 1), x.dtype]
    every_target(forward, (x,), [((2, *size), np.float32), ((2, *size), np.uint8)], tmp_path)
    every_target(backward, (numbers(0, *y.shape), index), [(x.shape, np.float32)], tmp_path)
