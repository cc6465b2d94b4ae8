"""Attention: each query's mean of the values, weighted by how well it fits their keys.

s_ij = scale·q_i·k_j    p_ij = exp(s_ij - L_i), where L_i = log Σ_j exp(s_ij)    y_i = Σ_j p_ij v_j
scale = 1/√features
dv_j = Σ_i p_ij dy_i    ds_ij = p_ij (dy_i·v_j - dy_i·y_i)    dq_i = scale Σ_j ds_ij k_j    dk_j = scale Σ_i ds_ij q_i

q, y (batch, time, heads, features)   k, v (batch, memory, heads, features)   L, called log_sums (batch, heads, time)
The sums over j are over the places that query i attends to: j <= i where it is ``causal``, and where ``mask``, (batch,
memory) or (batch, time, memory), is true. A query that attends to nothing gives 0, and all derivatives through it are
0; its L is infinite. What a query does not attend to, or with a weight of 0, changes nothing of its own, even where it
is NaN or infinite: 0·NaN counts as 0 (on NumPy). ``dropout`` is a probability, a key, and how many masks were drawn
before: y_i = Σ_j m_ij p_ij v_j, where m_ij is 0 with this probability, else 1/(1 - probability), by Philox's bits of a
head's number and of i and j (`typednn.kernels.dropout.reference`). Then dv_j = Σ_i m_ij p_ij dy_i and ds_ij = p_ij
(m_ij dy_i·v_j - dy_i·y_i).

Where a sequence attends to itself, q, k and v are one array, which one product of matrices gives: qkv (batch, time,
3·heads·features). Then y is (batch, time, heads·features).

Some queries are computed at a time; of all scores, time·memory numbers for each head, only L is kept. Backward computes
scores and m again. 4·time·memory·features flops for each head forward, 10 backward, about half of it where it is
causal.
Sources: Vaswani et al. 2017, "Attention Is All You Need", eq 1; Milakov & Gimelshein 2018, "Online normalizer
calculation for softmax"; Dao et al. 2022, "FlashAttention", for the kept L and the second computation; dropout:
Srivastava et al. 2014.
"""

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from typednn.arrays import AnyBoolArray, Array3, Array4, namespace
from typednn.kernels.dropout.reference import bits_of_rows, least_kept

# the probability of a weight to become 0, a key, and how many masks were drawn before
Drawn: TypeAlias = tuple[float, int, int]
# Scores in each of the arrays that are held at a time, about: as many as fit into a cache; on a GPU 256 MiB of float32
# for each of several arrays, as each block starts a dozen kernels.
SCORES, SCORES_ON_GPU = 1 << 18, 1 << 26


def forward(
    q: Float[Array4, "batch time heads features"],
    k: Float[Array4, "batch memory heads features"],
    v: Float[Array4, "batch memory heads features"],
    mask: Bool[AnyBoolArray, "batch ... memory"] | None = None,
    causal: bool = False,
    dropout: Drawn | None = None,
) -> tuple[Float[Array4, "batch time heads features"], Float[Array3, "batch heads time"]]:
    """y and log_sums."""
    xp = namespace(q)
    batch, time, heads, _ = q.shape
    y, log_sums = xp.empty_like(q), xp.empty((batch, heads, time), dtype=q.dtype)
    for rows, scores in _scores(q, k, mask, causal):
        largest = scores.max(axis=3, keepdims=True)
        largest = xp.where(largest == -math.inf, 0.0, largest).astype(q.dtype)
        weights = xp.exp(scores - largest)
        totals = weights.sum(axis=3, keepdims=True)
        nothing = totals == 0.0
        totals = xp.where(nothing, 1.0, totals).astype(q.dtype)
        if dropout is not None:
            weights = weights * _factors(weights, rows, dropout)
        y[:, rows] = (_product(weights, by_heads(v)) / totals).transpose(0, 2, 1, 3)
        log_sums[:, :, rows] = xp.where(nothing, math.inf, largest + xp.log(totals))[..., 0]
    return y, log_sums


def backward(
    next_grad: Float[Array4, "batch time heads features"],
    q: Float[Array4, "batch time heads features"],
    k: Float[Array4, "batch memory heads features"],
    v: Float[Array4, "batch memory heads features"],
    mask: Bool[AnyBoolArray, "batch ... memory"] | None,
    y: Float[Array4, "batch time heads features"],
    log_sums: Float[Array3, "batch heads time"],
    causal: bool = False,
    dropout: Drawn | None = None,
) -> tuple[
    Float[Array4, "batch time heads features"],
    Float[Array4, "batch memory heads features"],
    Float[Array4, "batch memory heads features"],
]:
    """(dq, dk, dv), from what `forward` gave."""
    xp, scale = namespace(q), q.shape[3] ** -0.5
    dq, dk, dv = xp.empty_like(q), xp.zeros_like(k), xp.zeros_like(v)
    for rows, scores in _scores(q, k, mask, causal):
        dy, its_q = by_heads(next_grad[:, rows]), by_heads(q[:, rows])
        weights = xp.where(scores == -math.inf, 0, xp.exp(scores - log_sums[:, :, rows, None])).astype(q.dtype)
        mean = (next_grad[:, rows] * y[:, rows]).sum(axis=3).transpose(0, 2, 1)[..., None]
        dweights, used = dy @ v.transpose(0, 2, 3, 1), weights
        if dropout is not None:
            factors = _factors(weights, rows, dropout)
            dweights, used = xp.where(factors == 0, 0, dweights * factors), weights * factors
        dscores = xp.where(weights == 0, 0, weights * (dweights - mean) * scale).astype(q.dtype)
        dq[:, rows] = _product(dscores, by_heads(k)).transpose(0, 2, 1, 3)
        dk += _product(dscores.transpose(0, 1, 3, 2), its_q).transpose(0, 2, 1, 3)
        dv += _product(used.transpose(0, 1, 3, 2), dy).transpose(0, 2, 1, 3)
    return dq, dk, dv


