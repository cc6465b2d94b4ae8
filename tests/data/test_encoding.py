"""Encodings of tables: beside scikit-learn's encoders, Python's dates, and by hand."""

import csv
import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from typednn.data import Encoding, read_table
from typednn.data.cells import days_of, form_of
from typednn.data.encoding import MOST
from typednn.data.table import read_cells
from typednn.errors import ArgumentError, DataError

HOUSES = """\
id,price,rooms,area,town,built,country
7,310000,3,95,Ulm,1999-05-01,DE
9,205000,2,,Jena,2004-11-20,DE
3,305000,3,90,Ulm,1998-05-01,DE
4,105000,1,40,NA,2014-11-20 12:00,DE
"""


def write(path: Path, text: str = HOUSES) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def of(path: Path, **about: Any) -> Any:
    return read_table(path, encoding="auto", dtype="float64", **about)


def test_a_table_as_people_have_it(tmp_path: Path) -> None:
    table = of(write(tmp_path / "a.csv"), target="price")
    days = [(datetime.date(*day) - datetime.date(1970, 1, 1)).days for day in ((1999, 5, 1), (2004, 11, 20))]
    assert table.columns == (
        "rooms",
        "area",
        "area is missing",
        "town=Jena",
        "town=Ulm",
        "town is missing",
        "built",
    )
    np.testing.assert_array_equal(table.x[0], [3, 95, 0, 0, 1, 0, days[0]])
    np.testing.assert_array_equal(table.x[1], [2, 90, 1, 1, 0, 0, days[1]])
    np.testing.assert_array_equal(table.x[3, :6], [1, 40, 0, 0, 0, 1])
    assert table.x[3, 6] % 1 == 0.5
    told = str(table.encoding)
    assert "left out: id (an id, another in each row); left out: country (always 'DE')" in told
    assert "dates built; words town (2); gaps filled in area, town" in told
    assert Encoding.from_json(json.loads(json.dumps(table.encoding.as_json()))) == table.encoding


words = st.sampled_from(["Ulm", "Jena", "Bonn", "", "Kiel, north"])
numbers = st.one_of(st.none(), st.floats(-1e6, 1e6, width=32))


@given(
    st.lists(st.tuples(words, numbers), min_size=1, max_size=30),
    st.lists(st.tuples(words, numbers), min_size=1, max_size=5),
)
def test_beside_scikit_learn(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, float | None]],
    others: list[tuple[str, float | None]],
) -> None:
    """Categories, medians and indicators of the training rows, applied to other rows."""
    folder = tmp_path_factory.mktemp("tables")

    def written(name: str, rows: list[tuple[str, float | None]]) -> Path:
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["y", "town", "area"])
            writer.writerows([1, town, "" if area is None else repr(area)] for town, area in rows)
        return folder / name

    towns, areas = [town for town, _ in rows], [area for _, area in rows]
    filled, known = [each for each in areas if each is not None], {town for town in towns if town}
    if len(set(areas)) == 1 or not filled or len(set(towns)) == 1 or not known:
        return  # a column is left out: see below
    table = of(written("train.csv", rows), target="y")
    other = read_table(written("other.csv", others), target="y", encoding=table.encoding, dtype="float64")
    one_hot = OneHotEncoder(categories=[sorted(known)], handle_unknown="ignore", sparse_output=False)
    median = SimpleImputer(strategy="median")
    nan = math.nan

    def numbers_of(areas: list[float | None]) -> Any:
        return np.array([[nan if area is None else area] for area in areas])

    one_hot.fit([[town] for town in towns])
    median.fit(numbers_of(areas))
    for found, part in ((table, rows), (other, others)):
        gaps = [[float(area is None)] for _, area in part] if None in areas else np.empty((len(part), 0))
        no_town = [[float(not town)] for town, _ in part] if "" in towns else np.empty((len(part), 0))
        of_towns = one_hot.transform([[town] for town, _ in part])
        wanted = np.hstack([of_towns, no_town, median.transform(numbers_of([area for _, area in part])), gaps])
        np.testing.assert_array_equal(found.x, wanted)


