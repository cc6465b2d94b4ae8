"""An image is made channels first: by a view."""

import torch
from jaxtyping import Float
from torch import Tensor


def channels_first(image: Float[Tensor, "height width 3"]) -> Float[Tensor, "3 height width"]:
    return image.permute(2, 1, 0)  # shape


channels_first(torch.rand(4, 5, 3))
