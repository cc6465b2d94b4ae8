"""The derivative of each kind of node by its inputs, in nodes. One function for a kind.

Those of functions of one and of two numbers are in their rows, in `typednn.graph.operations`.

A function gets the node, its operation, what the kind has besides, the derivative by the node, its inputs, and which of
them are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from typednn.arrays import is_floating
from typednn.graph.graph import GRAPH, product
from typednn.graph.kinds import Kind
from typednn.graph.movement import concatenate
from typednn.graph.nodes import broadcast_to, cast_to, constant, device, every, pad, permute, reduce, reshape, to_device
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.tensor import AnyTensor, held

Derivative: TypeAlias = Callable[
    [AnyTensor, int, Any, AnyTensor, tuple[AnyTensor, ...], tuple[bool, ...]], Sequence[AnyTensor | None]
]


def _of_unary(
    y: AnyTensor, operation: int, extra: object, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    rule = Unary(operation).row.derivative
    return (None if rule is None else rule(g, inputs[0], y),)


def _of_binary(
    y: AnyTensor, operation: int, extra: object, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    x, z = inputs
    row = Binary(operation).row
    return [
        rule(g, x, z, y) if want and rule is not None else None
        for rule, want in zip((row.by_x, row.by_z), wanted, strict=True)
    ]


def _kept(x: AnyTensor, axes: tuple[int, ...], reduced: AnyTensor) -> AnyTensor:
    """``reduced`` over the axes of ``x`` that it lacks."""
    kept = reshape(reduced, tuple(1 if place in axes else size for place, size in enumerate(x.shape)))
    return broadcast_to(kept, x.shape)


def _by_factors(x: AnyTensor, axes: tuple[int, ...], g: AnyTensor) -> AnyTensor:
    """By each factor of a product, in halves that are multiplied: right at zeros, too, and so are the derivatives of
    it.
    """
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
        halves.append((every(factors, last, 0, half, 1), every(factors, last, half, half, 1), size))
        factors = halves[-1][0] * halves[-1][1]
    by_factor = broadcast_to(reshape(g, (*g.shape, 1)), factors.shape)
    for first, second, size in reversed(halves):
        by_factor = every(concatenate([by_factor * second, by_factor * first], last), last, 0, size, 1)
    return permute(reshape(by_factor, turned.shape), _inverse(order))


def _of_reduce(
    y: AnyTensor,
    operation: int,
    axes: tuple[int, ...],
    g: AnyTensor,
    inputs: tuple[AnyTensor, ...],
    wanted: tuple[bool, ...],
) -> Sequence[AnyTensor | None]:
    (x,) = inputs
    spread = _kept(x, axes, g)
    if operation == Reduce.SUM:
        return (spread,)
    if operation == Reduce.PROD:
        return (_by_factors(x, axes, g),)
    at = Binary.EQUAL(x, _kept(x, axes, y))
    count = _kept(x, axes, reduce(Reduce.SUM, cast_to(at, x.dtype), axes))
    return (Binary.MASKED(at, spread / count),)


def _of_expand(
    y: AnyTensor, operation: int, extra: object, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    old = inputs[0].shape
    axes = tuple(place for place, (size, new) in enumerate(zip(old, y.shape, strict=True)) if size != new)
    return (reshape(reduce(Reduce.SUM, g, axes), old),)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _of_cast(
    y: AnyTensor, operation: int, extra: object, g: AnyTensor, inputs: tuple[AnyTensor, ...], wanted: tuple[bool, ...]
) -> Sequence[AnyTensor | None]:
    dtype = inputs[0].dtype
    return (cast_to(g, dtype) if is_floating(dtype) and is_floating(y.dtype) else None,)


DERIVATIVES: Final[dict[Kind, Derivative]] = {
    Kind.EXPAND: _of_expand,
    Kind.PERMUTE: lambda y, operation, order, g, inputs, wanted: (permute(g, _inverse(order)),),
    Kind.RESHAPE: lambda y, operation, extra, g, inputs, wanted: (reshape(g, inputs[0].shape),),
    Kind.PAD: lambda y, operation, widths, g, inputs, wanted: (
        pad(g, [(-before, -after) for before, after in widths]),
    ),
    Kind.REDUCE: _of_reduce,
    Kind.CAST: _of_cast,
    Kind.UNARY: _of_unary,
    Kind.BINARY: _of_binary,
    Kind.TO_DEVICE: lambda y, operation, extra, g, inputs, wanted: (to_device(g, device(inputs[0])),),
}


def transposed(x: AnyTensor, y: AnyTensor, g: AnyTensor) -> AnyTensor:
    """The derivative of ``y`` times ``g`` by ``x``, of which y is made by movements alone."""
    chain = [y]
    while chain[-1].id != x.id:
        chain.append(held(*GRAPH.inputs(chain[-1].id)))
    for made, given in pairwise(chain):
        (by_input,) = DERIVATIVES[GRAPH.kind(made.id)](made, 0, GRAPH.extras.get(made.id), g, (given,), (True,))
        g = g if by_input is None else by_input
    return g