def test_columns_are_left_out_with_a_reason(tmp_path: Path) -> None:
    rows = [f"{n},{n * 7},x{n},same,,{n % 3},{n}" for n in range(30)]
    table = of(write(tmp_path / "a.csv", "y,user_id,note,one,empty,k,count\n" + "\n".join(rows)), target="y")
    assert table.columns == ("k",)
    reasons = {each.name: each.reason for each in table.encoding.columns if each.kind == "left out"}
    assert reasons == {
        "user_id": "an id, another in each row",
        "note": "30 different words in 30 rows",
        "one": "always 'same'",
        "empty": "it is empty",
        "count": "an id, another in each row",
    }


def test_an_id_is_learned_from_where_there_is_nothing_else(tmp_path: Path) -> None:
    table = of(write(tmp_path / "a.csv", "y,id\n" + "\n".join(f"{n * n},{n}" for n in range(30))), target="y")
    assert table.columns == ("id",)
    with pytest.raises(DataError, match=r"must have a column to learn from, got none \('a': always 1\)"):
        of(write(tmp_path / "b.csv", "y,a\n1,1\n2,1\n"), target="y")


def test_years_are_no_ids(tmp_path: Path) -> None:
    table = of(write(tmp_path / "a.csv", "y,year\n" + "\n".join(f"{n},{n + 1950}" for n in range(30))), target="y")
    assert table.columns == ("year",)


def test_rare_words_share_a_column(tmp_path: Path) -> None:
    rows = [f"{n},w{n % 40}" for n in range(200)] + [f"{n},w39" for n in range(9)]
    table = of(write(tmp_path / "a.csv", "y,word\n" + "\n".join(rows)), target="y")
    assert len(table.columns) == MOST
    assert table.columns[-1] == "word=other"
    assert "word=w39" in table.columns, "the most frequent stay"
    np.testing.assert_array_equal(table.x.sum(axis=1), 1)
    other = read_table(
        write(tmp_path / "b.csv", "y,word\n1,never seen\n"), target="y", encoding=table.encoding, dtype="float64"
    )
    assert (other.x[0, -1], other.x.sum()) == (1, 1)


def test_a_typing_mistake_is_no_word(tmp_path: Path) -> None:
    rows = [f"{n},{n % 7}.5" for n in range(40)]
    rows[11] = "11,9o"
    path = write(tmp_path / "a.csv", "y,area\n" + "\n".join(rows))
    expected = r"line 13, column 2 \('area'\) must be a number, got '9o', where 39 others are numbers; correct it"
    with pytest.raises(DataError, match=expected):
        of(path, target="y")
    write(path, "y,area,b\n" + "\n".join(f"{row},{n}" for n, row in enumerate(rows)))
    assert of(path, target="y", exclude=["area"]).columns == ("b",)


def test_words_late_in_a_column_of_numbers(tmp_path: Path) -> None:
    """Numbers before them are words too, as they were written."""
    rows = [f"{n},0{n % 2}" for n in range(5000)] + [f"{n},none of them" for n in range(3000)]
    table = of(write(tmp_path / "a.csv", "y,code\n" + "\n".join(rows)), target="y")
    assert table.columns == ("code=00", "code=01", "code=none of them")
    assert table.x.sum(axis=0).tolist() == [2500, 2500, 3000]


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2024-02-29", "1969-12-31"], "YYYY-MM-DD"),
        (["2024-02-29T23:30:00+01:00"], "YYYY-MM-DD"),
        (["2024/02/29 10:00"], "YYYY/MM/DD"),
        (["29.02.2024"], "DD.MM.YYYY"),
        (["29/02/2024", "01/02/2024"], "DD/MM/YYYY"),
        (["02/29/2024", "01/02/2024"], "MM/DD/YYYY"),
        (["01/02/2024"], ""),
        (["29/02/2024", "02/29/2024"], ""),
        (["2024-02-30"], ""),
        (["20240229"], ""),
        ([], ""),
    ],
)
def test_forms_of_dates(texts: list[str], form: str) -> None:
    assert form_of(texts) == form


