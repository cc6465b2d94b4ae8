"""The angles of sinusoidal positions: the positions lie along the rates."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("time, half")
def angles(positions: Shaped[Tensor, "[time]"], rates: Shaped[Tensor, "[half]"]) -> Shaped[Tensor, "[time, half]"]:
    return positions[None] * rates[None]  # right: return positions[:, None] * rates[None]
