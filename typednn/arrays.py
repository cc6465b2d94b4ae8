"""Array types by rank, the devices they live on, and the glossary of axis names.

A tensor is the array that people already have: `numpy.ndarray` or `cupy.ndarray`, channels last. A type
checker reads ``Array2`` as NumPy's two-dimensional floating array. At run time ``Array2`` is one class
whose ``isinstance`` looks an object's type up in a registry, so that no array library has to be imported
to be allowed, and annotations hold for all of them alike.

==================  ================================================================
axis                meaning
==================  ================================================================
batch               samples that are processed together; every layer keeps it
in_features         numbers per sample that a layer reads
out_features        numbers per sample that a layer gives
features            numbers per sample, where they are not changed
height, width       rows and columns of an image, from the top left
channels            numbers per pixel, last
in_channels         channels that a layer reads
out_channels        channels that a layer gives
time                positions in a sequence
memory              positions in a second sequence, which a first one attends to
heads               groups of features that attend each on its own
vocab               distinct tokens
classes             categories that a classifier tells apart
==================  ================================================================
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from typednn import system
from typednn.errors import ArgumentError, DeviceError, OutOfMemory, explain
from typednn.errors.habits import names_of

if TYPE_CHECKING:
    # The precision is left open: models are float32 by default, gradient checks run in float64.
    Floating: TypeAlias = np.dtype[np.floating[Any]]
    Integer: TypeAlias = np.dtype[np.integer[Any]]
    Array0: TypeAlias = np.ndarray[tuple[()], Floating]
    Array1: TypeAlias = np.ndarray[tuple[int], Floating]
    Array2: TypeAlias = np.ndarray[tuple[int, int], Floating]
    Array3: TypeAlias = np.ndarray[tuple[int, int, int], Floating]
    Array4: TypeAlias = np.ndarray[tuple[int, int, int, int], Floating]
    IntArray0: TypeAlias = np.ndarray[tuple[()], Integer]
    IntArray1: TypeAlias = np.ndarray[tuple[int], Integer]
    IntArray2: TypeAlias = np.ndarray[tuple[int, int], Integer]
    IntArray3: TypeAlias = np.ndarray[tuple[int, int, int], Integer]
    AnyArray: TypeAlias = np.ndarray[tuple[Any, ...], Floating]
    AnyIntArray: TypeAlias = np.ndarray[tuple[Any, ...], Integer]
    AnyBoolArray: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
else:

    class _RegisteredArray(type):
        """``isinstance(x, Array2)`` asks the registry; jaxtyping's string then checks rank, sizes and dtype."""

        def __instancecheck__(cls, candidate):
            return is_array(candidate)

    class _Array(metaclass=_RegisteredArray):
        def __init_subclass__(cls, rank=None):
            cls.rank = rank

    class AnyArray(_Array):
        """An array of any rank."""

    class AnyIntArray(_Array):
        """An array of integers of any rank."""

    class AnyBoolArray(_Array):
        """An array of booleans of any rank, such as a mask."""

    class Array0(_Array, rank=0):
        """A number in an array of its own."""

    class Array1(_Array, rank=1):
        """A vector."""

    class Array2(_Array, rank=2):
        """A matrix."""

    class Array3(_Array, rank=3):
        """Three axes, such as ``batch time features``."""

    class Array4(_Array, rank=4):
        """Four axes, such as ``batch height width channels``."""

    class IntArray0(_Array, rank=0):
        """An integer in an array of its own, such as a count."""

    class IntArray1(_Array, rank=1):
        """A vector of integers, such as class labels."""

    class IntArray2(_Array, rank=2):
        """A matrix of integers, such as tokens."""

    class IntArray3(_Array, rank=3):
        """Integers of three axes, such as a class for each pixel."""


# array type -> (device name, the module whose functions work on it, import deferred to first use)
_BACKENDS: dict[type, tuple[str, Callable[[], Any]]] = {np.ndarray: ("cpu", lambda: np)}


def register_array_type(array_type: type, device: str, namespace: Callable[[], Any]) -> None:
    """Let arrays of ``array_type`` through every check; ``namespace()`` gives the module that computes on them."""
    _BACKENDS[array_type] = (device, namespace)


