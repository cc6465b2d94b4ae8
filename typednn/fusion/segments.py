"""Segments: runs of a chain's parts that one op computes, and the search for them.

=============================================================  =================
[Pad2d with zeros] Conv2d [an activation] [MaxPool2d]          `conv2d`
Linear, ReLU, LeakyReLU, Sigmoid or Tanh                       `linear`
any other part                                                 alone, as it is
Linears with and without activation in a row, in eval          `linear.chain`
=============================================================  =================
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol, cast

from typednn.kernels import conv2d, linear
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import Window
from typednn.kernels.reshape import reshape
from typednn.layers.conv2d import Conv2d
from typednn.layers.flatten import Flatten
from typednn.layers.leaky_relu import LeakyReLU
from typednn.layers.linear import Linear
from typednn.layers.max_pool2d import MaxPool2d
from typednn.layers.pad2d import Pad2d
from typednn.layers.relu import ReLU
from typednn.layers.sigmoid import Sigmoid
from typednn.layers.tanh import Tanh
from typednn.module.gradients import ElementwiseGrad, deferred
from typednn.module.module import Module
from typednn.module.state import Cell

_ACTIVATIONS: dict[type, Activation] = {ReLU: Activation("relu"), Sigmoid: Activation("sigmoid"), Tanh: Activation("tanh")}


class Segment(Protocol):
    """``run`` gives the output and what ``run_back`` needs; that gives the parts' gradients, and the derivative by the input.

    The derivative is an array; if it is wanted ``later``, a function that computes it.

    ``infer`` gives the output alone.
    """

    def infer(self, x: Any) -> Any: ...

    def run(self, x: Any) -> tuple[Any, Any]: ...

    def run_back(self, next_grad: Any, kept: Any, later: bool) -> tuple[tuple[Any, ...], Any]: ...


class Alone:
    """One part that keeps for itself what it needs."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def infer(self, x: Any) -> Any:
        return self.part.forward(x)

    def run(self, x: Any) -> tuple[Any, Any]:
        return self.part.forward(x), None

    def run_back(self, next_grad: Any, kept: Any, later: bool) -> tuple[tuple[Any, ...], Any]:
        grad = self.part.backward(next_grad)
        return (grad,), (lambda: grad.input) if later else grad.input


def _gradient(part: Any) -> Any:
    """The gradient of a part without parameters whose kernel is also its neighbours': it has no derivative at all."""
    kind: Any = part.backward.__typednn_gradient__.type
    return deferred(kind, None, **{"parameters": None} if kind is ElementwiseGrad else {})


class _OneOp(ABC):
    """A layer with parameters, and its neighbours without any, computed by one op."""

    def __init__(self, layer: Any, active: Any, before: Sequence[Any] = (), after: Sequence[Any] = ()) -> None:
        self.layer: Any = layer
        self.kind: Any = layer.backward.__typednn_gradient__.type
        self.activation: Activation = activation_of(active) or IDENTITY
        self.before: tuple[Any, ...] = tuple(_gradient(part) for part in before if part is not None)
        self.after: tuple[Any, ...] = tuple(_gradient(part) for part in (active, *after) if part is not None)

    @abstractmethod
    def derivatives(self, next_grad: Any, kept: Any, weight: Any, wants_input: bool) -> tuple[Any, Any, Any]:
        """(dx, dweight, dbias); dx is None unless wanted."""

    def run_back(self, next_grad: Any, kept: Any, later: bool) -> tuple[tuple[Any, ...], Any]:
        dx, dweight, dbias = self.derivatives(next_grad, kept, self.layer.weight, not later)
        own = deferred(self.kind, None, weight=dweight, bias=None if self.layer.bias is None else dbias)
        gradients = (*self.before, own, *self.after)
        if not later:
            return gradients, dx
        weight = self.layer.weight.copy()  # an optimizer may step before anybody asks
        return gradients, lambda: self.derivatives(next_grad, kept, weight, True)[0]


class ConvActPool(_OneOp):
    """A convolution with zeros around the image before it, an activation, and pooling after it: those of them that are there."""

    def __init__(self, pad: Pad2d[Any] | None, conv: Conv2d[Any], active: Any, pool: MaxPool2d[Any] | None) -> None:
        super().__init__(conv, active, [pad], [pool])
        padding = (0, 0, 0, 0) if pad is None else pad.padding
        self.window: Window = Window(conv.stride, conv.dilation, padding, None if pool is None else _pooling(pool))

    def infer(self, x: Any) -> Any:
        return conv2d.forward(x, self.layer.weight, self.layer.bias, self.window, self.activation, False)[0]

    def run(self, x: Any) -> tuple[Any, Any]:
        y, winners = conv2d.forward(x, self.layer.weight, self.layer.bias, self.window, self.activation, True)
        return y, (x, y, winners)

    def derivatives(self, next_grad: Any, kept: Any, weight: Any, wants_input: bool) -> tuple[Any, Any, Any]:
        x, y, winners = kept
        return conv2d.backward(next_grad, x, weight, self.window, self.activation, y, winners, wants_input)


