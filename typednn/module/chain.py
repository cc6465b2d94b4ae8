"""How a chain runs, whatever its layers are: one sample's shape, the walk through its parts and back, and the checks of
sizes before anything is computed. What ``>>`` makes of which layers is in `typednn.module.layer`.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Self, TypeGuard, cast
from weakref import WeakKeyDictionary

from typednn import system
from typednn.arrays import device_of, is_floating, refuse_beyond_memory
from typednn.contracts.derivatives import backwards
from typednn.errors import ArgumentError, ShapeError, StackError, StateError, explain
from typednn.module.gradients import ChainGrad, ElementwiseGrad, deferred
from typednn.module.module import Module
from typednn.shapes import Flow
from typednn.shapes.cures import channels_cure, rank_cure

# The shape after each chain. Not an attribute: a copied chain would share it, and what a shape comes from.
ends: WeakKeyDictionary[Module, Flow] = WeakKeyDictionary()


class Sample:
    """One sample's shape, without the batch, and whether it is made of floats or of integers: what an `Input` says."""

    def __init__(self, *sizes: int, dtype: type = float) -> None:
        if dtype not in (float, int):
            raise ArgumentError(explain("Input", "dtype is float or int", repr(dtype)), "dtype")
        for size in sizes:
            if type(size) is not int or size < 1:
                written: Any = size
                several = isinstance(cast("object", size), list | tuple)
                cure = f"write Input({', '.join(map(str, written))})" if several else "leave the batch out"
                raise ArgumentError(explain("Input", "every size is a positive integer", repr(size), cure), "sizes")
        if len(sizes) > 3 or (not sizes and dtype is float):
            raise ArgumentError(
                explain("Input", "takes one to three sizes of one sample", str(len(sizes)), "leave the batch out"),
                "sizes",
            )
        self.sizes = sizes
        self.dtype = dtype
        self.flow: Flow = Flow.start(sizes)

    def check(self, x: Any, model: Module) -> None:
        """Raise unless a batch ``x`` holds samples of this shape."""
        if tuple(x.shape[1:]) != self.sizes:
            rule = f'the input must be "batch {" ".join(map(str, self.sizes))}"'
            cure = rank_cure("x", len(self.sizes) + 1, len(x.shape)) or channels_cure(
                "x", x.shape, str(*self.sizes[-1:])
            )
            cure = cure or "feed such samples or declare others"
            raise ShapeError(explain(f"{self!r}", rule, f"shape {tuple(x.shape)}", cure), model)

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        return f"Input({sizes})" if self.dtype is float else f"Input({sizes}, dtype=int)"


def run(steps: Sequence[Any], x: Any) -> Any:
    """The output of steps one after another."""
    for step in steps:
        x = step.forward(x)
    return x


def gradients_of(steps: Sequence[Any], next_grad: Any) -> tuple[Any, ...]:
    """The gradient of each of steps one after another, in their order."""
    gradients: list[Any] = []
    for step in reversed(steps):
        gradients.append(step.backward(next_grad if not gradients else gradients[-1].input))
    return tuple(reversed(gradients))


def run_back(steps: Sequence[Any], next_grad: Any) -> Any:
    """The gradient of steps one after another."""
    parts = gradients_of(steps, next_grad)
    kind: Any = ChainGrad
    first = parts[0]
    later: bool = getattr(first, "is_deferred", False)
    return deferred(kind, lambda: first.input, {"parts": parts}) if later else kind(first.input, parts)


def flow_through(steps: Iterable[Module], flow: Flow) -> Flow:
    """The shapes after steps one after another."""
    for step in steps:
        flow = step.trace(flow)
    return flow


def input_is_read() -> bool:
    """Whether what calls the backward that runs reads the derivative by its input, as all do but chains that begin with
    it.
    """
    return any(
        not (isinstance(outer, Parts) and outer.parts[0] is inner) for outer, inner in pairwise(backwards.running)
    )


