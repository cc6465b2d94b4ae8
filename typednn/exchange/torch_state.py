"""State dictionaries of PyTorch: the same arrays under PyTorch's names and in its layouts, both ways.

========================  =====================================  =======================================================
layer                     here                                   in PyTorch
========================  =====================================  =======================================================
Conv2d, ConvTranspose2d   weight, channels last                  weight, the channels before height and width
Conv1d                    weight, channels last                  weight, the channels before time
RNN, GRU, LSTM            weight_ih, weight_hh, bias_ih, …       weight_ih_l0, weight_hh_l0, bias_ih_l0, …
MultiHeadAttention        out_proj_weight, out_proj_bias         out_proj.weight, out_proj.bias
PReLU                     slope                                  weight
Dropout, and attention's  seed                                   nothing: PyTorch draws from another generator
behind a Flatten    of an image: height, width, channels
channels, height, width: columns of a Linear, and the features of a
                                                                 normalisation, change places
========================  =====================================  =======================================================

All else has PyTorch's names and layouts. What is flattened is found by tracing the model (`typednn.exchange.tracing`).
A sequence that is flattened has its channels first in PyTorch where it comes from a Conv1d, and features last
elsewhere.

Files are safetensors, or ``.pt``, ``.pth`` and ``.bin`` of ``torch.save``, which are read by
``torch.load(weights_only=True)`` alone: it builds arrays and runs nothing.
"""

from __future__ import annotations

import copy
import io
import math
import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, cast, final

import numpy as np

from typednn import layers
from typednn.arrays import is_floating
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, DataError, StateDictError, explain, listed, optional
from typednn.exchange.checked import check_model
from typednn.exchange.onnx.layers import LAYERS
from typednn.exchange.tracing import Node, Traced, example, is_leaf, trace
from typednn.files import opened, path_of, write_whole
from typednn.layer import Elementwise
from typednn.models.resnet import torchvision_names
from typednn.module.module import Module
from typednn.random import Zeros
from typednn.tensor_files import TensorHeader, read_header, write_tensors

M = TypeVar("M", bound=Module)
Array = np.ndarray[Any, Any]

PICKLED: Final = (".pt", ".pth", ".bin")


@final
@dataclass(slots=True)
class _Entry:
    """One array: PyTorch's names for it, and how its layout differs."""

    names: list[str]
    shape: tuple[int, ...]
    window: bool = False  # channels are last here, and at axis 1 there
    order: Array | None = None  # the place here of each feature there, along the last axis

    @property
    def there(self) -> tuple[int, ...]:
        """Its shape in PyTorch."""
        return (self.shape[0], self.shape[-1], *self.shape[1:-1]) if self.window else self.shape

    def exported(self, array: Array) -> Array:
        """As PyTorch has it."""
        array = np.moveaxis(array, -1, 1) if self.window else array
        return np.ascontiguousarray(array if self.order is None else array[..., self.order]).reshape(self.there)

    def imported(self, array: Array, dtype: Any) -> Array:
        """As it stands here."""
        array = np.moveaxis(array, 1, -1) if self.window else array
        if self.order is not None:
            array = array[..., np.argsort(self.order)]
        return np.asarray(
            array, dtype if is_floating(array.dtype) and is_floating(np.dtype(dtype)) else array.dtype, order="C"
        )


