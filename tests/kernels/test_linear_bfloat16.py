"""Products in mixed precision: those of the rounded factors, in float64, up to the rounding of float32 sums."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from fast_ops import needs_halide, same_on_all_threads
from hypothesis import example, given, settings
from hypothesis import strategies as st

from typednn.engines import counting, precision, processor, using
from typednn.engines.halide import toolchain
from typednn.engines.precision import mixed_precision
from typednn.kernels import linear
from typednn.kernels.activations import IDENTITY, RELU, Activation
from typednn.kernels.linear import bfloat16

ACTIVATIONS = [IDENTITY, RELU, Activation("tanh")]
has_instruction = pytest.mark.skipif(
    not processor.host().has(precision.BFLOAT16), reason="needs a processor that multiplies in bfloat16"
)


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of every size are in bfloat16."""
    monkeypatch.setattr(bfloat16, "LEAST", 1)
    monkeypatch.setattr(bfloat16, "FEWEST", 1)


def rounded(x: Any) -> Any:
    """To 8 digits in base 2, ties to even, in float64."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(mantissa * 2.0**8), exponent - 8)


def arrays(batch: int, in_features: int, out_features: int, seed: int) -> list[Any]:
    """x, weight, bias, next_grad."""
    rng = np.random.default_rng(seed)
    shapes = (batch, in_features), (out_features, in_features), (out_features,), (batch, out_features)
    made = [rng.standard_normal(shape, np.float32) for shape in shapes]
    made[1] /= np.sqrt(np.float32(in_features))
    return made


def close(found: Any, exact: Any, terms: Any) -> None:
    """Within the error of float32 sums of so large ``terms`` in any order."""
    assert found.dtype == np.float32
    assert found.shape == exact.shape
    assert (np.abs(found - exact) <= (terms + np.abs(exact)) * 2.0**-21).all()


def check(batch: int, in_features: int, out_features: int, biased: bool, activation: Activation, seed: int) -> None:
    x, weight, bias, next_grad = arrays(batch, in_features, out_features, seed)
    of_bias = bias if biased else None
    with mixed_precision(), counting() as counts:
        y = linear.forward(x, weight, of_bias, activation)
        dx, dweight, dbias = linear.backward(next_grad, x, weight, y, activation)
        nothing, same, _ = linear.backward(next_grad, x, weight, y, activation, False)
    assert {engine for (name, engine) in counts if name.startswith("linear")} == {"bfloat16"}
    left, right = rounded(x), rounded(weight)
    z = left @ right.T + (bias if biased else 0.0)
    assert np.abs(y - activation.forward(z)).max() <= 1e-5 * (1 + np.abs(z).max())
    dz = activation.backward(next_grad.astype(np.float64), y.astype(np.float64))
    half = 2.0**-8  # where dz is a float32 result itself, and rounds to the neighbour
    for found, first, second in ((dx, dz, weight), (dweight, dz.T, x)):
        factor = rounded(np.float32(first)), rounded(second)
        slack = 0.0 if activation.name == "identity" else half * 2.0**-8 * np.sqrt(first.shape[1])
        assert np.abs(found - factor[0] @ factor[1]).max() <= 1e-5 * (np.abs(factor[0]) @ np.abs(factor[1])).max() + (
            slack * np.abs(first).max() * np.abs(second).max()
        )
    close(dbias, dz.sum(axis=0), np.abs(dz).sum(axis=0))
    assert nothing is None
    np.testing.assert_array_equal(same, dweight)


# 1, odd, rows around a tile of 6 and a task of 48, columns around a strip of 64, depths around a block of 512
rows = st.sampled_from([1, 2, 5, 6, 7, 47, 48, 49, 100])
columns = st.sampled_from([1, 3, 16, 63, 64, 65, 130])
depths = st.sampled_from([1, 2, 3, 31, 32, 33, 511, 512, 513, 1030])
kinds = st.tuples(st.booleans(), st.sampled_from(ACTIVATIONS), st.integers(0, 99))


@has_instruction
@needs_halide
@settings(max_examples=60)
@given(rows, depths, columns, kinds)
@example(1, 1, 1, (True, IDENTITY, 0))
@example(2, 8200, 3, (False, IDENTITY, 0))  # 17 blocks of 242 pairs, the last of which is short
@example(49, 513, 65, (True, RELU, 1))
def test_factors_are_rounded_and_sums_are_not(batch: int, depth: int, width: int, kind: Any) -> None:
    check(batch, depth, width, *kind)


@settings(max_examples=20)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), kinds)
def test_without_the_instruction(batch: int, depth: int, width: int, kind: Any) -> None:
    """Z-F9: factors in bfloat16, sums in float32."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bfloat16, "multiplies_bfloat16", lambda: False)
        check(batch, depth, width, *kind)


@has_instruction
@needs_halide
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 32])
def test_numbers_that_are_not_finite_stay_where_they_are(number: float, place: int) -> None:
    x, weight, _, next_grad = arrays(50, 33, 70, 0)
    x[3, place] = number
    with mixed_precision():
        y = linear.forward(x, weight, None)
        dweight = linear.backward(next_grad, x, weight)[1]
    assert not np.isfinite(y[3]).any()
    assert np.isfinite(np.delete(y, 3, axis=0)).all()
    assert not np.isfinite(dweight[:, place]).any()
    assert np.isfinite(np.delete(dweight, place, axis=1)).all()


@has_instruction
@needs_halide
def test_threads_do_not_change_the_bits() -> None:
    x, weight, bias, next_grad = arrays(100, 600, 130, 0)
    with mixed_precision():
        same_on_all_threads(lambda: (linear.forward(x, weight, bias), *linear.backward(next_grad, x, weight)))


def test_only_in_the_block_and_only_large_float32_products(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias, _ = arrays(4, 8, 8, 0)

    def engine(*arguments: Any) -> str:
        with counting() as counts:
            linear.forward(*arguments)
        ((_, name),) = counts
        return name

    plain = engine(x, weight, bias)
    assert plain != "bfloat16"
    with mixed_precision():
        assert engine(x, weight, bias) == "bfloat16"
        assert engine(*(each.astype(np.float64) for each in (x, weight, bias))) != "bfloat16"
        assert engine(x[::2], weight, bias) != "bfloat16"
        with mixed_precision(False):
            assert engine(x, weight, bias) == plain
        with using("reference"):
            assert engine(x, weight, bias) == "reference"
        monkeypatch.setattr(bfloat16, "FEWEST", 5)
        assert engine(x, weight, bias) == plain
        monkeypatch.setattr(bfloat16, "FEWEST", 4)
        monkeypatch.setattr(bfloat16, "LEAST", 4 * 8 * 8 + 1)
        assert engine(x, weight, bias) == plain
    assert engine(x, weight, bias) == plain


def test_another_thread_is_left_alone() -> None:
    x, weight, bias, _ = arrays(4, 8, 8, 0)
    with mixed_precision(), counting() as counts, ThreadPoolExecutor(1) as pool:
        pool.submit(linear.forward, x, weight, bias).result()
        assert [engine for _, engine in counts] != ["bfloat16"]
        linear.forward(x, weight, bias)
        assert [engine for _, engine in counts].count("bfloat16") == 1


def test_a_processor_without_it_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "available", lambda: True)
    monkeypatch.setattr(precision, "BFLOAT16", frozenset({"no such flag"}))
    precision.multiplies_bfloat16.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="no avx512_bf16"):
            assert not precision.multiplies_bfloat16()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not precision.multiplies_bfloat16()
    finally:
        precision.multiplies_bfloat16.cache_clear()
