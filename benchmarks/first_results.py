"""The first result on data of one's own, beside scikit-learn's: ``python -m benchmarks.first_results``.

typednn is the command ``typednn train`` with nothing but the data, scikit-learn a program that reads the same files and
fits an estimator with its own settings. Both are processes, and their seconds are those from start to end:

======  ======================================================================  ======================================
data    sets                                                                    scikit-learn
======  ======================================================================  ======================================
table   diabetes, breast cancer and wine, which scikit-learn brings with it;    HistGradientBoosting and RandomForest
        houses with words, gaps and dates                                       behind SimpleImputer, OneHotEncoder
photos  sixty pictures: handwritten digits; discs, squares and triangles of     LogisticRegression on scaled pixels
        any colour, size and place
texts   numbers that are counted upwards or downwards; speeches of three of     LogisticRegression on TfidfVectorizer
        Shakespeare's characters
======  ======================================================================  ======================================

``--table FILE TARGET`` adds a table from elsewhere. Each seed splits the data anew, and all contestants get the same
split: a table and a folder each have a part to train and one to test. Scores are R² or the share of the test part that
is right. The first training of a set finds no compiled kernels; its seconds have a column of their own. Seconds of CPU
are what other work changes least. A row is held where typednn's median is at least that of every other, and its first
training took at most a minute. The exit code is 1 only where a program fails.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np

from benchmarks import absent, machine

MINUTE = 60.0
Kind = Literal["table", "photos", "texts"]
PEERS: dict[Kind, tuple[str, ...]] = {
    "table": ("HistGradientBoosting", "RandomForest"),
    "photos": ("LogisticRegression",),
    "texts": ("LogisticRegression",),
}
SPEAKERS = ("GLOUCESTER", "DUKE VINCENTIO", "ROMEO")


# --- data -----------------------------------------------------------------------------------------------------------


def cut(whole: Path, folder: Path, seed: int) -> None:
    """A fifth of a table's rows into test.csv, the others into train.csv."""
    head, *rows = whole.read_text(encoding="utf-8").splitlines()
    order = np.random.default_rng(seed).permutation(len(rows))
    apart = len(rows) // 5
    for part, places in (("test", order[:apart]), ("train", order[apart:])):
        lines = [head, *(rows[place] for place in places), ""]
        (folder / f"{part}.csv").write_text("\n".join(lines), encoding="utf-8")


def bundled(loader: str, folder: Path, seed: int) -> None:
    """A table that scikit-learn brings with it, its target last."""
    from examples.fifteen_tasks import make_data

    data: Any = getattr(import_module("sklearn.datasets"), loader)()
    labels = data.target.tolist() if loader == "load_diabetes" else data.target_names[data.target]
    make_data.table(folder / "all.csv", [*data.feature_names, "target"], *data.data.T.tolist(), labels)
    cut(folder / "all.csv", folder, seed)


def own(table: Path, folder: Path, seed: int) -> None:
    """A table from elsewhere, with a header."""
    cut(table, folder, seed)


def houses(folder: Path, seed: int) -> None:
    """Six hundred, with gaps."""
    from examples.fifteen_tasks import make_data

    make_data.houses(folder / "all.csv", seed=seed)
    cut(folder / "all.csv", folder, seed)


def digits(folder: Path, seed: int) -> None:
    """Six of each digit to train on, fifty to test."""
    from examples.fifteen_tasks import make_data

    make_data.photos(folder / "all")
    rng = np.random.default_rng(seed)
    for name in make_data.NUMBERS[:10]:
        files = sorted((folder / "all").glob(f"*/{name}/*.png"))
        for place, number in enumerate(rng.permutation(len(files))[:56]):
            home = folder / ("train" if place < 6 else "test") / name
            home.mkdir(parents=True, exist_ok=True)
            files[number].rename(home / files[number].name)


def shapes(folder: Path, seed: int) -> None:
    """Twenty of each shape to train on, a hundred to test."""
    from examples.fifteen_tasks import make_data

    make_data.shapes(folder / "train", 20, 2 * seed)
    make_data.shapes(folder / "test", 100, 2 * seed + 1)


