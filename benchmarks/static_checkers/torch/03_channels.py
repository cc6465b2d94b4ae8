"""Colour images into a convolution that reads one channel."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn

model = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU())  # right: model = nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU())


@shape_vars("B")
def maps(x: Shaped[Tensor, "[B, 3, 32, 32]"]) -> Tensor:
    """Six maps of features."""
    return model(x)