def is_array(candidate: object) -> bool:
    """Whether ``candidate`` is an array of a registered kind."""
    return type(candidate) in _BACKENDS or _recognise(type(candidate))


def _recognise(array_type: type) -> bool:
    """Whether this is CuPy's array type, which is then registered. It is known by its name, so that nobody imports CuPy
    for it.
    """
    is_cupy = (array_type.__module__, array_type.__qualname__) == ("cupy", "ndarray")
    if is_cupy:
        register_array_type(array_type, "cuda", lambda: sys.modules["cupy"])
    return is_cupy


def _backend(array: object) -> tuple[str, Callable[[], Any]]:
    if not is_array(array):
        known = ", ".join(f"{array_type.__module__}.{array_type.__name__}" for array_type in _BACKENDS)
        raise DeviceError(
            explain(
                "array",
                f"must be of a registered kind ({known})",
                f"{type(array).__module__}.{type(array).__name__}",
                "convert it with numpy.asarray(...)",
            )
        )
    return _BACKENDS[type(array)]


def described(value: object) -> str:
    """``float32 of shape (3, 4)``; of anything but an array its type."""
    array: Any = value
    return f"{array.dtype} of shape {tuple(array.shape)}" if is_array(value) else type(value).__name__


def refuse_beyond_memory(where: str, shape: Sequence[int], dtype: np.dtype[Any], device: str, owner: object) -> None:
    """`OutOfMemory` where an array of this shape can't be: on the CPU it must fit into the machine's memory, elsewhere
    be addressable.
    """
    if math.prod(shape) * dtype.itemsize > (system.memory() if device == "cpu" else sys.maxsize):
        raise out_of_memory(where, f"{dtype} of shape {tuple(shape)}", math.prod(shape) * dtype.itemsize, owner)


def out_of_memory(where: str, what: str, needed: int | None, owner: object) -> OutOfMemory:
    """The error for arrays that don't fit; ``needed`` bytes, if that is known."""
    needs = "" if needed is None or needed.bit_length() > 1000 else f", {needed:,} bytes ({needed / 2**30:,.1f} GiB)"
    cure = f"this machine has {system.memory() / 2**30:,.1f} GiB: make the sizes smaller, or the batch"
    return OutOfMemory(explain(where, "its arrays must fit into memory", f"{what}{needs}", cure), owner)


def at_least_float32(array: Any) -> Any:
    """``array`` in float32 where its own dtype has fewer digits. None stays None."""
    return None if array is None else array.astype(np.result_type(array.dtype, np.float32), copy=False)


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` holds floats; bfloat16 is one, which ml_dtypes registers with the kind "V". All of typednn asks
    this here.
    """
    return dtype.kind == "f" or (dtype.kind == "V" and dtype.name == "bfloat16")


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` holds integers, signed or not; booleans are none."""
    return dtype.kind in "iu"


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` holds integers or floats."""
    return is_integer(dtype) or is_floating(dtype)


@dataclass(frozen=True, slots=True)
class Precision:
    """The dtypes of a model: of its parameters, of what it computes, and the least that it adds sums up in. So far all
    are one dtype.
    """

    parameters: np.dtype[Any]
    compute: np.dtype[Any]
    accumulate: np.dtype[Any]

    def __post_init__(self) -> None:
        if not self.parameters == self.compute == self.accumulate:
            got = f"{self.parameters}, {self.compute} and {self.accumulate}"
            raise ArgumentError(explain("Precision", "parameters, compute and accumulate are one dtype so far", got))

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> Precision:
        """``dtype`` throughout."""
        return cls(dtype, dtype, dtype)


def namespace(array: object) -> Any:
    """The module that computes on ``array``: ``numpy``, ``cupy``, or another registered one."""
    return _backend(array)[1]()


def device_of(array: object) -> str:
    """The name of the device that holds ``array``: ``"cpu"`` or ``"cuda"``."""
    return _backend(array)[0]


if not TYPE_CHECKING:  # `flatten` and `subtensor` have moved to `typednn.tensors`
    __getattr__ = names_of(__name__)
