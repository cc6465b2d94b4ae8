"""A constructor that catches an exception and names it."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


class Factored:
    def __init__(self, a: Float[Array2, "rows inner"], b: Float[Array2, "inner columns"]) -> None:
        try:
            self.rank = int(np.broadcast_shapes(a.shape[1:], b.shape[:1])[0])
        except ValueError as error:
            raise ValueError(f"inner sizes differ: {error}") from error
        self.a, self.b = a, b

    def apply(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return x + x

    def twice(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return self.apply(self.apply(x))


if __name__ == "__main__":
    print(Factored(np.ones((3, 2), np.float32), np.ones((2, 4), np.float32)).twice(np.ones((5, 3), np.float32)).shape)
