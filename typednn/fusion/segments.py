"""Segments: runs of a chain's parts that one op computes, and the search for them.

==============================================================  ========
[Pad2d with zeros] Conv2d [an activation] [MaxPool2d]           `conv2d`
Linear, ReLU, LeakyReLU, Sigmoid or Tanh                        `linear`
BatchNorm1d or BatchNorm2d, ReLU or LeakyReLU                   `batch_norm`
in eval: these in a row, convolutions first                     `chain`
any other part                                                  alone, as it is
==============================================================  ========
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

import numpy as np

from typednn.arrays import namespace
from typednn.errors import StateError
from typednn.kernels import batch_norm, conv2d, linear
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.chain import MAPS, Layout, Map, chain
from typednn.kernels.conv2d import Window
from typednn.kernels.pointwise import scaled
from typednn.kernels.reshape import reshape
from typednn.layers.batch_norm1d import BatchNorm1d, BatchNorm1dGrad
from typednn.layers.batch_norm2d import BatchNorm2d
from typednn.layers.conv2d import Conv2d
from typednn.layers.flatten import Flatten
from typednn.layers.leaky_relu import LeakyReLU
from typednn.layers.linear import Linear
from typednn.layers.max_pool2d import MaxPool2d
from typednn.layers.pad2d import Pad2d
from typednn.layers.relu import ReLU
from typednn.layers.sigmoid import Sigmoid
from typednn.layers.tanh import Tanh
from typednn.module.calls import locate, take_part
from typednn.module.chain import gradients_of, run
from typednn.module.gradients import ElementwiseGrad, agrees, deferred, unreadable
from typednn.module.module import Module
from typednn.module.running_statistics import derivatives, inferred, infers, meeting_here, normalised
from typednn.module.state import Cell

_ACTIVATIONS: dict[type, Activation] = {
    ReLU: Activation("relu"),
    Sigmoid: Activation("sigmoid"),
    Tanh: Activation("tanh"),
}


# What these layers compute by, besides their parameters.
_SETTINGS: dict[type, Callable[[Any], Any]] = {
    Conv2d: attrgetter("stride", "dilation", "padding"),
    Pad2d: attrgetter("padding", "mode", "value"),
    MaxPool2d: attrgetter("kernel_size", "stride", "padding", "dilation"),
    LeakyReLU: attrgetter("negative_slope"),
    BatchNorm1d: attrgetter("eps"),
    BatchNorm2d: attrgetter("eps"),
}


class Settings:
    """The settings of some layers, such as strides and slopes, as they are when this is made."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._of: list[tuple[Callable[[Any], Any], Any]] = [
            (_SETTINGS[type(part)], part) for part in parts if type(part) in _SETTINGS
        ]
        self._then: list[Any] = [read(part) for read, part in self._of]

    def unchanged(self) -> bool:
        """Whether they are still the same."""
        return not self._of or [read(part) for read, part in self._of] == self._then


class Segment:
    """Neighbours in a chain that are computed together; here part by part, and each keeps for itself what it needs."""

    def __init__(self, *parts: Any) -> None:
        self.parts: tuple[Any, ...] = parts
        self.layer: Any = parts[0]  # the part to name where memory runs out

    def infer(self, x: Any) -> Any:
        """The output alone."""
        return run(self.parts, x)

    def run(self, x: Any) -> tuple[Any, Any]:
        """The output, and what `run_back` needs: None where the parts have kept that."""
        return run(self.parts, x), None

    def run_back(self, next_grad: Any, kept: Any, later: bool, between: Any) -> tuple[tuple[Any, ...], Any]:
        """The parts' gradients, and the derivative by the input: an array, or a function that computes it if it is
        wanted ``later``.

        ``between`` is a `typednn.fusion.fused.Between`, which computes the derivatives by the inputs of parts that are
        one op.
        """
        gradients = gradients_of(self.parts, next_grad)
        return gradients, (lambda: gradients[0].input) if later else gradients[0].input

    def inputs(self, next_grad: Any, kept: Any, moment: int) -> list[Any]:
        """The derivatives by the parts' inputs, from what `run` kept; `StateError` if an array has changed since
        ``moment``.
        """
        parts = [copy(part).train() for part in self.parts]
        run(parts, kept[0])
        return [gradient.input for gradient in Segment(*parts).run_back(next_grad, None, False, None)[0]]


