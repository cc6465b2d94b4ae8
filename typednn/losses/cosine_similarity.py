"""CosineSimilarity: how far prediction and target point apart, whatever their lengths.

loss = 1 - cos, from 0 (same direction) to 2 (opposite)       dprediction = (cos·p/|p| - t/|t|)/(|p| alpha)
cos = Σ_feature p t / (|p| |t|)

prediction p, target t (batch, *positions, features); one loss for each vector along the last axis, so that there is a
loss for each (batch, *positions), and alpha of `typednn.losses.reduction` counts these. Lengths below ``eps`` count as
``eps``, as in torch.nn.CosineSimilarity; there the derivative by the length is 0. 6 flops for each number forward, 11
both.
Source: torch.nn.CosineEmbeddingLoss with target 1 for all pairs.
"""

from typing import Any, Generic, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.arrays import AnyArray
from typednn.contracts.protocols import Loss
from typednn.kernels import cosine_similarity
from typednn.losses.reduction import (
    Reduction,
    ToArray,
    ToNumber,
    alpha,
    checked_reduction,
    mean_divisor,
    reduced,
    reduced_array,
)

A = TypeVar("A", bound=AnyArray)
Value = TypeVar("Value", default=float)


@final
class CosineSimilarity(Loss[AnyArray, AnyArray], Generic[Value]):
    """For embeddings, whose direction alone matters."""

    @overload
    def __init__(self: "CosineSimilarity[float]", reduction: ToNumber = "mean", *, eps: float = 1e-8) -> None: ...
    @overload
    def __init__(self: "CosineSimilarity[AnyArray]", reduction: ToArray, *, eps: float = 1e-8) -> None: ...
    def __init__(self, reduction: Reduction = "mean", *, eps: float = 1e-8) -> None:
        self.reduction: Reduction = checked_reduction("CosineSimilarity", reduction)
        self.eps: float = number("CosineSimilarity", "eps", eps, least=1e-30)

    def loss(
        self,
        prediction: Float[AnyArray, "batch *positions features"],
        target: Float[AnyArray, "batch *positions features"],
    ) -> Value:
        value: Value = reduced(cosine_similarity.forward(prediction, target, self.eps), self.reduction)
        return value

    def loss_array(
        self,
        prediction: Float[AnyArray, "batch *positions features"],
        target: Float[AnyArray, "batch *positions features"],
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        return reduced_array(cosine_similarity.forward(prediction, target, self.eps), self.reduction)

    def loss_grad(
        self, prediction: Float[A, "batch *positions features"], target: Float[A, "batch *positions features"]
    ) -> Float[A, "batch *positions features"]:
        gradient: A = cosine_similarity.backward(
            prediction, target, self.eps, 1.0 / alpha(prediction.shape[:-1], self.reduction)
        )
        return gradient

    def loss_and_grad(
        self, prediction: Float[A, "batch *positions features"], target: Float[A, "batch *positions features"]
    ) -> tuple[Value, Float[A, "batch *positions features"]]:
        """`loss` and `loss_grad`, which share the lengths."""
        scale = 1.0 / alpha(prediction.shape[:-1], self.reduction)
        losses, gradient = cosine_similarity.forward_and_backward(prediction, target, self.eps, scale)
        value: Value = reduced(losses, self.reduction)
        return value, gradient

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: what ``loss`` divides the sum of its losses by.

        None where ``loss`` does not divide by the batch.
        """
        return mean_divisor(prediction.shape[:-1], self.reduction)

    def __repr__(self) -> str:
        return f"CosineSimilarity(reduction={self.reduction!r}, eps={self.eps!r})"