def self_forward(
    qkv: Float[Array3, "batch time packed"],
    heads: int,
    mask: Bool[AnyBoolArray, "batch ... time"] | None = None,
    causal: bool = False,
    dropout: Drawn | None = None,
) -> tuple[Float[Array3, "batch time packed//3"], Float[Array3, "batch {heads} time"]]:
    """y and log_sums of a sequence that attends to itself."""
    y, log_sums = forward(*parts(qkv, heads), mask, causal, dropout)
    joined: Array3 = y.reshape(*qkv.shape[:2], -1)
    return joined, log_sums


def self_backward(
    next_grad: Float[Array3, "batch time embed_dim"],
    qkv: Float[Array3, "batch time 3*embed_dim"],
    mask: Bool[AnyBoolArray, "batch ... time"] | None,
    y: Float[Array3, "batch time embed_dim"],
    log_sums: Float[Array3, "batch heads time"],
    causal: bool = False,
    dropout: Drawn | None = None,
) -> Float[Array3, "batch time 3*embed_dim"]:
    """dqkv, from what `self_forward` gave."""
    q, k, v = parts(qkv, log_sums.shape[1])
    derivatives = backward(next_grad.reshape(q.shape), q, k, v, mask, y.reshape(q.shape), log_sums, causal, dropout)
    joined: Array3 = namespace(qkv).stack(derivatives, axis=2).reshape(qkv.shape)
    return joined


def parts(
    qkv: Float[Array3, "batch time packed"], heads: int
) -> tuple[
    Float[Array4, "batch time {heads} _"], Float[Array4, "batch time {heads} _"], Float[Array4, "batch time {heads} _"]
]:
    """Views of q, k and v."""
    by_place: Any = qkv.reshape(*qkv.shape[:2], 3, heads, -1)
    return by_place[:, :, 0], by_place[:, :, 1], by_place[:, :, 2]


def by_heads(x: Float[Array4, "batch time heads features"]) -> Float[Array4, "batch heads time features"]:
    """(batch, heads, time, features): one matrix for each head."""
    return x.transpose(0, 2, 1, 3)


def attended(time: int, memory: int, causal: bool) -> int:
    """How many pairs of a query and a key there are, without a mask."""
    first = min(time, memory)
    return first * (first + 1) // 2 + (time - first) * memory if causal else time * memory


def _factors(
    weights: Float[Array4, "batch heads rows memory"], rows: slice, dropout: Drawn
) -> Float[Array4, "batch heads rows memory"]:
    """The m of some rows."""
    xp, (p, key, drawn) = namespace(weights), dropout
    if p >= 1:
        zeros: Array4 = xp.zeros_like(weights)
        return zeros
    batch, heads, _, memory = weights.shape
    kept = bits_of_rows(xp, batch * heads, rows, memory, key, drawn) >= least_kept(p)
    factors: Array4 = xp.where(kept, 1 / (1 - p), 0).astype(weights.dtype).reshape(weights.shape)
    return factors


def _product(
    weights: Float[Array4, "batch heads rows columns"], x: Float[Array4, "batch heads columns features"]
) -> Float[Array4, "batch heads rows features"]:
    """weights @ x, in which a weight of 0 leaves out even what is NaN or infinite; but on a GPU, which the look for
    them would halt.
    """
    if namespace(x) is not np or np.isfinite(x).all():
        return weights @ x
    product, present = weights @ np.where(np.isfinite(x), x, 0).astype(x.dtype), np.sign(weights)
    for sign in (1, -1):
        for special, places in ((math.inf, x == math.inf), (-math.inf, x == -math.inf), (math.nan, np.isnan(x))):
            counts = (present == sign).astype(x.dtype) @ places.astype(x.dtype)
            product = product + np.where(counts > 0, sign * special, 0).astype(x.dtype)
    return product


def _scores(
    q: Float[Array4, "batch time heads features"],
    k: Float[Array4, "batch memory heads features"],
    mask: Bool[AnyBoolArray, "batch ... memory"] | None,
    causal: bool,
) -> Iterator[tuple[slice, Any]]:
    """Some queries at a time, and their scores (batch, heads, rows, memory): -∞ where a query does not attend."""
    xp, (batch, time, heads, features), memory = namespace(q), q.shape, k.shape[1]
    some = max(1, (SCORES if xp is np else SCORES_ON_GPU) // (batch * heads * memory))
    for start in range(0, time, some):
        rows = slice(start, min(start + some, time))
        scores = by_heads(q[:, rows]) @ k.transpose(0, 2, 3, 1) * features**-0.5
        if causal:
            earlier = xp.arange(memory) <= xp.arange(start, rows.stop)[:, None]
            scores = xp.where(earlier, scores, -math.inf)
        if mask is not None:
            scores = xp.where(mask[:, None, None] if mask.ndim == 2 else mask[:, None, rows], scores, -math.inf)
        yield rows, scores.astype(q.dtype)
