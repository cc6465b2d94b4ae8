"""The page of byte-pair encoding: equal to the library on random text, and the published sequence of merges."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.bpe_by_hand import WORDS, encode, main, merged
from typednn.data import Tokenizer, train_tokenizer

pytest.importorskip("tokenizers", reason="needs tokenizers")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    learnt = train_tokenizer([WORDS, "naïve café's aaaa !! 12"], 300, min_frequency=1)
    return Tokenizer(learnt.vocab, learnt.merges, "seed")


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("aceht nïsd'1_!\n", max_size=40))
def test_equal_to_the_library(tokenizer: Tokenizer, text: str) -> None:
    """C-D2, C-D8."""
    assert encode(tokenizer, text) == tokenizer.encode(text).tolist()


def test_all_places_merge_from_left_to_right() -> None:
    assert merged(list("aaaab"), ("a", "a")) == ["aa", "aa", "b"]
    assert merged(list("aaa"), ("a", "a")) == ["aa", "a"]
    assert merged([], ("a", "a")) == []


def test_what_it_says_is_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([]) == 0
    assert "the library agrees" in capsys.readouterr().out
    assert main([str(tmp_path)]) == 1
    assert re.fullmatch(
        r".*: must hold tokenizer\.json, or vocab\.json and merges\.txt, got a folder without these\n",
        capsys.readouterr().err,
    )


def test_published_merges(capsys: pytest.CaptureFixture[str]) -> None:
    """C-D11: the worked example, in GPT-2's vocabulary."""
    places = [Path(os.environ.get("TYPEDNN_DATA", "nowhere")), Path(__file__).parents[3] / "shared" / "data"]
    folder = next((place / "gpt2-bpe" for place in places if (place / "gpt2-bpe").exists()), None)
    if folder is None:
        pytest.skip("needs gpt2-bpe; set TYPEDNN_DATA")
    assert main([str(folder)]) == 0
    said = capsys.readouterr().out
    assert "[38, 11571, 17, 373, 2727, 416, 4946, 20185]" in said
    lines = [line.strip() for line in said.splitlines()]
    pairs = [re.sub(r" rank.*", "", line).replace(" ", "") for line in lines if "rank" in line]
    assert pairs[0] == "P+T"
    assert pairs[-5:] == ["e+n", "Ġ+O", "p+en", "ĠO+pen", "A+I"]
    ranks = [int(line.partition("rank")[2].split()[0].replace(",", "")) for line in lines if "rank" in line]
    assert ranks[-5:] == [12, 184, 3361, 4690, 19929]
