"""Values of the actions taken."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def taken(values: Float[Tensor, "batch actions"], actions: Int[Tensor, "batch"]) -> Float[Tensor, "batch"]:
    return values.gather(1, actions.unsqueeze(1)).squeeze(1)


taken(torch.rand(3, 4), torch.tensor([0, 1, 3]))
