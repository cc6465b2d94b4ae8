"""Checkpoints: a folder per saved step, written atomically.

    checkpoints/step-00001234/weights.safetensors      parameters and buffers by dotted name
                              optimizer.safetensors    the optimizer's arrays, ``parameter.key``
                              state.json               format, version, step, loader, generators, metrics position,
                                                       best, epochs; step counts of the optimizer; the layers with their
                                                       sizes; environment; SHA-256 of the run's configs, which identify
                                                       the run; bytes and SHA-256 of the other two, and of itself
                                                       (``checksum``)

Written into a hidden sibling; each file is fsynced, then the folder; it is renamed, and the parent fsynced. So a name
without a dot is always a complete checkpoint. Reading checks sizes, checksums, types and names before anything is used,
and opens plain files only. A folder whose name has another step than its state is not a checkpoint of that step.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typednn import system
from typednn.errors import CheckpointError, explain
from typednn.files import VARIABLE, limit_of, parsed, reason, write_file
from typednn.runs.state import Json, TrainingState, count, inner, items, word
from typednn.tensor_files import packed, unpacked

FORMAT = "typednn checkpoint"
VERSION = 2  # in version 1 the model stood as it prints
WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"
_NAME = re.compile(r"step-(\d{8,15})")
_KINDS = {
    stat.S_IFLNK: "a link to elsewhere",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint holds, verified against its own checksums."""

    folder: Path
    state: TrainingState
    weights: dict[str, Any]
    optimizer: dict[str, Any]  # arrays and step counts, as its ``load_state_dict`` takes them
    optimizer_name: str
    model: list[list[str]] | str  # `typednn.runs.run.structure`; of version 1, as it prints
    environment: Json
    configs: Json  # SHA-256 by name of the run's configs, when it was written; empty in checkpoints of older versions


# --- durable files ------------------------------------------------------------------------------------------------


@contextmanager
def storing(where: Path, cure: str = "") -> Generator[None, None, None]:
    """An OSError in this block becomes a `CheckpointError` that says what to do."""
    try:
        yield
    except OSError as error:
        known = {
            errno.ENOSPC: "make room on that disk",
            errno.EDQUOT: "make room in your quota",
            errno.EROFS: "choose a folder that can be written",
            errno.EACCES: "choose a folder that can be written, or change its permissions",
            errno.EPERM: "choose a folder that can be written, or change its permissions",
            errno.EIO: "the disk may be failing: choose another",
        }
        raise CheckpointError(
            explain(
                str(where),
                "must be written",
                f"{reason(error)} (errno {error.errno})",
                "; ".join(filter(None, (known.get(error.errno or 0), cure))),
            )
        ) from None


def _forget(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):  # it was a folder, or the next start removes it
        path.unlink()


# --- writing -------------------------------------------------------------------------------------------------------


def write_checkpoint(
    parent: Path,
    state: TrainingState,
    weights: Mapping[str, Any],
    optimizer: Mapping[str, Any],
    *,
    optimizer_name: str = "",
    model: Sequence[Sequence[str]] = (),
    environment: Mapping[str, Any] | None = None,
    configs: Mapping[str, str] | None = None,
) -> Path:
    """Save below ``parent`` and give the new folder; after a `CheckpointError` the earlier ones are unchanged."""
    folder = parent / f"step-{state.step:08d}"
    new = parent / f".new-{folder.name}"
    last = checkpoints(parent)
    with storing(folder, f"the last checkpoint, {last[-1].name}, is whole" if last else ""):
        _forget(new)
        os.makedirs(new)
        try:
            steps = {key: value for key, value in optimizer.items() if isinstance(value, int)}
            arrays = {key: value for key, value in optimizer.items() if key not in steps}
            contents = {WEIGHTS: packed(weights), OPTIMIZER: packed(arrays)}
            for name, content in contents.items():
                write_file(new / name, content)
            table = {
                "format": FORMAT,
                "version": VERSION,
                **state.as_json(),
                "optimizer": {"name": optimizer_name, "steps": steps},
                "model": [[*row] for row in model],
                "environment": dict(environment or {}),
                "configs": dict(configs or {}),
                "files": {
                    name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                    for name, content in contents.items()
                },
            }
            write_file(
                new / STATE, json.dumps({**table, "checksum": _checksum(table)}, indent=1, allow_nan=False).encode()
            )
            system.sync_folder(new)
            system.rename(new, folder)
        except OSError:
            _forget(new)
            raise
        system.sync_folder(parent)
    return folder


