"""P-C1, P-C2, P-E12: matrices, images and labels from lines of text."""

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import NotANumber, RowLength, labelled, read_csv, read_optdigits
from typednn.errors import ArgumentError, DataError


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "file.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        pytest.param("1,2,3\n4,5,6\n", {}, id="plain"),
        pytest.param("1,2,3\r\n4,5,6\r\n", {}, id="CRLF"),
        pytest.param("1,2,3\r4,5,6", {}, id="CR"),
        pytest.param("1,2,3\n4,5,6", {}, id="no end of line"),
        pytest.param("1,2,3\n4,5,6\n\n\r\n\n", {}, id="empty lines at the end"),
        pytest.param("a,b,c\n1,2,3\n4,5,6\n", {"header": 1}, id="header"),
        pytest.param("# made by\n\na,b\n1,2,3\n4,5,6\n", {"header": 3}, id="three header lines"),
        pytest.param("1;2;3\n4;5;6\n", {"delimiter": ";"}, id="semicolons"),
        pytest.param("1\t2\t3\n4\t5\t6\n", {"delimiter": "\t"}, id="tabs"),
        pytest.param(" 1 , +2.0,3e0\n4.,.5e1 ,6\n", {}, id="ways to write a number"),
        pytest.param('"1","2",3\n4,5,"6"\n', {}, id="quotes"),
        pytest.param(b"\xef\xbb\xbf1,2,3\n4,5,6\n", {}, id="byte order mark"),
    ],
)
def test_matrix(tmp_path: Path, text: str, settings: dict[str, Any]) -> None:
    """P-C1: a matrix of float32; ends of lines, header lines, delimiters."""
    matrix = read_csv(write(tmp_path, text), **settings)
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, [[1, 2, 3], [4, 5, 6]])


def test_precision(tmp_path: Path) -> None:
    path = write(tmp_path, "0.1,16777217\n1e300,-1e300\n")
    np.testing.assert_array_equal(read_csv(path, dtype="float64"), [[0.1, 16777217.0], [1e300, -1e300]])
    huge = write(tmp_path, "1.7e308,1.7e308\n")
    np.testing.assert_array_equal(read_csv(huge, dtype="float64"), [[1.7e308, 1.7e308]])  # though their sum is infinite


@pytest.mark.parametrize(
    ("text", "row", "column", "message"),
    [
        ("1,2\n3,x\n", 2, 2, "line 2, column 2 must be a finite number, got 'x'"),
        ("1,2\r\n3,\r\n", 2, 2, "line 2, column 2 must be a finite number, got ''"),
        ("1,nan\n", 1, 2, "line 1, column 2 must be a finite number, got 'nan'; skip header lines with header=1"),
        ("1,2\n-inf,inf\n", 2, 1, "line 2, column 1 must be a finite number, got '-inf'"),
        ("1,1e999\n", 1, 2, "got '1e999'"),
        ("1_0,2\n", 1, 1, "got '1_0'"),
        ("label,pixel\n1,2\n", 1, 1, "got 'label'; skip header lines with header=1"),
        ("1,0x10\n", 1, 2, "got '0x10'"),
        (f"1,{'y' * 100}\n", 1, 2, f"got '{'y' * 40}…'"),
    ],
)
def test_what_is_no_number(tmp_path: Path, text: str, row: int, column: int, message: str) -> None:
    """P-C1: the row and the column of what is no number."""
    path = write(tmp_path, text)
    with pytest.raises(NotANumber) as caught:
        read_csv(path)
    assert (caught.value.row, caught.value.column) == (row, column)
    assert str(caught.value).startswith(f"{path}: line {row}, column {column} must be a finite number, got ")
    assert message in str(caught.value)
    assert isinstance(caught.value, DataError)


def test_beyond_float32_is_refused(tmp_path: Path) -> None:
    """A number that float32 turns into infinity is no finite number there."""
    with pytest.raises(NotANumber, match=r"line 1, column 2 must be a finite number, got '1e39'"):
        read_csv(write(tmp_path, "1,1e39\n"))
    assert read_csv(write(tmp_path, "1,1e39\n"), dtype="float64")[0, 1] == 1e39


@pytest.mark.parametrize(
    ("text", "row", "expected", "got"),
    [("1,2\n3\n", 2, 2, 1), ("1,2\n3,4\n5,6,7\n", 3, 2, 3), ("1,2\n\n3,4\n", 2, 2, 0), ("a\n1,2\n3\n", 3, 2, 1)],
)
def test_rows_of_another_length(tmp_path: Path, text: str, row: int, expected: int, got: int) -> None:
    """P-C1: the row, the expected length and the one found."""
    path = write(tmp_path, text)
    with pytest.raises(RowLength) as caught:
        read_csv(path, header=int(text.startswith("a")))
    assert (caught.value.row, caught.value.expected, caught.value.got) == (row, expected, got)
    assert (
        str(caught.value)
        == f"{path}: line {row} must hold {expected} numbers, as the first does, got {got}; is a line cut short?"
    )


