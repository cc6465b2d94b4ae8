"""Kills ranks of jobs by SIGKILL at random moments, and compares the end with one process that was left alone.

    python -m tests.parallel.torture --kills 100 [--of NAME] [--seed N] [--seconds S]

The trainings are those of `tests.training.torture` that the command line trains. Each job is a ``typednn train --ranks
N --restarts M`` or, where its restarts are used up or the draw says so, a ``typednn resume --ranks`` another number. A
random rank is killed at a random moment: while it imports, trains, or the first one saves. At the end of a run weights,
metrics, checkpoints and report must be those of one process, to the bit. After each kill there must be a new job, or
the end, within 20 seconds. Ends with 1 where one differs or hangs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.parallel.processes import ranks_of
from tests.training.torture import REPOSITORY, SITE, contents
from tests.training.torture_trainings import TRAININGS

OF: Final = ("lenet5", "lstm", "gpt2")
LONGEST: Final = 20.0  # seconds from a kill to a new job or the end


class Hangs(Exception):
    """A job did not go on, or did not end."""


def start(folder: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """A command of typednn in a folder; what it says is in the file ``said`` there."""
    paths = os.pathsep.join([str(folder.parent), str(REPOSITORY)])
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TYPEDNN_THREADS": "1", "TORTURE_SLOW": "0.005"}
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "typednn", *words],
            cwd=folder,
            env={**os.environ, **single, "PYTHONPATH": paths},
            stdout=said,
            stderr=subprocess.STDOUT,
        )


def killed(job: subprocess.Popen[bytes], draw: random.Random, lasts: float) -> float | None:
    """Kill a rank of the job at some moment; how long it took to go on or to end. None where it ended before."""
    time.sleep(draw.choice([draw.uniform(0.0, 1.0), draw.uniform(0.0, lasts / 2)]))
    ranks = ranks_of(job.pid)
    if not ranks or job.poll() is not None:
        return None
    os.kill(draw.choice(sorted(ranks.values())), signal.SIGKILL)
    begun = time.monotonic()
    while job.poll() is None and not set(ranks_of(job.pid).values()) - set(ranks.values()):
        if time.monotonic() - begun > LONGEST:
            raise Hangs(f"after a kill for {LONGEST} seconds: {(Path('said')).read_text()[-2000:]}")
        time.sleep(0.02)
    return time.monotonic() - begun


def until(
    name: str, folder: Path, draw: random.Random, kills: int, deadline: float
) -> tuple[int, int, float, list[str]]:
    """Train again and again; the kills, the runs that ended, the longest wait, and what differs."""
    folder.mkdir()
    os.chdir(folder)
    training = TRAININGS[name]
    if training.files is not None:
        training.files()
    begin = ["train", *training.arguments, "--set", "shards=8", "--run"]
    lasts = 0.0
    for alone in ("alone", "again"):  # the second time with every kernel compiled
        begun = time.monotonic()
        if code := start(folder, [*begin, alone]).wait(300):
            raise Hangs(f"{code}: {(folder / 'said').read_text()[-2000:]}")
        lasts = time.monotonic() - begun
    wanted, done, runs, longest, differing = contents(folder / "alone"), 0, 0, 0.0, list[str]()
    while done < kills and time.monotonic() < deadline:
        run = folder / f"run{runs}"
        code = 1
        while code:
            begins = [*begin, str(run)] if not (run / "recipe.json").is_file() else ["resume", str(run)]
            words = [*begins, "--ranks", str(draw.choice([1, 2, 2, 4])), "--restarts", str(draw.randrange(4))]
            job = start(folder, words)
            while job.poll() is None and done < kills:
                waited = killed(job, draw, lasts)
                if waited is not None:
                    done, longest = done + 1, max(longest, waited)
            code = job.wait(300)
        found = contents(run)
        found["names"] = [each for each in found["names"] if not each.startswith("rank-")]
        keys = sorted(key for key in {*wanted, *found} if wanted.get(key) != found.get(key))
        print(f"{name}, run {runs}: {done} kills, {', '.join(keys) or 'the same to the bit'}", flush=True)
        differing += keys
        runs += 1
        if not keys:
            shutil.rmtree(run)
    return done, runs, longest, differing


def main(given: Sequence[str]) -> int:
    """The command line."""
    parser: Any = argparse.ArgumentParser(prog="python -m tests.parallel.torture")
    parser.add_argument("--kills", type=int, default=100, help="how often, all trainings together")
    parser.add_argument("--of", choices=OF, action="append", help="which training; may be repeated (default: all)")
    parser.add_argument("--seed", type=int, help="of the moments; drawn anew unless told")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no run after so many (default: 3600)")
    options = parser.parse_args(given)
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="typednn-ranks-"))
    # without the line that hides torch: SciPy, which the report needs, looks for it among the modules
    (folder / "sitecustomize.py").write_text(SITE)
    names, begun = options.of or OF, time.monotonic()
    kills, runs, longest, bad = 0, 0, 0.0, False
    for place, name in enumerate(names):
        share = options.kills * (place + 1) // len(names) - options.kills * place // len(names)
        deadline = begun + options.seconds * (place + 1) / len(names)
        try:
            done = until(name, folder / name, random.Random(f"{seed} {name}"), share, deadline)
        except Hangs as error:
            print(f"{name}: FAILED {error}", flush=True)
            bad = True
            continue
        kills, runs, longest, bad = kills + done[0], runs + done[1], max(longest, done[2]), bad or bool(done[3])
    print(f"{'FAIL' if bad else 'PASS'}: {kills} kills in {runs} runs, at most {longest:.1f} s to go on; seed {seed}")
    if bad:
        print(f"see {folder}")
    else:
        shutil.rmtree(folder)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
