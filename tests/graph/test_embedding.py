"""embed, against NumPy; gradients by central differences."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, kinds_of, values
from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.graph.embedding import embed
from typednn.graph.kinds import Kind
from typednn.graph.nodes import tensor
from typednn.graph.whole import decomposed

pytestmark = pytest.mark.usefixtures("on_the_reference")
both = pytest.mark.parametrize("mode", [nullcontext, decomposed], ids=["whole", "decomposed"])
shapes = st.lists(st.integers(1, 4), max_size=3).map(tuple)


@both
@given(
    shape=shapes,
    vocab=st.integers(1, 5),
    features=st.integers(1, 3),
    dtype=st.sampled_from([np.int64, np.int32, np.uint8]),
)
def test_rows_for_tokens(mode: Any, shape: Any, vocab: int, features: int, dtype: Any) -> None:
    """Z-F1, Z-T5, X-D7: tokens of any shape; a row's derivative is the sum over its places."""
    rng = np.random.default_rng(0)
    weight, tokens = rng.normal(size=(vocab, features)), np.asarray(rng.integers(0, vocab, shape), dtype)
    with mode():
        np.testing.assert_array_equal(values(embed, weight, tokens), weight[tokens])
        check_gradients(embed, weight, tokens)


def test_one_node_or_the_twelve_kinds() -> None:
    """X-D7: gathering rows is a comparison and a product where it is decomposed."""
    weight, tokens = tensor(np.ones((3, 2))), tensor(np.array([[0, 2]]))
    assert kinds_of(embed(weight, tokens)) == [Kind.CUSTOM]
    with decomposed():
        assert Kind.CUSTOM not in kinds_of(embed(weight, tokens))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda w, t: embed(w, t.cast(np.float64)), DTypeError),
        (lambda w, t: embed(w[0], t), ShapeError),
        (lambda w, t: embed(w, tensor(np.array([3]))), ArgumentError),
        (lambda w, t: embed(w, tensor(np.array([-1]))), ArgumentError),
    ],
)
@both
def test_refusals(call: Any, error: Any, mode: Any) -> None:
    with mode(), pytest.raises(error):
        call(tensor(np.ones((3, 2))), tensor(np.array([0, 2])))


def test_a_wrong_token_that_is_computed_is_refused_when_it_is_known() -> None:
    """It is not read from another row."""
    tokens = tensor(np.array([1, 2])) + 1
    with pytest.raises(ArgumentError, match="0 to 2"):
        embed(tensor(np.ones((3, 2))), tokens).numpy()
