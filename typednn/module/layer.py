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

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, cast, overload

from jaxtyping import Float, Shaped
from typing_extensions import TypeVar, TypeVarTuple

from typednn.arrays import AnyArray, Array2, Array3, Array4, IntArray1, IntArray2
from typednn.contracts.operands import Last, Operand
from typednn.contracts.protocols import Backward, Forward, InputGrad, Optimizer, Part, Update
from typednn.errors import ArgumentError, StackError, TypednnError, explain
from typednn.errors.habits import value_cure
from typednn.errors.public import opened
from typednn.errors.tracebacks import fold
from typednn.module.chain import ParametersOfParts, Parts, Sample, ends, flow_through, follow, has_room
from typednn.module.foreign import Foreign, adopted, identity, not_a_part
from typednn.module.gradients import ChainGrad, ElementwiseGrad
from typednn.module.module import Module
from typednn.module.updates import inherited, update_parts
from typednn.shapes import Flow

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
        if not has_room(self.shape_after(inputs[0].shape)):
            judged = () if self.shape_contracts else ("rank", "size", "part")  # in the words of a call
            follow(self, inputs[0], (self,), judged)

    def __rshift__(self, other: Operand[Out, Next, G2, L]) -> "Chain[In, Next, Last[L], G, G2]":
        chain: Chain[In, Next, Last[L], G, G2] = _join(self, other)
        return chain

    def __rrshift__(self, other: Part[Before, In, G2]) -> "Chain[Before, Out, Last[Self], G2, G]":
        return cast("Chain[Before, Out, Last[Self], G2, G]", _join(other, self))


class Elementwise(_Updated[ElementwiseGrad[AnyArray, P]], Generic[P]):
    """Keeps the shape and the rank of whatever it is given; ``P`` is the dataclass of its parameters' gradients, or
    None.
    """

    gradient_prefix = "parameters."

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
        return _join(self, other)

    def __rrshift__(self, other: Part[In, Out, G]) -> "Chain[In, Out, Last[Self], G, ElementwiseGrad[Out, P]]":
        return cast("Chain[In, Out, Last[Self], G, ElementwiseGrad[Out, P]]", _join(other, self))


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
        follow(self, inputs[0], (self,))

    @overload
    def __rshift__(self, other: "Positionwise[P2] | Elementwise[P2]") -> "PositionwiseChain[P, P2]": ...
    @overload
    def __rshift__(
        self, other: Operand[Rows, Out, G, L]
    ) -> "Chain[Rows, Out, Last[L], ElementwiseGrad[Rows, P], G]": ...
    def __rshift__(self, other: Any) -> Any:
        return _join(self, other)

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
        return _join(other, self)


class FirstLayer(_OneInput[In, Out, G], Generic[In, Out, G, S]):
    """Reads integers, which have no derivative: its gradient's ``input`` is None, and nothing can stand before it."""

    def __rshift__(self, other: Operand[Out, Next, G2, L]) -> "FirstChain[In, Next, Last[L], G, G2]":
        chain: FirstChain[In, Next, Last[L], G, G2] = _join(self, other)
        return chain


class MultiInput(_Updated[P], Generic[Out, P]):
    """Several annotated arrays in; the gradient names a field for each: ``class BilinearGrad(Gradient, inputs=("left",
    "right"))``.
    """

    forward: Callable[..., Out]

    def __call__(self, *inputs: Any) -> Out:
        return self.forward(*inputs)

    @abstractmethod
    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> P: ...


class Input(Sample, Generic[In]):
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
        super().__init__(*sizes, dtype=dtype)

    @overload
    def __rshift__(self, other: FirstLayer[In, Out, G]) -> "FirstChain[In, Out, str, G]": ...
    @overload
    def __rshift__(self, other: Operand[In, Out, ArrayGrad, L]) -> "Chain[In, Out, Last[L], ArrayGrad]": ...
    def __rshift__(self, other: Any) -> Any:
        return _join(self, other)


opened(Input)


class Indexed(Parts):
    """A chain whose parts can be had: ``model[2]``, ``model["fc1"]``, and as a shorter chain ``model[1:]``."""

    sample: Input[Any] | None  # pyright: ignore[reportIncompatibleVariableOverride]

    @overload
    def __getitem__(self, place: int | str, /) -> Module: ...
    @overload
    def __getitem__(self, place: slice, /) -> "Sequential[Any]": ...
    def __getitem__(self, place: int | str | slice, /) -> Any:
        """A part by its place or name; of a slice, a chain of the same layers, its static types erased."""
        return self.sliced(place) if isinstance(place, slice) else self.part(place)

    def sliced(self, place: slice) -> Any:
        parts = self.parts[place]
        if not parts:
            first, last = ("" if end is None else end for end in (place.start, place.stop))
            raise ArgumentError(explain(self.label(), "a slice has a part at least", f"none in [{first}:{last}]"))
        before = self.parts[: self.parts.index(parts[0])]
        sample = self.sample
        if sample is not None and before:
            sizes = flow_through(before, sample.flow).sizes()
            sample = type(sample)(*sizes) if sizes and len(sizes) <= 3 else None
        shorter = _chain_of(Sequential, parts, sample)
        ends[shorter] = shorter.trace(Flow.start())
        return shorter


