"""Byte-pair encoding: GPT-2's vocabulary and the published ids, an implementation by definition, round trips, training,
damaged files.

The published numbers need GPT-2's files and Tiny Shakespeare: ``gpt2-bpe`` and ``tinyshakespeare`` in TYPEDNN_DATA, or
in ../shared/data.
"""

import hashlib
import json
import os
import re
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_data import write_two_files

from typednn.data import Tokenizer, read_tokenizer, train_tokenizer
from typednn.data.tokenizer import BYTES
from typednn.errors import ArgumentError, DataError, MissingExtra
from typednn.recipes.texts import SPECIAL

pytest.importorskip("tokenizers", reason="needs tokenizers")

TEXT = ["the cat sat on the mat, the cat ate the rat", "that hat is flat; thé naïve café 12 123"]
Unicode = st.text(st.characters(exclude_categories=["Cs"]))


def _given(name: str) -> Path:
    places = [Path(os.environ.get("TYPEDNN_DATA", "nowhere")), Path(__file__).parents[3] / "shared" / "data"]
    for place in places:
        if (place / name).exists():
            return place / name
    pytest.skip(f"needs {name}; set TYPEDNN_DATA")


@pytest.fixture(scope="module")
def gpt2() -> Tokenizer:
    return read_tokenizer(_given("gpt2-bpe"))


@pytest.fixture(scope="module")
def own() -> Tokenizer:
    return train_tokenizer(TEXT, 280, special=("<|endoftext|>", "<pad>"), min_frequency=1)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("GPT2 was created by OpenAI", [38, 11571, 17, 373, 2727, 416, 4946, 20185]),
        ("GPT2 is a model developed by OpenAI", [38, 11571, 17, 318, 257, 2746, 4166, 416, 4946, 20185]),
        ("snake_case __init__", [16184, 539, 62, 7442, 11593, 15003, 834]),
        ("café naïve", [66, 1878, 2634, 41492]),
        (" The", [383]),
        ("The", [464]),
        ("the", [1169]),
        ("!", [0]),
        ('"', [1]),
        ("~", [93]),
        ("", []),
    ],
)
def test_published_ids(gpt2: Tokenizer, text: str, ids: list[int]) -> None:
    """C-D1, C-D7, C-D10, C-D11, C-R1; C-D3 by the words that the other pattern breaks."""
    encoded = gpt2.encode(text)
    assert encoded.tolist() == ids
    assert encoded.dtype == np.dtype(np.int32)
    assert gpt2.decode(ids) == text


# What texts of people and of machines hold: joined signs, marks, other scripts and digits, blanks of every kind,
# controls.
ODD = [
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "e\u0301 \u0928\u092e\u0938\u094d\u0924\u0947 \u05e9\u05dc\u05d5\u05dd "
    "\u4f60\u597d\u3002\u3053\u3093\u306b\u3061\u306f",
    "\u0663\u0664 \u2163 \u00bd x\u00b2 12a3 1_000 3.14e-5",
    "it's it'S we'll I'd they've 'tis 'S''s ' s",
    "  a   b\t\tc \n\n d\r\ne \u00a0f\u2003g\u3000\u200bh  ",
    "\x00\x01\x1c\x1f\x7f\x85\ufeff\ufffd\ufffe",
    "<|endoftext|> __init__(self): return {'a': [1, 2]}  # ok!!!",
    "\u00e9\u00df\u0130\u0131\ufb01\u01c5 \u0391\u03b8\u03ae\u03bd\u03b1 \u041c\u043e\u0441\u043a\u0432\u0430 "
    "\U00010400\U0001d11e",
    " ",
    "\n",
    "   ",
    "a" * 300,
]
WHITE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
GPT2_CHUNKS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[a-z]+| ?[0-9]+| ?[^\sa-z0-9]+|\s+(?!\S)|\s+")


def chunks_by_definition(text: str) -> list[str]:
    """GPT-2's chunks: its pattern on a text in which each character stands for its category."""

    def kind(character: str) -> str:
        if character in WHITE:
            return " " if character == " " else "\n"
        if character in "'stremvld":
            return character
        return {"L": "x", "N": "0"}.get(unicodedata.category(character)[0], "!")

    return [text[found.start() : found.end()] for found in GPT2_CHUNKS.finditer("".join(map(kind, text)))]


