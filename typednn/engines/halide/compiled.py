"""Kernels: described once, compiled at the first call or loaded from disk, then called with NumPy arrays.

Where it is known what a first call belongs to (`rehearsal`), the other kernels of that computation are compiled with
it, in parallel.

A call is checked (kind, dtype, layout, shape), fills the arrays' addresses into a frame, and runs with the
interpreter's lock released. A frame is the C structures that a kernel reads its arguments from, prepared for the shapes
of an earlier call. A call takes a frame out of the list for its shapes and puts it back afterwards, so that two threads
never share one.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast, final

import numpy as np

from typednn.engines.halide import cache as on_disk
from typednn.engines.halide import language as hl
from typednn.engines.halide import parallel, rehearsal, runtime, sources, toolchain
from typednn.engines.halide.frames import Frame, caller_of
from typednn.engines.halide.parallel import Job
from typednn.engines.halide.toolchain import Argument, Array, Build, Plan
from typednn.engines.locks import Lock
from typednn.engines.memory.addresses import address
from typednn.engines.threads import get_threads
from typednn.errors import EngineError

_kernels: dict[Plan, Kernel] = {}
_lock = Lock()
_compiling = Lock()  # held while kernels are compiled in parallel


def kernel(
    name: str,
    build: Build,
    *,
    inputs: tuple[Argument, ...],
    outputs: tuple[Array, ...],
    options: dict[str, Any] | None = None,
    written: tuple[int, ...] = (),
    dtype: Any = "float32",
) -> Kernel:
    """The kernel that ``build(cpu, *inputs, **options)`` describes; the same arguments give the same kernel. Nothing is
    compiled yet.

    ``build`` gets a `Cpu` for tile sizes, and a parameter for each of ``inputs``; it returns the output Func, or a list
    of them. ``options`` are hashable, with a ``repr`` that contains their whole value: they are part of the kernel's
    key. The first outputs are written over the inputs numbered ``written``, and a call does not name them again.
    ``dtype`` takes the place of float32 in inputs and outputs.
    """
    real = np.dtype(dtype).name
    inputs, outputs = tuple(each.of(real) for each in inputs), tuple(each.of(real) for each in outputs)
    plan = Plan(name, build, inputs, outputs, tuple(sorted((options or {}).items())), written)
    with _lock():
        return _kernels.setdefault(plan, Kernel(plan))


# Called with a kernel that is about to be called, and with what: its inputs, and each output, as its plan lists them.
Note = Callable[["Kernel", tuple[Any, ...]], object]


@contextmanager
def noting(note: Note) -> Generator[None]:
    """Within this block, ``note`` is told of each call of a kernel that has been called before."""
    with _lock():
        calls = [(kernel, kernel.call) for kernel in _kernels.values() if kernel.is_loaded]
    for kernel, call in calls:
        kernel.call = partial(_noted, kernel, call, note)
    try:
        yield
    finally:
        for kernel, call in calls:
            kernel.call = call


def _noted(kernel: Kernel, call: Callable[..., None], note: Note, *arguments: Any) -> None:
    note(kernel, kernel.plan.in_full(arguments))
    call(*arguments)


def count() -> int:
    """How many different kernels this process has."""
    return len(_kernels)


@final
class Kernel:
    """Call it with one argument for each input, then each output that is not written over one: NumPy arrays, and
    numbers for scalars.
    """

    __slots__ = ("_lock", "call", "function", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan: Plan = plan
        self._lock = Lock()
        # A faster `__call__`. Read the attribute at each call: the first call replaces it.
        self.call: Callable[..., None] = self._first_call
        # The compiled function, of the address of a frame, once it is loaded; None where kernels are in memory alone.
        self.function: Callable[[int], int] | None = None

    def __call__(self, *arguments: Any) -> None:
        """Compute the outputs in place; an argument that is not what the plan says is a ShapeError or DTypeError."""
        self.call(*arguments)

    def _first_call(self, *arguments: Any) -> None:
        if toolchain.linkers() and not on_disk.has(_key(self.plan)):
            if rehearsal.rehearsing():
                rehearsal.note(self)
                for output in arguments[len(self.plan.inputs) :]:
                    output.fill(0)
                return
            _compile_with_others(self)
        self.load()
        self.call(*arguments)

    def prepared(self, *arguments: Any) -> Frame | None:
        """A frame with these arguments filled in, for `function`; None where that is None. It keeps no array alive."""
        if self.function is None:
            return None
        frame, full = Frame(self.plan), self.plan.in_full(arguments)
        frame.fit(full)
        for number, value in enumerate(full):
            if type(value) is np.ndarray:
                frame.words[frame.slot(number)] = address(value)
            else:
                frame.numbers(number)[frame.slot(number)] = value
        return frame

    @property
    def is_loaded(self) -> bool:
        """Whether it is ready to be called."""
        return self.call != self._first_call

    def load(self) -> None:
        """Be ready to be called: compiled, unless it is on disk, and loaded."""
        with self._lock():
            if not self.is_loaded:
                run = self.function = _load(self.plan) if toolchain.linkers() else None
                self.call = _in_memory(self.plan) if run is None else caller_of(self.plan, run, runtime.complaint)


def _compile_with_others(first: Kernel) -> None:
    """Compile what the computation that ``first`` belongs to will call, if that is known and another
    process can help.
    """
    expected = rehearsal.expected() if get_threads() > 1 else None
    if expected is None:
        return
    rehearse, show = expected
    with _compiling(), suppress(OSError, RuntimeError):  # no room, no process, no thread
        kernels = {_key(kernel.plan): kernel for kernel in (first, *rehearsal.noted(rehearse))}
        jobs = [] if on_disk.has(runtime.key()) else [Job(runtime.key(), None)]
        jobs += [Job(_symbol(key), kernel.plan) for key, kernel in kernels.items()]
        with parallel.compiled(jobs, get_threads(), show):
            for kernel in kernels.values():
                with suppress(EngineError):  # raised where it is called
                    kernel.load()


def _key(plan: Plan) -> str:
    """The key of ``plan`` in the cache."""
    return on_disk.digest(
        runtime.key(),
        sources.digest_of(plan.build, *(value for _, value in plan.options)),
        repr((plan.name, plan.inputs, plan.outputs, plan.options)),
    )


def _symbol(key: str) -> str:
    """The name of the function in the library of ``key``."""
    return f"typednn_{key}"


def _load(plan: Plan) -> Callable[[int], int] | None:
    """The compiled function of ``plan``; None where libraries can't be loaded from the cache's folder."""
    key = _key(plan)
    symbol = _symbol(key)

    def build(library: Path) -> None:
        compiled, needed = parallel.object_of(Job(symbol, plan), library.parent), library.with_name(runtime.soname())
        runtime.copy(needed)
        toolchain.link([compiled, needed], library, library.name)

    try:
        with on_disk.entry(key, build) as path:
            runtime.load()
            function = getattr(ctypes.CDLL(str(path)), f"{symbol}_argv")
    except OSError as error:
        warnings.warn(
            f"compiled kernels can't be loaded, and are compiled in memory instead: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    function.argtypes = [ctypes.c_void_p]
    function.restype = ctypes.c_int
    return cast("Callable[[int], int]", function)


def _in_memory(plan: Plan) -> Callable[..., None]:
    """A call through Halide's own binding: with the same checks, but slower, and with the interpreter's lock held."""
    compiled = toolchain.compile_in_memory(plan)
    arguments = (*plan.inputs, *plan.outputs)
    frame = Frame(plan)

    def binding_argument(value: Any, argument: Argument) -> Any:
        if not isinstance(argument, Array):
            return value
        # Outputs are aligned, or the frame refuses them; Halide's binding takes no others.
        aligned = value if value.flags.aligned else value.copy()
        return aligned.reshape(-1) if argument.flat else aligned

    def call(*named: Any) -> None:
        values = plan.in_full(named)
        frame.check(values)
        try:
            compiled(*map(binding_argument, values, arguments))
        except hl.HalideError as error:
            raise EngineError(f"{plan.name} failed: {error}") from error

    return call
