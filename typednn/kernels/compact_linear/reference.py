"""Compact linear: `linear` with weights in bfloat16, or in integers of 8 bits with a scale for each row.

y = x wideᵀ + bias       wide[o, i] = the number whose upper 16 bits are weight[o, i],       or scale[o]·weight[o, i]

x (batch, in_features)    weight (out_features, in_features), uint16 where scale is None, else int8
scale, bias (out_features)    y (batch,
out_features). bfloat16 is float32 without its lower 16 bits: 8 digits in base 2. Sums are in x's dtype; the sum over
int8 is scaled once. 2·batch·in·out flops.
Source: Dettmers et al. 2022, "LLM.int8()", section 2, for a scale per row, absmax/127.
"""

from jaxtyping import Float, Integer

from typednn.arrays import AnyArray, AnyIntArray, Array1, Array2, IntArray2, namespace
from typednn.kernels.bfloat16 import from_bfloat16, to_bfloat16


def forward(
    x: Float[Array2, "batch in_features"],
    weight: Integer[IntArray2, "out_features in_features"],
    scale: Float[Array1, " out_features"] | None = None,
    bias: Float[Array1, " out_features"] | None = None,
) -> Float[Array2, "batch out_features"]:
    """y."""
    y: Float[Array2, "batch out_features"] = x @ widened(weight, scale).astype(x.dtype).T
    if bias is not None:
        y = y + bias
    return y


def packed(
    weight: Float[Array2, "out_features in_features"], bits: int
) -> tuple[Integer[IntArray2, "out_features in_features"], Float[Array1, " out_features"] | None]:
    """``weight`` of float32 in 16 bits and None, or in 8 and the scales; a row of zeros has the scale 1."""
    xp = namespace(weight)
    if bits == 16:
        return to_bfloat16(weight), None
    largest = xp.abs(weight).max(axis=1)
    scale = xp.where(largest > 0, largest / 127, 1).astype(weight.dtype)
    return xp.rint(weight / scale[:, None]).clip(-127, 127).astype("int8"), scale


def widened(
    weight: Integer[AnyIntArray, "*rows in_features"], scale: Float[AnyArray, "*rows"] | None
) -> Float[AnyArray, "*rows in_features"]:
    """The float32 numbers that packed weights stand for; the last axis shares a scale."""
    return from_bfloat16(weight) if scale is None else weight.astype(scale.dtype) * scale[..., None]
