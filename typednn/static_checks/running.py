"""How mypy is run, always within this process: once, with its cache on the disk, or kept between checks.

After the first check a kept mypy costs only what changed, and may read texts that are not on the disk.
"""

import hashlib
import io
import os
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, final

from typednn.errors import optional
from typednn.static_checks.settings import NEEDS_MYPY

if TYPE_CHECKING:  # importing the plugin needs mypy
    from typednn.mypy_plugin.facts import ModuleFacts


_MOST = 4  # servers that are kept: of each batch of files, with and without one that cannot be parsed
_REPORT = ("--output", "json", "--no-error-summary")


class Mypy(Protocol):
    """Something that runs mypy.

    ``bases_needed`` remembers that files know each other by the name of a folder without ``__init__.py``. ``known`` is
    what the plugin knows of each file, by its absolute path; None if nobody asks.
    """

    bases_needed: bool
    known: "dict[str, ModuleFacts] | None"

    def text(self, file: str) -> bytes | None:
        """What the file holds in place of what is on the disk; None where it is not known better."""
        ...

    def run(self, configuration: str, files: Sequence[str], place: int) -> tuple[str, str, int]:
        """mypy's output, errors and exit code. ``place`` tells apart runs whose modules have equal names."""
        ...


@final
class OnceMypy:
    """Runs mypy with its cache in the folder ``cache``. With ``facts``, files are checked even if the cache has mypy's
    answer.

    ``target`` is named where mypy is not installed.
    """

    def __init__(self, target: str, cache: str, *, facts: bool = False) -> None:
        self.bases_needed = False
        self.known: dict[str, ModuleFacts] | None = {} if facts else None
        self._cache = cache
        self._api: Any = optional("mypy.api", target, *NEEDS_MYPY)

    def text(self, file: str) -> bytes | None:
        return None

    def run(self, configuration: str, files: Sequence[str], place: int) -> tuple[str, str, int]:
        with tempfile.TemporaryDirectory(prefix="typednn-") as folder:
            config = Path(folder, "mypy.toml")
            config.write_text(configuration, encoding="utf-8")
            with _collecting(self.known, files), _printed() as printed:
                output, errors, code = self._api.run(
                    ["--config-file", str(config), "--cache-dir", self._cache, *_REPORT, "--", *files]
                )
        return output + printed[0].getvalue(), errors + printed[1].getvalue(), code


@final
class KeptMypy:
    """Runs mypy and keeps its state, one for each set of options. For one thread only.

    ``buffers`` holds the contents of files that an editor has not saved, ``texts`` what mypy reads. A file that cannot
    be parsed is read as it was when it could.
    """

    def __init__(self, *, facts: bool = False) -> None:
        self.bases_needed = False
        self.known: dict[str, ModuleFacts] | None = {} if facts else None
        self.buffers: dict[str, bytes] = {}
        self.texts: dict[str, bytes] = {}
        self._daemon: Any = optional("mypy.dmypy_server", "mypy", *NEEDS_MYPY)
        self._version: str = optional("mypy.version", "mypy", *NEEDS_MYPY).__version__
        self._folder = tempfile.TemporaryDirectory(prefix="typednn-")
        self._servers: dict[tuple[str, int], Any] = {}  # the one used last at the end

    def close(self) -> None:
        """Give up what is kept."""
        self._servers.clear()
        self._folder.cleanup()

    def text(self, file: str) -> bytes | None:
        return self.buffers.get(file)

    def read(self, texts: Mapping[str, bytes | None]) -> None:
        """The files that are checked next; None for one that cannot be parsed."""
        self.texts = {file: self.texts.get(file, b"") if text is None else text for file, text in texts.items()}

    def run(self, configuration: str, files: Sequence[str], place: int) -> tuple[str, str, int]:
        key = configuration, place
        # its name is one of mypy's options
        config = Path(self._folder.name, f"{hashlib.sha256(configuration.encode()).hexdigest()}.toml")
        config.write_text(configuration, encoding="utf-8")
        options = ["--config-file", str(config), *_REPORT]
        answer = self._asked(key, options, files)
        if "restart" in answer:  # such as for another version of a plugin
            del self._servers[key]
            answer = self._asked(key, options, files)
        return answer["out"], answer["err"], answer["status"]

    def _asked(self, key: tuple[str, int], options: Sequence[str], files: Sequence[str]) -> dict[str, Any]:
        server = self._servers.pop(key, None)
        if server is None:
            server = self._daemon.Server(
                self._daemon.process_start_options(list(options), allow_sources=False), os.devnull
            )
            server.fscache = _file_cache(self)
        anchor = str(Path(self._folder.name, "typednn_kept.py"))
        self.texts[anchor] = _importing(server)
        server.fscache.flush()
        # If this raises, the server is not kept: its state could not be trusted.
        with _collecting(self.known), _without_folders_of(files), _printed() as printed:
            try:
                answer: dict[str, Any] = server.cmd_run(
                    self._version, [*options, "--", *files, anchor], False, False, 80
                )
            except SystemExit as crashed:
                return {"out": printed[0].getvalue(), "err": printed[1].getvalue(), "status": crashed.code}
        self._servers = {**dict(list(self._servers.items())[1 - _MOST :]), key: server}
        return answer

    def paths(self) -> set[str]:
        """The files that the last checks read."""
        managers = [server.fine_grained_manager for server in self._servers.values()]
        return {
            state.path for manager in managers if manager is not None for state in manager.graph.values() if state.path
        }


