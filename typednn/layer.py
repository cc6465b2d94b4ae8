"""Layer and its siblings, and how they stack: ``Input(28, 28, 1) >> a >> b >> c``.

================  ==========================================================================================
Layer             one array in, one array out, and a gradient whose ``input`` is typed as that array
Elementwise       keeps whatever rank and shape it is given: ReLU fits anywhere
Positionwise      maps the last axis of rows and of sequences, and keeps the axes before it
FirstLayer        reads integers (tokens), which have no derivative: first in a stack only
MultiInput        several arrays in; called by hand-written models, not stacked
Input             not a layer: declares one sample's shape, so that every size is known from the start
Chain             what ``>>`` makes: every part's gradient keeps its exact type in ``grad.parts``
================  ==========================================================================================

The last type argument of a layer, ``S``, is its shape contract for type checkers; it has a default and no
meaning at run time.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeGuard, cast, overload
from weakref import WeakKeyDictionary

from jaxtyping import Float, Shaped
from typing_extensions import TypeVar, TypeVarTuple

from typednn import arrays, hooks
from typednn.arrays import (
    AnyArray,
    Array2,
    Array3,
    Array4,
    IntArray1,
    IntArray2,
    device_of,
    is_floating,
    refuse_beyond_memory,
)
from typednn.contracts.derivatives import backwards
from typednn.contracts.operands import KeepingOperand, Last, Operand
from typednn.contracts.protocols import Backward, Forward, InputGrad, Optimizer, Part, Update
from typednn.errors import ArgumentError, ShapeError, StackError, TypednnError, explain
from typednn.habits import value_cure
from typednn.module.calls import is_observed
from typednn.module.fields import Kept, not_forwarded
from typednn.module.foreign import Foreign, adopted, identity, missing_methods
from typednn.module.gradients import ChainGrad, ElementwiseGrad, deferred
from typednn.module.module import Module
from typednn.module.updates import inherited, update_parts
from typednn.public import opened
from typednn.shapes import Flow
from typednn.shapes.cures import channels_cure, rank_cure
from typednn.tracebacks import fold

In = TypeVar("In")
Out = TypeVar("Out")
Next = TypeVar("Next")
Before = TypeVar("Before")
A = TypeVar("A", bound=AnyArray)
if TYPE_CHECKING:
    Rows = TypeVar("Rows", Array2, Array3)
else:  # of a choice jaxtyping would make two annotations; `Positionwise` asks for the rank itself
    Rows = TypeVar("Rows", bound=AnyArray)
P = TypeVar("P")
P2 = TypeVar("P2")
L = TypeVar("L")
G = TypeVar("G", bound=InputGrad[Any])
G2 = TypeVar("G2", bound=InputGrad[Any])
# of a part whose input has a derivative, as a FirstLayer's has not
ArrayGrad = TypeVar("ArrayGrad", bound=InputGrad[AnyArray])
S = TypeVar("S", bound=str, covariant=True, default=Any)
S0 = TypeVar("S0", bound=str, covariant=True)
Gs = TypeVarTuple("Gs")
Ps = TypeVarTuple("Ps")


class _Updated(Module, Generic[P]):
    """A layer whose gradient is a ``P``."""

    @inherited
    def update(self, optimizer: Optimizer, grad: P) -> None:
        """``optimizer.step(weights, derivative)`` once per parameter, in the order of declaration; each part's own
        ``update`` is called.
        """
        try:
            update_parts(self, optimizer, grad)
        except TypednnError as error:
            fold(error)
            raise


class _OneInput(_Updated[G], Generic[In, Out, G]):
    """What `Layer` and `FirstLayer` share."""

    @abstractmethod
    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]: ...

    @abstractmethod
    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> G: ...

    def __call__(self, x: In) -> Out:
        return self.forward(x)


class Layer(_OneInput[In, Out, G], Forward[In, Out], Backward[Out, In], Update[G], Generic[In, Out, G, S]):
    """One array in, one out. Derive, declare fields, annotate ``forward`` and ``backward``: everything else is
    inherited.
    """

    @classmethod
    def adopt(cls, parts: Sequence[Any]) -> list[Module]:
        """What a chain holds, or a field of this type with a contract; `StackError` for anything that is no layer."""
        layers = list(map(adopted, parts))
        check_stackable(layers)
        return layers

    def check_sizes(self, inputs: Sequence[Any]) -> None:
        if not _has_room(self.shape_after(inputs[0].shape)):
            judged = () if self.shape_contracts else ("rank", "size", "part")  # in the words of a call
            _follow(self, inputs[0], (self,), judged)

    @overload
    def __rshift__(self, other: KeepingOperand[P, L]) -> "Chain[In, Out, Last[L], G, ElementwiseGrad[Out, P]]": ...
    @overload
    def __rshift__(self, other: Operand[Out, Next, G2, L]) -> "Chain[In, Next, Last[L], G, G2]": ...
    def __rshift__(self, other: Any) -> Any:
        return _stacked(Chain, None, self, other)

    def __rrshift__(self, other: Part[Before, In, G2]) -> "Chain[Before, Out, Last[Self], G2, G]":
        return cast("Chain[Before, Out, Last[Self], G2, G]", _stacked(Chain, None, other, self))


class Elementwise(_Updated[ElementwiseGrad[AnyArray, P]], Generic[P]):
    """Keeps the shape and the rank of whatever it is given; ``P`` is the dataclass of its parameters' gradients, or
    None.
    """

    gradient_prefix = "parameters."

    if TYPE_CHECKING:

        @property
        def parameters_gradient(self) -> P: ...

    @abstractmethod
    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]: ...

    @abstractmethod
    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, P]: ...

    def __call__(self, x: A) -> A:
        return self.forward(x)

    @overload
    def __rshift__(self, other: "Elementwise[P2]") -> "ElementwiseChain[P, P2]": ...
    @overload
    def __rshift__(self, other: "Positionwise[P2]") -> "PositionwiseChain[P, P2]": ...
    @overload
    def __rshift__(self, other: Operand[In, Out, G, L]) -> "Chain[In, Out, Last[L], ElementwiseGrad[In, P], G]": ...
    def __rshift__(self, other: Any) -> Any:
        kinds = ((Elementwise, ElementwiseChain), (Positionwise, PositionwiseChain), (object, Chain))
        return _stacked(next(chain for kind, chain in kinds if isinstance(other, kind)), None, self, other)

    def __rrshift__(self, other: Part[In, Out, G]) -> "Chain[In, Out, Last[Self], G, ElementwiseGrad[Out, P]]":
        return cast("Chain[In, Out, Last[Self], G, ElementwiseGrad[Out, P]]", _stacked(Chain, None, other, self))


class Positionwise(_Updated[ElementwiseGrad[AnyArray, P]], Generic[P]):
    """Reads the last axis of rows or of sequences, ``batch features`` or ``batch time features``, and keeps the axes
    before it.

    One that keeps the last axis too, at any rank, is an `Elementwise` with the annotation ``*batch {self.features}``.
    """

    gradient_prefix = "parameters."

    @abstractmethod
    def forward(self, x: Float[Rows, "*batch in_features"]) -> Float[Rows, "*batch out_features"]: ...

    @abstractmethod
    def backward(self, next_grad: Float[Rows, "*batch out_features"]) -> ElementwiseGrad[Rows, P]: ...

    def __call__(self, x: Rows) -> Rows:
        return self.forward(x)

    def trace(self, flow: Flow) -> Flow:
        if flow.axes is not None and len(flow.axes) not in (2, 3):
            raise flow.wrong_rank(self.label(), (2, 3))
        return super().trace(flow)

    def check_sizes(self, inputs: Sequence[Any]) -> None:
        _follow(self, inputs[0], (self,))

    @overload
    def __rshift__(self, other: "Positionwise[P2] | Elementwise[P2]") -> "PositionwiseChain[P, P2]": ...
    @overload
    def __rshift__(
        self, other: Operand[Rows, Out, G, L]
    ) -> "Chain[Rows, Out, Last[L], ElementwiseGrad[Rows, P], G]": ...
    def __rshift__(self, other: Any) -> Any:
        return _stacked(
            PositionwiseChain if isinstance(other, Positionwise | Elementwise) else Chain, None, self, other
        )

    @overload
    def __rrshift__(
        self, other: "Chain[In, Rows, str, *Gs]"
    ) -> "Chain[In, Rows, Last[Self], *Gs, ElementwiseGrad[Rows, P]]": ...
    @overload  # a FirstChain is a FirstLayer too, and grows
    def __rrshift__(  # pyright: ignore[reportOverlappingOverload]
        self, other: "FirstChain[In, Rows, str, *Gs]"
    ) -> "FirstChain[In, Rows, Last[Self], *Gs, ElementwiseGrad[Rows, P]]": ...
    @overload
    def __rrshift__(
        self, other: "FirstLayer[In, Rows, G]"
    ) -> "FirstChain[In, Rows, Last[Self], G, ElementwiseGrad[Rows, P]]": ...
    @overload
    def __rrshift__(self, other: "Input[Rows]") -> "Chain[Rows, Rows, Last[Self], ElementwiseGrad[Rows, P]]": ...
    @overload
    def __rrshift__(
        self, other: Part[In, Rows, ArrayGrad]
    ) -> "Chain[In, Rows, Last[Self], ArrayGrad, ElementwiseGrad[Rows, P]]": ...
    def __rrshift__(self, other: Any) -> Any:
        return _stacked(Chain, None, other, self)


class FirstLayer(_OneInput[In, Out, G], Generic[In, Out, G, S]):
    """Reads integers, which have no derivative: its gradient's ``input`` is None, and nothing can stand before it."""

    @overload
    def __rshift__(self, other: KeepingOperand[P, L]) -> "FirstChain[In, Out, Last[L], G, ElementwiseGrad[Out, P]]": ...
    @overload
    def __rshift__(self, other: Operand[Out, Next, G2, L]) -> "FirstChain[In, Next, Last[L], G, G2]": ...
    def __rshift__(self, other: Any) -> Any:
        return _stacked(FirstChain, None, self, other)


