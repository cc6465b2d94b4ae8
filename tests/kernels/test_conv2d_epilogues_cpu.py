"""Convolutions with padding, activation and pooling as one kernel, against the reference in float64."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import expensive
from fast_ops import on_every_target, widened
from hypothesis import example, given
from hypothesis import strategies as st

from typednn.engines import available, counting, get_threads, set_threads
from typednn.kernels import conv2d
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.conv2d import Window, cpu, direct, dweight, reference
from typednn.kernels.conv2d.geometry import FEW_IMAGES

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

FLOATS = [np.float32, np.float64]
LEAKY, SIGMOID, TANH = Activation("leaky_relu", 0.25), Activation("sigmoid"), Activation("tanh")
ACTIVATIONS = [IDENTITY, RELU, LEAKY, SIGMOID, TANH]
Shape = tuple[tuple[int, int, int], tuple[int, int, int], Window]


ONE = (1, 1)


def pooled(
    side: int | None,
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilation: tuple[int, int] = ONE,
    stride: tuple[int, int] = ONE,
) -> Window:
    """Pooling by ``side`` x ``side`` that lie side by side; none for None."""
    return Window(stride, dilation, padding, None if side is None else ((side, side), (side, side), ONE))


# One for each way: lanes along pixels, channels, taps, input channels; blocks of channels; several images in a tile;
# tails; none pooled.
WAYS: dict[str, Shape] = {
    "pixels": ((28, 28, 1), (6, 5, 5), pooled(2, (2, 2, 2, 2))),
    "long rows of planes": ((6, 37, 2), (5, 3, 3), pooled(2, (1, 1, 1, 1))),
    "channels": ((14, 14, 6), (16, 5, 5), pooled(2)),
    "blocks of channels": ((7, 6, 48), (48, 3, 2), pooled(None, (1, 1, 1, 1))),
    "tails of channels": ((6, 5, 33), (21, 2, 3), pooled(2, (1, 0, 0, 1))),
    "input channels": ((7, 9, 32), (3, 3, 3), pooled(3, (1, 1, 1, 1))),
    "dilated": ((9, 11, 3), (17, 3, 2), pooled(None, (0, 2, 1, 0), (2, 3))),
    "more padding than kernel": ((3, 4, 5), (18, 2, 2), pooled(2, (3, 0, 0, 3))),
    "strided": ((9, 12, 16), (18, 3, 2), pooled(2, (1, 1, 1, 1), stride=(2, 1))),
    "strided planes": ((5, 40, 2), (3, 2, 3), pooled(2, (1, 0, 0, 0), stride=(1, 2))),
    "one pixel": ((1, 1, 1), (1, 1, 1), pooled(None)),
}
each_way = pytest.mark.parametrize("shape", WAYS.values(), ids=WAYS)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """An image, a bank of kernels and windows, with at least one pixel of y: few channels and many, borders that no
    window meets.
    """
    channels = st.sampled_from([1, 2, 3, 5, 16, 17, 48])
    side = draw(st.sampled_from([None, 2, 2, 3]))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    dilation = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (2, 1), (1, 3)]))
    stride = draw(st.sampled_from([ONE, ONE, ONE, (2, 1), (1, 3)]))
    padding = draw(st.tuples(*[st.integers(0, 3)] * 4))
    met = [s * ((side or 1) - 1) + d * (k - 1) + 1 for s, d, k in zip(stride, dilation, kernel, strict=True)]
    least = met[0] - sum(padding[2:]), met[1] - sum(padding[:2])
    height, width = (
        max(1, size) + draw(st.sampled_from(more))
        for size, more in zip(least, ([0, 1, 2, 5], [0, 1, 3, 30]), strict=True)
    )
    return (height, width, draw(channels)), (draw(channels), *kernel), pooled(side, padding, dilation, stride)


def arrays(batch: int, shape: Shape, seed: int, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    image, (filters, *kernel), _ = shape
    rng = np.random.default_rng(seed)
    sizes = (batch, *image), (filters, *kernel, image[2]), (filters,)
    x, weight, bias = (rng.standard_normal(size).astype(dtype) for size in sizes)
    weight /= dtype(np.sqrt(weight[0].size))
    for array in (x, weight, bias):
        array.setflags(write=False)
    return x, weight, bias


def convolved(window: Window, x: Any, weight: Any, bias: Any) -> Any:
    """What stands before the activation, in the arguments' own precision."""
    return reference.forward(x, weight, bias, window._replace(pooling=None))[0]


