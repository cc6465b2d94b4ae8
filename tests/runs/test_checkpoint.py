"""Checkpoints: whole or not there at all, and nothing in them is believed before it is checked."""

import contextlib
import errno
import hashlib
import json
import os
import random
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.damage import WRONG, places, put, rewritten
from typednn.errors import CheckpointError, TypednnError
from typednn.runs.checkpoint import checkpoints, clean, read_checkpoint, rotate, write_checkpoint
from typednn.runs.history import Best, Epoch, Measured
from typednn.runs.state import TrainingState

WEIGHTS = {
    "fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "fc.scale": np.full((), 2.0, np.float32),
    "fc.mask": np.ones(3, np.bool_),
}
OPTIMIZER = {"fc.weight.step": 4, "fc.weight.velocity": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))}


def _state(step: int = 4, **changes: Any) -> TrainingState:
    fields: dict[str, Any] = {
        "step": step,
        "origin": 0,
        "loader": {"epoch": 1},
        "generators": {},
        "metrics_bytes": 10,
        "loss_sum": 0.1 + 0.2,
        "rows": 3,
        "seconds": 1.5,
        "total_seconds": 2.5,
        "epochs": [Epoch(1, 0.5, 1.0)],
        "callbacks": [{"Ending": {"calls": 3}}, {"Told": {}}],
        "evaluations": [
            Measured(4, 1, "validation", 0.25),
            Measured(4, 1, "test", 0.25, {"accuracy": 0.5}),
            Measured(4, 1, "test", 2.0, {"mae": 1.0, "r2": -0.5}),
        ],
        "best": Best(4, "loss", -0.25),
        "waited": 2,
        "watched": -0.25,
    }
    return TrainingState(**(fields | changes))


def _write(folder: Path, step: int = 4, **changes: Any) -> Path:
    return write_checkpoint(
        folder,
        _state(step, **changes),
        WEIGHTS,
        OPTIMIZER,
        optimizer_name="SGD",
        model=[["0", "Linear"]],
        environment={"python": "3"},
    )


