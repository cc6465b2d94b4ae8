"""gpt.c's file of a model (G-F2, G-C9): the published length, both ways, every field of the header, damage."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, DataError
from typednn.models import GPT2, read_gpt_c, write_gpt_c
from typednn.models.gpt_c import _listed

pytestmark = pytest.mark.usefixtures("on_the_reference")


def model() -> GPT2:
    return GPT2(11, 6, 8, 2, 2, rng=np.random.default_rng(0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_gpt_c(model(), tmp_path / "model.bin", steps=7)
    return tmp_path / "model.bin"


def test_published_length() -> None:
    """G-F2: 124 million parameters."""
    large: GPT2 = GPT2()
    assert len(_listed(large)) == 346
    assert 4 * (256 + 346 + large.num_parameters()) == 497_761_640


def test_layout(file: Path) -> None:
    """G-F2, field by field."""
    content = file.read_bytes()
    assert struct.unpack("<9i", content[:36]) == (20240415, 6, 11, 2, 2, 8, 3 * 10 + 2 * 18, 7, 0)
    assert struct.unpack("<6i", content[1024:1048]) == (2, 11, 8, 2, 6, 8)
    numbers = np.frombuffer(content[1024 + 4 * 66 :], "<f4")
    np.testing.assert_array_equal(numbers[:88].reshape(11, 8), model().wte.weight)
    np.testing.assert_array_equal(numbers[-8:], 0)


def test_round_trip(file: Path) -> None:
    """G-C9."""
    read, steps = read_gpt_c(file)
    assert steps == 7
    for (name, array), other in zip(model().named_parameters().items(), read.parameters(), strict=True):
        np.testing.assert_array_equal(array, other, err_msg=name)
    first = file.read_bytes()
    write_gpt_c(read, file, steps=steps)
    assert file.read_bytes() == first


@pytest.mark.parametrize(
    ("place", "number", "says"),
    [
        (0, 1, "field 0: must be 20240415, got 1"),
        (1, 0, "field 1: n_positions must be 1 to 1048576, got 0"),
        (1, 7, "must have .* bytes, got"),
        (2, -5, "field 2: vocab_size must be 1 to 1048576, got -5"),
        (3, 10**6, "field 3: n_layer must be that of the tensors behind the header, got 1000000"),
        (3, 1, "field 6: the shapes of these sizes take 38 numbers, got 66"),
        (4, 3, "n_head"),
        (5, 1 << 30, "field 5: n_embd must be 1 to 1048576"),
        (6, 65, "field 6: the shapes of these sizes take 66 numbers, got 65"),
        (7, -1, "field 7: the steps must be 0 or more, got -1"),
        (256, 3, "number 256: must be 2 for these sizes, got 3"),
        (258, 9, "number 258: must be 8 for these sizes, got 9"),
    ],
)
def test_every_field_is_checked(file: Path, place: int, number: int, says: str) -> None:
    content = bytearray(file.read_bytes())
    content[4 * place : 4 * place + 4] = struct.pack("<i", number)
    file.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        read_gpt_c(file)
    assert str(file) in str(caught.value)


def test_cut_off_and_missing(file: Path) -> None:
    content = file.read_bytes()
    for damaged in (b"", content[:1000], content[:1024], content[:-1], content + b"\0"):
        file.write_bytes(damaged)
        with pytest.raises(DataError, match=r"model\.bin"):
            read_gpt_c(file)
    with pytest.raises(DataError, match="nowhere"):
        read_gpt_c(file.parent / "nowhere")
    other: Any = [1]
    with pytest.raises(ArgumentError, match="model is a GPT2, got list"):
        write_gpt_c(other, file)
    with pytest.raises(ArgumentError, match="steps"):
        write_gpt_c(model(), file, steps=-1)


def test_a_limit_is_kept(file: Path) -> None:
    with pytest.raises(DataError, match="may take at most 2,000 bytes"):
        read_gpt_c(file, limit=2000)