def _checksum(table: Json) -> str:
    return hashlib.sha256(json.dumps(table, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# --- listing -------------------------------------------------------------------------------------------------------


def checkpoints(parent: Path) -> list[Path]:
    """The checkpoints below ``parent``, oldest first; leftovers, links and other files are ignored."""
    try:
        folders = [
            path for path in parent.iterdir() if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
        ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise CheckpointError(
            explain(str(parent), "must be readable", reason(error), "change its permissions")
        ) from None
    return sorted(folders, key=lambda path: int(path.name.removeprefix("step-")))


def clean(parent: Path) -> None:
    """Remove folders that a killed process left half written or half removed."""
    for path in [*parent.glob(".new-*"), *parent.glob(".old-*")]:
        _forget(path)


def rotate(parent: Path, keep: int, best: int | None) -> None:
    """Remove all but the newest ``keep`` and that of step ``best``; each is renamed first, so none is
    ever incomplete.
    """
    for folder in checkpoints(parent)[:-keep]:
        if best is None or folder.name != f"step-{best:08d}":
            old = folder.with_name(f".old-{folder.name}")
            with storing(parent):
                _forget(old)
                system.rename(folder, old)
            _forget(old)


# --- reading -------------------------------------------------------------------------------------------------------


def read_checkpoint(folder: Path) -> Checkpoint:
    """Everything in ``folder``, checked against its checksums; a `CheckpointError` names the file and what is wrong
    with it.
    """
    where = str(folder / STATE)
    state = parsed(_content(folder / STATE))
    if state is None:
        raise _damaged(where, "must be a JSON object", "something else")
    if state.get("format") != FORMAT:
        raise _damaged(where, f"must say format {FORMAT!r}", "something else")
    version = count(where, state, "version")
    if version > VERSION:
        raise CheckpointError(
            explain(
                where,
                f"this typednn reads versions up to {VERSION}",
                f"version {version}",
                "update typednn, or go on with the version that wrote it",
            )
        )
    expected = state.pop("checksum", None)
    if expected != _checksum(state):
        raise _damaged(where, f"its checksum must be {str(expected)[:12]}…", "another: a bit or more has changed")
    named, step = _NAME.fullmatch(folder.name), count(where, state, "step")
    if named and int(named[1]) != step:
        raise _damaged(
            str(folder),
            f"must hold the checkpoint of step {int(named[1])}",
            f"that of step {step}",
            "the folder was renamed or copied: give it its own name back",
        )
    files = inner(where, state, "files")
    weights, arrays = (_arrays(folder / name, inner(where, files, name)) for name in (WEIGHTS, OPTIMIZER))
    optimizer = inner(where, state, "optimizer")
    steps = inner(where, optimizer, "steps")
    return Checkpoint(
        folder,
        TrainingState.from_json(where, state),
        weights,
        {**{key: count(where, steps, key) for key in steps}, **arrays},
        word(where, optimizer, "name"),
        _structure(where, state),
        inner(where, state, "environment"),
        inner(where, {"configs": {}, **state}, "configs"),
    )


def _structure(where: str, state: Json) -> list[list[str]] | str:
    model: Any = state.get("model")
    if isinstance(model, str):
        return model
    return [
        [word(where, {"model": text}, "model") for text in items(where, {"model": row}, "model")]
        for row in items(where, state, "model")
    ]


def _content(path: Path, size: object = None) -> bytes:
    """The file's bytes, ``size`` of them where that is known; nothing is read of a file that is larger
    than it may be.
    """
    try:
        about = path.lstat()
        kind = stat.S_IFMT(about.st_mode)
        if kind != stat.S_IFREG:  # opening a pipe may wait for ever, and a device may be endless
            raise _damaged(str(path), "must be a plain file of its own", _KINDS.get(kind, "a device"))
        if size is not None and about.st_size != size:
            raise _damaged(str(path), f"must have {size} bytes", str(about.st_size))
        # What lies on the disk may be read, as it was written by a training; a file with holes is longer.
        most = max(limit_of("Run", None), getattr(about, "st_blocks", 0) * 512)
        if about.st_size > most:
            cure = f"if that much is free, set {VARIABLE}={about.st_size}"
            raise CheckpointError(
                explain(str(path), f"may take at most {most:,} bytes of memory", f"{about.st_size:,}", cure)
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise _damaged(str(path), "must be there", "no such file") from None
    except OSError as error:
        raise _damaged(str(path), "must be readable", reason(error)) from None


def _arrays(path: Path, expected: Json) -> dict[str, Any]:
    content = _content(path, expected.get("bytes"))
    if hashlib.sha256(content).hexdigest() != expected.get("sha256"):
        raise _damaged(
            str(path), f"its SHA-256 must be {str(expected.get('sha256'))[:12]}…", "another: a bit or more has changed"
        )
    try:
        return unpacked(content)
    except ValueError as error:
        raise _damaged(str(path), "must be a safetensors file", str(error)[:80]) from None


def _damaged(where: str, rule: str, got: str, cure: str = "this checkpoint is damaged") -> CheckpointError:
    return CheckpointError(explain(where, rule, got, cure), damaged=True)
