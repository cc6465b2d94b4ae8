"""LeNet5 stacked: the second pool has 16*5*5 = 400 outputs."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn

features = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(6, 16, 5),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(256, 120),  # right: nn.Linear(400, 120),
    nn.ReLU(),
    nn.Linear(120, 84),
    nn.ReLU(),
    nn.Linear(84, 10),
)


@shape_vars("B")
def scores(x: Shaped[Tensor, "[B, 1, 28, 28]"]) -> Tensor:
    """Scores for ten classes."""
    return features(x)
