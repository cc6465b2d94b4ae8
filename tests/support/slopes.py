"""Read-only inputs, and derivatives by central differences, for the tests of every kernel's reference."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def normal(seed: int, *shape: int) -> Any:
    array = np.random.default_rng([seed, *shape]).normal(size=shape)
    array.setflags(write=False)
    return array


def off_kink(seed: int, *shape: int) -> Any:
    """Numbers of both signs, 0.1 or more away from 0."""
    array = normal(seed, *shape)
    array = array + np.where(array < 0, -0.1, 0.1)
    array.setflags(write=False)
    return array


def distinct(seed: int, *shape: int) -> Any:
    """Numbers that differ by 0.01 or more, in random order."""
    array = np.random.default_rng([seed, *shape]).permutation(np.prod(shape)).reshape(shape) * 0.01
    array.setflags(write=False)
    return array


def _slope(function: Callable[[Any], Any], at: Any, next_grad: Any) -> Any:
    """d Σ function(x)·next_grad / dx at ``at``, by central differences."""
    step = 1e-5
    slope = np.empty_like(at)
    for place in np.ndindex(at.shape):
        higher, lower = at.copy(), at.copy()
        higher[place] += step
        lower[place] -= step
        slope[place] = ((function(higher) - function(lower)) * next_grad).sum() / (2 * step)
    return slope


def assert_slopes(
    claimed: Sequence[Any],
    function: Callable[..., Any],
    arrays: Sequence[Any],
    next_grad: Any = 1.0,
    tolerance: float = 1e-6,
) -> None:
    """``claimed`` are the derivatives of Σ function(arrays)·next_grad by the arrays, one after another."""
    for place, (derivative, at) in enumerate(zip(claimed, arrays, strict=True)):

        def of_one(x: Any, place: int = place) -> Any:
            return function(*arrays[:place], x, *arrays[place + 1 :])

        measured = _slope(of_one, at, next_grad)
        assert derivative.shape == at.shape
        assert np.abs(derivative - measured).max() <= tolerance * max(1.0, np.abs(measured).max())
