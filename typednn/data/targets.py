"""Targets of a table: numbers, or words, which become classes."""

import math
from array import array
from typing import Any, final

import numpy as np

from typednn.data.cells import shortest
from typednn.data.csv import not_a_number
from typednn.data.dialect import is_missing, number_of, other_mark
from typednn.data.labels import normalised
from typednn.errors import DataError, explain, listed


@final
class Targets:
    """The target's values: numbers; or words, where the first is one or the classes are known."""

    def __init__(self, where: str, classes: tuple[str, ...] | None, labels: bool | None) -> None:
        self._where = where
        self._classes = classes
        self._labels = labels
        self._numbers: array[float] = array("d")
        self._words: list[str] = []
        self._rows: list[int] = []
        self._only_numbers = True
        self.column: tuple[int, str] = (1, "")
        self.unit: str = "row"
        self.decimal: str = "."

    def anew(self) -> "Targets":
        """The same, for the file to be read once more."""
        return Targets(self._where, self._classes, self._labels)

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
            self._words.append(normalised(value) if isinstance(value, str) else shortest(value))
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
