"""What typednn wrote at commit 2aa3f6d, made by that commit's code: run folders, checkpoints, saved weights, and what they said.

    python tests/golden/before/make.py        in a checkout of that commit, with OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

Never to be made again by newer code: `tests/training/test_before.py` reads these files, and newer code must read them as that commit did.
"""

import json
import os
import platform
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from typednn import config
from typednn.losses import SoftmaxCrossEntropy
from typednn.recipes import load_tables, recipe_of_config, resume, train
from typednn.recipes.using import evaluate_run, predict
from typednn.training import Callback, Step

HERE = Path(__file__).resolve().parent
SOURCE = {"train": "train.csv", "test": "test.csv"}
CORNERS = np.array([[2, 0, 0, 1], [0, 2, 1, 0], [-2, 0, -1, -1]])


class Stop(Callback):
    def on_step(self, step: Step) -> None:
        if step.step == 11:
            os.kill(os.getpid(), signal.SIGINT)


def table(rows: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    numbers = CORNERS[labels] + 0.8 * rng.standard_normal((rows, 4))
    return "".join(f"{label}," + ",".join(f"{number:.3f}" for number in row) + "\n" for label, row in zip(labels, numbers, strict=True))


def tidy(run: Path) -> None:
    """Without what is a machine's own: the name of the machine is in the events' names, a process's number in the lock."""
    shutil.rmtree(run / "events", ignore_errors=True)
    (run / "lock").unlink()


def said(run: str) -> dict[str, Any]:
    report, _ = evaluate_run(run)
    return {
        "confusion": report.confusion.tolist(),
        "probabilities": [list(answer.probabilities.values()) for answer in predict(run, ["rows.csv"])],
        "labels": [answer.label for answer in predict(run, ["rows.csv"])],
    }


def main() -> None:
    os.chdir(HERE)
    expected: dict[str, Any] = {}
    Path("train.csv").write_text("label,a,b,c,d\n" + table(60, 0), encoding="utf-8")
    Path("test.csv").write_text(table(30, 1), encoding="utf-8")
    Path("rows.csv").write_text("".join(line.partition(",")[2] + "\n" for line in table(5, 2).splitlines()), encoding="utf-8")

    # Configs, their weights by state_dict, and what forward, a loss's gradient and three updates make of them.
    for name in ("rows.toml", "images.toml", "paper.config"):
        read = config.load(name)
        model: Any = read.model().init(read.rng())
        safetensors.numpy.save_file(model.state_dict(), f"{name}.safetensors")
        x = np.random.default_rng(5).standard_normal((4, model.in_features), dtype=np.float32)
        expected[name] = {"printed": str(model), "output": model.forward(x).tolist()}
        optimizer: Any = read.optimizer()
        if name == "rows.toml":
            loss: Any = SoftmaxCrossEntropy()
            optimizer.bind(model)
            for _ in range(3):
                model.update(optimizer, model.backward(loss.loss_grad(model.forward(x), np.array([0, 1, 2, 0]))))
            safetensors.numpy.save_file(model.state_dict(), f"{name}.stepped.safetensors")

    samples = load_tables("train.csv", "test.csv")
    settings = {"epochs": 6, "batch_size": 16, "validation": 0.2, "seed": 1, "clip_grad_norm": 5.0}
    mine = recipe_of_config("rows.toml").changed(settings)
    for folder in ("finished", "interrupted", "whole"):
        shutil.rmtree(folder, ignore_errors=True)
    train(mine.changed({"patience": 2, "optimizer.lr": 0.05}), samples, run="finished", source=SOURCE, progress=False)
    expected["finished"] = said("finished")
    tidy(Path("finished"))
    try:
        longer = mine.changed({"accumulate": 2, "epochs": 12, "fuse": False})
        train(longer, samples, run="interrupted", source=SOURCE, callbacks=[Stop()], progress=False)
    except KeyboardInterrupt:
        tidy(Path("interrupted"))
    shutil.copytree("interrupted", "whole")
    result = resume("whole", progress=False)
    expected["interrupted"] = {**said("whole"), "losses": result.history.losses, "steps": result.history.steps}
    newest = max(Path("whole", "checkpoints").glob("step-*"))
    for name in ("weights", "optimizer"):
        shutil.copy(newest / f"{name}.safetensors", f"resumed.{name}.safetensors")
    shutil.rmtree("whole")

    versions = {"commit": "2aa3f6d", "python": platform.python_version(), "numpy": np.__version__, "safetensors": safetensors.__version__}
    for name, content in (("expected", expected), ("versions", versions)):
        Path(f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


main()
