"""Event files: read back byte by byte, and cut back as a resumed run does it."""

import errno
import math
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.errors import ArgumentError, DataError, MissingExtra, StateError, printable
from typednn.runs import tensorboard
from typednn.runs.tensorboard import EventWriter, truncate

event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2", reason="needs the extra typednn[tensorboard]")


def crc32c(data: bytes) -> int:
    """CRC-32C bit by bit, as RFC 3720 appendix B.4 checks it: slow, and of another make than tensorboardX's table."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def events_in(path: Path) -> list[Any]:
    """Every event of a file, each checksum verified."""
    content, found = path.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        assert struct.unpack("<I", content[8:12]) == (masked(content[:8]),)
        message, content = content[12 : 12 + length], content[12 + length :]
        assert struct.unpack("<I", content[:4]) == (masked(message),)
        content = content[4:]
        found.append(event_pb2.Event.FromString(message))
    return found


def scalars_in(folder: Path) -> list[tuple[str, int, float]]:
    events = [event for path in sorted(folder.iterdir()) for event in events_in(path)]
    return [(value.tag, event.step, value.simple_value) for event in events for value in event.summary.value]


def written(folder: Path, steps: int = 5) -> Path:
    with EventWriter(folder) as writer:
        for step in range(1, steps + 1):
            writer.scalar("loss", 1 / step, step)
    return writer.path


def test_checksum_here_is_the_standards() -> None:
    assert crc32c(b"\x00" * 32) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_events_read_back(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path / "run" / "events")
    writer.scalar("train/loss", 2.25, 0)
    writer.scalar("gradient norm/Faltung", math.nan, 7)
    writer.flush()
    events = events_in(writer.path)
    assert [event.file_version for event in events] == ["brain.Event:2", "", ""]
    assert all(event.wall_time > 1.6e9 for event in events)
    writer.scalar("huge", 1e300, 2**40)
    writer.close()
    first, second, third = scalars_in(writer.path.parent)
    assert first == ("train/loss", 0, 2.25)
    assert second[:2] == ("gradient norm/Faltung", 7)
    assert math.isnan(second[2])
    assert third == ("huge", 2**40, math.inf)


@given(
    st.lists(
        st.tuples(st.text(min_size=1), st.floats(width=32, allow_nan=False), st.integers(0, 2**63 - 1)), max_size=8
    )
)
def test_whatever_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, float, int]]
) -> None:
    folder = tmp_path_factory.mktemp("events")
    with EventWriter(folder) as writer:
        for tag, value, step in values:
            writer.scalar(tag, value, step)
    assert scalars_in(folder) == [(printable(tag), step, value) for tag, value, step in values]


def test_a_tag_that_no_message_can_hold_is_still_written(tmp_path: Path) -> None:
    with EventWriter(tmp_path) as writer:
        writer.scalar("\ud800", 1.0, 1)
        writer.scalar("a\x1b[2J\u202e", 1.0, 1)
        writer.scalar("numpy", np.float32(0.5), np.int64(2))  # type: ignore[arg-type]
    assert scalars_in(tmp_path) == [("\\ud800", 1, 1.0), ("a\\u001b[2J\\u202e", 1, 1.0), ("numpy", 2, 0.5)]


def test_files_follow_each_other(tmp_path: Path) -> None:
    names = [written(tmp_path).name for _ in range(3)]
    assert names == sorted(names)
    assert len(set(names)) == 3
    assert all("tfevents" in name for name in names)
    (tmp_path / "events.out.tfevents.1700000000.elsewhere").touch()
    assert written(tmp_path).name == "events.out.tfevents.1700000001"


@pytest.mark.parametrize(
    ("tag", "value", "step", "complaint"),
    [
        ("", 1.0, 1, "tag must be a string that is not empty"),
        (None, 1.0, 1, "tag must be"),
        ("loss", "much", 1, "value must be a number, got 'much'"),
        ("loss", 10**400, 1, "value must be a number"),
        ("loss", 1.0, -1, "step must be an integer of at least 0, got -1"),
        ("loss", 1.0, 1.5, "step must be an integer"),
        ("loss", 1.0, 2**63, "step must be below"),
    ],
)
def test_wrong_scalars_are_refused(tmp_path: Path, tag: Any, value: Any, step: Any, complaint: str) -> None:
    with EventWriter(tmp_path) as writer, pytest.raises(ArgumentError, match=complaint.replace("**", r"\*\*")):
        writer.scalar(tag, value, step)
    assert scalars_in(tmp_path) == []


def test_closed_writer_refuses(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    writer.close()
    writer.close()
    complaint = "must be open, got a closed one; make a new EventWriter"
    with pytest.raises(StateError, match=complaint):
        writer.scalar("loss", 1.0, 1)
    with pytest.raises(StateError, match=complaint):
        writer.flush()


def test_events_beyond_the_checkpoint_are_dropped(tmp_path: Path) -> None:
    """As after a kill: two files, the second begun by a resume."""
    first = written(tmp_path, 5)
    second = written(tmp_path, 3)
    untouched = second.read_bytes()
    assert truncate(tmp_path, 3) == 1
    assert [step for _, step, _ in scalars_in(tmp_path)] == [1, 2, 3, 1, 2, 3]
    assert second.read_bytes() == untouched
    assert sorted(tmp_path.iterdir()) == [first, second]
    assert truncate(tmp_path, 3) == 0
    assert truncate(tmp_path, 0) == 2
    assert scalars_in(tmp_path) == []
    assert [event.file_version for event in events_in(first)] == ["brain.Event:2"]


def test_nothing_to_cut_back(tmp_path: Path) -> None:
    assert truncate(tmp_path / "none", 3) == 0
    (tmp_path / "notes.txt").write_text("mine")
    assert truncate(tmp_path, 3) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_every_cut_is_survived(tmp_path: Path) -> None:
    """A process may be killed within any byte of a record."""
    whole = written(tmp_path / "whole", 3).read_bytes()
    ends = [0]
    while ends[-1] < len(whole):
        ends.append(ends[-1] + 16 + struct.unpack_from("<Q", whole, ends[-1])[0])
    for cut in range(len(whole)):
        path = tmp_path / "events.out.tfevents.1"
        path.write_bytes(whole[:cut])
        assert truncate(tmp_path, 99) == (cut not in ends)
        assert path.read_bytes() == whole[: max(end for end in ends if end <= cut)]


def test_flipped_bits_drop_a_record_not_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    whole = bytearray(path.read_bytes())
    place = whole.index(b"loss")
    whole[place] ^= 1
    path.write_bytes(whole)
    assert truncate(tmp_path, 99) == 1
    assert [step for _, step, _ in scalars_in(tmp_path)] == [2, 3]


def test_a_damaged_length_ends_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    whole = bytearray(path.read_bytes())
    begins = 16 + struct.unpack_from("<Q", whole)[0]
    whole[begins + 8] ^= 1
    path.write_bytes(whole)
    assert truncate(tmp_path, 99) == 1
    assert path.read_bytes() == whole[:begins]


def test_a_record_that_is_no_event_is_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, 1)
    content, length = b"\xff" * 9, struct.pack("<Q", 9)
    with path.open("ab") as stream:
        stream.write(length + struct.pack("<I", masked(length)) + content + struct.pack("<I", masked(content)))
    assert truncate(tmp_path, 99) == 1
    assert [step for _, step, _ in scalars_in(tmp_path)] == [1]


def test_a_length_beyond_the_file_takes_no_memory(tmp_path: Path) -> None:
    path = written(tmp_path, 1)
    length = struct.pack("<Q", 2**60)
    with path.open("ab") as stream:
        stream.write(length + struct.pack("<I", masked(length)) + b"short")
    assert truncate(tmp_path, 99) == 1
    assert [step for _, step, _ in scalars_in(tmp_path)] == [1]


@given(junk=st.binary(max_size=80), step=st.integers(0, 5))
def test_junk_never_escapes_as_a_traceback(tmp_path_factory: pytest.TempPathFactory, junk: bytes, step: int) -> None:
    folder = tmp_path_factory.mktemp("events")
    path = written(folder, 3)
    path.write_bytes(path.read_bytes() + junk)
    truncate(folder, step)
    assert [found for _, found, _ in scalars_in(folder)] == [kept for kept in (1, 2, 3) if kept <= step]


def test_killed_while_cutting_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, 5)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DataError, match="event files must be writable, got No space left on device; make room"):
            truncate(tmp_path, 2)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2, "a leftover, as a kill leaves it, whose name TensorBoard does not read"
    assert not any("tfevents" in found.name for found in tmp_path.iterdir() if found != path)
    assert truncate(tmp_path, 2) == 1
    assert list(tmp_path.iterdir()) == [path]
    assert [step for _, step, _ in scalars_in(tmp_path)] == [1, 2]


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = EventWriter(tmp_path)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DataError, match="No space left on device; make room, or make the folder writable"):
            writer.flush()
    writer.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("a file")
    with pytest.raises(DataError, match="event files must be writable"):
        EventWriter(tmp_path / "events")


def test_links_are_left_alone(tmp_path: Path) -> None:
    elsewhere = written(tmp_path / "elsewhere")
    events = tmp_path / "events"
    events.mkdir()
    (events / "events.out.tfevents.1").symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    assert truncate(events, 0) == 0
    assert elsewhere.read_bytes() == before


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboardX"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    for act in (lambda: EventWriter(tmp_path), lambda: truncate(tmp_path, 1)):
        with pytest.raises(MissingExtra, match=r"need the package tensorboardX.*pip install 'typednn\[tensorboard\]'"):
            act()
    assert truncate(tmp_path / "none", 1) == 0


def test_the_module_loads_nothing_optional() -> None:
    program = f"import sys, {tensorboard.__name__}; raise SystemExit('tensorboardX' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "error", "-c", program], check=False).returncode == 0
