"""Tables with named columns: CSV beside Python's csv, Parquet and Arrow beside CSV."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.data import NotANumber, RowLength, read_columns, read_table
from typednn.errors import ArgumentError, DataError, MissingExtra

HOUSES = 'price,rooms,area,town\n310000,3,95.5,Ulm\n205000,2,60,"Jena, east"\n99500.5,1,20,Ulm\n'


def write(path: Path, text: str = HOUSES) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_target_of_numbers(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "a.csv"), target="price", columns=["area", "rooms"])
    assert (table.columns, table.target, table.names, table.dropped) == (("area", "rooms"), "price", (), 0)
    assert (table.x.dtype, table.y.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(table.x, [[95.5, 3], [60, 2], [20, 1]])
    np.testing.assert_array_equal(table.y, [310000, 205000, 99500.5])


def test_a_target_of_words(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "a.csv"), target="town")
    assert (table.columns, table.target, table.names) == (("price", "rooms", "area"), "town", ("Jena, east", "Ulm"))
    assert table.y.dtype == np.int64
    assert table.y.tolist() == [1, 0, 1]


def test_the_classes_of_other_data(tmp_path: Path) -> None:
    """A file that has some of them only, or whose words look like numbers, has the labels of the training data."""
    path = write(tmp_path / "a.csv", "kind,x\n10,1\n9,2\n")
    assert read_table(path, target="kind", names=["10", "8", "9"]).y.tolist() == [0, 2]
    assert read_table(path, target="kind", names=["10", "8", "9"]).names == ("10", "8", "9")
    with pytest.raises(
        DataError, match=r"a\.csv: line 3, the target 'kind', must be one of the classes 10, 8, got '9'"
    ):
        read_table(path, target="kind", names=["10", "8"])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path: Path, delimiter: str) -> None:
    path = write(tmp_path / "a.tsv", HOUSES.replace('"Jena, east"', "Jena").replace(",", delimiter))
    for told in (None, delimiter):
        assert read_table(path, target="town", delimiter=told).names == ("Jena", "Ulm")


def test_names_are_optional(tmp_path: Path) -> None:
    """A first line of numbers is a row; so is a first line with a class in front, if the class comes again."""
    for text, names, first, y in (
        ("1,2,3\n4,5,6\n", (), (), [1.0, 4.0]),
        ("a,2,3\nb,5,6\na,8,9\n", ("a", "b"), (), [0, 1, 0]),
        ("label,2,3\n7,5,6\n", (), ("2", "3"), [7.0]),
        ("kind,x,y\nb,5,6\na,1,2\n", ("a", "b"), ("x", "y"), [1, 0]),
    ):
        table = read_table(write(tmp_path / "a.csv", text))
        assert (table.names, table.columns, table.y.tolist()) == (names, first, y)
        assert table.x.shape == (len(y), 2)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=6),
        min_size=2,
        max_size=5,
        unique_by=str.strip,
    ),
    st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=5, max_size=5), min_size=1, max_size=4),
)
def test_quoting_is_that_of_python(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], rows: list[list[float]]
) -> None:
    names = [f"x{name.strip()}" for name in names]
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([repr(number) for number in row[: len(names)]] for row in rows)
    table = read_table(path, target=names[-1], delimiter=",")
    assert (table.columns, table.target) == (tuple(names[:-1]), names[-1])
    np.testing.assert_array_equal(np.c_[table.x, table.y], [row[: len(names)] for row in rows])


@pytest.mark.parametrize("missing", ["", "NA", " n/a ", "NaN", "null"])
def test_missing_values(tmp_path: Path, missing: str) -> None:
    path = write(tmp_path / "a.csv", f"price,rooms,area\n1,2,3\n4,{missing},6\n{missing},8,9\n10,11,12\n")
    with pytest.raises(
        NotANumber, match=r"a\.csv: line 3, column 2 \('rooms'\) must have a value, got nothing; fill it in, or pass mi"
    ) as caught:
        read_table(path, target="price")
    assert (caught.value.row, caught.value.column) == (3, 2)
    with pytest.raises(NotANumber, match=r"line 4, column 1 \('price'\) must have a value, got nothing"):
        read_table(path, target="price", columns=["area"])
    table = read_table(path, target="price", missing="drop")
    assert (table.dropped, table.x.tolist(), table.y.tolist()) == (2, [[2, 3], [11, 12]], [1, 10])
    write(path, f"price,rooms\n1,{missing}\n")
    with pytest.raises(DataError, match="must hold at least one row, got none, as 1 were left out"):
        read_table(path, target="price", missing="drop")


@pytest.mark.parametrize(
    ("text", "settings", "error", "message"),
    [
        (HOUSES, {"target": "prize"}, DataError, "must have one column 'prize', got 'price', 'rooms', 'area', 'town'"),
        (
            HOUSES,
            {"target": "price", "columns": ["roms"]},
            DataError,
            "must have one column 'roms', got 'price', 'rooms'",
        ),
        ("a,b,b\n1,2,3\n", {"target": "b"}, DataError, "must have one column 'b', got more than one"),
        (
            HOUSES,
            {"target": "price"},
            NotANumber,
            r"line 2, column 4 \('town'\) must be a finite number, got 'Ulm'; .*columns=\[\.\.\.\]",
        ),
        ("a,b\n1,2\n1,2,3\n", {"target": "a"}, RowLength, "line 3 must hold 2 numbers, as the first does, got 3"),
        (
            "a,b\n1,2\nx,3\n",
            {"target": "a"},
            NotANumber,
            r"line 3, column 1 \('a'\) must be a finite number, got 'x'; the first row has a",
        ),
        ("a,b\n1,1e39\n", {"target": "a"}, NotANumber, r"line 2, column 2 \('b'\) must be a finite number, got '1e39'"),
        ("a,b\ninf,1\n", {"target": "b", "columns": ["a"]}, NotANumber, "got 'inf'"),
        ("a\n1\n", {"target": "a"}, DataError, "a row holds a target and at least one input, got one number"),
        ("a,b\n", {"target": "a"}, DataError, "must hold at least one row, got none"),
        ("", {}, DataError, "must hold at least one row, got none"),
        (HOUSES, {"target": 3}, ArgumentError, "target must be the name of a column that is no input, got 3"),
        (
            HOUSES,
            {"target": "a", "columns": ["a"]},
            ArgumentError,
            "target must be the name of a column that is no input, got 'a'",
        ),
        (HOUSES, {"columns": "price"}, ArgumentError, "columns must be a list of different names, got 'price'"),
        (HOUSES, {"columns": []}, ArgumentError, "columns must be a list of different names"),
        (HOUSES, {"names": ["a", "a"]}, ArgumentError, "names must be a list of different names"),
        (HOUSES, {"missing": "skip"}, ArgumentError, "missing must be one of 'error', 'drop', 'fill', got 'skip'"),
        (HOUSES, {"delimiter": "ab"}, ArgumentError, "delimiter must be one printable character or a tab, got 'ab'"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, text: str, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_table(write(tmp_path / "a.csv", text), **settings)


def test_columns_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "price,rooms,area\n,3,95.5\nx,2,60\n")
    rows = read_columns(path, ["area", "rooms"])
    assert (rows.dtype, rows.tolist()) == (np.float32, [[95.5, 3], [60, 2]])
    assert read_columns(path, ["rooms"]).tolist() == [[3], [2]]
    with pytest.raises(NotANumber, match=r"line 2, column 1 \('price'\) must have a value"):
        read_columns(path, ["price"])


def test_many_columns_take_as_long_as_they_are(tmp_path: Path) -> None:
    """Sixty thousand, as of genes: in time that grows as they do, where each is looked for."""
    count = 60_000
    names, numbers = ",".join(f"g{number}" for number in range(count)), ",".join(map(str, range(count)))
    path = write(tmp_path / "genes.csv", f"{names}\n{numbers}\n{numbers}\n")
    table = read_table(path, target="g0")  # minutes, where each column is compared with each
    assert (table.x.shape, table.columns[-1]) == ((2, count - 1), f"g{count - 1}")


# --- Parquet and Arrow ----------------------------------------------------------------------------------------------


@pytest.fixture(params=["a.parquet", "a.arrow", "a.feather", "stream.ipc"])
def arrow(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A function that writes columns to a file in one of the formats, in several batches, and gives its path."""
    pa: Any = pytest.importorskip("pyarrow")

    def written(columns: dict[str, Any]) -> Path:
        path, table = tmp_path / request.param, pa.table(columns)
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=2)
        elif path.suffix == ".feather":
            pytest.importorskip("pyarrow.feather").write_feather(table, path, chunksize=2)
        else:
            make = pa.ipc.new_stream if path.name == "stream.ipc" else pa.ipc.new_file
            with make(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=2)
        return path

    return written


