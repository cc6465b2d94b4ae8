"""Run: the folder of one training, and all its files.

    RUN/config.toml       what was trained, as it was written (or recipe.json)
    RUN/model.txt         the model as printed
    RUN/environment.json  versions, machine, threads, engine
    RUN/lock              pid of the process that writes
    RUN/metrics.jsonl     a line per step and per evaluation
    RUN/events/           TensorBoard
    RUN/checkpoints/      `typednn.runs.checkpoint`; best.json names the best
    RUN/starts.jsonl      a line per process that trained
    RUN/checksums.json    of all of these

The config is written last, so a folder with a config is a complete run. One process writes: `Run.create` and `Run.open`
take the lock, which ends with the process. A checkpoint contains the digests of its run's
configs, and is refused with others.
"""

import json
import os
import secrets
import shutil
import stat
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, final

from typednn import system
from typednn.arguments import flag
from typednn.errors import ArgumentError, CheckpointError, StateError, explain
from typednn.errors.tracebacks import caller_level
from typednn.files import reason, replace_file
from typednn.module.module import Module
from typednn.module.printing import table
from typednn.runs.checkpoint import Checkpoint, checkpoints, clean, read_checkpoint, rotate, storing, write_checkpoint
from typednn.runs.checksums import (
    AT_A_CHECKPOINT,
    CONFIGS,
    OWN,
    Begun,
    configs_of,
    earlier_configs,
    replace_configs,
    write_checksums,
)
from typednn.runs.environment import environment, start
from typednn.runs.history import Best
from typednn.runs.recorded import read_metrics
from typednn.runs.restoring import load_weights, structure
from typednn.runs.run_files import read_bytes
from typednn.runs.state import Json, TrainingState, generator_states

Which: TypeAlias = Literal["latest", "best"]
_LINE = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


_LOCKED: set["Run"] = set()  # those of this process


class RunLocked(StateError):
    """Another process is writing into the run folder."""


class RunWarning(UserWarning):
    """A warning about a run that may change its result."""


