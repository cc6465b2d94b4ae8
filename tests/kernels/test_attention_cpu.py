"""Attention in Halide against the reference."""

from unittest import mock

import numpy as np
import pytest
from fast_ops import agree, by_reference, needs_halide, numbers, on_every_target, quiet, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting, using
from typednn.kernels import attention
from typednn.kernels.attention import cpu

pytestmark = [needs_halide, quiet]


@pytest.fixture(autouse=True, scope="module")
def any_number_of_queries():
    with mock.patch.object(cpu, "QUERIES", 1):
        yield


# Around the tiles and blocks of any machine, for queries and for keys: 6 and 24, 4, 16, 32 and 64.
lengths = st.one_of(st.integers(1, 10), st.sampled_from([16, 23, 24, 25, 31, 48, 49, 63, 64, 65, 97, 130]))
# Few, as each is a kernel: features, axes of the mask, causal, dtype. 40 and 24 are no whole vectors of every machine.
KERNELS = [(8, 0, True, np.float32), (40, 3, False, np.float32), (24, 2, True, np.float64)]
each = pytest.mark.parametrize(("features", "axes_of_mask", "causal", "dtype"), KERNELS)


def arrays(seed, batch, time, memory, heads, features, axes_of_mask, dtype):
    q, next_grad = (numbers(seed + n, batch, time, heads, features, scale=1.0, dtype=dtype) for n in (0, 1))
    k, v = (numbers(seed + n, batch, memory, heads, features, scale=1.0, dtype=dtype) for n in (2, 3))
    shape = {0: (), 2: (batch, memory), 3: (batch, time, memory)}[axes_of_mask]
    return q, k, v, np.random.default_rng(seed).random(shape) < 0.7 if shape else None, next_grad


# Weights below the smallest normal number of float32 become 0: 1.2e-38, in its roundings.
UNDERFLOW = 1e-31


def weights(q, k, mask, causal):
    """Of what is attended to, the scores, the roundings that they may have, and 1; of all else 0."""
    scale, features = q.shape[3] ** -0.5, q.shape[3]
    scores = np.einsum("bihf,bjhf->bhij", q, k) * scale
    attended = np.ones(scores.shape[2:], bool) if not causal else np.tri(*scores.shape[2:], dtype=bool)
    if mask is not None:
        attended = attended & (mask[:, None, None] if mask.ndim == 2 else mask[:, None])
    # One for each term of a product, and two for the scale and its product, of the size of the terms.
    roundings = (features + 2) * np.einsum("bihf,bjhf->bhij", abs(q), abs(k)) * scale
    return np.where(attended, scores, 0), np.where(attended, roundings, 0), attended