@pytest.mark.parametrize("changes", [{}, {"best": None, "watched": None, "evaluations": [], "epochs": []}])
def test_what_was_written_is_read(tmp_path: Path, changes: dict[str, Any]) -> None:
    found = read_checkpoint(_write(tmp_path, **changes))
    assert found.state == _state(**changes)
    assert found.folder == tmp_path / "step-00000004"
    assert (found.optimizer_name, found.model, found.environment) == ("SGD", [["0", "Linear"]], {"python": "3"})
    assert {name: (a.dtype, a.shape, a.tobytes()) for name, a in found.weights.items()} == {
        name: (a.dtype, a.shape, a.tobytes()) for name, a in WEIGHTS.items()
    }
    assert found.optimizer["fc.weight.step"] == 4
    np.testing.assert_array_equal(found.optimizer["fc.weight.velocity"], OPTIMIZER["fc.weight.velocity"])
    assert sorted(path.name for path in found.folder.iterdir()) == [
        "optimizer.safetensors",
        "state.json",
        "weights.safetensors",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000004"]


def test_fsync_comes_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file, their folder, the rename, the parent: in this order."""
    done: list[str] = []
    real_fsync, real_rename = os.fsync, os.rename

    def fsync(handle: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        real_fsync(handle)

    def rename(old: Any, new: Any) -> None:
        done.append("rename")
        real_rename(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    _write(tmp_path)
    files = ["weights.safetensors", "optimizer.safetensors", "state.json"]
    assert done == [*files, ".new-step-00000004", "rename", tmp_path.name]


# --- writing fails -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "open", "mkdir"])
@pytest.mark.parametrize(
    ("code", "cure"),
    [
        (errno.ENOSPC, "No space left on device (errno 28); make room on that disk"),
        (errno.EIO, "Input/output error (errno 5); the disk may be failing: choose another"),
        (errno.EROFS, "Read-only file system (errno 30); choose a folder that can be written"),
    ],
)
def test_a_failing_disk_is_one_error_and_the_last_checkpoint_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, cure: str
) -> None:
    before = _contents(_write(tmp_path, 4))

    def fails(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as broken:
        broken.setattr(os, call, fails)
        with pytest.raises(CheckpointError) as raised:
            _write(tmp_path, 8)
    message = str(raised.value)
    assert message.startswith(f"{tmp_path / 'step-00000008'}: must be written, got {cure}")
    assert message.endswith("the last checkpoint, step-00000004, is whole")
    assert raised.value.__suppress_context__
    assert call == "open" or [path.name for path in tmp_path.iterdir()] == ["step-00000004"]
    clean(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000004"]
    assert _contents(tmp_path / "step-00000004") == before
    assert read_checkpoint(_write(tmp_path, 8)).state.step == 8


@pytest.mark.parametrize("at", range(1, 6))
def test_each_fsync_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    _write(tmp_path, 4)
    calls, real = [0], os.fsync

    def fsync(handle: int) -> None:
        calls[0] += 1
        if calls[0] == at:
            raise OSError(errno.ENOSPC, "full")
        real(handle)

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fsync)
        with pytest.raises(CheckpointError, match="full"):
            _write(tmp_path, 8)
    # Only the last, of the parent, comes after the rename: then the new one is there, and as whole as the old.
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000004"] + (["step-00000008"] if at == 5 else [])
    for path in checkpoints(tmp_path):
        read_checkpoint(path)


def test_short_writes_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: real(handle, bytes(content[:7])))
    assert read_checkpoint(_write(tmp_path)).state == _state()


def test_a_read_only_folder(tmp_path: Path) -> None:
    _write(tmp_path, 4)
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        tmp_path.chmod(0o700)
        pytest.skip("this user may write anywhere")
    try:
        with pytest.raises(
            CheckpointError,
            match=r"must be written, got Permission denied \(errno 13\); choose a folder that can be written",
        ):
            _write(tmp_path, 8)
    finally:
        tmp_path.chmod(0o700)
    assert read_checkpoint(tmp_path / "step-00000004").state.step == 4


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="must be written"):
        _write(tmp_path / "file" / "checkpoints")


# --- which there are -----------------------------------------------------------------------------------------------


def test_leftovers_links_and_strangers_are_no_checkpoints(tmp_path: Path) -> None:
    _write(tmp_path, 100)
    _write(tmp_path, 20)
    for name in (
        ".new-step-00000030",
        ".old-step-00000001",
        "damaged-step-00000002",
        "step-5",
        "step-00000007x",
        "mine",
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.safetensors").write_bytes(b"half")
    (tmp_path / "step-00000009").symlink_to(tmp_path / "step-00000020")
    (tmp_path / "step-00000010").write_text("")
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000020", "step-00000100"]
    clean(tmp_path)
    assert not list(tmp_path.glob(".*"))
    assert (tmp_path / "mine" / "weights.safetensors").exists()
    assert checkpoints(tmp_path / "nowhere") == []
    clean(tmp_path / "nowhere")


def test_a_leftover_of_the_same_step_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".new-step-00000004").mkdir()
    (tmp_path / ".new-step-00000004" / "state.json").write_text("half")
    assert read_checkpoint(_write(tmp_path, 4)).state.step == 4


def test_rotation_keeps_the_newest_and_the_best(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4, 5, 6):
        _write(tmp_path, step)
    rotate(tmp_path, 2, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000003", "step-00000005", "step-00000006"]
    rotate(tmp_path, 2, None)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000005", "step-00000006"]


# --- damage --------------------------------------------------------------------------------------------------------


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


NAMES = ["weights.safetensors", "optimizer.safetensors", "state.json"]


@pytest.mark.parametrize("name", NAMES)
def test_any_flipped_bit_is_noticed(tmp_path: Path, name: str) -> None:
    path = _write(tmp_path) / name
    content = path.read_bytes()
    draw = random.Random(0)
    for place in sorted({draw.randrange(len(content)) for _ in range(120)}):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :])
        try:
            found = read_checkpoint(path.parent)
        except CheckpointError as error:
            refused = str(error)
        else:  # a bit of the layout of JSON, which changes no value
            refused = str(path.parent)
            assert name == "state.json"
            assert found.state == _state()
        assert refused.startswith(str(path.parent))
    path.write_bytes(content)
    assert read_checkpoint(path.parent).state == _state()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_holes_is_refused_before_it_is_read(tmp_path: Path, name: str) -> None:
    """20 GB that take nothing on the disk."""
    path = _write(tmp_path) / name
    os.truncate(path, 20 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(
            CheckpointError,
            match=rf"{name}: (may take at most [0-9,]+|must have [0-9]+) bytes( of memory)?, got 21,?474,?836,?480",
        ):
            read_checkpoint(path.parent)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", NAMES)
def test_truncated_missing_or_no_file(tmp_path: Path, name: str) -> None:
    path = _write(tmp_path) / name
    content = path.read_bytes()
    for length in (0, 1, 7, 8, 9, len(content) // 2, len(content) - 2):
        path.write_bytes(content[:length])
        _refused(path, "must have|must be a JSON object")
    path.write_bytes(content + b"x")
    _refused(path, "must have|must be a JSON object")
    path.unlink()
    _refused(path, "must be there, got no such file")
    path.mkdir()
    _refused(path, "must be a plain file of its own, got a folder")
    path.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(content)
    path.symlink_to(elsewhere)
    _refused(path, "must be a plain file of its own, got a link to elsewhere")
    for place in ("/dev/zero", "/dev/null"):
        path.unlink()
        path.symlink_to(place)
        _refused(path, "must be a plain file of its own, got a link to elsewhere")
    path.unlink()
    os.mkfifo(path)  # opening it would wait until somebody writes
    _refused(path, "must be a plain file of its own, got a pipe")


def _refused(path: Path, message: str) -> None:
    with pytest.raises(CheckpointError, match=message) as raised:
        read_checkpoint(path.parent)
    assert str(raised.value).startswith(f"{path}: ")
    assert raised.value.damaged


def test_a_newer_version_is_refused_and_not_called_damaged(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    rewritten(folder, lambda table: table.update(version=3))
    with pytest.raises(
        CheckpointError, match="this typednn reads versions up to 2, got version 3; update typednn"
    ) as raised:
        read_checkpoint(folder)
    assert not raised.value.damaged


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "other", "must say format 'typednn checkpoint'"),
        ("version", "1", "'version' must be a int, got '1'"),
        ("version", True, "'version' must be a int, got True"),
        ("step", -1, "'step' must not be negative, got -1"),
        ("step", 1.5, "'step' must be a int, got 1.5"),
        ("loader", [], "'loader' must be a dict"),
        ("loss_sum", "x", "'loss_sum' must be a finite number"),
        ("loss_sum", None, "'loss_sum' must be a finite number, got None"),
        ("best", 3, "'best' must be a dict, got 3"),
        ("best", {}, "'step' must be a int, got None"),
        ("epochs", {}, "'epochs' must be a list"),
        ("epochs", [3], "'epochs' must be a dict, got 3"),
        ("files", {}, "'weights.safetensors' must be a dict, got None"),
        ("optimizer", {"name": "SGD", "steps": {"a": -1}}, "'a' must not be negative"),
        ("watched", "x", "'watched' must be a finite number"),
        ("loss_sum", 10**400, "'loss_sum' must be a finite number, got 1000"),
        ("watched", -(10**400), "'watched' must be a finite number, got -1000"),
        ("metrics_bytes", 10**400, r"'metrics_bytes' must be less than 2\^63, got 1000"),
        ("optimizer", {"name": "SGD", "steps": {"a": 1 << 63}}, r"'a' must be less than 2\^63"),
        ("configs", [], "'configs' must be a dict"),
    ],
)
def test_a_state_of_wrong_kinds(tmp_path: Path, key: str, value: Any, message: str) -> None:
    folder = _write(tmp_path)
    rewritten(folder, lambda table: table.update({key: value}))
    _refused(folder / "state.json", message)


def test_a_checkpoint_knows_its_step(tmp_path: Path) -> None:
    """Two swapped, or an old one copied under a higher step: neither is what its name says."""
    first, second = _write(tmp_path, 4), _write(tmp_path, 8)
    shutil.copytree(first, tmp_path / "step-00000012")
    first.rename(tmp_path / "aside")
    second.rename(first)
    (tmp_path / "aside").rename(second)
    for folder, step, named in ((first, 8, 4), (second, 4, 8), (tmp_path / "step-00000012", 4, 12)):
        message = (
            f"^{folder}: must hold the checkpoint of step {named}, got that of step {step}; the folder was renamed "
            "or copied"
        )
        with pytest.raises(CheckpointError, match=message) as raised:
            read_checkpoint(folder)
        assert raised.value.damaged


def test_a_checkpoint_from_before_configs_were_noted(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    rewritten(folder, lambda table: table.pop("configs"))
    assert read_checkpoint(folder).configs == {}


@given(data=st.data())
def test_any_value_in_the_place_of_any_other(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """With a right checksum: it is read, or refused in our words."""
    folder = _write(tmp_path_factory.mktemp("values"))
    found = [place for place in places(json.loads((folder / "state.json").read_text())) if place != ("checksum",)]
    place, value = data.draw(st.sampled_from(found)), data.draw(st.sampled_from(WRONG))
    rewritten(folder, lambda table: put(table, place, value))
    with contextlib.suppress(CheckpointError):
        read_checkpoint(folder)


def test_arrays_that_their_checksum_fits_but_that_are_none(tmp_path: Path) -> None:
    folder = _write(tmp_path)
    content = b"\xff" * 40
    (folder / "weights.safetensors").write_bytes(content)
    told = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    rewritten(folder, lambda table: table["files"].update({"weights.safetensors": told}))
    _refused(folder / "weights.safetensors", "must be a safetensors file")


@given(content=st.binary(max_size=200) | st.text(max_size=100).map(str.encode), name=st.sampled_from(NAMES))
def test_anything_else_is_refused_in_our_words(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    folder = _write(tmp_path_factory.mktemp("fuzz"))
    (folder / name).write_bytes(content)
    with pytest.raises(TypednnError):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"version": ' + "9" * 10_000 + "}",
        "NaN",
        "null",
        '{"format": "typednn checkpoint", "version": 1, "a": NaN}',
    ],
)
def test_hostile_json(tmp_path: Path, text: str) -> None:
    folder = _write(tmp_path)
    (folder / "state.json").write_text(text)
    with pytest.raises(CheckpointError):
        read_checkpoint(folder)
