"""Steps of a plan that one op can compute together, whoever wrote the model.

==============================================================  ===========================================
zeros around images, then a convolution                          one op, which takes the zeros
convolution, affine map or batch norm, then an activation        one op, which takes the activation
convolution (with its activation), then max pooling              one op, which takes the pooling
a derivative by an input that nobody reads                       the op without it
==============================================================  ===========================================

Each change is tried on random arrays first, and made only if every result keeps its bits: a training that is resumed,
whose first steps have no plan, goes on to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, final

import numpy as np

from typednn.arrays import is_floating
from typednn.engines.counters import Ran
from typednn.engines.halide.rehearsal import expected, expecting, progress_line, rehearsing
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import Window
from typednn.kernels.op import Op
from typednn.plans.natives import Prepared, arrays_of, owner, prepared
from typednn.plans.plan import needed
from typednn.plans.recording import Memory, Step, View, memories

_TAKES_ACTIVATION = ("linear.forward", "conv2d.forward", "batch_norm.forward", "batch_norm.infer")
_ACTIVATIONS = ("relu", "leaky_relu", "sigmoid", "tanh")
_OF_BATCH_NORM = ("relu", "leaky_relu")
_ENOUGH, _ATTEMPTS = 4096, 16  # numbers that are compared in one trial, or else in several


@dataclass(slots=True)
class Program:
    """The steps of forward and of backward, and the arrays that are wanted of them."""

    forward: list[Step]
    backward: list[Step]
    wanted: list[View]
    constants: bool = False  # whether what NumPy computes within ops is the same each time
    attempt: int = 0  # which random numbers stand for arrays in a trial

    def prune(self) -> None:
        """Leave out the steps that lead to nothing that is wanted."""
        kept = needed(self.steps, {id(view.memory) for view in self.wanted})
        split = len(self.forward)
        self.forward = [step for step, is_needed in zip(self.forward, kept[:split], strict=True) if is_needed]
        self.backward = [step for step, is_needed in zip(self.backward, kept[split:], strict=True) if is_needed]

    @property
    def steps(self) -> list[Step]:
        return [*self.forward, *self.backward]

    def users(self, memory: Memory) -> list[Step]:
        """The steps that read a memory."""
        return [
            step for step in self.steps if any(type(each) is View and each.memory is memory for each in step.arguments)
        ]

    def is_wanted(self, memory: Memory) -> bool:
        """Whether it is an output."""
        return any(view.memory is memory for view in self.wanted)

    def copy(self) -> Program:
        """The same, to be changed by itself."""
        forward, backward = ([replace(step) for step in half] for half in (self.forward, self.backward))
        return Program(forward, backward, [*self.wanted], self.constants, self.attempt)

    def put(self, changes: Sequence[tuple[Step, Step | None]]) -> None:
        """Other steps in the places of some, or none; what read the old ones' results reads the new ones'."""
        new = {id(old): step for old, step in changes}
        for half in (self.forward, self.backward):
            half[:] = [each for step in half if (each := new.get(id(step), step)) is not None]

    def moved(self, old: View, new: View) -> None:
        """What read the array ``old`` reads ``new``, which has the same shape and layout."""

        def there(value: Any) -> Any:
            if type(value) is View and value.memory is old.memory:
                return replace(value, memory=new.memory, offset=value.offset - old.offset + new.offset)
            return value

        for step in self.steps:
            step.arguments = tuple(map(there, step.arguments))
            step.results = tuple(map(there, step.results))
        self.wanted = [there(view) for view in self.wanted]


@cache
def _numbers() -> np.ndarray[Any, Any]:
    """Random numbers with all digits of float64, which large arrays repeat: drawing each would take as long as the ops.
    Products of numbers with float32's digits would be exact in float64, and hide in which order they are added.
    """
    return np.random.default_rng(0).standard_normal(100_003)


@final
class _Trial:
    """Arrays in the places of views: the model's own, and random numbers."""

    def __init__(self, program: Program) -> None:
        self.constants: bool = program.constants
        self.is_last: bool = program.attempt == 0 and not rehearsing()  # it makes the step that the plan has
        self._first: int = 997 * program.attempt
        self._arrays: dict[Any, Any] = {}

    def array(self, value: Any) -> Any:
        """What stands for an argument."""
        if type(value) is not View:
            return value
        key = id(value.memory), value.offset, value.shape, value.strides
        if key not in self._arrays:
            held = value.memory.held
            if held is not None:
                self._arrays[key] = self._own(np.ndarray(value.shape, value.dtype, held, value.offset, value.strides))
            elif is_floating(value.dtype):
                self._arrays[key] = self._random(value.shape).astype(value.dtype)
            else:
                self._arrays[key] = np.zeros(value.shape, value.dtype)
        return self._arrays[key]

    def _random(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return np.resize(_numbers()[self._first + len(self._arrays) :], shape)

    def _own(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An array of the model, with numbers above 0 where it is 0: with zeros, sums in any order are the same."""
        if self.constants or not is_floating(array.dtype) or array.all():
            return array
        return np.where(array == 0, np.abs(self._random(array.shape)), array).astype(array.dtype)

    def run(self, step: Step, own: dict[int, Any] | None = None) -> tuple[Any, ...]:
        """The results of a step; ``own`` arrays stand for some of its arguments."""
        assert step.op is not None
        arguments = [self.array(value) for value in step.arguments]
        for place, array in (own or {}).items():
            arguments[place] = array
        return arrays_of(step.op.run(*arguments))


def rewritten(program: Program) -> int:
    """Change ``program`` by every rule that keeps the bits; the number of changes. Kernels that it may need are
    compiled together.
    """
    outer = expected()
    with expecting(lambda: _applied(program.copy()), progress_line if outer is None else outer[1]):
        return _applied(program)


def _applied(program: Program) -> int:
    count = 0
    for rule in (_zeros, _activation, _pooling, _dead_input):
        for step in program.steps:
            if step.op is not None and any(step is each for each in program.steps) and _holds(rule, program, step):
                count += rule(program, step)
    return count


def _holds(rule: Callable[[Program, Step], int], program: Program, step: Step) -> bool:
    """Whether a rule keeps the bits in several trials: that a few numbers are the same may be chance."""
    first = next((view for view in step.results if view is not None), None)
    if first is None or rehearsing():
        return True
    place = next(number for number, each in enumerate(program.steps) if each is step)
    for attempt in range(1, 1 + min(_ATTEMPTS, _ENOUGH // max(math.prod(first.shape), 1))):
        other = program.copy()
        other.attempt = attempt
        if not rule(other, other.steps[place]):
            return False
    return True


def _made(op: Op, arguments: Sequence[Any], trial: _Trial, own: dict[int, Any]) -> tuple[Step, tuple[Any, ...]] | None:
    """The step of an op's run, and its results on the trial's arrays; None where these are no arrays of their own, or,
    where constants are prepared, no compiled code's alone.
    """
    arrays = [own.get(place, trial.array(value)) for place, value in enumerate(arguments)]
    result = op.run(*arrays)  # loads the kernels
    engine, results = op.chosen(*arrays), arrays_of(result)
    name = "reference" if engine is None else engine.name
    native: Prepared | None = None
    if engine is not None and trial.is_last:
        native = prepared(Ran(op, name, tuple(arrays), result, 0.0), None, trial.constants)
    if native is not None:
        buffers = memories(native)
        views = [
            None if at is None or at.argument else View(buffers[at.number], at.offset, at.shape, at.strides, at.dtype)
            for at in native.results
        ]
    else:
        buffers, given = (), {id(owner(each)) for each in arrays if type(each) is np.ndarray}
        found = [each for each in results if each is not None]
        if any(not each.flags.c_contiguous or id(owner(each)) in given for each in found):
            return None
        if trial.constants and trial.is_last:
            return None
        views = [
            None if each is None else View(Memory(size=each.nbytes), 0, each.shape, each.strides, each.dtype)
            for each in results
        ]
    return Step(tuple(arguments), tuple(views), op, name, native, buffers, flops=op.flops(*arrays)), results


def _with(op: Op, step: Step, **changed: Any) -> list[Any]:
    """The arguments of a step, some of them others, by their names."""
    return [changed.get(name, value) for name, value in zip(op.names, step.arguments, strict=True)]


def _same(one: Sequence[Any], two: Sequence[Any]) -> bool:
    return rehearsing() or all(
        (a is None and b is None) or (a is not None and b is not None and a.tobytes() == b.tobytes())
        for a, b in zip(one, two, strict=True)
    )


def _is_whole(step: Step) -> bool:
    """Whether its first result is an array of its own."""
    if not step.results or step.results[0] is None:
        return False
    memory = step.results[0].memory
    return not any(type(each) is View and each.memory is memory for each in step.arguments)


# ------------------------------------------------------------------ two ops as one


def _merged(
    program: Program,
    first: Step,
    second: Step,
    changed: dict[str, Any],
    back: Callable[[Step, tuple[Any, ...]], dict[str, Any]],
    kept: Sequence[Memory],
) -> int:
    """``first`` with other arguments computes ``second`` too, and so in backward. ``kept``: what only these and their
    derivatives may read. ``back``: the other arguments of the derivative, from the new step and its results.
    """
    op = first.op
    assert op is not None
    assert second.op is not None
    trial = _Trial(program)
    before = trial.run(first)
    after = trial.run(second, {0: before[0]})
    found = _made(op, _with(op, first, **changed), trial, {})
    others = 2 if op.name == "conv2d.forward" else 1  # of a convolution the second result is of its pooling
    if found is None or not _same(found[1][:1], after[:1]) or not _same(found[1][others:], before[others:]):
        return 0
    new, results = found
    changes: list[tuple[Step, Step | None]] = [(first, new), (second, None)]
    if program.backward:
        derivatives = _derivatives(program, first, second)
        if derivatives is None:
            return 0
        of_second, of_first = derivatives
        allowed = [first, second, of_second, of_first]
        if any(step not in allowed for memory in kept for step in program.users(memory)):
            return 0
        of_new = _back(trial, (first, before), (second, after), (of_first, of_second), (new, results), back)
        if of_new is None:
            return 0
        changes += [(of_second, None), (of_first, of_new)]
        for old, other in zip(of_first.results, of_new.results, strict=True):
            if old is not None and other is not None:
                program.moved(old, other)
    elif any(step is not second for memory in kept for step in program.users(memory)):
        return 0
    program.put(changes)
    rest = zip(first.results[others:], new.results[others:], strict=True)
    for old, other in [(second.results[0], new.results[0]), *rest]:
        if old is not None and other is not None:
            program.moved(old, other)
    return 1


def _derivatives(program: Program, first: Step, second: Step) -> tuple[Step, Step] | None:
    """The steps that compute the derivatives of two, where that of the second is read by that of the first alone."""
    assert first.op is not None
    assert second.op is not None
    read = {id(view.memory) for step in (first, second) for view in step.results if view is not None}
    name = second.op.name.replace("forward", "backward")
    for step in program.backward:
        if step.op is None or step.op.name != name or type(step.arguments[1]) is not View:
            continue
        if id(step.arguments[1].memory) not in read or not _is_whole(step):
            continue
        (between,) = step.results[:1]
        assert between is not None
        users = program.users(between.memory)
        if program.is_wanted(between.memory) or len(users) != 1:
            return None
        (of_first,) = users
        if of_first.op is first.op.backward and of_first.arguments[0] == between:
            return step, of_first
    return None


def _back(
    trial: _Trial,
    first: tuple[Step, tuple[Any, ...]],
    second: tuple[Step, tuple[Any, ...]],
    old: tuple[Step, Step],
    new: tuple[Step, tuple[Any, ...]],
    back: Callable[[Step, tuple[Any, ...]], dict[str, Any]],
) -> Step | None:
    """The derivative of the new step, if it has the bits of the derivatives of both."""
    (of_first, of_second), op = old, old[0].op
    assert op is not None
    known = {
        id(view.memory): array
        for step, arrays in (first, second, new)
        for view, array in zip(step.results, arrays, strict=True)
        if view is not None
    }

    def own(arguments: Sequence[Any]) -> dict[int, Any]:
        return {
            place: known[id(value.memory)]
            for place, value in enumerate(arguments)
            if type(value) is View and id(value.memory) in known
        }

    between = trial.run(of_second, own(of_second.arguments))
    wanted = trial.run(of_first, {**own(of_first.arguments), 0: between[0]})
    arguments = _with(op, of_first, next_grad=of_second.arguments[0], **back(*new))
    found = _made(op, arguments, trial, own(arguments))
    return found[0] if found is not None and _same(found[1], wanted) else None


def _activation(program: Program, step: Step) -> int:
    """``step``, then an activation."""
    op = step.op
    assert op is not None
    if op.name not in _TAKES_ACTIVATION or not _is_whole(step):
        return 0
    if step.arguments[op.names.index("activation")] != IDENTITY or _pooled(step):
        return 0
    (view,) = step.results[:1]
    assert view is not None
    names = _OF_BATCH_NORM if op.name.startswith("batch_norm") else _ACTIVATIONS
    after = [each for each in program.users(view.memory) if each in program.forward]
    if program.is_wanted(view.memory) or len(after) != 1 or not _is_whole(after[0]):
        return 0
    (second,) = after
    name = "" if second.op is None else second.op.name.removesuffix(".forward")
    if name not in names or second.arguments[0] != view:
        return 0
    activation = Activation(name, *second.arguments[1:])  # type: ignore[arg-type]
    if not activation.monotone:
        return 0

    def back(new: Step, _: tuple[Any, ...]) -> dict[str, Any]:
        return {"activation": activation, "y": new.results[0]}

    return _merged(program, step, second, {"activation": activation}, back, [view.memory])


def _pooled(step: Step) -> bool:
    return any(isinstance(value, Window) and value.pooling is not None for value in step.arguments)


def _pooling(program: Program, step: Step) -> int:
    """A convolution, then max pooling."""
    op = step.op
    assert op is not None
    if op.name != "conv2d.forward" or not _is_whole(step) or _pooled(step):
        return 0
    (view,) = step.results[:1]
    assert view is not None
    after = [each for each in program.users(view.memory) if each in program.forward]
    if program.is_wanted(view.memory) or len(after) != 1:
        return 0
    (second,) = after
    if second.op is None or second.op.name != "max_pool2d.forward" or second.arguments[0] != view:
        return 0
    *pooling, padding = second.arguments[1:]
    window: Window = step.arguments[op.names.index("window")]
    if padding != (0, 0) or not Window(pooling=tuple(pooling)).side_by_side:
        return 0
    pooled = window._replace(pooling=tuple(pooling))
    activation = step.arguments[op.names.index("activation")]

    def back(new: Step, _: tuple[Any, ...]) -> dict[str, Any]:
        y = None if activation == IDENTITY else new.results[0]
        return {"window": pooled, "y": y, "winners": new.results[1]}

    changed = {"window": pooled, "keeps": bool(program.backward)}
    return _merged(program, step, second, changed, back, [view.memory])


def _is_read(program: Program, view: View) -> bool:
    """Whether an array is an output, or an argument of a step."""
    return program.is_wanted(view.memory) or bool(program.users(view.memory))


def _zeros(program: Program, step: Step) -> int:
    """Zeros around images that a convolution alone reads, and whose own derivative nobody reads."""
    op = step.op
    assert op is not None
    if op.name != "pad2d.forward" or step.arguments[2:] != ("constant", 0.0) or not _is_whole(step):
        return 0
    (view,) = step.results
    assert view is not None
    users = program.users(view.memory)
    names = [each.op.name for each in users if each.op is not None]
    if program.is_wanted(view.memory) or names != ["conv2d.forward", "conv2d.backward"][: 1 + bool(program.backward)]:
        return 0
    trial = _Trial(program)
    (padded,) = trial.run(step)
    changes: list[tuple[Step, Step | None]] = [(step, None)]
    for user in users:
        assert user.op is not None
        place = user.op.names.index("x")
        window: Window = user.arguments[user.op.names.index("window")]
        around: Any = tuple(sum(sides) for sides in zip(step.arguments[1], window.padding, strict=True))
        changed = {"x": step.arguments[0], "window": window._replace(padding=around), "wants_input": False}
        first = 0
        if user.op.name == "conv2d.backward":
            first, view_of_input = 1, user.results[0]
            if view_of_input is not None and _is_read(program, view_of_input):
                return 0
        found = _made(user.op, _with(user.op, user, **changed), trial, {})
        if user.arguments[place] != view or found is None:
            return 0
        if not _same(found[1][first:], trial.run(user, {place: padded})[first:]):
            return 0
        changes.append((user, found[0]))
    program.put(changes)
    for user, new in changes[1:]:
        assert new is not None
        for old, other in zip(user.results, new.results, strict=True):
            if old is not None and other is not None:
                program.moved(old, other)
    return 1


def _dead_input(program: Program, step: Step) -> int:
    """A derivative by an input that nobody reads."""
    op = step.op
    assert op is not None
    if "wants_input" not in op.names or step.arguments[op.names.index("wants_input")] is not True:
        return 0
    view = step.results[0]
    if view is None or _is_read(program, view):
        return 0
    trial = _Trial(program)
    before = trial.run(step)
    found = _made(op, _with(op, step, wants_input=False), trial, {})
    if found is None or not _same(found[1][1:], before[1:]):
        return 0
    program.put([(step, found[0])])
    for old, new in zip(step.results[1:], found[0].results[1:], strict=True):
        if old is not None and new is not None:
            program.moved(old, new)
    return 1
