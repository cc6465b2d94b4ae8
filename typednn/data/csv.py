"""CSV: numbers in lines of text. Strict: a matrix, or an error with the line and column.

    label, pixel 1, …, pixel 784        ``header`` lines, skipped
    5,0,0,…,0                           one row per line; LF or CRLF; empty lines at the end do not count

A number is what Python's ``float`` reads, without underscores, and finite. Lines and columns count from 1, as in
editors. `labelled` makes images and labels of the matrix, `read_optdigits` reads the UCI file of that name, and
`typednn.data.read_table` reads named columns.
"""

import codecs
import csv
import io
import re
from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

import numpy as np

from typednn.arguments import choice, integer
from typednn.arrays import Array2, Array4, IntArray1, is_array
from typednn.data.dialect import check_delimiter, is_missing, number_of, other_mark
from typednn.data.labels import whole_numbers
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import File, opened, path_of

_FILL = "fill it in, or pass missing='drop' (--missing drop)"
_CODES = {"float32": "f", "float64": "d"}


@final
class NotANumber(DataError):
    """The text in line ``row``, column ``column``, both from 1, is no finite number."""

    def __init__(self, message: str, row: int, column: int) -> None:
        super().__init__(message)
        self.row = row
        self.column = column


@final
class RowLength(DataError):
    """Line ``row``, from 1, holds ``got`` numbers where the first row of numbers holds ``expected``."""

    def __init__(self, message: str, row: int, expected: int, got: int) -> None:
        super().__init__(message)
        self.row = row
        self.expected = expected
        self.got = got


def read_csv(
    path: str | Path, *, header: int = 0, delimiter: str = ",", dtype: str = "float32", limit: int | None = None
) -> Array2:
    """The numbers of a CSV file, (rows, columns); the first ``header`` lines are skipped. ``dtype`` is float32 or
    float64.

    A `DataError` where the file cannot be read or holds no row; a `NotANumber` or a `RowLength` where a line is wrong.
    ``limit`` is how many bytes of memory they may take; see `typednn.files`.
    """
    header = integer("read_csv", "header", header, 0)
    numbers: array[float] = array(_CODES[choice("read_csv", "dtype", dtype, tuple(_CODES))])
    most = float(np.finfo(dtype).max)
    columns = 0
    with rows_of("read_csv", path, header, delimiter, limit) as (file, rows):
        for row, fields in rows:
            columns = columns or len(fields)
            check_length(file.where, row, columns, len(fields))
            file.take(columns * numbers.itemsize)
            numbers.extend(numbers_of(file.where, row, fields, most))
    if not columns:
        raise DataError(
            explain(
                file.where, "must hold at least one row" + (f" after {header} header lines" if header else ""), "none"
            )
        )
    return np.frombuffer(numbers, dtype).reshape(-1, columns)


@contextmanager
def rows_of(
    caller: str, path: str | Path, header: int, delimiter: str, limit: int | None
) -> Generator[tuple[File, Iterator[tuple[int, list[str]]]]]:
    """The open file, and its rows of texts, each with the number of its first line, after ``header`` lines.

    A `DataError` tells the line where it is no CSV.
    """
    check_delimiter(caller, delimiter)
    with opened(caller, path, limit) as file, io.TextIOWrapper(file.stream, encoding="utf-8-sig", newline="") as text:
        records = csv.reader(_lines(file, text), delimiter=delimiter, strict=True)
        try:
            yield file, _rows(records, header)
        except UnicodeDecodeError as error:
            cure = "save it as UTF-8; is it another format, or packed?"
            got = f"the byte {error.object[error.start]:#04x} in line {_line_of_damage(file)}"
            raise DataError(explain(file.where, "must be text in UTF-8", got, cure)) from None
        except csv.Error as error:
            got = f"{error} in line {records.line_num}"
            raise DataError(explain(file.where, "must be comma-separated values", got)) from None


def check_length(where: str, row: int, expected: int, got: int) -> None:
    """A `RowLength` unless the row has as many fields as the first."""
    if got != expected:
        rule = f"line {row} must hold {expected} numbers, as the first does"
        raise RowLength(explain(where, rule, str(got), "is a line cut short?"), row, expected, got)


