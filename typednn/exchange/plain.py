"""Parameters and buffers without a format of their own: as JSON, and as their raw numbers. Both are read into a model
that is handed in.

JSON    a table for each module: "param.NAME" and "buffer.NAME" are its arrays, as lists of rows, "layer.NAME" the
        modules in it {"layer.fc1": {"param.weight": [[0.5, -0.25]], "param.bias": [0.0]}}
bin     the numbers of ``state_dict()``, array after array in its order, row by row, little-endian, each in its own
        dtype; nothing else

What is written, read and written again is the same file, byte by byte: JSON has as many digits as a number needs.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast, final

import numpy as np

from typednn.arrays import is_floating
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, DataError, DefinitionError, StateDictError, explain, listed
from typednn.exchange.checked import check_model
from typednn.files import opened, path_of, write_whole
from typednn.module import delegation
from typednn.module.module import Module

M = TypeVar("M", bound=Module)

_LAYER: Final = "layer"
_KINDS: Final[Mapping[str, str]] = {"parameter": "param", "buffer": "buffer"}
_CURE: Final = "hand in the model that was saved"


@final
@dataclass(frozen=True, slots=True)
class _Field:
    """One array of a model: where it stands in the tables, its shape and its dtype."""

    keys: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def where(self) -> str:
        return ".".join(self.keys)


def export_json(model: Module, path: str | os.PathLike[str]) -> Path:
    """Write the arrays of ``model`` as JSON; the path of the file.

    `NotInitialised` before ``init``; an `ArgumentError` for NaN and infinity, which JSON has not; a `DataError` where
    it cannot be written.
    """
    place = path_of("export_json", path)
    check_model("export_json", model)
    state, whole = model.state_dict(), dict[str, Any]()
    for name, field in _fields(model).items():
        array = np.asarray(to_numpy(state[name]))
        if is_floating(array.dtype) and not np.isfinite(array).all():
            got = f"NaN or infinity in {name!r}"
            raise ArgumentError(
                explain("export_json", "JSON has finite numbers only", got, "export_bin writes any"), "model"
            )
        table = whole
        for key in field.keys[:-1]:
            table = table.setdefault(key, {})
        table[field.keys[-1]] = array.tolist()
    write_whole(place, json.dumps(whole, separators=(",", ":"), allow_nan=False).encode() + b"\n")
    return place


def load_json(path: str | os.PathLike[str], model: M) -> M:
    """Fill ``model`` with the arrays of a file that `export_json` wrote, and return it.

    A `DataError` where the file is no such JSON, a `StateDictError` that lists keys that are unknown, missing, or of
    another shape. After an error ``model`` is as it was.
    """
    check_model("load_json", model)
    with opened("load_json", path) as file:
        where, content = file.where, bytes(file.exactly(file.stream, file.size))
    try:
        whole: object = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        got = str(error).partition("\n")[0][:80]
        raise DataError(explain(where, "must be JSON, as export_json writes it", got)) from None
    if not isinstance(whole, dict):
        raise DataError(explain(where, "must be one JSON object", type(whole).__name__))
    fields = _fields(model)
    known = {field.keys for field in fields.values()}
    tables = {keys[:depth] for keys in known for depth in range(len(keys))}
    found, problems = dict[tuple[str, ...], Any](), list[str]()
    _walk((), cast("dict[str, Any]", whole), known, tables, found, problems)
    arrays: dict[str, Any] = {}
    for name, field in fields.items():
        if field.keys not in found:
            problems.append(f"{field.where!r} is missing")
            continue
        array = _numbers(found[field.keys], field)
        if isinstance(array, str):
            problems.append(f"{field.where!r} must be {array}")
        arrays[name] = array
    if problems:
        raise StateDictError(
            explain(where, f"must hold the arrays of {model.label()}", listed(problems, "; ", 3), _CURE)
        )
    model.load_state_dict(arrays)
    return model


def export_bin(model: Module, path: str | os.PathLike[str]) -> Path:
    """Write the numbers of ``model``; the path of the file. `NotInitialised` before ``init``, a `DataError` where it
    cannot be written.
    """
    place = path_of("export_bin", path)
    check_model("export_bin", model)
    state = model.state_dict()
    fields = _fields(model)
    arrays = [np.asarray(to_numpy(state[name])) for name in fields]
    write_whole(place, b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays))
    return place


def load_bin(path: str | os.PathLike[str], model: M) -> M:
    """Fill ``model`` with the numbers of a file that `export_bin` wrote, and return it.

    A `DataError` where bytes are left over, or missing; then ``model`` is as it was. The file does not say whose
    numbers it has.
    """
    check_model("load_bin", model)
    fields = _fields(model)
    with opened("load_bin", path) as file:
        place = 0
        for field in fields.values():
            size = field.dtype.itemsize * math.prod(field.shape)
            if place + size > file.size:
                got = f"{file.size:,} bytes, which end in or before {field.where!r}, of {size:,} at byte {place:,}"
                raise DataError(explain(file.where, f"must hold all numbers of {model.label()}", got, _CURE))
            place += size
        if place < file.size:
            got = f"{file.size - place:,} bytes more"
            raise DataError(explain(file.where, f"must end behind the {place:,} bytes of {model.label()}", got, _CURE))
        arrays: dict[str, Any] = {}
        for name, field in fields.items():
            numbers = file.exactly(file.stream, field.dtype.itemsize * math.prod(field.shape))
            arrays[name] = (
                np.frombuffer(numbers, field.dtype.newbyteorder("<")).astype(field.dtype).reshape(field.shape)
            )
    model.load_state_dict(arrays)
    return model


def _fields(model: Module) -> dict[str, _Field]:
    """The arrays of ``state_dict()`` in its order, of a model that may not be initialised yet."""
    fields: dict[str, _Field] = {}
    for name, module, field, cell in model.named_fields("parameter", "buffer"):
        dtype = field.dtype(module) if cell.array is None else cell.array.dtype
        fields[name] = _Field(_keys(name, _KINDS[field.kind]), field.shape(module), np.dtype(dtype))
    for path, part in delegation.foreign_parts(model):
        state: Mapping[str, Any] = part.require("state_dict")()
        try:
            learnt: Iterable[str] = part.require("named_parameters")()
        except DefinitionError:  # it doesn't say which of them it learns
            learnt = state
        for name, array in state.items():
            host, whole = np.asarray(to_numpy(array)), f"{path}.{name}" if path else name
            fields[whole] = _Field(
                _keys(whole, _KINDS["parameter" if name in learnt else "buffer"]), host.shape, host.dtype
            )
    return fields


def _keys(name: str, kind: str) -> tuple[str, ...]:
    """``fc1.weight`` as ``("layer.fc1", "param.weight")``."""
    *holders, own = name.split(".")
    return (*(f"{_LAYER}.{holder}" for holder in holders), f"{kind}.{own}")


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON, in which each key stands once."""
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {key!r} twice")
        table[key] = value
    return table


