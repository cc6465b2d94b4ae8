"""A crop of images to 23 by 19: its right edge is one too far."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, channels")
def crop(images: Shaped[Tensor, "[batch, 31, 29, channels]"]) -> Shaped[Tensor, "[batch, 23, 19, channels]"]:
    return images[:, 5:28, 7:27]  # right: return images[:, 5:28, 7:26]