def windows(z: Any, side: int) -> Any:
    """(batch, rows, columns, filters, side²): the numbers of each pooling window."""
    rows, columns = z.shape[1] // side, z.shape[2] // side
    taps = [(i, j) for i in range(side) for j in range(side)]
    return np.stack([z[:, i : i + side * rows : side, j : j + side * columns : side] for i, j in taps], axis=-1)


def check(batch: int, shape: Shape, biased: bool, activation: Activation, seed: int, dtype: Any = np.float32) -> None:
    x, weight, bias = arrays(batch, shape, seed, dtype)
    bias = bias if biased else None
    window = shape[2]
    with counting() as counts:
        y, winners = conv2d.forward(x, weight, bias, window, activation)
        alone, none = conv2d.forward(x, weight, bias, window, activation, False)
        next_grad = np.random.default_rng(seed + 1).standard_normal(y.shape).astype(dtype)
        gradients = conv2d.backward(next_grad, x, weight, window, activation, y, winners)
        dx, dweight, dbias = conv2d.backward(next_grad, x, weight, window, activation, y, winners, False)
    at_stride_1 = "halide" if window.stride == ONE else "blas"
    assert set(counts) == {
        ("conv2d.forward", "halide"),
        ("conv2d.backward", at_stride_1),
        ("conv2d.backward", "halide"),
    }
    assert dx is None
    assert none is None
    np.testing.assert_array_equal(alone, y)
    np.testing.assert_array_equal(dweight, gradients[1])
    np.testing.assert_array_equal(dbias, gradients[2])

    eps = np.finfo(dtype).eps
    exact: list[Any] = [widened(array) for array in (x, weight, bias, next_grad)]
    sizes: list[Any] = [None if array is None else np.abs(array) for array in exact]
    terms, side = weight[0].size, 1 if window.pooling is None else window.pooling[0][0]
    z = windows(convolved(window, *exact[:3]), side)
    error = (terms + 2) * eps * windows(convolved(window, *sizes[:3]), side).max(axis=-1)
    largest = z.max(axis=-1)
    assert y.dtype == dtype
    # none of the activations is steeper than 1
    assert (np.abs(y - activation.forward(largest)) <= error + 8 * eps).all()
    if winners is None:
        assert side == 1
    else:
        # The winner's number is the largest, to rounding: of two that are nearly equal either may win.
        assert winners.dtype == np.uint8
        won = np.take_along_axis(z, winners[..., None].astype(int), -1)[..., 0]
        assert (np.abs(won - largest) <= 2 * error).all()
    wanted = reference.backward(exact[3], exact[0], exact[1], window, activation, widened(y), winners)
    bounds = reference.backward(sizes[3], sizes[0], sizes[1], window, IDENTITY, y, winners)
    for got, right, bound, count in zip(
        (gradients[0], dweight, dbias),
        wanted,
        bounds,
        (terms * shape[1][0], y[..., 0].size, y[..., 0].size),
        strict=True,
    ):
        assert got is not None
        assert right is not None
        assert got.dtype == dtype
        assert got.shape == right.shape
        assert (np.abs(got - right) <= (min(count, 1000) + 8) * eps * np.asarray(bound) + 1e-30).all()


@expensive
@given(
    batch=st.sampled_from([1, 2, 3, 5, 9, 17]),
    shape=shapes(),
    biased=st.booleans(),
    activation=st.sampled_from(ACTIVATIONS),
    seed=st.integers(0, 2**31),
    dtype=st.sampled_from(FLOATS),
)
@example(batch=1, shape=((4, 4, 1), (2, 2, 2), pooled(3)), biased=False, activation=SIGMOID, seed=2, dtype=np.float32)
def test_kernels_are_the_reference(
    batch: int, shape: Shape, biased: bool, activation: Activation, seed: int, dtype: Any
) -> None:
    check(batch, shape, biased, activation, seed, dtype)


@each_way
@pytest.mark.parametrize(("activation", "dtype"), [(RELU, np.float32), (TANH, np.float64)])
def test_every_way_is_the_reference(shape: Shape, activation: Activation, dtype: Any) -> None:
    check(11, shape, True, activation, 0, dtype)


