"""Segments: runs of a chain's parts that one op computes, and the search for them.

=============================================================  =================
[Pad2d with zeros] Conv2d, ReLU, MaxPool2d                     `conv_act_pool`
Linear, ReLU                                                   `linear_act`
any other part                                                 alone, as it is
=============================================================  =================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from typednn.fusion.gradients import FusedPartGrad
from typednn.kernels import conv_act_pool, linear_act
from typednn.kernels.conv_act_pool.geometry import Geometry
from typednn.layers.conv2d import Conv2d
from typednn.layers.linear import Linear
from typednn.layers.max_pool2d import MaxPool2d
from typednn.layers.pad2d import Pad2d
from typednn.layers.relu import ReLU
from typednn.module import Module

Later: TypeAlias = Callable[[], Any]


class Segment(Protocol):
    """``run`` gives the output and what ``run_back`` needs; the derivative by the input is an array, or a way to get it later."""

    def run(self, x: Any) -> tuple[Any, Any]: ...

    def run_back(self, next_grad: Any, kept: Any, later: bool) -> tuple[tuple[Any, ...], Any, Later | None]: ...


class Alone:
    """One part that keeps for itself what it needs."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def run(self, x: Any) -> tuple[Any, Any]:
        return self.part.forward(x), None

    def run_back(self, next_grad: Any, kept: Any, later: bool) -> tuple[tuple[Any, ...], Any, Later | None]:
        grad = self.part.backward(next_grad)
        return (grad,), (None if later else grad.input), ((lambda: grad.input) if later else None)


_NOTHING = FusedPartGrad()


class ConvActPool:
    """Convolution, ReLU and pooling, and zeros around the image before them."""

    def __init__(self, pad: Pad2d[Any] | None, conv: Conv2d[Any], pool: MaxPool2d[Any]) -> None:
        self.conv: Any = conv
        self.before = 0 if pad is None else 1
        self.geometry: Geometry = Geometry(
            (0, 0, 0, 0) if pad is None else pad.padding, conv.stride, conv.dilation, pool.kernel_size, pool.stride, pool.dilation
        )

    def run(self, x: Any) -> tuple[Any, Any]:
        y, winners = conv_act_pool.forward(x, self.conv.weight, self.conv.bias, self.geometry)
        return y, (x, winners)

    def run_back(self, next_grad: Any, kept: Any, later: bool) -> tuple[tuple[Any, ...], Any, Later | None]:
        x, winners = kept
        weight = self.conv.weight
        dx, dweight, dbias = conv_act_pool.backward(next_grad, x, weight, winners, self.geometry, not later)
        own = FusedPartGrad(dweight, None if self.conv.bias is None else dbias)
        grads = (*(_NOTHING,) * self.before, own, _NOTHING, _NOTHING)
        if not later:
            return grads, dx, None
        then = weight.copy()  # an optimizer may step before anybody asks
        geometry = self.geometry
        return grads, None, lambda: conv_act_pool.backward(next_grad, x, then, winners, geometry)[0]


class LinearAct:
    """An affine map and ReLU."""

    def __init__(self, linear: Linear[Any]) -> None:
        self.linear: Any = linear

    def run(self, x: Any) -> tuple[Any, Any]:
        y = linear_act.forward(x, self.linear.weight, self.linear.bias)
        return y, (x, y)

    def run_back(self, next_grad: Any, kept: Any, later: bool) -> tuple[tuple[Any, ...], Any, Later | None]:
        x, y = kept
        weight = self.linear.weight
        dx, dweight, dbias = linear_act.backward(next_grad, x, y, weight, not later)
        grads = (FusedPartGrad(dweight, None if self.linear.bias is None else dbias), _NOTHING)
        if not later:
            return grads, dx, None
        then = weight.copy()
        return grads, None, lambda: linear_act.backward(next_grad, x, y, then)[0]


def segments(parts: Sequence[Module]) -> Iterator[Segment]:
    """The segments of a chain, in order."""
    place = 0
    while place < len(parts):
        count, segment = _found(parts, place)
        yield segment
        place += count


def _found(parts: Sequence[Module], place: int) -> tuple[int, Segment]:
    first = parts[place]
    pad = _zeros_around(first)
    match tuple(parts[place + (pad is not None) :][:3]):
        case (Conv2d() as conv, ReLU(), MaxPool2d() as pool):
            return 3 + (pad is not None), ConvActPool(pad, conv, pool)
        case (Linear() as linear, ReLU(), *_) if pad is None:
            return 2, LinearAct(linear)
        case _:
            return 1, Alone(first)


def _zeros_around(part: Any) -> Any:
    """``part`` where it is a Pad2d that puts zeros; else None."""
    return part if type(part) is Pad2d and part.mode == "constant" and part.value == 0 else None