class Chain(Indexed, Layer[In, Out, ChainGrad[In, *Gs], S0], Generic[In, Out, S0, *Gs]):
    """Layers one after another; ``>>`` makes it, and one more layer renames nothing. A class of its own: its type lists
    the gradients of its parts.
    """

    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]:
        output: Out = self.run(x)
        return output

    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> ChainGrad[In, *Gs]:
        gradient: ChainGrad[In, *Gs] = self.run_back(next_grad)
        return gradient

    # a chain grows, a layer begins one
    def __rshift__(  # type: ignore[override]
        self, other: Operand[Out, Next, G2, L]
    ) -> "Chain[In, Next, Last[L], *Gs, G2]":  # pyright: ignore[reportIncompatibleMethodOverride]
        longer: Chain[In, Next, Last[L], *Gs, G2] = _join(self, other)
        return longer

    append = __rshift__

    # Beside __rshift__, or mypy would ask a chain on the right before the one on the left.
    def __rrshift__(self, other: Part[Before, In, G2]) -> "Chain[Before, Out, Last[Self], G2, ChainGrad[In, *Gs]]":
        return super().__rrshift__(other)


class FirstChain(Indexed, FirstLayer[In, Out, ChainGrad[None, *Gs], S0], Generic[In, Out, S0, *Gs]):
    """A chain that begins with a `FirstLayer`. A class of its own: its gradient's ``input`` is None, and checkers let
    nothing stand before it.
    """

    def forward(self, x: Shaped[In, "batch *input"]) -> Shaped[Out, "batch *output"]:
        output: Out = self.run(x)
        return output

    def backward(self, next_grad: Shaped[Out, "batch *output"]) -> ChainGrad[None, *Gs]:
        gradient: ChainGrad[None, *Gs] = self.run_back(next_grad)
        return gradient

    # a chain grows, a layer begins one
    def __rshift__(  # type: ignore[override]
        self, other: Operand[Out, Next, G2, L]
    ) -> "FirstChain[In, Next, Last[L], *Gs, G2]":  # pyright: ignore[reportIncompatibleMethodOverride]
        longer: FirstChain[In, Next, Last[L], *Gs, G2] = _join(self, other)
        return longer

    append = __rshift__


class ElementwiseChain(ParametersOfParts, Indexed, Elementwise[tuple[*Ps]], Generic[*Ps]):
    """Elementwise layers one after another; ``grad.parameters`` holds one entry for each. A class of its own: it is
    again elementwise, so that its input's rank is its output's.
    """

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
        return _join(self, other)

    append = __rshift__


class PositionwiseChain(ParametersOfParts, Indexed, Positionwise[tuple[*Ps]], Generic[*Ps]):
    """Positionwise and elementwise layers one after another; ``grad.parameters`` holds one entry for each. A class of
    its own: it is again positionwise, for rows and for sequences.
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
        return _join(self, other)

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
        flat: list[Sequence[Module]] = [
            layer.parts if isinstance(layer, Chain | FirstChain) and not layer.__typednn_storage__.name else [layer]
            for layer in parts
        ]
        super().__init__([*chain.from_iterable(flat)], input)

    # it stays one part, with its name
    def __rshift__(self, other: Operand[Any, Next, G2, L]) -> "Chain[Any, Next, Last[L], AnyChainGrad, G2]":  # pyright: ignore[reportIncompatibleMethodOverride]
        longer: Chain[Any, Next, Last[L], AnyChainGrad, G2] = _join(self, other, grows=False)
        return longer

    def append(self, other: AnyPart) -> "Sequential[Any]":  # pyright: ignore[reportIncompatibleVariableOverride]
        """This chain and one more layer, as the next part of it."""
        longer: Sequential[Any] = _grow(Sequential, self, other)
        return longer


def _join(left: Any, right: Any, *, grows: bool = True) -> Any:
    """``left >> right``: a chain gets one more part, anything else begins a chain. Its sizes are checked as far as they
    can be decided.
    """
    sample = left if isinstance(left, Sample) else None
    parts: list[Any] = [left, right] if sample is None else [right]
    kind: Any = FirstChain if isinstance(parts[0], FirstLayer) else Chain
    growing: Any = kind
    if all(isinstance(each, Elementwise | Positionwise) for each in (left, right)):
        kind = ElementwiseChain if all(isinstance(each, Elementwise) for each in parts) else PositionwiseChain
        growing = ParametersOfParts
    return _grow(kind, left, right) if grows and isinstance(left, growing) else kind(Layer.adopt(parts), sample)


def _grow(kind: Any, short: Any, more: Any) -> Any:
    """The chain ``short`` and one more layer. What fitted fits: only the new layer is looked at, or long chains would
    take hours.
    """
    part = adopted(more)
    check_stackable((*short.parts, part), known=len(short.parts))
    longer = _chain_of(kind, (*short.parts, part), short.sample)
    ends[longer] = part.trace(ends.get(short) or short.trace(Flow.start()))
    return longer


def _chain_of(kind: Any, parts: Sequence[Module], sample: Sample | None) -> Any:
    """A chain of parts that are known to fit."""
    # which notes the arguments
    made = kind.__new__(kind, parts, **{"input" if kind is Sequential else "sample": sample})
    made.consist(parts, sample)
    return made


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
