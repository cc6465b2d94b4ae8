"""Attention, against the formula in NumPy; gradients by central differences."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from graph_rows import check_gradient
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import check_gradients, kinds_of, values
from typednn.errors import ArgumentError, DTypeError, ShapeError
from typednn.graph.attention import attention, join_heads, rope, split_heads
from typednn.graph.kinds import Kind
from typednn.graph.nodes import tensor
from typednn.graph.whole import decomposed

pytestmark = pytest.mark.usefixtures("on_the_reference")
both = pytest.mark.parametrize("mode", [nullcontext, decomposed], ids=["whole", "decomposed"])


def attended(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float | None = None, factors: Any = 1.0) -> Any:
    """Each query by itself."""
    batch, time, heads, features = q.shape
    y = np.zeros((batch, time, heads, v.shape[3]))
    for b, t, h in np.ndindex(batch, time, heads):
        allowed = np.ones(k.shape[1], bool) if mask is None else mask[b] if mask.ndim == 2 else mask[b, t]
        allowed = allowed & (np.arange(k.shape[1]) <= t) if causal else allowed
        scores = (k[b, allowed, h] @ q[b, t, h]) * (features**-0.5 if scale is None else scale)
        if len(scores):
            powers = np.exp(scores - scores.max())
            y[b, t, h] = (
                powers / powers.sum() * np.broadcast_to(factors, (batch, heads, time, k.shape[1]))[b, h, t, allowed]
            ) @ v[b, allowed, h]
    return y


def draw_arrays(data: st.DataObject, own_values: bool = False) -> tuple[Any, ...]:
    batch, time, memory, heads, features = (data.draw(st.integers(1, 4)) for _ in range(5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    others = data.draw(st.integers(1, 3)) if own_values else features
    return rng, *(
        rng.normal(size=(batch, length, heads, each))
        for length, each in ((time, features), (memory, features), (memory, others))
    )


@both
@given(data=st.data(), causal=st.booleans(), masked=st.sampled_from([None, 2, 3]))
def test_every_query_reads_by_its_scores(mode: Any, data: st.DataObject, causal: bool, masked: int | None) -> None:
    """Z-F1, X-D7: heads, causal and masked; a query that attends to nothing gets zeros, and so does its derivative."""
    rng, q, k, v = draw_arrays(data)
    shape = {2: (len(q), k.shape[1]), 3: (len(q), q.shape[1], k.shape[1])}
    mask = None if masked is None else rng.random(shape[masked]) > 0.4
    arrays = [q, k, v, *([] if mask is None else [mask])]

    def function(*t):
        return attention(*t, causal=causal)

    with mode():
        np.testing.assert_allclose(values(function, *arrays), attended(q, k, v, mask, causal), rtol=1e-9, atol=1e-9)
        check_gradients(function, *arrays)


@given(data=st.data())
def test_scale_dropout_and_other_features(data: st.DataObject) -> None:
    """What the op does not have is composed."""
    rng, q, k, v = draw_arrays(data, own_values=True)
    stays = rng.random((len(q), q.shape[2], q.shape[1], k.shape[1])) > 0.3

    def function(q, k, v):
        return attention(q, k, v, scale=0.3, dropout=(0.25, tensor(stays)))

    np.testing.assert_allclose(
        values(function, q, k, v), attended(q, k, v, None, False, 0.3, stays / 0.75), rtol=1e-9, atol=1e-9
    )
    check_gradients(function, q, k, v)


def test_heads_split_and_join() -> None:
    x = np.arange(24.0).reshape(1, 2, 12)
    np.testing.assert_array_equal(values(lambda x: split_heads(x, 3), x), x.reshape(1, 2, 3, 4))
    np.testing.assert_array_equal(values(lambda x: join_heads(split_heads(x, 3)), x), x)


def test_made_of_the_twelve_kinds() -> None:
    """X-D7: no custom node where it is decomposed."""
    q = tensor(np.ones((1, 2, 1, 2)))
    assert Kind.CUSTOM in kinds_of(attention(q, q, q))
    with decomposed():
        assert Kind.CUSTOM not in kinds_of(attention(q, q, q, causal=True))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda q: attention(q[0], q, q), ShapeError),
        (lambda q: attention(q, q, q[:, :1]), ShapeError),
        (lambda q: attention(q, q, q, tensor(np.ones((1, 2)))), DTypeError),
        (lambda q: attention(q, q, q, tensor(np.ones((1, 3), bool))), ShapeError),
        (lambda q: attention(q, q, q.cast(np.float32)), DTypeError),
        (lambda q: split_heads(q, 2), ShapeError),
        (lambda q: split_heads(q[0], 3), ArgumentError),
        (lambda q: join_heads(q[0]), ShapeError),
    ],
)
@both
def test_refusals(call: Any, error: Any, mode: Any) -> None:
    with mode(), pytest.raises(error):
        call(tensor(np.ones((1, 2, 1, 2))))


def test_rope_turns_pairs_by_their_place() -> None:
    """X-A15: each pair is a complex number times exp(i·angle); the product of two depends on their distance alone."""
    x = np.random.default_rng(0).standard_normal((2, 5, 3, 8))
    angles = np.arange(4, 9)[:, None, None] * 100.0 ** (-2 * np.arange(4) / 8)
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    want = np.stack([turned.real, turned.imag], -1).reshape(x.shape)
    np.testing.assert_allclose(rope(tensor(x), base=100.0, first=4).numpy(), want, rtol=1e-12, atol=1e-12)
    check_gradient(rope, [x[:1, :2, :2, :4]], 0)
    with pytest.raises(ShapeError, match=r"rope.*even"):
        rope(tensor(x[..., :7]))
    with pytest.raises(ArgumentError, match=r"rope.*base"):
        rope(tensor(x), base=0.0)
    with pytest.raises(ArgumentError, match=r"rope.*first must be an integer of at least 0, got -1"):
        rope(tensor(x), first=-1)
