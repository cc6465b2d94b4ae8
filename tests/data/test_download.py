"""Downloads from a server on this machine that misbehaves as told."""

import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from typednn.data import download
from typednn.data.download import fetch
from typednn.errors import ArgumentError, DataError

CONTENT = bytes(range(256)) * 1000
SUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
MD5 = f"md5:{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}"


@dataclass
class Server:
    """``behaviour`` for the next answers; ``ranges`` are what was asked for."""

    address: str = ""
    behaviour: str = "right"
    ranges: list[str | None] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            state.ranges.append(asked)
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and state.behaviour != "no ranges" else 0
            content = CONTENT[start:]
            if state.behaviour == "missing":
                self.send_error(404)
                return
            if start and not content:
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header(
                    "Content-Range",
                    f"bytes {0 if state.behaviour == 'wrong range' else start}-{len(CONTENT) - 1}/{len(CONTENT)}",
                )
            if state.behaviour != "no length":
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if state.behaviour in ("truncated", "stalled"):
                content = content[: len(content) // 2]
            if state.behaviour == "altered":
                content = content[:-1] + b"!"
            self.wfile.write(content)
            self.wfile.flush()
            if state.behaviour == "stalled":
                state.over.wait(10)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.address = f"http://127.0.0.1:{running.server_address[1]}/file.bin"
    yield state
    state.over.set()
    running.shutdown()
    running.server_close()
    thread.join()


def left(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()}


@pytest.mark.parametrize("checksum", [SUM, MD5])
@pytest.mark.parametrize("behaviour", ["right", "no length"])
def test_right(server: Server, tmp_path: Path, checksum: str, behaviour: str) -> None:
    server.behaviour = behaviour
    seen: list[tuple[int, int | None]] = []
    path = fetch(server.address, tmp_path / "a" / "b.bin", checksum=checksum, on_progress=lambda *now: seen.append(now))
    assert path == tmp_path / "a" / "b.bin"
    assert path.read_bytes() == CONTENT
    assert left(path.parent) == {"b.bin": len(CONTENT)}
    assert seen[-1] == (len(CONTENT), len(CONTENT) if behaviour == "right" else None)


def test_truncated_and_resumed(server: Server, tmp_path: Path) -> None:
    server.behaviour = "truncated"
    half = len(CONTENT) // 2
    with pytest.raises(DataError) as caught:
        fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert (
        str(caught.value)
        == f"{server.address}: the file has {len(CONTENT)} bytes, got {half}; call again: it goes on where it stopped"
    )
    assert left(tmp_path) == {"b.bin.part": half}
    server.behaviour = "right"
    fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert server.ranges == [None, f"bytes={half}-"]
    assert (tmp_path / "b.bin").read_bytes() == CONTENT
    assert left(tmp_path) == {"b.bin": len(CONTENT)}


def test_altered(server: Server, tmp_path: Path) -> None:
    """Names the file, what was expected and what came; nothing is left, and what was there before stays."""
    (tmp_path / "b.bin").write_bytes(b"the one before")
    server.behaviour = "altered"
    with pytest.raises(DataError) as caught:
        fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    got = hashlib.sha256(CONTENT[:-1] + b"!").hexdigest()
    assert f"{server.address}: b.bin must have the sha256 {SUM[7:]}, got {got}; the file was altered on its way" in str(
        caught.value
    )
    assert left(tmp_path) == {"b.bin": 14}


def test_altered_while_resumed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "b.bin.part").write_bytes(b"something else")
    with pytest.raises(DataError, match="must have the sha256"):
        fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert left(tmp_path) == {}
    fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert left(tmp_path) == {"b.bin": len(CONTENT)}


def test_stalled_and_resumed(server: Server, tmp_path: Path) -> None:
    server.behaviour = "stalled"
    with pytest.raises(
        DataError, match=r"must send something at least now and then, got no byte for 1\.5 s; call again: it goes on"
    ):
        fetch(server.address, tmp_path / "b.bin", checksum=SUM, timeout=1.5)
    assert set(left(tmp_path)) == {"b.bin.part"}
    server.behaviour = "right"
    fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert server.ranges[1] is not None
    assert left(tmp_path) == {"b.bin": len(CONTENT)}


def test_servers_without_ranges(server: Server, tmp_path: Path) -> None:
    (tmp_path / "b.bin.part").write_bytes(CONTENT[:1000])
    server.behaviour = "no ranges"
    fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert server.ranges == ["bytes=1000-"]
    assert left(tmp_path) == {"b.bin": len(CONTENT)}


