"""Conv2d's kernels against the reference in more digits: any sizes, strides, dilations, groups and thread counts, with
padding, activation and pooling.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from convolutions import (
    AROUND,
    DEPTHWISE,
    FLOATS,
    JOINED,
    LARGE,
    ONE,
    TANH,
    WAYS,
    Problem,
    arrays,
    convolved,
    pooled,
    results,
)
from effort import expensive
from fast_ops import needs_halide, numbers, same_on_all_threads, widened
from hypothesis import example, given
from hypothesis import strategies as st
from slopes import assert_slopes

from typednn import engines
from typednn.kernels import conv2d
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.conv2d import Window, cpu, direct, dweight, reference
from typednn.kernels.conv2d.geometry import FEW_IMAGES

pytestmark = needs_halide

LEAKY, SIGMOID = Activation("leaky_relu", 0.25), Activation("sigmoid")
ACTIVATIONS = [IDENTITY, RELU, LEAKY, SIGMOID, TANH]
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", autouse=True)
def own_threads() -> Iterator[None]:
    before = engines.get_threads()
    yield
    engines.set_threads(before)


def windows(z: Any, side: int) -> Any:
    """(batch, rows, columns, filters, side²): the numbers of each pooling window."""
    rows, columns = z.shape[1] // side, z.shape[2] // side
    taps = [(i, j) for i in range(side) for j in range(side)]
    return np.stack([z[:, i : i + side * rows : side, j : j + side * columns : side] for i, j in taps], axis=-1)


def engines_of(problem: Problem) -> set[tuple[str, str]]:
    """Which compute all derivatives, and those without dx."""
    depthwise = problem.bank[3] == 1 < problem.image[2]
    by_products = problem.window.stride != ONE and not depthwise
    return {("conv2d.forward", "halide"), ("conv2d.backward", "halide")} | {
        ("conv2d.backward", "blas") for _ in range(by_products)
    }


def check(problem: Problem, batch: int = 0, biased: bool = True, seed: int = 0, dtype: Any = np.float32) -> None:
    """Within what rounding the products, their sums and the activation may cost, and fresh arrays."""
    image, bank, window, activation, _ = problem
    x, weight, bias = arrays(problem, batch, seed, dtype)
    of_bias = bias if biased else None
    with engines.counting() as counts:
        y, winners = conv2d.forward(x, weight, of_bias, window, activation)
        alone, none = conv2d.forward(x, weight, of_bias, window, activation, False)
        next_grad = numbers(seed + 3, *y.shape, scale=1.0, dtype=dtype)
        gradients = conv2d.backward(next_grad, x, weight, window, activation, y, winners)
        dx, *others = conv2d.backward(next_grad, x, weight, window, activation, y, winners, False)
    assert set(counts) == engines_of(problem)
    assert dx is None
    assert none is None
    for one, again in ((y, alone), *zip(gradients[1:], others, strict=True)):
        np.testing.assert_array_equal(one, again)

    eps, side = np.finfo(dtype).eps, 1 if window.pooling is None else window.pooling[0][0]
    exact: list[Any] = [widened(array) for array in (x, weight, of_bias, next_grad)]
    sizes: list[Any] = [None if array is None else np.abs(array) for array in exact]
    z = windows(convolved(window, *exact[:3]), side)
    error = (weight[0].size + 2) * eps * windows(convolved(window, *sizes[:3]), side).max(axis=-1)
    largest = z.max(axis=-1)
    right = activation.forward(largest)
    # None of the activations is steeper than 1; those that take an exponential err by themselves.
    own = 0.0 if activation in (IDENTITY, RELU) else 8 * eps * np.minimum(np.abs(right), 1)
    assert y.dtype == dtype
    assert y.flags.c_contiguous
    assert (np.abs(y - right) <= error + own).all()
    if winners is None:
        assert window.pooling is None
    else:
        # The winner's number is the largest, to rounding: of two that are nearly equal either may win.
        assert winners.dtype == np.uint8
        won = np.take_along_axis(z, winners[..., None].astype(int), -1)[..., 0]
        assert (np.abs(won - largest) <= 2 * error).all()
    wanted = reference.backward(exact[3], exact[0], exact[1], window, activation, widened(y), winners)
    bounds = reference.backward(sizes[3], sizes[0], sizes[1], window, IDENTITY, y, winners)
    of_pixel, pixels = math.prod(bank) // image[2], y[..., 0].size
    for got, expected, bound, terms in zip(gradients, wanted, bounds, (of_pixel, pixels, pixels), strict=True):
        assert got is not None
        assert expected is not None
        assert got.dtype == dtype
        assert got.shape == expected.shape
        assert got.flags.c_contiguous
        assert (np.abs(got - expected) <= (min(terms, 1000) + 8) * eps * np.asarray(bound)).all()


# ------------------------------------------------------------------------------------------------- any size, by chance


@st.composite
def plain(draw: st.DrawFn) -> Problem:
    """Extents of 1 and odd ones, more or fewer than a vector, strides with a remainder."""
    kernel, stride, dilation = (draw(st.tuples(st.integers(1, most), st.integers(1, most))) for most in (5, 3, 2))
    spare = draw(st.tuples(st.integers(0, 6), st.integers(0, 36)))
    height, width = (d * (k - 1) + 1 + more for d, k, more in zip(dilation, kernel, spare, strict=True))
    channels = st.sampled_from([1, 2, 3, 5, 6, 7, 15, 16, 17, 20, 32, 33])
    inward = draw(channels)
    return Problem((height, width, inward), (draw(channels), *kernel, inward), Window(stride, dilation))


@st.composite
def in_groups(draw: st.DrawFn) -> Problem:
    """The same with groups: their channels are fewer than a vector, a part of one, or several, and not as many out as
    in.
    """
    (height, width, _), (_, high, wide, _), window, *_ = draw(plain())
    groups, inward, outward = draw(
        st.sampled_from([(2, 3, 5), (5, 4, 4), (3, 8, 12), (2, 16, 48), (2, 32, 16), (4, 6, 2), (2, 2, 1)])
    )
    return Problem((height, width, groups * inward), (groups * outward, high, wide, inward), window)


@st.composite
def joined(draw: st.DrawFn) -> Problem:
    """Windows with at least one pixel of y: few channels and many, borders that no window meets."""
    channels = st.sampled_from([1, 2, 3, 5, 16, 17, 48])
    side = draw(st.sampled_from([None, 2, 2, 3]))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    dilation = draw(st.sampled_from([ONE, ONE, ONE, (2, 1), (1, 3)]))
    stride = draw(st.sampled_from([ONE, ONE, ONE, (2, 1), (1, 3)]))
    padding = draw(st.tuples(*[st.integers(0, 3)] * 4))
    met = [s * ((side or 1) - 1) + d * (k - 1) + 1 for s, d, k in zip(stride, dilation, kernel, strict=True)]
    least = met[0] - sum(padding[2:]), met[1] - sum(padding[:2])
    height, width = (
        max(1, size) + draw(st.sampled_from(more))
        for size, more in zip(least, ([0, 1, 2, 5], [0, 1, 3, 30]), strict=True)
    )
    inward = draw(channels)
    pooling = None if side is None else ((side, side), (side, side), ONE)
    window = Window(stride, dilation, padding, pooling)
    return Problem(
        (height, width, inward), (draw(channels), *kernel, inward), window, draw(st.sampled_from(ACTIVATIONS))
    )


any_number = {
    "batch": st.sampled_from([1, 2, 3, 5, 9, 17]),
    "biased": st.booleans(),
    "threads": st.integers(1, 2),
    "seed": seeds,
    "dtype": st.sampled_from(FLOATS),
}


@expensive
@given(problem=plain(), **any_number)
def test_forward_and_backward(problem: Problem, batch: int, biased: bool, threads: int, seed: int, dtype: Any) -> None:
    engines.set_threads(threads)
    check(problem, batch, biased, seed, dtype)


@expensive
@given(problem=in_groups(), **any_number)
# threads share each image; of so many images that they are added in double precision
@example(problem=Problem((5, 6, 128), (128, 3, 3, 16)), batch=2, biased=False, threads=2, seed=0, dtype=np.float32)
@example(problem=Problem((3, 2, 8), (8, 2, 2, 4)), batch=2100, biased=True, threads=2, seed=0, dtype=np.float32)
def test_groups(problem: Problem, batch: int, biased: bool, threads: int, seed: int, dtype: Any) -> None:
    """X-N1."""
    engines.set_threads(threads)
    check(problem, batch, biased, seed, dtype)


TIED = Problem((4, 4, 1), (2, 2, 2, 1), pooled(3), SIGMOID)


@expensive
@given(problem=joined(), **any_number)
@example(
    problem=Problem((4, 4, 1), (2, 2, 2, 1), pooled(3), SIGMOID),
    batch=1,
    biased=False,
    threads=2,
    seed=2,
    dtype=np.float32,
)
def test_padding_activation_and_pooling(
    problem: Problem, batch: int, biased: bool, threads: int, seed: int, dtype: Any
) -> None:
    engines.set_threads(threads)
    check(problem, batch, biased, seed, dtype)


# ------------------------------------------------------------------------------------------------------ ways and sizes


@pytest.mark.parametrize("way", WAYS)
def test_every_way(way: str) -> None:
    """X-N1 among them, depthwise."""
    check(WAYS[way])


@pytest.mark.parametrize("way", [*JOINED, *DEPTHWISE])
def test_every_way_in_float64(way: str) -> None:
    check(WAYS[way]._replace(activation=TANH) if way in JOINED else WAYS[way], dtype=np.float64)


@pytest.mark.parametrize("problem", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("batch", [1, 3, 4, 5])
def test_few_images_of_many_weights(problem: Problem, batch: int) -> None:
    assert cpu.geometry_of(*problem[:3]).flops() >= direct.SHARED
    images = "single" if batch < FEW_IMAGES else "few"
    assert dweight.images_of(batch, math.prod(problem.bank)) == images
    check(problem, batch, seed=batch)


def test_so_many_weights_that_threads_share_them() -> None:
    """More than two million: each is summed over the whole batch, here two groups of images, the second one smaller."""
    x, shape, window = numbers(0, 70, 4, 4, 512, scale=1.0), (456, 3, 3, 512), Window(padding=AROUND)
    next_grad = numbers(1, 70, 4, 4, 456, scale=1.0)
    weight = np.zeros(shape, np.float32)
    found, _ = same_on_all_threads(lambda: conv2d.backward(next_grad, x, weight, window, wants_input=False), (1, 2))
    zeros, wide = np.zeros(shape), (widened(x), widened(next_grad))
    exact, bounds = (
        reference.backward(change(wide[1]), change(wide[0]), zeros, window, wants_input=False)[1]
        for change in (np.asarray, np.abs)
    )
    assert (np.abs(found - exact) <= (70 * 16 + 8) * np.finfo(np.float32).eps * bounds).all()


@pytest.mark.parametrize("way", ["pixels", "channels", "input channels", "strided"])
def test_derivatives_are_slopes(way: str) -> None:
    """By central differences, in float64: of the bias, and of the first weights and pixels."""
    problem = JOINED[f"joined, {way}"]._replace(activation=TANH)
    _, _, window, activation, _ = problem
    x, weight, bias = arrays(problem, 2, 9, np.float64)
    y, winners = conv2d.forward(x, weight, bias, window, activation)
    next_grad, place = np.cos(3 * y), (slice(1), slice(2), slice(2), slice(2))
    dx, dweight, dbias = conv2d.backward(next_grad, x, weight, window, activation, y, winners)

    def forward(of_x: Any, of_weight: Any, of_bias: Any) -> Any:
        changed_x, changed_weight = x.copy(), weight.copy()
        changed_x[place], changed_weight[place] = of_x, of_weight
        return conv2d.forward(changed_x, changed_weight, of_bias, window, activation)[0]

    with engines.counting() as counts:
        assert_slopes((dx[place], dweight[place], dbias), forward, (x[place], weight[place], bias), next_grad)
    assert set(counts) == {("conv2d.forward", "halide")}


# ------------------------------------------------------------------------------------------------- threads, old results


@pytest.mark.parametrize(
    ("problem", "batch"),
    [*((problem, 40) for problem in WAYS.values()), *((problem, 1) for problem in LARGE.values())],
    ids=[*WAYS, *LARGE],
)
def test_threads_and_later_calls_change_no_bit(problem: Problem, batch: int) -> None:
    """What a caller holds is not written by the next call."""
    x, weight, bias = arrays(problem, batch, 4)
    held = same_on_all_threads(lambda: results(problem, x, weight, bias), (1, 2, 2, 3))
    copies = [array.copy() for array in held]
    for _ in range(2):
        results(problem, -x, weight, bias)
    for array, copied in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copied)
