"""The derivative of each kind of node by its inputs, in nodes. One function for a kind, one line for an operation.

A function gets the node, its operation, what the kind has besides, the derivative by the node, its inputs, and which of them are wanted.
"""

# Lambdas take tensors.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from typednn.arrays import is_floating
from typednn.graph.graph import product
from typednn.graph.kinds import Binary, Kind, Reduce, Unary
from typednn.graph.movement import concatenate
from typednn.graph.tensor import (
    AnyTensor,
    binary,
    broadcast_to,
    cast_to,
    constant,
    device,
    pad,
    permute,
    reduce,
    reshape,
    to_device,
    unary,
)

Derivative: TypeAlias = Callable[[AnyTensor, int, Any, AnyTensor, tuple[AnyTensor, ...], tuple[bool, ...]], Sequence[AnyTensor | None]]


def _masked(mask: AnyTensor, x: AnyTensor) -> AnyTensor:
    return binary(Binary.MASKED, mask, x)


# By each number x, of which the function is y; g is the derivative by y. None: it is 0 wherever it is defined.
_UNARY: Final[dict[int, Callable[[AnyTensor, AnyTensor, AnyTensor], AnyTensor] | None]] = {
    Unary.NEGATIVE: lambda g, x, y: -g,
    Unary.BITWISE_NOT: None,
    Unary.EXP: lambda g, x, y: g * y,
    Unary.EXP2: lambda g, x, y: g * (y * math.log(2)),
    Unary.LOG: lambda g, x, y: g / x,
    Unary.LOG2: lambda g, x, y: g / (x * math.log(2)),
    Unary.RECIPROCAL: lambda g, x, y: -g * (y * y),
    Unary.SQRT: lambda g, x, y: g * 0.5 / y,
    Unary.SIN: lambda g, x, y: g * unary(Unary.COS, x),
    Unary.COS: lambda g, x, y: -g * unary(Unary.SIN, x),
    Unary.FLOOR: None,
    Unary.TRUNC: None,
    Unary.ABS: lambda g, x, y: _masked(x > 0, g) - _masked(x < 0, g),
    Unary.TANH: lambda g, x, y: g * (1.0 - y * y),
    Unary.ERF: lambda g, x, y: g * (unary(Unary.EXP, -(x * x)) * (2 / math.sqrt(math.pi))),
    Unary.LOG1P: lambda g, x, y: g / (1.0 + x),
    Unary.EXPM1: lambda g, x, y: g * unary(Unary.EXP, x),  # not y + 1, which has no digits left where x is far below 0
}


