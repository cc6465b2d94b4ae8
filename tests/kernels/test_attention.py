"""Attention: its definition, masks, blocks, and slopes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slopes import assert_slopes

from typednn.kernels import attention
from typednn.kernels.attention import reference
from typednn.kernels.dropout.reference import philox

pytestmark = pytest.mark.usefixtures("on_the_reference")

sizes = st.integers(1, 5)
seeds = st.integers(0, 2**32 - 1)
masks = st.sampled_from([0, 2, 3])


def inputs(seed, batch, time, memory, heads, features, axes_of_mask=0):
    rng = np.random.default_rng(seed)
    q, next_grad = rng.standard_normal((2, batch, time, heads, features))
    k, v = rng.standard_normal((2, batch, memory, heads, features))
    mask = (
        None if not axes_of_mask else rng.random((batch, memory) if axes_of_mask == 2 else (batch, time, memory)) < 0.6
    )
    return q, k, v, mask, next_grad


def by_definition(q, k, v, mask, causal, factors=None):
    """One query at a time, over the keys that it attends to; ``factors`` of the weights are 0 or more than 1."""
    y = np.zeros_like(q)
    for b, t, h in np.ndindex(*q.shape[:3]):
        its_mask = np.ones(k.shape[1], bool) if mask is None else mask[b] if mask.ndim == 2 else mask[b, t]
        places = [j for j in range(k.shape[1]) if its_mask[j] and (j <= t or not causal)]
        if places:
            weights = np.exp([q[b, t, h] @ k[b, j, h] / np.sqrt(q.shape[3]) for j in places])
            weights /= weights.sum()
            if factors is not None:
                weights = weights * factors[b, h, t, places]
            y[b, t, h] = sum(weight * v[b, j, h] for weight, j in zip(weights, places, strict=True))
    return y


@settings(max_examples=40, deadline=None)
@given(batch=sizes, time=sizes, memory=sizes, heads=sizes, features=sizes, mask=masks, causal=st.booleans(), seed=seeds)
def test_forward(batch, time, memory, heads, features, mask, causal, seed):
    """Softmax of the scaled products over what is attended to, times the values; 0 where that is nothing."""
    q, k, v, mask, _ = inputs(seed, batch, time, memory, heads, features, mask)
    np.testing.assert_allclose(
        attention.forward(q, k, v, mask, causal)[0], by_definition(q, k, v, mask, causal), rtol=1e-10, atol=1e-12
    )


@settings(max_examples=40, deadline=None)
@given(batch=sizes, time=sizes, memory=sizes, heads=sizes, features=sizes, mask=masks, causal=st.booleans(), seed=seeds)
def test_slope(batch, time, memory, heads, features, mask, causal, seed):
    q, k, v, mask, next_grad = inputs(seed, batch, time, memory, heads, features, mask)
    slopes = attention.backward(next_grad, q, k, v, mask, *attention.forward(q, k, v, mask, causal), causal)
    assert_slopes(slopes, lambda *qkv: attention.forward(*qkv, mask, causal)[0], (q, k, v), next_grad)


def factors_of(p, key, drawn, batch, heads, time, memory):
    """The factor of each weight, from the published generator: weight (b, h, i, j) has word j//16 % 4
    of one counter.
    """
    factors = np.zeros((batch, heads, time, memory))
    for b, h, i, j in np.ndindex(*factors.shape):
        counter = tuple(np.array([word], np.uint64) for word in (16 * (j // 64) + j % 16, i, b * heads + h, drawn))
        bits = int(philox(np, counter, (key, 0))[j // 16 % 4][0])
        factors[b, h, i, j] = 1 / (1 - p) if (bits + 0.5) / 2**32 > p else 0
    return factors


@settings(max_examples=15, deadline=None)
@given(batch=sizes, time=sizes, memory=st.integers(1, 70), heads=sizes, mask=masks, causal=st.booleans(), seed=seeds)
def test_dropout(batch, time, memory, heads, mask, causal, seed):
    """The weights of the softmax, each times a factor that the generator decides; y of all else is 0."""
    q, k, v, mask, _ = inputs(seed, batch, time, memory, heads, 3, mask)
    p, drawn = (seed % 9 + 1) / 10, seed % 5
    factors = factors_of(p, seed, drawn, batch, heads, time, memory)
    y, log_sums = attention.forward(q, k, v, mask, causal, (p, seed, drawn))
    np.testing.assert_allclose(y, by_definition(q, k, v, mask, causal, factors), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(log_sums, attention.forward(q, k, v, mask, causal)[1])


@settings(max_examples=30, deadline=None)
@given(batch=sizes, time=sizes, memory=sizes, heads=sizes, features=sizes, mask=masks, causal=st.booleans(), seed=seeds)
def test_slope_with_dropout(batch, time, memory, heads, features, mask, causal, seed):
    q, k, v, mask, next_grad = inputs(seed, batch, time, memory, heads, features, mask)
    dropout = seed % 10 / 10, seed, 2
    slopes = attention.backward(
        next_grad, q, k, v, mask, *attention.forward(q, k, v, mask, causal, dropout), causal, dropout
    )
    assert_slopes(slopes, lambda *qkv: attention.forward(*qkv, mask, causal, dropout)[0], (q, k, v), next_grad)


def test_all_dropped():
    q, k, v, mask, next_grad = inputs(0, 2, 3, 4, 2, 3)
    y, log_sums = attention.forward(q, k, v, mask, False, (1.0, 1, 0))
    assert not y.any()
    assert not any(
        slope.any() for slope in attention.backward(next_grad, q, k, v, mask, y, log_sums, False, (1.0, 1, 0))
    )


def test_what_is_dropped_changes_nothing():
    """Even where its value is NaN."""
    q, k, v, mask, next_grad = inputs(0, 1, 4, 5, 1, 3)
    dropout = 0.5, 3, 0
    factors = factors_of(*dropout, 1, 1, 4, 5)[0, 0]
    poisoned = v.copy()
    poisoned[0, 2] = np.nan
    clean, bad = (
        attention.forward(q, k, v, mask, False, dropout),
        attention.forward(q, k, poisoned, mask, False, dropout),
    )
    rows = factors[:, 2] == 0
    assert 0 < rows.sum() < 4
    np.testing.assert_array_equal(bad[0][0, rows], clean[0][0, rows])
    assert np.isnan(bad[0][0, ~rows]).all()
    dq, wanted = (
        attention.backward(next_grad, q, k, x, mask, *y, False, dropout)[0] for x, y in ((poisoned, bad), (v, clean))
    )
    np.testing.assert_allclose(dq[0, rows], wanted[0, rows], rtol=1e-12)


def test_what_attends_to_nothing_gives_nothing():
    """And has no derivative; others are as without it."""
    q, k, v, _, next_grad = inputs(0, 2, 3, 4, 2, 3)
    mask = np.ones((2, 3, 4), bool)
    mask[1, 2] = False
    y, log_sums = attention.forward(q, k, v, mask)
    dq, dk, dv = attention.backward(next_grad, q, k, v, mask, y, log_sums)
    assert not y[1, 2].any()
    assert np.isposinf(log_sums[1, :, 2]).all()
    assert not dq[1, 2].any()
    whole, sums = attention.forward(q, k, v)
    np.testing.assert_array_equal(y[1, :2], whole[1, :2])
    next_grad = next_grad.copy()
    next_grad[1, 2] = 0
    for found, wanted in zip((dq, dk, dv), attention.backward(next_grad, q, k, v, None, whole, sums), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)


@pytest.mark.parametrize("dropout", [None, (0.4, 7, 3)])
def test_blocks_of_queries_give_what_all_at_once_give(monkeypatch, dropout):
    q, k, v, mask, next_grad = inputs(1, 2, 7, 5, 3, 4, 3)
    y, log_sums = attention.forward(q, k, v, mask, True, dropout)
    whole = attention.backward(next_grad, q, k, v, mask, y, log_sums, True, dropout)
    monkeypatch.setattr(reference, "SCORES", 2 * 2 * 3 * 5)  # two queries at a time, and one at the end
    np.testing.assert_allclose(attention.forward(q, k, v, mask, True, dropout)[0], y, rtol=1e-13)
    for found, wanted in zip(
        attention.backward(next_grad, q, k, v, mask, y, log_sums, True, dropout), whole, strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dropout", [None, (0.1, 7, 3)])
def test_no_array_holds_all_scores(dropout):
    """8 heads of 2,048 tokens would have 33 million scores."""
    import tracemalloc

    q, k, v, _, next_grad = (x if x is None else x.astype(np.float32) for x in inputs(0, 1, 2048, 2048, 8, 4))
    tracemalloc.start()
    y, log_sums = attention.forward(q, k, v, None, True, dropout)
    attention.backward(next_grad, q, k, v, None, y, log_sums, True, dropout)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2048 * 2048 * 4 / 8


@pytest.mark.filterwarnings("ignore:invalid value")
@settings(max_examples=30, deadline=None)
@given(mask=masks, causal=st.booleans(), seed=seeds)
def test_special_values_reach_what_attends_to_them(mask, causal, seed):
    """NaN and infinities: by the definition, which reads nothing else."""
    q, k, v, mask, _ = inputs(seed, 2, 6, 5, 2, 3, mask)
    rng = np.random.default_rng(seed)
    v = np.where(rng.random(v.shape) < 0.15, rng.choice([np.nan, np.inf, -np.inf], v.shape), v)
    np.testing.assert_allclose(
        attention.forward(q, k, v, mask, causal)[0], by_definition(q, k, v, mask, causal), rtol=1e-10, atol=1e-12
    )


def test_large_scores_do_not_overflow():
    q, k, v, _, _ = inputs(2, 1, 3, 4, 1, 2)
    y, _ = attention.forward(1e4 * q, k, v)
    best = (q[0, :, 0] @ k[0, :, 0].T).argmax(axis=1)
    np.testing.assert_allclose(y[0, :, 0], v[0, best, 0])
