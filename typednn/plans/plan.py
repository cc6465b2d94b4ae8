"""A plan: the calls of one forward and its backward, ready to be made again.

Steps whose results nobody reads are left out. What kernels write lies in one arena, where arrays that are not needed at
once share memory. The output and the derivatives by the parameters are new arrays each time, so whoever holds one keeps
its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, final

import numpy as np

from typednn.engines import empty
from typednn.engines.halide import runtime
from typednn.engines.halide.frames import failure
from typednn.engines.memory.addresses import address, inlined
from typednn.generated import execute
from typednn.plans.arena import Lasting, arena_of
from typednn.plans.gradients import Template
from typednn.plans.natives import At, Bound, arrays_of, bound, drawn_words, memory, owner, with_draw
from typednn.plans.recording import WHOLE, Draw, Memory, Step, Unplannable, View

HALVES = ("forward", "backward")
_PLACES = ("input", "next_grad")
_BYTES = np.dtype(np.uint8)


@final
class _Changing:
    """A memory that is another array each time: where its address is read, and which calls of Python read it."""

    __slots__ = ("array", "memory", "patches", "start", "views")

    def __init__(self, of: Memory) -> None:
        self.memory: Memory = of
        self.patches: list[tuple[Any, int, int]] = []  # a container of addresses, the place in it, the offset
        self.views: list[tuple[list[Any], int, View]] = []  # the arguments of a call, the place in them
        self.array: Any = None
        self.start: int = 0

    def put(self, array: Any, start: int) -> None:
        """From now on the memory is that of ``array``; it begins at the address ``start``."""
        self.array, self.start = array, start
        for container, place, offset in self.patches:
            container[place] = start + offset
        for arguments, place, view in self.views:
            arguments[place] = self.part(view)

    def part(self, view: View) -> Any:
        array = self.array
        if view.shape == array.shape and view.strides == array.strides and view.dtype == array.dtype:
            return array
        whole = array if array.flags.c_contiguous and array.nbytes == self.memory.size else owner(array)
        offset = self.start + view.offset - whole.ctypes.data
        return np.ndarray(view.shape, view.dtype, whole, offset, view.strides)


@final
class _Fresh:
    """A memory that is a new array each time: the output, or derivatives."""

    __slots__ = ("changing", "shape", "type")

    def __init__(self, changing: _Changing, views: Iterable[View]) -> None:
        self.changing: _Changing = changing
        self.shape: tuple[int, ...] = (changing.memory.size,)
        self.type: Any = _BYTES
        for view in views:
            whole = view.offset == 0 and int(np.prod(view.shape)) * view.dtype.itemsize == changing.memory.size
            if whole and view.strides == np.empty(view.shape, view.dtype).strides:
                self.shape, self.type = view.shape, view.dtype

    def is_whole(self, view: View) -> bool:
        """Whether ``view`` is this array, and no part of it."""
        return view.memory is self.changing.memory and (view.shape, view.dtype) == (self.shape, self.type)


@dataclass(slots=True)
class _Half:
    """Forward or backward. ``begin`` tells the calls where what is given lies now, and where what is new each time;
    ``run`` does so, makes the calls, and gives the arrays that are wanted.
    """

    calls: list[tuple[Callable[[Any], Any], Any]] = field(default_factory=list[Any])
    fresh: list[_Fresh] = field(default_factory=list[_Fresh])
    names: dict[int, str] = field(default_factory=dict[int, str])  # of kernels, by the address of the frame
    begin: Callable[[Any], Any] = field(init=False)
    run: Callable[[Any], list[Any]] = field(init=False)

    def places(self, wanted: Sequence[View]) -> list[int]:
        """Which of ``fresh`` each of these is; -1 for what is none as a whole."""
        return [next((k for k, each in enumerate(self.fresh) if each.is_whole(view)), -1) for view in wanted]

    def write(
        self, given: Sequence[_Changing], wanted: Sequence[View], read: set[int], array: Callable[[View], Any]
    ) -> None:
        """Make ``begin`` and ``run``. Their source is generated, one line for each address and each call: a loop would
        take as long as a small kernel. ``read``: memories whose arrays are looked up later, by ``array``.
        """
        scope: dict[str, Any] = {"empty": empty, "array": array, "failed": self._failed}
        lines: list[str] = []

        def placed(name: str, changing: _Changing) -> None:
            """Lines for the array of this name."""
            where, used = inlined(name)
            scope.update(used)
            if id(changing.memory) in read or changing.views:
                scope[f"put_{name}"] = changing.put
                lines.append(f"put_{name}({name}, {where})")
            elif changing.patches:
                lines.append(f"start = {where}")
                for container, place, offset in changing.patches:
                    scope[f"at_{id(container)}"] = container
                    lines.append(f"at_{id(container)}[{place}] = start + {offset}")

        for each in given:
            placed("given", each)
        for number, new in enumerate(self.fresh):
            scope |= {f"shape{number}": new.shape, f"type{number}": new.type}
            lines.append(f"new{number} = empty(shape{number}, type{number})")
            placed(f"new{number}", new.changing)
        news = ", ".join([f"new{number}" for number in range(len(self.fresh))])
        calls: list[str] = []
        for number, (function, argument) in enumerate(self.calls):
            scope |= {f"function{number}": function, f"argument{number}": argument}
            calls.append(f"if code := function{number}(argument{number}): failed(argument{number}, code)")
        scope |= {f"view{place}": view for place, view in enumerate(wanted)}
        results = ", ".join(
            [f"new{k}" if k >= 0 else f"array(view{place})" for place, k in enumerate(self.places(wanted))]
        )
        source = [
            *("def begin(given):", *[f"    {line}" for line in lines], f"    return [{news}]"),
            *("def run(given):", *[f"    {line}" for line in (*lines, *calls)], f"    return [{results}]"),
        ]
        execute("\n".join(source), "half of a plan", scope)
        self.begin, self.run = scope["begin"], scope["run"]

    def _failed(self, argument: Any, code: int) -> None:
        raise failure(self.names[argument], code, runtime.complaint())


@dataclass(frozen=True, slots=True)
class Line:
    """A step of a plan, as `Compiled.explain` shows it."""

    half: str  # one of `HALVES`
    name: str
    engine: str
    flops: int
    bytes: int
    shapes: tuple[tuple[int, ...], ...]
    held: tuple[int, ...]  # the identities of the model's arrays that it reads
    calls: range  # its calls in the half


@final
class Plan:
    """``forward`` and, of a model in training, ``backward``, for one shape of the input."""

    def __init__(self, steps: Sequence[Step], split: int, output: View, template: Template | None) -> None:
        """``split``: how many of the steps are forward's."""
        self.output: View = output
        self.template: Template | None = template
        self.lines: list[Line] = []
        leaves = [] if template is None else template.leaves
        wanted = {id(view.memory): view.memory for view in (output, *leaves)}
        if any(each.held is not None or each.place for each in wanted.values()):
            raise Unplannable("the output, or a derivative, is an array that no op computed")
        is_needed = needed(steps, {*wanted})
        kept = [(step, number < split) for number, step in enumerate(steps) if is_needed[number]]
        self._changing: dict[int, _Changing] = {}
        self._given: dict[str, list[_Changing]] = {place: [] for place in _PLACES}
        self._words: dict[int, list[tuple[Any, int, int]]] = {}  # by draws: where their words are read
        self._drawn: dict[int, list[list[Any]]] = {}  # by draws: arguments of calls of Python that contain them
        self._held: list[Any] = []  # what addresses are of
        self._halves: tuple[_Half, _Half] = _Half(), _Half()
        self._starts: dict[int, int] = {}  # of memories that stay where they are
        self._find_changing(kept, wanted, [output, *leaves])
        self.arena: np.ndarray[Any, Any] = self._lay_out([step for step, _ in kept])
        for step, is_forward in kept:
            self._bind(step, is_forward)
        # The arrays that are referred to from call to call.
        self._kept: list[_Changing] = self._write(([output], leaves))

    # ------------------------------------------------------------------ making the calls

    def forward(self, x: Any) -> Any:
        """The output of ``x``, which has the shape and the dtype of the recorded one, and is C-contiguous."""
        return self._halves[0].run(x)[0]

    def backward(self, next_grad: Any) -> Any:
        """The gradient, from the derivative by the output of the last `forward`."""
        assert self.template is not None
        return self.template.made_of(self._halves[1].run(next_grad))

    def timed(self, x: Any, next_grad: Any) -> dict[str, list[float]]:
        """The seconds of each call of forward and of backward, which change the model's buffers."""
        taken: dict[str, list[float]] = {}
        try:
            for name, half, given in zip(HALVES, self._halves, (x, next_grad), strict=True):
                new = half.begin(given)  # the calls write into these arrays, so they have to stay
                seconds = taken[name] = list[float]()
                for function, argument in half.calls:
                    began = perf_counter()
                    function(argument)
                    seconds.append(perf_counter() - began)
                del new
        finally:
            self.let_go()
        return taken

    def let_go(self) -> None:
        """Refer to no array of a caller any more."""
        for each in self._kept:
            each.array = None
            for arguments, place, _ in each.views:
                arguments[place] = None

    def _array(self, view: View) -> Any:
        return self._changing[id(view.memory)].part(view)

    # ------------------------------------------------------------------ where everything lies

    def _find_changing(
        self, kept: Sequence[tuple[Step, bool]], wanted: dict[int, Memory], views: Sequence[View]
    ) -> None:
        """What is given, what is made anew, and what calls of Python give."""
        for step, is_forward in kept:
            for view in step.arguments:
                if type(view) is View and view.memory.place and id(view.memory) not in self._changing:
                    changing = self._changing[id(view.memory)] = _Changing(view.memory)
                    self._given[view.memory.place].append(changing)
            for each in _made(step):
                if step.native is not None and id(each) not in wanted:
                    continue
                changing = self._changing[id(each)] = _Changing(each)
                if step.native is not None:
                    own = [view for view in views if view.memory is each]
                    self._halves[not is_forward].fresh.append(_Fresh(changing, own))

    def _lay_out(self, steps: Sequence[Step]) -> np.ndarray[Any, Any]:
        """The arena."""
        lasting: dict[int, Lasting] = {}
        for number, step in enumerate(steps):
            for each in (*_made(step), *step.buffers):
                if id(each) not in self._changing:
                    lasting.setdefault(id(each), Lasting(each.size, number, number)).last = number
            for view in step.arguments:
                if type(view) is View and id(view.memory) in lasting:
                    lasting[id(view.memory)].last = number
        offsets, size = arena_of([*lasting.values()])
        arena = memory(size)
        for key, offset in zip(lasting, offsets, strict=True):
            self._starts[key] = arena.ctypes.data + offset
        return arena

    def _at(self, of: Memory, offset: int, container: Any, place: int) -> None:
        """The address of what lies ``offset`` bytes into a memory, in a place of a container, now or each time."""
        changing = self._changing.get(id(of))
        if changing is not None:
            changing.patches.append((container, place, offset))
        else:
            container[place] = self._start(of) + offset

    def _start(self, of: Memory) -> int:
        if id(of) not in self._starts:
            self._starts[id(of)] = of.held.ctypes.data
            self._held.append(of.held)
        return self._starts[id(of)]

    def _argument(self, value: Any, arguments: list[Any]) -> None:
        """One more argument of a call of Python."""
        if type(value) is not View:
            arguments.append(value)
            return
        changing = self._changing.get(id(value.memory))
        if changing is not None:
            changing.views.append((arguments, len(arguments), value))
            arguments.append(None)
        elif value.memory.held is not None:
            held = _Changing(value.memory)
            held.array, held.start = value.memory.held, value.memory.held.ctypes.data
            arguments.append(held.part(value))
        else:
            offset = self._start(value.memory) - self.arena.ctypes.data + value.offset
            arguments.append(np.ndarray(value.shape, value.dtype, self.arena, offset, value.strides))

    # ------------------------------------------------------------------ the calls

    def _bind(self, step: Step, is_forward: bool) -> None:
        half = self._halves[not is_forward]
        first = len(half.calls)
        trusts = None if step.native is None else _trusts(step)
        if step.native is not None:
            self._bind_native(step, half)
        if trusts is not None or (step.native is None and not only_views(step)):
            arguments: list[Any] = []
            for value in step.arguments:
                self._argument(value, arguments)
            if step.op is not None and step.draw is not None:
                self._drawn.setdefault(id(step.draw), []).append(arguments)
            if trusts is not None:
                half.calls.append((self._trusted(step, trusts), arguments))
            else:
                half.calls.append((self._repeated(step) if step.op is None else self._python(step), arguments))
        if step.op is not None and len(half.calls) > first:
            views = [view for view in (*step.arguments, *step.results) if type(view) is View]
            self.lines.append(
                Line(
                    HALVES[not is_forward],
                    step.op.name,
                    _engine(step),
                    step.flops,
                    sum(int(np.prod(view.shape)) * view.dtype.itemsize for view in views),
                    tuple(view.shape for view in views if view.memory.held is None),
                    tuple(id(view.memory.held) for view in views if view.memory.held is not None),
                    range(first, len(half.calls)),
                )
            )

    def _bind_native(self, step: Step, half: _Half) -> None:
        assert step.native is not None

        def fill(at: At, container: Any, place: int, offset: int) -> None:
            if at.argument:
                view: View = step.arguments[at.number]
                self._at(view.memory, view.offset + offset, container, place)
            else:
                self._at(step.buffers[at.number], offset, container, place)

        def fill_word(number: int, container: Any, place: int) -> None:
            self._words.setdefault(id(step.draw), []).append((container, place, number))

        for native in step.native.calls:
            call: Bound = bound(native, fill, fill_word)
            half.calls.append((call.function, call.argument))
            self._held.append(call)
            if call.frame is not None:
                half.names[call.argument] = call.name

    def _write(self, wanted: tuple[Sequence[View], Sequence[View]]) -> list[_Changing]:
        """Write the halves, of which so much is ``wanted``; which arrays are looked up from call to call."""
        read = {
            id(view.memory)
            for half, views in zip(self._halves, wanted, strict=True)
            for view, place in zip(views, half.places(views), strict=True)
            if place < 0
        }
        if self.template is not None:  # backward reads them too, so they have to stay
            read |= {id(self.output.memory), *[id(each.memory) for each in self._given["input"]]}
        for half, place, views in zip(self._halves, _PLACES, wanted, strict=True):
            half.write(self._given[place], views, read, self._array)
        once = {id(each.changing) for half in self._halves for each in half.fresh}
        once |= {id(each) for given in self._given.values() for each in given}
        return [
            each for each in self._changing.values() if id(each) not in once or each.views or id(each.memory) in read
        ]

    def _repeated(self, step: Step) -> Callable[[list[Any]], None]:
        function, draw = step.repeated, step.draw
        assert function is not None
        if draw is None:

            def again(arguments: list[Any]) -> None:
                function(*arguments)

            return again
        of_words, of_calls = self._words.setdefault(id(draw), []), self._drawn.setdefault(id(draw), [])

        def drawn(arguments: list[Any], draw: Draw = draw) -> None:
            found = function(*arguments)
            words = drawn_words(found)
            for container, place, number in of_words:
                container[place] = words[number]
            for each in of_calls:
                each[:] = with_draw(each, draw.drawn, found)
            draw.drawn = found

        return drawn

    def _trusted(self, step: Step, trusts: Callable[..., bool]) -> Callable[[list[Any]], None]:
        """A look at what a native step gave; what is not the op's result is computed again, by the op as a whole."""
        assert step.op is not None
        run, results = step.op.run, list[Any]()
        for view in step.results:
            self._argument(view, results)

        def looked(arguments: list[Any]) -> None:
            if not trusts(arguments, results):
                for place, value in zip(results, arrays_of(run(*arguments)), strict=True):
                    if place is not None:
                        place[...] = value

        return looked

    def _python(self, step: Step) -> Callable[[list[Any]], None]:
        """A run of the op as a whole; its results take the places of the recorded ones."""
        assert step.op is not None
        run = step.op.run
        own = {id(each) for each in _made(step)}
        places = [
            (number, self._changing[id(view.memory)], view.offset)
            for number, view in enumerate(step.results)
            if view is not None and id(view.memory) in own
        ]

        def again(arguments: list[Any]) -> None:
            results = arrays_of(run(*arguments))
            for number, changing, offset in places:
                changing.put(results[number], address(results[number]) - offset)

        return again


