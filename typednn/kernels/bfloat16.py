"""Numbers in bfloat16: float32 without its lower 16 bits, so of the same range, with 8 binary digits."""

from jaxtyping import Float, Integer

from typednn.arrays import AnyArray, AnyIntArray, namespace


def to_bfloat16(x: Float[AnyArray, "*shape"]) -> Integer[AnyIntArray, "*shape"]:
    """The upper 16 bits of float32 numbers, rounded to the nearest, ties to even; NaN stays NaN."""
    xp, bits = namespace(x), x.view("uint32")
    rounded = (bits + (((bits >> 16) & 1) + 0x7FFF).astype("uint32")) >> 16
    upper: AnyIntArray = xp.where(xp.isnan(x), (bits >> 16) | 0x40, rounded).astype("uint16")
    return upper


def from_bfloat16(x: Integer[AnyIntArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    """The float32 numbers with these upper bits."""
    return (x.astype("uint32") << 16).view("float32")


def rounded(x: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    """The nearest numbers of bfloat16, as float32."""
    return from_bfloat16(to_bfloat16(x))
