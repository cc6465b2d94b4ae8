"""The same, with the layers collected in a list by a loop."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn

widths = [(784, 128), (127, 64), (64, 10)]  # right: widths = [(784, 128), (128, 64), (64, 10)]
layers: list[nn.Module] = []
for inputs, outputs in widths:
    layers += [nn.Linear(inputs, outputs), nn.ReLU()]
model = nn.Sequential(*layers)


@shape_vars("B")
def scores(x: Shaped[Tensor, "[B, 784]"]) -> Tensor:
    """Scores for ten classes."""
    return model(x)