def _walk(
    above: tuple[str, ...],
    table: Mapping[str, Any],
    known: set[tuple[str, ...]],
    tables: set[tuple[str, ...]],
    found: dict[tuple[str, ...], Any],
    problems: list[str],
) -> None:
    """Gather the arrays below ``above``, and the keys that the model has not."""
    for key, value in table.items():
        keys = (*above, key)
        if keys in known:
            found[keys] = value
        elif keys in tables and isinstance(value, dict):
            _walk(keys, cast("dict[str, Any]", value), known, tables, found, problems)
        else:
            rule = "must be a table" if keys in tables else "is an unknown key"
            problems.append(f"{'.'.join(keys)[:80]!r} {rule}")


def _numbers(value: Any, field: _Field) -> Any:
    """The array in a JSON value; a text says what it must be."""
    kind = (
        "of true and false"
        if field.dtype == np.bool_
        else "of numbers"
        if is_floating(field.dtype)
        else f"of whole numbers in {field.dtype}"
    )
    rule = f"lists {kind} of shape {field.shape}"
    try:
        array = np.array(value)
    except (ValueError, OverflowError):  # rows of unequal length
        return rule
    fits = (
        array.dtype.kind == "b"
        if field.dtype == np.bool_
        else array.dtype.kind in ("iuf" if is_floating(field.dtype) else "iu")
    )
    if array.shape != field.shape or (array.size and not fits):
        return rule
    # NumPy reads true beside numbers as 1
    if field.dtype != np.bool_ and bool in map(type, np.array(value, object).ravel()):
        return rule
    with np.errstate(over="ignore"):
        cast_to: Any = array.astype(field.dtype)
    if is_floating(field.dtype):
        return cast_to if np.isfinite(cast_to).all() else f"{rule}, which {field.dtype} can hold"
    return cast_to if np.array_equal(cast_to, array) else rule
