"""Embedding's derivative in Halide: rows of dy are added to the rows of their tokens, a few features at a time.

Each thread has features of its own, and adds in the order of the tokens in double precision, whatever the number of
threads.

A large matrix of which few rows have tokens comes as zeros from the system, and only these rows are written: the
reference's, for the tokens that there are. Pages without such a row take no memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from typednn.arrays import Array2, Array3, IntArray2
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel, specialised, type_of
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.embedding import reference

PARALLEL = 1 << 17  # numbers read and written from which a second thread pays

UNWRITTEN = 1 << 25  # bytes of zeros from which NumPy asks the system for them, and writes none
RARE = 8  # at most one row of so many has a token


def is_rare(next_grad: Array3, tokens: IntArray2, vocab: int, padding: int | None = None) -> bool:
    """Whether most of dweight, which is large, is zeros."""
    return (
        next_grad.size * RARE <= vocab * next_grad.shape[2]
        and vocab * next_grad.shape[2] * next_grad.itemsize >= UNWRITTEN
    )


def backward_of_rare(next_grad: Array3, tokens: IntArray2, vocab: int, padding: int | None = None) -> Array2:
    """dweight (vocab, features)."""
    present, places = np.unique(tokens.clip(0, vocab - 1), return_inverse=True)
    dweight: Array2 = np.zeros((vocab, next_grad.shape[2]), next_grad.dtype)
    dweight[present] = reference.backward(next_grad, places.reshape(tokens.shape), len(present))
    if padding is not None:
        dweight[padding] = 0
    return dweight


def is_rare_in(dweight: Array2, next_grad: Array3, tokens: IntArray2, padding: int | None = None) -> bool:
    """Whether few rows are added to."""
    return next_grad.size * RARE <= dweight.size


def add_backward_of_rare(dweight: Array2, next_grad: Array3, tokens: IntArray2, padding: int | None = None) -> None:
    """Add to the rows that have tokens, and read no other."""
    present, places = np.unique(tokens.clip(0, len(dweight) - 1), return_inverse=True)
    dweight[present] += reference.backward(next_grad, places.reshape(tokens.shape), len(present))
    if padding is not None:
        dweight[padding] = 0


def plan(next_grad: Array3, tokens: IntArray2, vocab: int, padding: int | None = None) -> Kernel | None:
    """The kernel of `backward`."""
    return _backward[vocab, next_grad.shape[2], padding, next_grad.dtype]


def backward(planned: Kernel, next_grad: Array3, tokens: IntArray2, vocab: int, padding: int | None = None) -> Array2:
    """dweight (vocab, features)."""
    features = next_grad.shape[2]
    dweight: Array2 = empty((vocab, features), next_grad.dtype)
    planned.call(next_grad.reshape(-1, features), tokens.reshape(-1).astype(np.int64, copy=False), dweight)
    return dweight


def plan_add(dweight: Array2, next_grad: Array3, tokens: IntArray2, padding: int | None = None) -> Kernel | None:
    """The kernel of `backward`, whose result is added."""
    return plan(next_grad, tokens, len(dweight), padding)


def add_backward(
    planned: Kernel, dweight: Array2, next_grad: Array3, tokens: IntArray2, padding: int | None = None
) -> None:
    """Add what `backward` gives."""
    dweight += backward(planned, next_grad, tokens, len(dweight), padding)
    if padding is not None:
        dweight[padding] = 0


def _build(
    cpu: Cpu, dy: hl.ImageParam, tokens: hl.ImageParam, vocab: int, features: int, padding: int | None
) -> hl.Func:
    f, v, outer, sums, dweight = hl.Var("f"), hl.Var("v"), hl.Var("outer"), hl.Func("sums"), hl.Func("dweight")
    place = hl.RDom([(0, tokens.dim(0).extent())])
    token = hl.cast(hl.Int(32), hl.clamp(tokens[place.x], hl.i64(0), hl.i64(vocab - 1)))
    sums[f, v] = hl.f64(0)
    sums[f, token] += hl.cast(hl.Float(64), dy[f, place.x])
    total = hl.cast(type_of(dy[f, 0]), sums[f, v])
    dweight[f, v] = total if padding is None else hl.select(v == padding, 0, total)

    lanes = min(cpu.lanes, 1 << (features.bit_length() - 1))
    dweight.split(f, outer, f, lanes, hl.TailStrategy.ShiftInwards).reorder(f, v, outer).vectorize(f)
    sums.compute_at(dweight, outer).vectorize(f, lanes)
    sums.update().reorder(f, place.x).vectorize(f, lanes)
    dweight.specialize((tokens.dim(0).extent() + vocab) * features >= PARALLEL).parallel(outer)
    return dweight


@specialised("embedding")
def _backward(vocab: int, features: int, padding: int | None, dtype: np.dtype[Any] = FLOAT32) -> Kernel:
    return kernel(
        "embedding.backward",
        _build,
        inputs=(Array("places", features), Array("places", dtype="int64")),
        outputs=(Array(vocab, features),),
        options={"vocab": vocab, "features": features, "padding": padding},
        dtype=dtype,
    )
