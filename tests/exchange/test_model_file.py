"""`Module.save` and `typednn.load`: what comes back is what was saved, and every wrong file is one error that loses
nothing.
"""

import inspect
import json
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from effort import very_expensive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.layer_cases import CASES, LayerCase
from typednn import Input, Module, Sequential, load
from typednn.engines import using
from typednn.errors import ArgumentError, ConfigError, DataError, NotInitialised, StateDictError, TypednnError
from typednn.exchange import load_torch
from typednn.layers import BatchNorm1d, Dropout, Embedding, Flatten, LastStep, Linear, ReLU, Tanh
from typednn.models import GPT2, LeNet5, lstm_classifier
from typednn.module.stack import Stack
from typednn.tensor_files import read_header, unpacked

RNG = np.random.default_rng
same_folder = settings(very_expensive, suppress_health_check=[HealthCheck.function_scoped_fixture])


def small(seed: int = 0) -> Any:
    return (Input(4) >> Linear(4, 3).named("fc") >> BatchNorm1d(3) >> Dropout(0.5) >> Linear(3, 2)).init(RNG(seed))


def saved(model: Module, folder: Path) -> Path:
    model.save(folder / "model.safetensors")
    return folder / "model.safetensors"


@pytest.mark.parametrize("case", [case for case in CASES if case.configurable], ids=str)
@same_folder
@given(data=st.data())
def test_every_layer_comes_back(case: LayerCase, tmp_path: Path, data: st.DataObject) -> None:
    """The same outputs, in eval and in training, where a Dropout draws what the saved one would draw next."""
    subject = case.drawn(data.draw)
    if not 2 <= len(subject.inputs[0]) <= 4:
        subject = case.subject()
    x = subject.arrays()[0]
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    model = Sequential([subject.fresh().named("it")], input=Input(*x.shape[1:])).init(RNG(subject.seed)).astype(dtype)
    for place, array in enumerate(model.parameters()):
        array += RNG(place).standard_normal(array.shape).astype(dtype)
    with using("reference"):
        model.forward(x.astype(dtype))  # statistics and seeds move on
        loaded: Any = load(saved(model, tmp_path))
        assert list(loaded.state_dict()) == list(model.state_dict())
        assert loaded.dtype == dtype
        assert np.array_equal(loaded.forward(x.astype(dtype)), model.forward(x.astype(dtype)), equal_nan=True)
        assert np.array_equal(
            loaded.eval().forward(x.astype(dtype)), model.eval().forward(x.astype(dtype)), equal_nan=True
        )


@pytest.mark.parametrize("case", [case for case in CASES if not case.configurable], ids=str)
def test_every_other_layer_comes_back_into_a_model(case: LayerCase, tmp_path: Path) -> None:
    subject = case.subject()
    model: Any = subject.ready().eval()
    loaded = load(saved(model, tmp_path), subject.fresh()).eval()
    inputs = subject.arrays()
    assert np.array_equal(loaded.forward(*inputs), model.forward(*inputs))


def test_kinds_of_models_come_back_as_they_were(tmp_path: Path) -> None:
    """A chain reads samples, a Stack rows, a first layer integers; shared parameters stay shared; parts keep their
    names.
    """
    chain, tokens = small(), (Input(5, dtype=int) >> Embedding(7, 3) >> LastStep() >> Linear(3, 2)).init(RNG(0))
    stack = Stack({"first": Flatten(), "fc": Linear(6, 2)}, input=(1, 2, 3)).init(RNG(0))
    tied = (Input(4) >> Linear(4, 4) >> Tanh() >> Linear(4, 4).named("second")).init(RNG(0))
    tied["second"].tie(tied[0], weight="weight")
    for model, x in (
        (chain, RNG(1).standard_normal((3, 4), np.float32)),
        (tokens, np.array([[1, 2, 3, 4, 5]])),
        (stack, RNG(1).standard_normal((3, 6), np.float32)),
        (tied, RNG(1).standard_normal((3, 4), np.float32)),
        (lstm_classifier(2, rng=RNG(0)), np.zeros((1, 128), np.int64)),
    ):
        loaded: Any = load(saved(model, tmp_path))
        assert isinstance(loaded, Stack) == isinstance(model, Stack)
        assert loaded.names == model.names
        assert loaded.shared_parameters() == model.shared_parameters()
        assert repr(loaded.sample) == repr(model.sample)
        assert np.array_equal(loaded.eval().forward(x), model.eval().forward(x))


