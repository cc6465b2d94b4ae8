"""Kills a training by SIGKILL at random moments, resumes it, and compares the end with a training that was left alone.

    python -m tests.training.torture --kills 200 [--seed N]

Most of the processes fsync slowly, and half of the kills wait for a checkpoint to be begun, so that many land within its writing;
some come before the first step, within creating or cleaning up. Whenever a training comes to its end, its folder must say the same as the
one that was left alone: weights, optimizer, random states and positions to the bit, metrics and events apart from timings, the same
checkpoints. Ends with 1 where one differs.
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
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TIMINGS = {"seconds", "total_seconds", "samples_per_second"}


def train(folder: Path, pause: float, slow: float) -> None:
    """The training that is killed: small, with everything that has a state."""
    import numpy as np

    from typednn import Input
    from typednn.data.loader import Loader
    from typednn.layers import BatchNorm1d, Conv2d, Dropout, Flatten, Linear, MaxPool2d, ReLU
    from typednn.losses import SoftmaxCrossEntropy
    from typednn.optim import EMA, Adam, CosineLR, Group, ReduceLROnPlateau
    from typednn.random import PCG32
    from typednn.runs import Run
    from typednn.runs import checkpoint as checkpoint_module
    from typednn.training import Callback, EarlyStopping, Evaluation, Every, Step, fit

    class Pause(Callback):
        def on_step(self, step: Step) -> None:
            time.sleep(pause)

    real_fsync = os.fsync

    def slow_fsync(handle: int) -> None:
        time.sleep(slow)
        real_fsync(handle)

    if slow:
        os.fsync = slow_fsync
        assert checkpoint_module.os.fsync is slow_fsync

    rng = np.random.default_rng(3)
    x = rng.standard_normal((230, 8, 8, 1), dtype=np.float32)
    y = (x[:, :4].sum(axis=(1, 2, 3)) > 0).astype(np.int64) + (x[:, 0, 0, 0] > 1)
    images = Input(8, 8, 1) >> Conv2d(1, 4, 3) >> ReLU() >> MaxPool2d(2) >> Flatten()
    model = (images >> Linear(36, 8) >> BatchNorm1d(8) >> ReLU() >> Dropout(0.2) >> Linear(8, 3)).init(PCG32(5))
    rate = ReduceLROnPlateau(1e-2, factor=0.5, patience=0, threshold=0.2, cooldown=1)  # lowered several times in these 52 steps
    groups = [Group("4.bias", frozen=True), Group("0.*", lr=CosineLR(1e-2, total_steps=48, warmup_steps=5))]
    optimizer = Adam(rate, amsgrad=True, ema=EMA(0.9, warmup=True), groups=groups).bind(model)
    loader = Loader(x[:200], y[:200], batch_size=8, rng=np.random.default_rng(7))
    print("go", flush=True)
    begun = any((folder / name).is_file() for name in ("config.toml", "recipe.json"))
    with Run.open(folder) if begun else Run.create(folder, "seed = 5\n", model) as run:
        fit(
            model,
            SoftmaxCrossEntropy(),
            optimizer,
            loader,
            epochs=4,
            run=run,
            callbacks=[Pause()],
            validation=Evaluation(x[200:], y[200:]),
            accumulate=2,
            clip_grad_norm=1.0,
            evaluate_every=Every(steps=7),
            checkpoint_every=5,
            early_stopping=EarlyStopping(patience=50),
            keep=2,
            progress=False,
        )


def told(value: Any) -> Any:
    """JSON without what a clock, or the machine, has put into it."""
    if isinstance(value, dict):
        left_out = {*TIMINGS, "metrics_bytes", "checksum", "environment"}
        return {key: told(each) for key, each in value.items() if key not in left_out}
    return [told(each) for each in value] if isinstance(value, list) else value


def events(folder: Path) -> list[tuple[int, str, float]]:
    """Every scalar of every event file, in order; empty without tensorboardX."""
    try:
        from tensorboardX.proto import event_pb2
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
    said: dict[str, Any] = {"metrics": [told(json.loads(line)) for line in (run / "metrics.jsonl").read_text().splitlines()]}
    said["events"] = events(run / "events")
    said["names"] = sorted(path.name for path in (run / "checkpoints").iterdir())
    said["best"] = json.loads((run / "checkpoints" / "best.json").read_text())
    for folder in sorted((run / "checkpoints").glob("step-*")):
        for name in ("weights.safetensors", "optimizer.safetensors"):
            said[f"{folder.name}/{name}"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        said[f"{folder.name}/state.json"] = told(json.loads((folder / "state.json").read_text()))
    return said


def start(folder: Path, pause: float, slow: float) -> subprocess.Popen[str]:
    """A process that trains in ``folder``."""
    command = [sys.executable, "-m", "tests.training.torture", "--train", str(folder), "--pause", str(pause), "--slow", str(slow)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def writing(run: Path) -> bool:
    """Whether a checkpoint is begun and has not got its name."""
    return any((run / "checkpoints").glob(".new-*"))


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a process that must come to its end; what it said when it did not."""
    said, _ = process.communicate(timeout=300)
    if process.returncode:
        raise SystemExit(f"a training ended with {process.returncode}:\n{said}")


def torture(kills: int, seed: int, folder: Path) -> int:
    """Kill ``kills`` times; 1 where an end differs."""
    draw = random.Random(seed)
    ended(start(folder / "alone", 0.0, 0.0))
    wanted = contents(folder / "alone")
    done = within = runs = 0
    while done < kills:
        run = folder / f"run{runs}"
        of_this = 0
        while True:
            slow = draw.choice([0.0, 0.01, 0.02])
            process = start(run, 0.005, slow)
            assert process.stdout is not None
            if done < kills:
                process.stdout.readline()
                time.sleep(draw.choice([draw.uniform(0.0, 0.1), draw.uniform(0.0, 100 * slow or 0.4), draw.uniform(0.0, 0.6)]))
                if draw.random() < 0.5:
                    while process.poll() is None and not writing(run):
                        time.sleep(0.0005)
                    time.sleep(draw.uniform(0.0, 5 * slow))
                if process.poll() is None:
                    process.kill()
                    process.communicate()
                    done, of_this = done + 1, of_this + 1
                    within += writing(run)
                    continue
            ended(process)
            break
        runs += 1
        found = contents(run)
        if found != wanted:
            differing = [key for key in {*wanted, *found} if wanted.get(key) != found.get(key)]
            print(f"seed {seed}, run {runs} killed {of_this} times: {differing} differ; see {run}")
            return 1
        shutil.rmtree(run)
        print(f"run {runs}: killed {of_this} times, the same to the bit", flush=True)
    print(f"PASS: {done} kills in {runs} runs, {within} of them within the writing of a checkpoint; seed {seed}")
    return 0


def main(given: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.training.torture", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="how often (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the moments; drawn anew unless told")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--pause", type=float, default=0.0, help=argparse.SUPPRESS)
    parser.add_argument("--slow", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.train is not None:
        train(options.train, options.pause, options.slow)
        return 0
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="typednn-torture-"))
    code = torture(options.kills, seed, folder)
    if not code:
        shutil.rmtree(folder)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
