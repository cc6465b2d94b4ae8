"""Images into an affine map, without Flatten."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn

conv, flatten = nn.Conv2d(1, 6, 5), nn.Flatten()
model = nn.Sequential(conv, nn.Linear(3456, 10))  # right: model = nn.Sequential(conv, flatten, nn.Linear(3456, 10))


@shape_vars("B")
def scores(x: Shaped[Tensor, "[B, 1, 28, 28]"]) -> Tensor:
    """Scores for ten classes."""
    return model(x)