def _of_unary(
    y: AnyTensor, operation: int, extra: Any, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    rule = _UNARY[operation]
    return (None if rule is None else rule(g, inputs[0], y),)


def _by_larger(g: AnyTensor, x: AnyTensor, z: AnyTensor) -> AnyTensor:
    """``g`` where x is the larger, half of it where both are equal."""
    return _masked(x > z, g) + _masked(binary(Binary.EQUAL, x, z), g * 0.5)


def _power_by_base(g: AnyTensor, x: AnyTensor, z: AnyTensor) -> AnyTensor:
    # x⁰ is 1 everywhere, and its derivative 0, also where x^-1 is infinite.
    return _masked(z != 0.0, g * (z * x ** (z - 1.0)))


def _power_by_exponent(g: AnyTensor, x: AnyTensor, z: AnyTensor, y: AnyTensor) -> AnyTensor:
    # At x = 0 it is 0 for z > 0: log x is infinite there, and y is 0.
    return _masked((x != 0.0) | (z < 0.0), g * (y * unary(Unary.LOG, x)))


# By x and by z, of which the function is y.
_BINARY: Final[dict[int, tuple[Callable[..., AnyTensor], Callable[..., AnyTensor]]]] = {
    Binary.ADD: (lambda g, x, z, y: g, lambda g, x, z, y: g),
    Binary.SUBTRACT: (lambda g, x, z, y: g, lambda g, x, z, y: -g),
    Binary.MULTIPLY: (lambda g, x, z, y: g * z, lambda g, x, z, y: g * x),
    Binary.DIVIDE: (lambda g, x, z, y: g / z, lambda g, x, z, y: -(g * (y / z))),
    Binary.POWER: (lambda g, x, z, y: _power_by_base(g, x, z), _power_by_exponent),
    Binary.MAXIMUM: (lambda g, x, z, y: _by_larger(g, x, z), lambda g, x, z, y: _by_larger(g, z, x)),
    Binary.MODULO: (lambda g, x, z, y: g, lambda g, x, z, y: -(g * unary(Unary.FLOOR, x / z))),
}


def _of_binary(
    y: AnyTensor, operation: int, extra: Any, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    x, z = inputs
    if operation == Binary.MASKED:
        return None, _masked(x, g)
    rules = _BINARY.get(operation)
    if rules is None:
        return None, None
    return [rule(g, x, z, y) if want else None for rule, want in zip(rules, wanted, strict=True)]


def _kept(x: AnyTensor, axes: tuple[int, ...], reduced: AnyTensor) -> AnyTensor:
    """``reduced`` over the axes of ``x`` that it lacks."""
    kept = reshape(reduced, tuple(1 if place in axes else size for place, size in enumerate(x.shape)))
    return broadcast_to(kept, x.shape)


def _by_factors(x: AnyTensor, axes: tuple[int, ...], g: AnyTensor) -> AnyTensor:
    """By each factor of a product, in halves that are multiplied: right at zeros, too, and so are the derivatives of it."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = (*kept, *axes)
    turned = permute(x, order)
    factors = reshape(turned, (*g.shape, product([x.shape[axis] for axis in axes])))
    last, halves = len(kept), list[tuple[AnyTensor, AnyTensor, int]]()
    while factors.shape[last] > 1:
        size = factors.shape[last]
        if size % 2:
            factors = concatenate([factors, constant(1, x.dtype, (*g.shape, 1))], last)
        half = factors.shape[last] // 2
        halves.append((_cut(factors, last, 0, half), _cut(factors, last, half, half), size))
        factors = halves[-1][0] * halves[-1][1]
    by_factor = broadcast_to(reshape(g, (*g.shape, 1)), factors.shape)
    for first, second, size in reversed(halves):
        by_factor = _cut(concatenate([by_factor * second, by_factor * first], last), last, 0, size)
    return permute(reshape(by_factor, turned.shape), _inverse(order))


def _cut(x: AnyTensor, axis: int, start: int, size: int) -> AnyTensor:
    return pad(x, [(-start, start + size - old) if place == axis else (0, 0) for place, old in enumerate(x.shape)])


def _of_reduce(
    y: AnyTensor, operation: int, axes: Any, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    (x,) = inputs
    spread = _kept(x, axes, g)
    if operation == Reduce.SUM:
        return (spread,)
    if operation == Reduce.PROD:
        return (_by_factors(x, axes, g),)
    at = binary(Binary.EQUAL, x, _kept(x, axes, y))
    count = _kept(x, axes, reduce(Reduce.SUM, cast_to(at, x.dtype), axes))
    return (_masked(at, spread / count),)


def _of_expand(
    y: AnyTensor, operation: int, extra: Any, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    old = inputs[0].shape
    axes = tuple(place for place, (size, new) in enumerate(zip(old, y.shape, strict=True)) if size != new)
    return (reshape(reduce(Reduce.SUM, g, axes), old),)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _of_cast(
    y: AnyTensor, operation: int, extra: Any, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    dtype = inputs[0].dtype
    return (cast_to(g, dtype) if is_floating(dtype) and is_floating(y.dtype) else None,)


DERIVATIVES: Final[dict[Kind, Derivative]] = {
    Kind.EXPAND: _of_expand,
    Kind.PERMUTE: lambda y, operation, order, g, inputs, wanted: (permute(g, _inverse(order)),),
    Kind.RESHAPE: lambda y, operation, extra, g, inputs, wanted: (reshape(g, inputs[0].shape),),
    Kind.PAD: lambda y, operation, widths, g, inputs, wanted: (pad(g, [(-before, -after) for before, after in widths]),),
    Kind.REDUCE: _of_reduce,
    Kind.CAST: _of_cast,
    Kind.UNARY: _of_unary,
    Kind.BINARY: _of_binary,
    Kind.TO_DEVICE: lambda y, operation, extra, g, inputs, wanted: (to_device(g, device(inputs[0])),),
}
