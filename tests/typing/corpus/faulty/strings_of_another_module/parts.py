from typing import TypeVar

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.arrays import AnyArray

X = TypeVar("X", bound=AnyArray)

if np.__version__:  # so nobody follows the bodies

    def chosen(x: Float[Array2, "batch features"], other: Float[Array2, "batch others"] | None) -> Float[Array2, "batch 2*features"]:
        read = x if other is None else other
        print(read.shape)
        return np.concatenate([x, x], axis=1)

    def picked(x: Float[X, "*shape"], other: Float[X, "*shape"], first: bool) -> Float[X, "*shape"]:
        return x if first else other