def settled(character: str) -> bool:
    """Whether its category has been the same since Unicode 3.2, and so is the same in any two libraries."""
    before = unicodedata.ucd_3_2_0.category(character)
    return before != "Cn" and before == unicodedata.category(character)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.sampled_from(ODD),
        st.text(st.one_of(st.sampled_from(" \n'stra1_é"), st.characters(exclude_categories=["Cs"]).filter(settled))),
    )
)
def test_tokens_of_any_text(gpt2: Tokenizer, text: str) -> None:
    """C-D1, C-D3: GPT-2's, by the definition of its pattern and of merging, and back."""
    tokens = gpt2.encode(text)
    ranks = _ranks(gpt2)
    expected = [token for chunk in chunks_by_definition(text) for token in by_definition(gpt2, chunk, ranks)]
    assert tokens.tolist() == expected
    assert gpt2.decode(tokens) == text


@cache
def _ranks(tokenizer: Tokenizer) -> dict[tuple[str, str], int]:
    return {pair: rank for rank, pair in enumerate(tokenizer.merges)}


def test_published_counts(gpt2: Tokenizer) -> None:
    """C-D4, C-D5, C-R1: a merge's number is 256 and its place."""
    assert (len(gpt2), len(gpt2.merges), gpt2.vocab["Twitter"], gpt2.vocab["Bitcoin"]) == (50257, 50000, 14254, 22614)
    assert [gpt2.vocab["".join(pair)] for pair in gpt2.merges] == list(range(256, 50256))


def test_special_tokens_only_where_allowed(gpt2: Tokenizer) -> None:
    """C-D10."""
    text = "<|endoftext|>ANTONIO"
    assert gpt2.encode(text, ["<|endoftext|>"]).tolist() == [50256, 8643, 1340, 9399]
    assert 50256 not in gpt2.encode(text)
    assert 50256 not in gpt2.encode("<|endoftext|>")
    assert gpt2.decode(gpt2.encode(text)) == gpt2.decode([50256, 8643, 1340, 9399]) == text


def test_the_seeds_pattern() -> None:
    """C-D2: it drops underscores and reads bytes; ids of the specification."""
    seed = read_tokenizer(_given("gpt2-bpe"), pattern="seed")
    assert seed.encode("snake_case __init__").tolist() == [16184, 539, 7442, 220, 15003]
    assert seed.encode("café naïve").tolist() == [66, 1878, 2634, 12385, 26884, 303]
    assert seed.encode("GPT2 was created by OpenAI").tolist() == [38, 11571, 17, 373, 2727, 416, 4946, 20185]


def test_tiny_shakespeare(gpt2: Tokenizer) -> None:
    """C-D1, G-D21: the published count, and the bytes of both published files."""
    text = (_given("tinyshakespeare") / "input.txt").read_text(encoding="utf-8")
    assert len(gpt2.encode(text)) == 338_025
    tokens = gpt2.encode("<|endoftext|>" + text.replace("\n\n", "\n\n<|endoftext|>"), ["<|endoftext|>"])
    assert tokens[:8].tolist() == [50256, 5962, 22307, 25, 198, 8421, 356, 5120]
    sums = [hashlib.sha256(part.astype("<i4").tobytes()).hexdigest() for part in (tokens[32_768:], tokens[:32_768])]
    assert sums == [
        "fe4dddf0265c5cf586e0684534932890dab01a74c358b8378f1a3d41cbdba429",
        "5dcd79e2f05f2f6cbc3a440565105367c12f148c4e01a3283a4307921f5f9945",
    ]


def test_ninas_vocabulary() -> None:
    """Z-D8, Z-N2, Z-N3: trained on Tiny Shakespeare, line by line, to the published merges and special tokens."""
    text = unicodedata.normalize("NFKC", (_given("tinyshakespeare") / "input.txt").read_text(encoding="utf-8"))
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", text)).strip()
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "54d56f660b76d10f46d854a0925d2b9b3a9ee67d3003189214a51f124d337bfe"
    )
    named = ("user", "bot", "action", "emotion", "thought", "narration", "location", "info")
    special = ["<|endoftext|>", "<pad>", "<unk>", *(f"<{end}{name}>" for name in named for end in ("", "/"))]
    assert tuple(special) == SPECIAL
    nina = train_tokenizer(text.splitlines(keepends=True), 30_000, special=special)
    assert (len(nina), len(nina.merges), [nina.vocab[name] for name in special]) == (12_729, 12_454, list(range(19)))
    lines = "\n".join(map(" ".join, nina.merges))
    assert (
        hashlib.sha256(lines.encode()).hexdigest() == "ef3c52d0704e2b40e0c5d736509d00e91f47e57ae6507a42999b6b2434f5501b"
    )


