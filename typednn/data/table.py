"""Tables: named columns of a CSV, Parquet or Arrow file, one of which is the target.

    price,rooms,area,town            read_table("houses.csv", target="price", columns=["rooms", "area"])
    310000,3,95,Ulm
    205000,2,60,Jena                 x (n, 2) float32, y (n) float64, columns ("rooms", "area")

Inputs are numbers. The target is a column of numbers, or of words, which become classes: their names, sorted, are the
labels 0, 1, …. A missing value (nothing, ``NA``, ``N/A``, ``NaN``, ``null``) is an error with its place, or its row is
left out. Places are lines of a CSV file and rows of another, from 1, and the column's number and name. Names are
compared in Unicode's form NFC: ``ö`` written as one character or as two is the same. What a CSV file's first lines say
of it (`typednn.data.dialect`) is told in ``Table.told``. Parquet and Arrow need pyarrow, the extra ``typednn[arrow]``.
"""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, cast, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import choice, flag
from typednn.arrays import Array2, IntArray1
from typednn.data.arrow import Column, columns_stored
from typednn.data.csv import check_length, not_a_number, numbers_of, rows_of
from typednn.data.dialect import beginning, decimal_of, is_missing, number_of, other_mark
from typednn.data.labels import normalised
from typednn.errors import ArgumentError, DataError, explain, listed
from typednn.files import opened, path_of
from typednn.screen import brief

_SHOWN = 5  # rows in a notebook
ARROW: Final = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
ENDINGS: Final = (".csv", ".tsv", *ARROW)
_MOST = float(np.finfo(np.float32).max)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Inputs ``x`` (n, columns) in float32 or float64, and targets ``y`` (n): numbers in float64, or labels in int64
    where there are ``names``.

    ``columns`` are the inputs' names and ``target`` is the target's, empty where the file has none. ``dropped`` rows
    had a missing value. ``rows`` (n) are the lines of the rows in a CSV file, or their numbers from 1 in another.
    ``told`` says in a line how a CSV file was read: names, delimiter and decimal mark.
    """

    x: Array2
    y: npt.NDArray[np.float64] | npt.NDArray[np.int64]
    columns: tuple[str, ...]
    target: str
    names: tuple[str, ...]
    dropped: int = 0
    rows: IntArray1 = field(default_factory=lambda: np.empty(0, np.int64))
    told: str = ""

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and the first rows."""
        from typednn.html import facts, number, shown, table

        told = {"rows": f"{len(self.y):,}", "dropped": self.dropped, "read": self.told or "as the file says"}
        head = [*(self.columns or [f"column {place}" for place in range(1, self.x.shape[1] + 1)]), self.target or "y"]
        rows = [
            [*map(number, row), self.names[int(y)] if self.names else number(y)]
            for row, y in zip(self.x[:_SHOWN].tolist(), self.y[:_SHOWN].tolist(), strict=True)
        ]
        return shown("Table", facts(told), table(head, rows, numbers=head))

    def place(self, row: int) -> str:
        """Where row ``row``, from 0, of ``x`` stands in the file: ``line 7``, or ``row 6`` of a Parquet file."""
        return f"{'line' if self.told else 'row'} {self.rows[row]}"


