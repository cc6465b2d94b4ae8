"""JSON and raw numbers (Z-Y3): what is written, read and written again is the same file; what is unknown or left over
is an error.
"""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import expensive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jaxtyping import Float

from tests.layer_cases import CASES, LayerCase
from typednn import Array1, Buffer, Input, Module, Parameter
from typednn.errors import ArgumentError, DataError, NotInitialised, StateDictError
from typednn.exchange import export_bin, export_json, load_bin, load_json
from typednn.layers import BatchNorm1d, Dropout, Linear
from typednn.models import GPT2, LeNet5

RNG = np.random.default_rng
FORMATS: dict[str, tuple[Callable[[Any, Path], Path], Callable[[Path, Any], Any]]] = {
    "json": (export_json, load_json),
    "bin": (export_bin, load_bin),
}
formats = pytest.mark.parametrize("form", FORMATS)


def small(seed: int | None = 0) -> Any:
    model = Input(4) >> Linear(4, 3).named("fc") >> BatchNorm1d(3) >> Dropout(0.5) >> Linear(3, 2)
    return model if seed is None else model.init(RNG(seed))


def same(first: Module, second: Module) -> None:
    assert list(first.state_dict()) == list(second.state_dict())
    for name, array in first.state_dict().items():
        other = second.state_dict()[name]
        assert (array.dtype, array.shape, array.tobytes()) == (other.dtype, other.shape, other.tobytes()), name


def there_and_back(form: str, model: Any, fresh: Any, folder: Path) -> None:
    write, read = FORMATS[form]
    path = write(model, folder / f"model.{form}")
    before = path.read_bytes()
    assert read(path, fresh) is fresh
    same(model, fresh)
    assert write(fresh, folder / "again").read_bytes() == before


@formats
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_layer_there_and_back(case: LayerCase, form: str, tmp_path: Path) -> None:
    """Z-Y3: byte by byte, into a layer that was never initialised and into one with other numbers; buffers too."""
    subject = case.subject()
    model: Any = subject.fresh().init(RNG(0))
    for place, array in enumerate(model.parameters()):
        array += RNG(place).standard_normal(array.shape).astype(array.dtype)
    there_and_back(form, model, subject.fresh(), tmp_path)
    there_and_back(form, model, subject.fresh().init(RNG(1)), tmp_path)


@formats
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_models_there_and_back(form: str, dtype: str, tmp_path: Path) -> None:
    there_and_back(form, small().astype(dtype), small(None).astype(dtype), tmp_path)
    there_and_back(form, LeNet5(rng=RNG(0)).astype(dtype), LeNet5().astype(dtype), tmp_path)
    sizes = (11, 6, 8, 2, 2, 0.5)
    there_and_back(form, GPT2(*sizes, rng=RNG(0)).astype(dtype), GPT2(*sizes).astype(dtype), tmp_path)


@settings(expensive, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), width=st.sampled_from([16, 32, 64]))
def test_any_number_there_and_back(tmp_path: Path, data: st.DataObject, width: Any) -> None:
    """Subnormal and largest numbers, and -0; in bin NaN and infinity too."""
    for form in FORMATS:
        numbers = st.floats(width=width, allow_nan=form == "bin", allow_infinity=form == "bin")
        layer: Any = Linear(3, 2, bias=False, rng=RNG(0)).astype(f"float{width}")
        layer.weight[...] = data.draw(arrays(f"float{width}", (2, 3), elements=numbers))
        there_and_back(form, layer, Linear(3, 2, bias=False).astype(f"float{width}"), tmp_path)


def test_json_as_it_is_written(tmp_path: Path) -> None:
    """Z-Y3: tables of "layer.NAME", arrays "param.NAME"."""
    model: Any = (Input(2) >> Linear(2, 1).named("fc1") >> BatchNorm1d(1).named("norm")).init(RNG(0))
    model["fc1"].weight[...] = [[0.5, -0.25]]
    model["fc1"].bias[...] = 0.1
    text = export_json(model, tmp_path / "m.json").read_text()
    assert text == (
        '{"layer.fc1":{"param.weight":[[0.5,-0.25]],"param.bias":[0.10000000149011612]},'
        '"layer.norm":{"param.weight":[1.0],"param.bias":[0.0],"buffer.running_mean":[0.0],"buffer.running_var":[1.0],'
        '"buffer.num_batches_tracked":0}}\n'
    )
    layer: Any = Linear(2, 1)
    (tmp_path / "own.json").write_text('{ "param.bias": [1],\n "param.weight": [[2, 0.1]] }')
    load_json(tmp_path / "own.json", layer)
    np.testing.assert_array_equal(layer.weight, np.array([[2, 0.1]], np.float32))


