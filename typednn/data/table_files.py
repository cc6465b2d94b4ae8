"""Table files: the rows of CSV, Parquet and Arrow files, of the columns that are wanted.

What is read of the inputs goes to an `Inputs`, of the target to `Targets`. Places are lines of a CSV file and rows of
another, from 1.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.data.arrow import Column, columns_stored
from typednn.data.csv import check_length, not_a_number, rows_of
from typednn.data.dialect import beginning, decimal_of, is_missing
from typednn.data.labels import normalised
from typednn.data.targets import Targets
from typednn.errors import ArgumentError, DataError, explain, listed
from typednn.files import opened

ARROW: Final = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
Missing: TypeAlias = Literal["error", "drop", "fill"]


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of a file: the names of target and inputs, None for the first column and for all others, less those
    in ``exclude``; how it is written; ``size``, the bytes of memory that an input takes.

    ``missing``: whether a row that lacks a value is refused, left out, or kept for its gap to be filled, if it has its
    target. ``numbers``: whether inputs must be numbers.
    """

    target: str | None
    columns: tuple[str, ...] | None
    exclude: tuple[str, ...] = ()
    missing: Missing = "error"
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    limit: int | None = None
    size: int = 4
    numbers: bool = True


class Inputs(Protocol):
    """What takes the values of the inputs."""

    def add(self, row: int, fields: Sequence[str]) -> None:
        """The texts of a row."""
        ...

    def add_columns(self, rows: npt.NDArray[np.int64], columns: Sequence[Column]) -> None:
        """The values of some rows, a column at a time."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """What an `Inputs` is made for: the file, what its rows are called, the numbers and names of the columns, the
    decimal mark, what counts memory, and whether the file has names.
    """

    where: str
    unit: Literal["line", "row"]
    about: list[tuple[int, str]]
    decimal: str
    take: Callable[[int], None]
    named: bool


@final
@dataclass(frozen=True, slots=True)
class Read:
    """What was read: the names of target and inputs, if the file has them; how many rows were left out, and how a CSV
    file was read.
    """

    names: list[str]
    rows: npt.NDArray[np.int64]
    dropped: int
    told: str = ""


Made: TypeAlias = Callable[[Layout], Inputs]


def read_file(path: Path, targets: Targets | None, wanted: Wanted, made: Made) -> Read:
    """What is wanted of the file: the target goes to ``targets``, if any, the inputs to what is ``made``."""
    return (_read_arrow if path.suffix.lower() in ARROW else _read_csv)(path, targets, wanted, made)


def _read_csv(path: Path, targets: Targets | None, wanted: Wanted, made: Made) -> Read:
    rows: array[int] = array("q")
    first = 0 if targets is None else 1  # of the inputs, among the fields that are read
    dropped = 0
    by_name = wanted.target is not None or wanted.columns is not None or bool(wanted.exclude)
    if by_name and wanted.header is False:
        rule = "columns are named where the file has names"
        cure = "leave out target, columns and exclude: the first column is the target"
        raise ArgumentError(explain("read_table", rule, "header=False", cure), "header")
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
        check_width(file.where, len(order) - first)
        decimal = wanted.decimal or decimal_of(
            file.where,
            [row[place] for row in start.records[start.named :] if len(row) == len(header) for place in order],
        )
        if targets is not None:
            targets.column, targets.unit, targets.decimal = about[0], "line", decimal
        inputs = made(Layout(file.where, "line", about[first:], decimal, file.take, start.named))
        for row, line in lines if start.named else chain([top], lines):
            check_length(file.where, row, len(header), len(line))
            fields = [line[place] for place in order]
            if wanted.missing != "error" and any(
                map(is_missing, fields if wanted.missing == "drop" else fields[:first])
            ):
                dropped += 1
                continue
            file.take(wanted.size * len(fields) + 72 + len(fields[0]))
            inputs.add(row, fields[first:])
            if targets is not None:
                targets.add(fields[0], row)
            rows.append(row)
    _check_count(file.where, len(rows), dropped)
    told = (
        f"{'line 1 holds names' if start.named else 'line 1 is a row, without names'}, delimiter "
        f"{start.delimiter!r}, decimal {decimal!r}"
    )
    return Read([name for _, name in about] if start.named else [], np.frombuffer(rows, np.int64), dropped, told)


def _read_arrow(path: Path, targets: Targets | None, wanted: Wanted, made: Made) -> Read:
    kept: list[npt.NDArray[np.int64]] = []
    first = 0 if targets is None else 1
    row = 1
    for name in ("delimiter", "decimal", "header"):
        if getattr(wanted, name) is not None:
            raise ArgumentError(explain("read_table", f"{name} is for CSV files", path.name, "leave it out"), name)
    with opened("read_table", path, wanted.limit) as file, columns_stored("read_table", file) as own:
        header = list(map(normalised, own.names))
        chosen = _places(file.where, header, wanted, first)
        about = [(place + 1, header[place]) for place in chosen]
        check_width(file.where, len(about) - first)
        for place in chosen[first:]:
            if not own.kinds[place] or (wanted.numbers and own.kinds[place] not in ("number", "boolean")):
                rule = (
                    f"column {place + 1} ({header[place]!r}) must hold numbers{'' if wanted.numbers else ' or words'}"
                )
                raise DataError(explain(file.where, rule, own.types[place], "name those that do in columns=[...]"))
        if targets is not None:
            targets.column = about[0]
            if not own.kinds[chosen[0]]:
                rule = f"column {about[0][0]} ({about[0][1]!r}) must hold numbers or words"
                raise DataError(explain(file.where, rule, own.types[chosen[0]]))
        inputs = made(Layout(file.where, "row", about[first:], ".", file.take, True))
        size = wanted.size * len(about) + 72
        for columns in own.batches(chosen, size):
            count = len(columns[-1])
            values = [] if targets is None else _values(columns[0], own.kinds[chosen[0]])
            file.take(count * size + sum(len(value) for value in values if isinstance(value, str)))
            if None in values and wanted.missing == "error":
                raise not_a_number(file.where, row + values.index(None), *about[0], "", unit="row")
            missing = np.array([value is None for value in values] or [False] * count, np.bool_)
            for column in columns[first:] if wanted.missing == "drop" else ():
                missing |= _gaps(column)
            keep = np.flatnonzero(~missing) if wanted.missing != "error" else np.arange(count)
            inputs.add_columns(keep + row, [_taken(column, keep) for column in columns[first:]])
            kept.append(keep + row)
            if targets is not None:
                for place in keep.tolist():
                    targets.add(values[place], row + place)
            row += count
    rows = np.concatenate(kept) if kept else np.empty(0, np.int64)
    _check_count(file.where, len(rows), row - 1 - len(rows))
    return Read([name for _, name in about], rows, row - 1 - len(rows))


def _values(column: Column, kind: str) -> list[Any]:
    """A target's values: numbers, words, or None where there is none."""
    if isinstance(column, list):
        return column
    numbers: list[float] = column.tolist()
    return [None if value != value else str(bool(value)) if kind == "boolean" else value for value in numbers]


