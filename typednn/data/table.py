"""Tables: named columns of a CSV, Parquet or Arrow file, one of which is the target.

    price,rooms,area,town            read_table("houses.csv", target="price", columns=["rooms", "area"])
    310000,3,95,Ulm
    205000,2,60,Jena                 x (n, 2) float32, y (n) float64, columns ("rooms", "area")

Inputs are numbers. The target is a column of numbers, or of words, which become classes: their names, sorted, are the labels 0, 1, ….
A missing value (nothing, ``NA``, ``N/A``, ``NaN``, ``null``) is an error with its row and column, or its row is left out. Rows count from
1, as lines of a CSV file do; columns too. Parquet and Arrow need pyarrow, the extra ``typednn[arrow]``.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, cast, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import choice
from typednn.arrays import Array2
from typednn.data.csv import check_length, is_missing, not_a_number, numbers_of, rows_of
from typednn.errors import ArgumentError, DataError, TypednnError, explain, listed, optional
from typednn.files import File, opened, path_of

ARROW: Final = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
ENDINGS: Final = (".csv", ".tsv", *ARROW)
_MOST = float(np.finfo(np.float32).max)
_DELIMITERS = ",;\t|"
_ROWS = 1 << 16  # of a Parquet file, at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Inputs ``x`` (n, columns) in float32 or float64, and targets ``y`` (n): numbers in float64, or labels in int64 where there are
    ``names``.

    ``columns`` are the inputs' names and ``target`` is the target's, empty where the file has none. ``dropped`` rows had a missing value.
    """

    x: Array2
    y: npt.NDArray[np.float64] | npt.NDArray[np.int64]
    columns: tuple[str, ...]
    target: str
    names: tuple[str, ...]
    dropped: int = 0


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    missing: Literal["error", "drop"] = "error",
    dtype: Literal["float32", "float64"] = "float32",
    limit: int | None = None,
) -> Table:
    """The columns of a file, told by its ending: Parquet (``.parquet``, ``.pq``), Arrow (``.arrow``, ``.feather``, ``.ipc``), else CSV.

    ``target`` is the name of the target's column, by default the first; ``columns`` are the names of the inputs in their order, by default
    all others. ``names`` are the classes' where they are known, as from training data: another word is an error. A CSV file needs no line
    of names where neither is given. ``delimiter`` is the character between its columns, by default the one of ``, ; tab |`` that its first
    line has most of. ``dtype`` is that of the inputs: float64 keeps dates, times and other large numbers apart until their mean is taken
    off. ``limit`` is how many bytes of memory the values may take; see `typednn.files`.

    A `NotANumber` tells row and column of what is missing or no number; a `DataError` an unknown column, with those that there are.
    """
    place = path_of("read_table", path)
    choice("read_table", "missing", missing, ("error", "drop"))
    wanted = _checked_names("columns", columns)
    classes = _checked_names("names", names)
    if target is not None and (not isinstance(cast("object", target), str) or target in (wanted or ())):
        rule = "target must be the name of a column that is no input"
        raise ArgumentError(explain("read_table", rule, repr(target)), "target")
    read = _read_arrow if place.suffix.lower() in ARROW else _read_csv
    targets = _Targets(str(place), classes)
    x, header, dropped = read(place, targets, target, wanted, missing == "drop", delimiter, _dtype("read_table", dtype), limit)
    y, named = targets.labelled()
    return Table(x, y, tuple(header[1:]), header[0] if header else "", named, dropped)


def read_columns(
    path: str | Path,
    columns: Sequence[str],
    *,
    delimiter: str | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    limit: int | None = None,
) -> Array2:
    """The named columns of such a file, (n, columns), in the order of their names: inputs for predictions, without a target."""
    place = path_of("read_columns", path)
    wanted = _checked_names("columns", columns)
    read = _read_arrow if place.suffix.lower() in ARROW else _read_csv
    x, _, _ = read(place, None, None, wanted, False, delimiter, _dtype("read_columns", dtype), limit)
    return x