class MultiInput(_Updated[P], Generic[Out, P]):
    """Several annotated arrays in; the gradient names a field for each: ``class BilinearGrad(Gradient, inputs=("left",
    "right"))``.
    """

    forward: Callable[..., Out]

    def __call__(self, *inputs: Any) -> Out:
        return self.forward(*inputs)

    @abstractmethod
    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> P: ...


class Input(Generic[In]):
    """One sample's shape, without the batch.

    ``Input(28, 28, 1)`` for images, ``Input(784)`` for rows, ``Input(32, dtype=int)`` for tokens.
    """

    @overload
    def __init__(self: "Input[Array2]", size0: int, /) -> None: ...
    @overload
    def __init__(self: "Input[Array3]", size0: int, size1: int, /) -> None: ...
    @overload
    def __init__(self: "Input[Array4]", size0: int, size1: int, size2: int, /) -> None: ...
    @overload
    def __init__(self: "Input[IntArray1]", /, *, dtype: type[int]) -> None: ...
    @overload
    def __init__(self: "Input[IntArray2]", size0: int, /, *, dtype: type[int]) -> None: ...
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

    @overload
    def __rshift__(self, other: FirstLayer[In, Out, G]) -> "FirstChain[In, Out, str, G]": ...
    @overload
    def __rshift__(self: "Input[A]", other: KeepingOperand[P, L]) -> "Chain[A, A, Last[L], ElementwiseGrad[A, P]]": ...
    @overload
    def __rshift__(self, other: Operand[In, Out, ArrayGrad, L]) -> "Chain[In, Out, Last[L], ArrayGrad]": ...
    def __rshift__(self, other: Any) -> Any:
        return _stacked(FirstChain if isinstance(other, FirstLayer) else Chain, self, other)

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


