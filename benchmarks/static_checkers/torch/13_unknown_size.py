"""Flattened at an unknown height and width: 16*h*w can be 400, but never 120."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn

conv, flatten = nn.Conv2d(1, 16, 3), nn.Flatten()
model = nn.Sequential(conv, flatten, nn.Linear(120, 10))  # right: model = nn.Sequential(conv, flatten, nn.Linear(400, 10))


@shape_vars("B, H, W")
def scores(x: Shaped[Tensor, "[B, 1, H, W]"]) -> Tensor:
    """Scores for the classes."""
    return model(x)