def _lines(file: File, text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of ``text``, none of them so long that splitting it would need more memory than the limit."""
    longest = file.limit // 64  # splitting a line takes up to 64 times its length
    while line := text.readline(longest + 1):
        if len(line) > longest:
            rule = f"a line may have at most {longest:,} characters, for a limit of {file.limit:,} bytes"
            raise DataError(
                explain(file.where, rule, "a longer one", "is it text? If so, raise limit or TYPEDNN_DATA_LIMIT")
            )
        yield line


def _line_of_damage(file: File) -> int:
    """The number of the first line that is not UTF-8."""
    file.stream.seek(0)
    number = 1
    pieces = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    while content := file.stream.read(1 << 16):
        text = pieces.decode(content)
        sound = re.split("[\udc80-\udcff]", text, maxsplit=1)[0]
        number += sound.count("\n")
        if len(sound) < len(text):
            break
    return number


def _rows(records: Any, header: int) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of its first line; empty lines only where another row follows, so that they can be
    refused.
    """
    empty = before = 0
    for fields in records:
        line, before = before + 1, records.line_num
        if fields and empty:
            yield empty, []
        if fields and line > header:
            yield line, fields
        elif line > header:
            empty = empty or line


def numbers_of(
    where: str,
    row: int,
    fields: Sequence[str],
    most: float,
    columns: Sequence[tuple[int, str]] = (),
    decimal: str = ".",
) -> list[float]:
    """The numbers in a row, at most ``most`` in size; a `NotANumber` that tells line and column.

    ``columns`` are the numbers and names of a table's columns, "" where they have none. ``decimal`` is the mark before
    fractions.
    """
    texts = fields if decimal == "." else [field.replace(",", ".") for field in fields]
    with suppress(ValueError):
        numbers = list(map(float, texts))
        if (
            sum(map(abs, numbers)) <= most
            and "_" not in "".join(fields)
            and (decimal == "." or "." not in "".join(fields))
        ):
            return numbers  # every number is finite
    if not columns:
        return [_number(where, row, column, None, field, most, decimal) for column, field in enumerate(fields, 1)]
    return [_number(where, row, *column, field, most, decimal) for column, field in zip(columns, fields, strict=True)]


def _number(where: str, row: int, column: int, name: str | None, field: str, most: float, decimal: str) -> float:
    number = number_of(field, decimal)
    if number is not None and abs(number) <= most:
        return number
    cure = (
        "inputs are numbers: name their columns in columns=[...]"
        if name
        else "skip header lines with header=1"
        if row == 1
        else ""
    )
    cure = (
        "inputs are numbers; if line 1 holds names, pass header=True (--header yes)"
        if name == "" and row == 1
        else cure
    )
    raise not_a_number(where, row, column, name, field, other_mark(field, decimal) or cure)


def not_a_number(
    where: str, row: int, column: int, name: str | None, field: str, cure: str = "", unit: str = "line"
) -> NotANumber:
    """The error for a ``field`` in a row that is missing or no finite number; ``unit`` is what rows are called in the
    file.
    """
    place = f"{unit} {row}, column {column}" + (f" ({name!r})" if name else "")
    if name is not None and is_missing(field):
        return NotANumber(explain(where, f"{place} must have a value", "nothing", _FILL), row, column)
    got = repr(field if len(field) <= 40 else f"{field[:40]}…")
    return NotANumber(explain(where, f"{place} must be a finite number", got, cure), row, column)


def labelled(matrix: Array2, height: int = 28, width: int = 28, *, label: int = 0) -> tuple[Array4, IntArray1]:
    """Images (n, height, width, 1) in float32 and labels (n) of rows that hold a label in column ``label`` and the
    pixels elsewhere.

    ``label`` is 0 for the first column or -1 for the last. A `DataError` names the row, from 0, whose label is no whole
    number.
    """
    height, width = integer("labelled", "height", height), integer("labelled", "width", width)
    if type(label) is not int or label not in (0, -1):
        raise ArgumentError(
            explain("labelled", "label must be 0, the first column, or -1, the last", repr(label)), "label"
        )
    if not is_array(matrix) or matrix.ndim != 2 or matrix.shape[1] != height * width + 1:
        got = f"shape {tuple(matrix.shape)}" if is_array(matrix) else type(matrix).__name__
        rule = f"matrix must be rows of a label and {height} x {width} pixels, so {height * width + 1} columns"
        raise DataError(explain("labelled", rule, got, "give height and width"))
    rule = "a label must be a whole number of at least 0"
    labels = whole_numbers(
        "labelled", rule, np.asarray(matrix[:, label], np.float64), "is the label in the other column?"
    )
    return np.ascontiguousarray(matrix[:, 1:] if label == 0 else matrix[:, :-1], np.float32).reshape(
        -1, height, width, 1
    ), labels


def read_optdigits(path: str | Path, *, limit: int | None = None) -> tuple[Array4, IntArray1]:
    """Images (n, 8, 8, 1) from 0 to 16 and labels (n) of UCI's optdigits.tra or optdigits.tes: 64 pixels a line, then
    the digit.

    Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI repository.
    """
    matrix = read_csv(path_of("read_optdigits", path), limit=limit)
    if matrix.shape[1] != 65:
        raise DataError(
            explain(str(path), "a row of optdigits holds 64 pixels and a digit", f"{matrix.shape[1]} numbers")
        )
    images, labels = labelled(matrix, 8, 8, label=-1)
    for name, numbers, most in (("a pixel", images, 16), ("a digit", labels, 9)):
        wrong = (numbers < 0) | (numbers > most)
        if wrong.any():
            raise DataError(
                explain(
                    str(path),
                    f"{name} of optdigits is 0 to {most}",
                    f"{numbers[wrong][0]:g} in row {np.argwhere(wrong)[0, 0]}",
                )
            )
    return images, labels
