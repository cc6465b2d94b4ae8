"""spiral: points on arms that wind around each other; a tiny data set that no straight line separates.

arm j, point i:   r = i / points    θ = 4 j + 4 r + 0.2 N(0, 1)    x = (r sin θ, r cos θ)

Source: K. Saito, "ゼロから作る Deep Learning ❸", chapter 48.
"""

import numpy as np

from typednn.arguments import integer
from typednn.arrays import Array2, IntArray1
from typednn.errors import ArgumentError, explain
from typednn.random import Rng


def spiral(classes: int, points: int, rng: Rng) -> tuple[Array2, IntArray1]:
    """``points`` on each of ``classes`` arms: positions (classes·points, 2) in float32 and the arms' numbers, in one
    shuffled order.

    Draws ``points`` normal numbers per arm, arm by arm, and one permutation.
    """
    classes, points = integer("spiral", "classes", classes), integer("spiral", "points", points)
    if not isinstance(rng, Rng):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
        raise ArgumentError(
            explain(
                "spiral", "rng must be a generator", type(rng).__name__, "pass numpy.random.default_rng(0) or PCG32(0)"
            ),
            "rng",
        )
    radius = np.arange(points) / points
    arms = np.arange(classes)
    angle = np.stack([4.0 * arm + 4.0 * radius + 0.2 * rng.standard_normal((points,)) for arm in arms])
    places = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=-1).reshape(-1, 2)
    order = rng.permutation(classes * points)
    return places.astype(np.float32)[order], np.repeat(arms, points)[order]
