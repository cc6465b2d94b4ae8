"""Compiled kernels on disk: found again, never trusted when damaged, built by several processes at once."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import pytest

from typednn.engines.halide import cache

SUPPORT = Path(__file__).parents[2] / "support"
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
STRANGER = 12345  # a user whom the system does not know
RELU = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
import sample_op
x = np.linspace(-1, 1, 1001, dtype=np.float32)
assert (sample_op.forward(x) == np.maximum(x, 0)).all()
print("halide" in sys.modules)
"""


def start(folder: Path, code: str = RELU, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, str(SUPPORT)],
        env={**os.environ, "TYPEDNN_CACHE": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, code: str = RELU, **environment: str) -> str:
    process = start(folder, code, **environment)
    said, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint
    return said.strip()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    assert run(folder) == "True"
    return folder


def libraries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.so"))


def test_second_process_needs_no_compiler(filled: Path) -> None:
    assert run(filled) == "False"
    assert [path.suffix for path in sorted(filled.iterdir())] == [".so", ".so"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "swap", "text"])
def test_damage_is_noticed_and_mended(filled: Path, tmp_path: Path, damage: str) -> None:
    whole = {path.name: path.read_bytes() for path in libraries(filled)}
    assert len(whole) == 2
    for (name, content), other in zip(whole.items(), reversed(whole.values()), strict=True):
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 0xFF
        broken = {
            "truncate": content[:-1000],
            "flip": bytes(flipped),
            "empty": b"",
            "swap": other,
            "text": b"not a library",
        }
        (tmp_path / name).write_bytes(broken[damage])
    assert run(tmp_path) == "True"
    assert [path.name for path in libraries(tmp_path)] == sorted(whole)
    assert run(tmp_path) == "False", "what was built again is not found"


def test_several_processes_fill_one_folder(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(4)]
    for process in processes:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
    assert len(list(tmp_path.iterdir())) == 2, "leftovers of building"
    assert run(tmp_path) == "False"


TELLING = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import numpy as np, sample_op
    for _ in range(3):
        assert (sample_op.forward(np.full(5, -1, np.float32)) == 0).all()
    from typednn.engines import Array, kernel
    other = kernel("other", sample_op.build, inputs=(Array(7),), outputs=(Array(7),))
    other(np.ones(7, np.float32), np.ones(7, np.float32))
print(*[warning.message for warning in seen], sep="|")
print("halide" in sys.modules)
"""


def told(folder: Path | str, tmp_path: Path, **environment: str) -> str:
    """The one warning that a process gives which can't use ``folder``, and leaves nothing behind."""
    private = tmp_path / "private"
    private.mkdir(exist_ok=True)
    said, compiled = run(Path(folder), TELLING, TMPDIR=str(private), **environment).splitlines()
    assert compiled == "True", "loaded from a folder that must not be used"
    assert said.count("TYPEDNN_CACHE") == 1
    assert "|" not in said, "one warning is enough"
    assert list(private.iterdir()) == [], "the process's own folder outlives it"
    return said


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "Not a directory" in told(tmp_path / "file" / "below", tmp_path)