def test_shapes_and_versions_stand_in_the_metadata(tmp_path: Path) -> None:
    about = read_header("test", saved(small(), tmp_path)).metadata
    assert json.loads(about["shapes"]) == {"input": [4], "output": [2]}
    assert (about["format"], about["version"], about["dtype"], about["rows"]) == (
        "typednn model",
        "1",
        "float32",
        "false",
    )
    rows = read_header("test", saved(Stack(small()), tmp_path)).metadata
    assert (json.loads(rows["shapes"]), rows["rows"]) == ({"input": [4], "output": [2]}, "true")


def test_hand_written_models(tmp_path: Path) -> None:
    """With a model handed in, of any kind, also in place; without one, the error says how."""
    model = GPT2(11, 8, 6, 2, 3, dropout=0.1, rng=RNG(0))
    path = saved(model, tmp_path)
    with pytest.raises(
        DataError,
        match=r"model\.safetensors: needs the model's config, got none \(dumps: writes a Chain.*\); build the model "
        r"and hand it in: load\(",
    ):
        load(path)
    tokens = np.array([[1, 2, 3]])
    fresh: GPT2 = load(path, model=GPT2(11, 8, 6, 2, 3, dropout=0.1))
    assert np.array_equal(fresh.forward(tokens), model.forward(tokens))
    other = GPT2(11, 8, 6, 2, 3, dropout=0.1, rng=RNG(9))
    weight = other.wte.weight
    assert load(path, other) is other
    assert other.wte.weight is weight
    assert np.array_equal(weight, model.wte.weight)


class Keeper:
    """Derives from nothing: every number times one factor."""

    def __init__(self, factor: float) -> None:
        self.factor = np.full(1, factor, np.float32)

    def forward(self, x: Any) -> Any:
        return x * self.factor

    def backward(self, dy: Any) -> Any:
        raise NotImplementedError

    def update(self, optimizer: Any, grad: Any) -> None:
        raise NotImplementedError

    def init(self, rng: Any) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        return {"factor": self.factor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.factor = state["factor"]


def test_parts_that_keep_their_own_parameters(tmp_path: Path) -> None:
    """An object that derives from nothing saves and loads what its own methods say."""
    model = Sequential([Keeper(2.0), Linear(4, 2)]).init(RNG(0))
    loaded = load(saved(model, tmp_path), Sequential([Keeper(1.0), Linear(4, 2)]).init(RNG(5)))
    x = RNG(1).standard_normal((3, 4), np.float32)
    assert np.array_equal(loaded.forward(x), model.forward(x))


def test_a_model_without_declared_input_says_so(tmp_path: Path) -> None:
    model = (Linear(4, 3) >> ReLU()).init(RNG(0))
    with pytest.raises(DataError, match=r"a config declares its input, got a model without one; build it as Input"):
        load(saved(model, tmp_path))


# ------------------------------------------------------------------ mistakes


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, str]], None]) -> Path:
    """The file with other arrays or metadata."""
    file = read_header("test", path)
    arrays, about = file.arrays(), dict(file.metadata)
    change(arrays, about)
    path.write_bytes(safetensors.numpy.save(arrays, about))
    return path


def without(name: str) -> Callable[[dict[str, Any], dict[str, str]], None]:
    return lambda arrays, about: (arrays if name in arrays else about).pop(name)


