"""Recordings of formulas: a formula is run once, on tensors without numbers, and gives the programs that compute it and
its derivatives. They are remembered by what decides about them: attributes, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast, final

from typednn.engines.locks import Lock
from typednn.errors import ArgumentError, StateError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import Kind
from typednn.graph.nodes import lazily
from typednn.graph.passes import left_out, optimised
from typednn.graph.program import Program, traced
from typednn.graph.running import plan_of
from typednn.graph.splitting import source, split
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor, Tensor, array_of
from typednn.kernels.op import Op

_REMEMBERED: Final = 1024
_PLAIN: Final = frozenset({bool, int, float, str, type(None)})
_HELD: Final = frozenset({"__typednn_storage__", "__typednn_calls__"})


class Step(NamedTuple):
    """A program, and what it reads: places among the known arrays, and arrays that the formula brought with it."""

    program: Program
    reads: tuple[Any, ...]
    # of each result that leaves this file, whether it is computed, and not an array that was only moved
    own: tuple[bool, ...]

    def __call__(self, known: Sequence[Any]) -> list[Any]:
        """The results for these arrays; those that leave this file are arrays of their own, in NumPy's order."""
        results: list[Any] = _formula(self, *known)
        return results


def _computed(step: Step, *known: Any) -> list[Any]:
    given = [known[each] if each.__class__ is int else each for each in step.reads]
    results: list[Any] = plan_of(step.program, given)(given)
    for place, own in enumerate(step.own):
        if not own or not results[place].flags.c_contiguous:
            results[place] = results[place].copy(order="C")
    return results


def _uncounted(step: Step, *known: Any) -> int:
    """Operations of a formula: its programs do not count them."""
    return 0


# An op, so that those who observe ops know where its results come from; its programs have engines of their own.
_formula: Final = Op("formula", _computed, (), _uncounted, "", None, "", ()).run


def _step(wanted: Sequence[int], known: Sequence[int], *, leaving: int) -> Step:
    """What computes the nodes ``wanted`` from those that are ``known``; so many of the results leave this file."""
    program, leaves = traced(wanted)
    return _stepping(
        program, tuple(known.index(number) if number in known else array_of(number) for number in leaves), leaving
    )


def _stepping(program: Program, reads: tuple[Any, ...], leaving: int) -> Step:
    better = optimised(program)
    moved = (source(better.instructions, place) for place in better.outputs[:leaving])
    return Step(program, reads, tuple(better.instructions[place].kind != Kind.LEAF for place in moved))


@final
class Recording:
    """A formula, recorded for arrays of certain shapes and dtypes."""

    __slots__ = ("backward", "both", "forward", "keeps_result", "parted")

    def __init__(
        self, forward: Step, backward: Step, both: Step, keeps_result: bool, parted: tuple[Step, Step] | None
    ) -> None:
        self.forward: Step = forward  # the result, and what backward reads of what was computed on the way
        # the derivatives: from what forward reads, what it kept, and the derivative by the result
        self.backward: Step = backward
        self.both: Step = both  # the result and its derivatives; of a loss
        self.keeps_result: bool = keeps_result
        # Backward in two: the derivatives by the parameters with what both need, and that by the input, which reads
        # these too.
        self.parted: tuple[Step, Step] | None = parted

    @property
    def own(self) -> list[Any]:
        """The arrays that the formula brought with it."""
        return [each for step in (self.forward, self.backward) for each in step.reads if each.__class__ is not int]


