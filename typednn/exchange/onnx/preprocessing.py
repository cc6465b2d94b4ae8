"""What a run does to its data before the model and after it, as nodes of an ONNX file: a table's columns become
numbers, inputs are scaled, and answers get the targets' units.

    x ─ (x - mean)/deviation ─ model ─ y·target_deviation + target_mean
    columns ─ encoding ┘

A table with words, dates or gaps has an input (batch, 1) for each of its columns, under the column's name: words are
strings, "" for a gap; numbers are float64, NaN for a gap; dates are days since 1970-01-01 (UTC), float64. Words become
numbers by ``LabelEncoder`` of ai.onnx.ml. Other data have the one input ``x``.
"""

# ONNX's own package says nothing of its types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from typednn.data.cells import Cells
from typednn.data.encoding import Encoded, Encoding
from typednn.errors import ArgumentError, explain
from typednn.exchange.onnx.writer import DOUBLE, STRING, Writer
from typednn.exchange.tracing import Traced

DOMAIN: Final = "ai.onnx.ml"
VERSION: Final = 2  # of the domain: the first whose LabelEncoder reads strings and gives integers

_DATE = "days since 1970-01-01 (UTC); NaN for a gap"
_NUMBER = "NaN for a gap"
_WORDS = '"" for a gap'


