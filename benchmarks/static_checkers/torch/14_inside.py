"""Wrong arithmetic inside a layer: the weight should have been transposed."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn


@shape_vars("inputs, outputs")
class Project(nn.Module):
    """A product with a matrix."""

    def __init__(self, inputs: Shaped[int, "inputs"], outputs: Shaped[int, "outputs"]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(outputs, inputs))

    @shape_vars("B")
    def forward(self, x: Shaped[Tensor, "[B, inputs]"]) -> Shaped[Tensor, "[B, outputs]"]:
        """One product."""
        return x @ self.weight  # right: return x @ self.weight.T


model = nn.Sequential(Project(8, 4), Project(4, 2))
