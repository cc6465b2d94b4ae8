"""What a prompt and a notebook show of an object: a line or two, however many numbers it holds."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.data import Batch, Dataset, ImageFiles, ImageFolder, ImageSets, Loader, Pixels, TextFolder, read_table
from typednn.layers import Linear
from typednn.metrics import Areas
from typednn.optim import SGD, AdamW, CosineLR, GradientOptimizer, Group
from typednn.recipes import RECIPES, Samples, find, train
from typednn.runs import Run
from typednn.runs.history import Epoch, History, LearningRates, Measured
from typednn.screen import as_call
from typednn.tasks import Classification
from typednn.training import Evaluation

rng = np.random.default_rng(0)
X: Any = rng.standard_normal((300, 4), dtype=np.float32)
Y: Any = rng.integers(0, 3, 300)
IMAGES: Any = rng.random((20, 8, 8, 1), dtype=np.float32)
LABELS: Any = rng.integers(0, 3, 20)
FILES = ImageFiles(tuple(Path(f"a/long/name/of/a/folder/{n}.png") for n in range(900)), (8, 8))
RATES = tuple(np.geomspace(1e-6, 1.0, 100).tolist())
SAMPLES = Samples("three", "three corners", X, Y, X, Y, ("a", "b", "c"))


def table(folder: Path) -> Any:
    (folder / "t.csv").write_text("a,b,c\n" + "".join(f"{n},{2 * n},{n % 3}\n" for n in range(400)), encoding="utf-8")
    return read_table(folder / "t.csv", target="c")


def loader() -> Any:
    return Loader(X, Y, batch_size=10, rng=rng, sample_weight=np.ones(300))


MADE: dict[str, tuple[Any, str]] = {
    "loader": (loader, "Loader(x=float32 (300, 4), y=int64 (300,), batch_size=10, epoch=0, step=0)"),
    "batch": (
        lambda: next(loader().batches()),
        "Batch(x=float32 (10, 4), y=int64 (10,), indices=int64 (10,), sample_weight=float64 (10,))",
    ),
    "batch without weights": (
        lambda: Batch(X, Y, Y),
        "Batch(x=float32 (300, 4), y=int64 (300,), indices=int64 (300,))",
    ),
    "evaluation": (
        lambda: Evaluation(X, Y, batch_size=7),
        "Evaluation(x=float32 (300, 4), y=int64 (300,), batch_size=7)",
    ),
    "samples": (lambda: SAMPLES, "Samples(name='three', where='three corners', x=float32 (300, 4), y=int64 (300,), "),
    "data set": (lambda: Dataset(IMAGES, LABELS, IMAGES, LABELS, 3), "Dataset(train_images=float32 (20, 8, 8, 1), "),
    "pixels": (
        lambda: Pixels(*[(IMAGES * 255).astype(np.uint8), LABELS] * 2, 3),
        "Pixels(train_images=uint8 (20, 8, 8, 1), train_labels=int64 (20,), ",
    ),
    "image files": (lambda: FILES, "ImageFiles(paths=<900 of them>, size=(8, 8))"),
    "image folder": (
        lambda: ImageFolder(IMAGES, LABELS, ("a",) * 90, FILES.paths),
        "ImageFolder(images=float32 (20, 8, 8, 1), labels=int64 (20,), names=<90 of them>, paths=<900 of them>)",
    ),
    "image sets": (
        lambda: ImageSets(FILES, LABELS, FILES, LABELS, None, None, ("a",)),
        "ImageSets(train_images=uint8 (900, 8, 8, 3), train_labels=int64 (20,), ",
    ),
    "text folder": (lambda: TextFolder(Y[:, None], Y, ("a", "b"), FILES.paths), "TextFolder(tokens=int64 (300, 1), "),
    "table": (
        lambda folder: table(folder),
        "Table(x=float32 (400, 2), y=float64 (400,), columns=('a', 'b'), target='c'",
    ),
    "history": (
        lambda: History(tuple(Epoch(n, 0.5, 1.0) for n in range(99)), (Measured(1, 1, "test", 0.1, {}),) * 99),
        "History(epochs=<99 of them>, evaluations=<99 of them>)",
    ),
    "learning rates": (
        lambda: LearningRates(RATES, RATES, RATES, 0.1),
        "LearningRates(rates=<100 of them>, losses=<100 of them>, smoothed=<100 of them>, suggestion=0.1)",
    ),
    "report": (lambda: Classification().report(X[:, :3], Y), "ClassificationReport(classes=3, precision=float64 (3,)"),
    "areas": (
        lambda: Areas(0.5, 0.25, (X[:, 0], X[:, 1]), None),  # type: ignore[arg-type]
        "Areas(roc_auc=0.5, average_precision=0.25, roc=<2 of them>, precision_recall=None)",
    ),
    "optimizer": (lambda: SGD(0.1, momentum=0.9), "SGD(lr=0.1, momentum=0.9)"),
    "optimizer of a model": (
        lambda: AdamW(ema=0.99).bind((Input(4) >> Linear(4, 3)).init(rng)),
        "AdamW(lr=0.001, weight_decay=0.01, ema=0.99)",
    ),
    "optimizer with a schedule": (
        lambda: SGD(CosineLR(0.1, total_steps=100), groups=[Group("*.bias", weight_decay=0.0)] * 9),
        "SGD(lr=CosineLR(lr=0.1, total_steps=100, warmup_steps=0, eta_min=0.0), groups=<9 of them>)",
    ),
    "run": (lambda folder: Run(folder / "one"), "Run('"),
    "trained": (
        lambda: train(find("mlp").changed(epochs=1), SAMPLES, progress=False),
        "Trained(plan=Plan(…), model=Stack, history=History(…), train=ClassificationReport(…), ",
    ),
    **{f"recipe {name}": (partial(find, name), "Recipe(") for name in RECIPES},
}


@pytest.mark.parametrize("case", MADE)
def test_short(case: str, tmp_path: Path) -> None:
    make, begins = MADE[case]
    made = make(tmp_path) if "folder" in getattr(make, "__code__", test_short.__code__).co_varnames else make()
    text = repr(made)
    assert text.startswith(begins)
    assert len(text) <= 400
    assert "\n" not in text
    assert "array(" not in text
    shown = getattr(made, "_repr_html_", None)
    if shown is not None:
        assert "<" in shown()


def test_an_optimizer_of_ones_own() -> None:
    """Arguments that it does not keep are left out."""

    class Mine(GradientOptimizer):
        def __init__(self, lr: float = 0.5, *, unkept: int = 3, kept: int = 4) -> None:
            super().__init__(lr)
            self.kept = kept + unkept

        def apply(self, state: Any, grad: Any, lr: float) -> None:
            return None

    assert repr(Mine()) == "Mine(lr=0.5, kept=7)"


def test_values_that_are_long() -> None:
    class Wordy:
        def __repr__(self) -> str:
            return "w" * 100

    assert as_call("f", {"a": "x" * 90, "b": Wordy(), "c": {n: n for n in range(99)}, "d": len}) == (
        f"f(a='{'x' * 58}…, b={'w' * 59}…, c=<99 of them>, d=<built-in function len>)"
    )
