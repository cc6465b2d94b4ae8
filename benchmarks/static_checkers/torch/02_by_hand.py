"""The same LeNet5, written by hand."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn


class Net(nn.Module):
    """Two convolutions, two affine maps."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.relu, self.pool = nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2)
        self.conv2, self.flatten = nn.Conv2d(6, 16, 5), nn.Flatten()
        self.fc1 = nn.Linear(256, 120)  # right: self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 10)

    @shape_vars("B")
    def forward(self, x: Shaped[Tensor, "[B, 1, 32, 32]"]) -> Shaped[Tensor, "[B, 10]"]:
        """Scores for ten classes."""
        images = self.pool(self.relu(self.conv1(x)))
        images = self.pool(self.relu(self.conv2(images)))
        rows = self.flatten(images)
        rows = self.fc1(rows)
        return self.fc2(self.relu(rows))


model = Net()
