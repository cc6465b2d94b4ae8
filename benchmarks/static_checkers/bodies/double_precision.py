"""A scaling in single precision: its factors are made in double precision."""

import numpy as np
from jaxtyping import Float32
from shape_extensions import static_jaxtyping


@static_jaxtyping("batch features")
def scaled(x: Float32[np.ndarray, "batch features"]) -> Float32[np.ndarray, "batch features"]:
    factors = np.full(x.shape[1], 2.0)  # right: factors = np.full(x.shape[1], 2.0, dtype=np.float32)
    return x * factors