def record(
    where: str,
    formula: Callable[..., Any],
    inputs: Sequence[tuple[str, Any]],
    sources: Sequence[int],
    *,
    is_loss: bool,
    waits: bool = False,
) -> Recording:
    """``formula`` gets a tensor for each of the named arrays; the derivatives are by those whose places are
    ``sources``.

    Where the first derivative ``waits``, it can be computed later than the others, if that is worth it and safe.
    """
    given = [_stand_in(where, name, array.shape, array.dtype) for name, array in inputs]
    known = [each.id for each in given]
    with Tape() as tape:
        result = formula(*given)
        if not isinstance(cast("object", result), Tensor):
            cure = "compute it with operations of typednn.graph"
            raise ArgumentError(explain(where, "gives a tensor", type(result).__name__, cure), "formula")
        value: AnyTensor = result
        if is_loss and value.shape:
            raise ArgumentError(
                explain(where, "gives one number", f"shape {value.shape}", "take its mean() or sum()"), "formula"
            )
        on_the_way = [] if is_loss else GRAPH.ancestors([value.id])
        next_grad = _stand_in(where, "next_grad", value.shape, value.dtype)
        wanted = [given[place] for place in sources]
        gradients = tape.gradient(value if is_loss else value * next_grad, wanted, zeros=True) if sources else []
    derivatives = [each.id for each in gradients]
    reduced = {number for number in on_the_way if GRAPH.kind(number) in (Kind.REDUCE, Kind.CUSTOM)}
    kept = [number for number in GRAPH.ancestors(derivatives, stop=reduced) if number in reduced]
    kept.sort(key=lambda number: number != value.id)  # the result first
    forward = _step(list(dict.fromkeys([value.id, *kept])), known, leaving=1)
    both = _step([value.id, *derivatives], known, leaving=2) if is_loss else forward
    for number in kept:
        GRAPH.arrays[number] = _refusal(where)  # backward finds these computed
    backward = _step(derivatives, [*known, *kept, next_grad.id], leaving=len(derivatives))
    # nobody else has these arrays, so they tell whether others have changed
    own = [number for number in kept if number != value.id]
    telling = [known.index(number) for number in GRAPH.ancestors(own) if number in known]
    telling += range(len(known) + len(kept) - len(own), len(known) + len(kept))
    return Recording(forward, backward, both, value.id in kept, _parted(backward, telling) if waits else None)


def _parted(backward: Step, telling: Sequence[int]) -> tuple[Step, Step] | None:
    """``backward`` in two steps, of which the second gives its first result; None unless that one reads arrays ``told``
    of alone.
    """
    parts = split(backward.program, len(backward.reads))
    if parts is None:
        return None
    leaves = [each.extra for each in parts.later.instructions if each.kind == Kind.LEAF]
    if any(backward.reads[leaf] not in telling for leaf in leaves if leaf < len(backward.reads)):
        return None
    between = range(-parts.between, 0)  # places from the end: the last of what it is given
    return (
        _stepping(parts.now, backward.reads, len(parts.now.outputs) - parts.between),
        _stepping(parts.later, (*backward.reads, *between), 1),
    )


def _stand_in(where: str, name: str, shape: Sequence[int], dtype: Any) -> AnyTensor:
    """A leaf whose array is not known while a formula is recorded."""
    return lazily(_refusal(where), shape, dtype, name=name)


def _refusal(where: str) -> Callable[[], Any]:
    def refuse() -> Any:
        rule, got = "is recorded: no number is known in it", "a request to compute a tensor"
        raise StateError(explain(where, rule, got, "compute with tensors, and with where() instead of if"))

    return refuse


_recordings: dict[Any, tuple[Recording, bool]] = {}  # the last under each key, and whether it holds for every call
_lock: Final = Lock()


def recording_of(key: Any, make: Callable[[], Recording]) -> Recording:
    """The recording under ``key``, made if there is none that holds for every call; a ``key`` of None names none."""
    earlier, holds = (None, False) if key is None else _recordings.get(key, (None, False))
    if earlier is not None and holds:
        return earlier
    found = make()
    own = found.own
    if key is not None and not any(getattr(array.flags, "writeable", True) for array in own):
        before = set[int]() if earlier is None else set(map(id, earlier.own))
        with _lock():
            _recordings[key] = found, before.issuperset(map(id, own))
            if len(_recordings) > _REMEMBERED:
                del _recordings[next(iter(_recordings))]
    return found


def key_of(owner: Any, inputs: Sequence[Any], *more: Any) -> Any:
    """What decides about a recording, None where nobody can tell: attributes may change, and a formula may read all
    of them.
    """
    attributes = getattr(owner, "__dict__", None)
    if attributes is None:
        return None
    state = [owner.__class__.formula, left_out(), *more]
    for name, value in attributes.items():
        if name not in _HELD:
            kind = value.__class__
            if kind not in _PLAIN and not (kind is tuple and _PLAIN.issuperset(map(type, value))):
                return None
            state += (name, kind, value)
    for x in inputs:
        state += (x.__class__, x.shape, x.dtype)
    return tuple(state)
