"""Data sets in small, as files: the formats of the real ones, a few images each."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from pathlib import Path

import numpy as np

from typednn.data import Tokenizer

MNIST_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
CIFAR_FILES = (
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
    "test_batch.bin",
)


def write_small_mnist(folder: Path, packed: bool = True) -> Path:
    """Four files with 6 and 3 images; pixel values tell where they belong."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in zip(MNIST_FILES, (6, 6, 3, 3), strict=True):
        numbers = np.arange(count * 784 if "images" in name else count) % 10
        sizes = (count, 28, 28) if "images" in name else (count,)
        content = struct.pack(f">HBB{len(sizes)}I", 0, 8, len(sizes), *sizes) + numbers.astype(np.uint8).tobytes()
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(content) if packed else content)
    return folder


def small_cifar() -> dict[str, bytes]:
    """The six files, with 2 to 7 random records."""
    files = {}
    for seed, name in enumerate(CIFAR_FILES):
        rng = np.random.default_rng(seed)
        records = np.c_[rng.integers(0, 10, (2 + seed, 1)), rng.integers(0, 256, (2 + seed, 3072))]
        files[name] = records.astype(np.uint8).tobytes()
    return files


def cifar_archive(members: dict[str, bytes], folder: str = "cifar-10-batches-bin/") -> bytes:
    """``members`` and another file as a .tar.gz."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in {"readme.html": b"<p>", **members}.items():
            member = tarfile.TarInfo(folder + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def write_two_files(tokenizer: Tokenizer, folder: Path) -> None:
    """A vocabulary in the two files in which GPT-2's was published."""
    (folder / "vocab.json").write_text(json.dumps(tokenizer.vocab), encoding="utf-8")
    lines = ["#version: 0.2", *map(" ".join, tokenizer.merges), ""]
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8", newline="\n")
