"""Tables: named columns of a CSV, Parquet or Arrow file, one of which is the target.

    price,rooms,area,town            read_table("houses.csv", target="price", columns=["rooms", "area"])
    310000,3,95,Ulm
    205000,2,60,Jena                 x (n, 2) float32, y (n) float64, columns ("rooms", "area")

Inputs are numbers; or with ``encoding="auto"`` whatever columns hold, as `typednn.data.encoding` makes numbers of it.
The target is a column of numbers, or of words, which become classes: their names, sorted, are the labels 0, 1, …. A
missing value (nothing, ``NA``, ``N/A``, ``NaN``, ``null``, …) is an error with its place, or its row is left out, or it
is filled. Places are lines of a CSV file and rows of another, from 1, and the column's number and name. Names are
compared in Unicode's form NFC: ``ö`` written as one character or as two is the same. What a CSV file's first lines say
of it (`typednn.data.dialect`) is told in ``Table.told``. Parquet and Arrow need pyarrow, the extra ``typednn[arrow]``.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import choice, flag
from typednn.arrays import Array2, IntArray1
from typednn.data.arrow import Column
from typednn.data.cells import CellReader, Cells
from typednn.data.csv import not_a_number, numbers_of
from typednn.data.encoding import Encoding
from typednn.data.labels import normalised
from typednn.data.table_files import ARROW, Layout, Missing, Read, Wanted, read_file
from typednn.data.targets import Targets
from typednn.errors import ArgumentError, explain
from typednn.files import path_of
from typednn.screen import brief

_SHOWN = 5  # rows in a notebook
ENDINGS: Final = (".csv", ".tsv", *ARROW)
_MOST = float(np.finfo(np.float32).max)
Dtype: TypeAlias = np.dtype[np.floating[Any]]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Inputs ``x`` (n, columns) in float32 or float64, and targets ``y`` (n): numbers in float64, or labels in int64
    where there are ``names``.

    ``columns`` are the inputs' names and ``target`` is the target's, empty where the file has none. ``dropped`` rows
    had a missing value. ``rows`` (n) are the lines of the rows in a CSV file, or their numbers from 1 in another.
    ``told`` says in a line how a CSV file was read: names, delimiter and decimal mark. ``encoding`` is how the
    file's columns became those of ``x``, where they were not all numbers already.
    """

    x: Array2
    y: npt.NDArray[np.float64] | npt.NDArray[np.int64]
    columns: tuple[str, ...]
    target: str
    names: tuple[str, ...]
    dropped: int = 0
    rows: IntArray1 = field(default_factory=lambda: np.empty(0, np.int64))
    told: str = ""
    encoding: Encoding | None = None

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
@dataclass(frozen=True, slots=True, eq=False)
class ReadCells:
    """A table whose columns are not yet numbers: its `Cells`, and the rest of it, which `encoded` completes."""

    cells: Cells
    table: Table

    def encoded(self, encoding: Encoding, dtype: Dtype) -> Table:
        """The table of numbers."""
        x: Any = encoding(self.cells).astype(dtype, copy=False)
        named = encoding.names if self.table.columns else ()
        return replace(self.table, x=x, columns=named, encoding=encoding)


