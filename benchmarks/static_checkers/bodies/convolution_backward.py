"""The input's gradient of a convolution of 3: padded by the kernel instead of one less."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor
from torch.nn import functional


@shape_vars("batch, height, width, outputs, inputs")
def input_gradient(
    next_grad: Shaped[Tensor, "[batch, height, width, outputs]"], weight: Shaped[Tensor, "[outputs, 3, 3, inputs]"]
) -> Shaped[Tensor, "[batch, height + 2, width + 2, inputs]"]:
    padded = functional.pad(next_grad, (0, 0, 3, 3, 3, 3))  # right: padded = functional.pad(next_grad, (0, 0, 2, 2, 2, 2))
    windows = padded.unfold(1, 3, 1).unfold(2, 3, 1)
    return torch.einsum("bhwoij,oijc->bhwc", windows, weight)
