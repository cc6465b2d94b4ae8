"""Random tensors: leaves, drawn when they are made, from a generator that is an argument. There is no global seed.

    x = randn(numpy.random.default_rng(0), (2, 3))

Any `typednn.random.Rng` will do, such as NumPy's ``Generator``. It draws float64, which is rounded to the ``dtype``,
float32 as a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from typednn.arrays import is_floating, is_integer, is_number, refuse_beyond_memory
from typednn.errors import ArgumentError, DTypeError, explain
from typednn.graph.graph import Shape
from typednn.graph.nodes import sizes_of, tensor
from typednn.graph.tensor import AnyTensor
from typednn.random import Rng


def rand(generator: Rng, shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> AnyTensor:
    """Numbers from 0 to 1, each as likely; rounding may make one 1."""
    return uniform(generator, 0.0, 1.0, shape, dtype)


def randn(generator: Rng, shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> AnyTensor:
    """Numbers of the normal distribution with mean 0 and deviation 1."""
    sizes, kind = _asked("randn", generator, shape, dtype)
    return tensor(np.asarray(generator.standard_normal(sizes)).astype(kind))


def uniform(
    generator: Rng, low: float, high: float, shape: int | Sequence[int], dtype: DTypeLike = np.float32
) -> AnyTensor:
    """Numbers from ``low`` to ``high``, each as likely."""
    sizes, kind = _asked("uniform", generator, shape, dtype)
    if not low <= high or not np.isfinite(high - low):
        raise ArgumentError(explain("uniform", "low is at most high, both finite", f"{low} and {high}"), "low")
    return tensor(np.asarray(generator.uniform(low, high, sizes)).astype(kind))


def randint(generator: Rng, low: int, high: int, shape: int | Sequence[int], dtype: DTypeLike = np.int64) -> AnyTensor:
    """Integers from ``low`` to before ``high``, each as likely, to 53 bits."""
    sizes, kind = _asked("randint", generator, shape, dtype, floats=False)
    if not low < high or not np.iinfo(kind).min <= low <= high - 1 <= np.iinfo(kind).max:
        raise ArgumentError(explain("randint", f"low is below high, both within {kind}", f"{low} and {high}"), "low")
    return tensor((low + np.floor(np.asarray(generator.random(sizes)) * (high - low))).astype(kind))


def multinomial(generator: Rng, weights: Any, count: int, replacement: bool = False) -> AnyTensor:
    """``count`` places of each row of ``weights``, a tensor or an array, each as likely as its weight says; int64,
    drawn now.

    Weights are from 0 on and need no sum. A place is drawn once, unless ``replacement``. PyTorch's ``multinomial``.
    """
    kinds: np.ndarray[Any, Any] = np.asarray(weights.numpy() if hasattr(weights, "numpy") else weights)
    if kinds.ndim not in (1, 2) or not is_number(kinds.dtype) or not kinds.shape[-1]:
        rule = "weights are numbers, one row or several"
        raise ArgumentError(explain("multinomial", rule, f"{kinds.dtype} of shape {kinds.shape}"), "weights")
    shares = kinds.astype(np.float64)
    _asked("multinomial", generator, shares.shape, np.float64)
    if not (np.isfinite(shares).all() and (shares >= 0).all() and (shares > 0).any(-1).all()):
        raise ArgumentError(explain("multinomial", "weights are finite, from 0 on, and not all 0", "others"), "weights")
    least = shares.shape[-1] if replacement else int((shares > 0).sum(-1).min(initial=shares.shape[-1]))
    written: object = count
    if (
        isinstance(written, bool)
        or not isinstance(written, int | np.integer)
        or count < 1
        or (count > least and not replacement)
    ):
        rule = (
            "count is an integer from 1 on" if replacement else f"count is from 1 to {least}, the places with a weight"
        )
        raise ArgumentError(explain("multinomial", rule, repr(count), "draw with replacement"), "count")
    if replacement:
        size = (*shares.shape[:-1], int(count))
        refuse_beyond_memory("multinomial", size, np.dtype(np.float64), "cpu", None)
        # a sum of very large or very small weights has no digits
        edges = np.cumsum(shares / shares.max(-1, keepdims=True), -1)
        drawn, found = np.asarray(generator.random(size)) * edges[..., -1:], np.empty(size, np.int64)
        for row in np.ndindex(size[:-1]):
            found[row] = np.searchsorted(edges[row], drawn[row], side="right")
        # Rounding may reach the last edge: the last place with a weight is below it.
        last = shares.shape[-1] - 1 - np.argmax(shares[..., ::-1] > 0, axis=-1)
        return tensor(np.minimum(found, last[..., None]))
    # The first of several clocks that ring at random, each as often as its weight says. Logarithms of times of any size
    # are numbers.
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.log(-np.log1p(-np.asarray(generator.random(shares.shape)))) - np.log(shares)
    times[shares == 0] = np.inf
    return tensor(np.ascontiguousarray(np.argsort(times, axis=-1, kind="stable")[..., : int(count)]).astype(np.int64))


def _asked(
    where: str, generator: Rng, shape: int | Sequence[int], dtype: DTypeLike, floats: bool = True
) -> tuple[Shape, np.dtype[Any]]:
    if not isinstance(generator, Rng):
        cure = "such as numpy.random.default_rng(0)"
        raise ArgumentError(explain(where, "draws from a generator", type(generator).__name__, cure), "generator")
    sizes = sizes_of(where, shape)
    kind = np.dtype(dtype)
    if not (is_floating(kind) if floats else is_integer(kind)):
        raise DTypeError(explain(where, "draws floats" if floats else "draws integers", str(kind)))
    refuse_beyond_memory(where, sizes, np.dtype(np.float64), "cpu", None)
    return sizes, kind
