"""The kernels of convolution, ReLU and pooling in one, against the four ops one after another in float64."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from typednn.engines import available, counting, get_threads, set_threads, toolchain, using
from typednn.kernels import conv2d, conv_act_pool, pad2d
from typednn.kernels.conv_act_pool import cpu, reference
from typednn.kernels.conv_act_pool.geometry import Geometry

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

EPS = float(np.finfo(np.float32).eps)
LENET1 = ((28, 28, 1), (6, 5, 5), (2, 2, 2, 2))
LENET2 = ((14, 14, 6), (16, 5, 5), (0, 0, 0, 0))
Shape = tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int, int]]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """An image, a bank of kernels and padding, with at least one pooled pixel: few channels and many, borders that no window meets."""
    channels, filters = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 33]))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    padding = draw(st.tuples(*[st.integers(0, 3)] * 4))
    least = (kernel[0] + 1 - padding[2] - padding[3], kernel[1] + 1 - padding[0] - padding[1])
    height, width = (
        max(1, size) + draw(st.sampled_from(more)) for size, more in zip(least, ([0, 1, 2, 5], [0, 1, 3, 30, 35]), strict=True)
    )
    return (height, width, channels), (filters, *kernel), padding


def arrays(batch: int, shape: Shape, seed: int) -> tuple[Any, Any, Any]:
    image, (filters, *kernel), _ = shape
    rng = np.random.default_rng(seed)
    sizes = (batch, *image), (filters, *kernel, image[2]), (filters,)
    x, weight, bias = (rng.standard_normal(size).astype(np.float32) for size in sizes)
    for array in (x, weight, bias):
        array.setflags(write=False)
    return x, weight, bias


def convolved(x: Any, weight: Any, bias: Any, geometry: Geometry) -> Any:
    """What stands before ReLU, in the arguments' own precision."""
    with using("reference"):
        return conv2d.forward(pad2d.forward(x, geometry.padding, "constant", 0.0), weight, bias, (1, 1), (1, 1))


def windows(z: Any) -> Any:
    """(batch, rows, columns, filters, 4): the four numbers of each pooling window."""
    rows, columns = z.shape[1] // 2, z.shape[2] // 2
    return np.stack([z[:, i : i + 2 * rows : 2, j : j + 2 * columns : 2] for i in (0, 1) for j in (0, 1)], axis=-1)


def check(batch: int, shape: Shape, biased: bool, seed: int) -> None:
    x, weight, bias = arrays(batch, shape, seed)
    bias = bias if biased else None
    geometry = Geometry(padding=shape[2])
    with counting() as counts:
        y, winners = conv_act_pool.forward(x, weight, bias, geometry)
        next_grad = np.random.default_rng(seed + 1).standard_normal(y.shape).astype(np.float32)
        gradients = conv_act_pool.backward(next_grad, x, weight, winners, geometry)
        dx, dweight, dbias = conv_act_pool.backward(next_grad, x, weight, winners, geometry, wants_input=False)
    assert counts == {("conv_act_pool.forward", "halide"): 1, ("conv_act_pool.backward", "halide"): 2}
    assert dx is None
    np.testing.assert_array_equal(dweight, gradients[1])
    np.testing.assert_array_equal(dbias, gradients[2])

    exact = [None if array is None else array.astype(np.float64) for array in (x, weight, bias, next_grad)]
    sizes: list[Any] = [None if array is None else np.abs(array) for array in exact]
    terms = weight[0].size
    z = windows(convolved(*exact[:3], geometry))
    error = (terms + 2) * EPS * windows(convolved(*sizes[:3], geometry)).max(axis=-1)
    largest = np.maximum(z.max(axis=-1), 0)
    assert y.dtype == np.float32
    assert winners.dtype == np.uint8
    assert (np.abs(y - largest) <= error).all()
    # The winner's number is the largest, to rounding: of two that are nearly equal either may win.
    np.testing.assert_array_equal(winners == cpu.DEAD, y == 0)
    won = np.take_along_axis(z, np.minimum(winners, 3)[..., None].astype(int), -1)[..., 0]
    assert (np.abs(np.where(winners == cpu.DEAD, 0, won) - largest) <= 2 * error).all()
    with using("reference"):
        wanted = reference.backward(exact[3], exact[0], exact[1], winners, geometry)
        bounds = reference.backward(sizes[3], sizes[0], sizes[1], winners, geometry)
    for got, right, bound, count in zip(
        gradients, wanted, bounds, (terms * shape[1][0], y[..., 0].size * 4, y[..., 0].size * 4), strict=True
    ):
        assert got is not None
        assert right is not None
        assert got.dtype == np.float32
        assert got.shape == right.shape
        assert (np.abs(got - right) <= (min(count, 1000) + 2) * EPS * bound + 1e-30).all()


@settings(max_examples=12, deadline=None)
@given(batch=st.sampled_from([1, 2, 3, 5, 8, 9, 17]), shape=shapes(), biased=st.booleans(), seed=st.integers(0, 2**31))
@example(batch=11, shape=LENET1, biased=True, seed=0)
@example(batch=11, shape=LENET2, biased=True, seed=0)
@example(batch=2, shape=((6, 37, 2), (5, 3, 3), (1, 1, 1, 1)), biased=False, seed=1)
@example(batch=1, shape=((2, 2, 1), (1, 1, 1), (0, 0, 0, 0)), biased=True, seed=2)
@example(batch=3, shape=((1, 1, 3), (17, 2, 2), (3, 0, 0, 3)), biased=True, seed=3)
def test_kernels_are_the_reference(batch: int, shape: Shape, biased: bool, seed: int) -> None:
    check(batch, shape, biased, seed)


