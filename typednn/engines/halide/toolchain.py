"""Halide and a linker: from the description of a kernel to a shared library.

Kernels are compiled ahead of time, without Halide's runtime, and linked against one runtime that they share
(`runtime.py`). ``pip install 'typednn[fast]'`` brings Halide; the linker is ``ld`` or any C compiler. Without a linker,
every process compiles its kernels in memory, and they hold the interpreter's lock while they run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from typednn.engines import processor
from typednn.engines.halide import language as hl
from typednn.errors import EngineError, installing

# The interface between our objects, their runtime and `runtime.py`: raising the number makes all cached entries
# invalid.
ABI = "1"


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument: C-contiguous, of this shape and dtype. A name instead of a number is an extent that each call
    brings.

    ``Array("batch", 28, 28, 6)`` takes any batch; all arrays of one call have the same. With ``flat``, an array of any
    rank is taken as its elements in a row: ``Array("size", flat=True)``. ``parameter`` is an input that is the same
    array in most calls, as a layer's are: it is checked only when it changes. "float32" stands for the float dtype that
    `kernel` is given.
    """

    shape: tuple[int | str, ...]
    dtype: str
    flat: bool
    parameter: bool

    def __init__(self, *shape: int | str, dtype: str = "float32", flat: bool = False, parameter: bool = False) -> None:
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", np.dtype(dtype).name)
        object.__setattr__(self, "flat", flat)
        object.__setattr__(self, "parameter", parameter)

    def of(self, dtype: str) -> Array:
        """The same, with ``dtype`` in place of float32."""
        return (
            Array(*self.shape, dtype=dtype, flat=self.flat, parameter=self.parameter)
            if self.dtype == "float32"
            else self
        )


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number argument: "float32", which stands for the kernel's float dtype, or "int32"."""

    dtype: str = "float32"

    def of(self, dtype: str) -> Scalar:
        """The same, with ``dtype`` in place of float32."""
        return Scalar(dtype) if self.dtype == "float32" else self


Argument: TypeAlias = Array | Scalar
Build: TypeAlias = "Callable[..., hl.Func | list[hl.Func] | tuple[hl.Func, ...]]"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that determines a kernel: equal plans give equal code."""

    name: str
    build: Build
    inputs: tuple[Argument, ...]
    outputs: tuple[Array, ...]
    options: tuple[tuple[str, Any], ...]
    written: tuple[int, ...] = ()  # the inputs that the first outputs are written over

    def in_full(self, named: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a call with the outputs that are written over inputs."""
        inputs = len(self.inputs)
        return *named[:inputs], *(named[number] for number in self.written), *named[inputs:]


@dataclass(frozen=True, slots=True)
class Target:
    """A machine to compile for: Halide's name for it, and what schedules need."""

    text: str
    cpu: processor.Cpu


@cache
def available() -> bool:
    """Whether kernels can be compiled here; if not, a warning says once how to change that."""
    if find_spec("halide") is not None:
        return True
    why = installing(
        "typednn runs its slow reference ops, because Halide is not installed: pip install 'typednn[fast]'"
    )
    warnings.warn(why, RuntimeWarning, stacklevel=2)
    return False


@cache
def fingerprint() -> tuple[str, ...]:
    """What compiled code depends on besides its plan; found without importing Halide."""
    here = processor.host()
    return ABI, version("halide"), sys.platform, here.machine, here.model, *sorted(here.flags)


@cache
def host() -> Target:
    """The machine that this process runs on, or the part of it that ``TYPEDNN_TARGET`` says."""
    return part_of_host(processor.target())


def part_of_host(limit: str) -> Target:
    """The part of this machine that has no instruction beyond ``limit``, as ``TYPEDNN_TARGET`` may be."""
    here = processor.limited(processor.host(), limit)
    features = str(hl.get_host_target()).split("-")
    return Target(
        "-".join(each for each in features if not processor.left_out(each, limit)), processor.for_schedules(here)
    )


def compile_object(plan: Plan, path: Path, symbol: str, target: Target) -> None:
    """Write the object file of ``plan``: a function ``symbol``, and ``symbol_argv`` that takes its arguments as one
    array of pointers.
    """
    with _halide_errors(plan.name):
        pipeline, arguments = _pipeline(plan, target.cpu)
        without_runtime = hl.Target(target.text).with_feature(hl.TargetFeature.NoRuntime)
        pipeline.compile_to({hl.OutputFileType.object: str(path)}, arguments, symbol, without_runtime)


