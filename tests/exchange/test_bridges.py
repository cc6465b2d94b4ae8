"""DLPack and ``torch.from_numpy``: arrays go in and out of layers without a copy."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.layers import Conv2d, Linear, ReLU

PAGE = Path(__file__).resolve().parents[2] / "docs" / "exchange.md"
RNG = np.random.default_rng


class Exporter:
    """What another library's array is to DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_arrays_come_in_through_dlpack() -> None:
    """``forward`` keeps what it reads by reference: backward sees what is written there since."""
    memory = RNG(0).standard_normal((4, 3), np.float32)
    x = np.from_dlpack(Exporter(memory))
    layer = Linear(3, 2, rng=RNG(0))
    layer.forward(x)
    assert np.shares_memory(x, memory)
    memory[:] = 2.0
    assert np.array_equal(layer.backward(np.ones((4, 2), np.float32)).weight, np.full((2, 3), 8.0))


def test_results_and_parameters_go_out_through_dlpack() -> None:
    layer = Linear(3, 2, rng=RNG(0))
    y = layer.forward(np.ones((4, 3), np.float32))
    for array in (y, layer.weight, layer.backward(np.ones((4, 2), np.float32)).weight):
        view = np.from_dlpack(array)
        array.flat[0] = 9.0
        assert view.flat[0] == 9.0


@pytest.mark.parity
def test_the_page() -> None:
    """The file of docs/exchange.md does what its prose says."""
    (code,) = re.findall(
        r"<!-- file: bridge\.py -->\n```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(compile(code, "bridge.py", "exec"), names)
    assert names["scores"][0, 0] == 7.0
    assert not names["layer"].weight.any()


@pytest.mark.parity
@pytest.mark.parametrize("way", ["from_numpy", "from_dlpack"])
def test_pytorch_shares_memory(way: str) -> None:
    """Both ways, and both for results and for parameters."""
    import torch

    layer = Linear(3, 2, rng=RNG(0))
    samples = torch.randn(4, 3)
    x = samples.numpy() if way == "from_numpy" else np.from_dlpack(samples)
    y = layer.forward(x)
    before = samples.numpy().ctypes.data
    assert x.ctypes.data == before
    for array in (y, layer.weight, layer.bias):
        assert array is not None
        tensor = getattr(torch, way)(array)
        assert tensor.data_ptr() == array.ctypes.data
        tensor.fill_(3.0)
        assert (array == 3.0).all()


@pytest.mark.parity
def test_images_of_pytorch_are_views() -> None:
    """Channels first there, last here: the same memory, and the same numbers as of a copy."""
    import torch

    images = torch.randn(2, 3, 5, 4)
    x = images.permute(0, 2, 3, 1).numpy()
    assert x.ctypes.data == images.data_ptr()
    layer: Conv2d = Conv2d(3, 2, 3, rng=RNG(0))
    assert np.allclose(layer.forward(x), layer.forward(np.ascontiguousarray(x)), atol=1e-6)
    assert np.array_equal(ReLU().forward(x), np.maximum(x, 0))