@pytest.mark.parametrize("shape", [LENET1, LENET2], ids=["along rows", "along filters"])
@pytest.mark.parametrize("batch", [3, 40])
def test_results_do_not_depend_on_the_threads(shape: Shape, batch: int) -> None:
    x, weight, bias = arrays(batch, shape, 4)
    geometry = Geometry(padding=shape[2])
    before, seen = get_threads(), []
    try:
        for count in (1, 2, 2, 3):
            set_threads(count)
            y, winners = conv_act_pool.forward(x, weight, bias, geometry)
            results = [y, winners, *conv_act_pool.backward(np.cos(y), x, weight, winners, geometry)]
            seen.append([result.tobytes() for result in results if result is not None])
    finally:
        set_threads(before)
    assert all(results == seen[0] for results in seen)


@pytest.mark.parametrize("shape", [LENET1, LENET2], ids=["along rows", "along filters"])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("everywhere", [False, True])
def test_nan_and_infinity_go_where_the_reference_sends_them(shape: Shape, value: float, everywhere: bool) -> None:
    x, weight, bias = (array.copy() for array in arrays(2, shape, 5))
    if everywhere:
        x[0] = value  # windows of nothing but NaN, where infinities meet or NaN is
    else:
        x[0, 7, 8] = value
        bias[1] = value
    geometry = Geometry(padding=shape[2])
    y, winners = conv_act_pool.forward(x, weight, bias, geometry)
    with using("reference"), np.errstate(invalid="ignore"):
        expected, wins = conv_act_pool.forward(x, weight, bias, geometry)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(winners == cpu.DEAD, wins == cpu.DEAD)
    next_grad = np.full_like(y, 2)
    next_grad[1, 0, 0, 0] = value
    gradients = conv_act_pool.backward(next_grad, x, weight, wins, geometry)
    with using("reference"), np.errstate(invalid="ignore"):
        wanted = conv_act_pool.backward(next_grad, x, weight, wins, geometry)
    for got, right in zip(gradients, wanted, strict=True):
        assert got is not None
        assert right is not None
        np.testing.assert_array_equal(np.isnan(got), np.isnan(right))
        np.testing.assert_allclose(got, right, rtol=1e-3, atol=1e-2)


OTHERS = {
    "stride": Geometry(stride=(2, 1)),
    "dilation": Geometry(dilation=(1, 2)),
    "window": Geometry(pool_size=(3, 3), pool_stride=(3, 3)),
    "overlap": Geometry(pool_stride=(1, 2)),
    "spread": Geometry(pool_dilation=(2, 2)),
}


@pytest.mark.parametrize("geometry", OTHERS.values(), ids=OTHERS)
def test_other_windows_run_op_by_op(geometry: Geometry) -> None:
    x, weight, bias = arrays(2, ((11, 12, 2), (3, 3, 3), (0, 0, 0, 0)), 6)
    with counting() as counts:
        y, winners = conv_act_pool.forward(x, weight, bias, geometry)
        gradients = conv_act_pool.backward(np.ones_like(y), x, weight, winners, geometry)
    assert counts["conv_act_pool.forward", "reference"] == counts["conv_act_pool.backward", "reference"] == 1
    z = conv2d.reference.forward(x, weight, bias, geometry.stride, geometry.dilation)
    assert y.max() <= z.max() * (1 + 1e-5)
    assert [None if each is None else each.shape for each in gradients] == [x.shape, weight.shape, bias.shape]


def test_results_are_fresh() -> None:
    """What a caller holds is not written by the next call."""
    shape, geometry = LENET1, Geometry(padding=(2, 2, 2, 2))
    x, weight, bias = arrays(20, shape, 7)
    y, winners = conv_act_pool.forward(x, weight, bias, geometry)
    held = [y, winners, *conv_act_pool.backward(y, x, weight, winners, geometry)]
    copies = [None if array is None else array.copy() for array in held]
    for _ in range(2):
        other, others = conv_act_pool.forward(-x, weight, bias, geometry)
        conv_act_pool.backward(other, -x, weight, others, geometry)
    for array, copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("target", list(toolchain.targets_for_tests()))
@pytest.mark.parametrize("shape", [LENET1, LENET2], ids=["conv1", "conv2"])
def test_compiles_for_every_processor(tmp_path: Path, target: str, shape: Shape) -> None:
    image, (filters, *kernel), padding = shape
    sizes = cpu.sizes_of(image, (filters, *kernel, image[2]), Geometry(padding=padding))
    assert sizes is not None
    for kernel_of in (cpu._forward(sizes, True), cpu._weights(sizes), cpu._input(sizes)):
        path = tmp_path / "kernel.o"
        toolchain.compile_object(kernel_of.plan, path, "symbol", toolchain.targets_for_tests()[target])
        assert path.stat().st_size > 0
