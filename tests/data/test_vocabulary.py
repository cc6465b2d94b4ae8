"""Vocabularies of characters: by definition, round trips, saved and read again, damaged files; and which of two a
folder holds.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.data import Characters, TokenTable, Vocabulary, read_vocabulary, train_tokenizer
from typednn.data.vocabulary import token_of
from typednn.errors import ArgumentError, DataError

Unicode = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def test_characters_by_code_point() -> None:
    vocabulary = Characters("hello, été")
    assert vocabulary.characters == " ,ehloté"
    tokens = vocabulary.encode("été")
    assert (tokens.tolist(), tokens.dtype) == ([7, 6, 7], np.dtype(np.int32))
    assert (len(vocabulary), vocabulary.decode([3, 2]), vocabulary.bytes_of(7)) == (8, "he", "é".encode())
    assert vocabulary.encode("").tolist() == []


def test_tiny_shakespeare(data_dir: Path) -> None:
    """The 65 characters, and the tokens of "hii there", that nanoGPT and the lecture before it print."""
    path = data_dir / "tinyshakespeare" / "input.txt"
    if not path.exists():
        pytest.skip("needs tinyshakespeare; set TYPEDNN_DATA")
    text = path.read_text(encoding="utf-8")
    vocabulary = Characters(text)
    assert vocabulary.characters == "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    assert vocabulary.encode("hii there").tolist() == [46, 47, 47, 1, 58, 46, 43, 56, 43]
    assert vocabulary.decode(vocabulary.encode(text)) == text


@given(Unicode, st.data())
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject) -> None:
    vocabulary = Characters(text)
    order = sorted(set(text))
    assert vocabulary.encode(text).tolist() == [order.index(character) for character in text]
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert b"".join(map(vocabulary.bytes_of, range(len(vocabulary)))).decode() == "".join(order)
    folder = tmp_path_factory.mktemp("characters")
    vocabulary.save(folder)
    again = read_vocabulary(folder)
    assert isinstance(again, Characters)
    assert again.characters == vocabulary.characters
    other = data.draw(Unicode)
    unknown = next((character for character in other if character not in text), None)
    if unknown is None:
        assert vocabulary.decode(vocabulary.encode(other)) == other
    else:
        with pytest.raises(ArgumentError) as caught:
            vocabulary.encode(other)
        assert f"got {unknown!r} at {other.index(unknown)};" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Characters(""), "text is a str of one character at least, got ''"),
        (lambda: Characters(3), "text is a str of one character at least, got int"),  # type: ignore[arg-type]
        (lambda: Characters("a\ud800b"), "text is whole Unicode characters, got half of a surrogate pair at 1"),
        (
            lambda: Characters("ab").encode("abc"),
            "text is of the vocabulary's characters, got 'c' at 2; the vocabulary has the 2 characters",
        ),
        (lambda: Characters("bc").encode("ba"), "got 'a' at 1"),
        (lambda: Characters("ab").encode("\ud800"), "got '.ud800' at 0"),
        (lambda: Characters("ab").encode(["a"]), "text is a str, got list"),  # type: ignore[arg-type]
        (lambda: Characters("ab").decode([0, 2]), "Characters: tokens are 0 to 1, got 2"),
        (lambda: Characters("ab").decode([-1]), "tokens are 0 to 1, got -1"),
        (lambda: Characters("ab").bytes_of(2), "tokens are 0 to 1, got 2"),
        (lambda: TokenTable([b"a"], 2**40), "^TokenTable: end is one of the 1 tokens, got 1099511627776$"),
        (lambda: TokenTable([b"a"], -1), "^TokenTable: end must be an integer of at least 0, got -1"),
        (lambda: TokenTable([b"a", b"b" * 256], 0), "^TokenTable: tokens are 1 to 255 bytes, got 256 bytes$"),
        (lambda: TokenTable([b""], 0), "^TokenTable: tokens are 1 to 255 bytes, got 0 bytes$"),
    ],
)
def test_mistakes_are_told(call: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        call()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "must be {"),
        (b"\xff", "must be {"),
        (b'["a"]', "must be {"),
        (b'{"characters": ["a"]}', "must be {"),
        (b'{"letters": "ab"}', "must be {"),
        (b'{"characters": "ba"}', "each character once, in the order of code points"),
        (b'{"characters": "aab"}', "each character once, in the order of code points"),
        (b'{"characters": ""}', "one character at least"),
        (b'{"characters": "\\ud800"}', "half of a surrogate pair"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "characters.json").write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        read_vocabulary(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "characters.json"))


def test_either_vocabulary_is_one(tmp_path: Path) -> None:
    """A folder with characters.json is of characters, any other of merged bytes."""
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    merged = train_tokenizer(["the the é"], 258)
    merged.save(tmp_path)
    assert repr(read_vocabulary(tmp_path)) == repr(merged)
    Characters("the é").save(tmp_path)
    assert repr(read_vocabulary(tmp_path)) == "Characters(' ehté')"
    vocabularies: list[Vocabulary] = [merged, Characters("the é")]
    for vocabulary in vocabularies:
        assert vocabulary.decode(vocabulary.encode("thé")) == "thé"
        assert token_of(vocabulary, "t") == vocabulary.encode("t")[0]
        assert token_of(vocabulary, "theme") is None
    assert token_of(merged, "<|endoftext|>") == 0


def test_a_folder_without_a_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"vocab\.json"):
        read_vocabulary(tmp_path)