def read_table(
    path: str | Path,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    labels: bool | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    missing: Missing | None = None,
    encoding: Encoding | Literal["auto"] | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    limit: int | None = None,
) -> Table:
    """The columns of a file, told by its ending: Parquet (``.parquet``, ``.pq``), Arrow (``.arrow``, ``.feather``,
    ``.ipc``), else CSV.

    ``target`` is the name of the target's column, by default the first; ``columns`` are the names of the inputs in
    their order, by default all others but those in ``exclude``. ``names`` are the classes' where they are known, as
    from training data: another word is an error. ``labels`` says whether targets are labels: then a column of words and
    numbers holds words; if false, numbers alone; by default such a column is refused. ``dtype`` is that of the inputs:
    float64 keeps dates, times and other large numbers apart until their mean is taken off. ``limit`` is how many bytes
    of memory the values may take; see `typednn.files`.

    ``encoding``: None where inputs are numbers; "auto" to find one that suits all rows (`Encoding.fit`); or the one of
    other data. ``missing``: a row that lacks a value is an ``error``, which is the default; ``drop`` leaves it out;
    ``fill``, the default of an encoding, fills its gaps and leaves out rows without a target.

    Of a CSV file ``header`` says whether its first line holds names, ``delimiter`` what is between its columns, and
    ``decimal`` what is before fractions. By default its first lines decide (`typednn.data.dialect`), or are refused
    where they leave it open.

    A `NotANumber` tells the place of what is missing or no number; a `DataError` an unknown column, with those that
    there are.
    """
    about: dict[str, Any] = {"target": target, "columns": columns, "exclude": exclude, "names": names}
    about |= {"labels": labels, "header": header, "delimiter": delimiter, "decimal": decimal, "limit": limit}
    kind = _dtype("read_table", dtype)
    if encoding is not None:
        found = read_cells(path, missing=missing or "fill", encoding=None if encoding == "auto" else encoding, **about)
        everywhere = np.arange(len(found.cells.values))
        return found.encoded(Encoding.fit(found.cells, everywhere) if encoding == "auto" else encoding, kind)
    if missing == "fill":
        raise ArgumentError(explain("read_table", "gaps are filled by an encoding", "none", 'add encoding="auto"'))
    place, wanted, targets = _wanted(path, missing=missing or "error", **about)
    made: list[_Numbers] = []

    def start(layout: Layout) -> _Numbers:
        made.append(_Numbers(layout, kind))
        return made[0]

    read = read_file(place, targets, replace(wanted, size=kind.itemsize), start)
    return replace(_table(read, targets), x=made[0].x(len(read.rows)))


def read_cells(
    path: str | Path, *, missing: Missing = "fill", encoding: Encoding | None = None, **about: Any
) -> ReadCells:
    """A table with any columns, to be encoded. ``about`` are those arguments of `read_table` that say what is read and
    how it is written; ``encoding`` is the one that will be applied, if it is known.
    """
    place, wanted, targets = _wanted(path, missing=missing, **about)
    if encoding is not None and wanted.target is not None:
        wanted = replace(wanted, columns=encoding.used_names)
    cells, read, held = _cells(place, wanted, targets, encoding)
    return ReadCells(cells, _table(read, held))


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
    kind = _dtype("read_columns", dtype)
    wanted = Wanted(
        None,
        _checked_names("columns", columns),
        delimiter=delimiter,
        decimal=decimal,
        header=header,
        limit=limit,
        size=kind.itemsize,
    )
    made: list[_Numbers] = []

    def start(layout: Layout) -> _Numbers:
        made.append(_Numbers(layout, kind))
        return made[0]

    read = read_file(place, None, wanted, start)
    return made[0].x(len(read.rows)), read.told


def inputs_encoded(path: str | Path, encoding: Encoding, *, named: bool, **layout: Any) -> tuple[Array2, str]:
    """The inputs of a file without targets, for predictions, (n, columns) in float64; and what is told of them: how
    the file was read, and words that are new. ``named``: whether columns are found by name, else by their place, all
    or those that the encoding uses.
    """
    columns = encoding.used_names if named else None
    wanted = Wanted(None, columns, missing="fill", numbers=False, size=24, **layout)
    cells, read, _ = _cells(path_of("read_columns", path), wanted, None, encoding)
    told = [part for part in (read.told, encoding.unknown(cells)) if part]
    x: Any = encoding(cells)
    return x, "; ".join(told)


