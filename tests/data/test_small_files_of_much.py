"""Small files that describe much: each is refused soon, in little memory, with the size and the limit where there is
one.

Those of ONNX are in ``tests/exchange/test_onnx_import.py``, those that pyarrow reads in ``test_table.py``: they are not
counted here, as other libraries take the memory.
"""

import gzip
import io
import json
import struct
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from typednn import Input, config, data
from typednn.errors import TypednnError
from typednn.exchange import load, load_bin, load_json, load_torch
from typednn.layers import Linear
from typednn.models import load_gpt2
from typednn.models.gpt_c import read_gpt_c
from typednn.runs import checkpoint

LIMIT = 10_000_000
ZEROS = bytes(60_000_000)
MEMORY = 8 * LIMIT  # of Python's objects too, which are several for each that a file describes
SECONDS = 60.0  # less than one, alone: this tells what grows without bound


def model() -> Any:
    return (Input(4) >> Linear(4, 2)).init(np.random.default_rng(0))


def idx(*sizes: int) -> bytes:
    return struct.pack(f">HBB{len(sizes)}I", 0, 8, len(sizes), *sizes)


def npy(shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def zipped(content: bytes, name: str = "a.npy") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def tarred(content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]:
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(stream.getvalue(), 1)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int) -> bytes:
    head = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(ZEROS, 1)) + chunk(b"IEND", b"")


def gif(width: int, height: int) -> bytes:
    return (
        b"GIF89a"
        + struct.pack("<2H3B", width, height, 0, 0, 0)
        + b","
        + struct.pack("<4HB", 0, 0, width, height, 0)
        + b"\x08\x01\x00\x00;"
    )


def bmp(width: int, height: int) -> bytes:
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", 60, 0, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(6)


def webp(width: int, height: int) -> bytes:
    body = b"VP8L" + struct.pack("<I", 10) + b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + bytes(5)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def safetensors(header: Any, content: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def tensor(*shape: int, stop: int = 0) -> dict[str, Any]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [0, stop]}


class Bomb(NamedTuple):
    """The file's name, its content, and what reads it."""

    name: str
    content: Callable[[], bytes]
    read: Callable[[Path], object]