class OneOp(Segment, ABC):
    """A layer with parameters, and its neighbours without any, computed by one op."""

    def __init__(self, layer: Any, active: Any, before: Sequence[Any] = (), after: Sequence[Any] = ()) -> None:
        super().__init__(*(part for part in (*before, layer, active, *after) if part is not None))
        self.layer = layer
        self.settings: Settings = Settings(self.parts)
        self.activation: Activation = activation_of(active) or IDENTITY
        kinds: list[Any] = [part.backward.__typednn_gradient__.type for part in self.parts]
        # Each part, its gradient's class, and the fields besides the input; None for the layer.
        self.gradients: list[tuple[Any, Any, Any]] = [
            (part, kind, None if part is layer else {"parameters": None} if kind is ElementwiseGrad else {})
            for part, kind in zip(self.parts, kinds, strict=True)
        ]

    @abstractmethod
    def forward(self, x: Any, weight: Any, keeps: bool) -> tuple[Any, Any]:
        """(y, winners)."""

    @abstractmethod
    def derivatives(self, next_grad: Any, kept: Any, wants_input: bool) -> tuple[Any, Any, Any]:
        """(dx, dweight, dbias); dx is None unless wanted."""

    def own(self, dweight: Any, dbias: Any) -> dict[str, Any]:
        """The fields of the layer's gradient, besides the input."""
        return {"weight": dweight, "bias": dbias}

    def again(self, kept: Any) -> Any:
        """The y of what `run` kept, computed with x and the parameters of now; it changes nothing."""
        return self.infer(kept[0])

    def infer(self, x: Any) -> Any:
        weight = self.layer.weight
        return self.forward(x, weight, False)[0] if _alike(x, weight) else super().infer(x)

    def run(self, x: Any) -> tuple[Any, Any]:
        weight = self.layer.weight
        if not (_alike(x, weight) and take_part(self.parts)):
            return super().run(x)
        y, winners = self.forward(x, weight, True)
        return y, (x, None if self.activation is IDENTITY else y, winners)

    def run_back(self, next_grad: Any, kept: Any, later: bool, between: Any) -> tuple[tuple[Any, ...], Any]:
        if kept is None:
            return super().run_back(next_grad, kept, later, between)
        dx, dweight, dbias = self.derivatives(next_grad, kept, not later)
        own = self.own(None if self.layer.weight is None else dweight, None if self.layer.bias is None else dbias)
        read = between.input_of
        gradients = [
            deferred(kind, partial(read, part), own if rest is None else rest) for part, kind, rest in self.gradients
        ]
        if not later:
            return tuple(gradients), dx
        moment = between.moment

        def derivative() -> Any:
            self.refuse_changes(kept, moment)
            return self.derivatives(next_grad, kept, True)[0]

        return tuple(gradients), derivative

    def inputs(self, next_grad: Any, kept: Any, moment: int) -> list[Any]:
        self.refuse_changes(kept, moment)
        return super().inputs(next_grad, kept, moment)

    def refuse_changes(self, kept: Any, moment: int) -> None:
        """`StateError` where the parameters have changed after ``moment``, or what they or x hold now gives another y
        than forward's.
        """
        if any(field.cell(self.layer).changed > moment for _, field in self.layer.held_parameters()):
            raise _unreadable(self.layer, "changed weights")
        if not self.settings.unchanged():
            raise _unreadable(self.layer, "layers that compute something else now")
        y = kept[1]
        if y is not None and not agrees(y, self.again(kept)):
            raise _unreadable(self.layer, "weights or an input that were written into")


def apart(kept: Any, output: Any) -> Any:
    """What a fused segment kept, with a copy of y where a chain's ``output`` is y or a view of it: the caller may write
    into that.
    """
    if kept is None or kept[1] is None or not namespace(output).may_share_memory(output, kept[1]):
        return kept
    x, y, winners = kept
    return x, scaled(y, 1.0), winners  # by an op


def _alike(x: Any, weight: Any) -> bool:
    """Whether ``x`` has the dtype and the device of a layer's weights; where not, the layer's own checks say what is
    wrong.
    """
    return x.__class__ is weight.__class__ and x.dtype == weight.dtype


def _unreadable(part: Any, got: str) -> StateError:
    return unreadable(part, "fused layer", got, "read it before update, or run part by part: model.fuse(False)")


def forward_is_gone(part: Any) -> StateError:
    """The error of reading a derivative by the input of ``part`` when the chain has dropped what it is
    computed from.
    """
    return _unreadable(part, "arrays that another forward, free_cache() or eval() dropped")


