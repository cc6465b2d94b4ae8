"""Products of matrices on a GPU, by cuBLAS: called as a C library, which takes a third of the time of CuPy's ``@`` on the host.

Operands may be transposed; they are not copied for it. CuPy has loaded the library already. Where it is not found, or an operand is of
another kind than `planned` knows, ``@`` computes the product. Products of float32 have float32's digits; the environment variable
``CUPY_TF32=1`` allows the 10 bits of TF32, here as in CuPy.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from typednn.arrays import namespace
from typednn.errors import EngineError, explain

_NAMES: Final = ("libcublas.so.13", "libcublas.so.12", "cublas64_13.dll", "cublas64_12.dll")
_TF32: Final = 3  # of cublasSetMathMode
_LETTERS: Final = {"float32": ("S", ctypes.c_float), "float64": ("D", ctypes.c_double)}


class Operand(NamedTuple):
    """A matrix, or several one after another, as cuBLAS is told of it: whether it lies in memory by columns, numbers from one row or
    column to the next, and from one matrix to the next.
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
    """How cuBLAS computes left @ right, each given as its shape and its strides, in numbers; None where it can't without a copy."""
    (*batch, rows, depth), (*other, inner, columns) = left[0], right[0]
    if depth != inner or batch != other or 0 in (rows, depth, columns, *batch):
        return None
    operands = _operand(*left), _operand(*right)
    if None in operands:
        return None
    return Planned(*operands, rows, columns, depth, math.prod(batch))  # type: ignore[arg-type]


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
    if not hasattr(xp, "cuda") or dtype != right.dtype or dtype.name not in _LETTERS:
        return left @ right
    handle = xp.cuda.device.get_cublas_handle()  # this thread's, for the device in use; CuPy loads the library for it
    library, plan = _library(), planned(_laid_out(left), _laid_out(right))
    if library is None or plan is None:
        return left @ right
    result = xp.empty((*left.shape[:-1], plan.columns), dtype=dtype)
    letter, real = _LETTERS[dtype.name]
    library.cublasSetStream_v2(handle, xp.cuda.get_current_stream().ptr)
    if os.environ.get("CUPY_TF32") == "1":
        library.cublasSetMathMode(handle, _TF32)
    # By rows, the product is that of the transposed operands by columns, in the other order.
    first, second, one, zero = plan.right, plan.left, ctypes.byref(real(1)), ctypes.byref(real(0))
    sizes = int(first.by_columns), int(second.by_columns), plan.columns, plan.rows, plan.depth
    if plan.pairs == 1:
        status = getattr(library, f"cublas{letter}gemm_v2")(
            *(handle, *sizes, one, right.data.ptr, first.leading, left.data.ptr, second.leading, zero, result.data.ptr, plan.columns)
        )
    else:
        operands = right.data.ptr, first.leading, first.stride, left.data.ptr, second.leading, second.stride
        into = result.data.ptr, plan.columns, plan.rows * plan.columns, plan.pairs
        status = getattr(library, f"cublas{letter}gemmStridedBatched")(handle, *sizes, one, *operands, zero, *into)
    if status:
        raise EngineError(explain("a product on the GPU", "cuBLAS computes it", f"its status {status}"))
    return result


def _laid_out(array: Any) -> tuple[Sequence[int], Sequence[int]]:
    """Its shape, and its strides in numbers."""
    size = array.dtype.itemsize
    return array.shape, [each // size for each in array.strides]


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
        getattr(library, f"cublas{letter}gemm_v2").argtypes = [*head, pointer, whole, pointer, whole, pointer, pointer, whole]
        batched = [pointer, whole, wide, pointer, whole, wide, pointer, pointer, whole, wide, whole]
        getattr(library, f"cublas{letter}gemmStridedBatched").argtypes = [*head, *batched]
    return library
