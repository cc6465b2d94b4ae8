"""Functions whose arrays broadcast by design: ``#name``, ``...``, ``*batch`` and ``*#batch``."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


def interpolated(t: Float[np.ndarray, "#batch"], x: Float[np.ndarray, "#batch features"]) -> Float[np.ndarray, "batch features"]:
    product: np.ndarray = x * t[:, None]
    return product


def lerp(x: Float[np.ndarray, "*#batch"], y: Float[np.ndarray, "*#batch"], t: Float[np.ndarray, ""]) -> Float[np.ndarray, "..."]:
    between: np.ndarray = x + t * (y - x)
    return between


def rotated(r: Float[np.ndarray, "*#batch 3 3"], v: Float[np.ndarray, "*#batch 3"]) -> Float[np.ndarray, "... 3"]:
    turned: np.ndarray = (r @ v[..., None])[..., 0]
    return turned


def masked(x: Float[np.ndarray, "*batch time"], mask: Float[np.ndarray, "#heads time"]) -> Float[np.ndarray, "*batch time"]:
    kept: np.ndarray = x * mask[0]
    return kept


def row_plus(x: Float[Array2, "batch #features"], y: Float[Array1, " #features"]) -> Float[Array2, "batch features"]:
    return x + y


if __name__ == "__main__":
    one, three = np.ones(1, np.float32), np.ones(3, np.float32)
    grid, stack = np.ones((4, 1, 3), np.float32), np.ones((5, 3), np.float32)
    print(interpolated(one, stack).shape, interpolated(np.ones(5, np.float32), np.ones((5, 1), np.float32)).shape)
    print(lerp(grid, stack, np.ones((), np.float32)).shape, lerp(three, stack, np.ones((), np.float32)).shape)
    print(rotated(np.ones((3, 3), np.float32), stack).shape, rotated(np.ones((4, 1, 3, 3), np.float32), stack).shape)
    print(masked(stack, np.ones((1, 3), np.float32)).shape, row_plus(np.ones((5, 1), np.float32), three).shape)