def _dtype(where: str, dtype: str) -> np.dtype[np.floating[Any]]:
    return np.dtype(choice(where, "dtype", dtype, ("float32", "float64")))


# --- CSV ------------------------------------------------------------------------------------------------------------


def _read_csv(
    path: Path,
    targets: "_Targets | None",
    target: str | None,
    wanted: tuple[str, ...] | None,
    drop: bool,
    delimiter: str | None,
    dtype: np.dtype[np.floating[Any]],
    limit: int | None,
) -> tuple[Array2, list[str], int]:
    """The inputs, the names of all columns that were read, and how many rows were left out; the target goes to ``targets``, if any."""
    numbers: array[float] = array(dtype.char)
    first = 0 if targets is None else 1  # of the inputs, among the fields that are read
    count = dropped = 0
    with rows_of("read_table", path, 0, delimiter or _delimiter(path), limit) as (file, lines):
        start = [line for _, line in zip(range(2), lines, strict=False)]
        if not start:
            raise DataError(explain(file.where, "must hold at least one row", "none"))
        header = [field.strip() for field in start[0][1]]
        named = target is not None or wanted is not None or _is_header(header, start[1][1] if len(start) > 1 else None)
        order = _places(file.where, header, target, wanted, first) if named else list(range(len(header)))
        about = [(place + 1, header[place] if named else "") for place in order]
        _check_width(file.where, len(order) - first)
        for row, line in chain(start[named:], lines):
            check_length(file.where, row, len(header), len(line))
            fields = [line[place] for place in order]
            if drop and any(map(is_missing, fields)):
                dropped += 1
                continue
            file.take(dtype.itemsize * len(fields) + 64 + len(fields[0]))
            numbers.extend(numbers_of(file.where, row, fields[first:], _MOST, about[first:]))
            if targets is not None:
                targets.add(fields[0], row, *about[0])
            count += 1
    _check_count(file.where, count, dropped)
    return np.frombuffer(numbers, dtype).reshape(count, -1), [name for _, name in about] if named else [], dropped


def _is_header(first: list[str], second: list[str] | None) -> bool:
    """Whether the first line holds names: one of its fields is no number, and that is not a class in the first column."""
    words = [place for place, field in enumerate(first) if _number(field) is None]
    if words != [0] or not second or len(first) < 2:
        return bool(words)
    return _number(second[0]) is not None


def _number(field: str) -> float | None:
    with suppress(ValueError):
        return float(field) if "_" not in field and np.isfinite(float(field)) else None
    return None


def _delimiter(path: Path) -> str:
    """The delimiter that the first line has most of; a comma where it has none."""
    with opened("read_table", path) as file:
        line = file.stream.readline(1 << 16).decode(errors="replace")
    return max(_DELIMITERS, key=line.count)


# --- Parquet and Arrow ----------------------------------------------------------------------------------------------


