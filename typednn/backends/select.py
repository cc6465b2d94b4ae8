"""Choosing a device by its name, and moving arrays between devices, always in so many words."""

from __future__ import annotations

from typednn.arrays import register_array_type
from typednn.backends.backend import A, Backend, register_backend, registered
from typednn.backends.cupy_backend import CupyBackend
from typednn.backends.numpy_backend import NumpyBackend
from typednn.errors import DeviceError, MissingExtra, explain

register_backend(NumpyBackend())
register_backend(CupyBackend())


def select(device: str) -> Backend:
    """The backend of ``"cpu"``, ``"cuda"`` or another registered device, ready to be used.

    `MissingExtra` says which package it lacks, `DeviceError` why the device is unknown or cannot be used.
    """
    backends = registered()
    backend = backends.get(device)
    if backend is None:
        names = " or ".join(f'"{name}"' for name in backends)
        raise DeviceError(explain("select(device)", f"expected {names}", f'"{device}"', "register_backend(...) adds a device"))
    backend.require()
    register_array_type(backend.array_type, backend.device, lambda: backend.namespace)
    return backend


def to_device(array: A, device: str) -> A:
    """``array`` of any registered kind, copied to ``device``; one that is there already is given back as it is."""
    return select(device).asarray(array)


def available() -> list[str]:
    """The devices that can be used here. To find out it imports CuPy where that is installed."""
    return [device for device in registered() if _usable(device)]


def _usable(device: str) -> bool:
    try:
        select(device)
    except (DeviceError, MissingExtra):
        return False
    return True


def synchronize(device: str) -> None:
    """Wait until ``device`` has done everything that was asked of it: a GPU's functions return before they are done."""
    select(device).synchronize()
