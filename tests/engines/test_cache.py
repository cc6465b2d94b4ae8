"""Compiled kernels on disk: found again, never trusted when damaged, built by several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from typednn.engines import cache

HERE = Path(__file__).parent
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
        [sys.executable, "-W", "error", "-c", code, str(HERE)],
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
        broken = {"truncate": content[:-1000], "flip": bytes(flipped), "empty": b"", "swap": other, "text": b"not a library"}
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


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code = """
import sys, tempfile, warnings
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
"""
    said = run(tmp_path / "file" / "below", code, TMPDIR=str(tmp_path))
    assert said.count("TYPEDNN_CACHE") == 1
    assert "|" not in said, "one warning is enough"
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "the process's own folder outlives it"


def test_entry_is_built_once_and_has_no_half_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPEDNN_CACHE", str(tmp_path))
    built: list[Path] = []

    def build(path: Path) -> None:
        built.append(path)
        path.write_bytes(b"content")

    def interrupted(path: Path) -> None:
        path.write_bytes(b"con")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.entry("key", interrupted)
    assert list(tmp_path.iterdir()) == []
    assert cache.entry("key", build) == cache.entry("key", build) == tmp_path / "key.so"
    assert len(built) == 1
    assert (tmp_path / "key.so").read_bytes().startswith(b"content")


def test_disk_that_fills_up_while_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPEDNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def build(path: Path) -> None:
        if path.is_relative_to(tmp_path / "cache"):
            raise OSError(28, "No space left on device")
        path.write_bytes(b"content")

    with pytest.warns(RuntimeWarning, match="No space left on device"):
        path = cache.entry("key", build)
    assert path.read_bytes().startswith(b"content")
    assert not path.is_relative_to(tmp_path / "cache")


def test_keys_tell_parts_apart() -> None:
    assert cache.digest("ab", "c") != cache.digest("a", "bc")
    assert cache.digest("ab") == cache.digest(b"ab")
