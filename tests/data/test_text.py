"""Texts: bytes as tokens, padded in front, a folder per class."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.data import read_text, read_text_folder
from typednn.errors import DataError


def written(folder: Path, texts: dict[str, bytes]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return folder


def test_bytes_plus_one(tmp_path: Path) -> None:
    path = written(tmp_path, {"a.txt": "Aé".encode()}) / "a.txt"
    np.testing.assert_array_equal(read_text(path), [[66, 0xC3 + 1, 0xA9 + 1]])
    np.testing.assert_array_equal(read_text(path, 5), [[0, 0, 66, 0xC4, 0xAA]])
    np.testing.assert_array_equal(read_text(path, 1), [[0xAA]])


@given(text=st.binary(min_size=1, max_size=20), length=st.integers(1, 30))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: bytes, length: int) -> None:
    """The end of the text, and zeros before it."""
    path = written(tmp_path_factory.mktemp("texts"), {"a.txt": text}) / "a.txt"
    tokens = read_text(path, length)
    assert tokens.shape == (1, length)
    kept = text[-length:]
    assert bytes(int(token) - 1 for token in tokens[0, length - len(kept) :]) == kept
    assert not tokens[0, : length - len(kept)].any()


def test_a_folder_per_class(tmp_path: Path) -> None:
    written(tmp_path, {"good/b.txt": b"fine", "bad/a.txt": b"no", "good/.hidden": b"x", "good/c.txt": b"y"})
    texts = read_text_folder(tmp_path)
    assert texts.names == ("bad", "good")
    assert [path.name for path in texts.paths] == ["a.txt", "b.txt", "c.txt"]
    np.testing.assert_array_equal(texts.labels, [0, 1, 1])
    assert texts.tokens.shape == (3, 4)
    assert read_text_folder(tmp_path, length=2).tokens.shape == (3, 2)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            {"a.txt": b"text"},
            "must hold a folder of texts for each class, got no folder; make one per class, named after it",
        ),
        ({"good/.hidden": b"text"}, "each class must have texts, got none in 'good'"),
        ({"good/a.md": b"text"}, "a.md: texts are files whose names end in .txt, got '.md'; move it elsewhere"),
        ({"good/a.txt": b""}, "a.txt: must hold a text, got an empty file"),
    ],
)
def test_refusals(tmp_path: Path, texts: Any, message: str) -> None:
    with pytest.raises(DataError) as raised:
        read_text_folder(written(tmp_path, texts))
    assert str(raised.value).endswith(message)


def test_the_memory_is_limited(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="limit"):
        read_text_folder(written(tmp_path, {"good/a.txt": b"x" * 1000}), limit=999)


def test_folders_in_two_spellings(tmp_path: Path) -> None:
    """A name of a class is one in Unicode's form NFC, whichever the disk has; two folders of one name are refused."""
    composed, apart = "gr\u00f6\u00dfe", "gro\u0308\u00dfe"
    for name in (apart, "gr\u00fcn"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    found = read_text_folder(tmp_path)
    assert found.names == (composed, "gr\u00fcn")
    assert [path.parent.name for path in found.paths] == [apart, "gr\u00fcn"]
    (tmp_path / composed).mkdir()
    (tmp_path / composed / "a.txt").write_text("a")
    with pytest.raises(
        DataError,
        match=r"each class must have one folder, got two spellings of one name, '\S+' and '\S+'; put them into",
    ):
        read_text_folder(tmp_path)
