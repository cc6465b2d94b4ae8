"""Stack: the model that a config describes, made of layers whose kinds are known only when it is loaded.

Every tensor between two of its layers is one row of numbers per sample, ``batch features``; each layer reads its row
as the shape it works on and gives a row again (`Dyn`). The layers are those of `typednn.layers`: none is written
twice. Shapes are worked out when the stack is built, from the layers' annotations; nothing is allocated, and the
batch stays free.

Parameters are named, counted, filled, saved and stepped as those of the same layers in a `Chain`.
Source: "Deep Learning Implementation With Rust", section VI; a stack's ``input`` gradient is its first layer's.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, final

from jaxtyping import Float

from typednn.arrays import Array2
from typednn.contracts.protocols import DynLayer, Optimizer
from typednn.errors import ArgumentError, ShapeError, StackError, explain
from typednn.module.chain import run, run_back
from typednn.module.foreign import Foreign, adopted, not_a_part
from typednn.module.gradients import Gradient
from typednn.module.layer import (
    AnyChainGrad,
    Chain,
    Elementwise,
    FirstLayer,
    Indexed,
    Input,
    Layer,
    MultiInput,
    Positionwise,
    S,
    Sequential,
    check_stackable,
)
from typednn.module.module import Module
from typednn.shapes import Axis, Dim, Flow

AnyLayer: TypeAlias = (
    "Layer[Any, Any, Any, Any] | Elementwise[Any] | Positionwise[Any] | FirstLayer[Any, Any, Any, Any] | Foreign"
)
StackPart: TypeAlias = "Layer[Any, Any, Any, Any] | Elementwise[Any] | Positionwise[Any] | DynLayer"


@final
@dataclass(frozen=True, slots=True)
class DynGrad(Gradient):
    """The loss's derivative by the layer's input, as rows, and the layer's own whole gradient:
    ``grad.inner.weight``.
    """

    input: Float[Array2, "batch in_features"]
    inner: Any


@final
class Dyn(DynLayer):
    """Any layer with one array in, made to read and give rows; ``sample_shape`` is what it works on,
    without the batch.
    """

    def __init__(self, layer: AnyLayer, sample_shape: Sequence[int]) -> None:
        check_part(layer)
        self.layer = layer
        self.sample_shape: tuple[int, ...] = Input(*sample_shape).sizes
        self.output_shape: tuple[int, ...] = known_sizes(layer.trace(Flow.start(self.sample_shape)))
        self.in_features: int = math.prod(self.sample_shape)
        self.out_features: int = math.prod(self.output_shape)

    def forward(self, x: Float[Array2, "batch in_features"]) -> Float[Array2, "batch {self.out_features}"]:
        _check_rows(f"{self!r}.forward", x, self.sample_shape, self.layer)
        batch = x.shape[0]
        y = self.layer.forward(x.reshape(batch, *self.sample_shape))
        if y.shape[1:] != self.output_shape:  # only an object that is no layer can break its word
            rule = f"gives {self.out_features} numbers per sample, as its out_features says"
            raise ShapeError(explain(f"{self.layer!r}.forward", rule, f"shape {tuple(y.shape)}"), self.layer)
        rows: Array2 = y.reshape(batch, self.out_features)
        return rows

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> DynGrad:
        batch = next_grad.shape[0]
        inner: Any = self.layer.backward(next_grad.reshape(batch, *self.output_shape))
        return DynGrad(inner.input.reshape(batch, self.in_features), inner)

    def update(self, optimizer: Optimizer, grad: DynGrad) -> None:
        self.layer.update(optimizer, grad.inner)

    def __repr__(self) -> str:
        return f"Dyn({self.layer!r}, {self.sample_shape!r})"


@final
class Stack(Indexed, Layer[Array2, Array2, AnyChainGrad, S], DynLayer):
    """Layers one after another between rows; ``input`` is one sample's shape, an `Input` or its sizes.

    A part is a layer, or any `DynLayer`: a `Dyn`, or an object that derives from nothing and declares ``out_features``
    (and ``in_features``, if that is to be checked). A `Chain` or `Sequential` is taken apart, its declared input with
    it; layers in a list keep their places, those in a mapping get its names. A stack in a stack reads its row as its
    own ``input``, whatever shape came before. The derivatives between the layers are rows: ``grad.parts[5]`` is a
    `DynGrad`, with the layer's own as ``inner``.
    """

    dyn_layers: tuple[DynLayer, ...]

    def __init__(
        self,
        layers: "Sequence[StackPart] | Mapping[str, StackPart] | Chain[Any, Any, str, *tuple[Any, ...]]",
        *,
        input: Input[Any] | Sequence[int] | None = None,
    ) -> None:
        sample = input
        names: Sequence[str] = ()
        if isinstance(layers, Chain):
            sample = layers.sample if input is None else input
            members: list[Any] = [layer if name.isdecimal() else layer.named(name) for name, layer in layers.children()]
        elif isinstance(layers, Mapping):
            names, members = list(layers), list(layers.values())
        else:
            members = list(layers)
        if sample is None:
            raise ArgumentError(
                explain("Stack", "must know one sample's shape", "no input", "pass input=(28, 28, 1)"), "input"
            )
        if not members:
            raise ArgumentError(explain("Stack", "needs at least one layer", "none"), "layers")
        if not isinstance(sample, Input | list | tuple):
            raise ArgumentError(
                explain("Stack", "input is an Input, or one sample's sizes", repr(sample), "such as (28, 28, 1)"),
                "input",
            )
        sample = sample if isinstance(sample, Input) else Input(*sample)
        if sample.dtype is not float:
            raise ArgumentError(explain("Stack", "reads rows of floats", repr(sample), "leave dtype=int out"), "input")
        parts = _parts(members, sample.sizes)
        for name, layer in zip(names, parts, strict=False):
            layer.named(name)
        check_stackable(parts)
        self.consist(parts, sample)
        self.sample_shape: tuple[int, ...] = sample.sizes
        self.in_features: int = math.prod(sample.sizes)
        self.rearranged()

    def rearranged(self) -> None:
        self.dyn_layers, flow = _adapted(self.parts, Flow.start(self.sample_shape))
        self.out_features: int = math.prod(known_sizes(flow))

    def forward(self, x: Float[Array2, "batch in_features"]) -> Float[Array2, "batch {self.out_features}"]:
        output: Array2 = run(self.dyn_layers, x)
        return output

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> AnyChainGrad:
        gradient: AnyChainGrad = run_back(self.dyn_layers, next_grad)
        return gradient

    # update is inherited: the walk pairs each layer with its gradient, and sums those of shared parameters

    def gradient_of(self, grad: Any, name: str) -> Any:
        part = grad.parts[self.names.index(name)]
        return part.inner if isinstance(part, DynGrad) else part

    def append(self, layer: StackPart) -> "Stack[Any]":
        """This stack and one more layer."""
        return Stack([*self.parts, layer], input=self.sample)

    def sliced(self, place: slice) -> Any:
        parts = self.parts[place]
        if not parts:
            return super().sliced(place)
        first: Any = self.dyn_layers[self.parts.index(parts[0])]
        return Stack(parts, input=first.sample_shape)

    def as_chain(self) -> "Sequential[Any]":
        """The same layers as a chain that reads samples instead of rows; `StackError` if one of them reads rows where
        these are none.
        """
        chain: Sequential[Any] = super().sliced(slice(None))
        return chain

    def flow_after(self, flow: Flow) -> Flow:
        """As one layer among others: rows in, rows out."""
        return self._read(flow, f"out_features={self.out_features}")

    def trace_samples(self, flow: Flow) -> Flow:
        """As a part of another stack: its row read as ``input``, and whatever shape the last layer gives."""
        if flow.sizes() != self.sample_shape and flow.axes is not None:
            flow = self._read(_as_row(flow), " ".join(map(str, self.sample_shape)))
        for layer in self.parts:
            flow = trace_part(layer, flow)
        return flow

    def _read(self, flow: Flow, sizes: str) -> Flow:
        """The rows of ``flow`` as samples of ``sizes``; how long a row is follows from the argument ``input``."""
        return flow.through(
            self.label(), "batch in_features={self.input}", f"batch {sizes}", lambda _: Dim.of(self.in_features)
        )

    def check_sizes(self, inputs: Sequence[Any]) -> None:
        _check_rows(f"{self.label()}.forward", inputs[0], self.sample_shape, self)

    def __repr__(self) -> str:
        return f"Stack([{', '.join(map(repr, self.parts))}], input={self.sample!r})"


def trace_part(layer: Module, flow: Flow) -> Flow:
    """The shapes after one part of a `Stack`, where rows are read as samples."""
    if isinstance(layer, Stack):
        return layer.trace_samples(flow)
    return layer.trace(_as_row(flow) if isinstance(layer, Foreign) else flow)


def _as_row(flow: Flow) -> Flow:
    """Each sample as one row of its numbers."""
    sizes = known_sizes(flow)
    if flow.axes is None or len(sizes) == 1:
        return flow
    row = Axis(Dim.of(math.prod(sizes)), "*".join(map(str, sizes)), flow.origin)
    return replace(flow, axes=(flow.axes[0], row))


def known_sizes(flow: Flow) -> tuple[int, ...]:
    """One sample's sizes after the last layer of ``flow``; `StackError` where they are not all numbers."""
    sizes = flow.sizes()
    if sizes is None:
        shape = " ".join("_" if size is None else str(size) for size in flow.shape or ()) or "..."
        raise StackError(
            explain(
                flow.previous,
                "a Stack must know every size from the input's",
                f'"{shape}"',
                "say in the annotation of forward how it follows from the input's",
            )
        )
    return sizes