class ConvActPool(OneOp):
    """A convolution with a `Pad2d` of zeros before it, an activation, and pooling after it: those of them that are
    there.
    """

    def __init__(self, pad: Pad2d[Any] | None, conv: Conv2d[Any], active: Any, pool: MaxPool2d[Any] | None) -> None:
        super().__init__(conv, active, [pad], [pool])
        self.window: Window = Window(
            conv.stride, conv.dilation, _padding(pad, conv), None if pool is None else _pooling(pool)
        )

    def forward(self, x: Any, weight: Any, keeps: bool) -> tuple[Any, Any]:
        return conv2d.forward(x, weight, self.layer.bias, self.window, self.activation, keeps)

    def derivatives(self, next_grad: Any, kept: Any, wants_input: bool) -> tuple[Any, Any, Any]:
        x, y, winners = kept
        return conv2d.backward(
            next_grad,
            x,
            self.layer.weight,
            self.window,
            self.activation,
            y,
            winners,
            wants_input,
            self.layer.bias is not None,
        )


class LinearAct(OneOp):
    """An affine map and an activation."""

    def forward(self, x: Any, weight: Any, keeps: bool) -> tuple[Any, Any]:
        return linear.forward(x, weight, self.layer.bias, self.activation), None

    def derivatives(self, next_grad: Any, kept: Any, wants_input: bool) -> tuple[Any, Any, Any]:
        x, y, _ = kept
        return linear.backward(next_grad, x, self.layer.weight, y, self.activation, wants_input)


class BatchNormAct(OneOp):
    """Normalisation by a batch, or by running statistics in eval, and an activation."""

    def own(self, dweight: Any, dbias: Any) -> dict[str, Any]:
        own = super().own(dweight, dbias)
        return {"parameters": BatchNorm1dGrad(**own)} if type(self.layer) is BatchNorm1d else own

    def forward(self, x: Any, weight: Any, keeps: bool) -> tuple[Any, Any]:
        y, mean, variance = normalised(self.layer, x, self.activation)
        return y, (mean, variance, meeting_here())  # a derivative that is read later meets there too

    def derivatives(self, next_grad: Any, kept: Any, wants_input: bool) -> tuple[Any, Any, Any]:
        x, _, (mean, variance, meeting) = kept
        return derivatives(self.layer, next_grad, x, mean, variance, meeting, self.activation)

    def again(self, kept: Any) -> Any:
        # By the mean and variance of then: an x that was moved or scaled has others, which would give the same y.
        x, _, (mean, variance, _) = kept
        return batch_norm.infer(x, mean, variance, self.layer.weight, self.layer.bias, self.layer.eps, self.activation)

    def infer(self, x: Any) -> Any:
        layer = self.layer
        return (
            inferred(layer, x, self.activation)
            if infers(layer) and _alike(x, layer.running_mean)
            else Segment.infer(self, x)
        )

    def run(self, x: Any) -> tuple[Any, Any]:
        layer = self.layer
        held = layer.weight if layer.running_mean is None else layer.running_mean
        if held is None or not (_alike(x, held) and take_part(self.parts)):
            return Segment.run(self, x)
        y, statistics = self.forward(x, held, True)
        return y, (x, y, statistics)

    def inputs(self, next_grad: Any, kept: Any, moment: int) -> list[Any]:
        # Not part by part: a second forward would move the running statistics.
        self.refuse_changes(kept, moment)
        return [self.derivatives(next_grad, kept, True)[0], self.activation.backward(next_grad, kept[1])]


class Flattened(Segment):
    """A `Flatten` of all axes, in eval."""

    def infer(self, x: Any) -> Any:
        """It has nothing to compute, and its checks would take longer than it does."""
        return reshape(x, (x.shape[0], -1))


class Chained(Segment):
    """Convolutions, then affine maps, with and without activations: in eval one kernel for a few samples, where nothing
    has to be kept.
    """

    def __init__(self, members: Sequence[Segment]) -> None:
        super().__init__(*(part for member in members for part in member.parts))
        self.members: tuple[Segment, ...] = tuple(members)

    def infer(self, x: Any) -> Any:
        layout, places = self._known
        if x.__class__ is np.ndarray and layout.takes(x.shape):
            arrays = [cells[name].array for cells, name in places]
            if _alike(x, arrays[0]):
                return chain(x, layout, *arrays)
        member: Segment = self
        try:
            for member in self.members:
                x = member.infer(x)
        except MemoryError as error:
            locate(error, member.layer)
            raise
        return x

    @cached_property
    def _known(self) -> tuple[Layout, list[tuple[dict[str, Cell], str]]]:
        """The layout, and the parameters' places, which the first call finds filled."""
        found = [each for each in map(_map, self.members) if each is not None]
        maps = tuple(
            Map(layer.weight.shape, layer.bias is not None, activation, window) for layer, activation, window in found
        )
        return Layout(maps), [
            (layer.__typednn_storage__.cells, name) for layer, *_ in found for name, _ in layer.held_parameters()
        ]


