"""Products of matrices on a GPU, by cuBLAS, called as a C library.

Two matrices take as long as by CuPy's ``@``; several pairs with a transposed operand take half as long, as nothing is
copied for it. And a CUDA graph can capture them, which ``@`` refuses. CuPy has loaded the library already. Where it is
not found, or an operand is of another kind than `planned` knows, ``@`` computes the product. Products of float32 have
float32's digits; the environment variable ``CUPY_TF32=1`` allows the 10 bits of TF32, here as in CuPy.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from typednn.arrays import namespace
from typednn.errors import EngineError, explain

_NAMES: Final = ("libcublas.so.13", "libcublas.so.12", "cublas64_13.dll", "cublas64_12.dll")
_TF32: Final = 3  # of cublasSetMathMode
_TF32_WANTED: Final = os.environ.get("CUPY_TF32") == "1"
_LETTERS: Final = {np.dtype(np.float32): ("S", ctypes.c_float), np.dtype(np.float64): ("D", ctypes.c_double)}


class Operand(NamedTuple):
    """A matrix, or several one after another, as cuBLAS is told of it: whether it lies in memory by columns, numbers
    from one row or column to the next, and from one matrix to the next.
    """

    by_columns: bool
    leading: int
    stride: int


class Planned(NamedTuple):
    """A product: of so many ``pairs`` of matrices (rows, depth) and (depth, columns)."""

    left: Operand
    right: Operand
    rows: int
    columns: int
    depth: int
    pairs: int


def planned(left: tuple[Sequence[int], Sequence[int]], right: tuple[Sequence[int], Sequence[int]]) -> Planned | None:
    """How cuBLAS computes left @ right, each given as its shape and its strides, in numbers; None where it can't
    without a copy.
    """
    (*batch, rows, depth), (*other, inner, columns) = left[0], right[0]
    if depth != inner or batch != other or 0 in (rows, depth, columns, *batch):
        return None
    first, second = _operand(*left), _operand(*right)
    return None if first is None or second is None else Planned(first, second, rows, columns, depth, math.prod(batch))


def _operand(shape: Sequence[int], strides: Sequence[int]) -> Operand | None:
    *batch, rows, columns = shape
    *steps, down, across = strides
    for place in range(len(batch) - 1):  # the matrices lie at equal distances
        if batch[place] > 1 and steps[place] != batch[place + 1] * steps[place + 1]:
            return None
    stride = steps[-1] if steps else 0
    if (across == 1 or columns == 1) and (down >= columns or rows == 1):
        return Operand(False, max(down, columns), stride)
    if (down == 1 or rows == 1) and (across >= rows or columns == 1):
        return Operand(True, max(across, rows), stride)
    return None


def product(left: Any, right: Any) -> Any:
    """left @ right, for arrays of a GPU with at least two axes."""
    xp, dtype = namespace(left), left.dtype
    if dtype != right.dtype or dtype not in _LETTERS or not hasattr(xp, "cuda"):
        return left @ right
    handle = xp.cuda.device.get_cublas_handle()  # this thread's, for the device in use; CuPy loads the library for it
    library, call = _library(), _call(left.shape, left.strides, right.shape, right.strides, dtype)
    if library is None or call is None:
        return left @ right
    result = xp.empty(call.shape, dtype=dtype)
    if _TF32_WANTED:
        library.cublasSetMathMode(handle, _TF32)
    library.cublasSetStream_v2(handle, xp.cuda.get_current_stream().ptr)
    pointers = right.data.ptr, left.data.ptr, result.data.ptr
    if status := getattr(library, call.function)(handle, *call.arguments(*pointers)):
        raise EngineError(explain("a product on the GPU", "cuBLAS computes it", f"its status {status}"))
    return result


class _Call(NamedTuple):
    """The function for a product, and its arguments but for the arrays."""

    function: str
    shape: tuple[int, ...]
    arguments: Callable[[int, int, int], tuple[Any, ...]]


@lru_cache(maxsize=1024)
def _call(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    other: tuple[int, ...],
    other_strides: tuple[int, ...],
    dtype: np.dtype[Any],
) -> _Call | None:
    size = dtype.itemsize
    plan = planned((shape, [each // size for each in strides]), (other, [each // size for each in other_strides]))
    if plan is None:
        return None
    letter, real = _LETTERS[dtype]
    # By rows, the product is that of the transposed operands by columns, in the other order.
    first, second, one, zero = plan.right, plan.left, ctypes.byref(real(1)), ctypes.byref(real(0))
    sizes = int(first.by_columns), int(second.by_columns), plan.columns, plan.rows, plan.depth

    def alone(right: int, left: int, result: int) -> tuple[Any, ...]:
        return *sizes, one, right, first.leading, left, second.leading, zero, result, plan.columns

    step = plan.rows * plan.columns

    def batched(right: int, left: int, result: int) -> tuple[Any, ...]:
        operands = right, first.leading, first.stride, left, second.leading, second.stride
        return *sizes, one, *operands, zero, result, plan.columns, step, plan.pairs

    shaped = (*shape[:-1], plan.columns)
    if plan.pairs == 1:
        return _Call(f"cublas{letter}gemm_v2", shaped, alone)
    return _Call(f"cublas{letter}gemmStridedBatched", shaped, batched)


@cache
def _library() -> Any:
    """cuBLAS, with the types of its arguments; None where it is not found."""
    library: Any = None
    for name in _NAMES:
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    if library is None:
        return None
    pointer, whole, wide = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
    library.cublasSetStream_v2.argtypes = [pointer, pointer]
    library.cublasSetMathMode.argtypes = [pointer, whole]
    for letter, _ in _LETTERS.values():
        head = [pointer, whole, whole, whole, whole, whole, pointer]
        getattr(library, f"cublas{letter}gemm_v2").argtypes = [
            *head,
            pointer,
            whole,
            pointer,
            whole,
            pointer,
            pointer,
            whole,
        ]
        batched = [pointer, whole, wide, pointer, whole, wide, pointer, pointer, whole, wide, whole]
        getattr(library, f"cublas{letter}gemmStridedBatched").argtypes = [*head, *batched]
    return library