def _gaps(column: Column) -> npt.NDArray[np.bool_]:
    return np.array([value is None for value in column]) if isinstance(column, list) else np.isnan(column)


def _taken(column: Column, keep: npt.NDArray[np.int64]) -> Column:
    return [column[place] for place in keep.tolist()] if isinstance(column, list) else column[keep]


def check_width(where: str, inputs: int) -> None:
    """A `DataError` where a row holds no input."""
    if inputs < 1:
        raise DataError(explain(where, "a row holds a target and at least one input", "one number"))


def _check_count(where: str, rows: int, dropped: int) -> None:
    if not rows:
        raise DataError(
            explain(where, "must hold at least one row", f"none, as {dropped} were left out" if dropped else "none")
        )


def _places(where: str, fields: Sequence[str], wanted: Wanted, targets: int) -> list[int]:
    """Where the target, if there are ``targets``, and the inputs are; a `DataError` for one that is not there, or
    twice.
    """
    if not fields:
        raise DataError(explain(where, "must have columns", "none"))
    chosen = [fields[0] if wanted.target is None else wanted.target][:targets]
    out = (*chosen, *wanted.exclude)
    inputs = [name for name in fields if name not in out] if wanted.columns is None else list(wanted.columns)
    places: dict[str, list[int]] = {}
    for place, name in enumerate(fields):
        places.setdefault(name, []).append(place)
    for name in (*out, *inputs):
        found = places.get(name, [])
        if len(found) != 1:
            several = listed([str(place + 1) for place in found])
            got = f"more than one: columns {several}" if found else listed(list(map(repr, fields)))
            raise DataError(explain(where, f"must have one column {name!r}", got[:400]))
    return [places[name][0] for name in (*chosen, *inputs)]
