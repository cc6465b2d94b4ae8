"""A crop of an image: more rows than columns are taken."""

import torch
from jaxtyping import Float
from torch import Tensor


def crop(image: Float[Tensor, "3 256 256"]) -> Float[Tensor, "3 224 224"]:
    return image[:, 16:256, 16:240]  # shape


crop(torch.rand(3, 256, 256))
