"""Linear and ReLU in one, against the two ops one after the other in float64."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from typednn.engines import available, counting, get_threads, set_threads, using
from typednn.kernels import linear_act
from typednn.kernels.linear_act import reference

pytestmark = pytest.mark.skipif(not available(), reason="Halide is not installed")

EPS = float(np.finfo(np.float32).eps)
extents = st.sampled_from([1, 2, 3, 7, 8, 15, 16, 17, 33, 67, 120])


def arrays(batch: int, in_features: int, out_features: int, seed: int) -> list[Any]:
    """x, weight, bias, next_grad; read-only."""
    rng = np.random.default_rng(seed)
    shapes = (batch, in_features), (out_features, in_features), (out_features,), (batch, out_features)
    made = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    for array in made:
        array.setflags(write=False)
    return made


def close(got: Any, exact: Any, magnitudes: Any, terms: int) -> None:
    assert got.dtype == np.float32
    assert got.shape == exact.shape
    assert (np.abs(got - exact) <= (terms + 2) * EPS * magnitudes + 1e-30).all()


@settings(max_examples=20, deadline=None)
@given(batch=extents, in_features=extents, out_features=extents, biased=st.booleans(), seed=st.integers(0, 2**31))
@example(batch=70, in_features=401, out_features=500, biased=True, seed=0)
@example(batch=1, in_features=17, out_features=256, biased=True, seed=0)
def test_kernels_are_the_reference(batch: int, in_features: int, out_features: int, biased: bool, seed: int) -> None:
    x, weight, bias, next_grad = arrays(batch, in_features, out_features, seed)
    bias = bias if biased else None
    with counting() as counts:
        y = linear_act.forward(x, weight, bias)
        gradients = linear_act.backward(next_grad, x, y, weight)
        dx, *without = linear_act.backward(next_grad, x, y, weight, wants_input=False)
    assert {engine for op, engine in counts if op.startswith("linear_act")} <= {"halide", "blas"}
    assert dx is None

    exact = [None if array is None else array.astype(np.float64) for array in (x, weight, bias, next_grad)]
    sizes: list[Any] = [None if array is None else np.abs(array) for array in exact]
    with using("reference"):
        close(y, reference.forward(*exact[:3]), reference.forward(*sizes[:3]), in_features + 1)
        # Where rounding decides whether a sum is above 0, y says what was decided.
        right = reference.backward(exact[3], exact[0], y.astype(np.float64), exact[1])
        bounds = reference.backward(sizes[3], sizes[0], y.astype(np.float64), sizes[1])
    for got, wanted, bound, terms in zip(gradients, right, bounds, (out_features, batch, batch), strict=True):
        close(got, wanted, bound, terms)
    for got, wanted, bound in zip(without, right[1:], bounds[1:], strict=True):
        close(got, wanted, bound, batch)


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_nan_and_infinity_go_where_the_reference_sends_them(value: float) -> None:
    x, weight, bias, next_grad = (array.copy() for array in arrays(9, 5, 18, 1))
    x[2, 3], bias[4], next_grad[1, 7] = value, value, value
    y = linear_act.forward(x, weight, bias)
    gradients = linear_act.backward(next_grad, x, y, weight)
    with using("reference"), np.errstate(invalid="ignore"):
        np.testing.assert_allclose(y, linear_act.forward(x, weight, bias), rtol=1e-5, atol=1e-5)
        wanted = linear_act.backward(next_grad, x, y, weight)
    for got, right in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)


def test_results_do_not_depend_on_the_threads() -> None:
    x, weight, bias, next_grad = arrays(600, 100, 120, 2)
    before, seen = get_threads(), []
    try:
        for count in (1, 2, 2):
            set_threads(count)
            y = linear_act.forward(x, weight, bias)
            seen.append([result.tobytes() for result in (y, *linear_act.backward(next_grad, x, y, weight)) if result is not None])
    finally:
        set_threads(before)
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]
