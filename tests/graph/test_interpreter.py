"""The reference: each instruction against NumPy; what it keeps, and for how long."""

import math
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.graph.custom import Function
from typednn.graph.interpreter import contracted, interpret, padded
from typednn.graph.nodes import binary, constant, tensor, unary
from typednn.graph.operations import Binary, Unary
from typednn.graph.program import Contraction, traced

pytestmark = pytest.mark.usefixtures("on_the_reference")


@given(values=st.lists(st.floats(-5, 5), min_size=1, max_size=5), shape=st.sampled_from([(), (1,), (0, 2), (2, 1)]))
def test_the_error_function(values: list[float], shape: tuple[int, ...]) -> None:
    """X-A14: NumPy has none."""
    x = np.resize(np.array(values), shape)
    for dtype in (np.float32, np.float64):
        found = unary(Unary.ERF, tensor(x.astype(dtype))).numpy()
        assert found.dtype == dtype
        assert found.shape == shape
        expected = np.array([math.erf(value) for value in x.astype(dtype).reshape(-1)]).reshape(shape)
        least = float(np.finfo(dtype).smallest_subnormal)  # a result below the normal numbers has fewer digits
        np.testing.assert_allclose(found, expected, rtol=2e-7 if dtype == np.float32 else 1e-15, atol=least)


@given(
    x=st.lists(st.integers(-128, 127), min_size=1, max_size=6),
    y=st.lists(st.integers(-128, 12), min_size=1, max_size=6),
)
def test_integers_to_any_power(x: list[int], y: list[int]) -> None:
    """X-A14: 1 and -1 stay units, of other numbers negative powers leave 0; positive ones wrap as NumPy's do."""
    size = min(len(x), len(y))
    base, exponent = np.array(x[:size], np.int8), np.array(y[:size], np.int8)
    found = binary(Binary.POWER, tensor(base), tensor(exponent)).numpy()
    for a, b, result in zip(base.tolist(), exponent.tolist(), found.tolist(), strict=True):
        expected = a**b if b >= 0 else {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)
        assert result == (expected + 128) % 256 - 128, (a, b)


@given(seed=st.integers(0, 1000))
def test_padding_is_numpys_and_cutting_is_slicing(seed: int) -> None:
    """X-D6"""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rng.integers(2, 5, 2))
    widths = [(int(before), int(after)) for before, after in rng.integers(-1, 3, (2, 2))]
    wide = np.pad(x, 1)[1:-1, 1:-1]
    cut = wide[
        tuple(
            slice(max(-before, 0), size - max(-after, 0)) for (before, after), size in zip(widths, x.shape, strict=True)
        )
    ]
    expected = np.pad(cut, [(max(before, 0), max(after, 0)) for before, after in widths])
    np.testing.assert_array_equal(padded(np, x, widths, expected.shape), expected)


@given(sizes=st.tuples(*[st.integers(1, 3)] * 4), seed=st.integers(0, 1000))
def test_contractions_are_einsums(sizes: tuple[int, int, int, int], seed: int) -> None:
    """Batch, rows, columns and a summed axis, in any order of axes."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(4)
    whole = [sizes[axis] for axis in order]
    where = {axis: int(np.flatnonzero(order == axis)[0]) for axis in range(4)}
    a = rng.normal(size=[1 if axis == 2 else size for axis, size in zip(order, whole, strict=True)])
    b = rng.normal(size=[1 if axis == 1 else size for axis, size in zip(order, whole, strict=True)])
    found = contracted(np, a, b, Contraction(tuple(whole), (where[3],)))
    np.testing.assert_allclose(found, (a * b).sum(axis=where[3]), rtol=1e-12, atol=1e-12)


class Watched(Function):
    """Notes whether the array it saw last is still there."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def forward(self, x: Any) -> Any:
        self.seen.append([each() is not None for each in self.seen if isinstance(each, weakref.ref)])
        self.seen.append(weakref.ref(x))
        return x + 1


def test_arrays_go_after_their_last_use() -> None:
    """X-D9: of a chain never more than two intermediate arrays are held."""
    seen: list[Any] = []
    x = tensor(np.ones(3)) * 2.0
    for _ in range(4):
        x = Watched(seen)(x)
    program, leaves = traced([x.id])
    assert len(leaves) == 1
    (result,) = interpret(program, [np.ones(3)])
    assert result.tolist() == [6, 6, 6]
    alive = [each for each in seen if isinstance(each, list)]
    assert alive == [[], [False], [False, False], [False, False, False]]


def test_results_are_arrays_of_the_nodes_dtype_whatever_their_rank() -> None:
    """X-D8"""
    x = tensor(np.float32([1.0, 2.0]))
    for y in (x.sum(), x.sum() * 2.0, constant(3, np.float32), x.max(), unary(Unary.EXP, x.sum())):
        assert isinstance(y.numpy(), np.ndarray)
        assert y.numpy().shape == ()
        assert y.numpy().dtype == np.float32
    assert tensor(np.int8([100, 100])).sum().numpy() == np.int8(-56)