@pytest.mark.parametrize("way", ["pixels", "channels", "input channels", "strided"])
def test_derivatives_are_slopes(way: str, assert_slope: Any) -> None:
    """By central differences, in float64: of the bias, and of the first weights and pixels."""
    x, weight, bias = arrays(2, WAYS[way], 9, np.float64)
    window = WAYS[way][2]
    y, winners = conv2d.forward(x, weight, bias, window, TANH)
    next_grad = np.cos(3 * y)
    dx, dweight, dbias = conv2d.backward(next_grad, x, weight, window, TANH, y, winners)
    place = (slice(1), slice(2), slice(2), slice(2))

    def changed(array: Any, at: Any) -> Any:
        copied = array.copy()
        copied[place] = at
        return copied

    def forward(x: Any, weight: Any, bias: Any) -> Any:
        return conv2d.forward(x, weight, bias, window, TANH)[0]

    with counting() as counts:
        assert_slope(dx[place], lambda at: forward(changed(x, at), weight, bias), x[place], next_grad)
        assert_slope(dweight[place], lambda at: forward(x, changed(weight, at), bias), weight[place], next_grad)
        assert_slope(dbias, lambda at: forward(x, weight, at), bias, next_grad)
    assert set(counts) == {("conv2d.forward", "halide")}


# Of so much work that several threads share an image, and of so many weights that a single image has a kernel of its
# own.
LARGE = [
    ((21, 18, 40), (48, 3, 3), pooled(2, (1, 1, 1, 1))),
    ((23, 19, 37), (67, 3, 3), Window()),
    ((17, 24, 67), (33, 3, 3), Window(padding=(1, 0, 2, 1))),
]


@pytest.mark.parametrize("shape", LARGE, ids=["pooled", "plain", "padded"])
@pytest.mark.parametrize("batch", [1, 3, 4, 5])
def test_few_images_of_many_weights(shape: Shape, batch: int) -> None:
    image, (filters, *kernel), window = shape
    assert cpu.geometry_of(image, (filters, kernel[0], kernel[1], image[2]), window).flops() >= direct.SHARED
    assert dweight.images_of(batch, filters * math.prod(kernel) * image[2]) == (
        "single" if batch < FEW_IMAGES else "few"
    )
    check(batch, shape, True, RELU, batch)


@pytest.mark.parametrize("shape", LARGE, ids=["pooled", "plain", "padded"])
def test_results_of_one_image_do_not_depend_on_the_threads(shape: Shape) -> None:
    same_on_all_threads(1, shape)


@each_way
def test_results_do_not_depend_on_the_threads(shape: Shape) -> None:
    same_on_all_threads(40, shape)


def same_on_all_threads(batch: int, shape: Shape) -> None:
    x, weight, bias = arrays(batch, shape, 4)
    window = shape[2]
    before = get_threads()
    seen: list[list[bytes]] = []
    try:
        for count in (1, 2, 2, 3):
            set_threads(count)
            y, winners = conv2d.forward(x, weight, bias, window, RELU)
            # At other strides dx is a matrix product, whose bits depend on the threads.
            results = [
                y,
                winners,
                *conv2d.backward(np.cos(y), x, weight, window, RELU, y, winners, window.stride == ONE),
            ]
            seen.append([result.tobytes() for result in results if result is not None])
    finally:
        set_threads(before)
    assert all(results == seen[0] for results in seen)


def assert_spreads_alike(got: Any, right: Any) -> None:
    np.testing.assert_array_equal(np.isnan(got), np.isnan(right))
    np.testing.assert_allclose(got, right, rtol=1e-3, atol=1e-2)


@each_way
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # the reference's
def test_nan_and_infinity_go_where_the_reference_sends_them(shape: Shape, value: float) -> None:
    """In a pixel, in a whole image (where infinities meet, or windows hold nothing but NaN), in dy, in a weight."""
    window = shape[2]
    for spoiled in ("pixel", "image", "dy", "weight"):
        x, weight, bias = (array.copy() for array in arrays(2, shape, 5))
        if spoiled == "pixel":
            x[0, 0, 0, 0] = value
            bias[-1] = value
        elif spoiled == "image":
            x[0] = value
        elif spoiled == "weight":
            weight[0, 0, 0, 0] = value
        y, _ = conv2d.forward(x, weight, bias, window, RELU, False)
        expected, wins = reference.forward(x, weight, bias, window, RELU)
        assert_spreads_alike(y, expected)
        next_grad = np.full_like(y, 2)
        if spoiled == "dy":
            next_grad[1, 0, 0, 0] = value
        with counting() as counts:
            gradients = conv2d.backward(next_grad, x, weight, window, RELU, expected, wins)
        assert not counts["conv2d.backward", "reference"]
        wanted = reference.backward(next_grad, x, weight, window, RELU, expected, wins)
        for got, right in zip(gradients, wanted, strict=True):
            assert_spreads_alike(got, right)


