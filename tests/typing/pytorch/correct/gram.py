"""A Gram matrix of channels."""

import torch
from jaxtyping import Float
from torch import Tensor


def gram(features: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c c"]:
    flat = features.flatten(2)
    return flat @ flat.mT / flat.shape[-1]


gram(torch.rand(2, 3, 4, 5))
