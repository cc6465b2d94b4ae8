"""The question that every op asks: does the fast path cover these arrays?

No for a test or a bug hunt that wants the reference: ``using("reference")``, or ``TYPEDNN_ENGINE=reference`` in the environment.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from typednn.engines.halide import toolchain
from typednn.errors import ArgumentError, explain

FLOAT32: np.dtype[Any] = np.dtype(np.float32)
_ndarray = np.ndarray

# Kernels count elements in 32 bits.
LIMIT = 2**31
_ENGINES = ("fast", "reference")


def _check(where: str, engine: str) -> str:
    if engine not in _ENGINES:
        raise ArgumentError(explain(where, f"must be one of {', '.join(_ENGINES)}", repr(engine)), "engine")
    return engine


_wanted = _check("TYPEDNN_ENGINE", os.environ.get("TYPEDNN_ENGINE") or "fast")
_on: bool | None = None  # None until somebody asks: looking for the compiler is not for import time


def wanted() -> str:
    """The engine that was asked for: "fast", whether it is at hand or not, or "reference"."""
    return _wanted


def fast(*arrays: object, dtypes: tuple[np.dtype[Any], ...] = (FLOAT32,)) -> bool:
    """Whether kernels may run on ``arrays``: NumPy's, of ``dtypes``, C-contiguous, not empty, and no one asked for the reference.

    An optional array that is None is no obstacle.
    """
    if not _on and not _decide():
        return False
    for array in arrays:
        if type(array) is _ndarray:
            if not array.flags.c_contiguous or not 0 < array.size < LIMIT:
                return False
            # NumPy has one dtype of each kind; an equal one may come from a file. Another byte order is not equal.
            if array.dtype is not dtypes[0] and array.dtype not in dtypes:
                return False
        elif array is not None:
            return False
    return True


def _decide() -> bool:
    global _on
    if _on is None:
        _on = _wanted == "fast" and toolchain.available()
    return _on


@contextmanager
def using(engine: str) -> Generator[None]:
    """Within this block, in every thread, ops run on ``engine``: "reference", or "fast" where it is available."""
    global _wanted, _on
    before = _wanted
    _wanted, _on = _check("using", engine), None
    try:
        yield
    finally:
        _wanted, _on = before, None
