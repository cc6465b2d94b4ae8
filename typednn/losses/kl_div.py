"""KLDiv: the Kullback-Leibler divergence of the predicted distribution from the target's.

loss = target (log target - prediction), 0 where target is 0       dprediction = -target/alpha

prediction (batch, *features) holds log-probabilities; target is of the same shape and holds probabilities, or their
logarithms with ``log_target``: then its exponential takes the place of target above. alpha as in
`typednn.losses.reduction`: "batchmean" is the divergence itself, the mean over samples; the default "mean" divides by
the features too, as PyTorch's. 3 flops for each number forward.
Source: Kullback and Leibler, "On Information and Sufficiency", 1951; torch.nn.KLDivLoss.
"""

from typing import Any, Generic, final, overload

from jaxtyping import Float
from typing_extensions import TypeVar

from typednn.arrays import AnyArray
from typednn.contracts.protocols import Loss
from typednn.errors import ArgumentError, explain
from typednn.kernels.pointwise import Pointwise
from typednn.kernels.pointwise_losses import (
    kl_div,
    kl_div_forward_and_backward,
    kl_div_of_logs,
    kl_div_of_logs_forward_and_backward,
)
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
class KLDiv(Loss[AnyArray, AnyArray], Generic[Value]):
    """How far the target's distribution is from the predicted one, whose logarithms are the prediction."""

    @overload
    def __init__(self: "KLDiv[float]", reduction: ToNumber = "mean", *, log_target: bool = False) -> None: ...
    @overload
    def __init__(self: "KLDiv[AnyArray]", reduction: ToArray, *, log_target: bool = False) -> None: ...
    def __init__(self, reduction: Reduction = "mean", *, log_target: bool = False) -> None:
        self.reduction: Reduction = checked_reduction("KLDiv", reduction)
        self.log_target: bool = log_target
        if not isinstance(log_target, bool):
            raise ArgumentError(explain("KLDiv", "log_target must be True or False", repr(log_target)), "log_target")

    def loss(self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]) -> Value:
        value: Value = reduced(self._op.forward(prediction, target), self.reduction)
        return value

    def loss_array(
        self, prediction: Float[AnyArray, "batch *features"], target: Float[AnyArray, "batch *features"]
    ) -> Any:
        """`loss` as an array on the device of the prediction, without waiting for it."""
        return reduced_array(self._op.forward(prediction, target), self.reduction)

    def loss_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> Float[A, "batch *features"]:
        return self._op.backward(prediction, target, 1.0 / alpha(prediction.shape, self.reduction))

    def loss_and_grad(
        self, prediction: Float[A, "batch *features"], target: Float[A, "batch *features"]
    ) -> tuple[Value, Float[A, "batch *features"]]:
        """`loss` and `loss_grad`, in one pass over the arrays."""
        both = kl_div_of_logs_forward_and_backward if self.log_target else kl_div_forward_and_backward
        losses, gradient = both(prediction, target, 1.0 / alpha(prediction.shape, self.reduction))
        value: Value = reduced(losses, self.reduction)
        return value, gradient

    def divisor(self, prediction: Any, target: Any) -> float | None:
        """How much this batch counts in a mean over several: what ``loss`` divides the sum of its losses by.

        None where ``loss`` does not divide by the batch.
        """
        return mean_divisor(prediction.shape, self.reduction)

    @property
    def _op(self) -> Pointwise:
        return kl_div_of_logs if self.log_target else kl_div

    def __repr__(self) -> str:
        return f"KLDiv(reduction={self.reduction!r}, log_target={self.log_target!r})"
