"""LastStep: of each sequence the last position.

y[b] = x[b, lengths[b] - 1], or x[b, time - 1] without lengths       dx is dy at that position, 0 elsewhere

x (batch, time, features)   y (batch, features). Keeps the shape and the lengths. No arithmetic of its own.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Integer

from typednn.arrays import Array2, Array3, IntArray1
from typednn.contracts.ranges import check_range
from typednn.kernels import last_step
from typednn.layer import Layer, S
from typednn.module.fields import Kept
from typednn.module.gradients import Gradient


@final
@dataclass(frozen=True, slots=True)
class LastStepGrad(Gradient, inputs=("input", "lengths")):
    """The loss's derivative by the input; lengths have none."""

    input: Float[Array3, "batch time features"]
    lengths: None


@final
class LastStep(Layer[Array3, Array2, LastStepGrad, S]):
    """What a recurrent layer gave after a whole sequence: ``LSTM(8, 16) >> LastStep() >> Linear(16, 2)``."""

    _time: Kept[int]
    _lengths: Kept[Integer[IntArray1, " batch"] | None]

    def forward(
        self, x: Float[Array3, "batch time features"], lengths: Integer[IntArray1, " batch"] | None = None
    ) -> Float[Array2, "batch features"]:
        check_range(self, "lengths", lengths, 1, x.shape[1])
        self._time, self._lengths = x.shape[1], lengths
        return last_step.forward(x, lengths)

    def backward(self, next_grad: Float[Array2, "batch features"]) -> LastStepGrad:
        return LastStepGrad(last_step.backward(next_grad, self._time, self._lengths), None)