def compile_text(plan: Plan, path: Path, target: Target) -> None:
    """Write the loops that ``plan`` becomes, for people to read."""
    with _halide_errors(plan.name):
        pipeline, arguments = _pipeline(plan, target.cpu)
        pipeline.compile_to(
            {hl.OutputFileType.stmt: str(path)},
            arguments,
            "kernel",
            hl.Target(target.text).with_feature(hl.TargetFeature.NoRuntime),
        )


def compile_runtime(path: Path, target: Target) -> None:
    """Write the object file of Halide's runtime: its threads, allocator and error reports."""
    with _halide_errors("runtime"):
        hl.compile_standalone_runtime(str(path), hl.Target(target.text))


def compile_in_memory(plan: Plan) -> Callable[..., Any]:
    """``plan`` as a function of NumPy arrays and numbers, for this process only."""
    with _halide_errors(plan.name):
        pipeline, arguments = _pipeline(plan, host().cpu)
        target = hl.Target(host().text).with_feature(hl.TargetFeature.JIT)
        return pipeline.compile_to_callable(arguments, target)


def _pipeline(plan: Plan, cpu: processor.Cpu) -> tuple[hl.Pipeline, list[hl.ImageParam | hl.Param]]:
    arguments = [_parameter(argument, f"argument{position}") for position, argument in enumerate(plan.inputs)]
    dtype = "float64" if any(argument.dtype == "float64" for argument in plan.inputs) else "float32"
    built = plan.build(cpu.of(dtype), *arguments, **dict(plan.options))
    functions = [*built] if isinstance(built, list | tuple) else [built]
    buffers = [(place, buffer) for function in functions for place, buffer in enumerate(function.output_buffers())]
    if len(buffers) != len(plan.outputs):
        raise EngineError(f"{plan.name}: build gives {len(buffers)} outputs, {len(plan.outputs)} are declared")
    for (place, buffer), output in zip(buffers, plan.outputs, strict=True):
        # The buffers of one Func have the same extents, and Halide takes them from the first.
        _constrain(buffer, output, bounds=not place)
    return hl.Pipeline(functions), arguments


def _parameter(argument: Argument, name: str) -> hl.ImageParam | hl.Param:
    dtype = np.dtype(argument.dtype)
    kind = (
        hl.Bool() if dtype.kind == "b" else {"f": hl.Float, "i": hl.Int, "u": hl.UInt}[dtype.kind](8 * dtype.itemsize)
    )
    if isinstance(argument, Scalar):
        return hl.Param(kind, name)
    parameter = hl.ImageParam(kind, len(argument.shape), name)
    _constrain(parameter, argument, bounds=True)
    return parameter


def _constrain(buffer: hl.OutputImageParam, array: Array, bounds: bool) -> None:
    """Tell Halide what is known before the call: every number in the shape, and the strides that follow from them."""
    stride: int | None = 1
    for position, extent in enumerate(reversed(array.shape)):
        dimension = buffer.dim(position)
        if stride is not None:
            dimension.set_stride(stride)
        if bounds and isinstance(extent, int):
            dimension.set_bounds(0, extent)
        elif bounds:
            dimension.set_min(0)
        stride = None if stride is None or isinstance(extent, str) else stride * extent


@contextmanager
def _halide_errors(name: str) -> Generator[None]:
    """Raise Halide's errors about a build function or schedule under the kernel's name."""
    try:
        yield
    except hl.HalideError as error:
        raise EngineError(f"{name} can't be compiled: {error}") from error


@cache
def linkers() -> tuple[tuple[str, str], ...]:
    """The linkers at hand, as (program, prefix of a linker option); none where shared libraries of our kind can't be
    made.
    """
    if not sys.platform.startswith("linux"):
        return ()
    prefixes = {"ld": "", "ld.lld": "", "cc": "-Wl,", "gcc": "-Wl,", "clang": "-Wl,"}
    return tuple((program, prefix) for name, prefix in prefixes.items() if (program := shutil.which(name)) is not None)


def link(objects: Sequence[Path], library: Path, soname: str) -> None:
    """Make the shared library ``library`` of ``objects``, object files or libraries that it needs."""
    complaint = "no linker"
    for program, prefix in linkers():
        options = [
            *(["-nostdlib"] if prefix else []),
            f"{prefix}-soname={soname}",
            f"{prefix}-Bsymbolic",
            f"{prefix}-znoexecstack",
        ]
        command = [program, "-shared", *options, "-o", str(library), *map(str, objects)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        complaint = f"{program}: {done.stderr.strip()}"
    raise EngineError(f"{library.name} can't be linked: {complaint}")