def test_servers_that_go_on_elsewhere(server: Server, tmp_path: Path) -> None:
    (tmp_path / "b.bin.part").write_bytes(CONTENT[:1000])
    server.behaviour = "wrong range"
    with pytest.raises(
        DataError, match=r"must go on at byte 1000, got 'bytes 0-255999/256000'; call again: it starts anew"
    ):
        fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert left(tmp_path) == {}


def test_interrupted_just_before_the_end(server: Server, tmp_path: Path) -> None:
    """All of it was there, and only the new name was missing."""
    (tmp_path / "b.bin.part").write_bytes(CONTENT)
    fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert left(tmp_path) == {"b.bin": len(CONTENT)}


def test_missing_and_unreachable(server: Server, tmp_path: Path) -> None:
    server.behaviour = "missing"
    with pytest.raises(DataError, match="must answer with the file, got 404 Not Found"):
        fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    with pytest.raises(
        DataError,
        match=r"must be reachable, got Connection refused; is there a network\? A local copy is used where TYPEDNN",
    ):
        fetch("http://127.0.0.1:1/b.bin", tmp_path / "b.bin", checksum=SUM)
    assert left(tmp_path) == {}


@pytest.mark.parametrize("behaviour", ["right", "no length"])
def test_more_than_was_allowed(server: Server, tmp_path: Path, behaviour: str) -> None:
    server.behaviour = behaviour
    with pytest.raises(
        DataError, match="a file has at most 1000 bytes, got " + {"right": "256000", "no length": "more"}[behaviour]
    ):
        fetch(server.address, tmp_path / "b.bin", checksum=SUM, most=1000)
    assert left(tmp_path) == {}


def test_nowhere_to_write(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match="must be writable, got "):
        fetch(server.address, tmp_path / "file" / "b.bin", checksum=SUM)


def test_synced_before_it_is_renamed(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(sorted(left(tmp_path))))
    fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    assert synced == [["b.bin.part"], ["b.bin"]]

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"c\.bin: must be writable, got No space left on device"):
        fetch(server.address, tmp_path / "c.bin", checksum=SUM)
    assert not (tmp_path / "c.bin").exists()


def hold(path: str, locked: threading.Event, done: threading.Event) -> None:
    import fcntl

    with open(path, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        locked.set()
        done.wait(10)


def test_one_download_at_a_time(server: Server, tmp_path: Path) -> None:
    locked, done = threading.Event(), threading.Event()
    other = threading.Thread(target=hold, args=(str(tmp_path / "b.bin.part"), locked, done))
    other.start()
    try:
        assert locked.wait(10)
        with pytest.raises(
            DataError, match="one download of a file at a time, got a second one; wait for the other process"
        ):
            fetch(server.address, tmp_path / "b.bin", checksum=SUM)
    finally:
        done.set()
        other.join()


@pytest.mark.parametrize(
    ("address", "settings", "message"),
    [
        ("file:///etc/passwd", {}, "address must begin with http:// or https://, got 'file:///etc/passwd'"),
        (
            "http://localhost",
            {"checksum": "md5:12"},
            "checksum must be md5: or sha256: and hexadecimal digits, got 'md5:12'",
        ),
        ("http://localhost", {"checksum": "sha1:" + "0" * 40}, "checksum must be"),
        ("http://localhost", {"timeout": 0}, "timeout must be a finite number"),
    ],
)
def test_arguments(tmp_path: Path, address: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        fetch(address, tmp_path / "b.bin", **{"checksum": SUM, **settings})


@pytest.mark.parametrize("behaviour", ["right", "no ranges"])
@pytest.mark.parametrize("third", [False, True])
def test_another_download_ends_before_the_lock_is_got(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, third: bool
) -> None:
    """What was opened as the part is the complete file then: it is never cut, and a third one's part is left alone."""
    path, real = tmp_path / "b.bin", download._lock
    server.behaviour = behaviour

    def lock(file: Any, part: Path) -> None:
        monkeypatch.setattr(download, "_lock", real)
        fetch(server.address, path, checksum=SUM)
        if third:
            with part.open("wb") as begun:
                begun.write(CONTENT[:1000])
        real(file, part)

    monkeypatch.setattr(download, "_lock", lock)
    seen: list[int] = []
    fetch(server.address, path, checksum=SUM, on_progress=lambda *_: seen.append(path.stat().st_size))
    assert set(seen) == {len(CONTENT)}, "a reader of the complete file found another"
    assert path.read_bytes() == CONTENT
    assert left(tmp_path) == {"b.bin": len(CONTENT)}