def test_numbers_as_they_are_written(tmp_path: Path) -> None:
    """Z-Y3: in the order of the state, little-endian, nothing between; NumPy reads them."""
    layer: Any = Linear(2, 1, rng=RNG(0))
    layer.weight[...], layer.bias[...] = [[0.5, -2.0]], [3.0]
    content = export_bin(layer, tmp_path / "m.bin").read_bytes()
    assert content == struct.pack("<3f", 0.5, -2.0, 3.0)
    net = LeNet5(rng=RNG(0))
    numbers = np.fromfile(export_bin(net, tmp_path / "n.bin"), "<f4")
    np.testing.assert_array_equal(numbers, np.concatenate([array.ravel() for array in net.parameters()]))


class Shift:
    """Derives from nothing: an array that is learnt, and one that is not."""

    weight: Parameter[Float[Array1, "2"]]
    mean: Buffer[Float[Array1, "2"]]

    def __init__(self) -> None:
        self.weight, self.mean = np.float32([1, 2]), np.float32([3, 4])

    def forward(self, x: Any) -> Any:
        return x + self.weight - self.mean

    def backward(self, next_grad: Any) -> Any: ...

    def update(self, optimizer: Any, grad: Any) -> None: ...


class Silent(Shift):
    """Doesn't say which it learns."""

    def state_dict(self) -> dict[str, Any]:
        return {"weight": self.weight, "mean": self.mean}

    def load_state_dict(self, state: Any) -> None:
        self.weight, self.mean = state["weight"], state["mean"]


@pytest.mark.parametrize(("kind", "mean"), [(Shift, "buffer.mean"), (Silent, "param.mean")])
@formats
def test_parts_that_derive_from_nothing(form: str, kind: type, mean: str, tmp_path: Path) -> None:
    model, fresh = Input(2) >> Linear(2, 2, rng=RNG(0)) >> kind(), Input(2) >> Linear(2, 2, rng=RNG(1)) >> kind()
    model[1].inner.mean[...] = 7.0
    if form == "json":
        tables = json.loads(export_json(model, tmp_path / "m.json").read_text())
        assert tables["layer.1"] == {"param.weight": [1.0, 2.0], mean: [7.0, 7.0]}
    there_and_back(form, model, fresh, tmp_path)