@pytest.mark.parametrize(("channels", "filters"), [(1, 3), (3, 17), (48, 32), (32, 3)])
@pytest.mark.parametrize("side", [2, 3])
def test_what_no_window_meets_stays_out(channels: int, filters: int, side: int) -> None:
    """The last rows and columns of a convolution that no pooling window takes: not even NaN in what they were made from
    is noticed.
    """
    shape = (2 * side + 4, 3 * side + 4, channels), (filters, 4, 4), pooled(side)
    x, weight, bias = arrays(3, shape, 8)
    spoiled = x.copy()
    spoiled[:, 2 * side + 3 :] = spoiled[:, :, 3 * side + 3 :] = np.nan
    results: list[list[Any]] = []
    for each in (x, spoiled):
        y, winners = conv2d.forward(each, weight, bias, shape[2], TANH)
        results.append([y, winners, *conv2d.backward(np.cos(y), each, weight, shape[2], TANH, y, winners)])
    for clean, other in zip(*results, strict=True):
        np.testing.assert_array_equal(clean, other)


OTHERS = {
    "window": Window(pooling=((4, 4), (4, 4), ONE)),
    "overlap": Window(pooling=((2, 2), (1, 2), ONE)),
    "spread": Window(pooling=((2, 2), (2, 2), (2, 2))),
}


@pytest.mark.parametrize("window", OTHERS.values(), ids=OTHERS)
def test_other_windows_are_left_to_the_reference(window: Window) -> None:
    x, weight, bias = arrays(2, ((11, 12, 2), (3, 3, 3), window), 6)
    with counting() as counts:
        y, winners = conv2d.forward(x, weight, bias, window, TANH)
        np.testing.assert_array_equal(conv2d.forward(x, weight, bias, window, TANH, False)[0], y)
        gradients = conv2d.backward(np.ones_like(y), x, weight, window, TANH, y, winners)
    assert dict(counts) == {("conv2d.forward", "reference"): 2, ("conv2d.backward", "reference"): 1}
    assert y.max() <= np.tanh(convolved(window, x, weight, bias).max()) * (1 + 1e-5)
    assert [None if each is None else each.shape for each in gradients] == [x.shape, weight.shape, bias.shape]


@each_way
def test_results_are_fresh(shape: Shape) -> None:
    """What a caller holds is not written by the next call."""
    window = shape[2]
    x, weight, bias = arrays(20, shape, 7)
    y, winners = conv2d.forward(x, weight, bias, window, RELU)
    held = [y, winners, *conv2d.backward(y, x, weight, window, RELU, y, winners)]
    copies = [None if array is None else array.copy() for array in held]
    for _ in range(2):
        other, others = conv2d.forward(-x, weight, bias, window, RELU)
        conv2d.backward(other, -x, weight, window, RELU, other, others)
    for array, copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("way", "dtype"),
    [
        *(
            (way, np.dtype(np.float32))
            for way in ("pixels", "channels", "blocks of channels", "input channels", "strided planes")
        ),
        *((way, np.dtype(np.float64)) for way in ("pixels", "channels")),
    ],
    ids=str,
)
def test_on_every_target(tmp_path: Path, way: str, dtype: Any) -> None:
    image, (filters, *kernel), window = WAYS[way]
    geometry = cpu.geometry_of(image, (filters, kernel[0], kernel[1], image[2]), window)
    of_input = cpu.dx_kernel(geometry, RELU, dtype) if window.stride == ONE else cpu.gather_kernel(geometry, dtype)
    for each in (
        cpu.forward_kernel(geometry, True, RELU, True, dtype),
        cpu.dweight_kernel(geometry, RELU, True, dtype),
        of_input,
    ):
        on_every_target(each, tmp_path)
