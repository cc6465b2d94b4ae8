"""tensor_files: safetensors. The header first, so that names, shapes and dtypes are judged before an array exists.

A file is a header in JSON, then the numbers of each array. Its metadata are texts by name. Reading one runs no code.
Every safetensors file is read and written here. BF16, which NumPy has not, is read as float32, which holds each of its
numbers exactly.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast, final

import numpy as np
import safetensors
import safetensors.numpy

from typednn.backends import to_numpy
from typednn.errors import DataError, explain
from typednn.files import opened, path_of, write_whole

# By the format's names, what they are read as. Of others, such as F8_E4M3, NumPy has none.
DTYPES: Final[Mapping[str, np.dtype[Any]]] = {
    "BF16": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U64": np.dtype(np.uint64),
    "U32": np.dtype(np.uint32),
    "U16": np.dtype(np.uint16),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}


@final
@dataclass(frozen=True, slots=True)
class TensorHeader:
    """What a file says of one array: the dtype that it is read as, or the format's own name where NumPy has no such
    numbers.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any] | str
    half: bool = False
    """Whether it is stored as BF16."""


@final
@dataclass(frozen=True, slots=True)
class TensorFile:
    """The header of a file that was read and checked: its arrays by name, and its metadata."""

    path: Path
    tensors: dict[str, TensorHeader]
    metadata: dict[str, str]

    def arrays(self, names: Iterable[str] | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays of these names, of all without; a `DataError` where the file is no longer what its header said."""
        try:
            chosen = [*(self.tensors if names is None else names)]
            halves = self._halves([name for name in chosen if self.tensors[name].half])
            with _safe_open(self.path) as file:
                return {name: halves[name] if name in halves else file.get_tensor(name) for name in chosen}
        except (safetensors.SafetensorError, OSError, AttributeError, TypeError, ValueError) as error:
            raise DataError(explain(str(self.path), "must be a whole safetensors file", str(error)[:80])) from None

    def _halves(self, names: list[str]) -> dict[str, np.ndarray[Any, Any]]:
        """Arrays of BF16, from the places that the header gives them."""
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        if names:
            with open(self.path, "rb") as file:
                length: int = struct.unpack("<Q", file.read(8))[0]
                header = json.loads(file.read(length))
                for name in names:
                    start, end = header[name]["data_offsets"]
                    file.seek(8 + length + start)
                    arrays[name] = _widened(file.read(end - start), self.tensors[name].shape)
        return arrays


def read_header(caller: str, path: object) -> TensorFile:
    """The header of the safetensors file at ``path``; a `DataError` where it is something else, or cut off."""
    place = path_of(caller, path)
    with opened(caller, place):  # a plain file that can be read
        pass
    try:
        with _safe_open(place) as file:
            tensors: dict[str, TensorHeader] = {}
            for name in file.keys():  # noqa: SIM118  # it is no dictionary
                tensor = file.get_slice(name)
                dtype: str = tensor.get_dtype()
                tensors[name] = TensorHeader(tuple(tensor.get_shape()), DTYPES.get(dtype, dtype), dtype == "BF16")
            return TensorFile(place, tensors, dict(file.metadata() or {}))
    except (safetensors.SafetensorError, OSError, MemoryError) as error:
        got = str(error).partition("\n")[0][:80]
        raise DataError(
            explain(str(place), "must be a whole safetensors file", got, "it is damaged, or of another format")
        ) from None


def packed(arrays: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> bytes:
    """The content of a safetensors file with these arrays, from any device."""
    hosts = {name: np.asarray(to_numpy(array)) for name, array in arrays.items()}
    whole = {name: np.ascontiguousarray(host).reshape(host.shape) for name, host in hosts.items()}
    return safetensors.numpy.save(whole, None if metadata is None else dict(metadata))


def write_tensors(path: Path, arrays: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write such a file, whole or not at all; a `DataError` where it cannot be written."""
    write_whole(path, packed(arrays, metadata))


def unpacked(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays in the content of a safetensors file; a `ValueError` where it is damaged, or holds numbers that NumPy
    has not.
    """
    try:
        parts = _deserialized(content)
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from None
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, part in parts:
        kind, shape, numbers = str(part["dtype"]), tuple(part["shape"]), part["data"]
        if kind not in DTYPES:
            raise ValueError(f"{name!r} is {kind}, which NumPy has not")
        arrays[name] = (
            _widened(numbers, shape) if kind == "BF16" else np.frombuffer(numbers, DTYPES[kind]).reshape(shape)
        )
    return arrays


def _widened(numbers: bytes, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """BF16 as float32, of which it is the upper half."""
    return (np.frombuffer(numbers, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)


def _deserialized(content: bytes) -> list[tuple[str, dict[str, Any]]]:
    parts: Any = safetensors.deserialize(content)  # type: ignore[no-untyped-call, unused-ignore]
    return cast("list[tuple[str, dict[str, Any]]]", parts)


def _safe_open(path: Path) -> Any:
    return safetensors.safe_open(path, "numpy")  # type: ignore[no-untyped-call, unused-ignore]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
