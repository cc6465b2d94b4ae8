"""Tapes: what is made while one lives can be differentiated.

    with Tape() as tape:
        loss = ((x @ w - y) ** 2).mean()
        dw, = tape.gradient(loss, [w])       # nodes, too: nothing is computed yet
    realize(loss, dw)

`Tape.gradient` uses the tape up. `Tape.gradient_persistent` leaves it open; then its results are recorded too and can be differentiated
again. No tensor is marked as needing a gradient: any that was there before, or was made meanwhile, may be a source.

A derivative is zero where two numbers are equal and only one of them counts? No: ``maximum`` and ``max`` share it among equal numbers.

Source: zyx, "The Graph"; reverse accumulation: Linnainmaa 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, overload

from typednn.errors import ArgumentError, explain
from typednn.graph.custom import Called, derivatives_of
from typednn.graph.derivatives import DERIVATIVES
from typednn.graph.graph import GRAPH, refuse_released
from typednn.graph.kinds import Kind
from typednn.graph.tensor import AnyTensor, Tensor, constant, zeros_like


class Tape:
    """Records all nodes that are made until it is used up or closed. Several may live at once."""

    def __init__(self) -> None:
        self._is_open: bool = True
        GRAPH.open_tape()

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Record no more; a second time does nothing."""
        if self._is_open:
            self._is_open = False
            GRAPH.close_tape()

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):
            self.close()

    @overload
    def gradient(self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: Literal[True]) -> list[AnyTensor]: ...
    @overload
    def gradient(self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: bool = False) -> list[AnyTensor | None]: ...
    def gradient(self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: bool = False) -> Any:
        """The derivative of the sum of ``target`` by each of ``sources``; None, or zeros, for one that plays no part. Closes the tape."""
        found = self.gradient_persistent(target, sources, zeros=zeros)
        self.close()
        return found

    @overload
    def gradient_persistent(self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: Literal[True]) -> list[AnyTensor]: ...
    @overload
    def gradient_persistent(self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: bool = False) -> list[AnyTensor | None]: ...
    def gradient_persistent(self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: bool = False) -> Any:
        """As `gradient`, and the tape stays open."""
        if not self._is_open or GRAPH.recorded is None:
            raise refuse_released("Tape")
        if isinstance(sources, Tensor):
            raise ArgumentError(explain("Tape.gradient", "sources are several", "one tensor", "write [x]"), "sources")
        if target.dtype.kind != "f":
            got = f"{target.dtype}: {GRAPH.expression(target.id)}"
            raise ArgumentError(explain("Tape.gradient", "differentiates a tensor of floats", got, "cast it"), "target")
        gradients = _backward(target, {each.id for each in sources})
        found = [gradients.get(each.id) for each in sources]
        return (
            [zeros_like(each) if gradient is None else gradient for each, gradient in zip(sources, found, strict=True)] if zeros else found
        )


def _backward(target: AnyTensor, sources: set[int]) -> dict[int, AnyTensor]:
    """The derivative of ``target``'s sum by each of ``sources`` that it depends on."""
    graph = GRAPH
    recorded = graph.recorded or set()
    reached = graph.ancestors([target.id], stop=_NotIn(recorded))
    active: set[int] = set()
    for number in reached:
        if number in sources or (number in recorded and not active.isdisjoint(graph.inputs(number))):
            active.add(number)
    if target.id not in active:
        return {}
    gradients: dict[int, AnyTensor] = {target.id: constant(1, target.dtype, target.shape)}
    for number in reversed(reached):
        if number not in active or number not in gradients or number not in recorded:
            continue
        inputs = graph.inputs(number)
        if active.isdisjoint(inputs):
            continue
        next_grad = gradients[number] if number in sources else gradients.pop(number)
        for each, derivative in zip(inputs, _derivatives(number, next_grad, inputs, active), strict=True):
            if derivative is not None and each in active:
                gradients[each] = gradients[each] + derivative if each in gradients else derivative
    return {number: gradient for number, gradient in gradients.items() if number in sources}


class _NotIn:
    """All numbers but those of a set."""

    def __init__(self, numbers: set[int]) -> None:
        self.numbers = numbers

    def __contains__(self, number: int) -> bool:
        return number not in self.numbers


def _derivatives(number: int, next_grad: AnyTensor, inputs: tuple[int, ...], active: set[int]) -> Sequence[AnyTensor | None]:
    """The derivative by each input of one node."""
    graph = GRAPH
    kind = graph.kind(number)
    tensors = tuple(held(each) for each in inputs)
    wanted = tuple(each in active for each in inputs)
    if kind == Kind.CUSTOM:
        called: Called = graph.extras[number]
        return derivatives_of(called, next_grad, tensors, wanted)
    return DERIVATIVES[kind](held(number), graph.operation(number), graph.extras.get(number), next_grad, tensors, wanted)


def held(number: int) -> AnyTensor:
    """Another tensor for a node that is there."""
    GRAPH.slab.retain(number)
    return Tensor(number)
