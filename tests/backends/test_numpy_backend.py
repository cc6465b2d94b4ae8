from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from typednn.backends import select, to_device, to_numpy
from typednn.errors import DeviceError

X = np.ones((2, 3), dtype=np.float32)


def test_nothing_is_copied() -> None:
    cpu = select("cpu")
    assert cpu.device == "cpu"
    assert cpu.namespace is np
    assert cpu.array_type is np.ndarray
    assert cpu.asarray(X) is X
    assert to_numpy(X) is X
    assert to_device(X, "cpu") is X
    cpu.require()
    cpu.synchronize()


def test_what_is_no_array_is_refused() -> None:
    converters: list[Callable[[Any], object]] = [to_numpy, select("cpu").asarray, lambda x: to_device(x, "cpu")]
    for convert in converters:
        with pytest.raises(DeviceError) as caught:
            convert([1.0])
        assert str(caught.value) == (
            "to_numpy(...): expected an array of cpu or cuda, got builtins.list; convert it with numpy.asarray(...)"
        )