@final
@dataclass(frozen=True, slots=True)
class Preprocessing:
    """``encoding`` of a table's columns, or None; ``mean`` and ``deviation`` of the inputs and of the targets, one
    number or one for each column or output.
    """

    encoding: Encoding | None = None
    mean: float | tuple[float, ...] = 0.0
    deviation: float | tuple[float, ...] = 1.0
    target_mean: float | tuple[float, ...] = 0.0
    target_deviation: float | tuple[float, ...] = 1.0

    @property
    def columns(self) -> tuple[Encoded, ...]:
        """The columns that are inputs of the file; none where it reads ``x``."""
        return () if self.encoding is None or self.encoding.is_plain else self.encoding.used

    # -------------------------------------------------------------- nodes

    def read(self, file: Writer, x: Traced) -> None:
        """Let ``x``, the model's input, be computed of the file's."""
        file.path = "preprocessing"
        first, name = next(iter(file.forms[id(x)].items()))
        dtype = self._dtype(x.dtype)
        kind: int = file.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        if self.columns:
            names = [each.name for each in self.columns]
            taken = next((each for each in names if each in file.names.values() or each == "y"), None)
            if taken is not None:
                rule = "a column's name differs from those of the weights and from y, the output's"
                raise ArgumentError(explain("export_onnx", rule, repr(taken), "rename it in the data, and train again"))
            file.heads[:] = [_head(file, each) for each in self.columns]
            parts = [part for each in self.columns for part in _encoded(file, each)]
            name = file.plain("Concat", *parts, axis=1)
        else:
            file.heads[0].type.tensor_type.elem_type = kind
        if _does(self.mean, self.deviation):
            centred = file.plain("Sub", name, file.constant(np.asarray(self.mean, dtype)))
            name = file.plain("Div", centred, file.constant(np.asarray(self.deviation, dtype)))
        if dtype != x.dtype:
            name = file.plain("Cast", name, to=file.onnx.helper.np_dtype_to_tensor_dtype(x.dtype))
        if self.columns and x.ndim != 2:
            name = file.reshaped(name, *x.shape[1:])
        file.forms[id(x)] = {first: name}
        file.path = ""

    def answer(self, file: Writer, name: str) -> str:
        """The model's output ``name`` in the targets' units, in float64."""
        file.path = "preprocessing"
        grown = file.plain("Cast", name, to=DOUBLE)
        grown = file.plain("Mul", grown, file.constant(np.asarray(self.target_deviation, np.float64)))
        grown = file.plain("Add", grown, file.constant(np.asarray(self.target_mean, np.float64)))
        file.path = ""
        return str(grown)

    @property
    def answers_scaled(self) -> bool:
        """Whether the model's output is not in the targets' units."""
        return _does(self.target_mean, self.target_deviation)

    # -------------------------------------------------------------- the same in NumPy, to compare with

    def sample(self, given: npt.NDArray[Any]) -> tuple[dict[str, Any], npt.NDArray[Any]]:
        """Samples as ``given`` has them: what the file reads, and what the model reads of them. Of columns as many more
        as show each word.
        """
        if not self.columns:
            dtype = self._dtype(given.dtype)
            x = (given * np.asarray(self.deviation) + np.asarray(self.mean)).astype(dtype)
            return {"x": x}, self._scaled(x).astype(given.dtype)
        assert self.encoding is not None
        feeds, cells = _rows(self.columns, len(given) + max(len(each.words) for each in self.columns))
        x = self._scaled(self.encoding(cells)).astype(given.dtype)
        return feeds, x.reshape(len(x), *given.shape[1:])

    def in_units(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Answers of the model in the targets' units."""
        grown: npt.NDArray[Any] = y.astype(np.float64) * np.asarray(self.target_deviation) + np.asarray(
            self.target_mean
        )
        return grown

    def _scaled(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        scaled: npt.NDArray[Any] = (x - np.asarray(self.mean, x.dtype)) / np.asarray(self.deviation, x.dtype)
        return scaled

    def _dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """In which inputs are scaled: float64 where columns are, as large numbers differ in digits that float32
        lacks.
        """
        return np.dtype(np.float64) if self.columns or isinstance(self.mean, tuple) else dtype


def _does(mean: float | tuple[float, ...], deviation: float | tuple[float, ...]) -> bool:
    return bool((np.asarray(mean) != 0).any() or (np.asarray(deviation) != 1).any())


def _head(file: Writer, how: Encoded) -> Any:
    """The entry of a column among the file's inputs."""
    kind = STRING if how.kind == "words" else DOUBLE
    told = {"words": _WORDS, "date": _DATE}.get(how.kind, _NUMBER)
    return file.onnx.helper.make_tensor_value_info(how.name, kind, ["batch", 1], told)


def _encoded(file: Writer, how: Encoded) -> Sequence[str]:
    """The names of what a column becomes, each (batch, some columns) of float64."""
    if how.kind == "words":
        return _one_hot(file, how)
    value = how.name
    if how.fill is None and not how.gaps:
        return [value]
    missing = file.plain("IsNaN", how.name)
    if how.fill is not None:
        value = file.plain("Where", missing, file.constant(np.float64(how.fill)), how.name)
    return [value, file.plain("Cast", missing, to=DOUBLE)] if how.gaps else [value]


def _one_hot(file: Writer, how: Encoded) -> Sequence[str]:
    """A column for each word, for the others, and for gaps; a word that has none fills none."""
    width = len(how.names)
    places = {word: place for place, word in enumerate(how.words)}
    nowhere = len(places) if how.other else width
    places[""] = width - 1 if how.gaps else width
    attributes: Mapping[str, Any] = {
        "keys_strings": [*places], "values_int64s": [*places.values()], "default_int64": nowhere
    }  # fmt: skip
    place = file.plain("LabelEncoder", how.name, domain=DOMAIN, **attributes)
    chosen = file.plain("Equal", place, file.constant(np.arange(width, dtype=np.int64)[None]))
    return [file.plain("Cast", chosen, to=DOUBLE)]


def _rows(columns: Sequence[Encoded], count: int) -> tuple[dict[str, Any], Cells]:
    """Rows with every word, one that is unknown, and gaps where training had some: as a file reads them, and as cells.
    Each column goes on at its own place, so that rows differ.
    """
    feeds: dict[str, Any] = {}
    values, words = np.empty((count, len(columns))), list[tuple[str, ...]]()
    for place, each in enumerate(columns):
        known = (*each.words, "a word of no row")
        turn = (np.arange(count) + place) % (len(known) + 1)
        gap = (turn == len(known)) & (each.fill is not None)
        if each.kind == "words":
            values[:, place] = np.where(gap, np.nan, turn % len(known))
            read = ["" if missing else known[at % len(known)] for at, missing in zip(turn, gap, strict=True)]
            feeds[each.name] = np.array(read, object)[:, None]
        else:
            values[:, place] = np.where(gap, np.nan, (each.fill or 0.0) + np.arange(count) % 5)
            feeds[each.name] = values[:, [place]]
        words.append(known)
    kinds: Any = tuple(each.kind for each in columns)
    names = tuple(each.name for each in columns)
    rows = np.arange(1, count + 1)
    forms = tuple(each.form for each in columns)
    return feeds, Cells("export_onnx", names, kinds, values, tuple(words), forms, rows, "row", tuple(rows.tolist()))