opened(Input)


# The shape after each chain. Not an attribute: a copied chain would share it, and what a shape comes from.
_ends: WeakKeyDictionary[Module, Flow] = WeakKeyDictionary()


def run(steps: Sequence[Any], x: Any) -> Any:
    """The output of steps one after another."""
    for step in steps:
        x = step.forward(x)
    return x


def run_back(steps: Sequence[Any], next_grad: Any) -> Any:
    """The gradient of steps one after another."""
    gradients: list[Any] = []
    for step in reversed(steps):
        gradients.append(step.backward(next_grad if not gradients else gradients[-1].input))
    kind: Any = ChainGrad
    first, parts = gradients[-1], tuple(gradients[::-1])
    later: bool = getattr(first, "is_deferred", False)
    return deferred(kind, lambda: first.input, {"parts": parts}) if later else kind(first.input, parts)


def input_is_read() -> bool:
    """Whether what calls the backward that runs reads the derivative by its input, as all do but chains that begin with
    it.
    """
    return any(
        not (isinstance(outer, Parts) and outer.parts[0] is inner) for outer, inner in pairwise(backwards.running)
    )


class Parts(Module):
    """Layers one after another: what all chains are at run time. The classes below differ in their types."""

    parts: tuple[Module, ...]
    sample: Input[Any] | None
    names: tuple[str, ...]
    fused: bool = True  # whether neighbouring layers run as one kernel: see `fuse`
    needed: Kept[Any]  # what the backward of a fused forward needs: a `typednn.fusion.fused.Needed`

    def __init__(self, parts: Sequence[Module], sample: Input[Any] | None = None) -> None:
        self.consist(parts, sample)
        _ends[self] = self.trace(Flow.start())

    def consist(self, parts: Sequence[Module], sample: Input[Any] | None) -> None:
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

    def grown(self, kind: Any, other: Any) -> Any:
        """This chain and one more layer. What fitted fits: only the new layer is looked at, or long chains would take
        hours.
        """
        part = adopted(other)
        check_stackable((*self.parts, part), known=len(self.parts))
        longer = _chain_of(kind, (*self.parts, part), self.sample)
        _ends[longer] = part.trace(_ends.get(self) or self.trace(Flow.start()))
        return longer

    def rearranged(self) -> None:
        """Called when the parts have become others, as those of `shared` and of a copy have."""

    def shared(self) -> Self:
        second = super().shared()
        second.rearranged()
        return second

    def __copy__(self) -> Self:
        other = super().__copy__()
        kept = other.__typednn_calls__.kept
        if "needed" in kept:
            kept["needed"] = kept["needed"].of(other.parts)
        other.rearranged()
        return other

    def children(self) -> Iterator[tuple[str, Module]]:
        return zip(self.names, self.parts, strict=True)

    def gradient_of(self, grad: Any, name: str) -> Any:
        return grad.parts[self.names.index(name)]

    def flow_after(self, flow: Flow) -> Flow:
        if self.sample is not None and flow.shape is None:
            flow = self.sample.flow
        for part in self.parts:
            flow = part.trace(flow)
        return flow

    def shape_after(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        for part in self.parts:
            after = part.shape_after(shape)
            if not _has_room(after):
                return None
            shape = after
        return tuple(shape)

    def check_sizes(self, inputs: Sequence[Any]) -> None:
        if self.sample is not None:
            self.sample.check(inputs[0], self)
        if self.shape_after(inputs[0].shape) is None:  # something may be wrong
            _follow(self, inputs[0], self.parts)

    def fuse(self, mode: bool = True) -> Self:
        """Run neighbouring layers as one kernel, here and in chains below, as is the default (``fuse(False)``: part by
        part).

        Results are the same up to rounding. Returns the chain.
        """
        for _, module in self.named_modules():
            if isinstance(module, Parts):
                module.fused = mode
        return self

    def run(self, x: Any) -> Any:
        """The output; what an earlier forward kept goes first."""
        state = self.__typednn_calls__
        state.kept.pop("needed", None)
        if not self.fused or is_observed(self):
            return run(self.parts, x)
        program = state.program
        if program is None or not program.is_of(self.parts):
            program = state.program = hooks.fused(self.parts)
        return program.run(self, x) if program.fuses else run(self.parts, x)

    def run_back(self, next_grad: Any) -> Any:
        """The gradient, computed in the way that the output was."""
        needed = self.__typednn_calls__.kept.get("needed")
        if needed is None:
            return run_back(self.parts, next_grad)
        if needed.program.parts is not self.parts:  # others have kept nothing
            raise not_forwarded(self)
        return needed.program.run_back(needed, next_grad)

    def label(self) -> str:
        return type(self).__name__

    @overload
    def __getitem__(self, place: int | str, /) -> Module: ...
    @overload
    def __getitem__(self, place: slice, /) -> "Sequential[Any]": ...
    def __getitem__(self, place: int | str | slice, /) -> Any:
        """A part by its place or name; of a slice, a chain of the same layers, its static types erased."""
        if isinstance(place, str):
            if place not in self.names:
                raise ArgumentError(
                    explain(self.label(), "a part is known by its name", repr(place), f"one of {', '.join(self.names)}")
                )
            return self.parts[self.names.index(place)]
        return self.sliced(place) if isinstance(place, slice) else self.parts[place]

    def sliced(self, place: slice) -> Any:
        parts = self.parts[place]
        if not parts:
            first, last = ("" if end is None else end for end in (place.start, place.stop))
            raise ArgumentError(explain(self.label(), "a slice has a part at least", f"none in [{first}:{last}]"))
        before = self.parts[: self.parts.index(parts[0])]
        sample = self.sample
        if sample is not None and before:
            flow = sample.flow
            for part in before:
                flow = part.trace(flow)
            sizes = flow.sizes()
            sample = Input(*sizes) if sizes and len(sizes) <= 3 else None
        chain = _chain_of(Sequential, parts, sample)
        _ends[chain] = chain.trace(Flow.start())
        return chain

    def __iter__(self) -> Iterator[Module]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.parts if self.sample is None else (self.sample, *self.parts)))