def _wanted(
    path: str | Path,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    labels: bool | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    missing: Missing = "error",
    limit: int | None = None,
) -> tuple[Path, Wanted, Targets]:
    """The arguments of `read_table`, checked."""
    place = path_of("read_table", path)
    choice("read_table", "missing", missing, ("error", "drop", "fill"))
    inputs, classes = _checked_names("columns", columns), _checked_names("names", names)
    out = _checked_names("exclude", exclude) or ()
    unchecked = cast("object", target)
    if unchecked is not None and (not isinstance(unchecked, str) or normalised(unchecked) in (*(inputs or ()), *out)):
        rule = "target must be the name of a column that is no input"
        raise ArgumentError(explain("read_table", rule, repr(target)), "target")
    if inputs is not None and out:
        raise ArgumentError(
            explain("read_table", "takes columns or exclude", "both", "exclude is what is left out of all"), "exclude"
        )
    wanted = Wanted(
        None if target is None else normalised(target),
        inputs,
        out,
        missing,
        delimiter,
        None if decimal is None else choice("read_table", "decimal", decimal, (".", ",")),
        None if header is None else flag("read_table", "header", header),
        limit,
    )
    return (
        place,
        wanted,
        Targets(str(place), classes, None if labels is None else flag("read_table", "labels", labels)),
    )


def _cells(
    place: Path, wanted: Wanted, targets: Targets | None, encoding: Encoding | None
) -> tuple[Cells, Read, Targets | None]:
    """All cells; read once more where a column turns out to hold words."""
    wanted = replace(wanted, numbers=False, size=24)
    words: set[int] = set()
    while True:
        made: list[CellReader] = []

        def start(layout: Layout, words: set[int] = words, made: list[CellReader] = made) -> CellReader:
            about = layout.about if layout.named else [(number, f"column {number}") for number, _ in layout.about]
            known = None if encoding is None else encoding.known(layout.where, about, wanted.columns is not None)
            about = about if known is None else [each for each, _ in known]
            holds = None if known is None else [kind for _, kind in known]
            made.append(CellReader(layout.where, layout.unit, about, layout.take, layout.decimal, words, holds))
            return made[0]

        read = read_file(place, targets, wanted, start)
        cells = made[0].finished()
        if cells is not None:
            return cells, read, targets
        words, targets = made[0].words, None if targets is None else targets.anew()


def _table(read: Read, targets: Targets | None) -> Table:
    """What is known of a table beside its inputs."""
    assert targets is not None, "a table has a target"
    y, named = targets.labelled()
    target = read.names[0] if read.names else ""
    return Table(
        np.empty((0, 0), np.float32), y, tuple(read.names[1:]), target, named, read.dropped, read.rows, read.told
    )


def _dtype(where: str, dtype: str) -> Dtype:
    return np.dtype(choice(where, "dtype", dtype, ("float32", "float64")))


@final
class _Numbers:
    """Inputs that are numbers; a `NotANumber` tells the place of what is none."""

    def __init__(self, layout: Layout, dtype: Dtype) -> None:
        self._layout = layout
        self._dtype = dtype
        self._numbers: array[float] = array(dtype.char)

    def add(self, row: int, fields: Sequence[str]) -> None:
        about = self._layout
        self._numbers.extend(numbers_of(about.where, row, fields, _MOST, about.about, about.decimal))

    def add_columns(self, rows: npt.NDArray[np.int64], columns: Sequence[Column]) -> None:
        exact = np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
        wrong = ~(np.abs(exact) <= _MOST)
        if wrong.any():
            column = int(wrong.any(axis=0).argmax())
            row = int(wrong[:, column].argmax())
            got = "" if np.isnan(exact[row, column]) else str(exact[row, column])
            raise not_a_number(self._layout.where, int(rows[row]), *self._layout.about[column], got, unit="row")
        self._numbers.frombytes(exact.astype(self._dtype).tobytes())

    def x(self, rows: int) -> Array2:
        """The numbers of all rows."""
        return np.frombuffer(self._numbers, self._dtype).reshape(rows, -1)


def _checked_names(name: str, value: Sequence[str] | None) -> tuple[str, ...] | None:
    unchecked = cast("object", value)
    if unchecked is None:
        return None
    texts = [*cast("Sequence[object]", unchecked)] if isinstance(unchecked, list | tuple) else []
    kept = [normalised(text) for text in texts if isinstance(text, str)]
    if not texts or len(set(kept)) < len(texts):
        raise ArgumentError(explain("read_table", f"{name} must be a list of different names", repr(value)[:80]), name)
    return tuple(kept)
