"""An image is made channels first."""

import torch
from jaxtyping import Float
from torch import Tensor


def channels_first(image: Float[Tensor, "height width 3"]) -> Float[Tensor, "3 height width"]:
    return image.permute(2, 0, 1)


channels_first(torch.rand(4, 5, 3))
