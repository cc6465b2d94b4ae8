"""Readers of models, vocabularies and texts from outside, as `tests.torture.outside` has those of data and of runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from tests.support.small_data import write_two_files
from tests.torture.outside import Outside
from typednn import Input, config, load
from typednn.data.text import read_text, read_text_folder
from typednn.data.token_files import read_tokens, write_token_table, write_tokens
from typednn.data.tokenizer import Tokenizer, read_tokenizer, train_tokenizer
from typednn.data.vocabulary import Characters, read_vocabulary
from typednn.exchange import export_onnx, import_onnx
from typednn.exchange.model_file import save
from typednn.exchange.plain import export_bin, export_json, load_bin, load_json
from typednn.exchange.torch_state import export_torch, load_torch
from typednn.layers import BatchNorm2d, Conv2d, Flatten, Linear, MaxPool2d, ReLU
from typednn.models.gpt2 import GPT2
from typednn.models.gpt2_weights import load_gpt2, save_gpt2
from typednn.models.gpt_c import read_gpt_c, write_gpt_c
from typednn.random import PCG32
from typednn.runs import checksums

JSON = (
    b'{"format": 1, "input": [3], "layer": [{"type": "Linear", "in_features": 3, "out_features": 2}, {"type": '
    b'"ReLU"}], '
    b'"optimizer": {"type": "SGD", "lr": 0.1}, "init": {"seed": 1, "generator": "pcg32"}}'
)


def _model() -> Any:
    images = Input(6, 6, 1) >> Conv2d(1, 2, 3) >> BatchNorm2d(2) >> ReLU() >> MaxPool2d(2) >> Flatten()
    return (images >> Linear(8, 3)).init(PCG32(0))


def _gpt2() -> GPT2:
    return GPT2(7, 4, 4, 1, 2).init(PCG32(0))


def _save_gpt2(folder: Path) -> None:
    save_gpt2(_gpt2(), folder)


def _tokenizer() -> Tokenizer:
    return train_tokenizer(["the cat and the dog and the cat"], 262)


def _save_tokenizer(folder: Path) -> None:
    _tokenizer().save(folder)


def _save_two_files(folder: Path) -> None:
    write_two_files(_tokenizer(), folder)


def _table(folder: Path) -> None:
    write_token_table(_tokenizer(), folder / "tokenizer.bin")


def _written(name: str, write: Callable[[Path], object]) -> Callable[[], bytes]:
    """What ``write`` puts into the file ``name`` of a folder that it is given."""

    def content() -> bytes:
        with tempfile.TemporaryDirectory() as place:
            write(Path(place))
            return (Path(place) / name).read_bytes()

    return content


def _one(name: str, write: Callable[[Any, Path], object]) -> Callable[[], bytes]:
    return _written(name, lambda folder: write(_model(), folder / name))


def _of_folder(read: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: read(path.parent)


def _once(write: Callable[[Path], object]) -> Callable[[Path], object]:
    """What lies beside: written where the folder is empty."""
    return lambda folder: None if any(folder.iterdir()) else write(folder)


@cache
def _onnx_fields() -> bytes:
    """The model of an ONNX file as JSON, so that its fields are changed and not its bytes."""
    import onnx
    from google.protobuf import json_format

    return json_format.MessageToJson(onnx.load_from_string(_one("a.onnx", export_onnx)())).encode()


def _onnx_of(content: bytes) -> bytes:
    """The file of such JSON, without the fields that have the wrong type; where it is no JSON any more, the bytes
    themselves.
    """
    import onnx

    try:
        table: Any = json.loads(content)
    except (ValueError, RecursionError):
        return content
    message = onnx.ModelProto()
    _fill(message, table)
    return bytes(message.SerializeToString())


def _fill(message: Any, table: Any) -> None:
    """Put the fields of ``table`` that fit into a message of protobuf."""
    from google.protobuf import json_format

    for name, value in cast("dict[str, Any]", table).items() if isinstance(table, dict) else ():
        if not name.isascii():  # half a character is a SystemError
            continue
        field = message.DESCRIPTOR.fields_by_camelcase_name.get(name)
        if field is not None and field.message_type is not None and isinstance(value, list):
            for each in cast("list[Any]", value) if hasattr(getattr(message, field.name), "add") else ():
                _fill(getattr(message, field.name).add(), each)
        elif field is not None and field.message_type is not None:
            with suppress(AttributeError):  # a list
                _fill(getattr(message, field.name), value)
        else:
            # the last: half a character
            with suppress(json_format.Error, ValueError, TypeError, OverflowError, UnicodeError, SystemError):
                json_format.ParseDict({name: value}, message)  # type: ignore[no-untyped-call]


def _checksums_beside(folder: Path) -> None:
    (folder / "metrics.jsonl").write_bytes(b"{}\n")
    checksums.write_checksums(folder, ("metrics.jsonl",))


def _texts_beside(folder: Path) -> None:
    for name in ("bad", "good"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "b.txt").write_bytes(b"a text")


def _read_vocabulary(path: Path) -> object:
    """What was accepted is used."""
    vocabulary = read_vocabulary(path.parent)
    return vocabulary, [vocabulary.bytes_of(token) for token in range(min(len(vocabulary), 300))]


def _read_tokenizer(path: Path) -> object:
    tokenizer = read_tokenizer(path.parent)
    return tokenizer.decode(tokenizer.encode("the cat\n"))


def _torch() -> dict[str, Outside]:
    """Those that need PyTorch, where it is installed."""
    if find_spec("torch") is None:
        return {}
    return {"torch": Outside("a.pt", lambda path: load_torch(path, _model()), _one("a.pt", export_torch))}


MODELS: dict[str, Outside] = {
    "config json": Outside("a.json", config.load, lambda: JSON),
    "model file": Outside("a.safetensors", load, _one("a.safetensors", save)),
    "weights json": Outside("a.json", lambda path: load_json(path, _model()), _one("a.json", export_json)),
    "weights bin": Outside("a.bin", lambda path: load_bin(path, _model()), _one("a.bin", export_bin)),
    "onnx": Outside("a.onnx", import_onnx, _one("a.onnx", export_onnx)),
    "onnx fields": Outside("a.onnx", import_onnx, _onnx_fields, _onnx_of),
    "gpt2 weights": Outside(
        "model.safetensors",
        _of_folder(load_gpt2),
        _written("model.safetensors", _save_gpt2),
        beside=_once(_save_gpt2),
    ),
    "gpt2 config": Outside(
        "config.json",
        _of_folder(load_gpt2),
        _written("config.json", _save_gpt2),
        beside=_once(_save_gpt2),
    ),
    "gpt.c": Outside(
        "a.bin", read_gpt_c, _written("a.bin", lambda folder: write_gpt_c(_gpt2(), folder / "a.bin", steps=3))
    ),
    "tokenizer.json": Outside("tokenizer.json", _read_tokenizer, _written("tokenizer.json", _save_tokenizer)),
    "vocab.json": Outside(
        "vocab.json", _read_tokenizer, _written("vocab.json", _save_two_files), beside=_once(_save_two_files)
    ),
    "merges.txt": Outside(
        "merges.txt", _read_tokenizer, _written("merges.txt", _save_two_files), beside=_once(_save_two_files)
    ),
    "characters": Outside("characters.json", _read_vocabulary, _written("characters.json", Characters("abc\n").save)),
    "tokenizer.bin": Outside("tokenizer.bin", _read_vocabulary, _written("tokenizer.bin", _table)),
    "checksums": Outside(
        "checksums.json",
        _of_folder(checksums.problems),
        _written("checksums.json", _checksums_beside),
        beside=_checksums_beside,
    ),
    "text": Outside("a.txt", read_text, lambda: b"some text\n"),
    "text folder": Outside(
        "good/a.txt", lambda path: read_text_folder(path.parents[1]), lambda: b"some text\n", beside=_texts_beside
    ),
    **{
        f"tokens {kind}": Outside(
            "a.bin",
            lambda path, kind=kind: np.asarray(read_tokens(path, kind)).sum(),
            _written("a.bin", lambda folder, kind=kind: write_tokens(folder / "a.bin", np.arange(9), kind)),
        )
        for kind in ("int32", "uint16", "uint64")
    },
    **_torch(),
}
