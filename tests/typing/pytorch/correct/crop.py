"""A crop of an image."""

import torch
from jaxtyping import Float
from torch import Tensor


def crop(image: Float[Tensor, "3 256 256"]) -> Float[Tensor, "3 224 224"]:
    return image[:, 16:240, 16:240]


crop(torch.rand(3, 256, 256))
