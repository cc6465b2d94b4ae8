"""PReLU: negative numbers are scaled by a learnt slope.

y = x where x > 0, else slope·x         dx = dy where x > 0, else slope·dy         dslope = Σ dy·x where x <= 0

x any shape, kept; slope (1). One comparison and one product per element, twice that backward.
Source: He, Zhang, Ren and Sun, "Delving Deep into Rectifiers", 2015, eqs 1 and 6-8, with one slope for all channels.
"""

from typing import TypeVar

from jaxtyping import Float

from typednn.arrays import AnyArray, Array1, namespace

P = TypeVar("P", bound=AnyArray)


def forward(x: Float[P, "*shape"], slope: Float[Array1, "1"]) -> Float[P, "*shape"]:
    """y."""
    y: P = namespace(x).where(x > 0, x, slope * x)
    return y


def backward(
    next_grad: Float[P, "*shape"], x: Float[AnyArray, "*shape"], slope: Float[Array1, "1"]
) -> tuple[Float[P, "*shape"], Float[Array1, "1"]]:
    """(dx, dslope)."""
    xp = namespace(x)
    passes = x > 0
    dx: P = xp.where(passes, next_grad, slope * next_grad)
    # Summed along an axis, as a sum over all would give a number and no array.
    dslope: Array1 = xp.where(passes, 0, next_grad * x).reshape(1, x.size).sum(axis=1)
    return dx, dslope
