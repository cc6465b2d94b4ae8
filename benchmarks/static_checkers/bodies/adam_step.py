"""Adam on a layer's two parameters, its moments in a list: the bias is moved by the moment of the weight."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("outputs, inputs")
def step(bias: Shaped[Tensor, "[outputs]"], grad: Shaped[Tensor, "[outputs]"], first: tuple[Shaped[Tensor, "[outputs, inputs]"], Shaped[Tensor, "[outputs]"]], second: tuple[Shaped[Tensor, "[outputs, inputs]"], Shaped[Tensor, "[outputs]"]]) -> None:
    m, v = first[0], second[1]  # right: m, v = first[1], second[1]
    m *= 0.9
    m += 0.1 * grad
    v *= 0.999
    v += 0.001 * grad * grad
    bias -= 0.01 * m / (torch.sqrt(v) + 1e-8)
