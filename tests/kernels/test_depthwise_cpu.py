"""X-N1: kernels of depthwise convolutions, and of conv_transpose2d, against the reference in float64; NaN, infinities,
dispatch.
"""

from functools import partial

import numpy as np
import pytest
from fast_ops import needs_halide, numbers, on_every_target, quiet, widened

from typednn import engines
from typednn.kernels import conv2d, conv_transpose2d
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import Window, cpu
from typednn.kernels.conv2d import reference as right
from typednn.kernels.conv_transpose2d import reference as right_transposed

pytestmark = needs_halide

FLOATS = [np.float32, np.float64]
# (batch, image, weight, window, activation): one pixel, a tail of lanes, strides with a remainder, two channels of y
# for one of x, zeros on one side only, more than the image is large, dilation, so many images that their sums are added
# in double precision.
PROBLEMS = {
    "one pixel": ((3, 1, 1, 3), (3, 1, 1, 1), Window(), IDENTITY),
    "padded": ((3, 9, 8, 19), (19, 3, 3, 1), Window(padding=(1, 1, 1, 1)), Activation("relu")),
    "stride 2": ((2, 9, 8, 16), (16, 3, 3, 1), Window((2, 2), padding=(1, 1, 1, 1)), IDENTITY),
    "multiplied": ((2, 11, 8, 7), (14, 3, 2, 1), Window((2, 3), (1, 2), (0, 1, 2, 1)), Activation("tanh")),
    "mostly zeros": ((9, 2, 3, 4), (4, 3, 5, 1), Window(padding=(3, 0, 0, 4)), IDENTITY),
    "many images": ((2100, 3, 2, 5), (5, 2, 2, 1), Window(padding=(0, 1, 0, 1)), IDENTITY),
}
problems = pytest.mark.parametrize(("image", "shape", "window", "activation"), PROBLEMS.values(), ids=PROBLEMS)


def run(x, weight, bias, window, activation, forward=conv2d.forward, backward=conv2d.backward):
    """y and the derivatives for a next gradient of ones and twos."""
    y, _ = forward(x, weight, bias, window, activation)
    next_grad = (1 + np.arange(y.size) % 2).reshape(y.shape).astype(x.dtype)
    return y, *backward(next_grad, x, weight, window, activation, y, None)


def assert_close(found, exact, bounds, terms):
    for one, expected, bound, count in zip(found, exact, bounds, terms, strict=True):
        assert one.shape == expected.shape
        assert one.flags.c_contiguous
        assert (np.abs(one - expected) <= (count + 16) * np.finfo(one.dtype).eps * bound).all()


@problems
@pytest.mark.parametrize("dtype", FLOATS)
def test_depthwise_is_the_reference(image, shape, window, activation, dtype):
    x, weight, bias = (
        numbers(0, *image, dtype=dtype),
        numbers(1, *shape, dtype=dtype),
        numbers(2, shape[0], dtype=dtype),
    )
    before, results = engines.get_threads(), []
    for threads in (1, 2):
        engines.set_threads(threads)
        with engines.counting() as counts:
            results.append(run(x, weight, bias, window, activation))
        assert set(counts) == {("conv2d.forward", "halide"), ("conv2d.backward", "halide")}
    engines.set_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
    by_reference = partial(run, forward=right.forward, backward=right.backward)
    wide = [widened(each) for each in (x, weight, bias)]
    exact = by_reference(*wide, window, activation)
    # The activation's slope is at most 1; how far rounding of y moves it counts among the terms.
    bounds = by_reference(*map(np.abs, wide), window, IDENTITY)
    pixels = np.prod(exact[0].shape[:3])
    slope = 64 if activation.name == "tanh" else 0
    assert_close(results[0], exact, bounds, (shape[1] * shape[2], 20 + slope, pixels + slope, pixels + slope))


