"""A model in one file: safetensors, with what is needed to build the model in its metadata.

=========  ==========================================================================================================
key        text
=========  ==========================================================================================================
format     "typednn model"
version    of this format: 1
typednn    the version of typednn that wrote it
dtype      of the parameters: float16, float32 or float64
config     the model as a TOML config (`typednn.config.dumps`), where one describes it
rows       "true" where the model was a `Stack`, which reads rows; else it reads samples of the config's input
shapes     where there is a config: one sample that goes in and one that comes out, ``{"input": [28, 28, 1], "output":
           [10]}``
no config  where there is none: why
=========  ==========================================================================================================

The arrays are those of ``state_dict()``, under its names: parameters and buffers, such as a BatchNorm's statistics and
a Dropout's seed.

Reading a file imports nothing and runs nothing. Its header is compared with the model that its config describes, or
with the model that was handed in, before an array is made.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast, overload

import numpy as np

from typednn import config
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DataError, StackError, StateDictError, TypednnError, explain, listed
from typednn.exchange.checked import check_model
from typednn.files import path_of
from typednn.layer import Chain, FirstChain
from typednn.module.module import DTYPES, Module
from typednn.module.stack import Stack
from typednn.shapes import Flow
from typednn.tensor_files import TensorFile, TensorHeader, read_header, write_tensors
from typednn.version import __version__

FORMAT: Final = "typednn model"
VERSION: Final = 1

M = TypeVar("M", bound=Module)

# What a config describes.
Configured: TypeAlias = (
    "Stack[Any] | Chain[Any, Any, str, *tuple[Any, ...]] | FirstChain[Any, Any, str, *tuple[Any, ...]]"
)


_NAME = "name it model.safetensors"
_OTHER_FORMATS: Final = {
    **dict.fromkeys((".h5", ".hdf5", ".keras", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib"), _NAME),
    **{
        f".{name}": f"typednn.exchange.export_{name}(model, path) writes {name}, or {_NAME}"
        for name in ("onnx", "npz", "json", "bin")
    },
}


def save(model: Module, path: str | os.PathLike[str]) -> None:
    """Write ``model`` into one file, whole or not at all; `Module.save` calls this.

    `NotInitialised` before ``init``; an `ArgumentError` for the ending of another format, as ``.h5``; a `DataError`
    where the file cannot be written.
    """
    place = path_of("save", path)
    other = _OTHER_FORMATS.get(place.suffix.lower())
    if other is not None:
        rule = "writes safetensors: path can't have the ending of another format"
        raise ArgumentError(explain("save", rule, repr(place.name), other), "path")
    check_model("save", model)
    about = {"format": FORMAT, "version": str(VERSION), "typednn": __version__, "dtype": str(model.dtype)}
    write_tensors(place, model.state_dict(), about | _description(model))


@overload
def load(path: str | os.PathLike[str]) -> Configured: ...
@overload
def load(path: str | os.PathLike[str], model: M) -> M: ...
def load(path: str | os.PathLike[str], model: Module | None = None) -> Any:
    """The model in a file that ``model.save(path)`` wrote, ready for ``forward``, in training.

    A model that no config describes, such as one written by hand, is built by you and handed in: ``load(path,
    model=Net())``. It need not be initialised; where it is, its arrays get the file's numbers. Any safetensors file
    with the model's names will do then. Floats that the model's dtype holds exactly become that: bfloat16 and float16
    in a float32 model, any in a float64 model.

    A `DataError` where the file is no model of typednn, a `StateDictError` where its arrays are not those of the model.
    Nothing is allocated before all names, shapes and dtypes are right, and after an error ``model`` is as it was.
    """
    place = path_of("load", path)
    _refuse_name(place)
    file, given = read_header("load", place), model is not None
    if model is None:
        model = _built(file)
    check_model("load", model)
    wider = _wider(file.tensors, model.dtype) if given else {}
    problems = model.state_misfits(file.tensors | wider)
    if problems:
        rule = f"must hold the arrays of {model.label()}"
        raise StateDictError(
            explain(str(file.path), rule, listed(problems, "; ", 3), "hand in the model that was saved")
        )
    with np.errstate(invalid="ignore"):  # the processor complains of some of the NaNs there are
        arrays = {name: array.astype(model.dtype) if name in wider else array for name, array in file.arrays().items()}
    model.load_state_dict(arrays)
    return model


def _refuse_name(path: Path) -> None:
    """A `DataError` with a cure where ``path`` is no file, and the name of a data set or a model."""
    name = str(path).lower()
    if not name.isidentifier() or path.exists():
        return
    from typednn import models  # for mistakes alone
    from typednn.data.named import DATASETS

    cure = (
        f"typednn.data.load({name!r}) loads that data set"
        if name in DATASETS
        else f"typednn.models.{name} builds such a model"
        if name in models.__all__
        else ""
    )
    if cure:
        raise DataError(explain(str(path), "must be a file that model.save wrote", "no file of that name", cure))


def _wider(tensors: Mapping[str, TensorHeader], dtype: np.dtype[Any]) -> dict[str, TensorHeader]:
    """The floats that ``dtype`` holds exactly, as they are once they are of that dtype."""
    return {
        name: TensorHeader(found.shape, dtype)
        for name, found in tensors.items()
        if not isinstance(found.dtype, str) and is_floating(found.dtype) and np.can_cast(found.dtype, dtype)
    }


def _description(model: Any) -> dict[str, str]:
    """The entries of the metadata that say how to build ``model``, or why they do not."""
    try:
        text = config.dumps(model)
        config.loads(text, "model.toml")  # what is written can be read: a size may be known in code only
    except TypednnError as error:
        return {"no config": str(error)}
    shapes = {"input": model.sample.sizes, "output": _flow(model).sizes()}
    return {"config": text, "rows": json.dumps(isinstance(model, Stack)), "shapes": json.dumps(shapes)}


def _flow(model: Any) -> Flow:
    """The shapes of what comes out, for the declared input."""
    start: Flow = model.sample.flow
    end: Flow = model.trace_samples(start) if isinstance(model, Stack) else model.trace(start)
    return end


def _built(file: TensorFile) -> Configured:
    """The model that a file describes, nothing of it allocated."""
    where, about = str(file.path), file.metadata
    if about.get("format") != FORMAT:
        got, cure = (
            "a safetensors file of something else",
            "hand in the model that its arrays belong to: load(path, model=...)",
        )
        raise DataError(explain(where, f"must say format {FORMAT!r}", got, cure))
    version = about.get("version", "")
    if not (version.isascii() and version.isdecimal()) or not 1 <= int(version[:9]) <= VERSION:
        raise DataError(explain(where, f"this typednn reads version {VERSION}", repr(version[:80]), "update typednn"))
    if "config" not in about:
        got = f"none ({about.get('no config', 'no reason is given')[:300]})"
        raise DataError(
            explain(where, "needs the model's config", got, "build the model and hand it in: load(path, model=...)")
        )
    dtype = next((kind for kind in DTYPES if str(kind) == about.get("dtype")), None)
    if dtype is None:
        raise DataError(
            explain(where, f"its dtype must be {', '.join(map(str, DTYPES))}", repr(about.get("dtype"))[:80])
        )
    try:
        model = config.loads(about["config"], "config.toml").built()
        built: Any = model if not isinstance(model, Stack) or about.get("rows") == "true" else model.as_chain()
    except (TypednnError, StackError) as error:
        got = str(error).partition("\n")[0][:300]
        cure = "if it has layers of your own, import the module that registers them first"
        raise DataError(explain(where, "must hold the config of a model", got, cure)) from None
    return cast("Configured", built if dtype == np.float32 else built.astype(dtype))
