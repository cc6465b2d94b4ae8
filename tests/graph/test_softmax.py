"""softmax and log_softmax, against NumPy in float64; gradients by central differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import arithmetic, check_gradients, kinds_of, values
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import Kind
from typednn.graph.nodes import realize, tensor
from typednn.graph.softmax import log_softmax, softmax
from typednn.graph.tape import Tape

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


def shares(x: Any, axis: int) -> Any:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


@given(shape=shapes, axis=st.integers(-3, 2))
def test_shares_and_their_logarithms(shape: Any, axis: int) -> None:
    """Z-F1: of any axis."""
    axis = axis % len(shape) - (len(shape) if axis < 0 else 0)
    x = np.random.default_rng(0).normal(size=shape) * 5
    np.testing.assert_allclose(values(lambda x: softmax(x, axis), x), shares(x, axis), rtol=1e-12)
    np.testing.assert_allclose(
        values(lambda x: log_softmax(x, axis), x), np.log(shares(x, axis)), rtol=1e-10, atol=1e-12
    )
    check_gradients(lambda x: softmax(x, axis), x)
    check_gradients(lambda x: log_softmax(x, axis), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores_and_small_shares(dtype: Any) -> None:
    """Nothing overflows, a share beyond the smallest float has its logarithm, and one of nearly 1 keeps its distance
    from it.
    """
    x = np.array([[1e4, 0.0, -1e4], [0.0, -np.inf, 0.0], [0.0, -30.0, -np.inf]], dtype)
    np.testing.assert_allclose(values(softmax, x)[:2], [[1, 0, 0], [0.5, 0, 0.5]])
    found = values(log_softmax, x)
    np.testing.assert_allclose(found[0], [0, -1e4, -2e4])
    np.testing.assert_allclose(found[1], [-np.log(2), -np.inf, -np.log(2)], rtol=1e-6)
    assert -1e-12 < found[2, 0] <= 0
    assert found.dtype == dtype


def test_of_few_operations() -> None:
    """X-D7: from the twelve kinds, five operations and six; the gradient knows no maximum."""
    x = tensor(np.ones((2, 3)))
    for function, most in ((softmax, 5), (log_softmax, 6)):
        y = function(x)
        assert arithmetic(y) == most
        assert Kind.CUSTOM not in kinds_of(y)
        with Tape() as tape:
            y = function(x)
            before = len(GRAPH)
            (dx,) = tape.gradient((y * y).sum(), [x])
            assert dx is not None
            assert len(GRAPH) - before < 30


def test_higher_derivatives() -> None:
    """of log Σ exp, whose second derivative is that of the shares."""
    x, axis = np.random.default_rng(1).normal(size=4), 0
    given = tensor(x)
    with Tape() as tape:
        y = -log_softmax(given)[0] + given[0]  # log Σ exp
        (first,) = tape.gradient_persistent(y, [given], zeros=True)
        (second,) = tape.gradient(first[1], [given], zeros=True)
    p = shares(x, axis)
    realize(first, second)
    np.testing.assert_allclose(first.numpy(), p, rtol=1e-12)
    np.testing.assert_allclose(second.numpy(), p * ((np.arange(4) == 1) - p[1]), rtol=1e-10)


def test_nothing_is_left_behind() -> None:
    """the maximum, which no tape records, goes with the rest."""
    x = tensor(np.ones((2, 3)))
    before = len(GRAPH)
    for _ in range(3):
        with Tape() as tape:
            y = softmax(x)
            (dx,) = tape.gradient((y * y).sum(), [x], zeros=True)
            realize(y, dx)
        del y, dx
        assert len(GRAPH) == before