class Chain(Parts, Layer[In, Out, ChainGrad[In, *Gs], S0], Generic[In, Out, S0, *Gs]):
    """Layers one after another; ``>>`` makes it, and one more layer renames nothing."""

    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]:
        output: Out = self.run(x)
        return output

    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> ChainGrad[In, *Gs]:
        gradient: ChainGrad[In, *Gs] = self.run_back(next_grad)
        return gradient

    @overload  # type: ignore[override]
    def __rshift__(self, other: KeepingOperand[P, L]) -> "Chain[In, Out, Last[L], *Gs, ElementwiseGrad[Out, P]]": ...
    @overload
    def __rshift__(self, other: Operand[Out, Next, G2, L]) -> "Chain[In, Next, Last[L], *Gs, G2]": ...
    # a chain grows, a layer begins one
    def __rshift__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.grown(Chain, other)

    append = __rshift__

    # Beside __rshift__, or mypy would ask a chain on the right before the one on the left.
    def __rrshift__(self, other: Part[Before, In, G2]) -> "Chain[Before, Out, Last[Self], G2, ChainGrad[In, *Gs]]":
        return super().__rrshift__(other)


class FirstChain(Parts, FirstLayer[In, Out, ChainGrad[None, *Gs], S0], Generic[In, Out, S0, *Gs]):
    """A chain that begins with a `FirstLayer`; its gradient's ``input`` is None."""

    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]:
        output: Out = self.run(x)
        return output

    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> ChainGrad[None, *Gs]:
        gradient: ChainGrad[None, *Gs] = self.run_back(next_grad)
        return gradient

    @overload  # type: ignore[override]
    def __rshift__(
        self, other: KeepingOperand[P, L]
    ) -> "FirstChain[In, Out, Last[L], *Gs, ElementwiseGrad[Out, P]]": ...
    @overload
    def __rshift__(self, other: Operand[Out, Next, G2, L]) -> "FirstChain[In, Next, Last[L], *Gs, G2]": ...
    # a chain grows, a layer begins one
    def __rshift__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.grown(FirstChain, other)

    append = __rshift__