@given(st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30)))
def test_days_are_those_of_datetime(when: datetime.datetime) -> None:
    when = when.replace(microsecond=0)
    day = (when - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    texts = {
        "YYYY-MM-DD": when.isoformat(" "),
        "YYYY/MM/DD": f"{when.year:04}/{when.month:02}/{when.day:02} {when:%H:%M:%S}",
        "DD.MM.YYYY": f"{when.day:02}.{when.month:02}.{when.year:04} {when:%H:%M:%S}",
    }
    for form, text in texts.items():
        assert days_of(text, form) == day


def test_dates_are_read_as_in_training(tmp_path: Path) -> None:
    """One row of a form that may be either is read as the form of the training data; another form is refused."""
    table = of(write(tmp_path / "a.csv", "y,day\n1,29/02/2024\n2,01/02/2024\n"), target="y")
    other = {"target": "y", "encoding": table.encoding, "dtype": "float64"}
    assert read_table(write(tmp_path / "b.csv", "y,day\n1,01/02/2024\n"), **other).x.item() == table.x[1, 0]
    expected = r"line 2, column 2 \('day'\) must be a date as in training, DD/MM/YYYY, got '02/29/2024'"
    with pytest.raises(DataError, match=expected):
        read_table(write(tmp_path / "b.csv", "y,day\n1,02/29/2024\n"), **other)


def test_what_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    with pytest.raises(ArgumentError, match=r"gaps are filled by an encoding, got none; add encoding=\"auto\""):
        read_table(path, missing="fill")
    with pytest.raises(ArgumentError, match="takes columns or exclude, got both"):
        of(path, target="price", columns=["area"], exclude=["town"])
    with pytest.raises(DataError, match="must have one column 'arae'"):
        of(path, target="price", exclude=["arae"])
    with pytest.raises(DataError, match=r"line 3, column 4 \('area'\) must be a finite number, got '1e39'"):
        of(write(tmp_path / "b.csv", HOUSES.replace(",,", ",1e39,")), target="price")
    with pytest.raises(ArgumentError, match="target must be the name of a column that is no input"):
        of(path, target="price", exclude=["price"])


def test_gaps_may_be_refused_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    table = of(path, target="price", missing="drop")
    assert (table.dropped, table.y.tolist()) == (2, [310000, 305000])
    cells = read_cells(path, target="price")
    strict = Encoding.fit(cells.cells, np.array([0, 2])).without_gaps()
    with pytest.raises(DataError, match=r"line 3, column 4 \('area'\) must have a value, got nothing"):
        strict(cells.cells)


def test_a_row_without_a_target_is_left_out(tmp_path: Path) -> None:
    table = of(write(tmp_path / "a.csv", HOUSES.replace("205000", "")), target="price")
    assert (table.dropped, table.y.tolist()) == (1, [310000, 305000, 105000])


def test_parquet_is_read_as_csv(tmp_path: Path) -> None:
    """Words, dates, whole numbers with gaps; a column of numbers there, of words here."""
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    from_csv = of(write(tmp_path / "a.csv"), target="price")
    built = [datetime.datetime(1999, 5, 1), datetime.datetime(2004, 11, 20), None, datetime.datetime(2014, 11, 20, 12)]
    columns = {
        "id": [7, 9, 3, 4],
        "price": [310000, 205000, 305000, 105000],
        "rooms": [3, 2, 3, 1],
        "area": [95.0, None, 90.0, 40.0],
        "town": ["Ulm", "Jena", "Ulm", None],
        "built": built,
        "country": ["DE"] * 4,
        "day": [datetime.date(2024, 2, 29), *[datetime.date(2024, 3, 1)] * 3],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    table = of(tmp_path / "a.parquet", target="price")
    assert table.columns == (*from_csv.columns, "built is missing", "day")
    np.testing.assert_array_equal(table.x[[0, 1, 3], :7], from_csv.x[[0, 1, 3]])
    assert table.x[:, 8].tolist() == [19782, 19783, 19783, 19783]
    again = read_table(tmp_path / "a.parquet", target="price", encoding=from_csv.encoding, dtype="float64")
    np.testing.assert_array_equal(again.x[:, :6], from_csv.x[:, :6])
