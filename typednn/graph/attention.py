"""Attention: every query reads from the values, by how much its key answers.

y = softmax(q kᵀ·scale + mask) v, in each head       scale = 1/√features

q (batch, time, heads, features)    k, v (batch, memory, heads, features)
y as q: heads beside features, as in `typednn.kernels`.
A query that may attend to nothing gets zeros. It is one node, the op `typednn.kernels.attention`, which holds no
scores, unless `typednn.graph.whole.decomposed` asks for the twelve kinds, or ``scale``, ``dropout``, or other features
of v do. Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from typednn.arguments import divisor, integer, number
from typednn.errors import DTypeError, ShapeError, explain
from typednn.graph.counting import arange
from typednn.graph.dropout import dropout as dropped
from typednn.graph.graph import GRAPH
from typednn.graph.movement import stack
from typednn.graph.nodes import binary, broadcast_to, cast_to, constant, permute, reduce, reshape, tensor, unary
from typednn.graph.operands import checked
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.products import matmul
from typednn.graph.softmax import unrecorded
from typednn.graph.tensor import AnyTensor, Tensor
from typednn.graph.whole import Whole, takes_whole
from typednn.kernels import attention as op


def attention(
    q: Tensor[Any, Any],
    k: AnyTensor,
    v: AnyTensor,
    mask: AnyTensor | None = None,
    causal: bool = False,
    *,
    scale: float | None = None,
    dropout: tuple[float, AnyTensor | np.random.Generator] | None = None,
) -> AnyTensor:
    """Scaled dot-product attention. ``mask`` (batch, memory) or (batch, time, memory): true where a query may attend.

    ``causal``: query i attends to keys up to i alone. ``dropout``: a probability and random numbers, as
    `typednn.graph.dropout` takes them.
    """
    if (
        (q.ndim, k.ndim, v.ndim) != (4, 4, 4)
        or k.shape[:3] != v.shape[:3]
        or (q.shape[0], *q.shape[2:]) != (k.shape[0], *k.shape[2:])
    ):
        got = f"q {q.shape}, k {k.shape}, v {v.shape}: {GRAPH.expression(q.id)}"
        rule = "q is (batch, time, heads, features), k and v (batch, memory, heads, features)"
        raise ShapeError(explain("attention", rule, got, "split the features into heads, by split_heads"))
    batch, time, _, features = q.shape
    memory = k.shape[1]
    if mask is not None and (mask.dtype.kind != "b" or mask.shape not in ((batch, memory), (batch, time, memory))):
        got = f"{mask.dtype} {mask.shape}: {GRAPH.expression(mask.id)}"
        rule = f"the mask is bool, {(batch, memory)} or {(batch, time, memory)}"
        raise (ShapeError if mask.dtype.kind == "b" else DTypeError)(explain("attention", rule, got))
    if takes_whole(q) and scale is None and dropout is None and v.shape[3] == features:
        return Whole.of(op.forward, q.shape, q=q, k=k, v=v, mask=mask, causal=causal)
    rows, columns, values = (permute(each, (0, 2, 1, 3)) for each in (q, k, v))
    scores = matmul(rows, permute(columns, (0, 1, 3, 2))) * (features**-0.5 if scale is None else scale)
    allowed = _allowed(mask, causal, time, memory)
    if allowed is None:
        powers = unary(Unary.EXP, scores - _largest(scores))
        totals = powers.sum(axis=3, keepdims=True)
    else:
        allowed = broadcast_to(allowed, scores.shape)
        scores = binary(Binary.MASKED, allowed, scores) + binary(
            Binary.MASKED, ~allowed, constant(-math.inf, scores.dtype)
        )
        top = _largest(scores)
        powers = unary(Unary.EXP, scores - binary(Binary.MASKED, top > -math.inf, top))
        totals = powers.sum(axis=3, keepdims=True)
        totals = totals + binary(Binary.EQUAL, totals, 0.0).cast(totals.dtype)  # a query that attends to nothing
    if dropout is not None:
        powers = dropped(powers, *dropout)
    return permute(matmul(powers, values) / totals, (0, 2, 1, 3))


def _largest(scores: AnyTensor) -> AnyTensor:
    return unrecorded(reduce(Reduce.MAX, scores, 3, keepdims=True), scores)


def _allowed(mask: AnyTensor | None, causal: bool, time: int, memory: int) -> AnyTensor | None:
    """Where queries attend, of a shape that broadcasts to (batch, heads, time, memory)."""
    earlier = reshape(arange(time), (1, 1, time, 1)) >= arange(memory) if causal else None
    if mask is None:
        return earlier
    whole = reshape(mask, (mask.shape[0], 1, 1 if mask.ndim == 2 else time, memory))
    return whole if earlier is None else whole & earlier


def split_heads(x: Tensor[Any, Any], heads: int) -> AnyTensor:
    """(batch, time, heads, features) of x (batch, time, heads·features)."""
    if x.ndim != 3:
        raise ShapeError(explain("split_heads", "x is (batch, time, features)", f"{x.shape}: {GRAPH.expression(x.id)}"))
    divisor("split_heads", "heads", heads, features=x.shape[2])
    return reshape(x, (*x.shape[:2], heads, x.shape[2] // heads))


def join_heads(x: Tensor[Any, Any]) -> AnyTensor:
    """(batch, time, heads·features) of x (batch, time, heads, features)."""
    if x.ndim != 4:
        raise ShapeError(
            explain("join_heads", "x is (batch, time, heads, features)", f"{x.shape}: {GRAPH.expression(x.id)}")
        )
    return reshape(x, (*x.shape[:2], x.shape[2] * x.shape[3]))


def rope(x: Tensor[Any, Any], base: float = 10000.0, first: int = 0) -> AnyTensor:
    """``x`` (batch, time, heads, features), each pair of features turned by an angle that grows with its place in time.

    y_2i = x_2i·cos a - x_2i+1·sin a       y_2i+1 = x_2i·sin a + x_2i+1·cos a       a = (first + t)·base^(-2i/features)

    The product of a query and a key turned so depends on their distance alone. The layer is
    ``MultiHeadAttention(rotary=True)``. Source: Su et al., "RoFormer", 2021.
    """
    if checked("rope", x, floats=True).ndim != 4 or x.shape[3] % 2:
        rule = "x is (batch, time, heads, features), an even number of features"
        raise ShapeError(explain("rope", rule, f"{x.shape}: {GRAPH.expression(x.id)}"))
    number("rope", "base", base, least=1.0)
    start = integer("rope", "first", first, least=0)
    batch, time, heads, features = x.shape
    pairs = reshape(x, (batch, time, heads, features // 2, 2))
    even, odd = pairs[..., 0], pairs[..., 1]
    cos, sin = (cast_to(tensor(each), x.dtype) for each in _turns(start, time, features, float(base)))
    return reshape(stack([even * cos - odd * sin, even * sin + odd * cos], axis=4), x.shape)


@lru_cache
def _turns(first: int, time: int, features: int, base: float) -> tuple[Any, Any]:
    """cos and sin of each place's angles, (time, 1, pairs); the same arrays each time, so that a formula that has them
    is recorded once.
    """
    angles = np.arange(first, first + time)[:, None, None] * base ** (np.arange(features // 2) * (-2.0 / features))
    cos, sin = np.cos(angles), np.sin(angles)
    cos.flags.writeable = sin.flags.writeable = False
    return cos, sin
