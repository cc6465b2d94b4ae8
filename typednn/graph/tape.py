"""Tapes: what is made while one lives can be differentiated.

    with Tape() as tape:
        loss = ((x @ w - y) ** 2).mean()
        dw, = tape.gradient(loss, [w])       # nodes, too: nothing is computed yet
    realize(loss, dw)

`Tape.gradient` uses the tape up. `Tape.gradient_persistent` leaves it open; then its results are recorded too and can
be differentiated again. No tensor is marked as needing a gradient: any that was there before, or was made meanwhile,
may be a source. What was realized before the tape is an array, not how it was computed. Where ``maximum`` and ``max``
meet equal numbers, these share the derivative.

Tapes that live at once record together; nodes keep their inputs until the last of them is closed. A tape that nobody
has any more is closed at the next operation.

Source: zyx, "The Graph"; reverse accumulation: Linnainmaa 1970.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias, final, overload

from typednn.arrays import is_floating
from typednn.errors import ArgumentError, explain
from typednn.graph.custom import Called, derivatives_of
from typednn.graph.derivatives import DERIVATIVES
from typednn.graph.graph import GRAPH, refuse_released
from typednn.graph.kinds import Kind
from typednn.graph.nodes import constant, zeros_like
from typednn.graph.slab import NONE
from typednn.graph.tensor import AnyTensor, Tensor, held

Sources: TypeAlias = Sequence[AnyTensor] | Mapping[str, AnyTensor]


@final
class Tape:
    """Records all nodes that are made until it is used up or closed. Several may live at once."""

    def __init__(self) -> None:
        self._is_open: bool = True
        GRAPH.open_tape()

    def __enter__(self) -> Tape:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Record no more; a second time does nothing."""
        if self._is_open:
            self._is_open = False
            GRAPH.close_tape()

    def __del__(self) -> None:
        if self._is_open:
            GRAPH.dropped.append(NONE)

    @overload
    def gradient(self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: Literal[True]) -> list[AnyTensor]: ...
    @overload
    def gradient(
        self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: Literal[False] = False
    ) -> list[AnyTensor | None]: ...
    @overload
    def gradient(
        self, target: AnyTensor, sources: Mapping[str, AnyTensor], *, zeros: Literal[True]
    ) -> dict[str, AnyTensor]: ...
    @overload
    def gradient(
        self, target: AnyTensor, sources: Mapping[str, AnyTensor], *, zeros: Literal[False] = False
    ) -> dict[str, AnyTensor | None]: ...
    def gradient(self, target: AnyTensor, sources: Sources, *, zeros: bool = False) -> Any:
        """The derivative of the sum of ``target`` by each of ``sources``, a list or named; closes the tape.

        None, or zeros, for one that plays no part. Cost: some two to five nodes for each node between the sources and
        ``target``.
        """
        found = _gradient(self._is_open, target, sources, zeros)
        self.close()
        return found

    @overload
    def gradient_persistent(
        self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: Literal[True]
    ) -> list[AnyTensor]: ...
    @overload
    def gradient_persistent(
        self, target: AnyTensor, sources: Sequence[AnyTensor], *, zeros: Literal[False] = False
    ) -> list[AnyTensor | None]: ...
    @overload
    def gradient_persistent(
        self, target: AnyTensor, sources: Mapping[str, AnyTensor], *, zeros: Literal[True]
    ) -> dict[str, AnyTensor]: ...
    @overload
    def gradient_persistent(
        self, target: AnyTensor, sources: Mapping[str, AnyTensor], *, zeros: Literal[False] = False
    ) -> dict[str, AnyTensor | None]: ...
    def gradient_persistent(self, target: AnyTensor, sources: Sources, *, zeros: bool = False) -> Any:
        """As `gradient`, and the tape stays open."""
        return _gradient(self._is_open, target, sources, zeros)


def _gradient(is_open: bool, target: AnyTensor, sources: Sources, zeros: bool) -> Any:
    if not is_open:
        raise refuse_released("Tape")
    named: dict[Any, AnyTensor] = dict(sources) if isinstance(sources, Mapping) else dict(enumerate(_several(sources)))
    for role, each in (("target", target), *(("sources", each) for each in named.values())):
        if not isinstance(each, Tensor):
            raise ArgumentError(
                explain("Tape.gradient", "differentiates tensors by tensors", type(each).__name__), role
            )
    if not is_floating(target.dtype):
        got = f"{target.dtype}: {GRAPH.expression(target.id)}"
        raise ArgumentError(explain("Tape.gradient", "differentiates a tensor of floats", got, "cast it"), "target")
    gradients = _backward(target, {each.id for each in named.values()})
    found = {name: gradients.get(each.id) for name, each in named.items()}
    if zeros:
        found = {name: zeros_like(named[name]) if each is None else each for name, each in found.items()}
    return found if isinstance(sources, Mapping) else list(found.values())


def _several(sources: Sequence[AnyTensor]) -> list[AnyTensor]:
    if isinstance(sources, Tensor):
        raise ArgumentError(explain("Tape.gradient", "sources are several", "one tensor", "write [x]"), "sources")
    try:
        return list(sources)
    except TypeError:
        raise ArgumentError(
            explain("Tape.gradient", "sources are several tensors", type(sources).__name__, "write [x]"), "sources"
        ) from None


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


def _derivatives(
    number: int, next_grad: AnyTensor, inputs: tuple[int, ...], active: set[int]
) -> Sequence[AnyTensor | None]:
    """The derivative by each input of one node."""
    graph = GRAPH
    kind = graph.kind(number)
    tensors = tuple(held(each) for each in inputs)
    wanted = tuple(each in active for each in inputs)
    if kind == Kind.CUSTOM:
        called: Called = graph.extras[number]
        return derivatives_of(called, next_grad, tensors, wanted)
    return DERIVATIVES[kind](
        held(number), graph.operation(number), graph.extras.get(number), next_grad, tensors, wanted
    )