class _ParametersOfParts(Parts):
    """A chain whose gradient has one entry in ``grad.parameters`` for each part."""

    gradient_prefix = ""

    def run_back(self, next_grad: Any) -> Any:
        gradient = super().run_back(next_grad)
        return ElementwiseGrad(gradient.input, tuple(part.parameters for part in gradient.parts))

    def gradient_of(self, grad: Any, name: str) -> Any:
        return ElementwiseGrad(grad.input, grad.parameters[self.names.index(name)])


class ElementwiseChain(_ParametersOfParts, Elementwise[tuple[*Ps]], Generic[*Ps]):
    """Elementwise layers one after another: again elementwise; ``grad.parameters`` holds one entry for each."""

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        output: A = self.run(x)
        return output

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, tuple[*Ps]]:
        gradient: ElementwiseGrad[A, tuple[*Ps]] = self.run_back(next_grad)
        return gradient

    @overload  # type: ignore[override]
    def __rshift__(self, other: Elementwise[P2]) -> "ElementwiseChain[*Ps, P2]": ...
    @overload
    def __rshift__(self, other: Positionwise[P2]) -> "PositionwiseChain[*Ps, P2]": ...
    @overload
    def __rshift__(
        self, other: Operand[In, Out, G, L]
    ) -> "Chain[In, Out, Last[L], ElementwiseGrad[In, tuple[*Ps]], G]": ...
    # a chain grows, a layer begins one
    def __rshift__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, Elementwise):
            return self.grown(ElementwiseChain, other)
        return (
            self.grown(PositionwiseChain, other)
            if isinstance(other, Positionwise)
            else _stacked(Chain, None, self, other)
        )

    append = __rshift__


