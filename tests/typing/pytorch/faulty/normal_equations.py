"""Normal equations: the right side is not multiplied."""

import torch
from jaxtyping import Float
from torch import Tensor


def solve(x: Float[Tensor, "rows 3"], y: Float[Tensor, "rows"]) -> Float[Tensor, "3"]:
    return torch.linalg.solve(x @ x.T, x.T @ y)  # shape


solve(torch.eye(5, 3), torch.rand(5))