class LinearAct(_OneOp):
    """An affine map and an activation."""

    def infer(self, x: Any) -> Any:
        return linear.forward(x, self.layer.weight, self.layer.bias, self.activation)

    def run(self, x: Any) -> tuple[Any, Any]:
        y = self.infer(x)
        return y, (x, y)

    def derivatives(self, next_grad: Any, kept: Any, weight: Any, wants_input: bool) -> tuple[Any, Any, Any]:
        x, y = kept
        return linear.backward(next_grad, x, weight, y, self.activation, wants_input)


class LinearChain:
    """Affine maps one after another, with and without activations: one kernel for few rows, where nothing has to be kept."""

    def __init__(self, members: Sequence[Segment]) -> None:
        self.members: tuple[Segment, ...] = tuple(members)

    def infer(self, x: Any) -> Any:
        layout, cells = self._known
        if x.shape[0] <= layout.most_rows:
            return linear.chain(x, layout, *[cell.array for cell in cells])
        for member in self.members:
            x = member.infer(x)
        return x

    @cached_property
    def _known(self) -> tuple[linear.Layout, list[Cell]]:
        """The layout, and the parameters' places, which the first call finds filled."""
        maps = [each for each in map(_linear, self.members) if each is not None]
        weights = [part.weight for part, _ in maps]
        features = weights[0].shape[1], *(weight.shape[0] for weight in weights)
        layout = linear.Layout(features, tuple(part.bias is not None for part, _ in maps), tuple(activation for _, activation in maps))
        return layout, [field.cell(part) for part, _ in maps for _, field in Linear.learnt if not field.absent(part)]


def segments(parts: Sequence[Module]) -> Iterator[Segment]:
    """The segments of a chain, in order."""
    place = 0
    while place < len(parts):
        count, segment = _segment_at(parts, place)
        yield segment
        place += count


def for_inference(chain: Sequence[Segment]) -> Iterator[Callable[[Any], Any]]:
    """What computes a chain's output where nothing is kept: `Segment.infer` of each, and one for linear segments in a row."""
    for linears, group in groupby(chain, lambda segment: _linear(segment) is not None):
        members = tuple(group)
        if linears and len(members) > 1:
            yield LinearChain(members).infer
        else:
            yield from (_flattened if isinstance(each, Alone) and type(each.part) is Flatten else each.infer for each in members)


def _flattened(x: Any) -> Any:
    """What `Flatten` gives: it has nothing to compute, and its checks would take longer than it does."""
    return reshape(x, (x.shape[0], -1))


def _linear(segment: Segment) -> tuple[Any, Activation] | None:
    """The affine map that ``segment`` is, and what follows it; None if it is none."""
    match segment:
        case LinearAct():
            return segment.layer, segment.activation
        case Alone(part=Linear()):
            return segment.part, IDENTITY
        case _:
            return None


def _segment_at(parts: Sequence[Module], place: int) -> tuple[int, Segment]:
    first = parts[place]
    pad = _zeros_around(first)
    conv, *after = (*parts[place + (pad is not None) :][:3], None, None)
    active = None if activation_of(after[0]) is None else after[0]
    if isinstance(conv, Conv2d):
        pool = _side_by_side(after[0] if active is None else after[1])
        count = sum(part is not None for part in (pad, conv, active, pool))
        return (1, Alone(first)) if count == 1 else (count, ConvActPool(pad, conv, active, pool))
    if isinstance(first, Linear) and active is not None:
        return 2, LinearAct(cast("Any", first), active)
    return 1, Alone(first)


def activation_of(part: object) -> Activation | None:
    """What ``part`` computes, where that is an activation whose backward needs its output alone."""
    activation = Activation("leaky_relu", part.negative_slope) if isinstance(part, LeakyReLU) else _ACTIVATIONS.get(type(part))
    return activation if activation is not None and activation.monotone else None


def _side_by_side(part: Any) -> Any:
    """``part`` where it is a MaxPool2d whose windows the kernel takes in; else None."""
    return part if type(part) is MaxPool2d and Window(pooling=_pooling(part)).side_by_side else None


def _pooling(pool: Any) -> Any:
    """Where the windows of a MaxPool2d lie."""
    return pool.kernel_size, pool.stride, pool.dilation


def _zeros_around(part: Any) -> Any:
    """``part`` where it is a Pad2d that puts zeros; else None."""
    return part if type(part) is Pad2d and part.mode == "constant" and part.value == 0 else None
