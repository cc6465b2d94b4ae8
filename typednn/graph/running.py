"""From nodes to arrays: the program of a `realize`, the plan that computes it, and the counters.

A plan is made for each program once. Programs that differ in sizes have plans of their own, which share their kernels.
A plan is a list of steps: kernels, products of matrices by BLAS, and single instructions as the interpreter computes
them. `typednn.engines.using("reference")` leaves all to the interpreter, and so do arrays that are not NumPy's, and
programs with an empty array.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from typednn.arrays import device_of, namespace, out_of_memory
from typednn.engines import available, empty, gemm
from typednn.engines.dispatch import LIMIT, chosen_engine
from typednn.engines.locks import Lock
from typednn.errors import EngineError, OutOfMemory
from typednn.errors.debugging import Debug, any_printed, is_on
from typednn.graph.cuda import cuda_kernel_of
from typednn.graph.debugging import refuse_nan, say, statement
from typednn.graph.description import Group
from typednn.graph.description import described as kernel_text
from typednn.graph.graph import GRAPH
from typednn.graph.grouping import Alone, Step, grouped, split_reductions
from typednn.graph.interpreter import compute, interpret, windowed
from typednn.graph.kernels import kernel_of
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.passes import left_out, optimised
from typednn.graph.program import PRODUCT, Contraction, Instruction, Program, described, last_uses, traced
from typednn.graph.tensor import array_of, registered
from typednn.graph.views import Windowed
from typednn.graph.whole import Part

Plan: TypeAlias = Callable[[Sequence[Any]], list[Any]]

_REMEMBERED: Final = 1024
_plans: OrderedDict[Any, Plan] = OrderedDict()
_lock: Final = Lock()
_made = 0  # programs planned
_run = 0  # kernels run


@registered
def run(numbers: Sequence[int]) -> None:
    """Compute these nodes; `OutOfMemory` where their arrays don't fit, and nothing is lost."""
    GRAPH.collect()
    wanted = list(dict.fromkeys(number for number in numbers if number not in GRAPH.arrays))
    if not wanted:
        return
    with GRAPH.lock():  # another thread that realizes a node between these lets its inputs go
        program, leaves = traced(wanted)
        arrays = [array_of(number) for number in leaves]
    plan = plan_of(program, arrays)
    if any_printed():
        _tell(program, arrays, plan)
    try:
        results = plan(arrays)
    except OutOfMemory:
        raise
    except MemoryError as error:
        expressions = ", ".join(map(GRAPH.expression, wanted[:3]))
        raise out_of_memory("realize", f"{str(error) or 'no more memory'}: {expressions}", None, None) from error
    for number, array in zip(wanted, results, strict=True):
        GRAPH.realized(number, array)


class Counters(NamedTuple):
    """What the graph has done in this process, and holds now."""

    kernels_compiled: int  # different kernels: compiled, or loaded from disk
    kernels_run: int
    programs_planned: int
    bytes_held: int  # by the arrays of leaves and realized tensors


def counters() -> Counters:
    """The numbers as they are now."""
    return Counters(sum(made is not None for made in kernel_of.values()), _run, _made, GRAPH.bytes_held)


def _tell(program: Program, arrays: Sequence[Any], plan: Plan) -> None:
    """What the bits of `typednn.errors.debugging` ask for, before a program runs."""
    steps = plan.steps if isinstance(plan, Compiled) else []
    kernels = [step for step in steps if isinstance(step, Group)]
    if is_on(Debug.ENGINE):
        by = plan.engine if isinstance(plan, Compiled) else ""
        others = f"{len(kernels)} kernels and {len(steps) - len(kernels)} other steps, by {by}"
        why = next(
            (f"an array of {type(each).__name__}" for each in arrays if type(each) is not np.ndarray),
            f"engine {chosen_engine()}",
        )
        say(
            others
            if isinstance(plan, Compiled)
            else f"{len(program.instructions)} instructions by the interpreter ({why})"
        )
    if is_on(Debug.PROGRAM):
        say(f"program\n{described(plan.program if isinstance(plan, Compiled) else optimised(program))}")
    for step in kernels if is_on(Debug.GROUPS) else ():
        say(f"kernel\n{kernel_text(step)}")


def plan_of(program: Program, arrays: Sequence[Any]) -> Plan:
    """What computes ``program`` for such ``arrays``."""
    global _made
    if is_on(Debug.NAN):
        return lambda arrays: interpret(program, arrays, refuse_nan)
    xp: Any = namespace(arrays[0]) if arrays else np
    engine = _engine(arrays)
    key = program, left_out(), engine, xp
    with _lock():
        plan = _plans.get(key)
        if plan is None:
            plan = _plans[key] = _planned(program, engine, xp)
            _made += 1
            if len(_plans) > _REMEMBERED:
                _plans.popitem(last=False)
        else:
            _plans.move_to_end(key)
    return plan