@final
@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is read of a file: the names of target and inputs, None for the first column and for all others, and what is
    told of it.
    """

    target: str | None
    columns: tuple[str, ...] | None
    drop: bool = False
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    limit: int | None = None
    dtype: np.dtype[np.floating[Any]] = field(default_factory=lambda: np.dtype(np.float32))


@final
@dataclass(frozen=True, slots=True)
class _Read:
    """What was read: the inputs, the names of all columns, the place of each row, how many rows were
    left out, and how.
    """

    x: Array2
    header: list[str]
    rows: npt.NDArray[np.int64]
    dropped: int
    told: str = ""


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    labels: bool | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    missing: Literal["error", "drop"] = "error",
    dtype: Literal["float32", "float64"] = "float32",
    limit: int | None = None,
) -> Table:
    """The columns of a file, told by its ending: Parquet (``.parquet``, ``.pq``), Arrow (``.arrow``, ``.feather``,
    ``.ipc``), else CSV.

    ``target`` is the name of the target's column, by default the first; ``columns`` are the names of the inputs in
    their order, by default all others. ``names`` are the classes' where they are known, as from training data: another
    word is an error. ``labels`` says whether targets are labels: then a column of words and numbers holds words; if
    false, numbers alone; by default such a column is refused. ``dtype`` is that of the inputs: float64 keeps dates,
    times and other large numbers apart until their mean is taken off. ``limit`` is how many bytes of memory the values
    may take; see `typednn.files`.

    Of a CSV file ``header`` says whether its first line holds names, ``delimiter`` what is between its columns, and
    ``decimal`` what is before fractions. By default its first lines decide (`typednn.data.dialect`), or are refused
    where they leave it open.

    A `NotANumber` tells the place of what is missing or no number; a `DataError` an unknown column, with those that
    there are.
    """
    place = path_of("read_table", path)
    choice("read_table", "missing", missing, ("error", "drop"))
    inputs, classes = _checked_names("columns", columns), _checked_names("names", names)
    unchecked = cast("object", target)
    if unchecked is not None and (not isinstance(unchecked, str) or normalised(unchecked) in (inputs or ())):
        rule = "target must be the name of a column that is no input"
        raise ArgumentError(explain("read_table", rule, repr(target)), "target")
    wanted = _Wanted(
        None if target is None else normalised(target),
        inputs,
        missing == "drop",
        delimiter,
        None if decimal is None else choice("read_table", "decimal", decimal, (".", ",")),
        None if header is None else flag("read_table", "header", header),
        limit,
        _dtype("read_table", dtype),
    )
    targets = _Targets(str(place), classes, None if labels is None else flag("read_table", "labels", labels))
    read = _reader(place)(place, targets, wanted)
    y, named = targets.labelled()
    return Table(
        read.x,
        y,
        tuple(read.header[1:]),
        read.header[0] if read.header else "",
        named,
        read.dropped,
        read.rows,
        read.told,
    )


def read_columns(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    limit: int | None = None,
) -> Array2:
    """Columns of such a file, (n, columns), in the order of their names: inputs for predictions, without a target.

    Without ``columns`` all. The other arguments are those of `read_table`.
    """
    return columns_of(path, columns, header=header, delimiter=delimiter, decimal=decimal, dtype=dtype, limit=limit)[0]


def columns_of(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    limit: int | None = None,
) -> tuple[Array2, str]:
    """As `read_columns`, and how a CSV file was read, as `Table.told` says it."""
    place = path_of("read_columns", path)
    inputs = _checked_names("columns", columns)
    read = _reader(place)(
        place, None, _Wanted(None, inputs, False, delimiter, decimal, header, limit, _dtype("read_columns", dtype))
    )
    return read.x, read.told


def _reader(place: Path) -> "Callable[[Path, _Targets | None, _Wanted], _Read]":
    return _read_arrow if place.suffix.lower() in ARROW else _read_csv


def _dtype(where: str, dtype: str) -> np.dtype[np.floating[Any]]:
    return np.dtype(choice(where, "dtype", dtype, ("float32", "float64")))


# --- CSV ------------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, targets: "_Targets | None", wanted: _Wanted) -> _Read:
    """What is wanted of the file; the target goes to ``targets``, if any."""
    numbers: array[float] = array(wanted.dtype.char)
    rows: array[int] = array("q")
    first = 0 if targets is None else 1  # of the inputs, among the fields that are read
    dropped = 0
    by_name = wanted.target is not None or wanted.columns is not None
    if by_name and wanted.header is False:
        rule = "columns are named where the file has names"
        raise ArgumentError(
            explain("read_table", rule, "header=False", "leave out target and columns: the first column is the target"),
            "header",
        )
    start = beginning(path, wanted.delimiter, True if by_name else wanted.header, wanted.limit)
    with rows_of("read_table", path, 0, start.delimiter, wanted.limit) as (file, lines):
        top = next(lines, None)
        if top is None:
            raise DataError(explain(file.where, "must hold at least one row", "none"))
        if not top[1]:
            raise DataError(
                explain(file.where, f"line {top[0]} must hold names or a row", "nothing", "delete empty lines")
            )
        header = [normalised(text) for text in top[1]]
        order = _places(file.where, header, wanted, first) if start.named else list(range(len(header)))
        about = [(place + 1, header[place] if start.named else "") for place in order]
        _check_width(file.where, len(order) - first)
        decimal = wanted.decimal or decimal_of(
            file.where,
            [row[place] for row in start.records[start.named :] if len(row) == len(header) for place in order],
        )
        if targets is not None:
            targets.column, targets.unit, targets.decimal = about[0], "line", decimal
        for row, line in lines if start.named else chain([top], lines):
            check_length(file.where, row, len(header), len(line))
            fields = [line[place] for place in order]
            if wanted.drop and any(map(is_missing, fields)):
                dropped += 1
                continue
            file.take(wanted.dtype.itemsize * len(fields) + 72 + len(fields[0]))
            numbers.extend(numbers_of(file.where, row, fields[first:], _MOST, about[first:], decimal))
            if targets is not None:
                targets.add(fields[0], row)
            rows.append(row)
    _check_count(file.where, len(rows), dropped)
    told = (
        f"{'line 1 holds names' if start.named else 'line 1 is a row, without names'}, delimiter "
        f"{start.delimiter!r}, decimal {decimal!r}"
    )
    named = [name for _, name in about] if start.named else []
    return _Read(
        np.frombuffer(numbers, wanted.dtype).reshape(len(rows), -1), named, np.frombuffer(rows, np.int64), dropped, told
    )


# --- Parquet and Arrow ----------------------------------------------------------------------------------------------


def _read_arrow(path: Path, targets: "_Targets | None", wanted: _Wanted) -> _Read:
    """As `_read_csv`."""
    pieces: list[npt.NDArray[Any]] = []
    kept: list[npt.NDArray[np.int64]] = []
    first = 0 if targets is None else 1
    row, drop = 1, wanted.drop
    for name in ("delimiter", "decimal", "header"):
        if getattr(wanted, name) is not None:
            raise ArgumentError(explain("read_table", f"{name} is for CSV files", path.name, "leave it out"), name)
    with opened("read_table", path, wanted.limit) as file, columns_stored("read_table", file) as own:
        header = list(map(normalised, own.names))
        chosen = _places(file.where, header, wanted, first)
        about = [(place + 1, header[place]) for place in chosen]
        _check_width(file.where, len(about) - first)
        for place in chosen[first:]:
            if own.kinds[place] not in ("number", "boolean"):
                rule = f"column {place + 1} ({header[place]!r}) must hold numbers"
                raise DataError(explain(file.where, rule, own.types[place], "name those that do in columns=[...]"))
        if targets is not None:
            targets.column = about[0]
            if not own.kinds[chosen[0]]:
                rule = f"column {about[0][0]} ({about[0][1]!r}) must hold numbers or words"
                raise DataError(explain(file.where, rule, own.types[chosen[0]]))
        size = wanted.dtype.itemsize * len(about) + 72
        for columns in own.batches(chosen, size):
            values = [] if targets is None else _values(columns[0], own.kinds[chosen[0]])
            letters = sum(len(value) for value in values if isinstance(value, str))
            file.take(len(columns[-1]) * size + letters)
            if None in values and not drop:
                raise not_a_number(file.where, row + values.index(None), *about[0], "", unit="row")
            numbers = zip(columns[first:], about[first:], strict=True)
            x = np.stack([_floats(file.where, column, row, *each, drop) for column, each in numbers], axis=1).astype(
                wanted.dtype
            )
            missing = np.isnan(x).any(axis=1) | np.array([value is None for value in values] or False, np.bool_)
            keep = np.flatnonzero(~missing if drop else np.ones(len(x), np.bool_))
            pieces.append(x[keep])
            kept.append(keep + row)
            if targets is not None:
                for place in keep.tolist():
                    targets.add(values[place], row + place)
            row += len(x)
    x = np.concatenate(pieces) if pieces else np.empty((0, 1), wanted.dtype)
    rows = np.concatenate(kept) if kept else np.empty(0, np.int64)
    dropped = row - 1 - len(x)
    _check_count(file.where, len(x), dropped)
    return _Read(x, [name for _, name in about], rows, dropped)


def _values(column: Column, kind: str) -> list[Any]:
    """A target's values: numbers, words, or None where there is none."""
    if isinstance(column, list):
        return column
    numbers: list[float] = column.tolist()
    return [None if value != value else str(bool(value)) if kind == "boolean" else value for value in numbers]