@pytest.mark.parametrize(
    ("text", "header", "message"),
    [
        ("", 0, "must hold at least one row, got none"),
        ("\n\r\n", 0, "must hold at least one row, got none"),
        ("a,b\n", 1, "must hold at least one row after 1 header lines, got none"),
        (
            b"1,\xff\n",
            0,
            "must be text in UTF-8, got the byte 0xff in line 1; save it as UTF-8; is it another format, or packed?",
        ),
        ('1,"2\n', 0, "must be comma-separated values, got unexpected end of data"),
        ('1,"2"3\n', 0, "must be comma-separated values, got"),
        (f"1,{'1' * 200_000}\n", 0, "must be comma-separated values, got field larger than field limit"),
    ],
)
def test_what_is_no_csv_file(tmp_path: Path, text: str | bytes, header: int, message: str) -> None:
    """P-C1: an empty file, and what is no text of that kind."""
    path = write(tmp_path, text)
    with pytest.raises(DataError, match=re.escape(f"{path}: {message}")):
        read_csv(path, header=header)


def test_unreadable(tmp_path: Path) -> None:
    """P-C1: input and output errors are typed too."""
    with pytest.raises(DataError, match="must be a readable file, got No such file"):
        read_csv(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="must be a plain file, got a folder"):
        read_csv(str(tmp_path))


@pytest.mark.parametrize(
    "settings", [{"delimiter": ""}, {"delimiter": ", "}, {"delimiter": "\n"}, {"dtype": "int8"}, {"header": -1}]
)
def test_settings_are_checked(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"read_csv: {next(iter(settings))} must be"):
        read_csv(write(tmp_path, "1\n"), **settings)


def test_memory_is_bounded_by_the_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "0,1,2,3,4,5,6,7,8,9\n" * 50_000)
    tracemalloc.start()
    try:
        assert read_csv(path).shape == (50_000, 10)
        assert tracemalloc.get_traced_memory()[1] < 4 * 500_000 * 2.5
    finally:
        tracemalloc.stop()


def test_images_and_labels() -> None:
    """P-C2: column 0 is the label, the rest the image, row by row."""
    matrix = np.arange(2 * 785, dtype=np.float32).reshape(2, 785)
    matrix[:, 0] = (3, 7)
    images, labels = labelled(matrix)
    assert (images.shape, images.dtype, labels.dtype) == ((2, 28, 28, 1), np.float32, np.int64)
    np.testing.assert_array_equal(labels, [3, 7])
    np.testing.assert_array_equal(images[1, 2, :, 0], matrix[1, 1 + 56 : 1 + 84])
    images, labels = labelled(np.array([[1.0, 2, 3, 4, 5, 6, 9]]), 2, 3, label=-1)
    np.testing.assert_array_equal(images[0, :, :, 0], [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(labels, [9])


@pytest.mark.parametrize("wrong", [-1.0, 0.5, 1e12, np.nan])
def test_labels_are_whole_numbers(wrong: float) -> None:
    """P-C2: an error names the row."""
    matrix = np.zeros((3, 5))
    matrix[1, 0] = wrong
    with pytest.raises(
        DataError, match=r"a label must be a whole number of at least 0, got .* in row 1; is the label in the other"
    ):
        labelled(matrix, 2, 2)


def test_matrices_that_are_no_images() -> None:
    rule = "matrix must be rows of a label and 28 x 28 pixels, so 785 columns, got "
    for matrix, got in (
        (np.zeros((2, 784)), r"shape \(2, 784\)"),
        (np.zeros(785), r"shape \(785,\)"),
        ([[1.0]], "list"),
    ):
        with pytest.raises(DataError, match=rule + got):
            labelled(matrix)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="label must be 0, the first column, or -1, the last, got 5"):
        labelled(np.zeros((2, 785)), label=5)


def test_optdigits(tmp_path: Path) -> None:
    """P-E12: 64 pixels of 0 to 16, then the digit."""
    rows = [[*(n % 17 for n in range(64)), 7], [*([16] * 64), 0]]
    path = write(tmp_path, "".join(",".join(map(str, row)) + "\n" for row in rows))
    images, labels = read_optdigits(path)
    assert images.shape == (2, 8, 8, 1)
    np.testing.assert_array_equal(images[0].reshape(-1), rows[0][:64])
    np.testing.assert_array_equal(labels, [7, 0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0] * 64, "a row of optdigits holds 64 pixels and a digit, got 64 numbers"),
        ([0] * 63 + [17, 1], "a pixel of optdigits is 0 to 16, got 17 in row 0"),
        ([-1] + [0] * 64, "a pixel of optdigits is 0 to 16, got -1 in row 0"),
        ([0] * 64 + [10], "a digit of optdigits is 0 to 9, got 10 in row 0"),
    ],
)
def test_what_is_not_optdigits(tmp_path: Path, row: list[int], message: str) -> None:
    """P-E12: another file is refused."""
    with pytest.raises(DataError, match=message):
        read_optdigits(write(tmp_path, ",".join(map(str, row))))
