"""Encoding: the columns of a table as numbers. Words become one-hot, gaps are filled, dates are days.

    area,town,built                  area  area is missing  town=Jena  town=Ulm  built
    95,Ulm,1999-05-01                95    0                0          1         10712
    ,Jena,2004-11-20                 60    1                1          0         12742

`Encoding.fit` looks at the training rows alone, the rows that are tested have no part in it:

==========  ========================================================================================================
numbers     as they are; a gap gets the median of the training rows, and a column ``… is missing`` that is 1 there
dates       days since 1970-01-01 (UTC), with the time of day as a fraction; gaps as those of numbers
words       a column ``name=word`` for each, at most `MOST`; the rarer ones share ``name=other``, a gap is a word
left out    columns of one value, ids, words of which most occur once: each with its reason
==========  ========================================================================================================

An encoding is a value: a run keeps it, and gives new rows the same columns.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

import numpy as np
import numpy.typing as npt

from typednn.data.cells import Cells, Known
from typednn.errors import DataError, explain, listed

MOST: Final = 32  # columns that one column of words becomes
_FEW = 20  # rows, up to which a column of different values is no id
_ID = re.compile(r"(.*[ _.-])?(id|ids|uuid|guid|index|key|unnamed: \d+)|row ?(id|number|nr)|", re.IGNORECASE)
_CAMEL_ID = re.compile(r".*[a-z]I[dD]")
_NUMBERS = 0.95  # share of numbers in a column of words, from which the words are likely mistakes

Kind: TypeAlias = Literal["number", "date", "words", "left out"]


@final
@dataclass(frozen=True, slots=True)
class Encoded:
    """How one column is encoded. ``fill`` is the number for a gap, which None refuses, and ``gaps`` says whether gaps
    have a column of their own; ``words`` are those with a column of their own, sorted, and ``other`` says whether the
    rest has one. ``form`` is that of dates; ``reason`` says why a column is left out.
    """

    name: str
    kind: Kind
    fill: float | None = 0.0
    gaps: bool = False
    words: tuple[str, ...] = ()
    other: bool = False
    form: str = ""
    reason: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        missing = (f"{self.name} is missing",) if self.gaps else ()
        if self.kind == "words":
            words = tuple(f"{self.name}={word}" for word in self.words)
            return (*words, *((f"{self.name}=other",) if self.other else ()), *missing)
        return () if self.kind == "left out" else (self.name, *missing)


@final
@dataclass(frozen=True, slots=True)
class Encoding:
    """The encodings of a table's inputs, in the order of the file."""

    columns: tuple[Encoded, ...]

    @classmethod
    def fit(cls, cells: Cells, rows: npt.NDArray[np.int64]) -> "Encoding":
        """The encoding that suits these ``rows`` of a table, those to train on; a `DataError` where it leaves no
        column. An id is learned from where there is nothing else.
        """
        places = range(len(cells.names))
        found = cls(tuple(_fitted(cells, place, rows) for place in places))
        if not found.names:
            found = cls(tuple(_fitted(cells, place, rows, ids=True) for place in places))
        if not found.names:
            reasons = listed([f"{each.name!r}: {each.reason}" for each in found.columns])
            raise DataError(explain(cells.where, "must have a column to learn from", f"none ({reasons})"))
        return found

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> "Encoding":
        """Columns of numbers, as they are: a gap is refused."""
        return cls(tuple(Encoded(name, "number", None) for name in names))

    def without_gaps(self) -> "Encoding":
        """The same, which refuses gaps."""
        return Encoding(tuple(replace(each, fill=None) for each in self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns of numbers, in order."""
        return tuple(name for each in self.columns for name in each.names)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers without gaps."""
        return all(each.kind == "number" and not each.gaps for each in self.columns)

    @property
    def used_names(self) -> tuple[str, ...]:
        """The names of the file's columns that are not left out."""
        return tuple(each.name for each in self.used)

    def known(self, where: str, about: Sequence[tuple[int, str]], named: bool) -> list[tuple[tuple[int, str], Known]]:
        """What columns with these numbers and names hold, as a `CellReader` takes it: those that are used, by their
        names; in a file without names all, or those that are used, by their places.
        """
        known = {each.name: _known(each) for each in self.columns}
        if named:
            return [(place, known[place[1]]) for place in about]
        several = next((part for part in (self.columns, self.used) if len(part) == len(about)), None)
        if several is None:
            counts = " or ".join(str(count) for count in sorted({len(self.used), len(self.columns)}))
            rule = f"must hold rows of {counts} values, as in training"
            raise DataError(explain(where, rule, str(len(about)), "leave the label out"))
        return [((number, each.name), _known(each)) for (number, _), each in zip(about, several, strict=True)]

    @property
    def used(self) -> tuple[Encoded, ...]:
        """The columns that are not left out."""
        return tuple(each for each in self.columns if each.kind != "left out")

    def __call__(self, cells: Cells) -> npt.NDArray[np.float64]:
        """The numbers (n, columns) of a table whose columns are ``used``, or all."""
        places = {name: place for place, name in enumerate(cells.names)}
        x = np.empty((len(cells.values), len(self.names)))
        start = 0
        for each in self.used:
            stop = start + len(each.names)
            _encode(each, cells, places[each.name], x[:, start:stop])
            start = stop
        return x

    def unknown(self, cells: Cells) -> str:
        """What of a table training has not seen: words without a column, gaps; "" where there is nothing."""
        places = {name: place for place, name in enumerate(cells.names)}
        words = [
            f"{each.name!r} {word!r}"
            for each in self.used
            if each.kind == "words" and not each.other
            for word in cells.words[places[each.name]]
            if word not in each.words
        ]
        gaps = [
            repr(each.name)
            for each in self.used
            if not each.gaps and np.isnan(cells.values[:, places[each.name]]).any()
        ]
        told = {"words that training has not seen": words, "gaps where training had none, filled": gaps}
        return "; ".join(
            f"{what}: {listed(found[:5])}{' …' * (len(found) > 5)}" for what, found in told.items() if found
        )

    def __str__(self) -> str:
        """What was understood, in a line."""
        number = [each.name for each in self.used if each.kind == "number"]
        parts = [f"{len(number)} of numbers" if len(number) > 3 else f"numbers {listed(number)}"] if number else []
        dates = [each.name for each in self.used if each.kind == "date"]
        parts += [f"dates {listed(dates)}"] if dates else []
        words = [
            f"{each.name} ({len(each.words)}{' and other' if each.other else ''})"
            for each in self.used
            if each.kind == "words"
        ]
        parts += [f"words {listed(words)}"] if words else []
        gaps = [each.name for each in self.used if each.gaps]
        parts += [f"gaps filled in {listed(gaps)}"] if gaps else []
        parts += [f"left out: {each.name} ({each.reason})" for each in self.columns if each.kind == "left out"]
        return "; ".join(parts)

    def as_json(self) -> list[dict[str, Any]]:
        """As JSON values, which `from_json` reads."""
        return [
            {name: value for name, value in asdict(each).items() if value not in (0.0, False, (), "")}
            for each in self.columns
        ]

    @classmethod
    def from_json(cls, saved: Sequence[Mapping[str, Any]]) -> "Encoding":
        """KeyError, TypeError or ValueError where the values are no encoding."""
        return cls(tuple(_read(each) for each in saved))


def _known(how: Encoded) -> Known:
    """What a column holds; one that is left out may hold anything."""
    return Known("words" if how.kind == "left out" else how.kind, how.form)


def _read(saved: Mapping[str, Any]) -> Encoded:
    kind, fill = str(saved["kind"]), saved.get("fill", 0.0)
    if kind not in get_args(Kind):
        raise ValueError(f"no kind of column {kind!r}")
    return Encoded(
        str(saved["name"]),
        cast("Kind", kind),
        None if fill is None else float(fill),
        bool(saved.get("gaps", False)),
        tuple(map(str, saved.get("words", ()))),
        bool(saved.get("other", False)),
        str(saved.get("form", "")),
        str(saved.get("reason", "")),
    )


def _fitted(cells: Cells, place: int, rows: npt.NDArray[np.int64], ids: bool = False) -> Encoded:
    """How one column is encoded, by its values in ``rows``; ``ids``: whether ids are numbers too."""
    name, kind = cells.names[place], cells.kinds[place]
    everywhere, values = cells.values[:, place], cells.values[rows, place]
    present = values[~np.isnan(values)]
    gaps = len(present) < len(values)
    if not len(present):
        return Encoded(name, "left out", reason="it is empty")
    if not gaps and (present == present[0]).all():
        return Encoded(name, "left out", reason=f"always {cells.text(place, present[0])}")
    if kind == "words":
        return _of_words(cells, place, present, gaps)
    if kind == "number" and not ids and _is_id(name, everywhere):
        return Encoded(name, "left out", reason="an id, another in each row")
    return Encoded(name, kind, float(np.median(present)), gaps, form=cells.forms[place])


def _is_id(name: str, values: npt.NDArray[np.float64]) -> bool:
    """Whether numbers count the rows: 0, 1, … or 1, 2, … in their order; or whole and different, under such a name."""
    if len(values) > _FEW and values[0] in (0, 1) and (values == np.arange(len(values)) + values[0]).all():
        return True
    named = bool(_ID.fullmatch(name) or _CAMEL_ID.fullmatch(name))
    return named and bool((values == np.floor(values)).all()) and len(np.unique(values)) == len(values)


def _of_words(cells: Cells, place: int, present: npt.NDArray[np.float64], gaps: bool) -> Encoded:
    name, words = cells.names[place], cells.words[place]
    codes, counts = np.unique(present.astype(np.int64), return_counts=True)
    cells.refuse_mistakes(place, _NUMBERS)
    if len(present) > _FEW and 2 * len(codes) > len(present):
        reason = f"{len(codes):,} different words in {len(present):,} rows"
        return Encoded(name, "left out", reason=reason)
    kept: list[int] = codes[np.argsort(-counts, kind="stable")[: MOST if len(codes) <= MOST else MOST - 1]].tolist()
    return Encoded(name, "words", 0.0, gaps, tuple(sorted(words[code] for code in kept)), len(codes) > MOST)


def _encode(how: Encoded, cells: Cells, place: int, x: npt.NDArray[np.float64]) -> None:
    """Write the numbers of one column into ``x`` (n, how.names)."""
    values = cells.values[:, place]
    missing = np.isnan(values)
    if how.fill is None and missing.any():
        raise cells.gap(place, int(missing.argmax()))
    if how.gaps:
        x[:, -1] = missing
    if how.kind != "words":
        x[:, 0] = np.where(missing, how.fill or 0.0, values)
        return
    columns = {word: column for column, word in enumerate(how.words)}
    # of each code the column it fills; the last for what has none
    nowhere = x.shape[1]
    filled = [columns.get(word, len(columns) if how.other else nowhere) for word in cells.words[place]]
    chosen = np.array([*filled, nowhere])[np.where(missing, len(filled), values).astype(np.int64)]
    x[:, : nowhere - how.gaps] = chosen[:, None] == np.arange(nowhere - how.gaps)
