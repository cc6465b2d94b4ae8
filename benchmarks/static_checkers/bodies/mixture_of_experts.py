"""Experts' outputs weighted by their gates: einsum reads the experts where the batch is."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, experts, features")
def mix(
    gates: Shaped[Tensor, "[batch, experts]"], outputs: Shaped[Tensor, "[batch, experts, features]"]
) -> Shaped[Tensor, "[batch, features]"]:
    return torch.einsum("be,ebf->bf", gates, outputs)  # right: return torch.einsum("be,bef->bf", gates, outputs)
