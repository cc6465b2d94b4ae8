"""Images padded by two pixels: the channels are padded instead of the rows."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor
from torch.nn import functional


@shape_vars("batch")
def pad(images: Shaped[Tensor, "[batch, 13, 17, 3]"]) -> Shaped[Tensor, "[batch, 17, 21, 3]"]:
    return functional.pad(images, (2, 2, 2, 2))  # right: return functional.pad(images, (0, 0, 2, 2, 2, 2))