def _read_arrow(
    path: Path,
    targets: "_Targets | None",
    target: str | None,
    wanted: tuple[str, ...] | None,
    drop: bool,
    delimiter: str | None,
    dtype: np.dtype[np.floating[Any]],
    limit: int | None,
) -> tuple[Array2, list[str], int]:
    """As `_read_csv`."""
    pieces: list[npt.NDArray[Any]] = []
    first = 0 if targets is None else 1
    dropped, row = 0, 1
    if delimiter is not None:
        raise ArgumentError(explain("read_table", "delimiter is for CSV files", path.name, "leave it out"), "delimiter")
    with opened("read_table", path, limit) as file:
        arrow = optional("pyarrow", "read_table", "needs pyarrow to read Parquet and Arrow", "pip install 'typednn[arrow]'")
        try:
            header, batches = _batches(arrow, file)
            about = [(place + 1, header[place]) for place in _places(file.where, header, target, wanted, first)]
            _check_width(file.where, len(about) - first)
            for batch in batches([name for _, name in about]):
                file.take(len(batch) * (dtype.itemsize * len(about) + 64))
                values = [] if targets is None else _values(arrow, file.where, batch.column(about[0][1]), *about[0])
                if None in values and not drop:
                    raise not_a_number(file.where, row + values.index(None), *about[0], "")
                inputs = [_floats(arrow, file.where, batch.column(name), row, number, name, drop) for number, name in about[first:]]
                x = np.stack(inputs, axis=1).astype(dtype)
                missing = np.isnan(x).any(axis=1) | np.array([value is None for value in values] or False, np.bool_)
                keep = np.flatnonzero(~missing if drop else np.ones(len(x), np.bool_))
                dropped += len(x) - len(keep)
                pieces.append(x[keep])
                if targets is not None:
                    for place in keep.tolist():
                        targets.add(values[place], row + place, *about[0])
                row += len(batch)
        except (TypednnError, MemoryError):
            raise
        except Exception as error:  # pyarrow raises many kinds of errors for damaged files
            got = (str(error) or type(error).__name__).splitlines()[0][:200]
            raise DataError(explain(file.where, "must be a whole Parquet or Arrow file", got, "write it anew")) from None
    x = np.concatenate(pieces) if pieces else np.empty((0, 1), dtype)
    _check_count(file.where, len(x), dropped)
    return x, [name for _, name in about], dropped


def _batches(arrow: Any, file: File) -> tuple[list[str], Callable[[list[str]], Iterator[Any]]]:
    """The columns' names, and a function that gives the rows of some columns, some rows at a time."""
    start = file.stream.read(6)
    file.stream.seek(0)
    source = arrow.PythonFile(_Bounded(file), mode="r")
    if start[:4] == b"PAR1":
        stored = optional("pyarrow.parquet", "read_table", "needs pyarrow to read Parquet", "pip install 'typednn[arrow]'").ParquetFile(
            source
        )
        header = [str(name) for name in stored.schema_arrow.names]
        sizes = [stored.metadata.row_group(group).total_byte_size for group in range(stored.metadata.num_row_groups)]
        file.take(max(sizes, default=0))  # a group is unpacked at once
        return header, lambda names: stored.iter_batches(_ROWS, columns=names)
    if start == b"ARROW1":
        reader = arrow.ipc.open_file(source)
        return list(map(str, reader.schema.names)), lambda names: (reader.get_batch(batch) for batch in range(reader.num_record_batches))
    stream = arrow.ipc.open_stream(source)
    return list(map(str, stream.schema.names)), lambda names: iter(stream)


class _Bounded:
    """The file for pyarrow, which asks for as many bytes as the file states: there is no memory for more than there are."""

    closed = False

    def __init__(self, file: File) -> None:
        self._file = file
        self.seek, self.tell, self.readable, self.seekable = file.stream.seek, file.stream.tell, file.stream.readable, file.stream.seekable

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._file.size - self._file.stream.tell())
        return self._file.stream.read(left if size < 0 else min(size, left))

    def close(self) -> None:
        """Nothing: `typednn.files.opened` closes it."""


def _values(arrow: Any, where: str, column: Any, number: int, name: str) -> list[Any]:
    """A target's values: numbers, words, or None where there is none."""
    kinds = arrow.types
    kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_boolean(kind):
        return [None if value is None else str(value) for value in column.to_pylist()]
    if not _is_numeric(kinds, kind):
        raise DataError(explain(where, f"column {number} ({name!r}) must hold numbers or words", str(column.type)))
    numbers: list[float | None] = column.cast(arrow.float64(), safe=False).to_pylist()
    return [None if value is None or value != value else value for value in numbers]


