"""A small run of each kind, trained in a moment: of a table, of images, of texts, of a language."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from typednn.recipes import Samples, choose, recipe, train
from typednn.recipes.catalogue import PRESETS, gpt2

TEXT = "".join(f"{line}: {line * line} times\n" for line in range(150))


def table(folder: Path, task: str = "regression") -> Path:
    """``area,year,kind`` or ``price``; a regression, or a classification into ``large`` and ``small``."""
    rng = np.random.default_rng(0)
    area, year = rng.uniform(30, 150, 120), rng.integers(1900, 2020, 120)
    price = 2500 * area + 600 * (year - 1900)
    rows = [f"{a:.1f},{y},{p:.0f},{'large' if a > 90 else 'small'}" for a, y, p in zip(area, year, price, strict=True)]
    target = {"regression": "price", "classification": "kind"}[task]
    keep = (0, 1, 2) if task == "regression" else (0, 1, 3)
    lines = [["area", "year", "price", "kind"], *(row.split(",") for row in rows)]
    path = folder / f"{target}.csv"
    path.write_text("".join(",".join(line[place] for place in keep) + "\n" for line in lines), encoding="utf-8")
    chosen, samples = choose(str(path), target=target)
    train(chosen.changed({"max_steps": 20}), samples, run=folder / target, progress=False)
    return folder / target


def images(folder: Path) -> Path:
    """Grey images of 28 x 28, of ten classes."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 10
    x = rng.integers(0, 30, (60, 28, 28, 1)).astype(np.float32)
    x[np.arange(60), 2 * labels + 3, 4:20, 0] = 255.0
    samples = Samples("pictures", "made here", x, labels, x, labels)
    train(recipe("mlp").changed({"epochs": 2}), samples, run=folder / "images", progress=False)
    return folder / "images"


def texts(folder: Path) -> Path:
    """Texts of digits or of letters."""
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        for name, letters in (("digits", "0123456789"), ("letters", "abcdefgh")):
            place = folder / "texts-data" / part / name
            place.mkdir(parents=True)
            for number in range(8):
                (place / f"{number:02}.txt").write_text("".join(rng.choice(list(letters), rng.integers(5, 30))))
    short = recipe("lstm").changed({"epochs": 1, "least_steps": 1, "batch_size": 8})
    train(short, str(folder / "texts-data"), run=folder / "texts", progress=False)
    return folder / "texts"


def language(folder: Path) -> Path:
    """A language model of characters."""
    (folder / "text.txt").write_text(TEXT)
    small = replace(PRESETS["shakespeare-char"], model=partial(gpt2, n_positions=8, n_embd=8, n_layer=1, n_head=2))
    settings = {"batch_size": 16, "evaluate_every": 10, "max_steps": 10}
    train(small.changed(settings), str(folder / "text.txt"), run=folder / "language", progress=False)
    return folder / "language"
