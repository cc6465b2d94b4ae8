"""Odd files: what people have, each with what it is read as, or the words that refuse it. A new odd file is a row of
the table.

Wrong turns have tables of their own: on the command line in tests/cli/test_cures.py, in Python in tests/test_habits.py.
What is read was written down by hand, from the file's text.
"""

import gzip
import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from typednn.data import (
    read_columns,
    read_csv,
    read_idx,
    read_image,
    read_inputs,
    read_npy,
    read_npz,
    read_table,
    read_text,
)
from typednn.errors import DataError

Read = Callable[[Path], Any]


class Odd(NamedTuple):
    """A file: what is odd, its name, its content, how it is read, and the answer: a value, or words of the error after
    the file's name.
    """

    what: str
    name: str
    content: str | bytes
    read: Read
    answer: Any


class Refused(str):
    """Words of an error."""


def table(**settings: Any) -> Read:
    """Inputs, targets, and the columns' names, the classes or how the file was read, if there are any."""

    def read(path: Path) -> Any:
        found = read_table(path, **settings)
        return (
            found.x.tolist(),
            found.y.tolist(),
            *((*found.columns, found.target) if found.target else ()),
            *found.names,
        )

    return read


def told(**settings: Any) -> Read:
    return lambda path: read_table(path, **settings).told


def columns(*names: str, **settings: Any) -> Read:
    return lambda path: read_columns(path, names or None, **settings).tolist()


def matrix(path: Path) -> Any:
    return read_csv(path).tolist()


def idx(path: Path) -> Any:
    return read_idx(path).tolist()


def pixels(path: Path) -> Any:
    return read_inputs(path, 1, 2, header=1).ravel().tolist()


TWO_ROWS = ([[2.5], [4.5]], [1.5, 3.5])
NAMED = ([[2.0], [4.0]], [1.0, 3.0], "b", "a")
EITHER = "line 1 must be names or a row for certain, got "
PICTURE = "must be a PNG, JPEG, GIF, BMP or WebP image, got a file that begins with "

