"""Totals against exact sums, of any size, on any number of threads."""

import math
from typing import Any

import numpy as np
import pytest
from fast_ops import every_target, needs_halide
from hypothesis import example, given, settings
from hypothesis import strategies as st

from typednn.engines import get_threads, set_threads, using
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.elementwise import PARALLEL_FROM, PIECE
from typednn.kernels.totals import Total, squares

KERNELS: Any = squares.op.reference.__self__  # type: ignore[attr-defined]


def exact(x: Any) -> float:
    return math.fsum((x.astype(np.float64) ** 2).ravel().tolist())


@pytest.mark.parametrize("engine", ["fast", "reference"])
@settings(max_examples=60, deadline=None)
@given(size=st.integers(1, 300), rows=st.sampled_from([1, 3]), seed=st.integers(0, 99), wide=st.booleans())
@example(size=PIECE, rows=1, seed=0, wide=False)
@example(size=PIECE + 1, rows=3, seed=0, wide=False)
@example(size=PARALLEL_FROM + 65, rows=1, seed=0, wide=True)
def test_squares(engine: str, size: int, rows: int, seed: int, wide: bool) -> None:
    dtype = np.float64 if wide else np.float32
    x = np.random.default_rng(seed).standard_normal((rows, size)).astype(dtype)
    with using(engine):
        total = squares(x)
    assert (total.shape, total.dtype) == ((), np.float64)
    assert total == pytest.approx(exact(x), rel=1e-14)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_squares_of_large_and_small_numbers(engine: str) -> None:
    """Squares that float32 does not hold, that are not finite, and of no number at all."""
    with using(engine):
        for number in (1e30, 1e-30, 1e-44):
            x = np.full(100, number, np.float32)
            assert squares(x) == pytest.approx(exact(x), rel=1e-14)
        assert squares(np.array([1.0, np.inf, 2.0], np.float32)) == math.inf
        for place in (0, 70, 199):
            x = np.ones(200, np.float32)
            x[place] = np.nan
            assert math.isnan(squares(x))
        assert squares(np.zeros((0, 3), np.float32)) == 0
        assert squares(np.full(3, 2, np.float16)) == 12
        assert squares(np.ones((4, 6), np.float32)[:, ::2]) == 12


@needs_halide
def test_any_number_of_threads_gives_the_same_bits() -> None:
    x = np.random.default_rng(0).standard_normal(5 * PARALLEL_FROM + 17).astype(np.float32)
    before, found = get_threads(), set[float]()
    try:
        for count in (1, 2, 3):
            set_threads(count)
            found.add(float(squares(x)))
    finally:
        set_threads(before)
    assert len(found) == 1


@needs_halide
def test_on_every_target(tmp_path: Any) -> None:
    x = np.random.default_rng(0).standard_normal(40_001).astype(np.float32)
    assert isinstance(KERNELS, Total)
    every_target(KERNELS.kernels[FLOAT32], (x,), [((1,), np.float64)], tmp_path, rtol=1e-13)
