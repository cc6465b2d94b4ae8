"""Each row of a gradient clipped to a length: the lengths are taken without keepdims."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def clip(grad: Float[Array2, "rows columns"], limit: float) -> Float[Array2, "rows columns"]:
    lengths = np.sqrt((grad**2).sum(axis=1))
    clipped: Array2 = grad * np.minimum(1.0, limit / lengths)  # shape: columns rows
    return clipped


if __name__ == "__main__":
    print(clip(np.ones((7, 5)), 1.0).shape)