def _floats(where: str, column: Column, row: int, number: int, name: str, drop: bool) -> npt.NDArray[np.float64]:
    """An input's numbers; NaN where there is none, if such rows are dropped."""
    exact = np.asarray(column, np.float64)
    wrong = ~(np.abs(exact) <= _MOST) & ~(np.isnan(exact) & drop)
    if wrong.any():
        place = int(wrong.argmax())
        raise not_a_number(
            where, row + place, number, name, "" if np.isnan(exact[place]) else str(exact[place]), unit="row"
        )
    return exact


# --- both -----------------------------------------------------------------------------------------------------------


@final
class _Targets:
    """The target's values: numbers; or words, where the first is one or the classes are known."""

    def __init__(self, where: str, classes: tuple[str, ...] | None, labels: bool | None) -> None:
        self._where = where
        self._classes = classes
        self._labels = labels
        self._numbers: array[float] = array("d")
        self._words: list[str] = []
        self._rows: list[int] = []
        self._only_numbers = True
        self.column, self.unit, self.decimal = (1, ""), "row", "."

    def add(self, value: Any, row: int) -> None:
        """A text or a number; None where there is none."""
        if value is None or (isinstance(value, str) and is_missing(value)):
            raise not_a_number(self._where, row, *self.column, "", unit=self.unit)
        number = (
            number_of(value, self.decimal) if isinstance(value, str) else float(value) if math.isfinite(value) else None
        )
        if number is None and (self._labels is False or (self._numbers and not self._labels)):
            cure = "the first row has a number there; if all are classes, pass labels=True (--task classification)"
            cure = other_mark(str(value), self.decimal) or (
                cure if self._numbers and self._labels is None else "targets are numbers"
            )
            raise not_a_number(self._where, row, *self.column, str(value), cure, self.unit)
        if number is not None and self._words and self._classes is None and self._labels is None:
            rule = f"{self._place(row)}, must be a word, as {self.unit} {self._rows[0]} has one"
            cure = "if all are classes, pass labels=True (--task classification)"
            raise DataError(explain(self._where, rule, str(value)[:40], cure))
        self._only_numbers &= number is not None
        if number is None or self._classes is not None or self._labels:
            self._words.append(normalised(value) if isinstance(value, str) else _shortest(value))
            self._rows.append(row)
        if number is not None:
            self._numbers.append(number)

    def labelled(self) -> tuple[Any, tuple[str, ...]]:
        """The numbers; or labels and the classes' names."""
        if self._classes is None and self._only_numbers:
            return np.frombuffer(self._numbers, np.float64), ()
        named = tuple(sorted(set(self._words))) if self._classes is None else self._classes
        labels = {name: label for label, name in enumerate(named)}
        unknown = next((place for place, word in enumerate(self._words) if word not in labels), None)
        if unknown is not None:
            rule = f"{self._place(self._rows[unknown])}, must be one of the classes {listed(named)}"
            raise DataError(explain(self._where, rule, repr(self._words[unknown][:40])))
        return np.array([labels[word] for word in self._words], np.int64), named

    def _place(self, row: int) -> str:
        return f"{self.unit} {row}, " + (
            f"the target {self.column[1]!r}" if self.column[1] else f"the target, column {self.column[0]}"
        )


