"""What the tests of every kernel share: read-only inputs, and slopes by finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def _normal(seed: int, *shape: int) -> np.ndarray:
    array = np.random.default_rng([seed, *shape]).normal(size=shape)
    array.setflags(write=False)
    return array


def _off_kink(seed: int, *shape: int) -> np.ndarray:
    """Numbers of both signs, 0.1 or more away from 0."""
    array = _normal(seed, *shape)
    array = array + np.where(array < 0, -0.1, 0.1)
    array.setflags(write=False)
    return array


def _distinct(seed: int, *shape: int) -> np.ndarray:
    """Numbers that differ by 0.01 or more, in random order."""
    array = np.random.default_rng([seed, *shape]).permutation(np.prod(shape)).reshape(shape) * 0.01
    array.setflags(write=False)
    return array


def _slope(function: Callable[[Any], Any], at: np.ndarray, next_grad: Any = 1.0) -> np.ndarray:
    """d Σ function(x)·next_grad / dx at ``at``, by central differences."""
    step = 1e-5
    slope = np.empty_like(at)
    for place in np.ndindex(at.shape):
        higher, lower = at.copy(), at.copy()
        higher[place] += step
        lower[place] -= step
        slope[place] = ((function(higher) - function(lower)) * next_grad).sum() / (2 * step)
    return slope


def _assert_slope(claimed: np.ndarray, function: Callable[[Any], Any], at: np.ndarray, next_grad: Any = 1.0) -> None:
    measured = _slope(function, at, next_grad)
    assert claimed.shape == at.shape
    assert np.abs(claimed - measured).max() <= 1e-6 * max(1.0, np.abs(measured).max())


@pytest.fixture(scope="session")
def normal() -> Callable[..., np.ndarray]:
    return _normal


@pytest.fixture(scope="session")
def off_kink() -> Callable[..., np.ndarray]:
    return _off_kink


@pytest.fixture(scope="session")
def distinct() -> Callable[..., np.ndarray]:
    return _distinct


@pytest.fixture(scope="session")
def assert_slope() -> Callable[..., None]:
    return _assert_slope
