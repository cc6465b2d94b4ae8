"""G-L2: embedding, and its derivative with tokens that occur several times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.kernels import embedding

pytestmark = pytest.mark.usefixtures("on_the_reference")

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(
    vocab=st.integers(1, 5),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    features=st.integers(1, 3),
    seed=seeds,
)
def test_embedding(normal, assert_slope, vocab, shape, features, seed):
    """G-L2: a row for each token; the derivative is the sum over all places at which a token stands."""
    tokens = np.random.default_rng(seed).integers(0, vocab, shape)
    weight, next_grad = normal(seed, vocab, features), normal(seed + 1, *shape, features)
    y = embedding.forward(tokens, weight)
    for place, token in np.ndenumerate(tokens):
        np.testing.assert_array_equal(y[place], weight[token])
    assert_slope(
        embedding.backward(next_grad, tokens, vocab),
        lambda weight: embedding.forward(tokens, weight),
        weight,
        next_grad,
    )


def test_the_paddings_row_has_no_gradient(normal):
    tokens, next_grad = np.array([[0, 2, 2], [1, 0, 2]], np.uint8), normal(0, 2, 3, 4)
    whole, without = embedding.backward(next_grad, tokens, 4), embedding.backward(next_grad, tokens, 4, 2)
    np.testing.assert_array_equal(without[2], 0 * whole[2])
    np.testing.assert_array_equal(np.delete(without, 2, 0), np.delete(whole, 2, 0))
    assert abs(whole[2]).min() > 0
