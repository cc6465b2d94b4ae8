"""Backward through time, the weight's gradient added up in place: each step's is transposed."""

import numpy as np
from shape_extensions import Shaped, shape_vars


@shape_vars("batch, time, features, hidden")
def weight_gradient(
    x: Shaped[np.ndarray, "[batch, time, features]"], dz: Shaped[np.ndarray, "[batch, time, hidden]"]
) -> Shaped[np.ndarray, "[hidden, features]"]:
    dweight = np.zeros((dz.shape[2], x.shape[2]))
    for t in reversed(range(x.shape[1])):
        dweight += x[:, t].T @ dz[:, t]  # right: dweight += dz[:, t].T @ x[:, t]
    return dweight
