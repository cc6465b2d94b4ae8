"""typednn tokens: the published tokens, gpt.c's files, mistakes."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import Characters, read_tiny_stories, read_token_table, read_tokenizer, read_tokens, train_tokenizer

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def gpt2(data_dir: Path) -> Path:
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    if not (data_dir / "gpt2-bpe").exists():
        pytest.skip("needs gpt2-bpe; set TYPEDNN_DATA")
    return data_dir / "gpt2-bpe"


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    Characters("abc\n").save(tmp_path / "letters")
    return tmp_path / "letters"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    train_tokenizer(["the the é é"], 260).save(tmp_path / "small")
    return tmp_path / "small"


def test_encode_and_decode(at_once: Command, gpt2: Path) -> None:
    """G-C7: the published tokens, with the end of the text before them; a line for each text."""
    done = at_once("tokens", "encode", "--tokenizer", gpt2, "--eot", "ANTONIO")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[50256, 8643, 1340, 9399]\n", "")
    done = at_once("tokens", "encode", "--tokenizer", gpt2, "GPT2 was created by OpenAI", "", "café naïve")
    assert done.stdout == "[38, 11571, 17, 373, 2727, 416, 4946, 20185]\n[]\n[66, 1878, 2634, 41492]\n"
    for listed in ("[50256, 8643, 1340, 9399]", " 50256 8643,1340 ,9399 ", "[50256,8643,1340,9399]"):
        assert at_once("tokens", "decode", "--tokenizer", gpt2, listed).stdout == "<|endoftext|>ANTONIO\n"
    assert at_once("tokens", "decode", "--tokenizer", gpt2, "[]", "[66, 1878, 2634]").stdout == "\ncafé\n"


def test_table(at_once: Command, gpt2: Path, tmp_path: Path) -> None:
    """G-C7, G-F3: gpt.c's file of all 50,257 tokens; it decodes as the folder does, and reads lists of tokens only."""
    done = at_once("tokens", "table", "--tokenizer", gpt2, "tokenizer.bin")
    assert (done.returncode, done.stdout) == (0, "tokenizer.bin: 50,257 tokens\n"), done.stderr
    table, end = read_token_table(tmp_path / "tokenizer.bin")
    tokenizer = read_tokenizer(gpt2)
    assert (len(table), end, table[8643], table[383]) == (50257, 50256, b"ANT", b" The")
    assert all(name == tokenizer.bytes_of(token) for token, name in enumerate(table))
    assert at_once("tokens", "decode", "--tokenizer", "tokenizer.bin", "[8643, 1340, 9399]").stdout == "ANTONIO\n"
    assert at_once("tokens", "encode", "--tokenizer", "tokenizer.bin", "[8643]", "--eot").stdout == "[50256, 8643]\n"
    done = at_once("tokens", "encode", "--tokenizer", "tokenizer.bin", "ANTONIO")
    assert done.returncode == 1
    assert "got 'ANTONIO'; a table of tokens reads no text: for text give a folder" in done.stderr


def test_tiny_shakespeare(at_once: Command, gpt2: Path, tmp_path: Path) -> None:
    """G-D21: the published bytes of both files."""
    text = gpt2.parent / "tinyshakespeare" / "input.txt"
    if not text.exists():
        pytest.skip("needs tinyshakespeare; set TYPEDNN_DATA")
    files = (text, "train.bin", "val.bin")
    done = at_once("tokens", "file", "--tokenizer", gpt2, *files, "--val", "32768", "--eot-between")
    assert (done.returncode, done.stdout) == (0, "train.bin: 305,260 tokens\nval.bin: 32,768 tokens\n"), done.stderr
    assert [hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in files[1:]] == [
        "fe4dddf0265c5cf586e0684534932890dab01a74c358b8378f1a3d41cbdba429",
        "5dcd79e2f05f2f6cbc3a440565105367c12f148c4e01a3283a4307921f5f9945",
    ]
    done = at_once("tokens", "file", "--tokenizer", gpt2, text, "all.bin")
    assert done.stdout == "all.bin: 338,025 tokens\n"