def export_torch(model: Module, path: str | os.PathLike[str], inputs: Any = None) -> Path:
    """Write the parameters and buffers of ``model`` as PyTorch's counterpart of it names and lays them out; the path of
    the file.

    A file ``*.pt`` or ``*.pth`` is written by ``torch.save``, any other as safetensors. ``inputs``: an example batch,
    which a model needs that flattens and declares no input. An `ArgumentError` names a layer whose features have no
    order of PyTorch's.
    """
    place = path_of("export_torch", path)
    check_model("export_torch", model)
    state = model.state_dict()
    arrays: dict[str, Array] = {}
    for own, entry in _entries("export_torch", model, inputs).items():
        array = entry.exported(np.asarray(to_numpy(state[own])))
        arrays.update(dict.fromkeys(entry.names, array))
    if place.suffix in PICKLED:
        torch = _torch("export_torch")
        content = io.BytesIO()
        torch.save({name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, content)
        write_whole(place, content.getvalue())
    else:
        write_tensors(place, arrays, {"format": "pt"})
    return place


def load_torch(path: str | os.PathLike[str], model: M, inputs: Any = None) -> M:
    """Fill ``model`` with a state dictionary of PyTorch's counterpart of it, and return it.

    Floats of another precision become the model's. All names and shapes are compared before anything is changed; a
    `StateDictError` lists what does not fit, a `DataError` tells what is no such file. ``inputs`` as in `export_torch`.
    """
    check_model("load_torch", model)
    place = path_of("load_torch", path)
    file = _File(place, model, inputs)
    known = {name for entry in file.entries.values() for name in entry.names}
    problems = [*file.problems.values(), *(f"unexpected {name!r}" for name in file.found if name not in known)]
    if problems:
        rule, cure = (
            f"must hold the state dictionary of {model.label()} in PyTorch",
            "names are those of model.state_dict()",
        )
        raise StateDictError(explain(str(place), rule, listed(problems, "; ", 3), cure))
    state: dict[str, Any] = {}
    for own, module, field, cell in model.named_fields("parameter", "buffer"):
        dtype = field.dtype(module)
        if file.chosen.get(own) is not None:
            state[own] = file.array(own, dtype)
        elif cell.array is not None:  # what PyTorch has no counterpart of stays
            state[own] = to_numpy(cell.array).astype(dtype)
        else:  # or is as ``init`` would begin it
            begin = module.__typednn_storage__.initialisers.get(field.name, Zeros())
            state[own] = np.asarray(begin(np.random.default_rng(0), field.shape(module), module.fans())).astype(dtype)
    model.load_state_dict(state)
    return model


def torch_arrays(path: str | os.PathLike[str], model: Module) -> tuple[dict[str, Array], dict[str, str]]:
    """Of a state dictionary of PyTorch, the arrays that fit ``model`` by name and shape, by their names here; and why
    others do not.
    """
    file = _File(path_of("torch_arrays", path), model, None)
    fields = model.named_fields("parameter", "buffer")
    fitting = {own for own, name in file.chosen.items() if name is not None} - file.problems.keys()
    return {own: file.array(own, field.dtype(part)) for own, part, field, _ in fields if own in fitting}, file.problems


class _File:
    """What a file holds for a model: which of its arrays are which of the model's, and what does not fit.

    ``num_batches_tracked`` may be missing, as in files of PyTorch before 0.4.1. A ResNet's names may be torchvision's.
    """

    def __init__(self, place: Path, model: Module, inputs: Any) -> None:
        self.found, self._read = _pickled(place) if place.suffix in PICKLED else _safetensors(place)
        self.entries: dict[str, _Entry] = _entries("load_torch", model, inputs)
        published = torchvision_names(model)
        for own, entry in self.entries.items():
            layer, _, name = own.rpartition(".")
            if layer in published:
                entry.names.append(f"{published[layer]}.{name}")
        self.chosen: dict[str, str | None] = {
            own: next((name for name in entry.names if name in self.found), None) for own, entry in self.entries.items()
        }
        self.problems: dict[str, str] = {}  # by the model's names
        for own, chosen in self.chosen.items():
            there = self.entries[own].there
            if chosen is None and not own.endswith("num_batches_tracked"):
                self.problems[own] = f"missing {self.entries[own].names[0]!r}"
            elif chosen is not None and self.found[chosen].shape != there:
                self.problems[own] = f"{chosen!r} has shape {self.found[chosen].shape}, and must have {there}"
            elif chosen is not None and isinstance(self.found[chosen].dtype, str):
                self.problems[own] = f"{chosen!r} is {self.found[chosen].dtype}, which NumPy has not; convert it"

    def array(self, own: str, dtype: Any) -> Array:
        """The array of the model's name ``own``, as it stands here."""
        return self.entries[own].imported(self._read(self.chosen[own] or own), dtype)


# ------------------------------------------------------------------ names and layouts


def _entries(where: str, model: Module, inputs: Any) -> dict[str, _Entry]:
    """Each array of the model that PyTorch has too, under its name here."""
    shared = {names[0]: names for names in model.shared_parameters()}
    entries: dict[str, _Entry] = {}
    holders: dict[str, Module] = dict(model.named_modules())
    for path, module, field, _ in model.named_fields("parameter", "buffer"):
        names = [_name(holders, name) for name in shared.get(path, (path,))]
        if names[0] is not None:
            entries[path] = _Entry(
                [name for name in names if name],
                field.shape(module),
                field.name == "weight" and any(LAYERS[each].window for each in type(module).__mro__ if each in LAYERS),
            )
    if any(type(layer) in (layers.Flatten, layers.Reshape) for layer in holders.values()):
        if any(cell.array is None for *_, cell in model.named_fields("parameter", "buffer")):
            model = copy.deepcopy(model).init(np.random.default_rng(0))  # numbers of its own, to be traced
        for path, order in _orders(where, model, inputs).items():
            if path in entries:
                entries[path].order = order
    return entries


def _name(holders: Mapping[str, Module], path: str) -> str | None:
    """PyTorch's name of the array at ``path``."""
    holder, _, own = path.rpartition(".")
    row = LAYERS.get(type(holders[holder]))
    name = own if row is None else row.torch.get(own, own)
    return None if name is None else f"{holder}.{name}" if holder else name


@final
@dataclass(slots=True)
class _Features:
    """How the numbers of a sample lie in PyTorch: channels before the other axes, or of a row the place here of each
    number there.
    """

    first: bool = False
    order: Array | None = None
    given: bool = False  # whether it is an input of the model, which is handed in as each library reads it


def _orders(where: str, model: Module, inputs: Any) -> dict[str, Array]:
    """Of each array whose last axis are features in another order than PyTorch's, the place here of
    each feature there.
    """
    found = trace(model, example(where, model, inputs), is_leaf)
    known: dict[int, _Features] = {id(value): _Features(first=value.ndim == 4, given=True) for value in found.inputs}
    orders: dict[str, Array] = {}
    for node in found.nodes:
        given = [known[id(each)] for each in node.inputs if isinstance(each, Traced)]
        known[id(node.output)] = _after(where, node, given, orders)
    return orders


def _after(where: str, node: Node, given: list[_Features], orders: dict[str, Array]) -> _Features:
    """What comes out of a node; ``orders`` gets those of its arrays."""
    layer: Any = node.what
    row, x = LAYERS.get(type(node.what)), given[0]
    features = () if row is None else row.features
    x_value = next(each for each in node.inputs if isinstance(each, Traced))
    flattens = isinstance(layer, layers.Flatten) or (isinstance(layer, layers.Reshape) and len(layer.shape) == 1)
    if flattens and node.output.ndim == 2 and x_value.ndim > 2:
        sizes = x_value.shape[1:]
        return _Features(
            order=np.moveaxis(np.arange(math.prod(sizes)).reshape(sizes), -1, 0).ravel() if x.first else None
        )
    if x.order is None and all(each.order is None for each in given):
        if isinstance(layer, layers.Reshape) and node.output.ndim == 4 and not x.given:
            _refuse(where, node, "a row that becomes an image has its channels first in PyTorch")
        keeps = isinstance(layer, layers.BatchNorm1d | layers.Dropout) or (
            isinstance(layer, Elementwise) and not features
        )
        return _Features(first=node.output.ndim == 4 or isinstance(layer, layers.Conv1d) or (keeps and x.first))
    for name in features:
        _note(where, node, orders, name, x.order)
    if features:
        return _Features() if isinstance(layer, layers.Linear | layers.SequenceLinear) else x
    same = all(each.order is not None and x.order is not None and np.array_equal(each.order, x.order) for each in given)
    if same and (isinstance(layer, Elementwise) or (isinstance(layer, str) and node.output.shape == x_value.shape)):
        return x
    _refuse(
        where,
        node,
        "what reads the features of a flattened image is a Linear, a normalisation, or works number by number",
    )


def _note(where: str, node: Node, orders: dict[str, Array], name: str, order: Any) -> None:
    path = f"{node.path}.{name}" if node.path else name
    if not np.array_equal(orders.setdefault(path, order), order):
        _refuse(where, node, "an array has one order")


def _refuse(where: str, node: Node, rule: str) -> NoReturn:
    what = node.what.label() if isinstance(node.what, Module) else f"numpy.{node.what}"
    raise ArgumentError(
        explain(f'{where}, layer "{node.path}"', rule, what, "convert it by hand: `typednn docs exchange`"), "model"
    )


# ------------------------------------------------------------------ files


def _safetensors(place: Path) -> tuple[Mapping[str, TensorHeader], Callable[[str], Array]]:
    file = read_header("load_torch", place)
    return file.tensors, lambda name: file.arrays([name])[name]


def _pickled(place: Path) -> tuple[Mapping[str, TensorHeader], Callable[[str], Array]]:
    """The tensors in a file of ``torch.save``, read by the loader that builds tensors and nothing else."""
    torch = _torch("load_torch")
    with opened("load_torch", place) as file:
        file.take(file.size)
        _refuse_packed(place, file.stream, file.size)
        try:
            table: object = torch.load(place, map_location="cpu", weights_only=True)
        except Exception as error:  # of pickle, zip files and of PyTorch itself, for whatever a file may hold
            got = str(error).strip().partition("\n")[0][:120] or type(error).__name__
            cure = "save the weights alone: torch.save(model.state_dict(), path)"
            raise DataError(
                explain(str(place), "must be a state dictionary that torch.load(weights_only=True) reads", got, cure)
            ) from None
        rule, cure = "must be a dictionary of tensors by name", "save model.state_dict(), and nothing around it"
        if not isinstance(table, dict):
            raise DataError(explain(str(place), rule, type(table).__name__, cure))
        headers: dict[str, TensorHeader] = {}
        arrays: dict[str, Array] = {}
        for name, value in cast("dict[object, Any]", table).items():
            if not isinstance(name, str) or not isinstance(value, torch.Tensor):
                raise DataError(explain(str(place), rule, f"{name!r}, a {type(value).__name__}"[:120], cure))
            shape = tuple(map(int, value.shape))
            file.take(math.prod(shape) * 4)  # a view may repeat what is stored, and is written out below
            try:
                strided = value.float() if value.dtype == torch.bfloat16 and value.layout == torch.strided else value
                arrays[name] = strided.detach().resolve_conj().resolve_neg().numpy()
                headers[name] = TensorHeader(arrays[name].shape, arrays[name].dtype)
            except (TypeError, RuntimeError):
                # numbers that NumPy has not, tensors without numbers, quantised or sparse ones
                kind = "meta" if value.is_meta else str(value.layout)
                headers[name] = TensorHeader(shape, f"{value.dtype}, {kind}".removesuffix(", torch.strided"))
    return headers, arrays.__getitem__


def _refuse_packed(place: Path, stream: Any, size: int) -> None:
    """A `DataError` for a zip file with entries that unpack to more than the file: ``torch.save`` stores them as they
    are.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, struct.error):
        return  # of an older PyTorch, or nothing that it reads
    packed = next((entry.filename for entry in entries if entry.compress_type != zipfile.ZIP_STORED), None)
    if packed is not None or sum(entry.file_size for entry in entries) > size:
        got = "more than the file holds" if packed is None else f"{packed[:80]!r}, which is compressed"
        raise DataError(explain(str(place), "holds its numbers as they are", got, "save it with torch.save"))


def _torch(where: str) -> Any:
    return optional(
        "torch", where, f"{', '.join(PICKLED)} needs the package torch", "pip install torch, or use safetensors"
    )
