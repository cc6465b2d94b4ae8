"""``jaxtyped``, with and without a typechecker, on functions, on a dataclass and around a block."""

from dataclasses import dataclass

import numpy as np
from beartype import beartype
from jaxtyping import Float, Int, jaxtyped

from typednn import Array1, Array2


@jaxtyped(typechecker=beartype)
def projected(x: Float[np.ndarray, "batch 4"], w: Float[np.ndarray, "4 out"]) -> Float[np.ndarray, "batch out"]:
    y: Float[np.ndarray, "batch out"] = x @ w
    return y


@jaxtyped(typechecker=None)
@beartype
def taken(x: Float[Array2, "batch features"], i: Int[np.ndarray, " few"]) -> Float[Array2, "few features"]:
    rows: Array2 = x[i]
    return rows


@jaxtyped(typechecker=beartype)
@dataclass
class Batch:
    images: Float[np.ndarray, "batch height width"]
    labels: Int[np.ndarray, " batch"]

    def half(self) -> "Batch":
        n = len(self.labels) // 2
        return Batch(self.images[:n], self.labels[:n])


def per_call(x: Float[Array1, " n"]) -> int:
    with jaxtyped("context"):
        return len(x)


if __name__ == "__main__":
    x, w = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
    print(projected(x, w).shape, taken(x, np.zeros(5, int)).shape, projected(projected(x, w) @ w.T, w).shape)
    print(Batch(np.ones((4, 5, 6), np.float32), np.zeros(4, int)).half().images.shape, per_call(x[0]))
