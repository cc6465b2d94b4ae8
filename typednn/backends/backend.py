"""What a device can do, the table of the devices that there are, and the only functions that move
arrays between them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar, TypeAlias, TypeVar, final

import numpy as np

from typednn.arrays import namespace, register_array_type
from typednn.errors import ArgumentError, DeviceError, MissingExtra, explain

Host: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]

# To a type checker every device's array is numpy.ndarray, so moving one keeps its rank and dtype.
A = TypeVar("A", bound=Host)


class Backend(ABC):
    """One kind of array, the device that holds it, and the only ways into and out of it."""

    device: ClassVar[str]

    @property
    @abstractmethod
    def array_type(self) -> type:
        """The class of this device's arrays."""

    @property
    @abstractmethod
    def namespace(self) -> Any:
        """The module whose functions compute on this device's arrays."""

    @abstractmethod
    def from_numpy(self, host: A) -> A:
        """The NumPy array ``host``, copied to this device."""

    @abstractmethod
    def to_numpy(self, array: A) -> A:
        """This device's ``array``, copied to NumPy."""

    def require(self) -> None:
        """Raise `MissingExtra` or `DeviceError` where this device cannot be used."""
        return

    def synchronize(self) -> None:
        """Wait until everything that was asked of this device is done."""
        return

    def described(self) -> str:
        """The name of the device that computes; "" for the CPU."""
        return ""

    def owns(self, array: object) -> bool:
        """Whether ``array`` is one of this device's."""
        return type(array) is self.array_type

    def asarray(self, array: A) -> A:
        """``array`` of any registered kind, copied to this device; one that is here already is given back as it is."""
        return array if self.owns(array) else self.from_numpy(to_numpy(array))


@final
class NumpyBackend(Backend):
    """Nothing to copy: NumPy's arrays are here already."""

    device = "cpu"

    @property
    def array_type(self) -> type:
        return np.ndarray

    @property
    def namespace(self) -> Any:
        return np

    def from_numpy(self, host: A) -> A:
        return host

    def to_numpy(self, array: A) -> A:
        return array


_NUMBERS: Any = (float, np.generic)
_BACKENDS: dict[str, Backend] = {"cpu": NumpyBackend()}


def register_backend(backend: Backend) -> None:
    """Make ``backend.device`` a device that `select` knows; selecting it lets its arrays through every check."""
    known = _BACKENDS.setdefault(backend.device, backend)
    if type(known) is not type(backend):
        raise ArgumentError(
            explain(
                f"register_backend({type(backend).__name__}())",
                "a device has one backend",
                f'"{backend.device}", which belongs to {type(known).__name__}',
                "choose another device name",
            ),
            "backend",
        )


def to_numpy(array: A) -> A:
    """``array`` of any registered kind, copied to NumPy; a NumPy array is given back as it is."""
    for backend in _BACKENDS.values():
        if backend.owns(array):
            return backend.to_numpy(array)
    raise DeviceError(
        explain(
            "to_numpy(...)",
            f"expected an array of {' or '.join(_BACKENDS)}",
            f"{type(array).__module__}.{type(array).__qualname__}",
            "convert it with numpy.asarray(...)",
        )
    )


def to_number(value: Any) -> float:
    """The number that ``value`` is, an array of rank 0 or NumPy's own: a device is waited for."""
    return float(value) if isinstance(value, _NUMBERS) else float(value.item())


def read_together(arrays: Sequence[Any]) -> list[list[float]]:
    """The numbers of arrays of one device, a list for each, copied to the host at once: a GPU is waited for once."""
    joined: Any = namespace(arrays[0]).concatenate([array.reshape(-1).astype(np.float64) for array in arrays])
    numbers = iter(to_numpy(joined).tolist())
    return [list(islice(numbers, array.size)) for array in arrays]


def select(device: str) -> Backend:
    """The backend of ``"cpu"``, ``"cuda"`` or another registered device, ready to be used.

    `MissingExtra` says which package it lacks, `DeviceError` why the device is unknown or cannot be used.
    """
    backend = _BACKENDS.get(device)
    if backend is None:
        names = " or ".join(f'"{name}"' for name in _BACKENDS)
        raise DeviceError(
            explain("select(device)", f"expected {names}", f'"{device}"', "register_backend(...) adds a device")
        )
    backend.require()
    register_array_type(backend.array_type, backend.device, lambda: backend.namespace)
    return backend


def to_device(array: A, device: str) -> A:
    """``array`` of any registered kind, copied to ``device``; one that is there already is given back as it is."""
    return select(device).asarray(array)


def available() -> list[str]:
    """The devices that can be used here. To find out it imports CuPy where that is installed."""
    return [device for device in _BACKENDS if _usable(device)]


def _usable(device: str) -> bool:
    try:
        select(device)
    except (DeviceError, MissingExtra):
        return False
    return True


def synchronize(device: str) -> None:
    """Wait until ``device`` has done everything that was asked of it: a GPU's functions return before they are done."""
    select(device).synchronize()
