"""Weights of GPT-2 in a folder, as Hugging Face's `transformers` writes and reads them.

    config.json                      sizes: vocab_size, n_positions, n_embd, n_layer, n_head
    model.safetensors                or, in pieces, model.safetensors.index.json and the files that it names

file, behind "transformer." or nothing        here                                 stored there as
wte.weight, wpe.weight, ln_f.*                the same
h.I.ln_1.*, h.I.ln_2.*                        h.copies.I.ln_1.*, ….ln_2.*
h.I.attn.c_attn.*, h.I.attn.c_proj.*          h.copies.I.attn.in_proj_*, ….out_proj_*      weights (in, out)
h.I.mlp.c_fc.*, h.I.mlp.c_proj.*              h.copies.I.c_fc.*, ….c_proj.*                weights (in, out)
lm_head.weight                                wte.weight, which it must equal
h.I.attn.bias, h.I.attn.masked_bias           nothing: masks of older versions

Source: `transformers`, modeling_gpt2.py: its `Conv1D` keeps weights as (in, out).
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from typednn.arrays import is_floating
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import json_of, path_of, read_object, write_whole
from typednn.models.gpt2 import GPT2
from typednn.models.hub import local_folder
from typednn.tensor_files import TensorFile, read_header, write_tensors

CONFIG, WHOLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
SIZES: Final = ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")
# What else a config may say of the arithmetic, and the one value of it that `GPT2` computes; GELU by tanh has two
# names.
FIXED: Final[Mapping[str, Any]] = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "tie_word_embeddings": True,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}
_SAME: Final[Mapping[str, Any]] = {"activation_function": "gelu_pytorch_tanh"}
_END = 50256  # the token that ends a text, of GPT-2's own vocabulary
_MASK = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")
_TRANSPOSED = re.compile(r"(c_attn|c_proj|c_fc)\.weight$")


def load_gpt2(folder: str | Path) -> GPT2:
    """The model in ``folder``, or in ``hf://owner/name``, in float32, ready for ``forward``; a `DataError` names the
    tensor, and what it should be.

    Dtypes are float32, float16, bfloat16 or float64. Nothing is allocated before all names and shapes are right.
    """
    place = local_folder("load_gpt2", folder)
    sizes = sizes_of(place)
    files = [read_header("load_gpt2", path) for path in _files(place)]
    where = {name: file for file in files for name in file.tensors}
    own = {_own_name(name): name for name in where if not _MASK.fullmatch(_bare(name))}
    if len(own) < 12 * sizes["n_layer"]:  # before as many layers are made
        raise DataError(
            explain(
                str(place / CONFIG),
                f"n_layer={sizes['n_layer']} needs {12 * sizes['n_layer'] + 4} tensors",
                str(len(own)),
            )
        )
    try:
        model: GPT2 = GPT2(*(sizes[name] for name in SIZES))
    except ArgumentError as error:
        raise DataError(explain(str(place / CONFIG), "must be sizes of a GPT-2", str(error))) from None
    shapes = model.parameter_shapes()
    head = own.pop("lm_head.weight", None)
    problems = [f"{name} is missing" for name in map(_file_name, shapes) if _own_name(name) not in own]
    problems += [f"{own[name]} is none of GPT-2's" for name in own if name not in shapes]
    for name in shapes.keys() & own.keys():
        problems += _misfits(where[own[name]], own[name], shapes[name])
    if head is not None:
        problems += _misfits(where[head], head, shapes["wte.weight"])
    if problems:
        more = f", and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise DataError(
            explain(
                str(place), "must hold the tensors that config.json describes", "; ".join(sorted(problems)[:3]) + more
            )
        )
    state = {name: _array(where[own[name]], own[name]) for name in shapes}
    if head is not None and not np.array_equal(_array(where[head], head), state["wte.weight"], equal_nan=True):
        raise DataError(
            explain(str(where[head].path), f"{head} must equal wte.weight: the head is tied", "other numbers")
        )
    model.load_state_dict(state)
    return model


def save_gpt2(model: GPT2, folder: str | Path) -> None:
    """Write ``config.json`` and ``model.safetensors`` in float32; ``GPT2LMHeadModel.from_pretrained(folder)`` reads
    them.
    """
    if not isinstance(model, GPT2):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(explain("save_gpt2", "model is a GPT2", type(model).__name__), "model")
    if not model.tie_word_embeddings:
        raise ArgumentError(
            explain("save_gpt2", "the head is the embedding, as GPT-2's is", "a head of its own"), "model"
        )
    place = path_of("save_gpt2", folder)
    sizes = {name: getattr(model, name) for name in SIZES}
    end = dict.fromkeys(("bos_token_id", "eos_token_id"), _END if model.vocab_size > _END else None)
    config = {"architectures": ["GPT2LMHeadModel"], **FIXED, **sizes, **end}
    arrays: dict[str, Any] = {}
    for name, array in model.named_parameters().items():
        stored = _file_name(name)
        numbers = np.asarray(to_numpy(array), np.float32)
        arrays[f"transformer.{stored}"] = np.ascontiguousarray(numbers.T if _TRANSPOSED.search(stored) else numbers)
    write_tensors(place / WHOLE, arrays, {"format": "pt"})
    write_whole(place / CONFIG, json.dumps(config, indent=2).encode())


def sizes_of(place: Path) -> dict[str, int]:
    """The constructor's arguments, from a folder's config.json."""
    if not os.path.isdir(place):  # also where the name is too long for the system
        raise DataError(explain(str(place), f"must be a folder with {CONFIG} and {WHOLE}", "no folder"))
    path = place / CONFIG
    config = read_object("load_gpt2", path)
    for name, only in FIXED.items():
        if config.get(name, only) not in (only, _SAME.get(name, only)):
            raise DataError(explain(f"{path}, {name}", f"must be {json.dumps(only)}", json_of(config[name])))
    for name in SIZES:
        if not isinstance(config.get(name), int) or isinstance(config[name], bool) or config[name] < 1:
            raise DataError(explain(f"{path}, {name}", "must be a positive integer", json_of(config.get(name))))
    inner = config.get("n_inner")
    if inner is not None and inner != 4 * config["n_embd"]:
        raise DataError(explain(f"{path}, n_inner", f"must be null or {4 * config['n_embd']}", json_of(inner)))
    return {name: config[name] for name in SIZES}


def _files(place: Path) -> list[Path]:
    """The files that hold the tensors: one, or those of the index."""
    if (place / WHOLE).exists() or not (place / INDEX).exists():
        return [place / WHOLE]
    table = read_object("load_gpt2", place / INDEX).get("weight_map")
    if not isinstance(table, dict):
        raise DataError(explain(f"{place / INDEX}, weight_map", "must be an object", "something else"))
    names = sorted({str(name) for name in table.values()})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    outside = next((name for name in names if Path(name).name != name), None)
    if outside is not None:
        raise DataError(explain(f"{place / INDEX}, weight_map", "must name files of this folder", repr(outside[:80])))
    return [place / name for name in names]


def _misfits(file: TensorFile, name: str, shape: tuple[int, ...]) -> list[str]:
    """What is wrong with a tensor: its shape, or its dtype."""
    expected = shape[::-1] if _TRANSPOSED.search(name) else shape
    found = file.tensors[name]
    if found.shape != expected:
        return [f"{name} must have shape {expected}, and has {found.shape}"]
    if isinstance(found.dtype, str) or not is_floating(found.dtype):
        return [f"{name} must be float32, float16, bfloat16 or float64, and is {found.dtype}"]
    return []


def _array(file: TensorFile, name: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    array = file.arrays([name])[name]
    return np.ascontiguousarray(array.T if _TRANSPOSED.search(name) else array, dtype=np.float32)


def _bare(name: str) -> str:
    return name.removeprefix("transformer.")


def _own_name(name: str) -> str:
    """``transformer.h.0.attn.c_attn.weight`` to ``h.copies.0.attn.in_proj_weight``."""
    own = re.sub(r"^h\.(\d+)\.", r"h.copies.\1.", _bare(name)).replace(".mlp.", ".")
    return own.replace("attn.c_attn.", "attn.in_proj_").replace("attn.c_proj.", "attn.out_proj_")


def _file_name(own: str) -> str:
    """``h.copies.0.attn.in_proj_weight`` to ``h.0.attn.c_attn.weight``."""
    name = re.sub(r"\.(c_fc|c_proj)\.", r".mlp.\1.", own.replace("h.copies.", "h."))
    return name.replace("attn.in_proj_", "attn.c_attn.").replace("attn.out_proj_", "attn.c_proj.")
