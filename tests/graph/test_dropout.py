"""dropout of the graph: which numbers go, what the others become, and that the mean stays."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, gradients, values
from typednn.errors import ArgumentError, DTypeError, OutOfMemory, ShapeError
from typednn.graph.dropout import dropout
from typednn.graph.nodes import tensor

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


@given(shape=shapes, p=st.sampled_from([0.0, 0.25, 0.9, 1.0]))
def test_by_given_numbers(shape: Any, p: float) -> None:
    """Z-F4: y = x/(1 - p) where u > p; a number that is infinite goes like any other."""
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=shape), rng.random(shape)
    expected = np.where(u > p, x / (1 - p) if p < 1 else 0, 0)
    np.testing.assert_allclose(values(lambda x, u: dropout(x, p, u), x, u), expected, rtol=1e-12)
    check_gradients(lambda x: dropout(x, p, tensor(u)), x)
    np.testing.assert_array_equal(
        values(lambda x: dropout(x, 0.5, tensor(np.zeros(shape, bool))), np.full(shape, np.inf)), np.zeros(shape)
    )


def test_whole_channels_by_a_mask_that_broadcasts() -> None:
    """Z-F4: a mask of booleans, one for each channel."""
    x, stays = np.ones((2, 3, 2)), np.array([[[True, False]], [[False, False]]])
    np.testing.assert_array_equal(
        values(lambda x, s: dropout(x, 0.5, s), x, stays), np.broadcast_to(2.0 * stays, x.shape)
    )


def test_the_mean_stays() -> None:
    """Z-F4: over 100,000 numbers within four deviations; forward and backward use one mask."""
    x, p = np.ones(100_000), 0.3
    rng = np.random.default_rng(1)
    y = values(lambda x: dropout(x, p, rng), x)
    assert abs(y.mean() - 1) < 4 * np.sqrt(p / (1 - p) / len(x))
    assert set(np.unique(y)) == {0.0, 1 / (1 - p)}
    same = np.random.default_rng(2), np.random.default_rng(2)
    drawn = values(lambda x: dropout(x, p, same[0]), x)
    np.testing.assert_array_equal(gradients(lambda x: dropout(x, p, same[1]), x, next_grad=1.0)[0], drawn)


def test_evaluation_changes_nothing() -> None:
    """Z-F4: the same tensor."""
    x = tensor(np.ones(3))
    assert dropout(x, 0.5, np.random.default_rng(0), training=False) is x


def test_numbers_beyond_memory() -> None:
    with pytest.raises(OutOfMemory, match="dropout: its arrays must fit"):
        dropout(tensor(np.ones(1)).expand(2**60), 0.5, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: dropout(x, 1.5, x), ArgumentError),
        (lambda x: dropout(x, 0.5, 7), ArgumentError),
        (lambda x: dropout(x, 0.5, tensor(np.ones(4))), ShapeError),
        (lambda x: dropout(x, 0.5, tensor(np.ones(3, np.int64))), DTypeError),
    ],
)
def test_refusals(call: Any, error: Any) -> None:
    with pytest.raises(error):
        call(tensor(np.ones(3)))
