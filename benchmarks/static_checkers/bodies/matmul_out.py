"""A product written into a buffer: the buffer has the weight's input size."""

import numpy as np
from shape_extensions import Shaped, shape_vars


@shape_vars("batch, features, out")
def project(x: Shaped[np.ndarray, "[batch, features]"], w: Shaped[np.ndarray, "[features, out]"]) -> Shaped[np.ndarray, "[batch, out]"]:
    buffer = np.empty((x.shape[0], w.shape[0]))  # right: buffer = np.empty((x.shape[0], w.shape[1]))
    np.matmul(x, w, out=buffer)
    return buffer
