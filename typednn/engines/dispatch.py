"""Whether fast kernels may run on given arrays. Every op asks this before it runs.

Tests and debugging force the reference: ``using("reference")``, or ``TYPEDNN_ENGINE=reference`` in the environment.
``using("kernels")`` gives to Halide's kernels what NumPy or BLAS would compute sooner, as an exported C plan does.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from typednn.engines.counters import observing
from typednn.engines.halide import toolchain
from typednn.errors import ArgumentError, explain

FLOAT32: np.dtype[Any] = np.dtype(np.float32)
FLOATS: tuple[np.dtype[Any], ...] = (FLOAT32, np.dtype(np.float64))  # what kernels compute in
_ndarray = np.ndarray

# Kernels count elements in 32 bits.
LIMIT = 2**31
_ENGINES = ("fast", "reference")
KERNELS = "kernels"


def _check(where: str, engine: str, *more: str) -> str:
    known = (*_ENGINES, *more)
    if engine not in known:
        raise ArgumentError(explain(where, f"must be one of {', '.join(known)}", repr(engine)), "engine")
    return engine


# The engine of the environment, then those of the `using` blocks that are running; the last one counts. Blocks of
# several threads overlap.
_engines: list[tuple[str]] = [(_check("TYPEDNN_ENGINE", os.environ.get("TYPEDNN_ENGINE") or "fast"),)]
_on: bool | None = None  # None until the first question, as looking for the compiler would slow down the import


def chosen_engine() -> str:
    """The chosen engine: "fast", even where no compiler is installed, "kernels" or "reference"."""
    return _engines[-1][0]


def fast(*arrays: object, dtypes: tuple[np.dtype[Any], ...] = FLOATS) -> bool:
    """Whether kernels may run on ``arrays``: NumPy's, C-contiguous, not empty, unless the reference is forced.

    All have the same one of ``dtypes``. An optional array may be None.
    """
    if not _on and not _decide():
        return False
    for array in arrays:
        if type(array) is _ndarray:
            if not array.flags.c_contiguous or not 0 < array.size < LIMIT:
                return False
            # NumPy has one dtype of each kind; an equal one may come from a file. Another byte order is not equal.
            if array.dtype is not dtypes[0] and array.dtype != dtypes[0]:
                return len(dtypes) > 1 and fast(*arrays, dtypes=dtypes[1:])
        elif array is not None:
            return False
    return True


def _decide() -> bool:
    global _on
    if _on is None:
        _on = chosen_engine() != "reference" and toolchain.available()
    return _on


def _nothing(_ran: object) -> None:
    """An observer that does nothing."""


@contextmanager
def using(engine: str) -> Generator[None]:
    """Within this block, in every thread, ops run on ``engine``: "reference", or "fast" where it is available.

    "kernels" is "fast" without what is no Halide kernel: an op with a kernel that takes its arrays runs on it, however
    few numbers there are, and neither BLAS nor Winograd's convolution runs.
    """
    global _on
    own = (_check("using", engine, KERNELS),)
    _engines.append(own)
    _on = None
    try:
        # an op that is observed asks which engine is chosen; others would ask at every call
        with observing(_nothing) if engine == KERNELS else nullcontext():
            yield
    finally:
        _engines[:] = [other for other in _engines if other is not own]
        _on = None
