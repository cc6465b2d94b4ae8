"""The shapes, in one place."""

from typing import TypeAlias

from jaxtyping import Float

from typednn import Array2

Images: TypeAlias = Float[Array2, "batch 784"]
Weight = Float[Array2, "10 784"]
Scores = Float[Array2, "batch 10"]
