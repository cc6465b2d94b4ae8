"""Conv2d's kernels at NaN and infinities, what they leave to the reference, other machines; conv_transpose2d's."""

import math
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from convolutions import (
    ALONE,
    AROUND,
    DEPTHWISE,
    FLOATS,
    JOINED,
    ONE,
    PAIR,
    PLAIN,
    TANH,
    WAYS,
    Problem,
    arrays,
    convolved,
    pooled,
    results,
)
from fast_ops import needs_halide, numbers, on_every_target, quiet, widened

from typednn import engines
from typednn.engines import processor
from typednn.kernels import conv2d, conv_transpose2d
from typednn.kernels.activations import IDENTITY
from typednn.kernels.conv2d import Window, cpu, direct, dweight, reference
from typednn.kernels.conv_transpose2d import reference as transposed

pytestmark = needs_halide


# -------------------------------------------------------------------------------------------------- NaN and infinities


@quiet
@pytest.mark.parametrize("way", [*PLAIN, *JOINED, "depthwise, padded", "depthwise, stride 2"])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_the_reference_s(way: str, value: float) -> None:
    """Each in turn in x, in a weight, in dy: not one element more or fewer is NaN or infinite. Of pooled ones in a
    corner, and in a whole image, where infinities meet, or windows hold nothing but NaN.
    """
    problem, rng = WAYS[way], np.random.default_rng(0)
    _, _, window, activation, _ = problem
    for spoiled in ("x", "weight", "dy", *(["bias", "image"] if way in JOINED else [])):
        arguments = dict(zip(("x", "weight", "bias"), (array.copy() for array in arrays(problem, 3, 5)), strict=True))
        arguments["dy"] = np.full_like(reference.forward(*arguments.values(), window, activation)[0], 2)
        if spoiled == "image":
            arguments["x"][0] = value
        else:
            array = arguments[spoiled].reshape(-1)
            array[0 if way in JOINED else rng.integers(array.size)] = value
        x, weight, bias, next_grad = arguments.values()
        expected, wins = reference.forward(x, weight, bias, window, activation)
        with engines.counting() as counts:
            y, _ = conv2d.forward(x, weight, bias, window, activation, False)
            gradients = conv2d.backward(next_grad, x, weight, window, activation, expected, wins)
        assert way in DEPTHWISE or not counts["conv2d.backward", "reference"]
        wanted = reference.backward(next_grad, x, weight, window, activation, expected, wins)
        for got, right in zip((y, *gradients), (expected, *wanted), strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-3, atol=1e-4)


