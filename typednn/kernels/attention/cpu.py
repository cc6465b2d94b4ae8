"""Attention for NumPy's arrays, by two kernels in Halide (`schedules`), and a third for one query (`single`).

A kernel multiplies by the weight 0 of what is not attended to, which leaves NaN and infinity in. They then show in its
results, which are thrown away: the reference computes them again. The look for them takes a hundredth of the kernel's
time. With dropout a kernel computes the reference's bits where it needs them, so nothing of time × memory is written.
"""

from collections.abc import Sequence
from typing import Any

from typednn.arrays import AnyBoolArray, Array3, Array4
from typednn.engines import Array, Kernel, Scalar, empty, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.attention import reference, schedules, single
from typednn.kernels.attention.reference import Drawn
from typednn.kernels.dropout.cpu import signed
from typednn.kernels.dropout.reference import WORD, least_kept, words
from typednn.kernels.totals import finite

QUERIES = 16  # fewer, but not one, are left to the reference, which takes less time: a kernel computes a whole block
VECTOR = 8  # heads whose features are no multiple of it are left to the reference: whole vectors lie along them
_MASKS = {0: (), 2: ("batch", "memory"), 3: ("batch", "time", "memory")}


@specialised("attention", "numbers of features in a head")
def _kernels(
    features: int, axes_of_mask: int, causal: bool, dtype: Any = FLOAT32, dropout: bool = False, packed: bool = False
) -> tuple[Kernel, Kernel] | None:
    """Forward and backward."""
    if features % VECTOR:
        return None
    queries, keys = Array("batch", "time", "heads", features), Array("batch", "memory", "heads", features)
    read = (Array("batch", "time", 3, "heads", features),) if packed else (queries, keys, keys)
    log_sums, options = (
        Array("batch", "heads", "time"),
        {"features": features, "causal": causal, "masked": axes_of_mask > 0, "packed": packed},
    )
    of_mask = [each.replace("memory", "time") if packed else each for each in _MASKS[axes_of_mask]]
    mask: tuple[Any, ...] = (Array(*of_mask, dtype="bool"),) if axes_of_mask else ()
    if dropout:
        mask += (Scalar(), *[Scalar("int32")] * 4)
    return (
        kernel(
            "attention.forward",
            schedules.forward,
            inputs=(*read, *mask),
            outputs=(queries, log_sums),
            options=options,
            dtype=dtype,
        ),
        kernel(
            "attention.backward",
            schedules.backward,
            inputs=(queries, *read, queries, log_sums, *mask),
            outputs=read,
            options=options,
            dtype=dtype,
        ),
    )


@specialised("attention", "numbers of features in a head")
def _of_one_query(features: int, dtype: Any = FLOAT32) -> Kernel | None:
    if features % VECTOR:
        return None
    query, keys = Array("batch", 1, "heads", features), Array("batch", "memory", "heads", features)
    outputs, options = (query, Array("batch", "heads", 1)), {"features": features}
    return kernel(
        "attention.single", single.forward, inputs=(query, keys, keys), outputs=outputs, options=options, dtype=dtype
    )


def _planned(
    time: int,
    features: int,
    dtype: Any,
    mask: AnyBoolArray | None,
    causal: bool,
    dropout: Drawn | None,
    packed: bool = False,
) -> tuple[Kernel, Kernel] | None:
    if time < QUERIES or (dropout is not None and least_kept(dropout[0]) > WORD):
        return None
    return _kernels[features, 0 if mask is None else mask.ndim, causal, dtype, dropout is not None, packed]


def _others(mask: AnyBoolArray | None, dropout: Drawn | None) -> tuple[Any, ...]:
    """What a kernel reads beside arrays of numbers."""
    arrays = () if mask is None else (mask,)
    if dropout is None:
        return arrays
    p, key, drawn = dropout
    return *arrays, 1 / (1 - p), *map(signed, (least_kept(p), *words(key), words(drawn)[0]))


def plan(
    q: Array4, k: Array4, v: Array4, mask: AnyBoolArray | None, causal: bool, dropout: Drawn | None
) -> Kernel | None:
    """The kernel of `forward`; None where there is none."""
    if q.shape[1] == 1 and mask is None and not causal and dropout is None:
        return _of_one_query[q.shape[3], q.dtype]
    kernels = _planned(q.shape[1], q.shape[3], q.dtype, mask, causal, dropout)
    return None if kernels is None else kernels[0]


