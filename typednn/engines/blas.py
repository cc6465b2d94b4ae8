"""Matrix products: a separate copy of OpenBLAS, with the kernels that suit this processor.

NumPy brings OpenBLAS too, but that copy is configured when NumPy is first imported. The package ``scipy-openblas32``
holds the same library by itself. Two environment variables are set only while it is loaded: the core type, and how long
an idle worker spins (long enough for the next product, but no longer: a spinning worker takes the core from the
kernels' threads). Variables that the user has set are kept. Without the package, NumPy multiplies.
"""

import ctypes
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from typednn.engines import threads
from typednn.engines.locks import Lock
from typednn.engines.memory.addresses import address
from typednn.engines.processor import AVX512, Processor, host, target
from typednn.errors import DTypeError, ShapeError, explain, installing

_ROW_MAJOR, _AS_IS, _TRANSPOSED = 101, 111, 112
_LIMIT = 2**31
# The routine for each dtype, and its numbers in C.
_ROUTINES: dict[np.dtype[Any], tuple[str, Any]] = {
    np.dtype(np.float32): ("sgemm", ctypes.c_float),
    np.dtype(np.float64): ("dgemm", ctypes.c_double),
}
_CORE_TYPES = {"avx2": "Haswell", "sse4.1": "Nehalem"}  # by TYPEDNN_TARGET
SPIN = "16"  # the worker gives its core back after 2^16 ticks

# Each is told of a routine that is about to be called, and of its arguments, arrays in place of their addresses.
noted: list[Callable[[Callable[..., None], tuple[Any, ...]], object]] = []

_lock = Lock()
_alone = False  # whether one thread computes a product


@dataclass(frozen=True, slots=True)
class _Library:
    routines: Mapping[np.dtype[Any], Callable[..., None]]  # by dtype; empty where NumPy multiplies
    why: str


@contextmanager
def on_one_thread() -> Generator[None, None, None]:
    """In this block one thread computes a product: OpenBLAS adds in another order with several. NumPy's own copy of it
    is left as it is.
    """
    global _alone
    before, _alone = _alone, True
    threads.set_threads(threads.get_threads())  # tells OpenBLAS, where it is loaded
    try:
        yield
    finally:
        _alone = before
        threads.set_threads(threads.get_threads())


def core_type(processor: Processor) -> tuple[str | None, str]:
    """The core type to ask OpenBLAS for, None for its own choice, and why."""
    if target() in _CORE_TYPES:
        return _CORE_TYPES[target()], f"TYPEDNN_TARGET={target()}"
    if not processor.has(AVX512):
        return None, "no AVX-512: OpenBLAS chooses"
    if processor.vendor == "GenuineIntel":
        return None, "OpenBLAS knows Intel's AVX-512 processors: it chooses"
    return "SkylakeX", f"asked for: AVX-512 on {processor.vendor or 'an unknown make'}, which OpenBLAS may not know"


def why() -> str:
    """Which library multiplies, with which kernels, and for what reason."""
    return _library().why


def numpy_blas() -> str:
    """The library that NumPy multiplies with, and its version."""
    configuration: Any = np.show_config(mode="dicts")
    library = configuration.get("Build Dependencies", {}).get("blas", {})
    return f"{library.get('name', 'unknown')} {library.get('version', '')}".strip()