@pytest.mark.skipif(not ROOT, reason="only root can be another user")
def test_user_without_home_or_name() -> None:
    code = f"import os\nfrom typednn.engines.halide import cache\nos.setuid({STRANGER})\nprint(cache._users_folder())"
    environment = {
        name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME", "TYPEDNN_CACHE")
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "None\n"
    assert done.stderr.count("RuntimeWarning") == 1


def content(path: Path) -> bytes:
    """A file's content without its trailer."""
    return path.read_bytes()[: -cache._TRAILER]


def asked(key: str = "key", text: bytes = b"built") -> bytes:
    """The content of the entry ``key``, which is ``text`` if it has to be built."""
    with cache.entry(key, lambda path: void(path.write_bytes(text))) as found:
        return content(found)


def void(_: object) -> None: ...


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder with one entry, ``key``, whose content is "before"."""
    place = tmp_path / "cache"
    monkeypatch.setenv("TYPEDNN_CACHE", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cache._warn.cache_clear()
    monkeypatch.setattr(cache, "_own", None)
    assert asked(text=b"before") == asked() == b"before"
    return place


@pytest.mark.parametrize(("name", "why"), [("~no-such-user/kernels", "home directory"), ("file", "File exists")])
def test_folder_that_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str) -> None:
    (folder.parent / "file").write_text("in the way")
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("TYPEDNN_CACHE", name)
    with pytest.warns(RuntimeWarning, match=why):
        assert asked() == b"built"
    assert asked(text=b"again") == b"built"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_folder_that_others_can_write(folder: Path, mode: int) -> None:
    """Whoever can write there can put code there, seal and all."""
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="others can write to it"):
        assert asked() == b"built"
    # and said twice, as warnings are errors here
    assert asked(text=b"again") == b"built", "compiled twice in one process"
    assert content(folder / "key.so") == b"before"


def test_entries_of_a_folder_that_others_can_write_are_not_loaded(filled: Path, tmp_path: Path) -> None:
    """The real thing: kernels are compiled for this process, which says so once."""
    open_to_all = tmp_path / "all"
    shutil.copytree(filled, open_to_all)
    open_to_all.chmod(0o777)
    before = {path.name: path.stat().st_mtime_ns for path in open_to_all.iterdir()}
    assert "others can write to it: mode 777" in told(open_to_all, tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in open_to_all.iterdir()} == before


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_entry_that_others_can_write(folder: Path, mode: int) -> None:
    (folder / "key.so").chmod(mode)
    assert asked() == b"built"
    assert content(folder / "key.so") == b"built", "it can be replaced, as the folder is the user's"
    assert stat.S_IMODE((folder / "key.so").stat().st_mode) == 0o600


@pytest.mark.skipif(not ROOT, reason="only root can give files away")
@pytest.mark.parametrize("whose", ["folder", "entry"])
def test_what_belongs_to_another_user(folder: Path, whose: str) -> None:
    os.chown(folder if whose == "folder" else folder / "key.so", STRANGER, STRANGER)
    if whose == "entry":
        assert asked() == b"built"
        assert (folder / "key.so").stat().st_uid == 0
    else:
        with pytest.warns(RuntimeWarning, match=f"belongs to user {STRANGER}, not to 0"):
            assert asked() == b"built"
        assert content(folder / "key.so") == b"before"


def test_folder_that_is_exchanged_between_check_and_load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can write above the folder may rename it: what was checked is what is loaded."""
    false = folder.with_name("false")
    shutil.copytree(folder, false)
    (false / "key.so").write_bytes(b"something else")
    with cache.entry("key", lambda path: None) as found:
        folder.rename(folder.with_name("aside"))
        false.rename(folder)
        assert content(found) == b"before"


@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device", "link", "gigabytes"])
def test_what_is_no_file(folder: Path, kind: str) -> None:
    """Passed by without waiting for a writer or reading without end."""
    place = folder / "key.so"
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(folder):
            listener.bind(place.name)
    elif kind == "device":
        place.symlink_to("/dev/zero")
    elif kind == "link":
        place.symlink_to(folder / "elsewhere.so")
        (folder / "elsewhere.so").write_bytes(b"elsewhere" + cache._MARK + cache._seal(b"elsewhere", "key"))
    else:
        with place.open("wb") as file:
            file.truncate(2**40)
    if kind == "folder":
        with pytest.warns(RuntimeWarning, match="Is a directory"):
            assert asked() == b"built"
    else:
        assert asked() == b"built"
        assert stat.S_ISREG(place.lstat().st_mode)
    assert asked(text=b"again") == b"built"
    assert not list(folder.glob("building-*"))


def test_entry_is_built_once_and_has_no_half_state(folder: Path) -> None:
    def interrupted(path: Path) -> None:
        path.write_bytes(b"con")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), cache.entry("other", interrupted):
        pass
    assert [path.name for path in folder.iterdir()] == ["key.so"]
    assert [path.name for path in folder.parent.iterdir()] == ["cache"]


def test_disk_that_fills_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def full(descriptor: int) -> None:
        if "/cache/" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert asked("other") == b"built"
    assert asked("other", b"again") == b"built", "compiled twice in one process"
    assert [path.name for path in folder.iterdir()] == ["key.so"]


def test_no_disk_at_all(tmp_path: Path) -> None:
    """LLVM ends the process when it can't write: it is not asked to."""
    code = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
import warnings
warnings.simplefilter("ignore")
{RELU}"""
    assert run(tmp_path, code) == "True"


def age(path: Path) -> Path:
    """``path``, an hour old."""
    os.utime(path, (time.time() - 3600,) * 2)
    return path


def test_leftovers_of_killed_compilations_go(folder: Path) -> None:
    """A file and folders that nobody holds; not a young one, nor what another process holds, nor what
    has another name.
    """
    left = [folder / "building-file", folder / "building-folder", folder.parent / "typednn-building-folder"]
    stay = [
        folder / "building-young",
        folder / "building-held",
        folder.parent / "typednn-building-held",
        folder / "mine",
    ]
    for path in (*left, *stay):
        if "folder" in path.name:
            path.mkdir()
            (path / "half.so").write_bytes(b"half")
        else:
            path.write_bytes(b"half")
        age(path) if "young" not in path.name else None
    os.symlink(folder / "mine", folder / "building-link")
    holding = f"import fcntl, sys\nfiles = [open(name) for name in {list(map(str, stay[1:3]))}]\n"
    holding += "[fcntl.flock(file, fcntl.LOCK_EX) for file in files]\nprint('held', flush=True)\nsys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        asked("other")
    finally:
        holder.communicate("", timeout=60)
    assert [path for path in left if path.exists()] == []
    assert [path for path in stay if not path.exists()] == []
    asked("third")
    assert [path.name for path in stay if path.exists()] == ["building-young", "mine"], "what nobody holds any more"


def test_compilation_under_way_is_held(folder: Path) -> None:
    """The other half of the bargain: what a compilation makes is locked from the first minute on."""
    seen: list[str] = []

    def build(path: Path) -> None:
        age(path.parent)
        asked("another")
        seen.append(path.parent.name)
        path.write_bytes(b"slowly")

    with cache.entry("slow", build) as found:
        assert content(found) == b"slowly"
    assert seen
    assert not list(folder.parent.glob("typednn-building-*"))


def test_killed_compilation_leaves_nothing_for_long(tmp_path: Path) -> None:
    """A process that is killed while it compiles, and the next one an hour later."""
    private = tmp_path / "private"
    private.mkdir()
    dying = """