def _made(step: Step) -> list[Memory]:
    """The memories of its results that are no parts of its arguments."""
    read = {id(view.memory) for view in step.arguments if type(view) is View}
    found = {id(view.memory): view.memory for view in step.results if view is not None and id(view.memory) not in read}
    return [*found.values()]


def only_views(step: Step) -> bool:
    """Whether it computes nothing: its results are parts of its arguments."""
    return step.op is not None and not step.op.writes and not _made(step)


def needed(steps: Sequence[Step], wanted: set[int]) -> list[bool]:
    """Which steps lead to the memories ``wanted``, or change the model's arrays, or check or count something, or are
    layers that are called as a whole.
    """
    found = [False] * len(steps)
    for number in reversed(range(len(steps))):
        step = steps[number]
        written = (*_made(step), *step.writes)
        found[number] = (
            step.op is None
            or step.engine == WHOLE
            or any(each.held is not None or id(each) in wanted for each in written)
        )
        if found[number]:
            wanted.update(id(view.memory) for view in step.arguments if type(view) is View)
    return found


def _trusts(step: Step) -> Callable[..., bool] | None:
    """What says whether a step's compiled code gave the op's result; None where it always does."""
    assert step.op is not None
    return next((each.trusts for each in step.op.engines if each.name == step.engine), None)


def _engine(step: Step) -> str:
    """What computes it: an op's engine, the kernels of a formula's programs, or the op as a whole."""
    if step.native is None:
        return f"{step.engine}, by Python"
    return "kernels" if step.engine == "reference" else step.engine
