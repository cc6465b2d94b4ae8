"""Kills trainings by SIGKILL at random moments, resumes them, and compares the end with a training that was left alone.

    python -m tests.training.torture --kills 200 [--of NAME] [--seed N]

What trains is in `tests.training.torture_trainings`; the kills are shared evenly. Commands are those of a user:
``typednn train`` where the folder holds no run yet, else ``typednn resume``. Most of the processes fsync slowly, and
half of the kills wait for a checkpoint to be begun, so that many land within its writing; some come within creating,
cleaning up or the report. Whenever a training comes to its end, its folder must say the same as the one that was left
alone: weights, optimizer, random states and positions to the bit, metrics and events apart from timings, the same
checkpoints, the same report; and ``typednn check`` must find nothing. Ends with 1 where one differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, cast, final

from tests.training.torture_trainings import TRAININGS
from typednn.runs.checksums import problems

REPOSITORY = Path(__file__).resolve().parents[2]
TIMINGS = {"seconds", "total_seconds", "samples_per_second"}
LONGEST = 300.0  # seconds of a process
# Python imports a module of this name at its start.
SITE = """
import os, sys, time



class WithoutTorch:  # TensorBoard's writer would import it, which takes seconds
    def find_spec(self, name, *_):
        if name == "torch":
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, WithoutTorch())
slow, fsync = float(os.environ["TORTURE_SLOW"]), os.fsync


def slow_fsync(handle):
    time.sleep(slow)
    fsync(handle)


os.fsync = slow_fsync
"""


class Failed(Exception):
    """A process did not train to its end, or two that were left alone came to different ends."""


def told(value: Any) -> Any:
    """JSON without what a clock, or the machine, has put into it."""
    if isinstance(value, dict):
        left_out = {*TIMINGS, "metrics_bytes", "checksum", "environment"}
        return {key: told(each) for key, each in cast("dict[str, Any]", value).items() if key not in left_out}
    return [told(each) for each in cast("Sequence[Any]", value)] if isinstance(value, list) else value


def events(folder: Path) -> list[tuple[int, str, float]]:
    """Every scalar of every event file, in order; empty without tensorboardX."""
    try:
        event_pb2: Any = import_module("tensorboardX.proto.event_pb2")
    except ImportError:
        return []
    found: list[tuple[int, str, float]] = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        content = path.read_bytes()
        while content:
            length = int.from_bytes(content[:8], "little")
            event = event_pb2.Event.FromString(content[12 : 12 + length])
            found += [(event.step, value.tag, value.simple_value) for value in event.summary.value]
            content = content[16 + length :]
    return found


def contents(run: Path) -> dict[str, Any]:
    """What must be the same after a training was killed, however often."""
    said: dict[str, Any] = {
        "metrics": [told(json.loads(line)) for line in (run / "metrics.jsonl").read_text().splitlines()]
    }
    said["events"] = events(run / "events")
    said["names"] = sorted(path.name for folder in (run, run / "checkpoints") for path in folder.iterdir())
    said["best"] = json.loads((run / "checkpoints" / "best.json").read_text())
    said["problems"] = problems(run)[1]
    for folder in sorted((run / "checkpoints").glob("step-*")):
        said[f"{folder.name}/state.json"] = told(json.loads((folder / "state.json").read_text()))
    whole = (
        "checkpoints/*/*.safetensors",
        "*.safetensors",
        "config.toml",
        "recipe.json",
        "model.txt",
        "report.json",
        "vocabulary/*",
    )
    for path in sorted(path for pattern in whole for path in run.glob(pattern)):
        said[str(path.relative_to(run))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return said


def writing(run: Path) -> bool:
    """Whether a checkpoint is begun and has not got its name."""
    return any((run / "checkpoints").glob(".new-*"))


@final
@dataclass(slots=True)
class Torture:
    """One training: the folder of its data and runs, what is drawn from, and how often it was killed."""

    name: str
    folder: Path
    draw: random.Random
    lasts: float = 0.0
    """The seconds of a process that is left alone, from where it has the run's lock."""
    done: int = 0
    within: int = 0
    """How many of the kills came within the writing of a checkpoint."""
    later: int = 0
    """How many left a checkpoint to go on from."""
    runs: int = 0
    differ: int = 0
    """How many of the runs came to another end."""
    wanted: dict[str, Any] = field(default_factory=dict[str, Any])

    def start(self, run: Path, slow: float) -> subprocess.Popen[bytes]:
        """A process that trains in ``run``, when it has its lock, or has ended."""
        begun = any((run / name).is_file() for name in ("config.toml", "recipe.json"))
        command = [sys.executable, "-m", *TRAININGS[self.name].command(self.name, run, begun=begun)]
        paths = os.pathsep.join(
            [str(self.folder.parent), str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "TORTURE_SLOW": str(slow),
            "PYTHONPATH": paths,
        }
        with (self.folder / "said").open("wb") as said:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=said, stderr=subprocess.STDOUT)
        while process.poll() is None:
            try:
                if (run / "lock").read_text().strip() == str(process.pid):
                    break
            except FileNotFoundError:
                pass
            time.sleep(0.001)
        return process

    def ended(self, process: subprocess.Popen[bytes]) -> float:
        """Wait for a process that must come to its end, and give the seconds; what it said where it did not."""
        start = time.perf_counter()
        try:
            code: int | str = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            code = f"nothing after {LONGEST} seconds"
        if code:
            raise Failed(f"a process ended with {code}:\n{(self.folder / 'said').read_text()}")
        return time.perf_counter() - start

    def killed(self, process: subprocess.Popen[bytes], run: Path, slow: float) -> bool:
        """Wait for a moment, and kill, unless the process ends before."""
        draw = self.draw
        time.sleep(
            draw.choice([draw.uniform(0.0, 0.1), draw.uniform(0.0, self.lasts / 2), draw.uniform(0.0, self.lasts)])
        )
        if draw.random() < 0.5:
            while process.poll() is None and not writing(run):
                time.sleep(0.0005)
            time.sleep(draw.uniform(0.0, 5 * slow))
        if process.poll() is not None:
            return False
        process.kill()
        process.wait()
        self.done += 1
        self.within += writing(run)
        self.later += any((run / "checkpoints").glob("step-*"))
        return True

    def alone(self) -> None:
        """Make the files, and train twice without a kill: the second time with every kernel compiled, and to the same
        end.
        """
        self.folder.mkdir()
        os.chdir(self.folder)
        files = TRAININGS[self.name].files
        if files is not None:
            files()
        self.ended(self.start(self.folder / "alone", 0.0))
        self.wanted = contents(self.folder / "alone")
        self.lasts = self.ended(self.start(self.folder / "again", 0.0))
        if differing := self.differing(self.folder / "again"):
            raise Failed(f"two trainings without a kill differ in {differing}")

    def differing(self, run: Path) -> str:
        """What at the end of ``run`` differs from the one that was left alone; where nothing does, it is removed."""
        found = contents(run)
        if found == self.wanted:
            shutil.rmtree(run)
        return ", ".join(sorted(key for key in {*self.wanted, *found} if self.wanted.get(key) != found.get(key)))

    def until(self, kills: int) -> None:
        """Train again and again, until there were so many kills."""
        self.alone()
        while self.done < kills:
            run, before = self.folder / f"run{self.runs}", self.done
            while True:
                slow = self.draw.choice([0.0, 0.01, 0.02])
                process = self.start(run, slow)
                if self.done == kills or not self.killed(process, run, slow):
                    self.ended(process)
                    break
            differing = self.differing(run)
            verdict = (
                f"{differing} DIFFER; see {run} and {self.folder / 'alone'}" if differing else "the same to the bit"
            )
            print(f"{self.name}, run {self.runs}: killed {self.done - before} times, {verdict}", flush=True)
            self.runs, self.differ = self.runs + 1, self.differ + bool(differing)