def test_bytes_as_characters() -> None:
    """C-D6."""
    assert len(set(BYTES.values())) == 256
    assert sum(ord(character) != byte for byte, character in BYTES.items()) == 68
    assert [BYTES[byte] for byte in (ord("A"), ord(" "), ord("\n"), 173)] == ["A", "Ġ", "Ċ", "\u0143"]


def by_definition(tokenizer: Tokenizer, chunk: str, ranks: dict[tuple[str, str], int]) -> list[int]:
    """The pair of the lowest rank merges everywhere, from left to right, until no pair is known."""
    parts = [BYTES[byte] for byte in chunk.encode()]
    while True:
        known = [pair for pair in pairwise(parts) if pair in ranks]
        if not known:
            return [tokenizer.vocab[part] for part in parts]
        first, second = min(known, key=ranks.__getitem__)
        merged: list[str] = []
        for part in parts:
            if merged and part == second and merged[-1] == first:
                merged[-1] = first + second
            else:
                merged.append(part)
        parts = merged


@settings(max_examples=200, deadline=None)
@given(st.text("aehtcmrfl é", max_size=20))
def test_merging_by_definition(own: Tokenizer, text: str) -> None:
    """C-D8."""
    chunks = re.findall(r" ?[^\s]+|\s+(?!\S)|\s+", text)
    assert own.encode(text).tolist() == [token for chunk in chunks for token in by_definition(own, chunk, _ranks(own))]


@settings(max_examples=300, deadline=None)
@given(Unicode)
def test_any_text_comes_back(own: Tokenizer, text: str) -> None:
    """C-D9."""
    tokens = own.encode(text)
    assert own.decode(tokens) == text
    assert b"".join(own.bytes_of(int(token)) for token in tokens).decode() == text
    assert own.decode(own.encode(f"{text}<pad>{text}", ["<pad>"])) == f"{text}<pad>{text}"


def _holding(own: Tokenizer, special: list[str]) -> Tokenizer:
    return Tokenizer({**own.vocab, **{name: len(own) + place for place, name in enumerate(special)}}, own.merges)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_special_tokens_of_any_characters(own: Tokenizer, data: st.DataObject) -> None:
    """C-D9, C-D10: they stand for the text of their names, letters of Latin-1 too, which as characters of the
    vocabulary are bytes.
    """
    letters = st.one_of(st.sampled_from("<>|‹é»ÿĠĊaθ日𝄞"), st.characters(exclude_categories=["Cs"]))
    names = st.text(letters, min_size=1, max_size=6).filter(lambda name: name not in own.vocab)
    special = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    tokenizer, text = _holding(own, special), data.draw(Unicode)
    for name in special:
        token = tokenizer.vocab[name]
        assert tokenizer.bytes_of(token) == name.encode()
        assert tokenizer.decode([token]) == name
        assert token in tokenizer.encode(name, [name])
    mixed = text.join(special)
    assert tokenizer.decode(tokenizer.encode(mixed, special)) == mixed
    assert tokenizer.decode(tokenizer.encode(mixed)) == mixed


@pytest.mark.parametrize("name", ["‹é>", "<é>", "ÿ|", "<日本>", " x"])
def test_special_tokens_of_a_training(name: str) -> None:
    tokenizer = train_tokenizer(TEXT, 280, special=["<|endoftext|>", name])
    assert tokenizer.decode(tokenizer.encode(f"é{name}é", [name])) == f"é{name}é"
    assert tokenizer.encode(name, [name]).tolist() == [1]


def test_tokens_as_they_stand(own: Tokenizer) -> None:
    """C-D9."""
    assert own.tokens(own.encode(" the")) == ["Ġthe"]
    assert own.decode(own.encode("ü")[:1]) == "\ufffd"


def test_saved_and_read_again(own: Tokenizer, tmp_path: Path) -> None:
    """Z-D8."""
    own.save(tmp_path)
    again = read_tokenizer(tmp_path)
    assert (again.vocab, again.merges) == (own.vocab, own.merges)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    first = (tmp_path / "tokenizer.json").read_bytes()
    again.save(tmp_path)
    assert (tmp_path / "tokenizer.json").read_bytes() == first