def changed(path: Path, change: Callable[[Any], Any]) -> Path:
    tables = json.loads(path.read_text())
    change(tables)
    path.write_text(json.dumps(tables))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda tables: tables["layer.fc"].update({"param.scale": [1.0]}),
            "got 'layer.fc.param.scale' is an unknown key",
        ),
        (lambda tables: tables.update({"layer.fc9": {}}), "'layer.fc9' is an unknown key"),
        (lambda tables: tables.update({"weight": [1.0]}), "'weight' is an unknown key"),
        (
            lambda tables: tables.update({"layer.fc": [1.0]}),
            "'layer.fc' must be a table; 'layer.fc.param.weight' is missing",
        ),
        (lambda tables: tables["layer.fc"].pop("param.bias"), "'layer.fc.param.bias' is missing"),
        (lambda tables: tables["layer.1"].pop("buffer.running_var"), "'layer.1.buffer.running_var' is missing"),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [1.0]}),
            r"'layer.fc.param.bias' must be lists of numbers of shape \(3,\)",
        ),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [[1.0], [1.0, 2.0]]}),
            r"must be lists of numbers of shape \(3,\)",
        ),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [1.0, "2", 3.0]}),
            r"must be lists of numbers of shape \(3,\)",
        ),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [1.0, None, 3.0]}),
            r"must be lists of numbers of shape \(3,\)",
        ),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [True, False, True]}),
            r"must be lists of numbers of shape \(3,\)",
        ),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [1.0, True, 3.0]}),
            r"must be lists of numbers of shape \(3,\)",
        ),
        (
            lambda tables: tables["layer.1"].update({"buffer.num_batches_tracked": True}),
            "must be lists of whole numbers in ",
        ),
        (lambda tables: tables["layer.2"].update({"buffer.seed": [1, True]}), "must be lists of whole numbers in "),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [1.0, 1e39, 3.0]}),
            r"of shape \(3,\), which float32 can hold",
        ),
        (
            lambda tables: tables["layer.fc"].update({"param.bias": [1.0, 10**400, 3.0]}),
            r"lists of numbers of shape \(3,\)",
        ),
        (lambda tables: tables["layer.2"].update({"buffer.seed": [0.5, 1]}), "must be lists of whole numbers in "),
        (lambda tables: tables["layer.2"].update({"buffer.seed": [-1, 1 << 70]}), "must be lists of whole numbers in "),
        (
            lambda tables: tables.clear(),
            "'layer.fc.param.weight' is missing; .* and [0-9]+ more; hand in the model that was saved",
        ),
    ],
)
def test_keys_and_values_of_json(tmp_path: Path, change: Callable[[Any], Any], message: str) -> None:
    """Z-Y3: each is one error that names the key, and the model keeps its numbers."""
    path = changed(export_json(small(), tmp_path / "m.json"), change)
    model = small(1)
    with pytest.raises(StateDictError, match=message) as caught:
        load_json(path, model)
    assert str(path) in str(caught.value)
    same(model, small(1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be JSON, as export_json writes it"),
        (b"{", "must be JSON"),
        (b"[1]", "must be one JSON object, got list"),
        (b"\xff", "must be JSON"),
        (b"[" * 100_000, "must be JSON"),
        (b'{"param.bias": [1], "param.bias": [2]}', "got the key 'param.bias' twice"),
    ],
)
def test_what_is_no_json(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_json(tmp_path / "m.json", small())


def test_not_a_number_is_none_of_json(tmp_path: Path) -> None:
    model = small()
    model["fc"].bias[0] = np.nan
    with pytest.raises(
        ArgumentError, match=r"JSON has finite numbers only, got NaN or infinity in 'fc\.bias'; export_bin writes any"
    ):
        export_json(model, tmp_path / "m.json")
    assert not list(tmp_path.iterdir())
    path = tmp_path / "m.json"
    path.write_text('{"param.weight": [[NaN]], "param.bias": [Infinity]}')
    with pytest.raises(StateDictError, match="which float32 can hold"):
        load_json(path, Linear(1, 1))


def test_bytes_left_over_and_missing(tmp_path: Path) -> None:
    """Z-Y3: of any number of bytes; the model keeps its numbers."""
    path = export_bin(small(), tmp_path / "m.bin")
    content = path.read_bytes()
    for more in (1, 4, 100):
        path.write_bytes(content + bytes(more))
        with pytest.raises(
            DataError,
            match=rf"must end behind the {len(content)} bytes of .*, got {more} bytes more; hand in the model",
        ):
            load_bin(path, small(1))
    for size in (0, 1, 47, 48, 60, len(content) - 1):
        path.write_bytes(content[:size])
        model = small(1)
        with pytest.raises(
            DataError, match=rf"must hold all numbers of .*, got {size} bytes, which end in or before '[a-z]"
        ):
            load_bin(path, model)
        same(model, small(1))
    path.write_bytes(content[:48])
    with pytest.raises(DataError, match=r"'layer\.fc\.param\.bias', of 12 at byte 48"):
        load_bin(path, small())


@formats
def test_mistakes_of_calls(form: str, tmp_path: Path) -> None:
    write, read = FORMATS[form]
    with pytest.raises(NotInitialised):
        write(small(None), tmp_path / "m")
    with pytest.raises(ArgumentError, match=f"export_{form}: model is a model of typednn, got str"):
        write("model", tmp_path / "m")
    with pytest.raises(ArgumentError, match=f"load_{form}: model is a model of typednn, got the class Linear; call it"):
        read(tmp_path / "m", Linear)
    with pytest.raises(DataError, match=r"nowhere: must be a readable file"):
        read(tmp_path / "nowhere", small())
    assert not list(tmp_path.iterdir())