def test_a_text_in_latin_1(at_once: Command, small: Path, tmp_path: Path) -> None:
    """G-D22: a book of a byte per letter; its first tokens are held out, here 7 rather than 34,068."""
    text = "d\u00e9terminant d'une matrice carr\u00e9e: d\u00e9t\n" * 3
    (tmp_path / "book.tex").write_bytes(text.encode("latin-1").replace(b"\n", b"\r\n"))
    files = ("book.tex", "train.bin", "val.bin")
    done = at_once("tokens", "file", "--tokenizer", small, *files, "--val", "7", "--encoding", "latin-1")
    tokens = read_tokenizer(small).encode(text)
    assert (done.returncode, done.stdout) == (0, f"train.bin: {len(tokens) - 7} tokens\nval.bin: 7 tokens\n"), (
        done.stderr
    )
    np.testing.assert_array_equal(read_tokens(tmp_path / "train.bin"), tokens[7:])
    np.testing.assert_array_equal(read_tokens(tmp_path / "val.bin"), tokens[:7])
    done = at_once("tokens", "file", "--tokenizer", small, *files, "--val", "7")
    assert "book.tex: must be UTF-8, got another byte at 1" in done.stderr


def test_stories(at_once: Command, small: Path, tmp_path: Path) -> None:
    """G-D23: the tokens of `read_tiny_stories`, in files of their own."""
    for number in range(2):
        (tmp_path / f"data0{number}.json").write_text(json.dumps([{"story": f"a {number}"}, {"story": "b"}]))
    done = at_once("tokens", "file", "--tokenizer", small, tmp_path, "train.bin", "val.bin")
    assert (done.returncode, done.stdout) == (0, "train.bin: 6 tokens\nval.bin: 6 tokens\n"), done.stderr
    for name, part in zip(("train.bin", "val.bin"), read_tiny_stories(tmp_path, read_tokenizer(small)), strict=True):
        np.testing.assert_array_equal(read_tokens(tmp_path / name), part)
    done = at_once("tokens", "file", "--tokenizer", small, tmp_path, "train.bin")
    assert "tokens file: takes TinyStories' folder, TRAIN.bin and VAL.bin, got 2 files" in done.stderr


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("--val 3", "--val"),
        ("--eot-between", "--eot-between"),
        ("--encoding latin-1", "--encoding"),
        ("--encoding latin-1 --eot-between --val 3", "--val, --eot-between, --encoding"),
    ],
)
def test_options_of_a_text_are_not_for_stories(
    at_once: Command, small: Path, tmp_path: Path, options: str, names: str
) -> None:
    done = at_once("tokens", "file", "--tokenizer", small, tmp_path, "train.bin", "val.bin", *options.split())
    said = f"typednn tokens: {names}: of a text, got the folder {tmp_path}; leave out what is of a text\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_a_file_of_characters(at_once: Command, letters: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"cab\nc")
    assert at_once("tokens", "file", "--tokenizer", letters, "text.txt", "out.bin").stdout == "out.bin: 5 tokens\n"
    assert read_tokens(tmp_path / "out.bin").tolist() == [3, 1, 2, 0, 3]
    assert at_once("tokens", "file", "--tokenizer", letters, "text.txt", "a.bin", "b.bin", "--val", "4").returncode == 0
    assert [read_tokens(tmp_path / name).tolist() for name in ("a.bin", "b.bin")] == [[3], [3, 1, 2, 0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\nb", "0a##0b"),
        ("a\n\n", "0a##0"),
        ("\n\n\nb", "0##0#b"),
        ("a", "0a"),
        ("", "0"),
        ("<|endoftext|>", "0<|endoftext|>"),
    ],
)
def test_between_texts(at_once: Command, small: Path, tmp_path: Path, text: str, expected: str) -> None:
    """G-D21: "\\n\\n" is followed by the end of the text; what is written as its name stays a text. Here 0 is the end,
    # a new line.
    """
    tokenizer = read_tokenizer(small)
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert at_once("tokens", "file", "--tokenizer", small, "text.txt", "out.bin", "--eot-between").returncode == 0
    tokens = [0 if sign == "0" else int(tokenizer.encode(sign.replace("#", "\n"))[0]) for sign in expected]
    assert read_tokens(tmp_path / "out.bin").tolist() == tokens


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "encode abcd",
            "text is of the vocabulary's characters, got 'd' at 3; the vocabulary has the 4 characters of its "
            "own text only",
        ),
        ("encode abc --eot", "--eot: needs a vocabulary with <|endoftext|>, got one without; leave it out"),
        ("decode [0,x]", "tokens decode: tokens are whole numbers, such as [50256, 8643], got 'x'"),
        ("decode 1.5", "got '1.5'"),
        ("decode [0,,1]", "got ''"),
        ("decode [0", "got '[0'"),
        ("decode [0,4]", "tokens decode: tokens are 0 to 3, got 4"),
        ("decode [99999999999999999]", "tokens decode: tokens are 0 to 3, got 99999999999999999"),
        ("decode [-1]", "tokens decode: tokens are 0 to 3, got -1"),
        ("table a.bin b.bin", "tokens table: takes one file, OUT.bin, got 2 files"),
        ("table a.bin", "must hold tokenizer.json, or vocab.json and merges.txt, got a folder without these"),
        (
            "file text.txt",
            "tokens file: takes TEXT.txt OUT.bin, or with --val N TEXT.txt TRAIN.bin VAL.bin, got 1 files",
        ),
        ("file text.txt a.bin --val 2", "got 2 files"),
        ("file text.txt a.bin b.bin", "got 3 files"),
        ("file text.txt a.bin b.bin --val 3", "text.txt: must have more than 3 tokens, got 3"),
        ("file empty.txt a.bin", "empty.txt: must have one token at least, got 0"),
        ("file text.txt a.bin --eot-between", "--eot-between: needs a vocabulary with <|endoftext|>, got one without"),
        ("file latin.txt a.bin", "latin.txt: must be UTF-8, got another byte at 1"),
        ("file none.txt a.bin", "none.txt: must be a readable file, got No such file"),
        ("file text.txt empty.txt/a.bin", "empty.txt/a.bin"),
        (
            "encode a --tokenizer nowhere",
            "nowhere: must hold tokenizer.json, or vocab.json and merges.txt, got no such folder",
        ),
        ("encode a --tokenizer text.txt", "text.txt: must begin with a header of 1024 bytes, got 3 bytes"),
        ("encode a --tokenizer=", "--tokenizer: path must be the name of a file or folder, got ''"),
    ],
)
def test_mistakes_are_told(at_once: Command, letters: Path, tmp_path: Path, arguments: str, told: str) -> None:
    """One sentence, and no file is written."""
    (tmp_path / "text.txt").write_bytes(b"abc")
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "latin.txt").write_bytes(b"a\xff")
    before = sorted(tmp_path.rglob("*"))
    done = at_once("tokens", "--tokenizer", letters, *arguments.split(" "))
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert told in done.stderr
    assert done.stderr.startswith("typednn tokens: ")
    assert len(done.stderr.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments", ["tokens", "tokens encode a", "tokens spell a --tokenizer .", "tokens encode --tokenizer ."]
)
def test_the_command_line_is_wrong(at_once: Command, arguments: str) -> None:
    done = at_once(*arguments.split())
    assert done.returncode == 2
    assert done.stderr.startswith("typednn tokens: ")


def test_without_the_extra(at_once: Command, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    done = at_once("tokens", "encode", "--tokenizer", small, "a")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "typednn tokens: Tokenizer: needs the package tokenizers, got no module named 'tokenizers'; pip install "
        "'typednn[text]'\n"
    )
