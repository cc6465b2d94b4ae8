"""Readers of data and of runs, each with a valid example, and mutations that know how such files are built."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import math
import random
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.sample_run import confusion_of, metrics_lines, report_of
from typednn import config, data
from typednn.layers import Linear, PReLU
from typednn.optim import Adam
from typednn.random import PCG32
from typednn.recipes.catalogue import recipe
from typednn.recipes.inputs import inputs_of
from typednn.recipes.plan import plan_for, read_plan
from typednn.recipes.samples import Samples, load_data
from typednn.reports.html import write_report
from typednn.runs import checkpoint, recorded, shown, tensorboard
from typednn.runs.restoring import load_weights, structure

NUMBERS = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
CSV = b"label,a,b\r\n1,2.5,3\r\n4,-5e2,6\r\n\r\n"
TOML = b"""format = 1
input = [4, 4, 1]
[[layer]]
type = "Conv2d"
in_channels = 1
out_channels = 2
kernel_size = 3
weight_init = { type = "Normal", std = 0.02 }
[[layer]]
type = "Flatten"
[[layer]]
type = "Linear"
in_features = 8
out_features = 2
[optimizer]
type = "SGD"
lr = { type = "CosineLR", lr = 0.1, total_steps = 10 }
[init]
seed = 42
generator = "pcg32"
"""
PAPER = b"6,8,8,1\n####################\nConv2D,1,2,3,3,1,1,1,1\nFlatten\nLinear,72,10\n####################\nSGD,1.0\n"


@dataclass(frozen=True, slots=True)
class Outside:
    """One reader: the file it reads, a valid content, what sets the bytes right after a mutation, and what lies beside.

    ``share``: one of so many mutations is tried, where each takes a process of its own.
    """

    file: str
    read: Callable[[Path], object]
    valid: Callable[[], bytes]
    finish: Callable[[bytes], bytes] = lambda content: content
    beside: Callable[[Path], object] = lambda folder: None
    share: int = 1

    def prepare(self, folder: Path) -> Path:
        """The path of the file, with everything beside it."""
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        self.beside(folder)
        return path


# --- valid files ----------------------------------------------------------------------------------------------------


def idx(kind: int = 8) -> bytes:
    return struct.pack(">HBB3I", 0, kind, 3, 2, 3, 4) + NUMBERS.tobytes() * {8: 1, 13: 4}[kind]


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo("a.npy"), content, method)
    return stream.getvalue()


def tar(content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def png(mode: str = "L") -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(NUMBERS.reshape(4, 6)).convert(mode).save(stream, "PNG")
    return stream.getvalue()


def packed(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


def with_checksums(content: bytes) -> bytes:
    """A PNG whose chunks have the right checksums again, as far as their lengths lead."""
    result, place = bytearray(content), 8
    while place + 12 <= len(result):
        end = place + 8 + int.from_bytes(result[place : place + 4], "big")
        if end + 4 > len(result):
            break
        result[end : end + 4] = zlib.crc32(result[place + 4 : end]).to_bytes(4, "big")
        place = end + 4
    return bytes(result)


def _cifar_beside(folder: Path) -> None:
    for number in range(1, 6):
        (folder / f"data_batch_{number}.bin").write_bytes(bytes(3073))


def _mnist_beside(folder: Path) -> None:
    for name, shape in (("train-labels-idx1", (2,)), ("t10k-images-idx3", (1, 28, 28)), ("t10k-labels-idx1", (1,))):
        start = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
        (folder / f"{name}-ubyte").write_bytes(start + bytes(math.prod(shape)))


def _mnist() -> bytes:
    return struct.pack(">HBB3I", 0, 8, 3, 2, 28, 28) + bytes(2 * 784)


def _images_beside(folder: Path) -> None:
    for part in ("train", "test"):
        for name in ("one", "two"):
            (folder / part / name).mkdir(parents=True, exist_ok=True)
            (folder / part / name / "a.png").write_bytes(png())


# --- a run and its files --------------------------------------------------------------------------------------------


def _model() -> Any:
    return (Linear(3, 2) >> PReLU()).init(PCG32(0))


def _optimizer(model: Any) -> Any:
    return Adam(lr=0.1).bind(model)


_LOADER: Any = data.Loader(np.zeros((6, 3), np.float32), np.zeros(6, np.int64), batch_size=2, rng=PCG32(1))


def _state() -> checkpoint.TrainingState:
    return checkpoint.TrainingState(
        step=3, origin=0, loader=_LOADER.state_dict(), generators={}, metrics_bytes=0, loss_sum=0.5, rows=4,
        seconds=0.1, total_seconds=0.2, epochs=[], evaluations=[], best=None, waited=0, watched=None,
    )  # fmt: skip


def _checkpoint_beside(folder: Path) -> None:
    if not (folder / "step-00000003" / "state.json").exists():
        model = _model()
        checkpoint.write_checkpoint(
            folder, _state(), model.state_dict(), _optimizer(model).state_dict(), model=structure(model)
        )


def _checkpoint_file(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        _checkpoint_beside(Path(place))
        return (Path(place) / "step-00000003" / name).read_bytes()


def _with_checksum(content: bytes) -> bytes:
    """``state.json`` with its own checksum right again, where it is a table at all."""
    try:
        table: Any = json.loads(content)
        table = {key: value for key, value in table.items() if key != "checksum"}
        told = hashlib.sha256(
            json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        ).hexdigest()
    except (AttributeError, ValueError, RecursionError):
        return content
    return json.dumps({**table, "checksum": told}).encode()


def _read_checkpoint(path: Path) -> object:
    found = checkpoint.read_checkpoint(path.parent)
    model = _model()
    load_weights(found, model)
    _LOADER.load_state_dict(found.state.loader)
    return found


def _read_weights(path: Path) -> object:
    """The checkpoint whose state.json tells the right checksum of that file."""
    state = path.with_name("state.json")
    table, content = json.loads(state.read_bytes()), path.read_bytes()
    table["files"][path.name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    state.write_bytes(_with_checksum(json.dumps(table).encode()))
    return _read_checkpoint(path)


def _plan() -> bytes:
    x, y = np.arange(6 * 784, dtype=np.float32).reshape(6, 28, 28, 1), np.arange(6)
    return (
        plan_for(recipe("mlp"), Samples("a", "here", x, y, x, y, tuple("0123456789")), {"name": "a"}).to_text().encode()
    )


def _metrics() -> bytes:
    return "".join(json.dumps(line) + "\n" for line in metrics_lines(3, 2, ("a",))).encode()


def _report() -> bytes:
    return json.dumps(report_of(confusion_of(2), ["a", "b"])).encode()


def _pictures() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        images, labels = np.zeros((4, 3, 4, 1), np.float32), np.array([0, 1, 1, 0])
        shown.write_shown(
            place, shown.worst_mistakes(images, labels, np.eye(2)[[1, 1, 0, 1]]), np.zeros((3, 3, 1, 2), np.float32)
        )
        return (Path(place) / shown.FILE).read_bytes()


def _events() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        with tensorboard.EventWriter(place) as writer:
            for step in range(3):
                writer.scalar("loss", 0.5, step)
        return next(Path(place).iterdir()).read_bytes()


def _generator_reader(make: Callable[[], Any]) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        try:
            saved: Any = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            return None
        rng = make()
        data.restore_generator(rng, saved)
        return rng.permutation(1000), rng.standard_normal((1000,))  # what was accepted is used

    return read


def _generator(make: Callable[[], Any]) -> Outside:
    return Outside("a.json", _generator_reader(make), lambda: json.dumps(data.generator_state(make())).encode())


def _bits(kind: str) -> Callable[[], Any]:
    return lambda: np.random.Generator(getattr(np.random, kind)(1))


def _read_loader(path: Path) -> object:
    try:
        saved: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    _LOADER.load_state_dict(saved)
    return [batch.indices for batch in _LOADER.batches()]


def _read_all(read: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: read(path.parent)


def _arrow(kind: str) -> bytes:
    """A table of words and numbers, as a file of Parquet or of Arrow, or as a stream."""
    arrow: Any = import_module("pyarrow")
    table = arrow.table({"y": ["a", "b", "a"], "x": [1.0, 2.0, 3.0], "n": [1, 2, 3]})
    stream = io.BytesIO()
    if kind == "parquet":
        import_module("pyarrow.parquet").write_table(table, stream)
    else:
        with (arrow.ipc.new_file if kind == "file" else arrow.ipc.new_stream)(stream, table.schema) as writer:
            writer.write_table(table)
    return stream.getvalue()


def _picture(kind: str) -> bytes:
    images: Any = import_module("PIL.Image")
    stream = io.BytesIO()
    exif = images.Exif()
    exif[0x0112] = 6
    images.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(
        stream, kind, **({"exif": exif} if kind == "jpeg" else {})
    )
    return stream.getvalue()


def _upright(path: Path) -> object:
    return data.read_image(path, size=5, resize="crop", channels=3)


def _open_folder(folder: Path) -> object:
    sets = data.open_image_folder(folder, size=4)
    return np.asarray(sets.train_images), np.asarray(sets.test_images)


DATA: dict[str, Outside] = {
    "idx": Outside("a", data.read_idx, idx),
    "idx of floats": Outside("a", data.read_idx, lambda: idx(13)),
    "idx.gz": Outside("a", data.read_idx, lambda: packed(idx())),
    "idx within gz": Outside("a", data.read_idx, idx, packed),
    "mnist": Outside("train-images-idx3-ubyte", _read_all(data.mnist), _mnist, beside=_mnist_beside),
    "npy": Outside("a.npy", data.read_npy, lambda: npy(NUMBERS)),
    "npy mapped": Outside("a.npy", lambda path: data.read_npy(path, mmap=True), lambda: npy(NUMBERS.astype("f4"))),
    "npz": Outside("a.npz", data.read_npz, lambda: npz(npy(NUMBERS))),
    "npy within npz": Outside("a.npz", data.read_npz, lambda: npy(NUMBERS), npz),
    "npz stored": Outside("a.npz", data.read_npz, lambda: npz(npy(NUMBERS), zipfile.ZIP_STORED)),
    "csv": Outside("a.csv", lambda path: data.read_csv(path, header=1), lambda: CSV),
    "csv labelled": Outside("a.csv", lambda path: data.labelled(data.read_csv(path), 1, 2), lambda: CSV[11:]),
    "csv table": Outside("a.csv", data.read_table, lambda: CSV),
    "csv named": Outside(
        "a.csv", lambda path: data.read_table(path, target="town"), lambda: b"town;a;b\nUlm;1;2\n'Jena;3;4\n"
    ),
    "csv dropped": Outside(
        "a.csv", lambda path: data.read_table(path, missing="drop"), lambda: b"y,a,b\n1,NA,2\n3,4,5\n"
    ),
    "parquet": Outside("a.parquet", data.read_table, lambda: _arrow("parquet"), share=20),
    "arrow": Outside("a.arrow", data.read_table, lambda: _arrow("file"), share=20),
    "arrow stream": Outside("a.ipc", data.read_table, lambda: _arrow("stream"), share=20),
    **{
        f"image {kind}": Outside(f"a.{kind}", _upright, partial(_picture, kind))
        for kind in ("jpeg", "gif", "bmp", "webp")
    },
    "optdigits": Outside("a.csv", data.read_optdigits, lambda: b"3," * 64 + b"7\n"),
    "png": Outside("a.png", data.read_image, png),
    "png chunks": Outside("a.png", lambda path: data.read_image(path, channels=3), lambda: png("P"), with_checksums),
    "png resized": Outside(
        "a.png",
        lambda path: data.read_image(path, size=8, resize=True, channels=3),
        lambda: png("RGBA"),
        with_checksums,
    ),
    "png header": Outside("a.png", data.image_size, png),
    "image folder": Outside(
        "train/one/b.png", lambda path: _open_folder(path.parents[2]), png, with_checksums, _images_beside
    ),
    "png folder": Outside(
        "train/one/b.png", lambda path: load_data(str(path.parents[2])), png, with_checksums, _images_beside
    ),
    "cifar file": Outside("test_batch.bin", _read_all(data.cifar10), lambda: bytes(3073), beside=_cifar_beside),
    "cifar archive": Outside("cifar-10-binary.tar.gz", _read_all(data.cifar10), lambda: packed(tar(bytes(3073)))),
    "tar within gz": Outside("cifar-10-binary.tar.gz", _read_all(data.cifar10), lambda: tar(bytes(3073)), packed),
    "inputs npy": Outside("a.npy", lambda path: inputs_of(path, (3, 4, 1)), lambda: npy(NUMBERS)),
    "inputs npz": Outside("a.npz", lambda path: inputs_of(path, (3, 4, 1)), lambda: npy(NUMBERS), npz),
    "inputs csv": Outside("a.csv", lambda path: inputs_of(path, (1, 2, 1)), lambda: CSV),
    "inputs rows": Outside("a.csv", lambda path: inputs_of(path, (3,)), lambda: CSV),
    "config toml": Outside("a.toml", config.load, lambda: TOML),
    "config paper": Outside("a.txt", config.load, lambda: PAPER),
    "recipe.json": Outside("recipe.json", _read_all(read_plan), _plan),
    "state.json": Outside(
        "step-00000003/state.json",
        _read_checkpoint,
        lambda: _checkpoint_file("state.json"),
        _with_checksum,
        _checkpoint_beside,
    ),
    "weights": Outside(
        "step-00000003/weights.safetensors",
        _read_weights,
        lambda: _checkpoint_file("weights.safetensors"),
        beside=_checkpoint_beside,
    ),
    "metrics.jsonl": Outside("metrics.jsonl", _read_all(recorded.read_metrics), _metrics),
    "report.json": Outside("report.json", _read_all(recorded.read_scores), _report),
    "pictures": Outside("pictures.safetensors", _read_all(shown.read_shown), _pictures),
    "report page": Outside("report.json", _read_all(write_report), _report),
    "events": Outside("events.out.tfevents.1.a", lambda path: tensorboard.truncate(path.parent, 1), _events),
    "loader": Outside("a.json", _read_loader, lambda: json.dumps(_LOADER.state_dict()).encode()),
    "PCG32": _generator(lambda: PCG32(1)),
    **{kind: _generator(_bits(kind)) for kind in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")},
}


# --- mutations ------------------------------------------------------------------------------------------------------

_WORDS: Sequence[bytes] = (
    *b' 0 -1 1e999 1e308 nan NaN -Infinity null true [] {} "" "a" 1_0 0x10 1979-05-27 , " \' ( { [[ = \\ud800 '
    b"<f8 >i8 |O".split(b" "),
    *b"F64 BF16 F8_E4M3 BOOL U64 C64 \xff \xed\xa0\x80 \xef\xbb\xbf \xd9\xa3 \0".split(b" "),
    *(b"\n", b"\r", b"9" * 20, b"9" * 400, b"9" * 5000, b"." * 50, b"[" * 3000, b'{"a":' * 3000),
)
_INTEGERS = (
    0,
    1,
    2,
    7,
    127,
    128,
    255,
    256,
    4097,
    2**15,
    2**16 - 1,
    2**24,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
_VALUES: Sequence[Any] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**31,
        2**32,
        2**63,
        2**64,
        10**400,
        -(10**30),
        0.5,
        1e300,
        float("nan"),
        float("inf"),
    ),
    *("", "a", "\ud800", "0", "uint64", "\0", [], {}, [[]], [None], {"a": 1}),
    *({"dtype": "uint64", "values": [1]}, {"dtype": "uint32", "values": [-1]}),
)
_TOKENS = re.compile(rb"-?\d+(?:\.\d+)?|[A-Za-z_]\w*|\"[^\"]*\"")


def mutated(content: bytes, rng: random.Random) -> bytes:
    """``content`` after one to four changes: of bytes, of binary fields, of words, or of a value within JSON."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        change = rng.choice((_bytes, _field, _word, _slice, *[_value] * (8 if content[:1] == b"{" else 1)))
        content = change(content, rng)
    return content


def _bytes(content: bytes, rng: random.Random) -> bytes:
    """One byte, or the end of the file."""
    place = rng.randint(0, len(content))
    if rng.random() < 0.3:
        return content[:place] + (bytes(rng.randint(0, 9)) if rng.random() < 0.3 else b"")
    return content[:place] + bytes([rng.randint(0, 255)]) + content[place + 1 :]


def _field(content: bytes, rng: random.Random) -> bytes:
    """A number of 1 to 8 bytes, either end first; more often near the start, where headers are."""
    width, place = (
        rng.choice((1, 2, 4, 8)),
        rng.randint(0, len(content) if rng.random() < 0.5 else min(len(content), 64)),
    )
    number = rng.choice(_INTEGERS) % (1 << 8 * width)
    return content[:place] + number.to_bytes(width, rng.choice(("big", "little"))) + content[place + width :]


def _word(content: bytes, rng: random.Random) -> bytes:
    """A word or number of a text."""
    found = list(_TOKENS.finditer(content, 0, 5000))
    if not found:
        return content + rng.choice(_WORDS)
    token = rng.choice(found)
    new = rng.choice(_WORDS) if rng.random() < 0.7 else rng.choice(found)[0]
    return content[: token.start()] + new + content[token.end() :]


def _slice(content: bytes, rng: random.Random) -> bytes:
    """A piece, or a line, twice, elsewhere or not at all."""
    if rng.random() < 0.5:
        lines = content.split(b"\n")
        place = rng.randrange(len(lines))
        lines[place : place + 1] = rng.choice(([], [lines[place]] * 2, [rng.choice(lines)]))
        return b"\n".join(lines)
    start, to = rng.randint(0, len(content)), rng.randint(0, len(content))
    piece = content[start : start + rng.randint(1, 40)]
    rest = content if rng.random() < 0.5 else content[:start] + content[start + len(piece) :]
    return rest[:to] + piece + rest[to:] if rng.random() < 0.6 else rest


def _value(content: bytes, rng: random.Random) -> bytes:
    """A value, a key or a list's length somewhere in JSON, alone or after the length that safetensors begins with."""
    start = 0 if content[:1] in b"{[" else 8
    end = len(content) if start == 0 else start + int.from_bytes(content[:8], "little")
    try:
        table: Any = json.loads(content[start:end])
    except (ValueError, RecursionError):
        return _field(content, rng)
    holders: list[Any] = [[table]]
    for holder in holders:
        inside = holder.values() if isinstance(holder, dict) else holder
        holders += [inner for inner in inside if isinstance(inner, dict | list) and inner]
    places = [
        (holder, key)
        for holder in holders
        for key in (list(holder) if isinstance(holder, dict) else range(min(len(holder), 9)))
    ]
    holder, key = rng.choice(places)
    action = rng.random()
    if action < 0.15:
        del holder[key]
    elif action < 0.25 and isinstance(holder, dict):
        holder[rng.choice(("", "a", "state", "\0", "\ud800", "9" * 30))] = holder[key]
    elif action < 0.35 and isinstance(holder, list):
        holder.append(holder[key])
    elif action < 0.5 and type(holder[key]) in (int, float):
        with suppress(OverflowError):  # an integer can be too large for a float
            holder[key] = holder[key] * rng.choice((-1, 0, 2, 10**9)) + rng.choice((-1, 0, 1, 0.5))
    else:
        holder[key] = rng.choice(_VALUES)
    text = json.dumps(holders[0][0] if holders[0] else None).encode()
    return text if start == 0 else len(text).to_bytes(8, "little") + text + content[end:]