def source_folders(files: Sequence[str]) -> list[str]:
    """The folders on Python's path in which some of ``files`` lie, but no folder of installed packages."""
    real = [os.path.realpath(file) for file in files]
    folders = [os.path.abspath(entry) for entry in sys.path]
    holding = (
        folder for folder in folders if any(Path(file).is_relative_to(os.path.realpath(folder)) for file in real)
    )
    return [folder for folder in dict.fromkeys(holding) if not is_installed(folder)]


def is_installed(path: str) -> bool:
    """Whether it lies among installed packages."""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(os.path.abspath(path)).parts)


@contextmanager
def _printed() -> Generator[tuple[io.StringIO, io.StringIO]]:
    """What is printed meanwhile: mypy's report of a crash goes to the process's own output and errors."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        yield output, errors


@contextmanager
def _without_folders_of(files: Sequence[str]) -> Generator[None]:
    """mypy takes each folder on Python's path for one of installed packages. Of a file in there it is silent once the
    file has changed.

    Python's path may hold the current folder, those that PYTHONPATH names, and those of packages that are installed to
    be edited.
    """
    from mypy.modulefinder import get_search_dirs

    path, own = sys.path[:], source_folders(files)
    first = 0 if sys.flags.safe_path else 1  # mypy leaves out the first: the folder of a script
    sys.path[first:] = [entry for entry in path[first:] if os.path.abspath(entry) not in own]
    get_search_dirs.cache_clear()
    try:
        yield
    finally:
        sys.path[:] = path
        get_search_dirs.cache_clear()


def _importing(server: Any) -> bytes:
    """A module that imports all that mypy has read, which mypy would give up at length, module by module, once nothing
    imports it.
    """
    manager = server.fine_grained_manager
    modules = sorted(manager.graph) if manager is not None else []
    return "".join(
        f"import {name}\n"
        for name in modules
        if all(part.isidentifier() and not iskeyword(part) for part in name.split("."))
    ).encode()


@contextmanager
def _collecting(known: "dict[str, ModuleFacts] | None", anew: Sequence[str] = ()) -> Generator[None]:
    """Add what the plugin collects to ``known``; the files ``anew`` are checked in any case."""
    if known is None:
        yield
        return
    from typednn.mypy_plugin import facts

    facts.collected, facts.checked_anew = known, {os.path.abspath(file) for file in anew}
    try:
        yield
    finally:
        facts.collected, facts.checked_anew = None, set()


def _file_cache(kept: KeptMypy) -> Any:
    """mypy's view of the disk, with the texts of ``kept`` in place of what is there."""
    from mypy.fscache import FileSystemCache
    from mypy.util import hash_digest

    class FileCache(FileSystemCache):
        def flush(self) -> None:
            super().flush()
            for path, text in kept.texts.items():
                self.read_cache[path] = text
                self.hash_cache[path] = hash_digest(text)
                self.stat_or_none_cache[path] = _status(path, text, self.hash_cache[path])

    return FileCache()


def _status(path: str, text: bytes, digest: str) -> os.stat_result:
    """As of a regular file that changes its time whenever its text changes: mypy reads the text only then."""
    moment = int(digest[:12], 16)
    return os.stat_result((0o100644, abs(hash(path)), 0, 1, 0, 0, len(text), moment, moment, moment))