def test_the_same_as_of_text(arrow: Any, tmp_path: Path) -> None:
    path = arrow(
        {
            "price": [310000, 205000, 99500],
            "rooms": np.array([3, 2, 1], np.int8),
            "area": [95.5, 60.0, 20.0],
            "town": ["Ulm", "Jena", "Ulm"],
        }
    )
    text = write(tmp_path / "b.csv", "price,rooms,area,town\n310000,3,95.5,Ulm\n205000,2,60,Jena\n99500,1,20,Ulm\n")
    for settings in (
        {"target": "price", "columns": ["area", "rooms"]},
        {"target": "town"},
        {"target": "town", "names": ["Bonn", "Jena", "Ulm"]},
    ):
        one, other = read_table(path, **settings), read_table(text, **settings)  # type: ignore[arg-type]
        np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(one.y, other.y)
        assert (one.columns, one.target, one.names, one.x.dtype, one.y.dtype) == (
            *(other.columns, other.target, other.names),
            *(other.x.dtype, other.y.dtype),
        )
    np.testing.assert_array_equal(read_columns(path, ["area"]), [[95.5], [60], [20]])


def test_kinds_of_columns(arrow: Any) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    words = pa.array(["b", "a", "b"]).dictionary_encode()
    table = read_table(arrow({"kind": words, "flag": [True, False, True], "long": [1, 2, 2**53 + 1]}))
    assert (table.names, table.y.tolist()) == (("a", "b"), [1, 0, 1])
    assert table.x.tolist() == [[1, 1], [0, 2], [1, 2.0**53]]
    assert read_table(arrow({"flag": [True, False], "x": [1.0, 2.0]})).names == ("False", "True")
    with pytest.raises(DataError, match=r"column 2 \('when'\) must hold numbers, got timestamp\[us\]; name those"):
        read_table(arrow({"y": [1.0], "when": pa.array([1], pa.timestamp("us"))}))
    with pytest.raises(DataError, match=r"column 1 \('many'\) must hold numbers or words, got list"):
        read_table(arrow({"many": [[1.0]], "x": [1.0]}))