def segments(parts: Sequence[Module]) -> Iterator[Segment]:
    """The segments of a chain, in order."""
    place = 0
    while place < len(parts):
        segment = _segment_at(parts, place)
        place += len(segment.parts)
        yield segment


def for_inference(computed: Sequence[Segment]) -> Iterator[Segment]:
    """The segments where nothing is kept: convolutions and affine maps in a row are one."""
    place = 0
    while place < len(computed):
        members = _chained(computed[place:])
        if len(members) > 1:
            yield Chained(members)
        else:
            yield from members
        place += len(members)


def _chained(computed: Sequence[Segment]) -> list[Segment]:
    """The first segment, and those after it that can be computed by the same kernel; a `Flatten` between convolutions
    and affine maps.
    """
    members: list[Segment] = []
    windows: list[Any] = []  # of the maps so far
    for place, segment in enumerate(computed):
        known = _map(segment)
        if known is not None and len(windows) < MAPS and (known[2] is None or None not in windows):
            members.append(segment)
            windows.append(known[2])
        elif _is_flatten(segment) and windows and None not in windows and _is_affine(computed[place + 1 : place + 2]):
            members.append(Flattened(segment.layer))
        else:
            break
    if members:
        return members
    return [Flattened(computed[0].layer) if _is_flatten(computed[0]) else computed[0]]


def _is_flatten(segment: Segment) -> bool:
    return type(segment.layer) is Flatten and segment.layer.makes_rows


def _is_affine(following: Sequence[Segment]) -> bool:
    known = _map(following[0]) if following else None
    return known is not None and known[2] is None


def _map(segment: Segment) -> tuple[Any, Activation, Window | None] | None:
    """The affine map or the convolution that ``segment`` is, what follows it, and its window; None if it is neither, or
    in groups.
    """
    layer = segment.layer
    match segment:
        case Segment() if type(layer) is Conv2d and layer.groups > 1:
            return None
        case LinearAct():
            return layer, segment.activation, None
        case ConvActPool():
            return layer, segment.activation, segment.window
        case Segment() if type(layer) is Linear:
            return layer, IDENTITY, None
        case Segment() if type(layer) is Conv2d:
            return layer, IDENTITY, Window(layer.stride, layer.dilation, layer.padding)
        case _:
            return None


def _segment_at(parts: Sequence[Module], place: int) -> Segment:
    first = parts[place]
    pad = _zeros_around(first)
    following: list[Any] = [*parts[place + (pad is not None) :][:3], None, None]
    layer, *after = following
    active = None if activation_of(after[0]) is None else after[0]
    if type(layer) is Conv2d:
        pool = _side_by_side(after[0] if active is None else after[1]) if layer.groups == 1 else None
        if any(part is not None for part in (pad, active, pool)):
            return ConvActPool(pad, layer, active, pool)
    elif type(first) is Linear and active is not None:
        return LinearAct(first, active)
    elif type(first) in (BatchNorm1d, BatchNorm2d) and type(active) in (ReLU, LeakyReLU):
        return BatchNormAct(first, active)
    return Segment(first)


def activation_of(part: object) -> Activation | None:
    """What ``part`` computes, where that is an activation whose backward needs its output alone."""
    activation = (
        Activation("leaky_relu", part.negative_slope) if type(part) is LeakyReLU else _ACTIVATIONS.get(type(part))
    )
    return activation if activation is not None and activation.monotone else None


def _side_by_side(part: Any) -> Any:
    """``part`` where it is a MaxPool2d without a border whose windows the kernel takes in; else None."""
    fits = type(part) is MaxPool2d and part.padding == (0, 0) and Window(pooling=_pooling(part)).side_by_side
    return part if fits else None


def _pooling(pool: Any) -> Any:
    """Where the windows of a MaxPool2d lie."""
    return pool.kernel_size, pool.stride, pool.dilation


def _padding(pad: Any, conv: Any) -> Any:
    """All zeros around the image: those of the Pad2d, if there is one, and the convolution's own."""
    own: tuple[int, int, int, int] = conv.padding
    return own if pad is None else tuple(sum(sides) for sides in zip(pad.padding, own, strict=True))


def _zeros_around(part: Any) -> Any:
    """``part`` where it is a Pad2d that puts zeros; else None."""
    return part if type(part) is Pad2d and part.mode == "constant" and part.value == 0 else None
