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

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Self, TypeVar

from typednn.arrays import device_of
from typednn.errors import ArgumentError, explain
from typednn.fusion.segments import Segment, for_inference, segments
from typednn.layer import AnyChainGrad, Chain, FirstChain, Parts, run, run_back
from typednn.module.calls import is_observed, misplaced
from typednn.module.gradients import ChainGrad, deferred
from typednn.module.module import Module

C = TypeVar("C", bound=Parts)


class Fused:
    """Computes a chain segment by segment: the ``program`` of a `typednn.layer.Parts`."""

    label: Final = "Fused"

    def __init__(self, parts: Sequence[Module]) -> None:
        self.segments: tuple[Segment, ...] = tuple(segments(parts))
        self.inference: tuple[Callable[[Any], Any], ...] = tuple(for_inference(self.segments))  # in eval

    def of(self, parts: Sequence[Module]) -> Self:
        return type(self)(parts)

    def check(self, chain: Any, x: Any) -> None:
        """The parts' own checks do not run within a segment: theirs of dtype and device are made here, for the whole model."""
        if (x.dtype != chain.dtype or device_of(x) != chain.device) and chain.parameter_shapes():
            raise misplaced(chain, f"{self.label}.forward", "x", x)

    def run(self, chain: Any, x: Any) -> Any:
        needs: list[Any] = []
        if is_observed(chain):
            x = run(chain.parts, x)
        elif chain.training:
            for segment in self.segments:
                x, needed = segment.run(x)
                needs.append(needed)
        else:
            for infer in self.inference:
                x = infer(x)
        chain.needed = tuple(needs)
        return x

    def run_back(self, chain: Any, next_grad: Any) -> Any:
        if not chain.needed:  # forward ran part by part, to be observed
            gradient = run_back(chain.parts, next_grad)
            return _deferred(gradient.parts, lambda: gradient.input)
        gradients: list[tuple[Any, ...]] = []  # of each segment, the last segment's first
        derivative: Any = next_grad
        # A model of one segment gets the caller's array, which may change before anybody reads the input's derivative.
        lazy = len(self.segments) > 1
        for segment, needed in zip(reversed(self.segments), reversed(chain.needed), strict=True):
            own, derivative = segment.run_back(derivative, needed, lazy and segment is self.segments[0])
            gradients.append(own)
        parts = tuple(each for own in reversed(gradients) for each in own)
        return _deferred(parts, derivative if lazy else lambda: derivative)


def _deferred(parts: tuple[Any, ...], later: Callable[[], Any]) -> AnyChainGrad:
    kind: type[AnyChainGrad] = ChainGrad
    return deferred(kind, cache(later), parts=parts)


def fuse(model: C) -> C:
    """``model`` with convolution, activation and pooling, and linear and activation, run as single kernels; the parameters are shared."""
    argument: object = model
    if not isinstance(argument, Chain | FirstChain):
        cure = "give it what >>, Sequential or a Stack's as_chain() makes"
        raise ArgumentError(explain("fuse", "takes a Chain or a Sequential", type(argument).__name__, cure), "model")
    copy: C = model.shared()
    _fuse(copy)
    return copy


def _fuse(chain: Any) -> None:
    """Let a chain, and each chain within it, be computed segment by segment."""
    for part in chain.parts:
        if isinstance(part, Chain | FirstChain):
            _fuse(part)
    chain.program = Fused(chain.parts)
