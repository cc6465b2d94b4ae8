"""Reductions and running sums: NumPy's values over any axes, in every dtype; derivatives by central differences. A row
for each.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_rows import SEEDS, Row, check_gradient, close, gradients
from hypothesis import given
from hypothesis import strategies as st

from typednn import graph as ops
from typednn.errors import ArgumentError, DTypeError, ShapeError, TypednnError
from typednn.graph import reductions, tensor

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)
DTYPES = {"f": (np.float32, np.float64), "i": (np.int32, np.int64), "u": (np.uint8,), "b": (np.bool_,)}


def _all(name: str, **fixed: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function and NumPy's, over ``axis`` with ``keepdims``."""
    mine, theirs = getattr(ops, name), getattr(np, name)
    return (
        lambda x, axis, keepdims: mine(x, axis=axis, keepdims=keepdims, **fixed),
        lambda x, axis, keepdims: theirs(x, axis=axis, keepdims=keepdims, **fixed),
    )


def _own_dtype(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The same, where NumPy is told not to widen integers."""
    theirs = getattr(np, name)
    return _all(name)[0], lambda x, axis, keepdims: theirs(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _var(name: str, correction: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    mine, theirs = getattr(ops, name), getattr(np, name)
    return (
        lambda x, axis, keepdims: mine(x, axis, keepdims, correction),
        lambda x, axis, keepdims: theirs(x, axis=axis, keepdims=keepdims, ddof=correction),
    )


def _logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def _running(name: str, theirs: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    mine = getattr(ops, name)
    return lambda x, axis, keepdims: mine(x, axis), lambda x, axis, keepdims: theirs(x, axis, dtype=x.dtype)


# X-A15, Z-T4. Over any axes:
AXES = [
    Row("sum", *_own_dtype("sum"), dtypes="fiu"),
    Row("prod", *_own_dtype("prod"), dtypes="fiu"),
    Row("max", *_all("max"), dtypes="fiub"),
    Row("min", *_all("min"), dtypes="fiub"),
    Row("mean", *_all("mean"), dtypes="fiub"),
    Row("any", *_all("any"), dtypes="fiub", smooth=False),
    Row("all", *_all("all"), dtypes="fiub", smooth=False),
    Row("var", *_var("var", 1)),
    Row("var", *_var("var", 0)),
    Row("var", *_var("var", 0.5)),
    Row("std", *_var("std", 1)),
    Row("std", *_var("std", 0)),
    Row("logsumexp", ops.logsumexp, _logsumexp),
]
# Over one axis:
AXIS = [
    Row("argmax", *_all("argmax"), dtypes="fiub", smooth=False),
    Row("argmin", *_all("argmin"), dtypes="fiub", smooth=False),
    Row("cumsum", *_running("cumsum", np.cumsum), dtypes="fiu"),
    Row("cumprod", *_running("cumprod", np.cumprod), dtypes="fiu"),
    Row("cummax", *_running("cummax", np.maximum.accumulate), dtypes="fiu"),
]
ROWS = AXES + AXIS
ELSEWHERE = {"sum_to"}


def test_every_public_function_has_a_row() -> None:
    """X-A15, Z-T4: none is left out below."""
    functions = {
        name
        for name, each in vars(reductions).items()
        if inspect.isfunction(each) and each.__module__ == reductions.__name__
    }
    public = {name for name in functions if not name.startswith("_")}
    assert public <= set(ops.__all__), "export it from typednn.graph"
    assert public <= {row.name for row in ROWS} | ELSEWHERE, "add a row to this file"


def _axes(row: Row, seed: int, shape: tuple[int, ...]) -> tuple[Any, bool]:
    g = np.random.default_rng(seed)
    keepdims = bool(g.random() < 0.5)
    if row in AXIS:
        return (
            None if row.name.startswith("arg") and g.random() < 0.2 else int(g.integers(-len(shape), len(shape)))
        ), keepdims
    chosen = tuple(int(each) for each in g.permutation(len(shape))[: g.integers(1, len(shape) + 1)])
    return None if g.random() < 0.2 else chosen[0] if len(chosen) == 1 else chosen, keepdims


def _drawn(row: Row, seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    (x,) = row.draw(seed, shape, dtype)
    if np.dtype(dtype).kind == "f" and row.name in ("argmax", "argmin", "max", "min", "prod"):
        x = np.round(x, 0)  # some are equal, some 0
    return x


@pytest.mark.parametrize("row", ROWS, ids=str)
@given(shape=SHAPES, seed=SEEDS, data=st.data())
def test_values_are_those_of_numpy(row: Row, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    """X-A15, X-A16, Z-T4: over one axis, several, all; with and without keepdims; biased and unbiased."""
    dtype = data.draw(st.sampled_from([dtype for kind in row.dtypes for dtype in DTYPES[kind]]))
    axis, keepdims = _axes(row, seed, shape)
    x = _drawn(row, seed, shape, dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # degrees of freedom
        expected = np.asarray(row.reference(x, axis, keepdims))
    found = row.function(tensor(x), axis, keepdims)
    assert found.dtype == expected.dtype
    close(found.numpy(), expected, dtype, units=64)


@pytest.mark.parametrize("row", [row for row in ROWS if row.smooth], ids=str)
@given(shape=SHAPES, seed=SEEDS)
def test_derivatives_are_central_differences(row: Row, shape: tuple[int, ...], seed: int) -> None:
    """X-A16, Z-F1, Z-T4: by each number, also where a factor is 0."""
    axis, keepdims = _axes(row, seed, shape)
    # no two are equal
    x = np.random.default_rng(seed).permutation(np.linspace(-2, 2, int(np.prod(shape)))).reshape(shape)
    reduced = [shape[each] for each in ([axis] if isinstance(axis, int) else axis or range(len(shape)))]
    if row.name in ("var", "std") and np.prod(reduced) < 2:
        return  # no deviation: 0, or NaN
    check_gradient(lambda x: row.function(x, axis, keepdims), [x], seed)


def test_special_values() -> None:
    """X-A15: NaN wins, infinities add, and the first of equals has the place."""
    x = np.array(
        [[1.0, np.nan, 5, np.nan], [-np.inf, 2, np.inf, np.inf], [np.inf, 1, 1, 1], [-0.0, 0, 0, -0.0], [-np.inf] * 4]
    )
    t = tensor(x)
    with np.errstate(all="ignore"):
        for name in ("sum", "max", "min", "argmax", "argmin", "any", "all"):
            np.testing.assert_array_equal(
                getattr(ops, name)(t, axis=1).numpy(), getattr(np, name)(x, axis=1), err_msg=name
            )
        for name in ("cumsum", "cumprod"):
            np.testing.assert_array_equal(getattr(ops, name)(t, 1).numpy(), getattr(np, name)(x, 1), err_msg=name)
        np.testing.assert_array_equal(ops.cummax(t, 1).numpy(), np.maximum.accumulate(x, 1))
    np.testing.assert_array_equal(ops.logsumexp(t, 1).numpy(), [np.nan, np.inf, np.inf, np.log(4), -np.inf])
    far = np.array([1000.0, 1000.0])
    np.testing.assert_allclose(ops.logsumexp(tensor(far)).numpy(), 1000 + np.log(2))
    np.testing.assert_allclose(gradients(ops.logsumexp, [far])[0], [0.5, 0.5])


def test_nothing_to_reduce() -> None:
    """X-A15: what NumPy says of none."""
    x = tensor(np.ones((0, 3)))
    assert ops.sum(x).item() == 0
    assert ops.prod(x).item() == 1
    assert ops.all(x).numpy()
    assert not ops.any(x).numpy()
    assert np.isnan(ops.mean(x).item())
    assert np.isnan(ops.var(tensor(np.ones((1, 3))), 0).numpy()).all()
    assert ops.var(tensor(np.array([1.0, 2.0])), correction=3).item() == np.inf, "the divisor is never below 0"
    np.testing.assert_array_equal(ops.var(tensor(np.ones((1, 3))), 0, correction=0).numpy(), np.zeros(3))
    assert ops.cumsum(x, 0).numpy().shape == (0, 3)


def test_variance_of_zyx() -> None:
    """X-A16: zyx's layer norm divides by the unbiased deviation, others by the biased one."""
    x = tensor(np.array([3.0, 5.0, 2.0, 1.0]))
    weight, bias = tensor(np.array([4.0, 5.0, 1.0, 2.0])), 0.0
    unbiased = (x - ops.mean(x)) / ops.sqrt(ops.var(x) + 1e-5) * weight + bias
    np.testing.assert_allclose(unbiased.numpy(), [0.585539, 6.587314, -0.439154, -2.049387], rtol=2e-6)
    biased = (x - ops.mean(x)) / ops.sqrt(ops.var(x, correction=0) + 1e-5) * weight + bias
    np.testing.assert_allclose(biased.numpy(), unbiased.numpy() * np.sqrt(4 / 3), rtol=1e-5)


def test_dtypes_are_kept_and_cast_when_asked() -> None:
    """Z-T4, X-A13: sums of int8 are int8; means of integers float64."""
    x = tensor(np.array([100, 100], np.int8))
    assert ops.sum(x).item() == -56
    assert ops.sum(x, dtype=np.int64).item() == 200
    assert ops.sum(tensor(np.array([True, True])), dtype=np.int32).item() == 2
    assert ops.mean(x).dtype == np.float64
    assert ops.mean(x, dtype=np.float32).dtype == np.float32
    assert ops.argmax(x).dtype == np.int64


@given(shape=SHAPES, seed=SEEDS)
def test_sum_to_is_the_transpose_of_broadcast_to(shape: tuple[int, ...], seed: int) -> None:
    """Z-T4, Z-F1: <broadcast(x), y> = <x, sum_to(y)>."""
    g = np.random.default_rng(seed)
    small = tuple(1 if g.random() < 0.5 else size for size in shape)[g.integers(0, len(shape)) :]
    x, y = g.standard_normal(small), g.standard_normal(shape)
    found = ops.sum_to(tensor(y), small)
    assert found.shape == small
    np.testing.assert_allclose((found.numpy() * x).sum(), (np.broadcast_to(x, shape) * y).sum(), rtol=1e-10, atol=1e-10)
    check_gradient(lambda y: ops.sum_to(y, small), [y], seed)


x32, mask, whole = (
    tensor(np.ones((2, 3), np.float32), name="x"),
    tensor(np.ones((2, 3), bool)),
    tensor(np.arange(6).reshape(2, 3)),
)
REFUSED: list[tuple[str, Callable[[], Any], type[TypednnError], str]] = [
    ("an axis out of range", lambda: ops.sum(x32, 2), ArgumentError, r"sum.*-2 to 1.*x \(2, 3\)"),
    ("an axis twice", lambda: ops.mean(x32, (0, -2)), ArgumentError, "once"),
    ("half an axis", lambda: ops.max(x32, 0.5), ArgumentError, "max.*0.5"),  # type: ignore[arg-type]
    ("a text", lambda: ops.prod(x32, "rows"), ArgumentError, "prod.*rows"),
    ("a text as an axis", lambda: ops.cumsum(x32, "0"), ArgumentError, "cumsum.*'0'"),  # type: ignore[arg-type]
    ("an array", lambda: ops.sum(np.ones(3)), ArgumentError, "sum.*ndarray"),  # type: ignore[arg-type]
    ("an array of truths", lambda: ops.all(np.ones(3, bool)), ArgumentError, "all.*ndarray"),  # type: ignore[arg-type]
    ("an array of numbers", lambda: ops.any(np.ones(3)), ArgumentError, "any.*ndarray"),  # type: ignore[arg-type]
    ("a sum of truths", lambda: ops.sum(mask), DTypeError, r"sum.*bool.*mask.cast\(np.int64\)"),
    ("running sums of truths", lambda: ops.cumsum(mask, 0), DTypeError, "cumsum.*numbers"),
    ("a deviation of integers", lambda: ops.std(whole), DTypeError, "std.*floats.*int64"),
    ("the largest of none", lambda: ops.max(x32[:0], 0), ShapeError, "max.*a number along each axis"),
    ("the place of none", lambda: ops.argmax(x32[:0], 0), ShapeError, "a number along each axis"),
    ("two axes of a place", lambda: ops.argmin(x32, (0, 1)), ArgumentError, "argmin.*axis"),  # type: ignore[arg-type]
    ("a sum to more", lambda: ops.sum_to(x32, (2, 2)), ShapeError, r"sum_to.*\(2, 3\) to \(2, 2\)"),
    ("logarithms of integers", lambda: ops.logsumexp(whole), DTypeError, "logsumexp.*floats"),
]


@pytest.mark.parametrize(("make", "error", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusals_say_what_is_wrong(make: Callable[[], Any], error: type[TypednnError], said: str) -> None:
    """Z-T4: one clear error when the node is made."""
    with pytest.raises(error, match=f"(?s){said}"):
        make()