def torture(names: Sequence[str], kills: int, seed: int, folder: Path) -> int:
    """Kill ``kills`` times in all; 1 where an end differs."""
    (folder / "sitecustomize.py").write_text(SITE)
    all_of_them, lines, code = list[Torture](), list[str](), 0
    for place, name in enumerate(names[:kills]):
        each = Torture(name, folder / name, random.Random(f"{seed} {name}"))
        all_of_them.append(each)
        verdict = "the same to the bit"
        try:
            each.until(kills // len(names) + (place < kills % len(names)))
        except Failed as error:
            verdict = f"FAILED: {error}"
        if each.differ:
            verdict = f"{each.differ} DIFFER"
        code = code or int(verdict != "the same to the bit")
        counted = (
            f"{each.runs:>3} runs, {each.later:>3} behind a checkpoint, {each.within:>3} within the writing of one"
        )
        lines.append(f"{name:<9}{each.done:>4} kills in {counted}: {verdict}")
    print("\n".join(lines))
    done, runs, within = (sum(getattr(each, name) for each in all_of_them) for name in ("done", "runs", "within"))
    word, where = ("FAIL", f"; see {folder}") if code else ("PASS", "")
    print(
        f"{word}: {done} kills in {runs} runs, {within} of them within the writing of a checkpoint; seed {seed}{where}"
    )
    return code


def main(given: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.training.torture", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--kills", type=int, default=200, help="how often, all trainings together (default: %(default)s)"
    )
    parser.add_argument(
        "--of", choices=TRAININGS, action="append", help="which training; may be repeated (default: all)"
    )
    parser.add_argument("--seed", type=int, help="of the moments; drawn anew unless told")
    options = parser.parse_args(given)
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="typednn-torture-"))
    code = torture(list(dict.fromkeys(options.of or TRAININGS)), options.kills, seed, folder)
    if not code:
        shutil.rmtree(folder)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
