"""The first three principal components: rows of the vectors are taken, not columns."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, features")
def project(x: Shaped[Tensor, "[count, features]"], vectors: Shaped[Tensor, "[features, features]"]) -> Shaped[Tensor, "[count, 3]"]:
    centred = x - x.mean(dim=0, keepdim=True)
    return centred @ vectors[-3:]  # right: return centred @ vectors[:, -3:]