def _engine(arrays: Sequence[Any]) -> str:
    """Who computes: "halide" for NumPy's arrays, "cuda" for a GPU's, "" where the interpreter does."""
    kinds: set[Any] = {type(array) for array in arrays}
    if chosen_engine() == "reference" or len(kinds) > 1:
        return ""
    if kinds <= {np.ndarray}:
        return "halide" if available() else ""
    return "cuda" if device_of(arrays[0]) == "cuda" else ""


def _planned(program: Program, engine: str, xp: Any) -> Plan:
    better = optimised(program)
    sizes = [math.prod(each.shape) for each in better.instructions]
    for each, size in zip(better.instructions, sizes, strict=True):
        needed = size * DTYPES[each.dtype].itemsize
        if needed > sys.maxsize:  # what no view can show
            raise out_of_memory("realize", f"{DTYPES[each.dtype]} of shape {each.shape}", needed, None)
    if (
        not engine
        or not all(size > 0 for size in sizes)
        or any(each.kind == Kind.TO_DEVICE for each in better.instructions)
    ):
        return lambda arrays: interpret(better, arrays)
    return Compiled(split_reductions(better), engine, xp)


class _Call(NamedTuple):
    """One step: its function of the arrays by place, and the places that nothing needs after it."""

    run: Callable[[list[Any]], None]
    last: tuple[int, ...]


class Compiled:
    """The steps of a program, which compute its results from the arrays of its leaves."""

    def __init__(self, program: Program, engine: str, xp: Any) -> None:
        self.program: Program = program
        self.engine: str = engine
        self.xp: Any = xp
        self.steps: list[Step] = grouped(program)
        self._leaves: list[tuple[int, int]] = [
            (place, each.extra) for place, each in enumerate(program.instructions) if each.kind == Kind.LEAF
        ]
        self._kernels: int = 0
        last = last_uses([_uses(program, step) for step in self.steps], program.outputs)
        self._calls: list[_Call] = [
            _Call(self._function(step), tuple(last.get(number, ()))) for number, step in enumerate(self.steps)
        ]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        values: list[Any] = [None] * len(self.program.instructions)
        for place, number in self._leaves:
            values[place] = arrays[number]
        calls = self._timed(values) if is_on(Debug.TIMES) else self._calls
        with np.errstate(all="ignore"):
            for call in calls:
                call.run(values)
                for place in call.last:
                    values[place] = None
        global _run
        with _lock():
            _run += self._kernels
        return [values[place] for place in self.program.outputs]

    def _timed(self, values: list[Any]) -> Iterator[_Call]:
        """The steps; what follows one is told how long it took."""
        for call, step in zip(self._calls, self.steps, strict=True):
            began = perf_counter()
            yield call
            what = _name(self.program, step)
            say(f"{1e6 * (perf_counter() - began):.1f} µs {what}")

    def _function(self, step: Step) -> Callable[[list[Any]], None]:
        if isinstance(step, Alone):
            each = self.program.instructions[step.place]
            if isinstance(each.extra, Windowed) and self.xp is np:
                return _windowed(step.place, each)
            given = [self.program.instructions[place] for place in each.inputs]
            product = (
                _product(step.place, each, given) if isinstance(each.extra, Contraction) and self.xp is np else None
            )
            return _alone(step.place, each, self.xp) if product is None else product
        made: Any = None
        if _fits(self.program, step):
            made = self._compiled(step)
        self._kernels += made is not None
        return _interpreted(self.program, step, self.xp) if made is None else _kernel(self.program, step, made, self.xp)

    def _compiled(self, step: Group) -> Any:
        """The kernel of a group; None where it can't be compiled."""
        if self.engine == "cuda":
            return cuda_kernel_of(step.description)
        made = kernel_of[(step.description,)]
        if made is not None:
            try:
                made.load()
            except EngineError as error:  # such as a division by what Halide finds to be always 0
                warnings.warn(
                    f"the interpreter computes what Halide can't compile: {error}", RuntimeWarning, stacklevel=2
                )
                return None
            if is_on(Debug.KERNELS):
                say(f"statement\n{statement(made)}")
        return made


def _name(program: Program, step: Step) -> str:
    if isinstance(step, Group):
        return f"kernel {step.description.kind} {step.scalars[: step.description.rank]}"
    each = program.instructions[step.place]
    return f"{'product' if each.kind == PRODUCT else Kind(each.kind).name.lower()} {each.shape}"


def _fits(program: Program, group: Group) -> bool:
    """Whether Halide's 32 bits can count the numbers of all arrays."""
    places = [place for place, _ in (*group.inputs, *group.outputs)]
    return (
        all(math.prod(program.instructions[place].shape) < LIMIT for place in places)
        and math.prod(group.scalars[: group.description.rank]) < LIMIT
    )


