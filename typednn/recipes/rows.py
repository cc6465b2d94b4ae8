"""Rows for a trained model of a table, as a program has them: by the columns' names, or in their order.

rows_of("predict", [{"area": 95, "rooms": 3}], ("rooms", "area"), 2)   (1, 2) float64, rooms first
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, SupportsFloat, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from typednn.arrays import is_number
from typednn.data.cells import CellReader, shortest
from typednn.data.dialect import number_of
from typednn.data.encoding import Encoding
from typednn.data.labels import normalised
from typednn.errors import DataError, explain, listed, shown, suggestion

_MOST = float(np.finfo(np.float32).max)


def rows_of(where: str, rows: object, columns: Sequence[str], width: int) -> npt.NDArray[np.float64]:
    """The matrix (n, ``width``) of ``rows``: one row or several, each a mapping from the names of ``columns`` or a
    sequence in their order; or an array.

    A `DataError` tells the row, from 1, and the column of what is missing, unknown or no finite number.
    """
    if isinstance(rows, np.ndarray):
        return _matrix(where, cast("npt.NDArray[Any]", rows), width)
    given = [rows] if _is_named(rows) else rows
    if not _is_listed(given) or not given:
        rule = f"data are rows of {width} numbers: an array, a list of lists, or of dicts by the columns' names"
        raise DataError(explain(where, rule, "none" if _is_listed(given) else type(rows).__name__, _cure(rows)))
    if not (_is_named(given[0]) or _is_listed(given[0])):
        given = [given]  # one row
    names = columns or [str(number) for number in range(1, width + 1)]
    return np.array([_row(where, number, row, columns, names) for number, row in enumerate(given, 1)], np.float64)


def rows_encoded(where: str, rows: object, encoding: Encoding) -> tuple[npt.NDArray[np.float64], str]:
    """The matrix (n, columns of the encoding) of rows as the training table had them, and what of them training has not
    seen. A row is a mapping from the names of columns, of which those that are missing are gaps, or a sequence of the
    values of those that are used, or of all.

    A `DataError` tells the row, from 1, and the column of what is unknown, or not what its column holds.
    """
    given = [rows] if _is_named(rows) else rows
    if not _is_listed(given) or not len(given):
        rule = "data are rows by the columns' names, or in their order"
        raise DataError(explain(where, rule, "none" if _is_listed(given) else type(rows).__name__, _cure(rows)))
    if not (_is_named(given[0]) or _is_listed(given[0])):
        given = [given]  # one row
    about = [*enumerate(encoding.used_names, 1)]
    known = [kind for _, kind in encoding.known(where, about, True)]
    reader = CellReader(where, "row", about, lambda _: None, ".", (), known)
    for number, row in enumerate(given, 1):
        reader.add(number, _texts(where, number, row, encoding))
    cells = reader.finished()
    assert cells is not None, "what the columns hold is known"
    return encoding(cells), encoding.unknown(cells)


def _texts(where: str, number: int, row: object, encoding: Encoding) -> list[str]:
    """The values of the columns that are used, as a file would have them."""
    used, every = encoding.used_names, tuple(each.name for each in encoding.columns)
    if _is_named(row):
        named = {normalised(str(name)): value for name, value in row.items()}
        unknown = next((name for name in named if name not in every), None)
        if unknown is not None:
            rule = f"row {number} must have the columns {listed(used)}"
            raise DataError(explain(where, rule, repr(unknown[:40]), suggestion(unknown, used)))
    elif _is_listed(row) and len(row) in (len(used), len(every)):
        named = dict(zip(used if len(row) == len(used) else every, row, strict=True))
    else:
        rule = f"row {number} must hold {len(used)} values: {listed(used)}"
        got = f"{len(row)}" if _is_listed(row) else type(row).__name__
        raise DataError(explain(where, rule, got, "leave the target out"))
    return [_text(where, number, name, named.get(name)) for name in used]


def _text(where: str, number: int, name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, SupportsFloat):
        with suppress(OverflowError, TypeError):  # a whole number beyond floats; an array of several
            found = float(value)
            return "" if found != found else shortest(found)
    rule = f"row {number}, column {name!r} must be a number, a word, a date or None"
    raise DataError(explain(where, rule, shown(value, 40)))


def _is_named(row: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(row, Mapping)


def _is_listed(row: object) -> TypeGuard[Sequence[object]]:
    return isinstance(row, Sequence | np.ndarray) and not isinstance(row, str | bytes)


def _matrix(where: str, rows: npt.NDArray[Any], width: int) -> npt.NDArray[np.float64]:
    matrix = rows[None] if rows.ndim == 1 else rows.reshape(len(rows), -1) if rows.ndim > 2 else rows
    if matrix.shape[1:] != (width,) or not len(matrix) or not (is_number(matrix.dtype) or matrix.dtype == bool):
        got = f"{rows.dtype} of shape {rows.shape}"
        raise DataError(explain(where, f"data are rows of {width} numbers", got, "leave the target out"))
    exact = np.asarray(matrix, np.float64)
    wrong = np.argwhere(~(np.abs(exact) <= _MOST))
    if len(wrong):
        row, column = wrong[0].tolist()
        rule = f"row {row + 1}, column {column + 1} must be a finite number"
        raise DataError(explain(where, rule, f"{exact[row, column]:g}"))
    return exact


def _row(where: str, number: int, row: object, columns: Sequence[str], names: Sequence[str]) -> list[float]:
    values: Sequence[object]
    if _is_named(row):
        named = {normalised(str(name)): value for name, value in row.items()}
        unknown = next((name for name in named if name not in columns), None)
        if unknown is not None:
            rule = f"row {number} must have the columns {listed(columns)}"
            if not columns:
                rule = f"row {number} must be a list of {len(names)} numbers, as the training data had no names"
            raise DataError(explain(where, rule, repr(unknown[:40]), suggestion(unknown, columns) if columns else ""))
        values = [named.get(name) for name in columns]
    elif _is_listed(row):
        values = row
        if len(values) != len(names):
            rule = f"row {number} must hold {len(names)} numbers" + (f": {listed(columns)}" if columns else "")
            raise DataError(explain(where, rule, f"{len(values)}", "leave the target out"))
    else:
        rule = f"row {number} must be a list of {len(names)} numbers, or a dict by the columns' names"
        raise DataError(explain(where, rule, type(row).__name__))
    return [_number(where, number, name, value) for name, value in zip(names, values, strict=True)]


def _number(where: str, row: int, name: str, value: object) -> float:
    number = number_of(value) if isinstance(value, str) else None
    if isinstance(value, SupportsFloat):
        try:
            number = float(value)
        except (OverflowError, TypeError):  # a whole number beyond floats; an array of several
            number = None
    if number is not None and abs(number) <= _MOST:  # not NaN
        return number
    got, cure = ("nothing", "give each column a number") if value is None else (shown(value, 40), "")
    raise DataError(explain(where, f"row {row}, column {name!r} must be a finite number", got, cure))


def _cure(rows: object) -> str:
    if hasattr(rows, "columns"):
        return "of a data frame df.to_dict('records')"
    return "predict_files(path) reads a file" if isinstance(rows, str) else ""
