"""How a chain runs: neighbouring layers as one kernel, and the derivatives between these computed when they are read.

>>> import numpy as np
>>> from typednn.models import lenet5
>>> model = lenet5(softmax=False, rng=np.random.default_rng(0))
>>> grad = model.backward(model.forward(np.ones((2, 28, 28, 1), np.float32)))
>>> grad.parts[3].input.shape
(2, 14, 14, 6)

`typednn.module.chain.Parts` makes a `Fused` when a chain first runs.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self
from weakref import ref

from typednn.fusion.segments import OneOp, Segment, Settings, apart, for_inference, forward_is_gone, segments
from typednn.module.calls import locate
from typednn.module.chain import input_is_read
from typednn.module.gradients import ChainGrad, deferred
from typednn.module.layer import AnyChainGrad
from typednn.module.module import Module
from typednn.module.state import changes


class Fused:
    """Computes a chain segment by segment."""

    def __init__(self, parts: Sequence[Module]) -> None:
        self.parts: Sequence[Module] = parts
        self.settings: Settings = Settings(parts)
        self.segments: tuple[Segment, ...] = tuple(segments(parts))
        self.inference: tuple[Segment, ...] = tuple(for_inference(self.segments))  # in eval
        self.fuses: bool = len(self.inference) < len(parts)  # else no neighbours are one op
        # The last fused segment: layers after it may give the caller its y, or a part of it.
        self.last: int = max(
            (place for place, segment in enumerate(self.segments) if isinstance(segment, OneOp)), default=-1
        )

    def is_of(self, parts: Sequence[Module]) -> bool:
        """Whether it computes these parts as they are."""
        return self.parts is parts and self.settings.unchanged()

    def run(self, chain: Any, x: Any) -> Any:
        segment = self.segments[0]
        try:
            if not chain.training:
                for segment in self.inference:
                    x = segment.infer(x)
                return x
            needed = Needed(self)
            for segment in self.segments:
                x, kept = segment.run(x)
                needed.append(kept)
            if self.last >= 0:
                needed[self.last] = apart(needed[self.last], x)
        except MemoryError as error:
            locate(error, segment.layer)
            raise
        chain.needed = needed
        return x

    def run_back(self, needed: Any, next_grad: Any) -> Any:
        # A chain of one segment gets the caller's array, which may change before anybody reads the input's derivative.
        later = len(needed) > 1 and not input_is_read()
        between = Between(self.segments, needed)
        gradients: list[tuple[Any, ...]] = []  # of each segment, the last segment's first
        derivative: Any = next_grad
        known = True
        segment = self.segments[-1]
        try:
            for segment, kept in zip(reversed(self.segments), reversed(needed), strict=True):
                between.next_grads.append(derivative if known else None)
                own, derivative = segment.run_back(derivative, kept, later and segment is self.segments[0], between)
                gradients.append(own)
                known = kept is None
        except MemoryError as error:
            locate(error, segment.layer)
            raise
        parts = tuple(each for own in reversed(gradients) for each in own)
        kind: type[AnyChainGrad] = ChainGrad
        if not later:
            return kind(derivative, parts)
        between.later = derivative
        return deferred(kind, lambda: between.input, {"parts": parts})


class Needed(list[Any]):
    """What the backward of one forward needs of each segment. The chain holds it until its next forward; gradients
    don't.
    """

    def __init__(self, program: Fused, kept: Iterable[Any] = ()) -> None:
        super().__init__(kept)
        self.program: Fused = program

    def of(self, parts: Sequence[Module]) -> Self:
        """The same for copies of the parts."""
        return type(self)(Fused(parts), self)


class Between:
    """The derivatives by the inputs of fused layers in one backward: computed part by part, all at once, when one is
    first read.

    And that by the chain's input.
    """

    def __init__(self, computed: Sequence[Segment], needed: Needed) -> None:
        self.segments: Sequence[Segment] = computed
        self.needed: ref[Needed] = ref(needed)
        self.moment: int = next(changes)
        self.next_grads: list[Any] = []  # of each segment, the last segment's first; None where it is computed here
        self.inputs: dict[Module, Any] = {}
        self.later: Callable[[], Any]  # gives the derivative by the chain's input

    @cached_property
    def input(self) -> Any:
        """The derivative by the chain's input."""
        return self.later()

    def input_of(self, part: Module) -> Any:
        """The derivative by the input of ``part``."""
        if not self.inputs:
            needed = self.needed()
            if needed is None:
                raise forward_is_gone(part)
            inputs: dict[Module, Any] = {}
            derivative: Any = None
            for segment, kept, next_grad in zip(
                reversed(self.segments), reversed(needed), self.next_grads, strict=True
            ):
                if kept is not None:
                    own = segment.inputs(derivative if next_grad is None else next_grad, kept, self.moment)
                    inputs.update(zip(segment.parts, own, strict=True))
                    derivative = own[0]
            self.inputs = inputs
        return self.inputs[part]