class PositionwiseChain(_ParametersOfParts, Positionwise[tuple[*Ps]], Generic[*Ps]):
    """Positionwise and elementwise layers one after another: again positionwise; ``grad.parameters`` holds one entry
    for each.
    """

    def forward(self, x: Float[Rows, "*batch in_features"]) -> Float[Rows, "*batch out_features"]:
        output: Rows = self.run(x)
        return output

    def backward(self, next_grad: Float[Rows, "*batch out_features"]) -> ElementwiseGrad[Rows, tuple[*Ps]]:
        gradient: ElementwiseGrad[Rows, tuple[*Ps]] = self.run_back(next_grad)
        return gradient

    @overload  # type: ignore[override]
    def __rshift__(self, other: Positionwise[P2] | Elementwise[P2]) -> "PositionwiseChain[*Ps, P2]": ...
    @overload
    def __rshift__(
        self, other: Operand[Rows, Out, G, L]
    ) -> "Chain[Rows, Out, Last[L], ElementwiseGrad[Rows, tuple[*Ps]], G]": ...
    # a chain grows, a layer begins one
    def __rshift__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return (
            self.grown(PositionwiseChain, other)
            if isinstance(other, Positionwise | Elementwise)
            else _stacked(Chain, None, self, other)
        )

    append = __rshift__


AnyChainGrad: TypeAlias = ChainGrad[Any, *tuple[Any, ...]]  # of parts whose static types are erased
# A part of a stack whose static types are erased.
AnyPart: TypeAlias = Module | Part[Any, Any, Any]