ODD: list[Odd] = [
    # --- the first line: names or a row
    Odd("names", "a.csv", "a,b\n1,2\n3,4\n", table(), NAMED),
    Odd("names, told", "a.csv", "a,b\n1,2\n", told(), "line 1 holds names, delimiter ',', decimal '.'"),
    Odd("no names, told", "a.csv", "1,2\n3,4\n", told(), "line 1 is a row, without names, delimiter ',', decimal '.'"),
    Odd(
        "a value missing in line 1",
        "a.csv",
        "1,,3\n0,5,6\n",
        table(),
        Refused("line 1, column 2 must have a value, got nothing; fill it in"),
    ),
    Odd("the same, dropped", "a.csv", "1,,3\n0,5,6\n", table(missing="drop"), ([[5.0, 6.0]], [0.0])),
    Odd("NA in line 1", "a.csv", "1,NA,3\n0,5,6\n", table(), Refused("line 1, column 2 must have a value")),
    Odd(
        "infinity in line 1",
        "a.csv",
        "1,inf,3\n0,5,6\n",
        table(),
        Refused("line 1, column 2 must be a finite number, got 'inf'"),
    ),
    Odd(
        "the target missing in line 1", "a.csv", ",2,3\n0,5,6\n", table(), Refused("line 1, column 1 must have a value")
    ),
    Odd(
        "a name or a class",
        "a.csv",
        "kind,0\ncat,3\n",
        table(),
        Refused(EITHER + "'kind', '0', which may be either; pass header=True or False"),
    ),
    Odd("names, it is said", "a.csv", "kind,0\ncat,3\n", table(header=True), ([[3.0]], [0], "0", "kind", "cat")),
    Odd(
        "a class, it is said", "a.csv", "kind,0\ncat,3\n", table(header=False), ([[0.0], [3.0]], [1, 0], "cat", "kind")
    ),
    Odd(
        "a class that comes again",
        "a.csv",
        "cat,0\ndog,3\ncat,1\n",
        table(),
        ([[0.0], [3.0], [1.0]], [0, 1, 0], "cat", "dog"),
    ),
    Odd("a class above fractions", "a.csv", "cat,0.5\ndog,3\n", table(), ([[0.5], [3.0]], [0, 1], "cat", "dog")),
    Odd("numbers for names", "a.csv", "label,0,1\n7,5,6\n", table(), ([[5.0, 6.0]], [7.0], "0", "1", "label")),
    Odd("a slip in line 1", "a.csv", "5.1,3.x,2\n4,5,6\n", table(), Refused(EITHER + "'5.1', '3.x', '2'")),
    Odd("a slip among whole numbers", "a.csv", "5,3x,2\n4,5,6\n", table(), Refused(EITHER + "'5', '3x', '2'")),
    Odd("another mark of missing values", "a.csv", "?,2,3\n4,5,6\n", table(), Refused(EITHER + "'?', '2', '3'")),
    Odd(
        "an index of pandas",
        "a.csv",
        ",a,b\n0,1,2\n1,3,4\n",
        table(target="b", columns=["a"]),
        ([[1.0], [3.0]], [2.0, 4.0], "a", "b"),
    ),
    Odd("inputs without names", "a.csv", "1,,3\n4,5,6\n", columns(), Refused("line 1, column 2 must have a value")),
    Odd("inputs with names", "a.csv", "a,b\n4,5\n", columns(), [[4.0, 5.0]]),
    Odd("spaces around names", "a.csv", " a , b \n1,2\n3,4\n", table(target="a"), NAMED),
    Odd("nothing", "a.csv", "", table(), Refused("must hold at least one row, got none")),
    Odd("names alone", "a.csv", "a,b\n", table(), Refused("must hold at least one row, got none")),
    # --- delimiters
    *(
        Odd(f"delimiter {sign!r}", "a.csv", f"a{sign}b\n1{sign}2\n3{sign}4\n", table(), NAMED)
        for sign in (",", ";", "\t", "|")
    ),
    Odd(
        "delimiters in quoted names",
        "a.csv",
        '"price, EUR";"area, m2";rooms\n1;2;3\n',
        table(),
        ([[2.0, 3.0]], [1.0], "area, m2", "rooms", "price, EUR"),
    ),
    Odd(
        "delimiters in quoted words",
        "a.csv",
        'town;x\n"Jena, east";1\n"Ulm, a, b";2\n',
        table(),
        ([[1.0], [2.0]], [0, 1], "x", "town", "Jena, east", "Ulm, a, b"),
    ),
    Odd(
        "one that is in words only",
        "a.csv",
        "town|x\nJena, east|1\nUlm|2\n",
        table(),
        ([[1.0], [2.0]], [0, 1], "x", "town", "Jena, east", "Ulm"),
    ),
    Odd(
        "two that may be",
        "a.csv",
        "a|b,c\nd|e,f\n",
        table(),
        Refused("lines must be cut by one delimiter, got ',' in each, '|' in each, such as 'a|b,c'"),
    ),
    Odd("two, and it is said", "a.csv", "x,y|z\n1,2\n", table(delimiter=","), ([[2.0]], [1.0], "y|z", "x")),
    Odd(
        "one column", "a.csv", "a\n1\n", table(), Refused("a row holds a target and at least one input, got one number")
    ),
    Odd(
        "a line cut short",
        "a.csv",
        "a,b,c\n1,2,3\n4,5\n",
        table(),
        Refused("line 3 must hold 3 numbers, as the first does, got 2"),
    ),
    # --- decimal marks
    Odd("decimal commas", "a.csv", "p;a\n1,5;2,5\n3,5;4,5\n", table(), (*TWO_ROWS, "a", "p")),
    Odd("decimal commas, told", "a.csv", "p;a\n1,5;2,5\n", told(), "line 1 holds names, delimiter ';', decimal ','"),
    Odd("decimal commas without names", "a.csv", "1,5;2,5\n3,5;4,5\n", table(), TWO_ROWS),
    Odd("decimal commas in quotes", "a.csv", 'p,a\n"1,5","2,5"\n"3,5","4,5"\n', table(), (*TWO_ROWS, "a", "p")),
    Odd(
        "decimal commas of the target alone",
        "a.csv",
        "p;a\n1,5;2\n3,5;4\n",
        table(),
        ([[2.0], [4.0]], [1.5, 3.5], "a", "p"),
    ),
    Odd(
        "decimal or thousands",
        "a.csv",
        "p;a\n1,234;2\n",
        table(),
        Refused("a comma in a number must be a decimal comma for certain, got '1,234', which may be 1.234 or 1234"),
    ),
    Odd(
        "decimal, it is said",
        "a.csv",
        "p;a\n1,25;2\n1,234;2\n",
        table(decimal=","),
        ([[2.0], [2.0]], [1.25, 1.234], "a", "p"),
    ),
    Odd("three digits behind 0", "a.csv", "p;a\n0,234;2\n", table(), ([[2.0]], [0.234], "a", "p")),
    Odd(
        "commas and points",
        "a.csv",
        "p;a\n1,5;2.5\n",
        table(),
        Refused("numbers have one decimal mark, got '1,5' and '2.5'; pass decimal=',' or '.'"),
    ),
    Odd(
        "commas and points, it is said",
        "a.csv",
        "p;a\n1,5;2.5\n",
        table(decimal=","),
        Refused(
            "line 2, column 2 ('a') must be a finite number, got '2.5'; if that is the decimal mark of all, "
            "pass decimal='.'"
        ),
    ),
    Odd(
        "a comma after a hundred lines",
        "a.csv",
        "p;a\n" + "1;2\n" * 150 + "1,5;2\n",
        table(),
        Refused(
            "line 152, column 1 ('p') must be a finite number, got '1,5'; if that is the decimal mark of all, "
            "pass decimal=','"
        ),
    ),
    Odd(
        "words beside commas",
        "a.csv",
        'k;a\n"1,5";2\nx;3\n',
        table(labels=True),
        ([[2.0], [3.0]], [0, 1], "a", "k", "1,5", "x"),
    ),
    # --- places
    Odd(
        "quoted lines",
        "a.csv",
        'a,b\n1,"2\n"\n3,x\n',
        table(),
        Refused("line 4, column 2 ('b') must be a finite number, got 'x'"),
    ),
    Odd(
        "a quoted name of two lines",
        "a.csv",
        '"a\nb",c\n1,2\n3,x\n',
        table(),
        Refused("line 4, column 2 ('c') must be"),
    ),
    Odd("a bad value in quoted lines", "a.csv", 'a,b\n1,"x\ny"\n', table(), Refused("line 2, column 2 ('b') must be")),
    Odd("CRLF", "a.csv", "a,b\r\n1,2\r\n3,x\r\n", table(), Refused("line 3, column 2 ('b') must be")),
    Odd("a line without an end", "a.csv", "a,b\n1,2\n3,4", table(), NAMED),
    Odd(
        "an empty line within",
        "a.csv",
        "a,b\n1,2\n\n3,4\n",
        table(),
        Refused("line 3 must hold 2 numbers, as the first does, got 0"),
    ),
    Odd("empty lines at the end", "a.csv", "a,b\n1,2\n3,4\n\n\n", table(), NAMED),
    Odd(
        "an empty line first",
        "a.csv",
        "\na,b\n1,2\n",
        table(),
        Refused("line 1 must hold names or a row, got nothing; delete empty lines"),
    ),
    Odd(
        "an open quote",
        "a.csv",
        'a,b\n1,2\n"3,4\n',
        table(),
        Refused("must be comma-separated values, got unexpected end of data in line 3"),
    ),
    Odd("a matrix", "a.csv", "1,2\n3,x\n", matrix, Refused("line 2, column 2 must be a finite number, got 'x'")),
    # --- targets
    Odd(
        "a word, then a number",
        "a.csv",
        "a,b\nx,1\n2,3\n",
        table(),
        Refused("line 3, the target 'a', must be a word, as line 2 has one, got 2; if all are"),
    ),
    Odd(
        "a number, then a word",
        "a.csv",
        "a,b\n2,1\nx,3\n",
        table(),
        Refused("line 3, column 1 ('a') must be a finite number, got 'x'; the first row has a number"),
    ),
    Odd(
        "both, as classes", "a.csv", "a,b\n2,1\nx,3\n", table(labels=True), ([[1.0], [3.0]], [0, 1], "b", "a", "2", "x")
    ),
    Odd(
        "words, not wanted",
        "a.csv",
        "a,b\nx,1\n",
        table(labels=False),
        Refused("line 2, column 1 ('a') must be a finite number, got 'x'; targets are"),
    ),
    Odd(
        "another class",
        "a.csv",
        "a,b\nx,1\ny,1\n",
        table(names=["x"]),
        Refused("line 3, the target 'a', must be one of the classes x, got 'y'"),
    ),
    # --- names in two spellings of Unicode
    Odd(
        "a target in two spellings",
        "a.csv",
        "gro\u0308\u00dfe,b\n1,2\n3,4\n",
        table(target="gr\u00f6\u00dfe"),
        ([[2.0], [4.0]], [1.0, 3.0], "b", "gr\u00f6\u00dfe"),
    ),
    Odd(
        "the same, turned about",
        "a.csv",
        "gr\u00f6\u00dfe,b\n1,2\n",
        table(target="b", columns=["gro\u0308\u00dfe"]),
        ([[1.0]], [2.0], "gr\u00f6\u00dfe", "b"),
    ),
    Odd(
        "two columns of one name",
        "a.csv",
        "b,gr\u00f6\u00dfe,gro\u0308\u00dfe\n1,2,3\n",
        table(),
        Refused("must have one column 'gr\u00f6\u00dfe', got more than one: columns 2, 3"),
    ),
    Odd(
        "one class in two spellings",
        "a.csv",
        "k,x\ngr\u00fcn,1\ngru\u0308n,2\nrot,3\n",
        table(),
        ([[1.0], [2.0], [3.0]], [0, 0, 1], "x", "k", "gr\u00fcn", "rot"),
    ),
    Odd(
        "a known class in the other",
        "a.csv",
        "k,x\ngru\u0308n,1\n",
        table(names=["gr\u00fcn"]),
        ([[1.0]], [0], "x", "k", "gr\u00fcn"),
    ),
    # --- encodings, and what is no table
    Odd("a byte order mark", "a.csv", b"\xef\xbb\xbfa,b\n1,2\n3,4\n", table(target="a"), NAMED),
    Odd(
        "Latin-1",
        "a.csv",
        b"a,b\n1,2\n\xfc,4\n",
        table(),
        Refused("must be text in UTF-8, got the byte 0xfc in line 3; save it as UTF-8"),
    ),
    Odd(
        "UTF-16, as Excel writes it",
        "a.csv",
        "a,b\n1,2\n".encode("utf-16"),
        table(),
        Refused("must be text in UTF-8, got the byte 0xff in line 1"),
    ),
    Odd(
        "a workbook",
        "a.csv",
        b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00\xfe\xff\x9b",
        table(),
        Refused("must be text in UTF-8, got the byte 0x"),
    ),
    # --- other formats
    Odd(
        "an image that is a page",
        "a.png",
        "<!DOCTYPE html><html><body>404</body></html>",
        read_image,
        Refused(PICTURE + "3c 21 44 4f"),
    ),
    Odd("an empty image", "a.png", b"", read_image, Refused(PICTURE + "nothing, as it is empty")),
    Odd("an empty array", "a.npy", b"", read_npy, Refused("an .npy file begins with \\x93NUMPY, got an empty file")),
    Odd("an archive cut short", "a.npz", b"PK\x03\x04" + bytes(20), read_npz, Refused("must ")),
    Odd(
        "gzip of nothing",
        "a.gz",
        gzip.compress(b""),
        read_idx,
        Refused("an IDX file begins with two zero bytes, got an empty file"),
    ),
    Odd(
        "one number of MNIST's kind",
        "a.idx",
        struct.pack(">I", 0x0801) + struct.pack(">I", 1) + b"\x07",
        idx,
        [7],
    ),
    Odd("an empty text", "a.txt", b"", read_text, Refused("must hold a text, got an empty file")),
    Odd("pixels with names", "a.csv", "p,q\n1,2\n", pixels, [1.0, 2.0]),
]


