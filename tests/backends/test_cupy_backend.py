import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn import arrays
from typednn.backends import available, select, synchronize, to_device, to_numpy
from typednn.backends.cupy_backend import CupyBackend
from typednn.errors import DeviceError, MissingExtra

Install = Callable[..., Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)
CURE = 'check the driver with nvidia-smi and CuPy with python -c "import cupy; cupy.show_config()", or use device "cpu"'


def test_without_cupy_the_extra_is_named(without_cupy: None) -> None:
    """G-C12."""
    for use in (select, synchronize, lambda device: to_device(X, device)):
        with pytest.raises(MissingExtra) as caught:
            use("cuda")
        assert (
            str(caught.value) == "device \"cuda\": needs CuPy, got no module named 'cupy'; pip install 'typednn[gpu]'"
        )
        assert caught.value.name == "cupy"
        assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"devices": 0}, "RuntimeError: no CUDA device found"),
        (
            {"driver": False},
            "CUDARuntimeError: cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA "
            "runtime version",
        ),
        ({"compiler": False}, "ImportError: libnvrtc.so.12: cannot open shared object file"),
    ],
)
def test_without_a_usable_gpu_the_reason_is_told(install_cupy: Install, state: dict[str, Any], reason: str) -> None:
    install_cupy(**state)
    with pytest.raises(DeviceError) as caught:
        select("cuda")
    assert str(caught.value) == f'device "cuda": needs a GPU that CuPy can use, got {reason}; {CURE}'
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ImportError("CuPy failed to load libcublas"), "ImportError: CuPy failed to load libcublas"),
        (
            ModuleNotFoundError("No module named 'fastrlock'", name="fastrlock"),
            "ModuleNotFoundError: No module named 'fastrlock'",
        ),
    ],
)
def test_a_cupy_that_cannot_be_imported_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, error: ImportError, reason: str
) -> None:
    class Broken:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "cupy":
                raise error

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(DeviceError) as caught:
        select("cuda")
    assert str(caught.value) == f'device "cuda": needs a GPU that CuPy can use, got {reason}; {CURE}'


def test_with_a_gpu(install_cupy: Install) -> None:
    cupy: Any = install_cupy()
    cuda = select("cuda")
    assert isinstance(cuda, CupyBackend)
    assert cuda.device == "cuda"
    assert cuda.namespace is cupy
    assert cuda.described() == "Card 7"
    assert cuda.array_type is cupy.ndarray
    there: Any = cuda.asarray(X)
    assert cuda.owns(there)
    assert not cuda.owns(X)
    assert cuda.asarray(there) is there
    np.testing.assert_array_equal(cuda.to_numpy(there), X)
    assert arrays.device_of(there) == "cuda"
    assert arrays.namespace(there) is cupy


def test_the_gpu_is_tried_once(install_cupy: Install) -> None:
    cupy: Any = install_cupy()
    select("cuda")
    select("cuda")
    assert cupy.calls.count("getDeviceCount") == 1
    before = cupy.calls.count("synchronize")
    synchronize("cuda")
    assert cupy.calls.count("synchronize") == before + 1


def test_a_failure_is_not_remembered(install_cupy: Install) -> None:
    install_cupy(devices=0)
    for _ in range(2):
        with pytest.raises(DeviceError):
            select("cuda")
    install_cupy()
    assert select("cuda").device == "cuda"


def test_arrays_of_a_cupy_that_the_user_imported(install_cupy: Install) -> None:
    cupy: Any = install_cupy()
    theirs = cupy.asarray(X)
    np.testing.assert_array_equal(to_numpy(theirs), X)
    assert to_device(theirs, "cuda") is theirs
    np.testing.assert_array_equal(to_device(theirs, "cpu"), X)


def test_recognised_if_loaded(install_cupy: Install) -> None:
    cupy: Any = install_cupy()
    theirs = cupy.asarray(X)
    assert arrays.is_array(theirs)
    assert arrays.device_of(theirs) == "cuda"
    assert arrays.namespace(theirs) is cupy


def test_not_registered_if_missing_or_half_imported(without_cupy: None, install_cupy: Install) -> None:
    assert not CupyBackend().owns(X)
    del install_cupy().ndarray
    assert not any(kind.__module__.startswith("cupy") for kind in arrays._BACKENDS)
    assert not CupyBackend().owns(X)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="needs CuPy, with or without a GPU")
def test_the_real_cupy_works_or_says_why() -> None:
    import cupy

    if "cuda" in available():
        there = to_device(X, "cuda")
        assert type(there) is cupy.ndarray
        np.testing.assert_array_equal(to_numpy(there), X)
    else:
        with pytest.raises(
            DeviceError, match=r'^device "cuda": needs a GPU that CuPy can use, got \w+: .*; check the driver'
        ):
            select("cuda")
    assert cupy.ndarray.__module__ == "cupy"
    assert cupy.ndarray.__qualname__ == "ndarray"


@pytest.mark.gpu
def test_the_real_gpu() -> None:
    import cupy

    x = to_device(X, "cuda")
    assert type(x) is cupy.ndarray
    np.testing.assert_array_equal(to_numpy(cupy.matmul(x, x.T)), X @ X.T)
    synchronize("cuda")
    assert to_device(x, "cuda") is x
    assert arrays.device_of(x) == "cuda"
    with pytest.raises(TypeError):
        np.asarray(x)
