"""Cells: the values of a table's columns, whatever they hold: numbers, dates, words, and gaps.

A column holds numbers until a word stands in it; then all its values are words, or dates where each of them is one.
Dates are written 2024-02-29, 2024/02/29 or 29.02.2024, with a time of day behind them or not; and 29/02/2024 or
02/29/2024 where some day of the column is above 12, which tells the two apart.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.data.csv import not_a_number
from typednn.data.dialect import is_missing, number_of, other_mark
from typednn.data.labels import normalised
from typednn.errors import DataError, explain

Holds: TypeAlias = Literal["number", "date", "words"]
ISO: Final = "YYYY-MM-DD"
_FORMS: Final = {
    ISO: "",
    "YYYY/MM/DD": "%Y/%m/%d",
    "DD.MM.YYYY": "%d.%m.%Y",
    "DD/MM/YYYY": "%d/%m/%Y",
    "MM/DD/YYYY": "%m/%d/%Y",
}
_CLOCKS: Final = ("", " %H:%M", " %H:%M:%S")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_BLOCK: Final = 4096  # rows that are looked at together
_NAN: Final = float("nan")
_MOST: Final = float(np.finfo(np.float32).max)
_WORD: Final = 200  # bytes of memory that a word takes beside its letters
Numbers: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Known:
    """What a column holds, where that is known: then another text is an error. ``form`` is that of dates."""

    kind: Holds
    form: str = ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """``values`` (n, columns): numbers, days since 1970 of dates, and of words their places in ``words``; NaN where a
    value is missing.

    ``rows`` (n) are the lines or rows of the file, ``unit`` what they are called, and ``numbers`` the columns' numbers
    there, from 1. ``forms`` are those of dates.
    """

    where: str
    names: tuple[str, ...]
    kinds: tuple[Holds, ...]
    values: Numbers
    words: tuple[tuple[str, ...], ...]
    forms: tuple[str, ...]
    rows: npt.NDArray[np.int64]
    unit: str
    numbers: tuple[int, ...]

    def text(self, place: int, value: float) -> str:
        """A value of a column as it is read."""
        if self.kinds[place] == "words":
            return repr(self.words[place][int(value)][:20])
        return f"{_EPOCH + _DAY * value:%Y-%m-%d}" if self.kinds[place] == "date" else f"{value:g}"

    def gap(self, place: int, row: int) -> DataError:
        """The error for a value that is missing where training had none missing."""
        return not_a_number(self.where, int(self.rows[row]), self.numbers[place], self.names[place], "", "", self.unit)

    def refuse_mistakes(self, place: int, share: float) -> None:
        """A `DataError` where at least ``share`` of a column of words are numbers: then the words are likely
        mistakes.
        """
        codes = self.values[:, place]
        present = np.flatnonzero(~np.isnan(codes))
        wrong = np.array([number_of(word) is None for word in self.words[place]])[codes[present].astype(np.int64)]
        if not len(wrong) or wrong.mean() > 1.0 - share:
            return
        row = present[int(wrong.argmax())]
        rule = f"{self.unit} {self.rows[row]}, column {self.numbers[place]} ({self.names[place]!r}) must be a number"
        got = f"{self.words[place][int(codes[row])][:40]!r}, where {len(wrong) - wrong.sum():,} others are numbers"
        cure = f"correct it, empty it, or leave the column out: exclude=[{self.names[place]!r}] (--exclude)"
        raise DataError(explain(self.where, rule, got, cure))


@final
class CellReader:
    """Columns that are filled with the texts of a file.

    ``about`` are the columns' numbers and names, ``words`` those that hold words, by their places; a column in which a
    word is met for the first time joins them, and then the file is to be read again (`finished`). ``known`` is what
    the columns hold, where that is known.
    """

    def __init__(
        self,
        where: str,
        unit: str,
        about: Sequence[tuple[int, str]],
        take: Callable[[int], None],
        decimal: str,
        words: Iterable[int],
        known: Sequence[Known] | None,
    ) -> None:
        self.where: str = where
        self.unit: str = unit
        self.about: Sequence[tuple[int, str]] = about
        self.decimal: str = decimal
        self.known: Sequence[Known] | None = known
        self.words: set[int] = (
            {place for place, each in enumerate(known) if each.kind != "number"} if known else {*words}
        )
        self._columns = [_Column(place in self.words, take, decimal) for place in range(len(about))]
        self._rows: array[int] = array("q")
        self._block: list[Sequence[str]] = []

    def add(self, row: int, fields: Sequence[str]) -> None:
        """The texts of a row."""
        self._rows.append(row)
        self._block.append(fields)
        if len(self._block) == _BLOCK:
            self._flush()

    def add_columns(self, rows: npt.NDArray[np.int64], columns: Sequence[Any]) -> None:
        """Values of each column: numbers, NaN where there is none, or words, None where there is none."""
        self._rows.frombytes(rows.astype(np.int64).tobytes())
        for place, (column, values) in enumerate(zip(self._columns, columns, strict=True)):
            if isinstance(values, np.ndarray) and place not in self.words:
                column.numbers.frombytes(values.astype(np.float64).tobytes())
            else:
                texts = ["" if value is None or value != value else shortest(value) for value in values]
                self._extend(place, column, texts, len(self._rows) - len(texts))

    def finished(self) -> Cells | None:
        """All cells; None where the file is to be read again, as some columns turned out to be words."""
        self._flush()
        if any(column.turned for column in self._columns):
            self.words |= {place for place, column in enumerate(self._columns) if column.turned}
            return None
        count = len(self._rows)
        values = np.empty((count, len(self._columns)))
        kinds: list[Holds] = []
        forms: list[str] = []
        rows = np.frombuffer(self._rows, np.int64)
        for place, column in enumerate(self._columns):
            values[:, place] = np.frombuffer(column.numbers, np.float64)
            kind, form = self._kind(place, column)
            kinds.append(kind)
            forms.append(form)
            if kind == "date":
                days = [days_of(word, form) for word in column.words]
                unread = next((code for code, day in enumerate(days) if day is None), None)
                if unread is not None:
                    self._refuse(place, int(rows[int((values[:, place] == unread).argmax())]), [*column.words][unread])
                codes = np.where(np.isnan(values[:, place]), len(days), values[:, place]).astype(np.int64)
                values[:, place] = np.array([*days, _NAN], np.float64)[codes]
        words = tuple(tuple(column.words) for column in self._columns)
        numbers, names = tuple(number for number, _ in self.about), tuple(name for _, name in self.about)
        return Cells(self.where, names, tuple(kinds), values, words, tuple(forms), rows, self.unit, numbers)

    def _kind(self, place: int, column: "_Column") -> tuple[Holds, str]:
        if self.known is not None:
            return self.known[place].kind, self.known[place].form
        form = form_of(column.words) if column.of_words else ""
        return ("date", form) if form else ("words" if column.of_words else "number", "")

    def _flush(self) -> None:
        start = len(self._rows) - len(self._block)
        for place, texts in enumerate(zip(*self._block, strict=True)):
            self._extend(place, self._columns[place], texts, start)
        self._block.clear()

    def _extend(self, place: int, column: "_Column", texts: Sequence[str], start: int) -> None:
        wrong = column.extend(texts)
        if wrong is not None and (self.known is not None or number_of(texts[wrong], self.decimal) is not None):
            self._refuse(place, self._rows[start + wrong], texts[wrong])

    def _refuse(self, place: int, row: int, text: str) -> None:
        """The error for a text that is not what its column holds."""
        number, name = self.about[place]
        if self.known is None or self.known[place].kind == "number":
            raise not_a_number(self.where, row, number, name, text, other_mark(text, self.decimal), self.unit)
        rule = f"{self.unit} {row}, column {number} ({name!r}) must be a date as in training, {self.known[place].form}"
        raise DataError(explain(self.where, rule, repr(text[:40])))


@final
class _Column:
    """The numbers of a column; or the words, and their places among them in ``numbers``. It ``turned`` where a word
    stands among numbers.
    """

    def __init__(self, of_words: bool, take: Callable[[int], None], decimal: str) -> None:
        self.of_words, self.take, self.decimal = of_words, take, decimal
        self.turned = False
        self.numbers: array[float] = array("d")
        self.words: dict[str, int] = {}

    def extend(self, texts: Sequence[str]) -> int | None:
        """The place of the first text that is no number within the range, where the column holds numbers."""
        if self.of_words:
            self.numbers.extend(map(self._code, texts))
            return None
        with suppress(ValueError):
            numbers = list(map(float, texts))
            if sum(map(abs, numbers)) <= _MOST and "_" not in "".join(texts):
                self.numbers.extend(numbers)
                return None
        found = [_NAN if is_missing(text) else number_of(text, self.decimal) for text in texts]
        wrong = next((place for place, each in enumerate(found) if each is None or abs(each) > _MOST), None)
        self.turned |= wrong is not None
        self.numbers.extend(each for each in found if each is not None)
        return wrong

    def _code(self, text: str) -> float:
        word = normalised(text)
        code = self.words.get(word)
        if code is None:
            if is_missing(word):
                return _NAN
            self.take(len(word) + _WORD)
            code = self.words[word] = len(self.words)
        return code


def form_of(words: Iterable[str]) -> str:
    """The form of dates in which all words are written; "" where there is none, or day and month may be either."""
    forms = [form for form in _FORMS if all(days_of(word, form) is not None for word in words)]
    return forms[0] if len(forms) == 1 and any(True for _ in words) else ""


def days_of(text: str, form: str) -> float | None:
    """The days since 1970 (UTC), the time of day as a fraction; None where it is no date of that form."""
    if form == ISO:
        if len(text) < len(ISO) or text[4:5] != "-":
            return None
        with suppress(ValueError):
            when = datetime.fromisoformat(text)
            return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH) / _DAY
        return None
    for clock in _CLOCKS:
        with suppress(ValueError):
            return (datetime.strptime(text, _FORMS[form] + clock).replace(tzinfo=UTC) - _EPOCH) / _DAY
    return None


def shortest(value: Any) -> str:
    """A value as a word: whole numbers without a point."""
    return value if isinstance(value, str) else str(int(value)) if float(value).is_integer() else repr(float(value))