@pytest.mark.parametrize("odd", ODD, ids=[row.what for row in ODD])
def test_an_odd_file(tmp_path: Path, odd: Odd) -> None:
    """P-C1: it is read as what it is, or refused with its name and place; it stays as it was, and nothing else is
    written.
    """
    path = tmp_path / odd.name
    content = odd.content if isinstance(odd.content, bytes) else odd.content.encode()
    path.write_bytes(content)
    if not isinstance(odd.answer, Refused):
        assert odd.read(path) == odd.answer
    else:
        with pytest.raises(DataError) as caught:
            odd.read(path)
        assert f"{path}: {odd.answer}" in str(caught.value)
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == content


def test_rows_of_parquet_are_counted_as_rows(tmp_path: Path) -> None:
    """And columns are found in either spelling."""
    pa: Any = pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(
        pa.table({"gro\u0308\u00dfe": [1.0, 2.0], "b": [1.0, None]}), path
    )
    with pytest.raises(DataError, match=r"row 2, column 2 \('b'\) must have a value"):
        read_table(path, target="gr\u00f6\u00dfe")
    found = read_table(path, target="gr\u00f6\u00dfe", missing="drop")
    assert (found.target, found.y.tolist(), found.rows.tolist(), found.place(0), found.told) == (
        "gr\u00f6\u00dfe",
        [1.0],
        [1],
        "row 1",
        "",
    )


def test_an_archive_of_two_arrays(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in ("a.npy", "b.npy"):
            array = io.BytesIO()
            np.save(array, np.zeros((1, 2, 2)))
            archive.writestr(name, array.getvalue())
    (tmp_path / "a.npz").write_bytes(content.getvalue())
    with pytest.raises(DataError, match="must hold one array, the images, got 2"):
        read_inputs(tmp_path / "a.npz", 2, 2)