def error(q, k, v, mask, causal):
    """In roundings, worst case: of the weights, relative, and one more for each term of a sum."""
    scores, roundings, attended = weights(q, k, mask, causal)
    top = np.where(attended, scores, -np.inf).max(axis=3, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    p = attended * np.exp(scores - top)
    # The exponent, its difference, and two in exp itself; the sums in numerator and denominator, and the quotient.
    of_weights = (roundings + attended * abs(scores - top)).max(axis=3, keepdims=True) + 2
    p /= np.maximum(p.sum(axis=3, keepdims=True), 1)
    of_y = np.einsum("bhij,bjhf->bihf", p * (2 * (of_weights + k.shape[1]) + 1) + UNDERFLOW, abs(v))
    total = np.maximum((attended * np.exp(scores - top)).sum(axis=3), 1)
    return of_y, (of_weights[..., 0] + k.shape[1] + abs(top[..., 0]) + 3 * np.log(total) + 1)


def error_backward(next_grad, q, k, v, mask, y, log_sums, causal):
    """In roundings, worst case, for dq, dk and dv."""
    scores, roundings, attended = weights(q, k, mask, causal)
    exponents = np.where(attended, scores - np.where(np.isfinite(log_sums), log_sums, 0)[..., None], 0)
    p = attended * np.exp(exponents)
    of_weights = roundings + abs(exponents) + 2
    # |dy|·|v| + |dy|·|y| bounds both products and their difference; as many roundings as features in each.
    slopes = (
        np.einsum("bihf,bjhf->bhij", abs(next_grad), abs(v))
        + np.einsum("bihf,bihf->bhi", abs(next_grad), abs(y))[..., None]
    )
    slopes *= q.shape[3] ** -0.5
    dscores = p * slopes
    of_dscores = dscores * (of_weights + q.shape[3] + 4) + UNDERFLOW * slopes
    of_dq = np.einsum("bhij,bjhf->bihf", of_dscores + k.shape[1] * dscores, abs(k))
    of_dk = np.einsum("bhij,bihf->bjhf", of_dscores + q.shape[1] * dscores, abs(q))
    return of_dq, of_dk, np.einsum("bhij,bihf->bjhf", p * (of_weights + q.shape[1]) + UNDERFLOW, abs(next_grad))


@each
@settings(max_examples=12, deadline=None)
@given(batch=st.integers(1, 3), time=lengths, memory=lengths, heads=st.integers(1, 3), seed=seeds)
def test_forward_and_backward(features, axes_of_mask, causal, dtype, batch, time, memory, heads, seed):
    q, k, v, mask, next_grad = arrays(seed, batch, time, memory, heads, features, axes_of_mask, dtype)
    y, log_sums = agree(attention.forward, q, k, v, mask, causal, magnitude=error, ulps=1)
    agree(attention.backward, next_grad, q, k, v, mask, y, log_sums, causal, magnitude=error_backward, ulps=1)


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("dropout", [None, (0.3, 2**40 + 3, 5)], ids=["", "dropout"])
@each
@settings(max_examples=12, deadline=None)
@given(batch=st.integers(1, 3), time=lengths, heads=st.integers(1, 3), seed=seeds)
def test_a_sequence_that_attends_to_itself(
    features, axes_of_mask, causal, dtype, dropout, engine, batch, time, heads, seed
):
    """q, k and v in one array: the bits of three arrays, forward and backward."""
    q, k, v, mask, next_grad = arrays(seed, batch, time, time, heads, features, axes_of_mask, dtype)
    qkv, wide = np.stack([q, k, v], axis=2).reshape(batch, time, -1), (batch, time, heads * features)
    with using(engine), counting() as ran:
        y, log_sums = attention.self_forward(qkv, heads, mask, causal, dropout)
        of_parts = attention.forward(q, k, v, mask, causal, dropout)
        dqkv = attention.self_backward(next_grad.reshape(wide), qkv, mask, y, log_sums, causal, dropout)
        slopes = attention.backward(next_grad, q, k, v, mask, *of_parts, causal, dropout)
    one = engine == "fast" and time == 1 and mask is None and not causal and dropout is None
    equal = np.testing.assert_allclose if one else np.testing.assert_array_equal  # one query has a kernel of its own
    equal(y, of_parts[0].reshape(wide), **({"rtol": 1e-5} if one else {}))
    equal(log_sums, of_parts[1], **({"rtol": 1e-5} if one else {}))
    if not one:
        np.testing.assert_array_equal(dqkv, np.stack(slopes, axis=2).reshape(qkv.shape))
    if engine == "fast":
        assert ran["self_attention.forward", "halide"] == ran["self_attention.backward", "halide"] == 1


@each
@settings(max_examples=12, deadline=None)
@given(
    batch=st.integers(1, 3),
    time=lengths,
    memory=lengths,
    heads=st.integers(1, 3),
    p=st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    key=st.integers(0, 2**64 - 1),
    drawn=st.integers(0, 2**40),
    seed=seeds,
)
def test_dropout(features, axes_of_mask, causal, dtype, batch, time, memory, heads, p, key, drawn, seed):
    """The kernel draws the reference's bits, forward and backward."""
    q, k, v, mask, next_grad = arrays(seed, batch, time, memory, heads, features, axes_of_mask, dtype)
    dropout = p, key, drawn

    def larger(found):
        return lambda *arguments: tuple(each / (1 - p) for each in found(*arguments[:-1]))

    with counting() as counts:
        y, log_sums = agree(attention.forward, q, k, v, mask, causal, dropout, magnitude=larger(error), ulps=1)
        given = next_grad, q, k, v, mask, y, log_sums, causal, dropout
        agree(attention.backward, *given, magnitude=larger(error_backward), ulps=1)
    assert counts["attention.forward", "halide"]
    assert counts["attention.backward", "halide"]


def test_dropout_of_one_weight_after_another():
    """Values that are a unit matrix make y the weights: those that are 0 are the reference's, in the 65 keys around a
    block of bits.
    """
    q, k, _, _, _ = arrays(0, 1, 65, 65, 1, 72, 0, np.float32)
    v = np.eye(65, 72, dtype=np.float32).reshape(1, 65, 1, 72)
    both, dropout = (attention.forward, by_reference(attention.forward)), (0.5, 2**63 + 5, 2**31 + 1)
    found, wanted = (forward(q, k, v, None, False, dropout)[0] for forward in both)
    np.testing.assert_array_equal(found == 0, wanted == 0)
    assert 0.4 < (found[..., :65] == 0).mean() < 0.6


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_dropout_that_meets_special_numbers(special):
    q, k, v, mask, next_grad = arrays(0, 1, 20, 20, 1, 8, 0, np.float32)
    bad = v.copy()
    bad[0, 7, 0, 3] = special
    dropout = 0.5, 1, 2
    y, log_sums = agree(attention.forward, q, k, bad, mask, True, dropout, magnitude=lambda *_: 100.0)
    assert np.isfinite(y[..., 3]).any()
    given = next_grad, q, k, bad, mask, y, log_sums, True, dropout
    agree(attention.backward, *given, magnitude=lambda *_: 100.0)


@pytest.mark.parametrize(("features", "dtype"), [(8, np.float32), (40, np.float32), (64, np.float32), (24, np.float64)])
@settings(max_examples=12, deadline=None)
@given(batch=st.integers(1, 3), memory=lengths, heads=st.integers(1, 3), seed=seeds, size=st.sampled_from([1.0, 30.0]))
def test_one_query(features, dtype, batch, memory, heads, seed, size):
    q, k, v, mask, _ = arrays(seed, batch, 1, memory, heads, features, 0, dtype)
    with counting() as counts:
        agree(attention.forward, dtype(size) * q, k, v, mask, False, magnitude=error, ulps=1)
    assert counts["attention.forward", "halide"]


@pytest.mark.parametrize("array", [0, 1, 2])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_one_query_that_meets_special_numbers(array, special):
    given = [each.copy() for each in arrays(0, 2, 1, 21, 2, 8, 0, np.float32)[:3]]
    given[array][1, -1, 0, 2] = special
    agree(attention.forward, *given, None, False, magnitude=lambda *_: 100.0)


def test_large_scores_and_what_attends_to_nothing():
    q, k, v, mask, next_grad = arrays(0, 2, 50, 70, 2, 40, 3, np.float32)
    mask[1, 7], mask[0, :, 3] = False, False
    q = 100 * q
    y, log_sums = agree(attention.forward, q, k, v, mask, False, magnitude=error, ulps=1)
    assert not y[1, 7].any()
    dq, *_ = agree(attention.backward, next_grad, q, k, v, mask, y, log_sums, False, magnitude=error_backward, ulps=1)
    assert not dq[1, 7].any()


def test_nan_stays_in_its_row_and_in_what_it_meets():
    q, k, v, mask, _ = arrays(0, 1, 20, 20, 1, 8, 0, np.float32)
    q, k, v = q.copy(), k.copy(), v.copy()
    q[0, 3, 0, 2] = k[0, 12, 0, 1] = v[0, 15, 0, 4] = np.nan
    y, _ = agree(attention.forward, q, k, v, mask, True, magnitude=lambda *_: 100.0)
    assert np.isnan(y[0, 3]).all()
    assert np.isnan(y[0, 12:]).all()
    assert np.isfinite(y[0, [*range(3), *range(4, 12)]]).all()


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_not_attended_to_changes_nothing(special):
    """No query attends to later keys: those from 12 on, and then the queries before 8, are special."""
    q, k, v, _, next_grad = arrays(0, 1, 20, 20, 1, 8, 0, np.float32)
    clean, sums = attention.forward(q, k, v, None, True)
    slopes = attention.backward(next_grad, q, k, v, None, clean, sums, True)
    bad_k, bad_v, bad_q, bad_grad = k.copy(), v.copy(), q.copy(), next_grad.copy()
    bad_v[0, 12:, 0, 3] = bad_k[0, 12:, 0, 1] = bad_q[0, :8, 0, 1] = bad_grad[0, :8, 0, 2] = special
    for forward, backward in (
        (attention.forward, attention.backward),
        (by_reference(attention.forward), by_reference(attention.backward)),
    ):
        y, _ = forward(q, k, bad_v, None, True)
        np.testing.assert_allclose(y[0, :12], clean[0, :12], rtol=1e-5, atol=1e-6)
        assert not np.isfinite(y[0, 12:, 0, 3]).any()
        y, log_sums = forward(q, bad_k, bad_v, None, True)
        np.testing.assert_allclose(y[0, :12], clean[0, :12], rtol=1e-5, atol=1e-6)
        dq, *_ = backward(next_grad, q, bad_k, bad_v, None, y, log_sums, True)
        np.testing.assert_allclose(dq[0, :12], slopes[0][0, :12], rtol=1e-4, atol=1e-5)
        y, log_sums = forward(bad_q, k, v, None, True)
        _, dk, dv = backward(bad_grad, bad_q, k, v, None, y, log_sums, True)
        np.testing.assert_allclose(dk[0, 8:], slopes[1][0, 8:], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(dv[0, 8:], slopes[2][0, 8:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("time", "features", "dropout", "engine"),
    [
        (16, 8, None, "halide"),
        (15, 8, None, "reference"),
        (16, 6, None, "reference"),
        (16, 8, (1.0, 1, 0), "reference"),
    ],
)
def test_few_queries_other_features_and_nothing_kept_are_left_to_the_reference(
    monkeypatch, time, features, dropout, engine
):
    monkeypatch.setattr(cpu, "QUERIES", 16)
    q, k, v, mask, next_grad = arrays(0, 1, time, 20, 1, features, 0, np.float32)
    with counting() as counts:
        attention.backward(next_grad, q, k, v, mask, *attention.forward(q, k, v, mask, True, dropout), True, dropout)
    assert dict(counts) == {("attention.forward", engine): 1, ("attention.backward", engine): 1}


def test_on_every_target(tmp_path):
    float32 = np.dtype(np.float32)
    for kernel in (
        *cpu._kernels[8, 0, True, float32],
        *cpu._kernels[8, 0, True, float32, True],
        cpu._of_one_query[40, float32],
    ):
        on_every_target(kernel, tmp_path, extent=7)