def _shortest(value: float) -> str:
    """A number as a class's name: whole ones without a point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _check_width(where: str, inputs: int) -> None:
    if inputs < 1:
        raise DataError(explain(where, "a row holds a target and at least one input", "one number"))


def _check_count(where: str, rows: int, dropped: int) -> None:
    if not rows:
        raise DataError(
            explain(where, "must hold at least one row", f"none, as {dropped} were left out" if dropped else "none")
        )


def _places(where: str, fields: Sequence[str], wanted: _Wanted, targets: int) -> list[int]:
    """Where the target, if there are ``targets``, and the inputs are; a `DataError` for one that is not there, or
    twice.
    """
    if not fields:
        raise DataError(explain(where, "must have columns", "none"))
    chosen = [fields[0] if wanted.target is None else wanted.target][:targets]
    inputs = [name for name in fields if name not in chosen] if wanted.columns is None else list(wanted.columns)
    places: dict[str, list[int]] = {}
    for place, name in enumerate(fields):
        places.setdefault(name, []).append(place)
    for name in (*chosen, *inputs):
        found = places.get(name, [])
        if len(found) != 1:
            several = listed([str(place + 1) for place in found])
            got = f"more than one: columns {several}" if found else listed(list(map(repr, fields)))
            raise DataError(explain(where, f"must have one column {name!r}", got[:400]))
    return [places[name][0] for name in (*chosen, *inputs)]


def _checked_names(name: str, value: Sequence[str] | None) -> tuple[str, ...] | None:
    unchecked = cast("object", value)
    if unchecked is None:
        return None
    texts = [*cast("Sequence[object]", unchecked)] if isinstance(unchecked, list | tuple) else []
    kept = [normalised(text) for text in texts if isinstance(text, str)]
    if not texts or len(set(kept)) < len(texts):
        raise ArgumentError(explain("read_table", f"{name} must be a list of different names", repr(value)[:80]), name)
    return tuple(kept)