def _kernel(program: Program, group: Group, made: Any, xp: Any) -> Callable[[list[Any]], None]:
    inputs = [(place, None if program.instructions[place].shape == shape else shape) for place, shape in group.inputs]
    outputs = [
        (place, program.instructions[place].shape, DTYPES[program.instructions[place].dtype], shape)
        for place, shape in group.outputs
    ]
    scalars = group.scalars
    new = empty if xp is np else xp.empty

    def run(values: list[Any]) -> None:
        given: list[Any] = []
        for place, shape in inputs:
            array = values[place]
            if not array.flags.c_contiguous:
                array = xp.ascontiguousarray(array)
            given.append(array if shape is None else array.reshape(shape))
        results: list[Any] = []
        for place, shape, dtype, seen in outputs:
            values[place] = result = new(shape, dtype=dtype)
            results.append(result if seen == shape else result.reshape(seen))
        made.call(*given, *scalars, *results)

    return run


def _interpreted(program: Program, group: Group, xp: Any) -> Callable[[list[Any]], None]:
    """A group without a kernel: its instructions, one after another."""
    wanted = [place for place, _ in group.outputs]
    known = {place for place, _ in group.inputs}
    needed: set[int] = set()
    waiting = list(wanted)
    while waiting:
        place = waiting.pop()
        if place not in needed:
            needed.add(place)
            if place not in known or place in wanted:
                waiting += program.instructions[place].inputs
    order = sorted(needed)

    def run(values: list[Any]) -> None:
        own = dict[int, Any]()
        for place in order:
            each = program.instructions[place]
            if values[place] is not None and place not in wanted:
                own[place] = values[place]
            else:
                own[place] = compute(each, [own[given] for given in each.inputs], xp)
        for place in wanted:
            values[place] = xp.asarray(own[place])

    return run


def _windowed(place: int, each: Instruction) -> Callable[[list[Any]], None]:
    """A product of windows, its blocks by `gemm`."""
    left, right = each.inputs

    def run(values: list[Any]) -> None:
        values[place] = windowed(np, values[left], values[right], each.extra, each.shape, _multiplied)

    return run


def _multiplied(rows: Any, columns: Any) -> Any:
    found = empty((len(rows), rows.shape[1], columns.shape[2]), rows.dtype)
    for each in zip(rows, columns, found, strict=True):
        gemm(*each)
    return found


def _alone(place: int, each: Instruction, xp: Any) -> Callable[[list[Any]], None]:
    inputs = each.inputs
    if isinstance(each.extra, Part):
        (given,), number = inputs, each.extra.place

        def take(values: list[Any]) -> None:
            values[place] = values[given][number]

        return take

    def run(values: list[Any]) -> None:
        found: Any = compute(each, [values[given] for given in inputs], xp)
        values[place] = np.asarray(cast("Any", found)) if isinstance(found, np.generic) else found

    return run


def _product(place: int, each: Instruction, given: Sequence[Instruction]) -> Callable[[list[Any]], None] | None:
    """A product of two matrices by `gemm`; None where it is another one."""
    how = each.extra
    shapes = [other.shape for other in given]
    kept = [axis for axis in range(len(how.shape)) if axis not in how.axes]
    first = [axis for axis in kept if shapes[1][axis] == 1]
    second = [axis for axis in kept if axis not in first]
    if any(shapes[0][axis] != 1 for axis in second) or not how.axes:
        return None
    order = (*first, *second)
    if [axis for axis in kept if how.shape[axis] != 1] == [axis for axis in (*second, *first) if how.shape[axis] != 1]:
        left, right, order = 1, 0, (*second, *first)
        first, second = second, first
    elif [axis for axis in kept if how.shape[axis] != 1] == [axis for axis in order if how.shape[axis] != 1]:
        left, right = 0, 1
    else:
        return None

    def sizes(axes: Sequence[int]) -> int:
        return math.prod(how.shape[axis] for axis in axes)

    rows, columns, depth = sizes(first), sizes(second), sizes(how.axes)
    left_order, right_order = (*first, *how.axes, *second), (*second, *how.axes, *first)
    left_place, right_place = each.inputs[left], each.inputs[right]
    shape, dtype = each.shape, DTYPES[each.dtype]
    if dtype.itemsize < 4:
        return None

    def run(values: list[Any]) -> None:
        a = values[left_place].transpose(left_order).reshape(rows, depth)
        b = values[right_place].transpose(right_order).reshape(columns, depth)
        out = empty(shape, dtype)
        gemm(a, b, out.reshape(rows, columns), transpose_b=True)
        values[place] = out

    return run


def _uses(program: Program, step: Step) -> list[int]:
    """What a step reads and gives."""
    if isinstance(step, Alone):
        return [*program.instructions[step.place].inputs, step.place]
    return [place for place, _ in (*step.inputs, *step.outputs)]


__all__ = ["Compiled", "Counters", "Plan", "counters", "plan_of", "run"]
