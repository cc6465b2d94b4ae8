"""Images are normalised by channel: the statistics lack axes."""

import torch
from jaxtyping import Float
from torch import Tensor


def normalise(images: Float[Tensor, "n 3 32 48"]) -> Float[Tensor, "n 3 32 48"]:
    mean = torch.tensor([0.485, 0.456, 0.406])
    return images - mean  # shape


normalise(torch.rand(2, 3, 32, 48))
