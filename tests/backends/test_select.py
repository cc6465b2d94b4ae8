import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest

from typednn import arrays, backends
from typednn.backends import Backend, available, register_backend, select, synchronize, to_device, to_numpy
from typednn.errors import ArgumentError, DeviceError

REPOSITORY = Path(__file__).resolve().parents[2]


class Elsewhere:
    def __init__(self, host: Any) -> None:
        self.host = host


@final
class ElsewhereBackend(Backend):
    device = "elsewhere"
    waited = 0

    @property
    def array_type(self) -> type:
        return Elsewhere

    @property
    def namespace(self) -> Any:
        return np

    def from_numpy(self, host: Any) -> Any:
        return Elsewhere(host.copy())

    def to_numpy(self, array: Any) -> Any:
        return array.host.copy()

    def synchronize(self) -> None:
        self.waited += 1


@pytest.mark.parametrize("device", ["gpu", "cuda:0", "CPU", "", None, 0])
def test_an_unknown_device_is_told_the_known_ones(device: Any) -> None:
    for use in (select, synchronize, lambda name: to_device(np.ones(1), name)):
        with pytest.raises(DeviceError) as caught:
            use(device)
        assert (
            str(caught.value)
            == f'select(device): expected "cpu" or "cuda", got "{device}"; register_backend(...) adds a device'
        )


def test_a_registered_device_is_known() -> None:
    elsewhere = ElsewhereBackend()
    register_backend(elsewhere)
    with pytest.raises(DeviceError, match='expected "cpu" or "cuda" or "elsewhere", got "nowhere"'):
        select("nowhere")
    assert select("elsewhere") is elsewhere
    synchronize("elsewhere")
    assert elsewhere.waited == 1


def test_selecting_lets_its_arrays_through_the_checks() -> None:
    register_backend(ElsewhereBackend())
    array = Elsewhere(np.ones(1))
    assert not arrays.is_array(array)
    select("elsewhere")
    assert isinstance(array, arrays.AnyArray)
    assert arrays.device_of(array) == "elsewhere"
    assert arrays.namespace(array) is np


def test_a_device_has_one_backend() -> None:
    @final
    class Pretender(Backend):
        device = "cpu"
        array_type = Elsewhere
        namespace = np

        def from_numpy(self, host: Any) -> Any: ...
        def to_numpy(self, array: Any) -> Any: ...

    before = select("cpu")
    with pytest.raises(ArgumentError) as caught:
        register_backend(Pretender())
    assert str(caught.value) == (
        'register_backend(Pretender()): a device has one backend, got "cpu", which belongs to NumpyBackend; '
        "choose another device name"
    )
    assert select("cpu") is before
    first, again = ElsewhereBackend(), ElsewhereBackend()
    register_backend(first)
    register_backend(again)
    assert select("elsewhere") is first, "registering again changes nothing"


def test_moving_from_anywhere_to_anywhere(install_cupy: Callable[..., Any]) -> None:
    cupy: Any = install_cupy()
    register_backend(ElsewhereBackend())
    host = np.arange(3.0)
    kinds = {"cpu": np.ndarray, "cuda": cupy.ndarray, "elsewhere": Elsewhere}
    for source in kinds:
        for target, kind in kinds.items():
            there: Any = to_device(host, source)
            moved: Any = to_device(there, target)
            assert type(moved) is kind
            assert (moved is there) is (source == target)
            back = to_numpy(moved)
            assert type(back) is np.ndarray
            np.testing.assert_array_equal(back, host)


def test_available_without_cupy(without_cupy: None) -> None:
    assert available() == ["cpu"]


@pytest.mark.parametrize(
    ("state", "expected"), [({}, ["cpu", "cuda"]), ({"devices": 0}, ["cpu"]), ({"driver": False}, ["cpu"])]
)
def test_available_with_cupy(install_cupy: Callable[..., Any], state: dict[str, Any], expected: list[str]) -> None:
    install_cupy(**state)
    assert available() == expected


def test_available_hides_no_other_error() -> None:
    @final
    class Broken(Backend):
        device = "broken"
        array_type = Elsewhere
        namespace = np

        def from_numpy(self, host: Any) -> Any: ...
        def to_numpy(self, array: Any) -> Any: ...

        def require(self) -> None:
            raise ZeroDivisionError

    register_backend(Broken())
    with pytest.raises(ZeroDivisionError):
        available()


def test_public_names() -> None:
    assert set(backends.__all__) == {
        "Backend",
        "available",
        "register_backend",
        "select",
        "synchronize",
        "to_device",
        "read_together",
        "to_number",
        "to_numpy",
    }
    assert all(hasattr(backends, name) for name in backends.__all__)


def test_importing_and_using_the_cpu_imports_no_cupy() -> None:
    script = (
        "import sys, numpy\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'cupy': raise AssertionError('imported cupy')\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from typednn import backends\n"
        "x = backends.to_numpy(backends.to_device(numpy.ones(2), 'cpu'))\n"
        "backends.synchronize('cpu')\n"
        "print('cupy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr
