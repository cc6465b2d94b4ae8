"""fuse: the same model, with neighbouring layers run as one kernel.

>>> import numpy as np
>>> from typednn import fuse
>>> from typednn.models import lenet5
>>> model = lenet5(softmax=False, rng=np.random.default_rng(0))
>>> quick = fuse(model)
>>> quick.num_parameters() == model.num_parameters()
True

Both models hold the same parameters: a step of one is a step of the other. Names, state and results are the same, to rounding. What is
new: the derivative by the whole model's input is computed when ``grad.input`` is read, so that a training step, which does not read it,
does not pay for it; and the parts of one kernel have no derivatives between them. Ask the model that was fused for those.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, cast, overload

from jaxtyping import Shaped
from typing_extensions import TypeVar, TypeVarTuple

from typednn.arrays import device_of
from typednn.calls import is_observed, misplaced
from typednn.errors import ArgumentError, explain
from typednn.fields import Kept
from typednn.fusion.gradients import FusedGrad
from typednn.fusion.segments import Segment, for_inference, segments
from typednn.layer import Chain, Sequential
from typednn.module import Module

In = TypeVar("In")
Out = TypeVar("Out")
S0 = TypeVar("S0", bound=str, covariant=True)
Gs = TypeVarTuple("Gs")


class Fused(Chain[In, Out, S0, *tuple[Any, ...]], Generic[In, Out, S0]):
    """What `fuse` makes: a chain of the same parts, computed segment by segment."""

    _kept_parts: Kept[tuple[Any, ...]]  # what each segment's backward needs
    _segments: tuple[Segment, ...]
    _inference: tuple[Callable[[Any], Any], ...]  # in eval

    def __init__(self, model: Chain[In, Out, S0, *Gs] | Sequential[Any]) -> None:
        super().__init__([_inner(part.shared()) for part in model.parts], model.sample)
        self.names: tuple[str, ...] = model.names
        self.training: bool = model.training
        self.__typednn_storage__.name = model.__typednn_storage__.name
        # One model on the same arrays: `to` and `astype` of either are those of both.
        self.__typednn_storage__.placement = model.__typednn_storage__.placement
        self._arrange()

    def _arrange(self) -> None:
        self._segments = tuple(segments(self.parts))
        self._inference = tuple(for_inference(self._segments))

    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]:
        y: Any = x
        kept: list[Any] = []
        if is_observed(self):
            y = self.run(y)
        elif self.training:
            for segment in self._segments:
                y, needed = segment.run(y)
                kept.append(needed)
        else:
            for infer in self._inference:
                y = infer(y)
        self._kept_parts = tuple(kept)
        output: Out = y
        return output

    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> FusedGrad[In]:
        if not self._kept_parts:  # forward ran part by part, to be observed
            of_input, of_parts = self.run_back(next_grad)
            return FusedGrad(of_parts, lambda: of_input)
        gradients: list[tuple[Any, ...]] = []
        derivative: Any = next_grad
        # A model of one segment is handed the caller's array, which may change before anybody reads the input's derivative.
        lazy = len(self._segments) > 1
        for segment, kept in zip(reversed(self._segments), reversed(self._kept_parts), strict=True):
            grads, derivative = segment.run_back(derivative, kept, lazy and segment is self._segments[0])
            gradients.append(grads)
        parts = tuple(grad for grads in reversed(gradients) for grad in grads)
        return FusedGrad(parts, derivative if lazy else lambda: derivative)

    # update is inherited: the walk pairs each layer with its gradient, as in the chain

    def check_sizes(self, inputs: Any) -> None:
        """The parts' own checks do not run within a segment: theirs of dtype and device are made here, for the whole model."""
        super().check_sizes(inputs)
        x = inputs[0]
        if (x.dtype != self.dtype or device_of(x) != self.device) and self.parameter_shapes():
            raise misplaced(self, "Fused.forward", "x", x)

    def shared(self) -> Self:
        twin = super().shared()
        twin._arrange()
        return twin

    def __repr__(self) -> str:
        return f"fuse({super().__repr__()})"


def _inner(part: Module) -> Module:
    """A chain within the chain is fused as well."""
    return Fused(cast("Any", part)) if _is_chain(part) else part


def _is_chain(model: object) -> bool:
    return isinstance(model, Chain | Sequential)


@overload
def fuse(model: Chain[In, Out, S0, *Gs]) -> Fused[In, Out, S0]: ...
@overload
def fuse(model: Sequential[S0]) -> Fused[Any, Any, S0]: ...
def fuse(model: Any) -> Fused[Any, Any, Any]:
    """``model`` with convolution, activation and pooling, and linear and activation, run as single kernels; the parameters are shared."""
    if not _is_chain(model):
        cure = "give it what >> or Sequential makes"
        raise ArgumentError(explain("fuse", "takes a Chain or a Sequential", type(model).__name__, cure), "model")
    return Fused(model)
