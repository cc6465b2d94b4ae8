"""Folders of GPT-2's weights (G-C8): written and read again, in pieces, in other dtypes; every damage is one error that
names it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from typednn.errors import ArgumentError, DataError
from typednn.models import GPT2, load_gpt2, save_gpt2

pytestmark = pytest.mark.usefixtures("on_the_reference")
Tensors = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_gpt2(model(), tmp_path)
    return tmp_path


def model() -> GPT2:
    return GPT2(11, 6, 8, 2, 2, rng=np.random.default_rng(0))


def changed(folder: Path, change: Callable[[Tensors], Any]) -> None:
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    change(tensors)
    safetensors.numpy.save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def configured(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def same(first: GPT2, second: GPT2) -> None:
    assert repr(first) == repr(second)
    for (name, array), other in zip(first.named_parameters().items(), second.parameters(), strict=True):
        np.testing.assert_array_equal(array, other, err_msg=name)


def test_round_trip(folder: Path) -> None:
    """Z-Y3: what was saved, read and saved again is the same file, byte by byte."""
    read = load_gpt2(folder)
    same(read, model())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    save_gpt2(read, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_layout_on_disk(folder: Path) -> None:
    """G-C8: weights of affine maps are (in, out) there; the head is not stored."""
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    assert tensors["transformer.h.1.attn.c_attn.weight"].shape == (8, 24)
    assert tensors["transformer.h.1.mlp.c_proj.weight"].shape == (32, 8)
    block: Any = model().h.copies[1]
    np.testing.assert_array_equal(tensors["transformer.h.1.mlp.c_fc.weight"], block.c_fc.weight.T)
    assert len(tensors) == 28


def test_names_without_prefix_masks_and_a_head(folder: Path) -> None:
    """As the files of 2019 have them."""

    def change(tensors: Tensors) -> None:
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        tensors["h.0.attn.bias"] = np.tril(np.ones((1, 1, 6, 6), np.uint8))
        tensors["lm_head.weight"] = tensors["wte.weight"].copy()

    changed(folder, change)
    same(load_gpt2(folder), model())


def test_in_pieces(folder: Path) -> None:
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = list(tensors)
    pieces = {"model-00001-of-00002.safetensors": names[:10], "model-00002-of-00002.safetensors": names[10:]}
    for file, inside in pieces.items():
        safetensors.numpy.save_file({name: tensors[name] for name in inside}, folder / file)
    index = {"weight_map": {name: file for file, inside in pieces.items() for name in inside}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    same(load_gpt2(folder), model())
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(DataError, match=r"model-00002-of-00002\.safetensors"):
        load_gpt2(folder)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"wte.weight": "../elsewhere"}}))
    with pytest.raises(DataError, match=r"must name files of this folder, got '\.\./elsewhere'"):
        load_gpt2(folder)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_dtypes_become_float32(folder: Path, dtype: Any) -> None:
    changed(folder, lambda tensors: tensors.update({name: array.astype(dtype) for name, array in tensors.items()}))
    read = load_gpt2(folder)
    assert {array.dtype for array in read.parameters()} == {np.dtype(np.float32)}
    np.testing.assert_allclose(read.wte.weight, model().wte.weight, atol=1e-4)


def test_bfloat16(folder: Path) -> None:
    """Each number is float32 whose lower half is 0; as the hub has many models."""
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    halves = {name: (array.view(np.uint32) >> 16).astype("<u2") for name, array in tensors.items()}
    header, place = dict[str, Any](), 0
    for name, array in halves.items():
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header).encode()
    numbers = b"".join(array.tobytes() for array in halves.values())
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + numbers)
    for own, array in model().named_parameters().items():
        cut = (array.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        np.testing.assert_array_equal(load_gpt2(folder).named_parameters()[own], cut, err_msg=own)


def test_either_name_of_the_activation(folder: Path) -> None:
    """transformers has GELU by tanh under two names."""
    configured(folder, activation_function="gelu_pytorch_tanh")
    same(load_gpt2(folder), model())


def test_the_end_of_a_text_is_a_token_of_the_model(folder: Path, tmp_path: Path) -> None:
    """Without a word of it, transformers takes the number that it has in GPT-2's own vocabulary."""
    config = json.loads((folder / "config.json").read_text())
    assert (config["bos_token_id"], config["eos_token_id"]) == (None, None)
    save_gpt2(GPT2(50257, 4, 4, 1, 1, rng=np.random.default_rng(0)), tmp_path / "wide")
    config = json.loads((tmp_path / "wide" / "config.json").read_text())
    assert (config["bos_token_id"], config["eos_token_id"]) == (50256, 50256)


