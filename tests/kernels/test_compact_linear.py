"""Compact weights: rounded as they should be; and the map is that of the numbers they stand for, in float64."""

from typing import Any

import numpy as np
import pytest
from effort import expensive
from fast_ops import every_target, same_on_all_threads
from hypothesis import example, given, settings
from hypothesis import strategies as st

from typednn.engines import available, counting, using
from typednn.kernels import compact_linear
from typednn.kernels.bfloat16 import from_bfloat16, to_bfloat16
from typednn.kernels.compact_linear import cpu

floats = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)


def rounded(x: Any, digits: int) -> Any:
    """To so many digits in base 2, ties to even, in float64."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(mantissa * 2.0**digits), exponent - digits)


@settings(max_examples=300)
@given(st.lists(floats.filter(lambda x: abs(x) < 3e38), min_size=1, max_size=20))
@example([1.00390625, 1.01171875, -1.00390625, 0.0, -0.0])  # in the middle between two: the even one
def test_bfloat16_is_the_nearest(numbers: list[float]) -> None:
    x = np.array(numbers, np.float32)
    found = from_bfloat16(to_bfloat16(x))
    np.testing.assert_array_equal(found, rounded(x, 8))
    assert (np.signbit(found) == np.signbit(x)).all()
    np.testing.assert_array_equal(found, from_bfloat16(to_bfloat16(found)))


def test_special_numbers_stay() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 3.4028235e38, -3.4028235e38], np.float32)
    # NaN whose upper half alone would be infinite, or 0
    x = np.append(x, np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32))
    found = from_bfloat16(to_bfloat16(x))
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, np.inf, -np.inf, np.nan, np.nan])


@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 99), st.floats(1e-6, 1e6))
def test_int8_is_within_half_a_step(rows: int, features: int, seed: int, size: float) -> None:
    weight = (np.random.default_rng(seed).standard_normal((rows, features)) * size).astype(np.float32)
    weight[0] = 0
    packed, scale = compact_linear.packed(weight, 8)
    assert packed.dtype == np.int8
    largest = np.abs(weight.astype(np.float64)).max(axis=1)
    assert (np.abs(packed.astype(int)).max(axis=1) == np.where(largest > 0, 127, 0)).all()
    np.testing.assert_allclose(scale[1:], largest[1:] / 127, rtol=1e-6)
    exact = packed.astype(np.float64) * scale.astype(np.float64)[:, None]
    assert (np.abs(exact - weight) <= largest[:, None] / 254 * (1 + 1e-5)).all()
    np.testing.assert_allclose(compact_linear.widened(packed, scale), exact, rtol=1e-6)


def case(batch: int, in_features: int, out_features: int, bits: int, biased: bool, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    x, weight = (
        rng.standard_normal((batch, in_features), np.float32),
        rng.standard_normal((out_features, in_features), np.float32),
    )
    bias = rng.standard_normal(out_features, np.float32) if biased else None
    return x, *compact_linear.packed(weight, bits), bias


def exactly(x: Any, weight: Any, scale: Any, bias: Any) -> tuple[Any, Any]:
    """The map in float64, and the sum of the magnitudes of its terms; bfloat16 is widened by hand."""
    if scale is None:
        number = weight.astype(np.int64)
        exponent, fraction = (number >> 7) & 0xFF, (number & 0x7F) / 128
        wide = np.ldexp(1 + fraction, exponent - 127) * np.where(number >> 15, -1, 1) * (exponent > 0)
    else:
        wide = weight.astype(np.float64) * scale.astype(np.float64)[:, None]
    more = 0 if bias is None else bias.astype(np.float64)
    return x.astype(np.float64) @ wide.T + more, np.abs(x.astype(np.float64)) @ np.abs(wide).T + np.abs(more)


def check(arguments: tuple[Any, ...], engine: str) -> Any:
    with counting() as counts:
        y = compact_linear.forward(*arguments)
    assert list(counts) == [("compact_linear.forward", engine)]
    exact, magnitudes = exactly(*arguments)
    assert y.dtype == np.float32
    assert y.shape == exact.shape
    assert (np.abs(y - exact) <= (arguments[0].shape[1] + 4) * np.finfo(np.float32).eps * magnitudes).all()
    return y


# 1, odd, one vector of 4, 8 or 16 lanes, one more, one less; and sums that are added in blocks.
extents = st.sampled_from([1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 67, 130, 1025])
batches = st.sampled_from([1, 2, 3, 7, 8, 9, 17, 33])
bits = st.sampled_from([16, 8])


@given(
    batch=batches, in_features=extents, out_features=extents, bits=bits, biased=st.booleans(), seed=st.integers(0, 9)
)
def test_the_reference(batch: int, in_features: int, out_features: int, bits: int, biased: bool, seed: int) -> None:
    with using("reference"):
        check(case(batch, in_features, out_features, bits, biased, seed), "reference")


@pytest.mark.skipif(not available(), reason="Halide is not installed")
@expensive
@given(
    batch=batches, in_features=extents, out_features=extents, bits=bits, biased=st.booleans(), seed=st.integers(0, 9)
)
@example(batch=1, in_features=1, out_features=1, bits=8, biased=True, seed=0)
@example(batch=1, in_features=1025, out_features=513, bits=16, biased=False, seed=0)
@example(batch=9, in_features=130, out_features=2049, bits=8, biased=True, seed=0)
@example(batch=8, in_features=130, out_features=2049, bits=16, biased=True, seed=0)
@example(batch=3, in_features=33, out_features=8001, bits=8, biased=False, seed=0)
def test_the_kernel(batch: int, in_features: int, out_features: int, bits: int, biased: bool, seed: int) -> None:
    arguments = case(batch, in_features, out_features, bits, biased, seed)
    before = [None if each is None else each.copy() for each in arguments]
    y = check(arguments, "halide")
    for earlier, each in zip(before, arguments, strict=True):
        np.testing.assert_array_equal(each, earlier)
    (again,) = same_on_all_threads(lambda: [compact_linear.forward(*arguments)], (1, 3))
    np.testing.assert_array_equal(again, y)


@pytest.mark.skipif(not available(), reason="Halide is not installed")
def test_many_rows_are_left_to_the_reference() -> None:
    check(case(cpu.MANY - 1, 24, 17, 8, True, 0), "halide")
    check(case(cpu.MANY, 24, 17, 8, True, 0), "reference")


@pytest.mark.skipif(not available(), reason="Halide is not installed")
def test_other_arrays_are_left_to_the_reference() -> None:
    x, weight, scale, bias = case(2, 24, 17, 8, True, 0)
    with counting() as counts:
        compact_linear.forward(x.astype(np.float64), weight, scale.astype(np.float64), bias.astype(np.float64))
        compact_linear.forward(x[:, ::2], np.ascontiguousarray(weight[:, ::2]), scale, bias)
    assert list(counts) == [("compact_linear.forward", "reference")]


@pytest.mark.skipif(not available(), reason="Halide is not installed")
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("bits", [16, 8])
@pytest.mark.parametrize(("in_features", "out_features"), [(33, 17), (1100, 40)])
def test_on_every_target(bits: int, in_features: int, out_features: int, streamed: bool, tmp_path: Any) -> None:
    x, weight, scale, bias = case(3, in_features, out_features, bits, True, 0)
    given_arrays = [each for each in (x, weight, scale, bias) if each is not None]
    kernel = cpu._forward[weight.shape, bits == 8, True, streamed]
    assert kernel is not None
    every_target(kernel, given_arrays, [((3, out_features), "float32")], tmp_path, rtol=1e-3)
