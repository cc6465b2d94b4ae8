"""upsample in Halide against the reference, which gives NaN and infinity where the kernel has to."""

import numpy as np
import pytest
from effort import expensive
from fast_ops import agree, every_target, floats, needs_halide, numbers, quiet, seeds
from hypothesis import given
from hypothesis import strategies as st

from typednn.kernels import upsample
from typednn.kernels.upsample import cpu, reference

pytestmark = [needs_halide, quiet]

# How an image is enlarged: mode and align_corners.
WAYS = [("nearest", False), ("bilinear", False), ("bilinear", True)]
each_way = pytest.mark.parametrize(("mode", "corners"), WAYS)
channels = st.sampled_from([1, 3, 17])
images = st.tuples(st.integers(1, 3), st.integers(1, 6), st.one_of(st.integers(1, 9), st.just(40)), channels)
scales = st.tuples(st.integers(1, 4), st.integers(1, 4))


def enlarged(x, *options):
    """Sizes of what is rounded forward."""
    return reference.forward(abs(x), *options)


def gathered(next_grad, *options):
    """Sizes of what is rounded backward."""
    return reference.backward(abs(next_grad), *options)


def both_ways(x, *options, special=False):
    (y,) = agree(upsample.forward, x, *options, magnitude=None if options[1] == "nearest" else enlarged)
    next_grad = numbers(7, *y.shape, dtype=x.dtype, special=special)
    agree(upsample.backward, next_grad, *options, magnitude=gathered)


@expensive
@given(shape=images, scale=scales, way=st.sampled_from(WAYS), seed=seeds, dtype=floats, special=st.booleans())
def test_any_size(shape, scale, way, seed, dtype, special):
    both_ways(numbers(seed, *shape, special=special, dtype=dtype), scale, *way, special=special)


@each_way
@pytest.mark.parametrize("shape", [(9, 28, 30, 64), (3, 65, 70, 3), (400, 5, 6, 1)])
def test_large_images(shape, mode, corners):
    """Enough work for several threads."""
    both_ways(numbers(0, *shape), (2, 2), mode, corners)


@each_way
@pytest.mark.parametrize("channels", [2, 9])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_reaches_what_reads_it(special, channels, mode, corners):
    """Also with weight 0, as at the border: 0 · inf is NaN. One number at a time, at each place of the image, and no
    other is touched.
    """
    places = 12
    x, next_grad = np.ones((places, 3, 4, channels), np.float32), np.ones((9 * places, 9, 12, channels), np.float32)
    for array in (x, next_grad):
        for place, image in enumerate(array):
            image.reshape(-1, channels)[place, place % channels] = special
    agree(upsample.forward, x, (3, 3), mode, corners, magnitude=None if mode == "nearest" else enlarged)
    agree(upsample.backward, next_grad, (3, 3), mode, corners, magnitude=gathered)


@each_way
def test_all_pixels_have_as_many_taps(mode, corners):
    """Where one has fewer, halves of a weight: the sums of weights stay to the bit, and no weight of 0 appears."""
    for size, scale in ((1, 3), (2, 2), (5, 2), (4, 3), (9, 4), (3, 32)):
        wanted = np.zeros((size, size * scale))
        zeros: set[tuple[int, int]] = set()
        for pixel, reads in enumerate(cpu._forward_reads(size, scale, mode, corners)):
            for of, weight in reads:
                wanted[of, pixel] += weight
                zeros |= {(of, pixel)} if weight == 0 else set()
        found = np.zeros_like(wanted)
        readers = cpu._backward_reads(size, scale, mode, corners)
        assert len(set(map(len, readers))) == 1
        for of, each in enumerate(readers):
            for pixel, weight in each:
                found[of, pixel] += weight
                assert weight > 0 or (of, pixel) in zeros
        np.testing.assert_array_equal(found, wanted)


def test_the_largest_factors_run_in_numpy():
    next_grad = numbers(0, 1, 2, 3 * cpu._LARGEST, 3)
    agree(upsample.backward, next_grad, (1, cpu._LARGEST), "bilinear", False, magnitude=gathered)


@pytest.mark.parametrize("shape", [(3, 2, 5, 3), (3, 2, 5, 9)])
def test_on_every_target(shape, tmp_path):
    x = numbers(0, *shape)
    y = upsample.forward(x, (2, 2), "bilinear", False)
    for one, other, plan in ((x, y, cpu.plan), (y, x, cpu.plan_backward)):
        planned = plan(one, (2, 2), "bilinear", False)
        assert planned is not None
        run, tables = planned
        shapes = [(other.shape if tables.lanes else (*other.shape[:2], other[0, 0].size), np.float32)]
        every_target(run, (one.reshape(*one.shape[:2], -1), *tables.arrays), shapes, tmp_path)