def plan_backward(
    next_grad: Array4,
    q: Array4,
    k: Array4,
    v: Array4,
    mask: AnyBoolArray | None,
    y: Array4,
    log_sums: Array3,
    causal: bool,
    dropout: Drawn | None,
) -> Kernel | None:
    """The kernel of `backward`; None where there is none."""
    kernels = _planned(q.shape[1], q.shape[3], q.dtype, mask, causal, dropout)
    return None if kernels is None else kernels[1]


def trusts(arguments: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether nothing that was multiplied by a weight of 0 is NaN or infinite, by y, by dq, dk and dv, or by dqkv."""
    return finite(results[0]) and all(finite(each) for each in results[1:] if each.ndim == 4)


def forward(
    planned: Kernel, q: Array4, k: Array4, v: Array4, mask: AnyBoolArray | None, causal: bool, dropout: Drawn | None
) -> tuple[Array4, Array3]:
    """y and log_sums."""
    y, log_sums = empty(q.shape, q.dtype), empty((q.shape[0], q.shape[2], q.shape[1]), q.dtype)
    planned.call(q, k, v, *_others(mask, dropout), y, log_sums)
    return (y, log_sums) if finite(y) else reference.forward(q, k, v, mask, causal, dropout)


def backward(
    planned: Kernel,
    next_grad: Array4,
    q: Array4,
    k: Array4,
    v: Array4,
    mask: AnyBoolArray | None,
    y: Array4,
    log_sums: Array3,
    causal: bool,
    dropout: Drawn | None,
) -> tuple[Array4, Array4, Array4]:
    """(dq, dk, dv), from what `forward` gave."""
    dq, dk, dv = (empty(x.shape, x.dtype) for x in (q, k, v))
    planned.call(next_grad, q, k, v, y, log_sums, *_others(mask, dropout), dq, dk, dv)
    if finite(dq) and finite(dk) and finite(dv):
        return dq, dk, dv
    return reference.backward(next_grad, q, k, v, mask, y, log_sums, causal, dropout)


# ------------------------------------------------------------------ a sequence that attends to itself


def plan_self(qkv: Array3, heads: int, mask: AnyBoolArray | None, causal: bool, dropout: Drawn | None) -> Kernel | None:
    """The kernel of `self_forward`; None where there is none."""
    kernels = _planned(qkv.shape[1], qkv.shape[2] // (3 * heads), qkv.dtype, mask, causal, dropout, packed=True)
    return None if kernels is None else kernels[0]


def plan_self_backward(
    next_grad: Array3,
    qkv: Array3,
    mask: AnyBoolArray | None,
    y: Array3,
    log_sums: Array3,
    causal: bool,
    dropout: Drawn | None,
) -> Kernel | None:
    """The kernel of `self_backward`; None where there is none."""
    features = y.shape[2] // log_sums.shape[1]
    kernels = _planned(qkv.shape[1], features, qkv.dtype, mask, causal, dropout, packed=True)
    return None if kernels is None else kernels[1]


def self_forward(
    planned: Kernel, qkv: Array3, heads: int, mask: AnyBoolArray | None, causal: bool, dropout: Drawn | None
) -> tuple[Array3, Array3]:
    """y and log_sums."""
    batch, time, packed = qkv.shape
    y, log_sums = empty((batch, time, packed // 3), qkv.dtype), empty((batch, heads, time), qkv.dtype)
    by_heads = qkv.reshape(batch, time, 3, heads, -1)
    planned.call(by_heads, *_others(mask, dropout), y.reshape(batch, time, heads, -1), log_sums)
    return (y, log_sums) if finite(y) else reference.self_forward(qkv, heads, mask, causal, dropout)


def self_backward(
    planned: Kernel,
    next_grad: Array3,
    qkv: Array3,
    mask: AnyBoolArray | None,
    y: Array3,
    log_sums: Array3,
    causal: bool,
    dropout: Drawn | None,
) -> Array3:
    """dqkv, from what `self_forward` gave."""
    (batch, time, _), heads, dqkv = qkv.shape, log_sums.shape[1], empty(qkv.shape, qkv.dtype)
    packed, rows = (batch, time, 3, heads, -1), (batch, time, heads, -1)
    arrays = next_grad.reshape(rows), qkv.reshape(packed), y.reshape(rows), log_sums
    planned.call(*arrays, *_others(mask, dropout), dqkv.reshape(packed))
    return dqkv if finite(dqkv) else reference.self_backward(next_grad, qkv, mask, y, log_sums, causal, dropout)
