"""Three categorical columns as one-hot columns: the last has a class too many."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count")
def encode(colour: Shaped[Tensor, "[count]"], size: Shaped[Tensor, "[count]"], kind: Shaped[Tensor, "[count]"]) -> Shaped[Tensor, "[count, 13]"]:
    columns = (torch.eye(3)[colour], torch.eye(5)[size], torch.eye(6)[kind])  # right: columns = (torch.eye(3)[colour], torch.eye(5)[size], torch.eye(5)[kind])
    return torch.cat(columns, dim=1)
