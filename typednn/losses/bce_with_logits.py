"""BCEWithLogits: binary cross entropy straight from scores.

loss = -(pos_weight target log sigmoid(prediction) + (1 - target) log(1 - sigmoid(prediction)))
dprediction = ((1 - target) sigmoid(prediction) - pos_weight target sigmoid(-prediction))/alpha

prediction (batch, *features): scores, any size, never overflowing; each answers a question of its own with yes or no.
target: shaped as the prediction, floats from 0 (no) to 1 (yes). alpha as in `typednn.losses.reduction`.
pos_weight: what a yes counts, one number for all or one for each class, the last axis; the former runs as one kernel,
the latter by NumPy. One exponential and one logarithm for each number.
Source: torch.nn.BCEWithLogitsLoss.
"""

from typing import Any, Generic, cast, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.arrays import AnyArray
from typednn.contracts.protocols import Loss
from typednn.kernels.pointwise_losses import bce_with_logits, bce_with_logits_forward_and_backward
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
from typednn.losses.weights import Weight, checked_weight, is_list, weights_for

A = TypeVar("A", bound=AnyArray)
Value = TypeVar("Value", default=float)


@final
class BCEWithLogits(Loss[AnyArray, AnyArray], Generic[Value]):
    """On scores (logits), with a yes or no for each: leave the model's last `Sigmoid` out."""

    @overload
    def __init__(
        self: "BCEWithLogits[float]", reduction: ToNumber = "mean", *, pos_weight: float | Weight = None
    ) -> None: ...
    @overload
    def __init__(self: "BCEWithLogits[AnyArray]", reduction: ToArray, *, pos_weight: float | Weight = None) -> None: ...
    def __init__(self, reduction: Reduction = "mean", *, pos_weight: float | Weight = None) -> None:
        self.reduction: Reduction = checked_reduction("BCEWithLogits", reduction)
        self.pos_weight: float | tuple[float, ...] | None
        if pos_weight is None or is_list(pos_weight):
            self.pos_weight = checked_weight("BCEWithLogits", pos_weight, "pos_weight")
        else:
            self.pos_weight = number("BCEWithLogits", "pos_weight", cast("float", pos_weight), least=0.0)

    def loss(self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]) -> Value:
        value: Value = reduced(bce_with_logits.forward(prediction, target, self._weight_of(prediction)), self.reduction)
        return value

    def loss_array(
        self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        return reduced_array(bce_with_logits.forward(prediction, target, self._weight_of(prediction)), self.reduction)

    def loss_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> Float[A, "batch *features"]:
        return bce_with_logits.backward(
            prediction, target, self._weight_of(prediction), 1.0 / alpha(prediction.shape, self.reduction)
        )

    def loss_and_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> tuple[Value, Float[A, "batch *features"]]:
        """`loss` and `loss_grad`, in one pass over the arrays."""
        losses, gradient = bce_with_logits_forward_and_backward(
            prediction, target, self._weight_of(prediction), 1.0 / alpha(prediction.shape, self.reduction)
        )
        value: Value = reduced(losses, self.reduction)
        return value, gradient

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: what ``loss`` divides the sum of its losses by.

        None where ``loss`` does not divide by the batch.
        """
        return mean_divisor(prediction.shape, self.reduction)

    def _weight_of(self, prediction: Any) -> Any:
        """A number, or an array of one for each of the last axis, in the prediction's dtype and on its device."""
        weight = self.pos_weight
        if isinstance(weight, tuple):
            return weights_for("BCEWithLogits", weight, prediction, "pos_weight")
        return 1.0 if weight is None else weight

    def __repr__(self) -> str:
        weight = "" if self.pos_weight is None else f", pos_weight={self.pos_weight!r}"
        return f"BCEWithLogits(reduction={self.reduction!r}{weight})"
