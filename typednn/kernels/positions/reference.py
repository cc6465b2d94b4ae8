"""Positions: what tells attention where in a sequence each vector stands, which it would not know.

sines      y_t = x_t + e_t, where e_t,2i = sin(t·10000^(-2i/features)) and e_t,2i+1 = cos(t·10000^(-2i/features));
           dx = dy
learned    y_t = x_t + weight_t                                              dx = dy    dweight_t = Σ_batch dy_t
rotate     each pair of features (2i, 2i+1) turned by the angle a = t·base^(-2i/features):
           y_2i = x_2i cos a - x_2i+1 sin a, y_2i+1 = x_2i sin a + x_2i+1 cos a             dx = dy turned by -a

x, y (batch, time, features), in rotate (batch, time, heads, features); weight (length, features). Positions count from
``first``. One addition per number; rotate three operations. Angles are computed in double precision.
Sources: Vaswani et al. 2017, "Attention Is All You Need", section 3.5; Gehring et al. 2017, "Convolutional Sequence to
Sequence Learning"; Su et al. 2021, "RoFormer", eqs 14, 15 and 34.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn.arrays import Array2, Array3, Array4, namespace
from typednn.kernels import sums


def add_sines(x: Float[Array3, "batch time features"], first: int = 0) -> Float[Array3, "batch time features"]:
    """y."""
    xp, (time, features) = namespace(x), x.shape[1:]
    angles = _angles(xp, first, time, (features + 1) // 2, features, 10000.0)
    waves = xp.stack([xp.sin(angles), xp.cos(angles)], axis=2).reshape(time, -1)[:, :features]
    y: Array3 = x + waves.astype(x.dtype)
    return y


def add_learned(
    x: Float[Array3, "batch time features"], weight: Float[Array2, "length features"], first: int = 0
) -> Float[Array3, "batch time features"]:
    """y."""
    y: Array3 = x + weight[first : first + x.shape[1]]
    return y


def learned_backward(
    next_grad: Float[Array3, "batch time features"], length: int
) -> Float[Array2, "{length} features"]:
    """dweight; 0 for positions that were not there."""
    dweight: Array2 = namespace(next_grad).zeros((length, next_grad.shape[2]), dtype=next_grad.dtype)
    dweight[: next_grad.shape[1]] = sums.over(next_grad, 0)
    return dweight


def rotate(
    x: Float[Array4, "batch time heads features"], base: float = 10000.0, first: int = 0, back: bool = False
) -> Float[Array4, "batch time heads features"]:
    """y; ``back`` turns the other way, as the derivative does. An even number of features."""
    xp, (_, time, _, features) = namespace(x), x.shape
    angles = _angles(xp, first, time, features // 2, features, base)[:, None]
    cos, sin = xp.cos(angles).astype(x.dtype), xp.sin(-angles if back else angles).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    y: Array4 = xp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=4).reshape(x.shape)
    return y


def _angles(xp: Any, first: int, time: int, pairs: int, features: int, base: float) -> Float[Array2, "{time} {pairs}"]:
    """t·base^(-2i/features)."""
    exponents = xp.arange(pairs, dtype=np.float64) * (-2.0 / features)
    angles: Array2 = xp.arange(first, first + time, dtype=np.float64)[:, None] * base**exponents
    return angles
