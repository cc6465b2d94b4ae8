import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from typednn import arrays
from typednn.backends import backend
from typednn.backends.backend import NumpyBackend
from typednn.backends.cupy_backend import CupyBackend


@pytest.fixture(autouse=True)
def fresh_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts with the devices that typednn starts with."""
    monkeypatch.setattr(arrays, "_BACKENDS", {known: row for known, row in arrays._BACKENDS.items() if row[0] == "cpu"})
    monkeypatch.setattr(backend, "_BACKENDS", {"cpu": NumpyBackend(), "cuda": CupyBackend()})


@pytest.fixture
def without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.fixture
def install_cupy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A stand-in for CuPy, on a machine with a GPU, without one, or with a broken one."""

    def install(**state: Any) -> ModuleType:
        cupy = _fake_cupy(**state)
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        return cupy

    return install


class CUDARuntimeError(RuntimeError):
    pass


def _fake_cupy(*, devices: int = 1, driver: bool = True, compiler: bool = True) -> ModuleType:
    """``devices=0``: no GPU; ``driver=False``: no driver; ``compiler=False``: the first kernel cannot be built."""
    cupy: Any = ModuleType("cupy")
    calls: list[str] = []

    class ndarray:  # noqa: N801
        def __init__(self, host: np.ndarray[Any, Any]) -> None:
            self.host = host.copy()
            self.shape = host.shape
            self.dtype = host.dtype

    ndarray.__module__ = "cupy"
    ndarray.__qualname__ = "ndarray"

    def device_count() -> int:
        calls.append("getDeviceCount")
        if not driver:
            raise CUDARuntimeError(
                "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"
            )
        return devices

    def add(left: object, right: object) -> object:
        if not compiler:
            raise ImportError("libnvrtc.so.12: cannot open shared object file")
        return left

    def asarray(array: Any) -> Any:
        if isinstance(array, ndarray):
            return array
        calls.append("asarray")
        return ndarray(array)

    def asnumpy(array: Any) -> np.ndarray[Any, Any]:
        calls.append("asnumpy")
        assert isinstance(array, ndarray)
        return array.host.copy()

    cupy.calls = calls
    cupy.ndarray = ndarray
    cupy.float32 = np.float32
    cupy.ones = lambda *args, **kwargs: ndarray(np.ones(*args, **kwargs))
    cupy.add = add
    cupy.asarray = asarray
    cupy.asnumpy = asnumpy
    cupy.cuda = SimpleNamespace(
        runtime=SimpleNamespace(
            getDeviceCount=device_count,
            getDeviceProperties=lambda device: {"name": f"Card {device}".encode()},
            CUDARuntimeError=CUDARuntimeError,
        ),
        Device=lambda: SimpleNamespace(id=7, synchronize=lambda: calls.append("synchronize")),
    )
    module: ModuleType = cupy
    return module