def _floats(arrow: Any, where: str, column: Any, row: int, number: int, name: str, drop: bool) -> npt.NDArray[np.float64]:
    """An input's numbers; NaN where there is none, if such rows are dropped."""
    if not _is_numeric(arrow.types, column.type) and not arrow.types.is_boolean(column.type):
        raise DataError(
            explain(where, f"column {number} ({name!r}) must hold numbers", str(column.type), "name those that do in columns=[...]")
        )
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.uint8())
    exact = np.asarray(column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    wrong = ~(np.abs(exact) <= _MOST) & ~(np.isnan(exact) & drop)
    if wrong.any():
        place = int(wrong.argmax())
        raise not_a_number(where, row + place, number, name, "" if np.isnan(exact[place]) else str(exact[place]))
    return exact


def _is_numeric(kinds: Any, kind: Any) -> bool:
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))


# --- both -----------------------------------------------------------------------------------------------------------


@final
class _Targets:
    """The target's values: numbers; or words, where the first is one or the classes are known."""

    def __init__(self, where: str, classes: tuple[str, ...] | None) -> None:
        self._where = where
        self._classes = classes
        self._numbers: array[float] = array("d")
        self._words: list[str] = []
        self._rows: list[int] = []

    def add(self, value: Any, row: int, column: int, name: str) -> None:
        """A text or a number; None where there is none."""
        if value is None or (isinstance(value, str) and is_missing(value)):
            raise not_a_number(self._where, row, column, name or "the target", "")
        number = _number(value) if isinstance(value, str) else float(value)
        if self._words or self._classes is not None or (number is None and not self._numbers):
            self._words.append(value.strip() if isinstance(value, str) else f"{value:g}")
            self._rows.append(row)
        elif number is None or not np.isfinite(number):
            raise not_a_number(self._where, row, column, name, str(value), "the first row has a number there")
        else:
            self._numbers.append(number)

    def labelled(self) -> tuple[Any, tuple[str, ...]]:
        """The numbers; or labels and the classes' names."""
        if not self._words:
            return np.frombuffer(self._numbers, np.float64), ()
        named = tuple(sorted(set(self._words))) if self._classes is None else self._classes
        labels = {name: label for label, name in enumerate(named)}
        unknown = next((place for place, word in enumerate(self._words) if word not in labels), None)
        if unknown is not None:
            rule, got = f"row {self._rows[unknown]}, the target must be one of the classes {listed(named)}", repr(self._words[unknown][:40])
            raise DataError(explain(self._where, rule, got))
        return np.array([labels[word] for word in self._words], np.int64), named


def _check_width(where: str, inputs: int) -> None:
    if inputs < 1:
        raise DataError(explain(where, "a row holds a target and at least one input", "one number"))


def _check_count(where: str, rows: int, dropped: int) -> None:
    if not rows:
        raise DataError(explain(where, "must hold at least one row", f"none, as {dropped} were left out" if dropped else "none"))


def _places(where: str, fields: Sequence[str], target: str | None, wanted: tuple[str, ...] | None, targets: int) -> list[int]:
    """Where the target, if there are ``targets``, and the inputs are; a `DataError` for one that is not there, or twice."""
    if not fields:
        raise DataError(explain(where, "must have columns", "none"))
    chosen = [fields[0] if target is None else target][:targets]
    inputs = [name for name in fields if name not in chosen] if wanted is None else list(wanted)
    for name in (*chosen, *inputs):
        if list(fields).count(name) != 1:
            got = "more than one" if name in fields else listed(list(map(repr, fields)))
            raise DataError(explain(where, f"must have one column {name!r}", got[:400]))
    return [list(fields).index(name) for name in (*chosen, *inputs)]


def _checked_names(name: str, value: Sequence[str] | None) -> tuple[str, ...] | None:
    unchecked = cast("object", value)
    if unchecked is None:
        return None
    texts = [*cast("Sequence[object]", unchecked)] if isinstance(unchecked, list | tuple) else []
    if not texts or not all(isinstance(text, str) for text in texts) or len(set(texts)) < len(texts):
        raise ArgumentError(explain("read_table", f"{name} must be a list of different names", repr(value)[:80]), name)
    return tuple(map(str, texts))
