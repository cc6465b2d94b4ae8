"""Runs of tables with words, gaps and dates: predictions from files, dicts and lists are the same; what is told."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import DataError
from typednn.recipes import choose, evaluate_run, load_tables, predict, resume, train
from typednn.recipes.plan import read_plan
from typednn.recipes.predictor import load_run
from typednn.tasks import Regression

pytestmark = pytest.mark.usefixtures("on_the_reference")

TOWNS = ("Ulm", "Jena", "Bonn")


def write_houses(path: Path, rows: int = 500, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    lines = ["id,price,area,town,built,country"]
    for number in range(rows):
        area, town = rng.uniform(30, 150), int(rng.integers(3))
        day = datetime.date(1960, 1, 1) + datetime.timedelta(days=int(rng.integers(20000)))
        price = 2000 * area + 30000 * town + rng.normal(0, 1000)
        gap = rng.random() < 0.1
        lines.append(f"{number + 7},{price:.0f},{'' if gap else f'{area:.1f}'},{TOWNS[town]},{day},DE")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("houses")
    one, samples = choose(str(write_houses(folder / "houses.csv")), target="price", settings={"max_steps": 400})
    train(one, samples, run=folder / "run", progress=False)
    return folder / "run"


def test_files_dicts_and_lists_are_answered_alike(run: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("town,built,area\nJena,1999-05-01,80.5\nUlm,2001-01-31,\n", encoding="utf-8")
    from_file: list[Any] = [*predict(run, [tmp_path / "new.csv"])]
    houses = load_run(run)
    assert houses.columns == ("area", "town", "built")
    rows: list[Any] = [
        {"town": "Jena", "built": datetime.date(1999, 5, 1), "area": np.float64(80.5), "country": "FR"},
        {"town": "Ulm", "built": "2001-01-31", "area": None},
    ]
    lists = [[80.5, "Jena", "1999-05-01"], [float("nan"), "Ulm", "2001-01-31"]]
    every = [[9, 80.5, "Jena", "1999-05-01", "DE"], [9, "", "Ulm", "2001-01-31", "DE"]]
    for data in (rows, lists, every):
        assert [answer.values for answer in houses.predict(data)] == [answer.values for answer in from_file]  # type: ignore[union-attr]
    assert houses.predict(rows[0])[0].remark == ""
    assert "'town' 'Paris'" in houses.predict({"town": "Paris"})[0].remark


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"aera": 3}, "row 1 must have the columns area, town and built, got 'aera'; did you mean 'area'"),
        ([1, 2], "row 1 must hold 3 values: area, town and built, got 2"),
        ([{"area": "large"}], r"row 1, column 1 \('area'\) must be a finite number, got 'large'"),
        ([{}, {"built": "01.02.2000"}], r"row 2, column 3 \('built'\) must be a date as in training, YYYY-MM-DD"),
        ({"town": ["Ulm"]}, "row 1, column 'town' must be a number, a word, a date or None"),
        ({"area": 10**400}, "row 1, column 'area' must be a number"),
        ([], "data are rows by the columns' names, or in their order, got none"),
        (7, "got int"),
    ],
)
def test_rows_that_are_refused(run: Path, data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message.replace(" and ", r"(?:,| and) ")):
        load_run(run).predict(data)


def test_the_run_keeps_the_encoding(run: Path) -> None:
    plan = read_plan(run)
    assert plan.columns == ("area", "area is missing", "town=Bonn", "town=Jena", "town=Ulm", "built")
    samples = plan.samples()  # by the checksum: what the run began with
    assert samples.encoding == plan.encoding
    assert "left out: id (an id, another in each row); left out: country (always 'DE')" in samples.told
    assert not resume(run, progress=False).steps


def test_other_data_are_evaluated_by_it(run: Path, tmp_path: Path) -> None:
    report, samples = evaluate_run(run, str(write_houses(tmp_path / "other.csv", 40, 1)))
    assert samples.x.shape == (40, 6)
    assert report.r2 > 0.8  # type: ignore[union-attr]


def test_the_test_part_has_no_part_in_it(tmp_path: Path) -> None:
    """Of two files the first alone decides: words and medians of the second are unknown."""
    (tmp_path / "train.csv").write_text("y,a,w\n" + "".join(f"{n},{n % 5},{'uv'[n % 2]}\n" for n in range(30)))
    (tmp_path / "test.csv").write_text("y,a,w\n1,,x\n2,100,u\n")
    samples = load_tables(tmp_path / "train.csv", tmp_path / "test.csv", Regression(), target="y")
    assert samples.columns == ("a", "w=u", "w=v")
    np.testing.assert_array_equal(samples.test_x, [[2, 0, 0], [100, 1, 0]])