def swap(name: str, array: Any) -> Callable[[Tensors], Any]:
    return lambda tensors: tensors.update({name: array})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tensors: tensors.pop("transformer.ln_f.bias"), "ln_f.bias is missing"),
        (swap("transformer.h.7.ln_1.bias", np.zeros(8, np.float32)), "transformer.h.7.ln_1.bias is none of GPT-2's"),
        (
            swap("transformer.h.0.mlp.c_fc.weight", np.zeros((32, 8), np.float32)),
            r"transformer.h.0.mlp.c_fc.weight must have shape \(8, 32\), and has \(32, 8\)",
        ),
        (
            swap("transformer.wpe.weight", np.zeros((6, 8), np.int64)),
            "transformer.wpe.weight must be float32, float16, bfloat16 or float64, and is int64",
        ),
        (swap("lm_head.weight", np.zeros((11, 8), np.float32)), "lm_head.weight must equal wte.weight"),
        (
            swap("lm_head.weight", np.zeros((10, 8), np.float32)),
            r"lm_head.weight must have shape \(11, 8\), and has \(10, 8\)",
        ),
        (lambda tensors: tensors.clear(), "n_layer=2 needs 28 tensors, got 0"),
    ],
)
def test_wrong_tensors(folder: Path, change: Callable[[Tensors], Any], says: str) -> None:
    changed(folder, change)
    with pytest.raises(DataError, match=says) as caught:
        load_gpt2(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"vocab_size": 12}, r"wte.weight must have shape \(12, 8\), and has \(11, 8\)"),
        ({"n_layer": 10**9}, "n_layer=1000000000 needs"),
        ({"n_layer": 1}, "is none of GPT-2's"),
        ({"n_head": 3}, "n_head"),
        ({"n_embd": "8"}, 'n_embd: must be a positive integer, got "8"'),
        ({"n_embd": True}, "must be a positive integer, got true"),
        ({"n_positions": None}, "n_positions"),
        ({"n_inner": 16}, "n_inner: must be null or 32, got 16"),
        ({"activation_function": "relu"}, 'activation_function: must be "gelu_new", got "relu"'),
        ({"activation_function": "gelu"}, 'activation_function: must be "gelu_new", got "gelu"'),
        ({"model_type": "llama"}, 'model_type: must be "gpt2", got "llama"'),
        ({"tie_word_embeddings": False}, "tie_word_embeddings: must be true, got false"),
    ],
)
def test_wrong_configs(folder: Path, values: dict[str, Any], says: str) -> None:
    configured(folder, **values)
    with pytest.raises(DataError, match=says):
        load_gpt2(folder)


def test_damaged_files(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    for broken in (content[:-1], content[:100], b"", b"\xff" * 64, content + b"0"):
        weights.write_bytes(broken)
        with pytest.raises(DataError, match=r"model\.safetensors: must be a whole safetensors file"):
            load_gpt2(folder)
    weights.write_bytes(content)
    for text in ("", "[]", "{", "[" * 100_000):
        (folder / "config.json").write_text(text)
        with pytest.raises(DataError, match=r"config\.json: must hold one JSON object"):
            load_gpt2(folder)
    for missing in (tmp_path_factory.mktemp("empty"), folder / "nowhere"):
        with pytest.raises(DataError, match=missing.name):
            load_gpt2(missing)


def test_saving_refuses_what_is_no_gpt2(tmp_path: Path) -> None:
    other: Any = object()
    with pytest.raises(ArgumentError, match="model is a GPT2, got object"):
        save_gpt2(other, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="must be writable"):
        save_gpt2(model(), tmp_path / "file")