def counting(folder: Path, seed: int) -> None:
    """The same words in both classes, in another order."""
    from examples.fifteen_tasks import make_data

    make_data.texts(folder / "train", 400, 2 * seed)
    make_data.texts(folder / "test", 200, 2 * seed + 1)


def speeches(folder: Path, seed: int) -> None:
    """Of at least 40 characters; a fifth of each character's is for the test."""
    from typednn.data import source_folder  # not at the top: scikit-learn's processes, which are timed, do without

    text = (source_folder("tinyshakespeare") / "input.txt").read_text(encoding="utf-8")
    found = re.findall(r"^([A-Z ]+):\n((?:.+\n)+)", text, re.MULTILINE)
    rng = np.random.default_rng(seed)
    for name in SPEAKERS:
        said = [text for speaker, text in found if speaker == name and len(text) >= 40]
        for place, number in enumerate(rng.permutation(len(said))):
            home = folder / ("test" if place < len(said) // 5 else "train") / name.lower()
            home.mkdir(parents=True, exist_ok=True)
            (home / f"{number:03}.txt").write_text(said[number], encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Set:
    """Data of a kind; ``make(folder, seed)`` writes a part to train and one to test."""

    kind: Kind
    make: Callable[[Path, int], None]
    target: str = ""

    def command(self, folder: Path) -> list[str]:
        """What a user types."""
        if self.kind != "table":
            return ["train", "--data", str(folder)]
        tables = [str(folder / f"{part}.csv") for part in ("train", "test")]
        return ["train", *tables, "--target", self.target]


SETS = {
    "diabetes": Set("table", partial(bundled, "load_diabetes"), "target"),
    "breast-cancer": Set("table", partial(bundled, "load_breast_cancer"), "target"),
    "wine": Set("table", partial(bundled, "load_wine"), "target"),
    "houses": Set("table", houses, "price"),
    "digits": Set("photos", digits),
    "shapes": Set("photos", shapes),
    "counting": Set("texts", counting),
    "speeches": Set("texts", speeches),
}


# --- scikit-learn ---------------------------------------------------------------------------------------------------


def cells(path: Path, target: str) -> tuple[dict[str, list[Any]], list[Any]]:
    """The columns of a table by name, and the target: numbers, days of dates, else words; None for a gap."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    columns: dict[str, list[Any]] = {}
    for name, column in zip(head, zip(*rows, strict=True), strict=True):
        present = [value for value in column if value]
        read: Callable[[str], Any] = str
        for kind in (float, lambda value: date.fromisoformat(value).toordinal()):
            try:
                [kind(value) for value in present]
            except ValueError:
                continue
            read = kind
            break
        columns[name] = [read(value) if value else None for value in column]
    return columns, columns.pop(target)


def of_table(peer: str, folder: Path, target: str) -> float:
    """The test score of an estimator behind the usual columns."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    (x, y), (test_x, test_y) = (cells(folder / f"{part}.csv", target) for part in ("train", "test"))
    words = [any(isinstance(value, str) for value in column) for column in x.values()]
    prepared = make_column_transformer(
        (SimpleImputer(strategy="median"), [place for place, word in enumerate(words) if not word]),
        (
            make_pipeline(
                SimpleImputer(strategy="constant", fill_value="none", missing_values=None),
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            ),
            [place for place, word in enumerate(words) if word],
        ),
    )
    task = "Classifier" if isinstance(y[0], str) else "Regressor"
    model = make_pipeline(prepared, getattr(import_module("sklearn.ensemble"), f"{peer}{task}")(random_state=0))
    rows, test = (
        np.array([[np.nan if value is None and not word else value for value, word in zip(row, words, strict=True)]
                  for row in zip(*part.values(), strict=True)], dtype=object)
        for part in (x, test_x)
    )  # fmt: skip
    return float(model.fit(rows, y).score(test, test_y))


def class_files(folder: Path, read: Callable[[Path], Any]) -> tuple[list[Any], list[str]]:
    """What is in the files of class folders, and the class of each."""
    files = sorted(folder.glob("*/*.*"))
    return [read(file) for file in files], [file.parent.name for file in files]


def of_files(kind: Kind, folder: Path) -> float:
    """The test score of a linear model on pixels, or on the words of texts."""
    from PIL import Image
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    read: Callable[[Path], Any] = (
        Path.read_text if kind == "texts" else lambda path: np.asarray(Image.open(path)).ravel()
    )
    first: Any = TfidfVectorizer() if kind == "texts" else StandardScaler()
    model = make_pipeline(first, LogisticRegression(max_iter=1000))
    model.fit(*class_files(folder / "train", read))
    return float(model.score(*class_files(folder / "test", read)))


# --- the contest ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    """The score of one training, its seconds, and those of CPU."""

    score: float
    seconds: float
    cpu: float


def measured(command: Sequence[str], cache: Path) -> Result:
    """The last number of the last ``test`` that a process prints, as a share, and its whole time."""
    environment = machine.environment(machine.How(machine.cores())) | {"TYPEDNN_CACHE": str(cache)}
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", *command], env=environment, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    found = re.findall(r"test (?:R²|accuracy) (-?[\d.]+)(%?)", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    number, percent = found[-1]
    return Result(float(number) / (100 if percent else 1), seconds, cpu)


def compare(name: str, data: Set, seeds: Iterable[int], settings: Sequence[str]) -> dict[str, list[Result]]:
    """The results of each contestant, seed by seed."""
    results = dict[str, list[Result]]()
    with tempfile.TemporaryDirectory() as cache:
        for seed in seeds:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place, name)
                folder.mkdir()
                data.make(folder, seed)
                commands = {"typednn": ["typednn", *data.command(folder), "-q", "--run", f"{place}/run", *settings]}
                for peer in PEERS[data.kind]:
                    asked = {"peer": peer, "kind": data.kind, "target": data.target, "data": str(folder)}
                    commands[peer] = ["benchmarks.first_results", *(f"--{key}={value}" for key, value in asked.items())]
                for contestant, command in commands.items():
                    results.setdefault(contestant, []).append(measured(command, Path(cache)))
    return results


def show(name: str, results: dict[str, list[Result]]) -> None:
    """A row for each contestant."""
    scores = {contestant: median(each.score for each in found) for contestant, found in results.items()}
    first = results["typednn"][0].seconds
    held = scores["typednn"] >= max(scores.values()) and first <= MINUTE
    for contestant, found in results.items():
        ours = contestant == "typednn"
        spread = f"({min(each.score for each in found):.3f}-{max(each.score for each in found):.3f})"
        seconds, cpu = (median(getattr(each, what) for each in found) for what in ("seconds", "cpu"))
        begun = f"{first:8.1f} s  {'held' if held else 'missed'}" if ours else ""
        print(
            f"  {name if ours else '':14}{contestant:22}{scores[contestant]:7.3f} {spread:15}{seconds:7.1f} s"
            f"{cpu:7.1f} s{begun}",
            flush=True,
        )


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; a program that fails ends it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_results", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS), help="(default: all)")
    parser.add_argument(
        "--table", action="append", nargs=2, metavar=("FILE", "TARGET"), default=[], help="a table more, as CSV"
    )
    parser.add_argument("--seeds", type=int, default=5, help="splits of each set (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], help="a setting of typednn train, for trying others")
    for name in ("peer", "kind", "target", "data"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.peer:
        kind, folder = options.kind, Path(options.data)
        score = of_table(options.peer, folder, options.target) if kind == "table" else of_files(kind, folder)
        print(f"test accuracy {score:.6f}")
        return 0
    if absent.without("first_results", "sklearn", "PIL"):
        return 0
    print(
        f"First results: medians of {options.seeds} splits (least and greatest); scikit-learn {version('scikit-learn')}"
    )
    print(f"  {machine.described()}")
    print(f"  {'':14}{'':22}{'score':>7} {'':15}{'time':>9}{'CPU':>9}{'first':>10}")
    noise = machine.Noise.now()
    settings = [word for each in options.set for word in ("--set", each)]
    sets = {name: SETS[name] for name in options.sets}
    sets |= {Path(file).stem: Set("table", partial(own, Path(file)), target) for file, target in options.table}
    for name, data in sets.items():
        if name == "speeches" and absent.data_of(name, "tinyshakespeare") is None:
            continue
        show(name, compare(name, data, range(options.seeds), settings))
    print(f"  {noise.until_now()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