@quiet
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("way", ["padded", "stride 2"])
def test_nan_and_infinity_are_the_reference_s(way, bad):
    """In x, in a weight: not one element more or fewer is NaN or infinite."""
    image, shape, window, _ = PROBLEMS[way]
    for spoiled in range(2):
        x, weight = numbers(0, *image).copy(), numbers(1, *shape).copy()
        (x, weight)[spoiled].reshape(-1)[5] = bad
        found = run(x, weight, None, window, IDENTITY)
        expected = run(x, weight, None, window, IDENTITY, right.forward, right.backward)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_one_tap_without_bias():
    x, weight, next_grad = numbers(0, 3, 4, 5, 6), numbers(1, 6, 1, 1, 1), numbers(2, 3, 4, 5, 6)
    with engines.counting() as counts:
        dx, dweight, dbias = conv2d.backward(next_grad, x, weight, Window(), wants_bias=False)
    assert set(counts) == {("conv2d.backward", "halide")}
    assert dbias is None
    np.testing.assert_allclose(dx, next_grad * weight[:, 0, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(dweight[:, 0, 0, 0], np.sum(widened(next_grad) * x, (0, 1, 2)), rtol=1e-4, atol=1e-4)


def test_pooling_large_windows_and_idle_lanes_are_the_reference_s():
    """Groups with an odd number of channels, unless they are few, would leave most lanes idle."""
    x = numbers(0, 2, 6, 5, 4)
    for weight, window in (
        (numbers(1, 18, 3, 3, 2), Window()),
        (numbers(1, 4, 3, 3, 2), Window(pooling=((2, 2), (2, 2), (1, 1)))),
        (numbers(1, 4, 3, 3, 1), Window(pooling=((2, 2), (2, 2), (1, 1)))),
        (numbers(1, 4, 8, 8, 1), Window(padding=(4, 4, 4, 4))),
    ):
        with engines.counting() as counts:
            y, winners = conv2d.forward(x, weight, None, window)
            conv2d.backward(y, x, weight, window, IDENTITY, y, winners)
        assert set(counts) == {("conv2d.forward", "reference"), ("conv2d.backward", "reference")}


def test_each_group_is_a_convolution():
    """The reference's groups, one by one."""
    x, weight, window = (
        numbers(0, 2, 7, 5, 6, dtype=np.float64),
        numbers(1, 9, 3, 2, 2, dtype=np.float64),
        Window((2, 1), padding=(1, 0, 1, 2)),
    )
    y, _ = right.forward(x, weight, None, window)
    next_grad = numbers(2, *y.shape, dtype=np.float64)
    whole = y, *right.backward(next_grad, x, weight, window)
    for group in range(3):
        inward, outward = np.s_[..., 2 * group : 2 * group + 2], np.s_[..., 3 * group : 3 * group + 3]
        bank = weight[3 * group : 3 * group + 3]
        parts = (
            right.forward(x[inward], bank, None, window)[0],
            *right.backward(next_grad[outward], x[inward], bank, window),
        )
        places = outward, inward, np.s_[3 * group : 3 * group + 3], np.s_[3 * group : 3 * group + 3]
        for found, place, part in zip(whole, places, parts, strict=True):
            np.testing.assert_allclose(found[place], part, rtol=1e-12, atol=1e-12)


def test_on_every_target(tmp_path):
    image, shape, window, activation = PROBLEMS["many images"]
    geometry = cpu.geometry_of(image[1:], shape, window)
    for each in (
        cpu.forward_kernel(geometry, True, activation),
        cpu.dweight_kernel(geometry, activation),
        cpu.dx_kernel(geometry, activation),
    ):
        on_every_target(each, tmp_path)


TRANSPOSED = {
    "groups": ((2, 5, 4, 6), (6, 3, 2, 4), Window(padding=(0, 0, 1, 1)), (5, 5, 8), "halide"),
    "strided groups": ((2, 5, 4, 6), (6, 3, 3, 4), Window((2, 2), padding=(1, 1, 1, 1)), (10, 8, 8), "blas"),
    "stride 1": ((2, 5, 4, 6), (6, 3, 2, 20), Window(padding=(0, 0, 1, 1)), (5, 5, 20), "halide"),
    "stride 2": ((2, 5, 4, 6), (6, 3, 3, 5), Window((2, 2), padding=(1, 1, 1, 1)), (10, 8, 5), "blas"),
    "depthwise": ((2, 5, 4, 6), (6, 3, 3, 1), Window((2, 2), padding=(1, 1, 1, 1)), (10, 8, 6), "halide"),
}


@pytest.mark.parametrize(("image", "shape", "window", "out", "engine"), TRANSPOSED.values(), ids=TRANSPOSED)
def test_transposed_is_the_reference(image, shape, window, out, engine):
    x, weight, bias = numbers(0, *image), numbers(1, *shape), numbers(2, out[2])
    next_grad = numbers(3, image[0], *out)
    with engines.counting() as counts:
        y = conv_transpose2d.forward(x, weight, bias, window, (image[0], *out))
        found = y, *conv_transpose2d.backward(next_grad, x, weight, window)
    assert set(counts) == {("conv_transpose2d.forward", engine), ("conv_transpose2d.backward", "halide")}

    def by_reference(change):
        x_, weight_, bias_, next_grad_ = (change(widened(each)) for each in (x, weight, bias, next_grad))
        y = right_transposed.forward(x_, weight_, bias_, window, (image[0], *out))
        return y, *right_transposed.backward(next_grad_, x_, weight_, window)

    assert_close(found, by_reference(np.asarray), by_reference(np.abs), (100, 200, 200, 200))