def test_saved_for_tokenizers(own: Tokenizer, tmp_path: Path) -> None:
    """`tokenizers` itself reads what is written: the same tokens, special ones too, and the text again."""
    from tokenizers import Tokenizer as Theirs

    own.save(tmp_path)
    theirs = Theirs.from_file(str(tmp_path / "tokenizer.json"))
    text = "the naïve cat<pad> 12  é<|endoftext|>"
    assert theirs.encode(text).ids == own.encode(text, ["<pad>", "<|endoftext|>"]).tolist()
    assert theirs.decode(theirs.encode(text).ids, skip_special_tokens=False) == text


def test_one_file_goes_before_two(own: Tokenizer, tmp_path: Path) -> None:
    """As `transformers` reads a folder that has both."""
    write_two_files(own, tmp_path)
    assert read_tokenizer(tmp_path).vocab == own.vocab
    train_tokenizer(["ab ab"], 258).save(tmp_path)
    assert len(read_tokenizer(tmp_path)) == 258


def test_merges_as_texts(own: Tokenizer, tmp_path: Path) -> None:
    """As `tokenizers` wrote them before version 0.20."""
    own.save(tmp_path)
    changed(tmp_path, lambda table: table["model"].update(merges=[" ".join(pair) for pair in own.merges]))
    assert read_tokenizer(tmp_path).merges == own.merges


def changed(folder: Path, change: Any) -> None:
    path = folder / "tokenizer.json"
    table = json.loads(path.read_text(encoding="utf-8"))
    change(table)
    path.write_text(json.dumps(table), encoding="utf-8")


def of_model(**values: Any) -> Any:
    return lambda table: table["model"].update(values)


def added(**values: Any) -> Any:
    return lambda table: table["added_tokens"][1].update(values)


ONLY = "; only GPT-2's kind of tokenizer is read: byte-level BPE"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (of_model(type="WordPiece"), f'model.type: must be "BPE", got "WordPiece"{ONLY}'),
        (of_model(type="Unigram"), f'model.type: must be "BPE", got "Unigram"{ONLY}'),
        (of_model(type=["BPE"]), f'model.type: must be "BPE", got ["BPE"]{ONLY}'),
        (of_model(dropout=0.1), "model.dropout: must be null, got 0.1"),
        (of_model(continuing_subword_prefix="##"), 'model.continuing_subword_prefix: must be null, got "##"'),
        (of_model(end_of_word_suffix="</w>"), 'model.end_of_word_suffix: must be null, got "</w>"'),
        (of_model(byte_fallback=True), "model.byte_fallback: must be false, got true"),
        (of_model(ignore_merges=True), "model.ignore_merges: must be false, got true"),
        (lambda table: table.update(normalizer={"type": "NFC"}), 'normalizer: must be null, got {"type": "NFC"}'),
        (
            lambda table: table.update(pre_tokenizer={"type": "Sequence", "pretokenizers": []}),
            f'pre_tokenizer.type: must be "ByteLevel", got "Sequence"{ONLY}',
        ),
        (lambda table: table.update(pre_tokenizer=None), 'pre_tokenizer.type: must be "ByteLevel", got null'),
        (lambda table: table.pop("pre_tokenizer"), 'pre_tokenizer.type: must be "ByteLevel", got null'),
        (
            lambda table: table["pre_tokenizer"].update(add_prefix_space=True),
            "pre_tokenizer.add_prefix_space: must be false, got true",
        ),
        (lambda table: table["pre_tokenizer"].update(use_regex=False), "use_regex: must be true, got false"),
        (
            lambda table: table.update(post_processor={"type": "BertProcessing"}),
            'post_processor.type: must be null, got "BertProcessing"',
        ),
        (
            lambda table: table.update(post_processor={"type": "TemplateProcessing", "special_tokens": {"<s>": {}}}),
            'post_processor.special_tokens: must be {}, got {"<s>": {}}',
        ),
        (lambda table: table.update(model=[]), 'model.type: must be "BPE", got null'),
        (of_model(vocab=["a"]), 'model.vocab: must be an object of tokens and their numbers, got ["a"]'),
        (of_model(vocab={"a": True}), 'model.vocab: must be an object of tokens and their numbers, got {"a": true}'),
        (of_model(vocab={"a": "0"}), 'got {"a": "0"}'),
        (of_model(merges=None), "model.merges: must be a list of pairs of tokens, got null"),
        (of_model(merges="a b"), "model.merges: must be a list of pairs of tokens, got null"),
        (of_model(merges=[["a", "t", "h"]]), 'got ["a", "t", "h"]'),
        (of_model(merges=[["a", 3]]), 'got ["a", 3]'),
        (of_model(merges=["a  t"]), 'got "a  t"'),
        (of_model(merges=[{"a": "t"}]), 'got {"a": "t"}'),
        (of_model(merges=[["z", "q"]]), "merge 'z q' needs its tokens in vocab, got 'zq'"),
        (lambda table: table["model"]["vocab"].pop("é"), "vocab must number its tokens 0, 1, 2"),
        (
            lambda table: table["model"]["vocab"].update({"other": table["model"]["vocab"].pop("\u0100")}),
            "vocab must have a token for each of the 256 bytes, got none for 'Ā'",
        ),
        (lambda table: table["model"]["vocab"].update(a=0), "vocab must number its tokens 0, 1, 2"),
        (lambda table: table["model"]["vocab"].update({"\ud800": 280}), "vocab's tokens are whole Unicode characters"),
        (lambda table: table.update(added_tokens="<pad>"), 'added_tokens: must be a list of tokens, got "<pad>"'),
        (
            lambda table: table.update(added_tokens=["<pad>"]),
            'added_tokens[0]: must have a content and an id, got "<pad>"',
        ),
        (added(id="1"), "added_tokens[1]: must have a content and an id"),
        (added(id=True), "added_tokens[1]: must have a content and an id"),
        (added(id=7), "added_tokens[1]: '<pad>' has the number 1 in model.vocab, got 7"),
        (added(content="<new>"), "vocab must number its tokens 0, 1, 2"),
        (added(content="<new>", id=281), "vocab must number its tokens 0, 1, 2"),
        (added(special=False), "added_tokens[1], special: must be true, got false"),
        (added(lstrip=True), "added_tokens[1], lstrip: must be false, got true"),
        (added(single_word=True), "added_tokens[1], single_word: must be false, got true"),
    ],
)
def test_other_kinds_and_damaged_ones(own: Tokenizer, tmp_path: Path, change: Any, says: str) -> None:
    own.save(tmp_path)
    changed(tmp_path, change)
    with pytest.raises(DataError) as caught:
        read_tokenizer(tmp_path)
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_token_added_beyond_the_model(own: Tokenizer, tmp_path: Path) -> None:
    own.save(tmp_path)
    token = {"id": 280, "content": "<é>", "special": True}
    changed(tmp_path, lambda table: table["added_tokens"].append(token))
    read = read_tokenizer(tmp_path)
    assert read.encode("é<é>", ["<é>"]).tolist()[-1] == 280
    assert read.decode(read.encode("é<é>", ["<é>"])) == "é<é>"


