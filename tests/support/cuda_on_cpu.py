"""A stand-in for the module ``cupy`` that runs CUDA kernels on the CPU: the same text, compiled by the C++ compiler.

`cupy_on_cpu` is the namespace of `StrictArray`, which refuses what CuPy refuses, and has two things more:

- ``empty`` fills new memory with NaN, or with the largest whole number: what a kernel forgets to write is seen.
- ``RawKernel`` compiles its text with ``cuda_on_cpu.h``, where a grid is a loop and a block that meets at
  ``__syncthreads`` is threads. A launch looks at what a GPU would not: that every argument is what the kernel's
  parameter says (a GPU reads whatever bits are there), that nothing is written before or after an array, nor into one
  that is const. What is read from there is NaN.

It shows that kernels compute the right numbers in the right places. It shows nothing of their speed, nor of what
depends on warps.
"""

from __future__ import annotations

import atexit
import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final
from unittest import mock

import numpy as np
from strict_array import StrictArray, register, strict_namespace

from typednn import arrays

if TYPE_CHECKING:
    import cupy

    from typednn.engines.cuda import Launch

HEADER = Path(__file__).with_name("cuda_on_cpu.h")
COMPILER = shutil.which("g++") or shutil.which("clang++")
# Barriers of threads are POSIX's, but not everybody's.
RUNS_HERE = COMPILER is not None and sys.platform == "linux"

_GUARD = 64  # numbers before and after each array


class Launched(NamedTuple):
    """What was launched, as CuPy was asked for it."""

    name: str
    code: str
    options: tuple[str, ...]
    blocks: int
    threads: int


launches: list[Launched] = []


@cache
def _library(code: str, options: tuple[str, ...]) -> ctypes.CDLL:
    """``code`` as a library, with a function of its parameters and one that runs it for each kernel."""
    names = re.findall(r'extern "C" __global__ void (\w+)\(', code)
    assert names, "no kernel in this text"
    folder = Path(tempfile.mkdtemp(prefix="typednn-cuda-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source, library = folder / "kernel.cpp", folder / "kernel.so"
    source.write_text("\n".join([f'#include "{HEADER}"', code, *(f"KERNEL({name})" for name in names)]))
    # As written: no product joined with a sum, which a GPU's compiler may do.
    flags = ("-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-pthread")
    subprocess.run([str(COMPILER), *flags, *options, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


@final
class RawKernel:
    """``cupy.RawKernel``'s arguments; calls are noted in `launches`."""

    def __init__(self, code: str, name: str, options: tuple[str, ...] = ()) -> None:
        assert all(re.fullmatch(r"-D\w+=\w+", option) for option in options), options
        self.code, self.name, self.options = code, name, options
        library = _library(code, options)
        described = library[f"{name}_parameters"]
        described.restype = ctypes.c_char_p
        self.parameters: list[str] = described().decode().split()
        self.run: Any = library[f"{name}_run"]

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], *, shared_mem: int = 0
    ) -> None:
        (blocks,), (threads,) = grid, block
        assert 0 < blocks < 2**31, f"{self.name}: {blocks} blocks"
        assert 0 < threads <= 1024, f"{self.name}: {threads} threads in a block"
        assert shared_mem == 0, "this stand-in has shared memory of a fixed size only"
        launches.append(Launched(self.name, self.code, self.options, blocks, threads))
        assert len(args) == len(self.parameters), f"{self.name} takes {len(self.parameters)} arguments, got {len(args)}"
        given = [
            _Guarded(self.name, *pair) if "*" in pair[0] else _Number(self.name, *pair)
            for pair in zip(self.parameters, args, strict=True)
        ]
        addresses = (ctypes.c_void_p * len(given))(*(argument.address for argument in given))
        assert self.run(blocks, threads, "__syncthreads" in self.code, addresses) == 0, "no more threads to be had"
        for argument in given:
            argument.look()


@final
class _Number:
    """A number beside its parameter. Python's own become 64 bits wide, as in CuPy."""

    def __init__(self, where: str, parameter: str, value: Any) -> None:
        self.value = np.array(value)
        assert self.value.ndim == 0, f"{where}: expected a number of {parameter}, got an array"
        assert self.value.dtype.str[1:] == parameter, (
            f"{where}: expected a number of {parameter}, got {self.value.dtype.str[1:]}"
        )
        self.address = self.value.ctypes.data

    def look(self) -> None:
        """A number is passed by value."""


@final
class _Guarded:
    """An array beside its parameter, copied to where nothing is near it."""

    def __init__(self, where: str, parameter: str, array: Any) -> None:
        self.where, self.parameter = where, parameter
        kind = parameter.removeprefix("*").removeprefix("const-")
        assert type(array) is StrictArray, f"{where}: expected an array of {kind}, got {type(array).__name__}"
        assert array.dtype.str[1:] == kind, f"{where}: expected an array of {kind}, got {array.dtype.str[1:]}"
        assert array.flags.c_contiguous, f"{where}: expected a C-contiguous array"
        self.host: Any = array._base
        self.memory = _unwritten(array.size + 2 * _GUARD, array.dtype)
        self.memory[_GUARD:-_GUARD] = self.host.reshape(-1)
        self.before = self.memory.copy()
        self.address = self.memory.ctypes.data + _GUARD * array.dtype.itemsize
        self.pointer = ctypes.c_void_p(self.address)
        self.address = ctypes.addressof(self.pointer)

    def look(self) -> None:
        """Nothing may be written outside the array, nor to a const one; what was written becomes the array's."""
        now, before = self.memory.view(np.uint8), self.before.view(np.uint8)
        edge = _GUARD * self.memory.itemsize
        assert np.array_equal(now[:edge], before[:edge]), f"{self.where} writes before its array"
        assert np.array_equal(now[-edge:], before[-edge:]), f"{self.where} writes after its array"
        if "const" in self.parameter:
            assert np.array_equal(now, before), f"{self.where} writes to an array that is const"
        else:
            self.host[...] = self.memory[_GUARD:-_GUARD].reshape(self.host.shape)


def _unwritten(shape: Any, dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    return np.full(shape, np.nan if dtype.kind == "f" else np.iinfo(dtype).max, dtype)


@final
class _Cupy:
    """The module, as far as kernels use it."""

    __name__ = "cupy_on_cpu"
    RawKernel = RawKernel

    def __getattr__(self, name: str) -> Any:
        return getattr(strict_namespace, name)

    @staticmethod
    def empty(shape: Any, dtype: Any = float, order: str = "C") -> StrictArray:
        assert order == "C"
        return StrictArray(_unwritten(shape, dtype))


cupy_on_cpu = _Cupy()


@contextmanager
def strict_arrays_on_cuda() -> Generator[None]:
    """Within this block a StrictArray is an array of the device "cuda", whose module is `cupy_on_cpu`."""
    register()  # so that there is a way back to NumPy
    with mock.patch.dict(arrays._BACKENDS, {StrictArray: ("cuda", lambda: cupy_on_cpu)}):
        yield


if TYPE_CHECKING:
    # What the engine calls, what this stand-in offers and what CuPy offers are one thing to a type checker.
    _theirs: Launch = cupy.RawKernel("", "")
    _ours: Launch = RawKernel("", "")