@final
class Run(AbstractContextManager["Run"]):
    """An open run folder. Use it in a ``with`` statement, or call `close`."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Used by `create` and `open`, which check whether there is a run."""
        self.folder: Path = Path(folder)
        self.environment: Json = environment()
        self.metrics_bytes: int = 0
        self._locks: list[int] = []  # descriptors of the lock file and the folder
        self._by_file: bool = False  # whether the folder itself could not be locked
        self._metrics: int | None = None
        self._begun: Begun = {}

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        config_text: str,
        model: Module | None = None,
        *,
        config: str = "config.toml",
        overwrite: bool = False,
        prepare: Callable[[Path], None] | None = None,
    ) -> Self:
        """A new run in ``folder``, which is made where it is missing and must not hold a run already.

        ``prepare`` writes what else the run holds from its start, a vocabulary, before the config makes the folder a
        run: so a run never lacks it, whenever the process is killed.

        With ``overwrite`` a run that it holds is removed first, and one that this process has left open there is
        closed: a notebook's cell can be run twice. A folder that holds anything else, or in which another process
        trains, stays as it is, with an error.
        """
        if config not in CONFIGS:
            raise ArgumentError(
                explain("Run.create", f"config must be one of {', '.join(CONFIGS)}", repr(config)), "config"
            )
        run = cls(folder)
        if flag("Run.create", "overwrite", overwrite):
            run._remove_earlier()
        if run.config_path is not None:
            cure = "resume it, or choose another folder; in Python, overwrite=True replaces it"
            raise StateError(explain(str(run.folder), "a new run needs a folder without one", "a run", cure))
        with storing(run.folder):
            run.folder.mkdir(parents=True, exist_ok=True)
        run._refuse_other_files()  # before a lock file is made, and again under the lock
        try:
            run._acquire()
            run._refuse_other_files()
            with storing(run.folder):
                replace_file(run.folder / "environment.json", _pretty(run.environment))
                if model is not None:
                    replace_file(run.folder / "model.txt", f"{table(model)}\n".encode())
                if prepare is not None:
                    prepare(run.folder)
                replace_file(run.folder / config, config_text.encode())
                system.sync_folder(run.folder.absolute().parent)
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, lock: bool = True) -> Self:
        """The run in ``folder``; without ``lock`` for reading only, by any number of processes."""
        run = cls(folder)
        if run.config_path is None:
            raise CheckpointError(
                explain(
                    str(run.folder),
                    f"a run folder holds {' or '.join(CONFIGS)}",
                    "none" if run.folder.is_dir() else "no such folder",
                    "is it the right folder?",
                )
            )
        if lock:
            try:
                run._acquire()
                clean(run.checkpoint_folder)
                clean(run.folder)
            except BaseException:
                run.close()
                raise
        return run

    @property
    def config_path(self) -> Path | None:
        """The config of this run, None where there is none."""
        return next((self.folder / name for name in CONFIGS if (self.folder / name).is_file()), None)

    @property
    def checkpoint_folder(self) -> Path:
        """Where the checkpoints are."""
        return self.path("checkpoints")

    def path(self, name: str) -> Path:
        """A place in the run folder; a name or a link that leads out of it is a `CheckpointError`."""
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise CheckpointError(
                explain(str(self.folder), "everything lies within the run folder", f"{name!r}, which leads out of it")
            )
        return path

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the folder, and the losses that it holds."""
        from typednn.curves import curves
        from typednn.html import facts, number, shown

        metrics = read_metrics(self.folder)
        steps, epochs, losses, *_ = metrics.steps
        lines = {"training": list(zip(steps.tolist(), losses.tolist(), strict=True))}
        lines |= {
            split: list(zip(*(series.tolist() for series in found[:2]), strict=True))
            for split, found in metrics.evaluations.items()
        }
        told: dict[str, object] = {
            "config": "none" if self.config_path is None else self.config_path.name,
            "steps": f"{len(steps):,}",
        }
        told |= {"epochs": f"{epochs[-1]:g}", "last loss": number(float(losses[-1]))} if len(steps) else {}
        return shown(f"Run {self.folder}", facts(told), curves(lines, "step"))

    # ------------------------------------------------------------------ lock

    def _remove_earlier(self) -> None:
        """Remove a run that is in the folder, and nothing else; go on where that was cut off.

        Everything is renamed first, its configs before all: it is a whole run or none.
        """
        for left_open in [run for run in _LOCKED if run.folder.resolve() == self.folder.resolve()]:
            left_open.close()
        gone = self.folder / ".new-overwritten"
        if self.config_path is None and not gone.is_dir():
            return
        with storing(self.folder):
            others = sorted(
                path.name
                for path in self.folder.iterdir()
                if path.name not in OWN and not path.name.startswith(".new-")
            )
        if others:
            rule, got = "overwrite=True removes a run and nothing else", f"a run, and {', '.join(others[:5])}"
            raise StateError(explain(str(self.folder), rule, got, "move that away, or choose another folder"))
        try:
            self._acquire()
            with storing(self.folder):
                gone.mkdir(exist_ok=True)
                kept = ("lock", gone.name)
                found = [path for path in self.folder.iterdir() if path.name not in kept]
                for path in sorted(found, key=lambda path: (path.name not in CONFIGS, path.name)):
                    system.rename(path, gone / f"{secrets.token_hex(4)}-{path.name}")
                shutil.rmtree(gone)
        finally:
            self.close()

    def _refuse_other_files(self) -> None:
        with storing(self.folder):
            names = {path.name for path in self.folder.iterdir() if not path.name.startswith(".new-")}
        begun = {"lock", "model.txt", "environment.json"}  # by a process that was killed before there was a run
        others = sorted(names - (begun | {"vocabulary"} if "environment.json" in names else begun))
        if others:
            raise StateError(
                explain(str(self.folder), "a new run needs an empty folder", ", ".join(others[:5]), "choose another")
            )

    def _acquire(self) -> None:
        """Take the lock; after an error the caller closes the run."""
        path = self.path("lock")
        refused: list[OSError] = []
        with storing(path):
            self._locks.append(os.open(path, os.O_RDWR | os.O_CREAT | system.PLAIN, 0o644))
            # The file may be removed, the folder can't be. So the folder is locked too, where the system allows it.
            itself = system.open_folder(self.folder)
            self._locks += [] if itself is None else [itself]
            for handle in self._locks:
                try:
                    system.lock(handle)
                except BlockingIOError:
                    pid = os.read(self._locks[0], 20).decode("ascii", "replace").strip()
                    got, cure = (
                        f"a lock held by {f'process {pid}' if pid else 'another process'}",
                        "wait for it to end, or end it",
                    )
                    raise RunLocked(
                        explain(str(self.folder), "one process at a time trains in a run folder", got, cure)
                    ) from None
                except OSError as error:
                    refused.append(error)
            os.ftruncate(self._locks[0], 0)
            os.lseek(self._locks[0], 0, os.SEEK_SET)
            os.write(self._locks[0], f"{os.getpid()}\n".encode())
        _LOCKED.add(self)
        self._by_file = bool(refused) or itself is None
        if len(refused) == len(self._locks):
            self.warn(
                f"this file system has no locks ({reason(refused[0])}): see to it that no other process trains here"
            )

    def require_lock(self) -> None:
        """`StateError` unless this process has the lock."""
        if not self._locks:
            raise StateError(
                explain(
                    str(self.folder),
                    "training needs the run's lock",
                    "a run opened without it, or closed",
                    "open it with Run.open(folder)",
                )
            )
        if self._by_file:
            path = self.folder / "lock"
            with storing(path, "it was removed: another process may train here"):
                if not os.path.samestat(os.fstat(self._locks[0]), os.stat(path)):
                    raise RunLocked(
                        explain(
                            str(path),
                            "must be the file that this process locked",
                            "another file in its place",
                            "let one process train here, and resume it",
                        )
                    )

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        for handle in (*self._locks, *([] if self._metrics is None else [self._metrics])):
            os.close(handle)
        self._metrics, self._locks = None, []
        _LOCKED.discard(self)

    def __exit__(self, *_: object) -> None:
        self.close()

    def warn(self, text: str) -> None:
        """A `RunWarning` with the run's folder before ``text``, in the line that called typednn."""
        warnings.warn(RunWarning(f"{self.folder}: {text}"), stacklevel=caller_level())

    # ------------------------------------------------------------------ metrics

    def start_metrics(self, size: int) -> None:
        """Open metrics.jsonl for appending, cut back to ``size`` bytes: the part up to the checkpoint that training
        continues from.
        """
        self.require_lock()
        self._begun.clear()  # files are cut back now
        path = self.path("metrics.jsonl")
        with storing(path):
            if self._metrics is None:
                self._metrics = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | system.PLAIN, 0o644)
            if not stat.S_ISREG(os.fstat(self._metrics).st_mode):
                raise CheckpointError(explain(str(path), "must be a plain file", "a pipe or a device", "remove it"))
            present = os.fstat(self._metrics).st_size
            if present < size:
                self.warn(
                    f"metrics.jsonl holds {present} bytes, the checkpoint was written after {size}: the curves "
                    "will have a gap"
                )
                size = path.read_bytes().rfind(b"\n") + 1
            os.ftruncate(self._metrics, size)
            os.fsync(self._metrics)
        self.metrics_bytes = size

    def write_start(self, step: int, device: str, settings: Mapping[str, Any] | None = None) -> None:
        """Append to starts.jsonl how this process begins to train, with which settings; the file is replaced as a
        whole, so it has no half lines.
        """
        self.require_lock()
        before = read_bytes(self.folder, "starts.jsonl") or b""
        with storing(self.folder / "starts.jsonl"):
            facts = {**start(step, device), "settings": dict(settings or {})}
            replace_file(self.folder / "starts.jsonl", before + _LINE.encode(facts).encode() + b"\n")

    def write_metrics(self, line: Mapping[str, Any]) -> None:
        """Append one line; readers see it at once, and it is on the disk before the next checkpoint."""
        if self._metrics is None:
            raise StateError(explain(str(self.folder), "metrics are written while training", "no start_metrics before"))
        content = memoryview(_LINE.encode(line).encode() + b"\n")
        with storing(self.folder / "metrics.jsonl", "resuming goes on from the last checkpoint, which is whole"):
            while content:
                written = os.write(self._metrics, content)
                self.metrics_bytes += written
                content = content[written:]

    # ------------------------------------------------------------------ checkpoints

    def folder_of(self, step: int) -> Path:
        """The place of the checkpoint of that step."""
        return self.checkpoint_folder / f"step-{step:08d}"

    def save(self, state: TrainingState, model: Module, optimizer: Any, loader: Any, *, keep: int = 3) -> Path:
        """Write a checkpoint, then `best.json`, and remove old ones. After an error the earlier checkpoints are
        unchanged.

        ``state`` gets the positions of loader, generators and metrics, which `restore` and `start_metrics` restore.
        """
        self.require_lock()
        state.loader, state.generators, state.metrics_bytes = (
            loader.state_dict(),
            generator_states(model),
            self.metrics_bytes,
        )
        if self._metrics is not None:
            with storing(self.folder / "metrics.jsonl"):
                os.fsync(self._metrics)
        folder = write_checkpoint(
            self.checkpoint_folder,
            state,
            model.state_dict(),
            optimizer.state_dict(),
            optimizer_name=type(optimizer).__name__,
            model=structure(model),
            environment=self.environment,
            configs=configs_of(self.folder),
        )
        self.settle(state.best, keep=keep)
        return folder

    def settle(self, best: Best | None, *, keep: int = 3) -> None:
        """After a checkpoint: write the best to `best.json`, and the checksums; remove old ones. Resuming repeats this
        where it failed.
        """
        path = self.checkpoint_folder / "best.json"
        with storing(path, "the checkpoints are whole: resuming writes it"):
            if best is None or not self.folder_of(best.step).is_dir():
                path.unlink(missing_ok=True)
            else:
                content = _pretty({"name": self.folder_of(best.step).name, "metric": best.metric, "value": best.value})
                if not path.is_file() or path.read_bytes() != content:
                    replace_file(path, content)
        rotate(self.checkpoint_folder, keep, None if best is None else best.step)
        with storing(self.folder, "the checkpoints are whole: resuming writes the checksums"):
            write_checksums(self.folder, AT_A_CHECKPOINT, self._begun)

    def replace_configs(self, texts: Mapping[str, str]) -> None:
        """Give a run that goes on other configs, by name; those that it had are noted, as its checkpoints have them."""
        self.require_lock()
        with storing(self.folder):
            replace_configs(self.folder, texts)

    def _read(self, folder: Path) -> Checkpoint:
        """The checkpoint in ``folder``; one of other configs counts as damaged."""
        checkpoint, configs = read_checkpoint(folder), configs_of(self.folder)
        if checkpoint.configs in earlier_configs(self.folder):
            return checkpoint
        for name, expected in checkpoint.configs.items():
            if configs.get(name) != expected:
                raise CheckpointError(
                    explain(
                        str(self.folder / name),
                        f"{folder.name} was trained by a {name} of SHA-256 {str(expected)[:12]}…",
                        "another, or a damaged one" if name in configs else "none",
                        "bring that file back, or start a new run",
                    ),
                    damaged=True,
                )
        return checkpoint

    def latest(self) -> Checkpoint | None:
        """The newest valid checkpoint, None where there is none at all.

        A damaged one, one with another step than its name, and one of another run cause a `RunWarning` and are renamed
        to ``damaged-…``; then the one before is used. Where none is left, the newest's error is raised. A newer format
        is an error, and never skipped.
        """
        damaged: list[tuple[Path, CheckpointError]] = []
        for folder in reversed(checkpoints(self.checkpoint_folder)):
            try:
                checkpoint = self._read(folder)
            except CheckpointError as error:
                if not error.damaged:
                    raise
                damaged.append((folder, error))
            else:
                for broken, why in damaged:
                    warnings.warn(
                        RunWarning(f"{why}; going on from {folder.name} instead of {broken.name}"),
                        stacklevel=caller_level(),
                    )
                    if self._locks:
                        self._put_aside(broken)
                return checkpoint
        if damaged:
            raise damaged[0][1]
        return None

    def _put_aside(self, folder: Path) -> None:
        names = (f"damaged-{folder.name}" + (f"-{number}" if number > 1 else "") for number in count(1))
        with storing(folder):
            system.rename(folder, next(aside for aside in map(folder.with_name, names) if not aside.exists()))

    def checkpoint(self, which: Which = "latest") -> Checkpoint:
        """The newest checkpoint, or the best by validation (the newest where none was measured); an error where it is
        not there.
        """
        newest = self.latest()
        if newest is None:
            raise CheckpointError(
                explain(
                    str(self.folder),
                    "must hold a checkpoint",
                    "none",
                    "train first: one is written at the end of each epoch",
                )
            )
        best = newest.state.best
        folder = self.folder_of(best.step) if best is not None else newest.folder
        if which == "latest" or folder == newest.folder:
            return newest
        if not folder.is_dir():
            rule, cure = (
                f"must hold the best checkpoint, {folder.name}",
                f"use the newest, {newest.folder.name}: --weights latest",
            )
            raise CheckpointError(explain(str(self.folder), rule, "none of that name", cure))
        return self._read(folder)

    def load_weights(self, model: Module, which: Which = "best") -> Checkpoint:
        """Fill ``model`` from a checkpoint, which is returned; one of another model is a `CheckpointError`."""
        checkpoint = self.checkpoint(which)
        load_weights(checkpoint, model)
        return checkpoint


def _pretty(table: Json) -> bytes:
    return (json.dumps(table, indent=2, allow_nan=False) + "\n").encode()