def test_a_byte_is_no_token_that_was_added(own: Tokenizer, tmp_path: Path) -> None:
    """The letter é is the byte 233 in the vocabulary, and two bytes as a text."""
    own.save(tmp_path)
    token = {"id": own.vocab["é"], "content": "é", "special": True}
    changed(tmp_path, lambda table: table["added_tokens"].append(token))
    with pytest.raises(DataError, match=r"added_tokens: a token that was added must be no byte, .* got 'é'"):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"model": ' * 100_000,
        b'{"normalizer": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"model": {"type": "BPE", "vocab": {"a": 1' + b"0" * 5000 + b"}}}",
    ],
)
def test_what_is_no_tokenizer(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(DataError, match=r"tokenizer\.json") as caught:
        read_tokenizer(tmp_path)
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def test_a_huge_tokenizer(tmp_path: Path) -> None:
    with (tmp_path / "tokenizer.json").open("wb") as file:
        file.truncate((1 << 26) + 1)
    with pytest.raises(DataError, match=r"tokenizer\.json: may have 67,108,864 bytes at most, got 67,108,865"):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("merges", "text", "pieces"),
    [
        ([("H", "e"), ("l", "l")], "Hello world", ["He", "ll", "o", "\u0120", "w", "o", "r", "l", "d"]),
        ([("a", "b"), ("ab", "c")], "abc", ["abc"]),
        ([("a", "b"), ("ab", "c")], "", []),
        ([], "ab", ["a", "b"]),
    ],
)
def test_ninas_own_tests(merges: list[tuple[str, str]], text: str, pieces: list[str]) -> None:
    """Z-N6: the merges and pieces of Nina's tests, on a vocabulary of the bytes and what is merged."""
    alphabet = Tokenizer({name: place for place, name in enumerate(BYTES.values())}, [])
    vocab = {**alphabet.vocab, **{"".join(pair): 256 + place for place, pair in enumerate(merges)}}
    coder = Tokenizer(vocab, merges)
    ids = coder.encode(text)
    assert [name for each in ids for name, place in vocab.items() if place == each] == pieces
    assert coder.decode(ids) == text