class Sequential(Chain[Any, Any, S, *tuple[Any, ...]], Generic[S]):
    """A chain built from a list, or from a mapping of names to layers: checked alike, its static types erased."""

    def __init__(self, layers: "Sequence[AnyPart] | Mapping[str, AnyPart]", *, input: Input[Any] | None = None) -> None:
        if not isinstance(layers, Mapping | list | tuple) or not layers:
            got = "none" if isinstance(layers, Mapping | list | tuple) else type(layers).__name__
            raise ArgumentError(
                explain("Sequential", "needs a list of layers, or a mapping of names to layers", got), "layers"
            )
        parts = Layer.adopt([*layers.values()] if isinstance(layers, Mapping) else layers)
        if isinstance(layers, Mapping):
            parts = [layer.named(name) for name, layer in zip(layers, parts, strict=True)]
        flat: list[Module] = []
        for layer in parts:
            flat += (
                layer.parts if isinstance(layer, Chain | FirstChain) and not layer.__typednn_storage__.name else [layer]
            )
        super().__init__(flat, input)

    @overload
    def __rshift__(
        self, other: KeepingOperand[P, L]
    ) -> "Chain[Any, Any, Last[L], AnyChainGrad, ElementwiseGrad[Any, P]]": ...
    @overload
    def __rshift__(self, other: Operand[Any, Next, G2, L]) -> "Chain[Any, Next, Last[L], AnyChainGrad, G2]": ...
    # it stays one part, with its name
    def __rshift__(self, other: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _stacked(Chain, None, self, other)

    def append(  # type: ignore[override]
        self, other: AnyPart
    ) -> "Sequential[Any]":  # pyright: ignore[reportIncompatibleVariableOverride]
        """This chain and one more layer, as the next part of it."""
        longer: Sequential[Any] = self.grown(Sequential, other)
        return longer


def _chain_of(kind: Any, parts: Sequence[Module], sample: Input[Any] | None) -> Any:
    """A chain of parts that are known to fit."""
    # which notes the arguments
    chain = kind.__new__(kind, parts, **{"input" if kind is Sequential else "sample": sample})
    chain.consist(parts, sample)
    return chain


def _has_room(shape: Sequence[int] | None) -> TypeGuard[tuple[int, ...]]:
    """Whether a shape is known, and an array of the widest numbers surely fits into memory."""
    return shape is not None and math.prod(shape) * 16 <= arrays.memory()


def _follow(model: Module, x: Any, parts: Sequence[Module], judged: Collection[str] = ()) -> None:
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


def check_stackable(parts: Sequence[Any], known: int = 0) -> None:
    """Only layers with one input, integers read first, and each layer once: it holds one forward. The first ``known``
    are.
    """
    seen = {id(identity(part)) for part in parts[:known]}
    for place, part in enumerate(parts[known:], known):
        key = id(identity(part))
        if isinstance(part, MultiInput):
            raise StackError(f"{part!r} takes several inputs and cannot be stacked; call it in a hand-written forward")
        if not isinstance(part, Layer | Elementwise | Positionwise | FirstLayer | Foreign):
            cure = value_cure("part", part)
            raise StackError(f"a stack is made of layers, got {not_a_part(part)}{f'; {cure}' if cure else ''}")
        if place and isinstance(part, FirstLayer):
            raise StackError(
                f"{part!r} cannot follow {parts[place - 1]!r}: it reads integers, which have no derivative; put "
                "it first"
            )
        if key in seen:
            raise StackError(
                f"{part!r} stands twice in one stack, but a layer holds one forward; use a second instance or "
                "layer.shared()"
            )
        seen.add(key)


def not_a_part(part: object) -> str:
    """What something is that cannot be a part of a stack, and what it lacks."""
    if isinstance(part, type):
        return f"the class {part.__name__}; call it"
    missing = missing_methods(part)
    return type(part).__name__ + (f", which has no {' and no '.join(missing)}" if 0 < len(missing) < 3 else "")


def _stacked(kind: type[Parts], sample: Input[Any] | None, *parts: Any) -> Parts:
    """A chain of ``parts``, its sizes checked as far as they can be decided."""
    return kind(Layer.adopt(parts), sample)


__all__ = [
    "Chain", "Elementwise", "ElementwiseChain", "FirstChain", "FirstLayer", "Input", "Layer", "MultiInput",
    "Positionwise", "PositionwiseChain", "Sequential",
]  # fmt: skip
