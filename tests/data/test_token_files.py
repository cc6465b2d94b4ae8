"""Files of tokens (G-F1, Z-D9), and gpt.c's table of what each token writes (G-F3)."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.data import read_token_table, read_tokens, train_tokenizer, write_token_table, write_tokens
from typednn.errors import ArgumentError, DataError


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20))
def test_round_trips(tmp_path_factory: pytest.TempPathFactory, tokens: list[int]) -> None:
    """G-F1, Z-D9."""
    file = tmp_path_factory.mktemp("tokens") / "tokens.bin"
    write_tokens(file, np.array(tokens))
    assert file.read_bytes() == struct.pack(f"<{len(tokens)}i", *tokens)
    np.testing.assert_array_equal(read_tokens(file), tokens)
    write_tokens(file, np.array(tokens), "uint64")
    assert file.read_bytes() == struct.pack(f"<{len(tokens) + 1}Q", len(tokens), *tokens)
    np.testing.assert_array_equal(read_tokens(file, "uint64"), tokens)
    file.write_bytes(2 * file.read_bytes())
    np.testing.assert_array_equal(read_tokens(file, "uint64"), 2 * tokens)
    halves = [token % 65_536 for token in tokens]
    write_tokens(file, np.array(halves), "uint16")
    assert file.read_bytes() == struct.pack(f"<{len(tokens)}H", *halves)
    np.testing.assert_array_equal(read_tokens(file, "uint16"), halves)


@pytest.mark.parametrize(("kind", "width"), [("int32", 4), ("uint16", 2)])
def test_a_file_is_mapped(tmp_path: Path, kind: Any, width: int) -> None:
    """A file of 4 GB, a hole, takes no memory; nothing can be written into it."""
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(1 << 32)
    tokens = read_tokens(tmp_path / "large.bin", kind)
    assert (len(tokens), tokens[-1]) == ((1 << 32) // width, 0)
    with pytest.raises(ValueError, match="read-only"):
        tokens[0] = 1


@pytest.mark.parametrize(
    ("kind", "content", "says"),
    [
        ("int32", b"", "whole numbers of 4 bytes, one at least, got 0 bytes"),
        ("int32", b"12345", "got 5 bytes"),
        ("uint16", b"123", "whole numbers of 2 bytes, one at least, got 3 bytes"),
        ("uint64", b"1234", "whole numbers of 8 bytes"),
        ("uint64", struct.pack("<3Q", 5, 1, 2), "part at byte 0 must have the 5 tokens that it says, got 2"),
        ("uint64", struct.pack("<4Q", 1, 1, 1 << 63, 2), "part at byte 16 must have"),
        ("uint64", struct.pack("<2Q", 1, 1 << 63), "tokens must fit into 63 bits"),
    ],
)
def test_damaged_files(tmp_path: Path, kind: Any, content: bytes, says: str) -> None:
    (tmp_path / "tokens.bin").write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_tokens(tmp_path / "tokens.bin", kind)


@pytest.mark.parametrize("tokens", [[], [-1], [2**31], [1.0], [[1]]])
def test_what_is_no_token_is_not_written(tmp_path: Path, tokens: list[Any]) -> None:
    with pytest.raises(ArgumentError, match="tokens are"):
        write_tokens(tmp_path / "tokens.bin", np.array(tokens))
    assert not list(tmp_path.iterdir())


def test_a_kind_is_one_of_three(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="tokens are 0 to 65535, got 65536"):
        write_tokens(tmp_path / "tokens.bin", np.array([65_536]), "uint16")
    other: Any = "uint8"
    with pytest.raises(ArgumentError, match="kind"):
        write_tokens(tmp_path / "tokens.bin", np.array([1]), other)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    write_token_table(train_tokenizer(["the the é é"], 260), tmp_path / "tokenizer.bin")
    return tmp_path / "tokenizer.bin"


def test_table(table: Path) -> None:
    """G-F3."""
    tokenizer = train_tokenizer(["the the é é"], 260)
    content = table.read_bytes()
    assert struct.unpack("<4I", content[:16]) == (20240415, 260, 0, 0)
    assert content[1024:1038] == b"\x0d<|endoftext|>"
    names, end = read_token_table(table)
    assert (names, end) == (tuple(tokenizer.bytes_of(token) for token in range(260)), 0)
    assert b"".join(names[token] for token in tokenizer.encode("the é")).decode() == "the é"
    with pytest.raises(ArgumentError, match="end is a token of the vocabulary, got '<end>'"):
        write_token_table(tokenizer, table, end="<end>")


@pytest.mark.parametrize(
    ("place", "change", "says"),
    [
        (0, b"\0", "field 0: must be 20240415"),
        (4, b"\0\0\0\0", "must be the number of tokens, and one of them, got 0 and 0"),
        (8, b"\xff\xff", "must be the number of tokens, and one of them, got 260 and 65535"),
        (4, b"\xff", "token 260: must be its length, 1 to 255, and its bytes, got the end of the file"),
        (4, b"\x00", "must end behind its 256 tokens"),
        (1024, b"\0", "token 0: must be its length, 1 to 255, and its bytes, got a length of 0"),
        (7, b"\xff", "must be the number of tokens"),
    ],
)
def test_damaged_tables(table: Path, place: int, change: bytes, says: str) -> None:
    content = bytearray(table.read_bytes())
    content[place : place + len(change)] = change
    table.write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_token_table(table)


def test_a_table_that_is_cut_off(table: Path) -> None:
    content = table.read_bytes()
    for size in (0, 1000, 1024, len(content) - 1):
        table.write_bytes(content[:size])
        with pytest.raises(DataError, match=r"tokenizer\.bin"):
            read_token_table(table)
