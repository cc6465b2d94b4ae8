"""A run folder as training leaves it, made without training: smooth curves with noise, ten classes of
blurred digits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MODEL = """Chain                                    (batch, 28, 28, 1)
├── 0 conv1   Conv2d(1, 6, (5, 5))       (batch, 24, 24, 6)      156
├── 1 relu1   ReLU()                     (batch, 24, 24, 6)        0
└── 2 fc      Linear(3456, 10)           (batch, 10)          34,570
"""
CONFIG = '[model]\nname = "lenet5"\n\n[optimizer]\nname = "Adam"\nlr = 0.001\n'
# Of a classifier, in the order in which they are drawn.
PICTURES = ("curves.png", "accuracy.png", "confusion.png", "worst.png", "filters.png", "gradient_norms.png")
LAYERS = ("conv1", "conv2", "fc1", "fc2", "fc3")


def metrics_lines(steps: int = 400, per_epoch: int = 100, layers: tuple[str, ...] = LAYERS) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    lines: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        share = step / steps
        loss = float(2.3 * np.exp(-6 * share) + 0.05 + 0.15 * np.exp(-3 * share) * rng.gamma(2.0))
        entry: dict[str, Any] = {
            "kind": "step",
            "step": step,
            "epoch": (step - 1) // per_epoch + 1,
            "loss": loss,
            "lr": 0.001 * (1 - 0.9 * share),
        }
        entry |= {"samples_per_second": 9000 + float(rng.normal(0, 300)), "seconds": step * 0.011}
        if step == 1 or step % 10 == 0:
            entry["gradient_norms"] = {
                layer: float(np.exp(-2 * share + rng.normal(0, 0.2) - 0.4 * place))
                for place, layer in enumerate(layers)
            }
        lines.append(entry)
        if step % max(per_epoch // 2, 1) == 0 or step == steps:
            for split, gap in (("train", 0.0), ("validation", 0.02)):
                accuracy = 0.985 - 0.6 * float(np.exp(-7 * share)) - gap * (0.4 + share)
                evaluation = {"kind": "evaluation", "step": step, "epoch": entry["epoch"], "split": split}
                lines.append(evaluation | {"loss": loss * (1 + 4 * gap), "accuracy": accuracy})
    return lines


def report_of(confusion: npt.NDArray[np.int64], names: list[str], split: str = "test") -> dict[str, Any]:
    right, called, support = np.diagonal(confusion), confusion.sum(0), confusion.sum(1)
    shares = {
        "precision": right / np.maximum(called, 1),
        "recall": right / np.maximum(support, 1),
        "f1": 2 * right / np.maximum(called + support, 1),
    }
    whole: dict[str, Any] = {
        "classes": len(names),
        "names": names,
        "confusion": confusion.tolist(),
        "support": support.tolist(),
    }
    whole |= {name: values.tolist() for name, values in shares.items()}
    return whole | {"accuracy": float(right.sum() / max(confusion.sum(), 1)), "split": split, "train_accuracy": 0.991}


def confusion_of(classes: int, samples: int = 1000) -> npt.NDArray[np.int64]:
    rng = np.random.default_rng(5)
    confusion = rng.poisson(samples / classes * 0.02 / classes * 3, (classes, classes)).astype(np.int64)
    confusion[np.arange(classes), np.arange(classes)] = rng.poisson(samples / classes, classes)
    return confusion


def write_metrics(run: Path, lines: list[dict[str, Any]]) -> None:
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def sample_run(run: Path, *, steps: int = 400, names: list[str] | None = None) -> Path:
    """Fill ``run`` with everything but pictures."""
    run.mkdir(parents=True, exist_ok=True)
    write_metrics(run, metrics_lines(steps))
    names = names if names is not None else [str(digit) for digit in range(10)]
    (run / "report.json").write_text(
        json.dumps(report_of(confusion_of(len(names), 100 * len(names)), names)), encoding="utf-8"
    )
    (run / "config.toml").write_text(CONFIG, encoding="utf-8")
    (run / "model.txt").write_text(MODEL, encoding="utf-8")
    environment = {
        "python": "3.11.9",
        "machine": "x86_64",
        "versions": {"numpy": "2.4.6", "typednn": "0.1.0"},
        "threads": 4,
        "engine": "numpy",
    }
    (run / "environment.json").write_text(json.dumps(environment), encoding="utf-8")
    return run


def sample_arrays(samples: int = 300, classes: int = 10, mistakes: float = 0.1) -> dict[str, npt.NDArray[Any]]:
    """Images, labels, scores and filters for ``write_plots``."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, classes, samples)
    rows, columns = np.mgrid[0:28, 0:28]
    turn = labels[:, None, None] * 0.6
    images = (
        np.exp(-(((rows - 14 - 7 * np.sin(turn)) / 4) ** 2 + ((columns - 14 - 7 * np.cos(turn)) / 3) ** 2))[..., None]
        * 255
    )
    logits = rng.normal(0, 1, (samples, classes))
    believed = np.where(rng.random(samples) < mistakes, rng.integers(0, classes, samples), labels)
    logits[np.arange(samples), believed] += 6
    return {
        "images": images.astype(np.float32),
        "labels": labels,
        "scores": logits,
        "filters": rng.normal(0, 0.3, (6, 5, 5, 1)).astype(np.float32),
    }


__all__ = ["confusion_of", "metrics_lines", "report_of", "sample_arrays", "sample_run", "write_metrics"]
