"""Gradients against central differences in float64, along random directions: one direction sees all numbers of an input
at once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from typednn.graph.graph import GRAPH
from typednn.graph.kinds import Kind
from typednn.graph.nodes import realize, tensor
from typednn.graph.tape import Tape

EPS = 1e-6


def values(function: Callable[..., Any], *arrays: Any) -> Any:
    """What ``function`` of tensors gives for arrays."""
    return function(*map(tensor, arrays)).numpy()


def gradients(function: Callable[..., Any], *arrays: Any, next_grad: Any) -> list[Any]:
    """The derivative of Σ next_grad·function by each array of floats; None for the others."""
    tensors = [tensor(array) for array in arrays]
    with Tape() as tape:
        target = (function(*tensors) * next_grad).sum()
        found = tape.gradient(target, [each for each in tensors if each.dtype.kind == "f"], zeros=True)
    realize(*found)
    left = [each.numpy() for each in found]
    return [left.pop(0) if array.dtype.kind == "f" else None for array in arrays]


def check_gradients(
    function: Callable[..., Any], *arrays: Any, tolerance: float = 1e-6, skip: tuple[int, ...] = ()
) -> None:
    """Each derivative of ``function`` agrees with central differences; ``skip`` names inputs without."""
    rng = np.random.default_rng(0)
    next_grad = rng.normal(size=values(function, *arrays).shape)
    exact = gradients(function, *arrays, next_grad=next_grad)
    for place, (array, derivative) in enumerate(zip(arrays, exact, strict=True)):
        if derivative is None or place in skip:
            continue
        assert derivative.shape == array.shape
        assert derivative.dtype == array.dtype
        for _ in range(2):
            direction = rng.normal(size=array.shape)
            sides = [
                np.sum(values(function, *_moved(arrays, place, sign * direction)) * next_grad) for sign in (EPS, -EPS)
            ]
            difference = (sides[0] - sides[1]) / (2 * EPS)
            np.testing.assert_allclose(
                np.sum(derivative * direction), difference, rtol=tolerance, atol=tolerance * max(1, array.size)
            )


def _moved(arrays: Any, place: int, by: Any) -> list[Any]:
    return [array + by if each == place else array for each, array in enumerate(arrays)]


def kinds_of(*results: Any) -> list[Kind]:
    """The kinds of all nodes that these tensors are computed from, without leaves and constants."""
    numbers = GRAPH.ancestors([each.id for each in results])
    return [kind for kind in map(GRAPH.kind, numbers) if kind > Kind.LEAF]


def arithmetic(*results: Any) -> int:
    """How many nodes compute: neither leaves, nor constants, nor movement."""
    return sum(kind in (Kind.REDUCE, Kind.UNARY, Kind.BINARY, Kind.CUSTOM) for kind in kinds_of(*results))
