"""Tables of columns as `Samples`: which column is learned, as labels or as numbers, and which rows are kept apart."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from typednn.data import Encoding, Table, split
from typednn.data.table import ReadCells, read_cells
from typednn.data.table_files import Missing
from typednn.errors import DataError, explain, listed
from typednn.recipes.samples import TEST_SHARE, AnyTask, Exact, Labels, Samples
from typednn.tasks import Classification, Regression

# how a CSV file is written: arguments of `typednn.data.read_table`
LAYOUT: tuple[str, ...] = ("header", "delimiter", "decimal")
_LABELS = Classification()
_EXACT = np.dtype(np.float64)


def load_tables(
    train: str | Path,
    test: str | Path | None = None,
    task: AnyTask | None = _LABELS,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    missing: Missing = "fill",
    seed: int = 0,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
    outputs: int | None = None,
) -> Samples:
    """Tables in CSV, Parquet or Arrow files (`typednn.data.read_table`), to train and to test, or one of which a part
    is kept apart.

    ``target`` is the name of the target's column, by default the first; the inputs are those in ``columns``, by default
    all others but those in ``exclude``. What they hold is made numbers as the training part suits it
    (`typednn.data.Encoding`): words become one-hot, gaps are filled, dates are days, ids and columns of one value are
    left out. With ``missing`` "error" a gap is refused, with "drop" its row is left out.

    For a classification, the default, targets are words, or whole numbers from 0; for a regression any numbers. A task
    that is None is what the targets look like: a classification of words, or of whole numbers up to 100 of which each
    from 0 (or 1) occurs, else a regression. Words of which most occur once are refused then. Without ``test`` a fifth
    of the rows, of each class, is the test part, drawn by ``seed``.

    Whole numbers that are not 0, 1, … are numbered, and are the names of their classes. ``outputs`` are those of a
    model whose sizes are written down: labels below it are the model's own, and are kept; others are numbered if they
    are as many, else refused. ``header``, ``delimiter`` and ``decimal`` are those of `typednn.data.read_table`, for
    both files. ``Samples.told`` says how they were read.
    """
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "decimal": decimal}
    layout = {name: value for name, value in layout.items() if value is not None}
    chosen: dict[str, Any] = {"columns": columns, "exclude": exclude}
    chosen = {name: list(value) for name, value in chosen.items() if value is not None}
    labels = True if isinstance(task, Classification) else None
    read = read_cells(train, target=target, labels=labels, missing=missing, **chosen, **layout)
    table = read.table
    guessed, task = task is None, task or (_LABELS if table.names or _are_labels(table.y) else Regression())
    y = targets_of(train, table, task)
    kinds = len(np.unique(y))
    if isinstance(task, Classification) and (guessed or not table.names) and len(y) > 20 and 2 * kinds > len(y):
        rule = f"a classification's target{f' {table.target!r}' if table.target else ''} repeats a few labels"
        got = f"{kinds:,} different {'words' if table.names else 'numbers'} in {len(y):,} rows"
        got += f", such as {table.names[0][:40]!r}" if table.names else ""
        cure = "if they are classes, --task classification" if table.names else "learn them with --task regression"
        raise DataError(explain(str(train), rule, got, cure))
    names = table.names
    if isinstance(task, Classification) and not names:
        y, names = _numbered(train, table, y, outputs)
    source = {"train": str(Path(train).resolve())} | ({} if target is None else {"target": target})
    source |= {name: str(value).lower() if value is header else str(value) for name, value in layout.items()}
    source |= {name: json.dumps(value) for name, value in chosen.items()}
    source |= {"numbered": "true"} if names and not table.names else {}
    source |= {} if missing == "fill" else {"missing": missing}
    name, told = Path(train).name, _told(table, task, names, guessed, kinds)
    if test is None:
        source["seed"] = str(seed)
        classes: Any = y if y.dtype.kind == "i" else len(y)
        rows, apart = split(classes, TEST_SHARE, seed=seed)
        where = f"{train}, of which {len(apart):,} rows are kept apart to test"
        encoding = _encoding(read, rows, missing)
        x = read.encoded(encoding, _EXACT).x
        parts: tuple[Any, Any, Any, Any] = x[rows], y[rows], x[apart], y[apart]
    else:
        source["test"] = str(Path(test).resolve())
        where, encoding = f"{train} and {test}", _encoding(read, np.arange(len(y)), missing)
        known: dict[str, Any] = {
            "names": table.names or None,
            "labels": None if table.names else False,
        }
        other = read_cells(test, target=target, encoding=encoding, missing=missing, **known, **layout)
        parts = (
            read.encoded(encoding, _EXACT).x,
            y,
            other.encoded(encoding, _EXACT).x,
            targets_of(test, other.table, task, names),
        )
        if other.table.told != table.told:
            told += f"; {Path(test).name}: {other.table.told}"
    told += "" if encoding.is_plain else f"; columns: {encoding}"
    named = encoding.names if table.columns else ()
    return Samples(name, where, *parts, names, columns=named, source=source, told=told, encoding=encoding)


def _encoding(read: ReadCells, rows: npt.NDArray[np.int64], missing: Missing) -> Encoding:
    """The encoding that suits the training part; where gaps are not filled, those of other data are refused."""
    found = Encoding.fit(read.cells, rows)
    return found if missing == "fill" else found.without_gaps()


def layout_of(data: Mapping[str, str]) -> dict[str, Any]:
    """How the tables of a run are written, where that was said: the arguments ``header``, ``delimiter`` and ``decimal``
    of `read_table`.
    """
    return {name: data[name] == "true" if name == "header" else data[name] for name in LAYOUT if name in data}


def chosen_of(data: Mapping[str, str]) -> dict[str, Any]:
    """Which columns of the tables of a run are read: the arguments ``columns``, ``exclude`` and ``missing`` of
    `load_tables`.
    """
    chosen: dict[str, Any] = {name: json.loads(data[name]) for name in ("columns", "exclude") if name in data}
    return {**chosen, **({"missing": data["missing"]} if "missing" in data else {})}


def _numbered(path: str | Path, table: Table, y: Labels | Exact, outputs: int | None) -> tuple[Labels, tuple[str, ...]]:
    """Labels as they are, and no names, where they are 0, 1, … or a model's own; else the numbers of those that occur,
    and their names.
    """
    found, labels = np.unique(y, return_inverse=True)
    if len(found) == found[-1] + 1 or (outputs is not None and found[-1] < outputs):
        return np.asarray(y, np.int64), ()
    if outputs is not None and len(found) != outputs:
        rule = f"{_named(table)}, labels must be 0 to {outputs - 1}, as the model gives {outputs} numbers"
        row = int(np.argmax(y >= outputs))
        raise DataError(
            explain(
                str(path),
                rule,
                f"{y[row]:g} in {table.place(row)}",
                "give the model as many outputs as there are classes",
            )
        )
    return np.asarray(labels, np.int64), tuple(str(int(label)) for label in found)


def _named(table: Table) -> str:
    return f"the target {table.target!r}" if table.target else "the target, column 1"


def _told(table: Table, task: AnyTask, names: tuple[str, ...], guessed: bool, kinds: int) -> str:
    """How a table was read, in a line: the file, the target, the task, the classes."""
    kind, other = (
        ("words", "")
        if table.names
        else ("whole numbers", "; --task regression learns them as numbers" if guessed else "")
    )
    classes = f"{kind}, {kinds} classes{f': {listed(names)}' if names else ''}{other}"
    held = classes if isinstance(task, Classification) else "numbers, a regression"
    dropped = f"; {table.dropped:,} rows left out, as they lack a value" if table.dropped else ""
    return f"{f'{table.told}; ' if table.told else ''}{_named(table)}: {held}{dropped}"


def _are_labels(y: npt.NDArray[Any]) -> bool:
    """Whether numbers look like labels: whole, up to 100, and each from 0 (or 1) occurs."""
    found = np.unique(y)
    return len(found) > 1 and found[0] in (0, 1) and found[-1] <= 100 and bool((np.diff(found) == 1).all())


def targets_of(path: str | Path, table: Table, task: AnyTask, names: tuple[str, ...] = ()) -> Labels | Exact:
    """The targets of a table, in the form of the task; a `DataError` where they do not fit it.

    ``names`` are those of classes that were numbered, where the table's targets are numbers.
    """
    if table.names:
        if not isinstance(task, Classification):
            rule = f"{_named(table)} must be numbers, for a regression"
            raise DataError(
                explain(
                    str(path), rule, f"words, such as {table.names[0]!r}", "choose another column, or a classification"
                )
            )
        return np.asarray(table.y, np.int64)
    y: Labels | Exact = task.column(str(path), _named(table), np.asarray(table.y, np.float64), table.place)
    if not names:
        return y
    known = np.array([int(name) for name in names])
    labels = np.searchsorted(known, y).clip(max=len(known) - 1)
    wrong = known[labels] != y
    if wrong.any():
        row = int(wrong.argmax())
        rule = f"{_named(table)} must be one of the classes {listed(names)}"
        raise DataError(explain(str(path), rule, f"{y[row]:g} in {table.place(row)}"))
    return np.asarray(labels, np.int64)
