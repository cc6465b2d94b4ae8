"""A tensor's type and its string agree about the number of axes, as an array's."""

from typing import final

from jaxtyping import Float

from typednn import GraphElementwise
from typednn.graph.tensor import AnyTensor, Tensor2


@final
class Doubled(GraphElementwise[None]):
    """2 · x."""

    def formula(self, x: Float[Tensor2, "a b c"]) -> Float[AnyTensor, "a b c"]:  # shape: Tensor2 promises 2 axes, got 3 axes
        return 2.0 * x