def test_training_stops_where_pairs_are_rare() -> None:
    assert len(train_tokenizer(["abcd"], 300, special=())) == 256
    assert train_tokenizer(["ab ab"], 300, special=()).merges[0] == ("a", "b")
    assert len(train_tokenizer(TEXT, 259)) == 259


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("vocab.json", b"[]", "vocab.json: must be a JSON object of tokens and their numbers"),
        ("vocab.json", b'{"a": "b"}', "vocab.json: must be a JSON object of tokens and their numbers"),
        ("vocab.json", b'{"a": true}', "vocab.json: must be a JSON object of tokens and their numbers"),
        ("vocab.json", b'{"a": 7}', "vocab must number its tokens 0, 1, 2"),
        ("vocab.json", b'{"a": 0}', "must have a token for each of the 256 bytes"),
        ("vocab.json", b"\xff", r"vocab\.json: must be UTF-8, got another byte at 0"),
        (
            "merges.txt",
            b"#version: 0.2\nt h\nth e x\n",
            r"merges\.txt, line 3: must be two tokens with a space between, got 'th e x'",
        ),
        ("merges.txt", b"t\n", r"merges\.txt, line 1: must be two tokens"),
        ("merges.txt", b"z q\n", "merge 'z q' needs its tokens in vocab, got 'zq'"),
    ],
)
def test_damaged_files(own: Tokenizer, tmp_path: Path, file: str, content: bytes, says: str) -> None:
    write_two_files(own, tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        read_tokenizer(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_missing_files(own: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"must hold tokenizer\.json, or vocab\.json and merges\.txt, got a folder with"
    ):
        read_tokenizer(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps(own.vocab))
    with pytest.raises(DataError, match=r"merges\.txt"):
        read_tokenizer(tmp_path)


def test_an_empty_line_ends_the_merges(own: Tokenizer, tmp_path: Path) -> None:
    """C-D4."""
    write_two_files(own, tmp_path)
    path = tmp_path / "merges.txt"
    path.write_bytes(path.read_bytes() + b"\nnot read\n")
    assert read_tokenizer(tmp_path).merges == own.merges


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda own: own.encode(3), "text is a str, got int"),
        (lambda own: own.encode("a\ud800b"), "half of a surrogate pair at 1"),
        (lambda own: own.encode("a", ["<none>"]), "allowed_special names tokens of the vocabulary, got '<none>'"),
        (lambda own: own.decode([0, 300]), "tokens are 0 to 279, got 300"),
        (lambda own: own.decode([-1]), "tokens are 0 to 279, got -1"),
        (lambda own: own.decode([1.0]), "tokens are integers, got float64"),
        (lambda own: read_tokenizer("", pattern="gpt2"), "must be the name of a file or folder"),
        (lambda own: train_tokenizer("text", 300), "texts are several, got a str"),
        (lambda own: train_tokenizer(["text"], 256), "vocab_size"),
        (
            lambda own: train_tokenizer(TEXT, 300, special=["é"]),
            "a special token is no byte, and nothing that merges of the texts make, got 'é'",
        ),
        (lambda own: train_tokenizer(TEXT, 300, special=["Ġthe"]), "nothing that merges of the texts make, got 'Ġthe'"),
        (
            lambda own: train_tokenizer(TEXT, 300, special="<pad>"),
            "special are texts, each of one character at least.*got '<pad>'",
        ),
        (lambda own: train_tokenizer(TEXT, 300, special=["<\ud800>"]), r"of whole Unicode characters, got '<\\ud800>'"),
        (lambda own: train_tokenizer(TEXT, 300, special=[""]), "each of one character at least"),
        (lambda own: _holding(own, ["<\ud800>"]), r"vocab's tokens are whole Unicode characters, got '<\\ud800>'"),
    ],
)
def test_mistakes_are_told(own: Tokenizer, call: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        call(own)


def test_another_pattern_is_refused(own: Tokenizer, tmp_path: Path) -> None:
    own.save(tmp_path)
    other: Any = "gpt4"
    with pytest.raises(ArgumentError, match="pattern"):
        read_tokenizer(tmp_path, pattern=other)


def test_without_the_extra(own: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own.save(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'typednn\[text\]'"):
        read_tokenizer(tmp_path)
