"""The spiral: its formula, its order of draws."""

from typing import Any

import numpy as np
import pytest

from typednn.data import spiral
from typednn.errors import ArgumentError
from typednn.random import PCG32


class Straight:
    """Z-S1: no noise, no shuffle."""

    def standard_normal(self, size: tuple[int, ...]) -> Any:
        return np.zeros(size)

    def permutation(self, n: int) -> Any:
        return np.arange(n)

    random = uniform = normal = standard_normal


def test_the_formula() -> None:
    """Z-S1: three arms of 100 points; radius i/100, angle 4j + 4r."""
    places, arms = spiral(3, 100, Straight())
    assert (places.shape, places.dtype) == ((300, 2), np.float32)
    np.testing.assert_array_equal(arms, np.repeat([0, 1, 2], 100))
    for arm, point in ((0, 0), (1, 50), (2, 99)):
        radius = point / 100
        angle = 4 * arm + 4 * radius
        np.testing.assert_allclose(
            places[100 * arm + point], [radius * np.sin(angle), radius * np.cos(angle)], rtol=1e-6, atol=1e-7
        )


def test_noise_and_order() -> None:
    """Z-S1: Noise arm by arm, then one permutation of places and arms together; the radius tells the point."""
    rng = PCG32(5)
    noise, order = rng.standard_normal((2, 10)), rng.permutation(20)
    places, arms = spiral(2, 10, PCG32(5))
    np.testing.assert_array_equal(arms, order // 10)
    np.testing.assert_allclose(np.hypot(*places.T), order % 10 / 10, atol=1e-6)
    angle = 4.0 * (order // 10) + 4.0 * (order % 10) / 10 + 0.2 * noise.reshape(-1)[order]
    np.testing.assert_allclose(places[:, 0], order % 10 / 10 * np.sin(angle), atol=1e-6)


@pytest.mark.parametrize(("classes", "points", "rng"), [(0, 1, PCG32(0)), (1, 0, PCG32(0)), (1, 1, 1984)])
def test_arguments(classes: int, points: int, rng: Any) -> None:
    with pytest.raises(ArgumentError, match="spiral: "):
        spiral(classes, points, rng)