import os, signal
from typednn.engines.halide import cache
with cache.entry("key", lambda path: os.kill(os.getpid(), signal.SIGKILL)): pass
"""
    process = start(tmp_path / "cache", dying, TMPDIR=str(private))
    process.communicate(timeout=60)
    assert process.returncode == -9
    (left,) = private.iterdir()
    age(left)
    run(tmp_path / "cache", TMPDIR=str(private))
    assert list(private.iterdir()) == []


def test_keys_tell_parts_apart() -> None:
    assert cache.digest("ab", "c") != cache.digest("a", "bc")
    assert cache.digest("ab") == cache.digest(b"ab")


def used(path: Path, hours: float) -> Path:
    """``path``, used so many hours ago."""
    os.utime(path, (time.time() - 3600 * hours,) * 2)
    return path


@pytest.fixture
def trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is looked at whenever an entry is added."""
    monkeypatch.setattr(cache, "_TRIMMED", 1)


def held(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("trimmed")
def test_folder_holds_so_many_entries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_ENTRIES", 3)
    for hours, key in enumerate(["a", "b"], 1):
        asked(key)
        used(folder / f"{key}.so", hours)
    used(folder / "key.so", 5)
    assert asked() == b"before", "now it is the newest"
    asked("c")
    assert held(folder) == ["a.so", "c.so", "key.so"], "b was used longest ago"
    asked("d")
    asked("e")
    assert held(folder) == ["c.so", "d.so", "e.so", "key.so"], (
        "used within the last minute: a process may be loading it"
    )
    for key in "cde":
        used(folder / f"{key}.so", 1)
    asked("f")
    assert len(held(folder)) == 3
    assert {"f.so", "key.so"} <= {*held(folder)}


@pytest.mark.usefixtures("trimmed")
def test_folder_holds_so_many_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_BYTES", 3000)
    for hours, key in enumerate(["a", "b", "c", "d"]):
        asked(key, bytes(1000 - cache._TRAILER))
        used(folder / f"{key}.so", 10 - hours)
    used(folder / "key.so", 1)
    asked("e", bytes(1000))
    assert held(folder) == ["d.so", "e.so", "key.so"]


def test_a_process_that_adds_many_entries_looks_now_and_then(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_ENTRIES", 1)
    monkeypatch.setattr(cache, "_TRIMMED", 3)
    monkeypatch.setattr(cache, "_added", count())
    used(folder / "key.so", 20)
    left: list[int] = []
    for hours, key in enumerate("abcdefg"):
        asked(key)
        used(folder / f"{key}.so", 10 - hours)
        left.append(len(held(folder)))
    assert left == [1, 2, 3, 1, 2, 3, 1], "the first entry and each third one"


@pytest.mark.usefixtures("trimmed")
def test_what_is_no_undamaged_entry_of_ours_is_not_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_ENTRIES", 1)
    (folder / "damaged.so").write_bytes((folder / "key.so").read_bytes()[:-1])
    (folder / "renamed.so").write_bytes((folder / "key.so").read_bytes())
    (folder / "mine.so").write_bytes(b"a library of somebody's")
    (folder / "notes.txt").write_text("kernels")
    (folder / "folder.so").mkdir()
    os.symlink(folder / "notes.txt", folder / "link.so")
    for path in folder.iterdir():
        os.utime(path, (1, 1), follow_symlinks=False)
    asked("other")
    assert held(folder) == ["damaged.so", "folder.so", "link.so", "mine.so", "notes.txt", "other.so", "renamed.so"]


def test_loaded_kernels_outlive_their_entries(tmp_path: Path) -> None:
    """An entry that another process removes while it is used: the one who uses it keeps it, the next one builds it
    again.
    """
    code = f"""
{RELU}
from pathlib import Path
for path in Path({str(tmp_path)!r}).iterdir():
    path.unlink()
assert (sample_op.forward(-x) == np.maximum(-x, 0)).all()
"""
    assert run(tmp_path, code) == "True"
    assert run(tmp_path) == "True"
