"""Values of the actions taken: the actions are not unsqueezed."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def taken(values: Float[Tensor, "batch actions"], actions: Int[Tensor, "batch"]) -> Float[Tensor, "batch"]:
    return values.gather(1, actions).squeeze(1)  # shape


taken(torch.rand(3, 4), torch.tensor([0, 1, 3]))
