"""TensorBoard events: the measurements of a run in the files that TensorBoard shows, and truncating these files on
resume.

A file is a row of records: length (uint64), masked CRC-32C of the length (uint32), an `Event` message, masked CRC-32C
of the message (uint32), all little-endian; masked(c) = (c >> 15 | c << 17) + 0xa282ead8 mod 2³². The first record names
the version ``brain.Event:2``. Format: TensorFlow's ``record_writer.h`` and ``event.proto``. Messages, records and
checksums are tensorboardX's, which the extra ``typednn[tensorboard]`` installs; its SummaryWriter is not used, as
docs/design.md says. TensorBoard itself is needed only to look: ``tensorboard --logdir RUN/events``.
"""

import os
import struct
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, final

from typednn import system
from typednn.arguments import integer
from typednn.errors import ArgumentError, StateError, explain, optional, printable
from typednn.files import writing

_PREFIX = "events.out.tfevents."
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_HEADER = _LENGTH.size + _CHECKSUM.size


@final
class EventWriter(AbstractContextManager["EventWriter"]):
    """Appends scalars to a new event file of ``folder``, which is made where it is missing.

    Files are numbered in the order in which they were begun, which is the order in which TensorBoard reads them.
    Call ``flush()`` before a checkpoint is written: a resumed run drops later events and writes them anew.
    A context manager, too: leaving it closes the file.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._messages: Any = _messages()
        place = Path(folder).absolute()
        with writing(place, "event files"):
            place.mkdir(parents=True, exist_ok=True)
            self.path: Path = place / f"{_PREFIX}{_next_number(place):010d}"
            self.path.touch(exist_ok=False)
            self._records: Any = _tensorboardx("tensorboardX").RecordWriter(str(self.path))
        self._closed = False
        self._append(self._messages.Event(wall_time=time.time(), file_version="brain.Event:2"))

    def scalar(self, tag: str, value: float, step: int) -> None:
        """``value`` of ``tag`` at ``step``; kept as float32, as TensorBoard reads it."""
        unchecked: object = tag
        if not isinstance(unchecked, str) or not tag:
            raise ArgumentError(
                explain("EventWriter.scalar", "tag must be a string that is not empty", repr(tag)), "tag"
            )
        if integer("EventWriter.scalar", "step", step, 0) >= 2**63:
            raise ArgumentError(explain("EventWriter.scalar", "step must be below 2**63", repr(step)), "step")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(explain("EventWriter.scalar", "value must be a number", repr(value)), "value") from None
        event = self._messages.Event(wall_time=time.time(), step=step)
        event.summary.value.add(tag=printable(tag), simple_value=number)  # it may come from elsewhere, and is shown
        self._append(event)

    def flush(self) -> None:
        """Write everything to the disk."""
        self._check_open()
        with writing(self.path, "event files"), self.path.open("rb") as written:
            self._records.flush()
            os.fsync(written.fileno())

    def close(self) -> None:
        """Flush and close the file; a second call does nothing."""
        if not self._closed:
            try:
                self.flush()
            finally:
                self._closed = True
                with writing(self.path, "event files"):
                    self._records.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, event: Any) -> None:
        self._check_open()
        with writing(self.path, "event files"):
            self._records.write(event.SerializeToString())

    def _check_open(self) -> None:
        if self._closed:
            raise StateError(
                explain("EventWriter", "must be open", "a closed one", "make a new EventWriter: it begins a new file")
            )


def truncate(folder: str | os.PathLike[str], step: int) -> int:
    """Drop every event after ``step``, and every damaged record, from the event files of ``folder``; how many files
    changed.

    A file is rewritten to a temporary file, fsynced and renamed: a process killed meanwhile leaves the old or the new
    file, and repeating it gives the same. A record that was cut off ends its file. Without a folder, or without event
    files, nothing happens.
    """
    last, place = integer("truncate", "step", step, 0), Path(folder)
    with writing(place, "event files"):
        for leftover in place.glob(".truncating-*.part"):
            leftover.unlink()
        return sum(
            _truncate_file(path, last)
            for path in sorted(place.glob(f"{_PREFIX}*"))
            if path.is_file() and not path.is_symlink()
        )


def _truncate_file(path: Path, last: int) -> bool:
    messages, checksum = _messages(), _tensorboardx("tensorboardX.record_writer").masked_crc32c
    beside = path.with_name(f".truncating-{path.name.removeprefix(_PREFIX)}.part")
    with path.open("rb") as old, beside.open("xb") as new:
        for content, record in _records(old, checksum):
            if _is_kept(content, last, messages):
                new.write(record)
        new.flush()
        os.fsync(new.fileno())
    if beside.stat().st_size == path.stat().st_size:
        beside.unlink()
        return False
    system.rename(beside, path)
    system.sync_folder(path.parent)
    return True


def _records(stream: BinaryIO, checksum: Any) -> Iterator[tuple[bytes, bytes]]:
    """The content and the bytes of each valid record. A damaged content is skipped, a damaged length ends the file."""
    size = os.fstat(stream.fileno()).st_size
    while len(header := stream.read(_HEADER)) == _HEADER:
        length, mark = _LENGTH.unpack_from(header)[0], header[_LENGTH.size :]
        # The length is used only if its checksum and the file's size agree: memory stays bounded by the file.
        if mark != _CHECKSUM.pack(checksum(header[: _LENGTH.size])) or length + _CHECKSUM.size > size - stream.tell():
            return
        content, mark = stream.read(length), stream.read(_CHECKSUM.size)
        if mark == _CHECKSUM.pack(checksum(content)):
            yield content, header + content + mark


def _is_kept(content: bytes, last: int, messages: Any) -> bool:
    event = messages.Event()
    try:
        event.ParseFromString(content)
    except Exception:  # protobuf's DecodeError, whose module depends on its version
        return False
    return bool(event.step <= last)


def _next_number(folder: Path) -> int:
    names = [path.name.removeprefix(_PREFIX).partition(".")[0] for path in folder.glob(f"{_PREFIX}*")]
    return 1 + max((int(name) for name in names if name.isascii() and name.isdecimal() and len(name) < 20), default=0)


def _messages() -> Any:
    return _tensorboardx("tensorboardX.proto.event_pb2")


def _tensorboardx(module: str) -> Any:
    return optional(
        module,
        "typednn.runs.tensorboard",
        "TensorBoard events need the package tensorboardX",
        "install it with: pip install 'typednn[tensorboard]'",
    )
