"""Mixed precision: the products of linear layers on factors of 16 bits (bfloat16), with sums in float32.

bfloat16 is float32 without its lower 16 bits: the same range, 8 binary digits. Weights, gradients, the optimizer's
arrays, norms, softmax and losses stay float32; only the two factors of a product are rounded, to the nearest, ties to
even. So no scaling of the loss is needed.
Source: Kalamkar et al. 2019, "A Study of BFLOAT16 for Deep Learning Training".
"""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from typednn.engines import processor
from typednn.engines.dispatch import FLOAT32, LIMIT, chosen_engine
from typednn.engines.halide import toolchain

Precision: TypeAlias = Literal["bf16-mixed"]

# What Halide asks for before it uses the instruction: AMD Zen 4, Intel Sapphire Rapids, and later ones.
BFLOAT16: Final = processor.AVX512 | {
    "avx512_bf16",
    "avx512ifma",
    "avx512vbmi",
    "avx512_vbmi2",
    "avx512_vnni",
    "avx512_bitalg",
    "avx512_vpopcntdq",
}

_mixed: ContextVar[bool] = ContextVar("mixed", default=False)  # two models may train in two threads


@contextmanager
def mixed_precision(mixed: bool = True) -> Generator[None]:
    """Within this block, in this thread, large linear layers of float32 NumPy arrays multiply in bfloat16: quicker
    where the processor has an instruction for it, and slower elsewhere.
    """
    token = _mixed.set(mixed)
    try:
        yield
    finally:
        _mixed.reset(token)


def in_bfloat16(*arrays: object) -> bool:
    """Whether a product of ``arrays`` is one of mixed precision: float32, NumPy's, C-contiguous, not empty; an optional
    one may be None.
    """
    return _mixed.get() and chosen_engine() == "fast" and all(each is None or _covered(each) for each in arrays)


@cache
def multiplies_bfloat16() -> bool:
    """Whether kernels are compiled here, and the processor has the instruction; if not, a warning says so once."""
    if toolchain.available() and processor.host().has(BFLOAT16):
        return True
    why = "this processor has no avx512_bf16" if toolchain.available() else "Halide is not installed"
    warnings.warn(
        f"mixed precision multiplies rounded float32 numbers, slower than without: {why}", RuntimeWarning, stacklevel=2
    )
    return False


def _covered(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype == FLOAT32 and array.flags.c_contiguous and 0 < array.size < LIMIT


def is_mixed() -> bool:
    """Whether this thread computes in mixed precision."""
    return _mixed.get()
