"""A function annotated with ten classes returns eleven."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn

hidden, relu = nn.Linear(784, 128), nn.ReLU()
last = nn.Linear(128, 11)  # right: last = nn.Linear(128, 10)


@shape_vars("B")
def classify(x: Shaped[Tensor, "[B, 784]"]) -> Shaped[Tensor, "[B, 10]"]:
    """Scores for ten classes."""
    return last(relu(hidden(x)))
