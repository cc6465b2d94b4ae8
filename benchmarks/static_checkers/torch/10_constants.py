"""Channels from another module, height and width unknown."""

from shape_extensions import Shaped, shape_vars
from sizes import CHANNELS, WIDTH
from torch import Tensor, nn

conv, pool = nn.Conv2d(1, CHANNELS, 3), nn.MaxPool2d(2)
model = nn.Sequential(conv, pool, nn.Conv2d(WIDTH, 32, 3))  # right: model = nn.Sequential(conv, pool, nn.Conv2d(CHANNELS, 32, 3))


@shape_vars("B, H, W")
def maps(x: Shaped[Tensor, "[B, 1, H, W]"]) -> Tensor:
    """Maps of features."""
    return model(x)