def check_part(layer: object) -> None:
    """Raise unless ``layer`` can be a part of a `Stack`."""
    if isinstance(layer, Layer | Elementwise | Positionwise | Foreign):
        return
    if isinstance(layer, MultiInput):
        reason = "takes several inputs; call it in a hand-written forward"
    elif isinstance(layer, Module):
        reason = "reads integers, and a Stack's rows are floats; build such a model with >>"
    else:
        raise StackError(f"a Stack is made of layers, got {not_a_part(layer)}")
    raise StackError(f"{layer!r} cannot be part of a Stack: it {reason}")


def stack_part(part: Any) -> AnyLayer:
    """A layer, or a `DynLayer` made to be one; `StackError` for anything else."""
    layer: Any = adopted(part, rows=True)
    check_part(layer)
    return layer  # type: ignore[no-any-return]


def _parts(members: Sequence[Any], sample: tuple[int, ...]) -> tuple[AnyLayer, ...]:
    """The members of a Stack, as layers: a `Dyn` is its own layer, or a stack within the stack if that reads another
    shape.
    """
    if not any(isinstance(part, Dyn) for part in members):
        return tuple(map(stack_part, members))
    parts: list[AnyLayer] = []
    flow = Flow.start(sample)
    for part in members:
        if isinstance(part, Dyn):
            parts.append(
                part.layer if known_sizes(flow) == part.sample_shape else Stack([part.layer], input=part.sample_shape)
            )
        else:
            parts.append(stack_part(part))
        flow = trace_part(parts[-1], flow)
    return tuple(parts)


def _adapted(layers: Sequence[Any], flow: Flow) -> tuple[tuple[DynLayer, ...], Flow]:
    """The layers made to read rows, and the shapes after the last."""
    adapted: list[DynLayer] = []
    for layer in layers:
        sizes = (math.prod(known_sizes(flow)),) if isinstance(layer, Foreign) else known_sizes(flow)
        flow = trace_part(layer, flow)
        part: Any = layer
        adapted.append(part if isinstance(layer, Stack) else Dyn(layer, sizes))
    return tuple(adapted), flow


def _check_rows(where: str, x: Any, sizes: tuple[int, ...], owner: object) -> None:
    features = math.prod(sizes)
    if x.shape[1] != features:
        how = f" (= {'*'.join(map(str, sizes))})" if len(sizes) > 1 else ""
        cure = f"feed samples of {'x'.join(map(str, sizes))}, one row each, or declare another input"
        raise ShapeError(
            explain(where, f"x must be rows of {features} numbers{how}", f"rows of {x.shape[1]}", cure), owner
        )