def test_missing_values_of_arrow(arrow: Any) -> None:
    path = arrow(
        {
            "price": [1.0, 2.0, None, 4.0, 5.0],
            "rooms": [1, 2, 3, None, 5],
            "area": [1.0, 2.0, 3.0, 4.0, float("nan")],
            "row": range(5),
        }
    )
    for settings, row, column in (
        ({"columns": ["rooms"]}, 3, 1),
        ({"target": "rooms", "columns": ["area"]}, 4, 2),
        ({"target": "area", "columns": ["row"]}, 5, 3),
    ):
        with pytest.raises(
            NotANumber, match=f"row {row}, column {column} .* must have a value, got nothing; fill it in"
        ) as caught:
            read_table(path, **settings)  # type: ignore[arg-type]
        assert (caught.value.row, caught.value.column) == (row, column)
    table = read_table(path, columns=["rooms", "area"], missing="drop")
    assert (table.dropped, table.y.tolist(), table.x.tolist()) == (3, [1, 2], [[1, 1], [2, 2]])


def test_damaged_files(arrow: Any) -> None:
    path = arrow({"a": np.arange(100.0), "b": np.arange(100.0)})
    content = path.read_bytes()
    for changed in (content[: len(content) // 3], b"", b"PAR1" + bytes(50), b"ARROW1" + bytes(50), bytes(100)):
        path.write_bytes(changed)
        with pytest.raises(
            DataError, match=r"(a\.\w+|stream\.ipc): must (be a whole Parquet or Arrow file|have columns)"
        ):
            read_table(path)
    path.write_bytes(content)
    with pytest.raises(DataError, match="may take at most 500 bytes of memory"):
        read_table(path, limit=500)
    with pytest.raises(ArgumentError, match="delimiter is for CSV files"):
        read_table(path, delimiter=";")


def test_small_files_of_much(tmp_path: Path) -> None:
    """What a file unpacks to counts, whether it states that or not: a long word once, for many rows; a number very
    often.
    """
    pa: Any = pytest.importorskip("pyarrow")
    word, words = tmp_path / "word.parquet", 3000
    table = pa.table({"y": ["a" * 100_000] * words, "x": np.zeros(words)})
    pytest.importorskip("pyarrow.parquet").write_table(table, word)
    number = tmp_path / "number.arrow"
    table = pa.table({"y": np.zeros(10_000_000), "x": np.zeros(10_000_000)})
    with pa.ipc.new_file(number, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    del table
    for path in (word, number):
        assert path.stat().st_size < 100_000
        with pytest.raises(DataError, match=rf"{path.name}: may take at most 100,000,000 bytes of memory, got "):
            read_table(path, limit=100_000_000)


def test_a_file_that_ends_pyarrow(arrow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It ends a process of its own."""
    path = arrow({"a": [1.0], "b": [1.0]})
    for place, (do, told) in enumerate({"os.abort()": "SIGABRT", "os._exit(3)": "exit code 3"}.items()):
        child = write(tmp_path / f"child{place}.py", f"import os\n{do}\n")
        monkeypatch.setattr("typednn.data.arrow._CHILD", child)
        with pytest.raises(
            DataError, match=f"must be a whole Parquet or Arrow file, got pyarrow was ended by {told} as it read this"
        ):
            read_table(path)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(
        MissingExtra, match=r"read_table: needs pyarrow to read Parquet and Arrow, .*; pip install 'typednn\[arrow\]'"
    ):
        read_table(write(tmp_path / "a.parquet"))