class Parts(Module):
    """Layers one after another: what all chains are at run time. `typednn.module.layer` has them by their types."""

    parts: tuple[Module, ...]
    sample: Sample | None
    names: tuple[str, ...]

    def __init__(self, parts: Sequence[Module], sample: Sample | None = None) -> None:
        self.consist(parts, sample)
        ends[self] = self.trace(Flow.start())

    def consist(self, parts: Sequence[Module], sample: Sample | None) -> None:
        """Hold ``parts`` from now on."""
        names = tuple(part.__typednn_storage__.name or str(place) for place, part in enumerate(parts))
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise ArgumentError(
                explain(
                    type(self).__name__,
                    "every part's name is its own",
                    f"{twice!r} twice",
                    "rename one with named(...)",
                )
            )
        self.parts, self.sample, self.names = tuple(parts), sample, names

    def rearranged(self) -> None:
        """Called when the parts have become others, as those of `shared` and of a copy have."""

    def shared(self) -> Self:
        second = super().shared()
        second.rearranged()
        return second

    def __copy__(self) -> Self:
        other = super().__copy__()
        other.rearranged()
        return other

    def children(self) -> Iterator[tuple[str, Module]]:
        return zip(self.names, self.parts, strict=True)

    def gradient_of(self, grad: Any, name: str) -> Any:
        return grad.parts[self.names.index(name)]

    def flow_after(self, flow: Flow) -> Flow:
        if self.sample is not None and flow.shape is None:
            flow = self.sample.flow
        return flow_through(self.parts, flow)

    def shape_after(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        for part in self.parts:
            after = part.shape_after(shape)
            if not has_room(after):
                return None
            shape = after
        return tuple(shape)

    def check_sizes(self, inputs: Sequence[Any]) -> None:
        if self.sample is not None:
            self.sample.check(inputs[0], self)
        if self.shape_after(inputs[0].shape) is None:  # something may be wrong
            follow(self, inputs[0], self.parts)

    def freeze(self, count: int = -1) -> Self:
        """The first ``count`` layers that have parameters no longer learn, with all that stands before the next one;
        0 lets all learn. Below 0 it counts from the end: -1 freezes all but the last. Returns the chain.

        While the model trains, frozen layers compute as in eval, so batch norms use their running statistics and leave
        them as they are, and dropout drops nothing. Backward ends behind them: in the chain's gradient their parts are
        None, and its ``input`` can't be read. Optimizers don't see their parameters.
        """
        learners = [place for place, part in enumerate(self.parts) if any(True for _ in part.named_fields("parameter"))]
        given: object = count
        if isinstance(self, ParametersOfParts):
            rule = "is of a chain whose gradient has a part for each layer"
            raise ArgumentError(explain("freeze", rule, self.label(), "begin the chain with Input(...)"), "count")
        if type(given) is not int or not -len(learners) < given < len(learners):
            rule, most = f"of {len(learners)} layers with parameters one learns at least", len(learners) - 1
            cure = f"an integer from {-most} to {most}" if most > 0 else "a group of the optimizer can be frozen"
            raise ArgumentError(explain("freeze", rule, repr(given), cure), "count")
        first = learners[count] if count else 0
        for place, part in enumerate(self.parts):
            for _, module in part.named_modules():
                module.frozen = place < first
        return self.train(self.training)

    @property
    def halves(self) -> "tuple[Parts, Parts] | None":
        """The first parts, if they are frozen, and the rest, as two chains."""
        if not self.training or not self.parts[0].frozen:
            return None
        count = next(place for place, part in enumerate(self.parts) if not part.frozen)
        state, both = self.__typednn_calls__, (self.parts[:count], self.parts[count:])
        if state.halves is None or tuple(half.parts for half in state.halves) != both:
            state.halves = Parts(both[0]).eval(), Parts(both[1])
        body, head = state.halves
        return body, head

    def run(self, x: Any) -> Any:
        """The output."""
        halves = self.halves
        return run(self.parts, x) if halves is None else halves[1].run(halves[0].run(x))

    def run_back(self, next_grad: Any) -> Any:
        """The gradient."""
        halves = self.halves
        if halves is not None:
            kind: Any = ChainGrad
            learnt = halves[1].run_back(next_grad).parts
            return deferred(kind, self._not_computed, {"parts": (None,) * len(halves[0].parts) + learnt})
        return run_back(self.parts, next_grad)

    def _not_computed(self) -> Any:
        rule, got = "the derivative by the input passes all layers", "frozen ones, behind which backward ends"
        raise StateError(explain(f"{self.label()}.backward", rule, got, "freeze(0) lets all layers learn"), self)

    def label(self) -> str:
        return type(self).__name__

    def part(self, place: int | str) -> Module:
        """A part by its place or name."""
        if not isinstance(place, str):
            return self.parts[place]
        if place not in self.names:
            raise ArgumentError(
                explain(self.label(), "a part is known by its name", repr(place), f"one of {', '.join(self.names)}")
            )
        return self.parts[self.names.index(place)]

    def __iter__(self) -> Iterator[Module]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.parts if self.sample is None else (self.sample, *self.parts)))


class ParametersOfParts(Parts):
    """A chain whose gradient has one entry in ``grad.parameters`` for each part."""

    gradient_prefix = ""

    def run_back(self, next_grad: Any) -> Any:
        gradient = super().run_back(next_grad)
        return ElementwiseGrad(gradient.input, tuple(part.parameters for part in gradient.parts))

    def gradient_of(self, grad: Any, name: str) -> Any:
        return ElementwiseGrad(grad.input, grad.parameters[self.names.index(name)])


def has_room(shape: Sequence[int] | None) -> TypeGuard[tuple[int, ...]]:
    """Whether a shape is known, and an array of the widest numbers surely fits into memory."""
    return shape is not None and math.prod(shape) * 16 <= system.memory()


def follow(model: Module, x: Any, parts: Sequence[Module], judged: Collection[str] = ()) -> None:
    """Refuse what has no room, or fails for a reason that was not ``judged`` yet, before anything is computed."""
    flow = Flow.of(tuple(x.shape))
    try:
        for part in parts:
            flow = part.trace(flow)
            sizes = [size.value for size in flow.shape or () if size is not None and size.value is not None]
            dtype = x.dtype if is_floating(x.dtype) else part.dtype
            refuse_beyond_memory(f"{part.label()}.forward", sizes, dtype, device_of(x), part)
    except StackError as error:  # in the words of the definition, but it is the array that does not fit
        if error.reason not in judged:
            raise ShapeError(str(error), model) from None