def folder(read: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: read(path.parent)


BOMBS: dict[str, Bomb] = {
    "idx": Bomb("a", lambda: idx(4_000_000_000, 4_000_000_000), data.read_idx),
    "idx of three sizes": Bomb("a", lambda: idx(60_000, 28_000, 28_000), data.read_idx),
    "idx.gz": Bomb("a.gz", lambda: gzip.compress(idx(60_000_000) + ZEROS, 1), data.read_idx),
    "idx.gz of more than it states": Bomb("a.gz", lambda: gzip.compress(idx(10) + ZEROS, 1), data.read_idx),
    "npy": Bomb("a.npy", lambda: npy((78_000_000_000,)), data.read_npy),
    "npy of many axes": Bomb("a.npy", lambda: npy((1000,) * 12), data.read_npy),
    "npy that is an input": Bomb("a.npy", lambda: npy((78_000_000_000,)), lambda path: data.read_inputs(path, 4)),
    "npz": Bomb("a.npz", lambda: zipped(npy((60_000_000,)) + ZEROS), data.read_npz),
    "npz that lies": Bomb("a.npz", lambda: zipped(npy((10,)) + ZEROS), data.read_npz),
    "npz of many": Bomb(
        "a.npz",
        lambda: zipped(npy((9_000_000,)) + ZEROS[:9_000_000]) + zipped(b"", "b.npy"),
        lambda path: data.read_npz(path, limit=1_000_000),
    ),
    "csv of one line": Bomb("a.csv", lambda: b"1," * 5_000_000, data.read_csv),
    "csv of one field": Bomb("a.csv", lambda: b'a\n"' + b"1" * 20_000_000, data.read_table),
    "csv of many columns": Bomb("a.csv", lambda: b"a," * 4_000_000 + b"\n", data.read_table),
    "png": Bomb("a.png", lambda: png(60_000, 1000), data.read_image),
    "png of one row": Bomb("a.png", lambda: png(60_000_000, 1), data.read_image),
    "gif": Bomb("a.gif", lambda: gif(65_535, 65_535), data.read_image),
    "bmp": Bomb("a.bmp", lambda: bmp(2**30, 2**30), data.read_image),
    "webp": Bomb("a.webp", lambda: webp(16_384, 16_384), data.read_image),
    "tar.gz": Bomb("cifar-10-binary.tar.gz", lambda: tarred(ZEROS), folder(data.cifar10)),
    "text": Bomb("a.txt", lambda: ZEROS, data.read_text),
    "tokens": Bomb("a.bin", lambda: ZEROS, lambda path: data.read_tokens(path, "uint64")),
    "token table": Bomb(
        "tokenizer.bin", lambda: struct.pack("<3I", 20240328, 2, 4_000_000_000) + bytes(2000), data.read_token_table
    ),
    "vocab.json": Bomb("vocab.json", lambda: b"[" * 5_000_000, folder(data.read_tokenizer)),
    "tokenizer.json": Bomb("tokenizer.json", lambda: b"[" * 5_000_000, folder(data.read_tokenizer)),
    "characters.json": Bomb("characters.json", lambda: b"[" * 5_000_000, folder(data.read_vocabulary)),
    "stories": Bomb("data00.json", lambda: b"[" * 5_000_000, folder(data.read_vocabulary)),
    "toml of brackets": Bomb("a.toml", lambda: b"a = " + b"[" * 500_000, config.load),
    "toml of tables": Bomb("a.toml", lambda: b"".join(b"[a%d]\n" % number for number in range(300_000)), config.load),
    "toml of a number": Bomb("a.toml", lambda: b"format = " + b"9" * 3_000_000, config.load),
    "toml of repeats": Bomb(
        "a.toml",
        lambda: (
            b'format = 1\ninput = [4]\n[[layer]]\ntype = "Repeat"\ntimes = 1000000000\n[layer.inner]\ntype = "Tanh"\n'
        ),
        lambda path: config.load(path).built(),
    ),
    "json of brackets": Bomb("a.json", lambda: b'{"format": ' + b"[" * 500_000, config.load),
    "safetensors of a long header": Bomb(
        "a.safetensors", lambda: struct.pack("<Q", 1 << 60) + b"{}", lambda path: load(path, model())
    ),
    "safetensors of large sizes": Bomb(
        "a.safetensors",
        lambda: safetensors({"0.weight": tensor(1 << 40, stop=1 << 42)}),
        lambda path: load_torch(path, model()),
    ),
    "safetensors of brackets": Bomb(
        "a.safetensors", lambda: safetensors(b"[" * 3_000_000), lambda path: load_torch(path, model())
    ),
    "weights as json": Bomb("a.json", lambda: b"[" * 3_000_000, lambda path: load_json(path, model())),
    "weights as numbers": Bomb("a.bin", lambda: ZEROS, lambda path: load_bin(path, model())),
    "gpt.c": Bomb(
        "model.bin",
        lambda: struct.pack("<8i", 20240326, 3, 2**30, 2**30, 2**30, 2**30, 2**30, 2**30) + bytes(1000),
        read_gpt_c,
    ),
    "config.json of a GPT-2": Bomb(
        "config.json",
        lambda: json.dumps(
            {"model_type": "gpt2", "n_layer": 10**9, "n_head": 1, "n_embd": 8, "vocab_size": 7, "n_positions": 8}
        ).encode(),
        folder(load_gpt2),
    ),
    "state.json": Bomb("state.json", lambda: b"[" * 5_000_000, folder(checkpoint.read_checkpoint)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_refused_soon_and_in_little_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = BOMBS[name]
    monkeypatch.setenv("TYPEDNN_DATA_LIMIT", str(LIMIT))
    path = tmp_path / bomb.name
    path.write_bytes(bomb.content())
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(TypednnError) as caught:
            bomb.read(path)
        seconds, (_, most) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert bomb.name in str(caught.value) or tmp_path.name in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert most < MEMORY, f"{most:,} bytes"
    assert seconds < SECONDS
