"""Normalisation over groups of channels: the reshape keeps all channels beside the groups."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, height, width")
def forward(x: Shaped[Tensor, "[batch, height, width, 33]"]) -> Shaped[Tensor, "[batch, height, width, 33]"]:
    batch, height, width, channels = x.shape
    grouped = x.reshape(batch, height * width, 3, channels)  # right: grouped = x.reshape(batch, height * width, 3, channels // 3)
    centred = grouped - grouped.mean(dim=(1, 3), keepdim=True)
    return centred.reshape(batch, height, width, channels)
