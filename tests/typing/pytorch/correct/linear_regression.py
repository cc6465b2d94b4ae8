"""Least squares by gradient descent."""

import torch
from jaxtyping import Float
from torch import Tensor


def fit(x: Float[Tensor, "rows features"], y: Float[Tensor, "rows"]) -> Float[Tensor, "features"]:
    weights = torch.zeros(x.shape[1], requires_grad=True)
    for _ in range(3):
        loss = ((x @ weights - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            weights = (weights - 0.1 * x.T @ (x @ weights - y)).requires_grad_()
    return weights.detach()


fit(torch.rand(5, 3), torch.rand(5))
