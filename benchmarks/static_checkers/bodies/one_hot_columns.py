"""Three categorical columns as one-hot columns: the last has a class too many."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, classes")
def one_hot(labels: Shaped[Tensor, "[count]"], classes: Shaped[int, "classes"]) -> Shaped[Tensor, "[count, classes]"]:
    return torch.eye(classes).index_select(0, labels)


@shape_vars("count")
def encode(
    colour: Shaped[Tensor, "[count]"], size: Shaped[Tensor, "[count]"], kind: Shaped[Tensor, "[count]"]
) -> Shaped[Tensor, "[count, 13]"]:
    last = one_hot(kind, 6)  # right: last = one_hot(kind, 5)
    return torch.cat((one_hot(colour, 3), one_hot(size, 5), last), dim=1)
