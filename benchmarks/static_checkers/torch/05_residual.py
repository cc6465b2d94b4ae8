"""A residual block whose inner layers change the width, so x + inner(x) is impossible."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn


class Residual(nn.Module):
    """x + inner(x)."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.relu = nn.Linear(64, 64), nn.ReLU()
        self.fc2 = nn.Linear(64, 32)  # right: self.fc2 = nn.Linear(64, 64)

    @shape_vars("B")
    def forward(self, x: Shaped[Tensor, "[B, 64]"]) -> Shaped[Tensor, "[B, 64]"]:
        """What came in, and more."""
        return x + self.fc2(self.relu(self.fc1(x)))


model = nn.Sequential(Residual(), nn.Linear(64, 10))