def gemm(
    a: np.ndarray[Any, np.dtype[np.floating[Any]]],
    b: np.ndarray[Any, np.dtype[np.floating[Any]]],
    out: np.ndarray[Any, np.dtype[np.floating[Any]]],
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> None:
    """out ← op(a) op(b), for matrices of float32 or of float64; op transposes where asked. ``out`` is not read.

    Rows may be strided, as in ``x[:, :10]``; ``a`` and ``b`` may be transposed views. ``out`` must not overlap ``a`` or
    ``b``.
    """
    if not (a.dtype == b.dtype == out.dtype) or out.dtype not in _ROUTINES:
        raise DTypeError(
            explain("gemm", "takes float32 or float64, one of them", f"{a.dtype}, {b.dtype} and {out.dtype}")
        )
    if a.ndim != 2 or b.ndim != 2 or out.ndim != 2:
        raise ShapeError(explain("gemm", "takes matrices", f"a {a.shape}, b {b.shape}, out {out.shape}"))
    routine = _library().routines.get(out.dtype)
    leading_a, leading_b, leading_out = _leading(a), _leading(b), _leading(out)
    if not leading_a:
        leading_a, a, transpose_a = _leading(a.T), a.T, not transpose_a
    if not leading_b:
        leading_b, b, transpose_b = _leading(b.T), b.T, not transpose_b
    depth, rows = a.shape if transpose_a else a.shape[::-1]
    columns, depth_b = b.shape if transpose_b else b.shape[::-1]
    if depth != depth_b or out.shape != (rows, columns):
        rule = f"must have the shape ({rows}, {columns}), and the inner sizes {depth} and {depth_b} be equal"
        raise ShapeError(explain("gemm: out", rule, str(out.shape)))
    if not out.flags.writeable:
        raise ShapeError(explain("gemm: out", "must be writeable", "a read-only array"))
    if routine is None or not (leading_a and leading_b and leading_out) or not (rows and columns and depth):
        np.matmul(a.T if transpose_a else a, b.T if transpose_b else b, out=out)
        return
    asked = _TRANSPOSED if transpose_a else _AS_IS, _TRANSPOSED if transpose_b else _AS_IS, rows, columns, depth
    for note in noted:
        note(routine, (_ROW_MAJOR, *asked, 1.0, a, leading_a, b, leading_b, 0.0, out, leading_out))
    routine(_ROW_MAJOR, *asked, 1.0, address(a), leading_a, address(b), leading_b, 0.0, address(out), leading_out)


def _leading(matrix: np.ndarray[Any, Any]) -> int:
    """The numbers between the starts of two rows; 0 where BLAS can't read the matrix."""
    rows, columns = matrix.shape
    if matrix.flags.carray and columns:
        return int(columns)
    (row_step, step), size = matrix.strides, matrix.itemsize
    if (step != size and columns > 1) or not matrix.flags.aligned:
        return 0
    if rows <= 1:
        return int(max(columns, 1))
    return int(row_step // size) if row_step % size == 0 and columns <= row_step // size < _LIMIT else 0


@cache
def _library() -> _Library:
    """Loaded once, also when several threads need it at the same time."""
    with _lock():
        return _load()


@cache
def _load() -> _Library:
    spec = find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return _Library(
            {}, installing("NumPy multiplies: scipy-openblas32 is not installed (pip install 'typednn[fast]')")
        )
    files = sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*"))
    requested, reason = (None, "OPENBLAS_CORETYPE says so") if "OPENBLAS_CORETYPE" in os.environ else core_type(host())
    variables = {"OPENBLAS_THREAD_TIMEOUT": SPIN, **({} if requested is None else {"OPENBLAS_CORETYPE": requested})}
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    try:
        library = ctypes.CDLL(str(files[0]))
        routines = {dtype: getattr(library, f"scipy_cblas_{name}") for dtype, (name, _) in _ROUTINES.items()}
        library.scipy_openblas_get_corename.restype = ctypes.c_char_p
        core = library.scipy_openblas_get_corename().decode()
    except (OSError, AttributeError, IndexError) as error:
        return _Library({}, f"NumPy multiplies: scipy-openblas32 can't be loaded ({error})")
    finally:
        for name in added:
            os.environ.pop(name, None)
    integer, pointer = ctypes.c_int, ctypes.c_void_p
    for dtype, routine in routines.items():
        number = _ROUTINES[dtype][1]
        routine.argtypes = [integer] * 6 + [number, pointer, integer, pointer, integer, number, pointer, integer]
        routine.restype = None
    library.scipy_openblas_set_num_threads.argtypes = [integer]
    threads.follow(lambda count: library.scipy_openblas_set_num_threads(1 if _alone else count))
    return _Library(routines, f"OpenBLAS multiplies, with {core} kernels ({reason})")