MISTAKES: dict[str, tuple[Callable[[dict[str, Any], dict[str, str]], Any], type[TypednnError], str]] = {
    "no format": (
        without("format"),
        DataError,
        r"must say format 'typednn model', got a safetensors file of something else; hand in",
    ),
    "newer": (
        lambda _, about: about.update(version="2"),
        DataError,
        "this typednn reads version 1, got '2'; update typednn",
    ),
    "digits that are not ASCII's": (
        lambda _, about: about.update(version="\uff11"),
        DataError,
        "this typednn reads version 1, got '",
    ),
    "no version": (without("version"), DataError, "this typednn reads version 1, got ''"),
    "no config": (
        without("config"),
        DataError,
        r"needs the model's config, got none \(no reason is given\); build the model",
    ),
    "dtype": (
        lambda _, about: about.update(dtype="int8"),
        DataError,
        "its dtype must be float16, float32, float64, got 'int8'",
    ),
    "config": (
        lambda _, about: about.update(config="format = 1\ninput = [4]"),
        DataError,
        "must hold the config of a model, got config.toml:1:1",
    ),
    "own layers": (
        lambda _, about: about.update(config='format = 1\ninput = [4]\n[[layer]]\ntype = "Mine"\n'),
        DataError,
        'unknown type "Mine".*; if it has layers of your own, import the module that registers them first',
    ),
    "other sizes": (
        lambda _, about: about.update(config=about["config"].replace("out_features = 2", "out_features = 5")),
        StateDictError,
        r"must hold the arrays of Sequential.*got '3.weight' has shape \(2, 3\), the model \(5, 3\); '3.bias' has",
    ),
    "missing": (without("fc.weight"), StateDictError, "got missing 'fc.weight'; hand in the model that was saved"),
    "a buffer is missing": (without("1.running_mean"), StateDictError, "got missing '1.running_mean'"),
    "extra": (lambda arrays, _: arrays.update(more=np.zeros(1)), StateDictError, "got unexpected 'more'"),
    "other numbers": (
        lambda arrays, _: arrays.update({"fc.bias": np.zeros(3, np.int32)}),
        StateDictError,
        "'fc.bias' is int32, the model float32",
    ),
    "other precision": (
        lambda _, about: about.update(dtype="float64"),
        StateDictError,
        "'fc.weight' is float32, the model float64",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_a_file(name: str, tmp_path: Path) -> None:
    change, kind, message = MISTAKES[name]
    path = rewritten(saved(small(), tmp_path), change)
    with pytest.raises(kind, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def stored(path: Path, dtype: str, arrays: dict[str, Any], metadata: dict[str, str] | None = None) -> Path:
    """A safetensors file written by hand: of the format's ``dtype``, whose bits ``arrays`` are."""
    header, place = dict[str, Any]({} if metadata is None else {"__metadata__": metadata}), 0
    for name, array in arrays.items():
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in arrays.values()))
    return path


def test_numbers_that_numpy_does_not_have(tmp_path: Path) -> None:
    path = saved((Input(1) >> Linear(1, 1, bias=False)).init(RNG(0)), tmp_path)
    stored(path, "F8_E4M3", {"0.weight": np.zeros((1, 1), np.uint8)}, read_header("test", path).metadata)
    with pytest.raises(StateDictError, match=r"'0\.weight' is F8_E4M3, the model float32"):
        load(path)


def value(bits: int) -> float:
    """Of a bfloat16, by definition: a sign, 8 bits of an exponent, 7 of a fraction."""
    sign, exponent, fraction = -1.0 if bits >> 15 else 1.0, bits >> 7 & 255, bits & 127
    if exponent == 255:
        return float("nan") if fraction else sign * float("inf")
    return sign * (fraction / 128 * 2.0**-126 if exponent == 0 else (1 + fraction / 128) * 2.0 ** (exponent - 127))


def test_every_bfloat16_is_read_exactly(tmp_path: Path) -> None:
    """All 65,536, by the format's definition, into float32 and float64; by name and one after the other."""
    every = np.arange(1 << 16, dtype=np.uint16)
    bits = {"bias": every[:256], "weight": every.reshape(256, 256)}
    path = stored(tmp_path / "half.safetensors", "BF16", bits)
    expected = np.array([value(number) for number in range(1 << 16)])
    for dtype in (np.float32, np.float64):
        layer = load(path, Linear(256, 256).astype(dtype))
        assert layer.dtype == dtype
        np.testing.assert_array_equal(layer.weight.ravel(), expected)
        np.testing.assert_array_equal(np.signbit(layer.weight.ravel()), every >> 15 == 1)
        np.testing.assert_array_equal(layer.bias, expected[:256])
    np.testing.assert_array_equal(load_torch(path, Linear(256, 256)).weight.ravel(), expected)
    np.testing.assert_array_equal(unpacked(path.read_bytes())["weight"].ravel(), expected)
    with pytest.raises(StateDictError, match=r"'weight' is float32, the model float16"):
        load(path, Linear(256, 256).astype("float16"))
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(DataError, match="must be a whole safetensors file"):
        load(path, Linear(256, 256))


@pytest.mark.parametrize(
    ("found", "dtype", "fits"),
    [
        ("float16", "float32", True),
        ("float16", "float64", True),
        ("float32", "float64", True),
        ("float64", "float32", False),
        ("float32", "float16", False),
        ("int32", "float64", False),
        ("bool", "float32", False),
    ],
)
def test_floats_of_another_precision(found: str, dtype: str, fits: bool, tmp_path: Path) -> None:
    """What a model's dtype holds exactly becomes that; nothing is rounded."""
    numbers = RNG(0).standard_normal((2, 3)).astype(found)
    path = tmp_path / "numbers.safetensors"
    path.write_bytes(safetensors.numpy.save({"weight": numbers}))
    layer: Any = Linear(3, 2, bias=False).astype(dtype)
    if fits:
        np.testing.assert_array_equal(load(path, layer).weight, numbers.astype(np.float64))
    else:
        with pytest.raises(StateDictError, match=f"'weight' is {found}, the model {dtype}"):
            load(path, layer)


def test_nothing_is_allocated_for_a_file_of_other_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a config that claims a terabyte."""
    path = rewritten(
        saved(small(), tmp_path),
        lambda _, about: about.update(config=about["config"].replace("out_features = 2", "out_features = 99999999999")),
    )

    def refuse(*_: Any) -> Any:
        raise AssertionError("an array was read")

    monkeypatch.setattr("typednn.tensor_files.TensorFile.arrays", refuse)
    with pytest.raises(StateDictError, match=r"has shape \(2, 3\), the model \(99999999999, 3\)"):
        load(path)


@same_folder
@given(cut=st.integers(0, 10_000), flip=st.integers(0, 400), bits=st.integers(1, 255))
def test_damaged_files(cut: int, flip: int, bits: int, tmp_path: Path) -> None:
    """Cut anywhere, or with a changed byte in the header: typednn's own error, or the same model, but no other
    exception.
    """
    path = saved(small(), tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: cut % len(content)])
    with pytest.raises(DataError, match="must be a whole safetensors file, got "):
        load(path)
    changed = bytearray(content)
    changed[flip] ^= bits
    path.write_bytes(changed)
    with suppress(TypednnError):
        load(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for content in (b"", b"PK\3\4" + bytes(100), b"\x80\x04\x95 a pickle", b"format = 1\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="must be a whole safetensors file"):
            load(path)
    with pytest.raises(DataError, match="must be a readable file, got No such file"):
        load(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"must be a run folder, with recipe\.json, got no such file"):
        load(tmp_path)
    with pytest.raises(ArgumentError, match="load: path must be the name of a file or folder, got None"):
        load(None)  # type: ignore[call-overload]


def test_the_model_handed_in(tmp_path: Path) -> None:
    """It is a model; it stays as it is where the file is not its own."""
    path = saved(small(), tmp_path)
    with pytest.raises(ArgumentError, match="load: model is a model of typednn, got the class LeNet5; call it"):
        load(path, LeNet5)  # type: ignore[type-var]
    with pytest.raises(ArgumentError, match="load: model is a model of typednn, got str"):
        load(path, "lenet5")  # type: ignore[type-var]
    other = LeNet5(rng=RNG(0))
    before = {name: array.copy() for name, array in other.state_dict().items()}
    with pytest.raises(
        StateDictError,
        match=r"model\.safetensors: must hold the arrays of LeNet5, got missing 'conv1\.weight'; .*; and 15 more",
    ):
        load(path, other)
    assert all(np.array_equal(before[name], array) for name, array in other.state_dict().items())


def test_saving_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(small(), tmp_path)
    before = path.read_bytes()
    with pytest.raises(NotInitialised):
        (Input(4) >> Linear(4, 3)).save(path)
    rename = os.rename

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(DataError, match="must be writable, got No space left on device"):
        small(1).save(path)
    monkeypatch.setattr(os, "rename", rename)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.safetensors"]
    with pytest.raises(ArgumentError, match="save: path must be the name of a file or folder, got None"):
        small().save(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="save: model is a model of typednn, got str"):
        __import__("typednn.exchange").exchange.save("model", path)


def test_loading_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a module that a config names."""
    path = rewritten(saved(small(), tmp_path), lambda _, about: about.update({"import": "this", "imports": "this"}))
    monkeypatch.setitem(__import__("sys").modules, "this", None)
    load(path)
    assert "imports" not in inspect.signature(load).parameters
