"""fetch: one file from the network, checked, and renamed to its place when it is complete.

The download is written to ``<name>.part`` in the destination's folder. When it is complete and has the right checksum,
it is synced to the disk and renamed. An interrupted download stays in ``.part``, and the next call requests the rest by
Range. A file with another checksum is deleted.
"""

import contextlib
import errno
import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from io import BufferedRandom
from pathlib import Path
from typing import Any, BinaryIO, cast

from typednn import system
from typednn.arguments import number
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import path_of

_TRIES = 100
_AGAIN = "call again: it goes on where it stopped"


def fetch(
    address: str,
    destination: str | Path,
    *,
    checksum: str,
    timeout: float = 30.0,
    most: int = 1 << 30,
    on_progress: Callable[[int, int | None], object] | None = None,
) -> Path:
    """Download ``address``, http or https, to ``destination``, and give that path.

    ``checksum`` is ``md5:`` or ``sha256:`` and hexadecimal digits. ``timeout`` is how many seconds may pass without a
    byte; more than ``most`` bytes are refused. ``on_progress(bytes, all of them if known)`` is called now and then.
    Every failure is a `DataError`; a file that was at ``destination`` is then untouched.
    """
    kind, _, expected = checksum.partition(":")
    if len(expected) != {"md5": 32, "sha256": 64}.get(kind) or set(expected) - set("0123456789abcdef"):
        raise ArgumentError(
            explain("fetch", "checksum must be md5: or sha256: and hexadecimal digits", repr(checksum)), "checksum"
        )
    if not address.startswith(("http://", "https://")):
        raise ArgumentError(explain("fetch", "address must begin with http:// or https://", repr(address)), "address")
    timeout = number("fetch", "timeout", timeout, least=0.001)
    destination = path_of("fetch", destination)
    part = destination.with_name(f"{destination.name}.part")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _locked(part) as file:
            try:
                _receive(address, file, timeout, most, on_progress)
                file.seek(0)
                got = hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()
                if got != expected:
                    file.truncate(0)
                    cure = (
                        "the file was altered on its way, or is another one now: nothing of it was kept; try again, "
                        "or another address"
                    )
                    raise DataError(explain(address, f"{destination.name} must have the {kind} {expected}", got, cure))
                os.fsync(file.fileno())
                system.rename_open(file, part, destination)
            finally:
                if _named(file, part) and not os.fstat(file.fileno()).st_size:
                    part.unlink()
        with contextlib.suppress(OSError):  # so that the new name survives a power cut too, where the system can
            system.sync_folder(destination.parent)
    except OSError as error:
        raise DataError(explain(str(destination), "must be writable", error.strerror or type(error).__name__)) from None
    return destination


def _receive(
    address: str, file: BinaryIO, timeout: float, most: int, on_progress: Callable[[int, int | None], object] | None
) -> None:
    """Append the missing part of ``address`` to ``file``."""
    start = file.seek(0, os.SEEK_END)
    request = urllib.request.Request(
        address, headers={"User-Agent": "typednn", **({"Range": f"bytes={start}-"} if start else {})}
    )
    with contextlib.ExitStack() as stack:
        try:
            response: Any = stack.enter_context(urllib.request.urlopen(request, timeout=timeout))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
                return  # the file is complete: its checksum is compared next
            raise DataError(explain(address, "must answer with the file", f"{error.code} {error.reason}")) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _broken(
                address, error, timeout, "is there a network? A local copy is used where TYPEDNN_DATA names its folder"
            ) from None
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0
            file.truncate(0)
        elif not str(response.headers.get("Content-Range", "")).startswith(f"bytes {start}-"):
            file.truncate(0)
            raise DataError(
                explain(
                    address,
                    f"must go on at byte {start}",
                    repr(response.headers.get("Content-Range")),
                    "call again: it starts anew",
                )
            )
        length = str(response.headers.get("Content-Length", ""))
        total = start + int(length) if length.isdecimal() and len(length) < 20 else None
        if total is not None and total > most:
            raise DataError(explain(address, f"a file has at most {most} bytes", str(total)))
        done = start
        while chunk := _chunk(response, address, timeout):
            done += len(chunk)
            if done > most:
                file.truncate(0)
                raise DataError(explain(address, f"a file has at most {most} bytes", "more"))
            file.write(chunk)
            if on_progress is not None:
                on_progress(done, total)
    file.flush()
    if total is not None and done < total:
        raise DataError(explain(address, f"the file has {total} bytes", str(done), _AGAIN))


def _chunk(response: Any, address: str, timeout: float) -> bytes:
    try:
        return cast("bytes", response.read(1 << 16))
    except http.client.IncompleteRead as error:
        return error.partial
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _broken(address, error, timeout, _AGAIN) from None


def _broken(address: str, error: Exception, timeout: float, cure: str) -> DataError:
    reason: object = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return DataError(
            explain(address, "must send something at least now and then", f"no byte for {timeout:g} s", cure)
        )
    got = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason) or type(reason).__name__
    return DataError(explain(address, "must be reachable", got, cure))


@contextlib.contextmanager
def _locked(part: Path) -> Generator[BufferedRandom]:
    """The part that there is, opened and locked. What another download completed or removed before the lock is not it
    any more.
    """
    for _ in range(_TRIES):
        with part.open("a+b") as file:
            _lock(file, part)
            if _named(file, part):
                yield file
                return
    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))  # each open file is another than the one of its name


def _named(file: BinaryIO, path: Path) -> bool:
    """Whether an open file is the one of this name."""
    try:
        return not file.closed and os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: BinaryIO, part: Path) -> None:
    """Lock the file, as two processes must not write to it. Where the system has no such locks, the checksum reveals
    the damage.
    """
    try:
        system.lock(file.fileno())
    except BlockingIOError:
        raise DataError(
            explain(str(part), "one download of a file at a time", "a second one", "wait for the other process")
        ) from None
    except OSError:
        pass