@quiet
@pytest.mark.parametrize("way", ["channels", "pixels", "taps", "groups"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_infinite_weights_meet_no_zeros(way: str, dtype: Any) -> None:
    """The zeros around dy would make NaN of them; lanes along taps need no such zeros."""
    problem = PLAIN[way]
    x, weight, _ = arrays(problem, 2, dtype=dtype)
    weight = weight.copy()
    weight[0, 0, 0, 0] = np.inf
    next_grad = np.ones_like(convolved(problem.window, x, weight, None))
    with engines.counting() as counts:
        dx, *_ = conv2d.backward(next_grad, x, weight, problem.window)
    here = processor.for_schedules(processor.host()).of(weight.dtype.name)
    lanes_along = direct.dx_lanes(here, cpu.geometry_of(*problem[:3]))
    assert set(counts) == {("conv2d.backward", "halide" if lanes_along == "taps" else "blas")}
    expected, *_ = reference.backward(next_grad, x, weight, problem.window)
    assert dx is not None
    assert expected is not None
    np.testing.assert_array_equal(np.isposinf(dx), np.isposinf(expected))
    assert not np.isnan(dx).any()


@pytest.mark.parametrize(("channels", "filters"), [(1, 3), (3, 17), (48, 32), (32, 3)])
@pytest.mark.parametrize("side", [2, 3])
def test_what_no_window_meets_stays_out(channels: int, filters: int, side: int) -> None:
    """The last rows and columns of a convolution that no pooling window takes: not even NaN in what they were made from
    is noticed.
    """
    problem = Problem((2 * side + 4, 3 * side + 4, channels), (filters, 4, 4, channels), pooled(side), TANH)
    x, weight, bias = arrays(problem, 3, 8)
    spoiled = x.copy()
    spoiled[:, 2 * side + 3 :] = spoiled[:, :, 3 * side + 3 :] = np.nan
    for clean, other in zip(*(results(problem, each, weight, bias) for each in (x, spoiled)), strict=True):
        np.testing.assert_array_equal(clean, other)


# ------------------------------------------------------------------------------------------------------- who runs what


def who_ran(x: Any, weight: Any, window: Window = ALONE, activation: Any = IDENTITY) -> tuple[Any, set[str]]:
    """What was computed, and by what."""
    with engines.counting() as counts:
        y, winners = conv2d.forward(x, weight, None, window, activation)
        np.testing.assert_array_equal(conv2d.forward(x, weight, None, window, activation, False)[0], y)
        gradients = conv2d.backward(np.ones_like(y), x, weight, window, activation, y, winners)
    assert {op for op, _ in counts} == {"conv2d.forward", "conv2d.backward"}
    return (y, *gradients), {engine for _, engine in counts}


def test_who_runs_what() -> None:
    """float32 or float64 in C order run on kernels, anything else on the reference."""
    x, weight = numbers(0, 2, 6, 7, 3), numbers(1, 4, 3, 3, 3)
    for strange in (x.astype(np.float64), x[:, :, ::-1], x[:0], np.asfortranarray(x)):
        assert who_ran(strange, weight)[1] == {"reference"}
    for dtype in FLOATS:
        assert who_ran(x.astype(dtype), weight.astype(dtype))[1] == {"halide"}


OTHERS = {
    "window": ((3, 3, 3, 2), Window(pooling=((4, 4), (4, 4), ONE))),
    "overlap": ((3, 3, 3, 2), Window(pooling=(PAIR, (1, 2), ONE))),
    "spread": ((3, 3, 3, 2), Window(pooling=(PAIR, PAIR, PAIR))),
    # Groups with an odd number of channels, unless they are few, would leave most lanes idle.
    "idle lanes": ((18, 3, 3, 2), Window()),
    "pooled groups": ((4, 3, 3, 2), pooled(2)),
    "pooled depthwise": ((4, 3, 3, 1), pooled(2)),
    "large depthwise": ((4, 8, 8, 1), Window(padding=(4, 4, 4, 4))),
}


@pytest.mark.parametrize(("bank", "window"), OTHERS.values(), ids=OTHERS)
def test_other_windows_are_left_to_the_reference(bank: tuple[int, ...], window: Window) -> None:
    in_channels = 2 if len(bank) and bank[0] == 3 else 4
    x, weight = numbers(6, 2, 11, 12, in_channels), numbers(7, *bank)
    (y, *gradients), ran = who_ran(x, weight, window, TANH)
    assert ran == {"reference"}
    assert y.max() <= np.tanh(convolved(window, x, weight, None).max()) * (1 + 1e-5)
    assert [None if each is None else each.shape for each in gradients] == [x.shape, weight.shape, bank[:1]]


def test_one_tap_without_bias() -> None:
    x, weight, next_grad = numbers(0, 3, 4, 5, 6), numbers(1, 6, 1, 1, 1), numbers(2, 3, 4, 5, 6)
    with engines.counting() as counts:
        dx, dweight, dbias = conv2d.backward(next_grad, x, weight, Window(), wants_bias=False)
    assert set(counts) == {("conv2d.backward", "halide")}
    assert dbias is None
    np.testing.assert_allclose(dx, next_grad * weight[:, 0, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(dweight[:, 0, 0, 0], np.sum(widened(next_grad) * x, (0, 1, 2)), rtol=1e-4, atol=1e-4)


def test_each_group_is_a_convolution() -> None:
    """The reference's groups, one by one."""
    x, weight = numbers(0, 2, 7, 5, 6, dtype=np.float64), numbers(1, 9, 3, 2, 2, dtype=np.float64)
    window = Window((2, 1), padding=(1, 0, 1, 2))
    y, _ = reference.forward(x, weight, None, window)
    next_grad = numbers(2, *y.shape, dtype=np.float64)
    whole = y, *reference.backward(next_grad, x, weight, window)
    for group in range(3):
        inward, outward = np.s_[..., 2 * group : 2 * group + 2], np.s_[..., 3 * group : 3 * group + 3]
        bank = weight[3 * group : 3 * group + 3]
        parts = (
            reference.forward(x[inward], bank, None, window)[0],
            *reference.backward(next_grad[outward], x[inward], bank, window),
        )
        places = outward, inward, np.s_[3 * group : 3 * group + 3], np.s_[3 * group : 3 * group + 3]
        for found, place, part in zip(whole, places, parts, strict=True):
            np.testing.assert_allclose(found[place], part, rtol=1e-12, atol=1e-12)


def test_kernels_on_disk_need_no_compiler() -> None:
    """Loading Halide would take 36 MB."""
    script = """
import sys
import numpy as np
from typednn.kernels import conv2d
from typednn.kernels.activations import RELU
x, weight = np.ones((2, 9, 8, 6), np.float32), np.ones((16, 5, 5, 6), np.float32)
for window in conv2d.Window(), conv2d.Window(pooling=((2, 2), (2, 2), (1, 1))):
    y, winners = conv2d.forward(x, weight, None, window, RELU)
    conv2d.backward(y, x, weight, window, RELU, y, winners)
print("halide" in sys.modules)
"""
    run = partial(subprocess.run, [sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert [run().stdout for _ in range(2)][1].strip() == "False"


COMPILED = [
    *((way, np.float32) for way in PLAIN if way not in ("blocks of channels", "groups of vectors", "channels")),
    *(
        (f"joined, {way}", np.float32)
        for way in ("pixels", "channels", "blocks of channels", "input channels", "strided planes")
    ),
    *((f"joined, {way}", np.float64) for way in ("pixels", "channels")),
    ("depthwise, many images", np.float32),
]


@pytest.mark.parametrize(("way", "dtype"), COMPILED)
def test_on_every_target(way: str, dtype: Any, tmp_path: Any) -> None:
    problem, each = WAYS[way], np.dtype(dtype)
    geometry, activation, is_joined = cpu.geometry_of(*problem[:3]), problem.activation, way in JOINED
    kernels = [
        cpu.forward_kernel(geometry, True, activation, is_joined, each),
        cpu.dweight_kernel(geometry, activation, dweight.images_of(problem.batch, math.prod(problem.bank)), each),
    ]
    if problem.window.stride == ONE:
        kernels.append(cpu.dx_kernel(geometry, activation, each))
    if problem.window.stride != ONE or way == "groups":
        kernels.append(cpu.gather_kernel(geometry, each))
    if way == "taps":
        kernels.append(cpu.forward_kernel(geometry, False, activation))
    for kernel in kernels:
        on_every_target(kernel, tmp_path)


# ---------------------------------------------------------------------------------------------------- conv_transpose2d

TRANSPOSED = {
    "groups": ((2, 5, 4, 6), (6, 3, 2, 4), Window(padding=(0, 0, 1, 1)), (5, 5, 8), "halide"),
    "strided groups": ((2, 5, 4, 6), (6, 3, 3, 4), Window(PAIR, padding=AROUND), (10, 8, 8), "blas"),
    "stride 1": ((2, 5, 4, 6), (6, 3, 2, 20), Window(padding=(0, 0, 1, 1)), (5, 5, 20), "halide"),
    "stride 2": ((2, 5, 4, 6), (6, 3, 3, 5), Window(PAIR, padding=AROUND), (10, 8, 5), "blas"),
    "depthwise": ((2, 5, 4, 6), (6, 3, 3, 1), Window(PAIR, padding=AROUND), (10, 8, 6), "halide"),
}


@pytest.mark.parametrize(("image", "bank", "window", "out", "engine"), TRANSPOSED.values(), ids=TRANSPOSED)
def test_transposed(image: Any, bank: Any, window: Window, out: tuple[int, ...], engine: str) -> None:
    size = image[0], *out
    given_arrays = [numbers(seed, *shape) for seed, shape in enumerate((image, bank, out[2:], size))]

    def results(forward: Any, backward: Any, x: Any, weight: Any, bias: Any, next_grad: Any) -> Any:
        return forward(x, weight, bias, window, size), *backward(next_grad, x, weight, window)

    with engines.counting() as counts:
        found = results(conv_transpose2d.forward, conv_transpose2d.backward, *given_arrays)
    assert set(counts) == {("conv_transpose2d.forward", engine), ("conv_transpose2d.backward", "halide")}
    exact, bounds = (
        results(transposed.forward, transposed.backward, *(change(widened(each)) for each in given_arrays))
        for change in (np.asarray, np.abs)
    )
    for one, expected, bound, terms in zip(found, exact, bounds, (100, 200, 200, 200), strict=True):
        assert one.shape == expected.shape
        assert one.flags.c_contiguous
        assert (np.abs(one - expected) <= (terms + 16) * np.finfo(one.dtype).eps * bound).all()
