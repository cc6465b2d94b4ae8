"""Dialect: how a CSV file is written, told by its first lines: delimiter, names in line 1 or not, decimal mark.

What only the writer of the file knows is not guessed: a `DataError` names the argument that decides, and the option of
the command line.
"""

import csv
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import final

from typednn.errors import ArgumentError, DataError, explain, listed
from typednn.files import opened

_DELIMITERS = ",;\t|"
_BYTES = 1 << 16  # of a file, and the rest of the line there, that decide
_RECORDS = 100
_MISSING = ("", "na", "n/a", "nan", "null")
_COMMA = re.compile(r"[+-]?(\d*),(\d+)([eE][+-]?\d+)?")


@final
@dataclass(frozen=True, slots=True)
class Beginning:
    """The first records of a CSV file, cut by ``delimiter``, and whether the first holds the columns' names."""

    where: str
    delimiter: str
    records: tuple[tuple[str, ...], ...]
    named: bool


def beginning(
    path: Path, delimiter: str | None = None, header: bool | None = None, limit: int | None = None
) -> Beginning:
    """The beginning of a file; what is None is told by the file."""
    if delimiter is not None:
        check_delimiter("read_table", delimiter)
    with opened("read_table", path, limit) as file:
        content = file.stream.read(_BYTES)
        if len(content) == _BYTES and not content.endswith((b"\n", b"\r")):
            content += file.stream.readline(max(0, file.limit // 64 - _BYTES))
        whole = not file.stream.read(1)
    text = content.decode("utf-8-sig", errors="replace")
    if delimiter is None:
        delimiter = _delimiter(str(path), text, whole)
    records = _records(text, delimiter, whole)
    named = _is_named(str(path), records) if header is None else header
    return Beginning(str(path), delimiter, tuple(map(tuple, records)), named)


def names_in(path: Path) -> bool:
    """Whether the first line of a file of comma-separated numbers holds names."""
    return beginning(path, ",").named


def check_delimiter(caller: str, delimiter: str) -> None:
    """An `ArgumentError` unless it is one character that may stand between columns."""
    unchecked: object = delimiter
    if (
        not isinstance(unchecked, str)
        or len(delimiter) != 1
        or delimiter in ' "'
        or not (delimiter.isprintable() or delimiter == "\t")
    ):
        raise ArgumentError(
            explain(caller, "delimiter must be one printable character or a tab", repr(delimiter)), "delimiter"
        )


def is_missing(field: str) -> bool:
    """Whether a field says that there is no value: an empty one, or ``NA``, ``N/A``, ``NaN``, ``null`` in letters of
    either case.
    """
    return field.strip().lower() in _MISSING


def number_of(field: str, decimal: str = ".") -> float | None:
    """The finite number in a field; None where it is none."""
    if "_" in field or (decimal == "," and "." in field):
        return None
    with suppress(ValueError):
        number = float(field if decimal == "." else field.replace(",", "."))
        return number if math.isfinite(number) else None
    return None


def other_mark(field: str, decimal: str) -> str:
    """The cure for a ``field`` that is a number with the other decimal mark; "" where it is none."""
    other = "," if decimal == "." else "."
    return (
        ""
        if number_of(field, other) is None
        else "if that is the decimal mark of all, " + _cure("decimal", repr(other))
    )


def decimal_of(where: str, fields: Sequence[str]) -> str:
    """The decimal mark of numbers in these fields: a point, or a comma where there are some and no point."""
    commas = [found for field in fields if (found := _COMMA.fullmatch(field.strip()))]
    if not commas:
        return "."
    point = next((field.strip() for field in fields if "." in field and number_of(field) is not None), None)
    if point is not None:
        got = f"{commas[0][0]!r} and {point!r}"
        raise DataError(explain(where, "numbers have one decimal mark", got, _cure("decimal", "','", "'.'")))
    if all(len(found[2]) == 3 and 0 < len(found[1]) < 4 and found[1].strip("0") and not found[3] for found in commas):
        rule = "a comma in a number must be a decimal comma for certain"
        got = f"{commas[0][0]!r}, which may be {commas[0][0].replace(',', '.')} or {commas[0][0].replace(',', '')}"
        raise DataError(
            explain(
                where,
                rule,
                got,
                "if it is decimal, " + _cure("decimal", "','") + "; else write thousands without a comma",
            )
        )
    return ","


def _cure(argument: str, *choices: str) -> str:
    """How to decide, in Python and on the command line."""
    option = " or ".join(
        choice.strip("'") if choice.startswith("'") else {"True": "yes", "False": "no"}[choice] for choice in choices
    )
    return f"pass {argument}={' or '.join(choices)} (--{argument} {option})"


def _records(text: str, delimiter: str, whole: bool) -> list[list[str]]:
    """The first records that are no empty lines; the last is left out where the text ends within it."""
    rows: list[list[str]] = []
    with suppress(csv.Error):  # told with its line when the file is read
        for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) > _RECORDS:
                break
    return rows[:_RECORDS] if whole or len(rows) < 2 or len(rows) > _RECORDS else rows[:-1]


def _delimiter(where: str, text: str, whole: bool) -> str:
    """The delimiter that cuts every record into as many fields, in the fewest of which another delimiter stands."""
    cut = {delimiter: _records(text, delimiter, whole) for delimiter in _DELIMITERS}
    even = {
        delimiter: sum(_is_uncut(field, delimiter) for row in rows for field in row)
        for delimiter, rows in cut.items()
        if rows and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1
    }
    best = [delimiter for delimiter, uncut in even.items() if uncut == min(even.values())]
    if len(best) > 1:
        got = f"{listed([f'{delimiter!r} in each' for delimiter in best])}, such as {text.splitlines()[0][:40]!r}"
        raise DataError(explain(where, "lines must be cut by one delimiter", got, "pass delimiter=... (--delimiter)"))
    return best[0] if best else max(_DELIMITERS, key=lambda delimiter: len(cut[delimiter][0]) if cut[delimiter] else 0)


def _is_uncut(field: str, delimiter: str) -> bool:
    """Whether another delimiter stands in a field that is no number with a decimal comma."""
    return any(other in field for other in _DELIMITERS if other != delimiter) and not _COMMA.fullmatch(field.strip())


def _is_named(where: str, records: Sequence[Sequence[str]]) -> bool:
    """Whether the first record holds names: words alone, or words above numbers and, beside them, nothing or whole
    numbers.
    """
    first = records[0] if records else ()
    words = {place for place, field in enumerate(first) if _is_word(field)}
    if not words or len(words) == len(first):
        return bool(words)
    others = [field.strip() for place, field in enumerate(first) if place not in words]
    like_names = all(name == "" or name.isdecimal() for name in others) and len(set(others)) == len(others)
    like_names = like_names and all(first[place].lstrip()[0].isalpha() for place in words)
    below = [row for row in records[1:] if len(row) == len(first)]
    above_numbers = bool(below) and not any(_is_word(below[0][place]) for place in words)
    again = any(row[place] == first[place] for row in below for place in words)
    if again or (not like_names and not above_numbers):
        return False
    if like_names and above_numbers:
        return True
    got = f"{', '.join(map(repr, first[:4]))[:80]}, which may be either"
    raise DataError(explain(where, "line 1 must be names or a row for certain", got, _cure("header", "True", "False")))


def _is_word(field: str) -> bool:
    """Whether a field is neither missing nor a number, infinity and decimal commas included."""
    if is_missing(field) or _COMMA.fullmatch(field.strip()):
        return False
    try:
        float(field)
    except ValueError:
        return True
    return "_" in field
