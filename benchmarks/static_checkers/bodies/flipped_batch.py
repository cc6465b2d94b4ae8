"""Each image and its mirror image: they are joined side by side instead of in one batch."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, height, width, channels")
def with_mirrored(images: Shaped[Tensor, "[batch, height, width, channels]"]) -> Shaped[Tensor, "[2 * batch, height, width, channels]"]:
    mirrored = torch.flip(images, (2,))
    return torch.cat((images, mirrored), dim=2)  # right: return torch.cat((images, mirrored), dim=0)
