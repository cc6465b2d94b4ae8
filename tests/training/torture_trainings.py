"""The trainings that `tests.training.torture` kills: every kind of model, each with other options.

========  ==============================================================================================================
by-hand   a program: convolution, batch norm, dropout; Adam, EMA, a rate that follows the loss, a frozen group,
          accumulation, clipping
lenet5    the command line: images in two workers, augmented and balanced; SGD under a cosine, EMA, accumulation
resnet18  the command line: batch norm; large checkpoints; colours, augmented in three workers, incomplete batches left
          out
lstm      the command line: texts; Adam under a cosine, clipping, NumPy's generator
gpt2      the command line: a text by characters, overlapping windows; AdamW with groups, accumulation, an epoch in part
speaker   a program: a GPT-2 with dropout in attention and blocks; a worker, EMA, early stopping that ends it
formulas  the command line: a config with formulas for layers, dropout and batch norm; a table to regress, a rate that
          follows the loss, EMA, early stopping
========  ==============================================================================================================
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from PIL import Image

from typednn import Array1, Array2, Gradient, GraphElementwise, GraphLayer, Input, Parameter, S
from typednn.config import register
from typednn.data import Loader
from typednn.graph import AnyTensor, Tensor2, sigmoid, softplus, tanh, tensor
from typednn.layers import BatchNorm1d, Conv2d, Dropout, Flatten, Linear, MaxPool2d, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.models import GPT2
from typednn.optim import EMA, Adam, AdamW, CosineLR, Group, ReduceLROnPlateau
from typednn.random import PCG32
from typednn.runs import Run
from typednn.tasks import Language
from typednn.training import Callback, EarlyStopping, Evaluation, Every, Step, fit

MODULE: Final = "tests.training.torture_trainings"


@final
@dataclass(frozen=True, slots=True)
class Training:
    """Arguments of ``typednn train``, after what makes the files that they name; or a function that
    trains in a folder.
    """

    arguments: tuple[str, ...] = ()
    files: Callable[[], object] | None = None  # in the current folder
    modules: tuple[str, ...] = ()
    function: Callable[[Path], object] | None = None

    def command(self, name: str, run: Path, *, begun: bool) -> list[str]:
        """What a user types behind ``python -m`` to begin the training in ``run``, or to go on with it."""
        if self.function is not None:
            return [MODULE, name, str(run)]
        options = [word for module in self.modules for word in ("--import", module)]
        return [
            "typednn",
            *(["resume", str(run)] if begun else ["train", *self.arguments, "--run", str(run)]),
            *options,
        ]


# ------------------------------------------------------------------ formulas


@final
@dataclass(frozen=True, slots=True)
class SwishGrad(Gradient):
    """The derivatives of `Swish`."""

    input: Float[Array2, "batch features"]
    beta: Float[Array1, " features"]


@register("TortureSwish")
@final
class Swish(GraphLayer[Array2, Array2, SwishGrad, S]):
    """x·sigmoid(beta·x)."""

    beta: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int) -> None:
        self.features: int = features
        self.initialise_with(beta="ones")

    def formula(self, x: Float[Tensor2, "batch {self.features}"]) -> Float[Tensor2, "batch {self.features}"]:
        return x * sigmoid(tensor(self.beta) * x)


@register("TortureMish")
@final
class Mish(GraphElementwise[None]):
    """x·tanh(softplus(x))."""

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return x * tanh(softplus(x))


@register("TortureNoise")
@final
class Noise(GraphElementwise[None]):
    """In training each number times 1 + N(0, 0.01), drawn from a generator of the layer's own."""

    def __init__(self) -> None:
        self.rng: np.random.Generator = np.random.default_rng(8)

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        if not self.training:
            return x
        shape: tuple[int, ...] = x.shape
        return x * tensor(1.0 + 0.1 * self.rng.standard_normal(shape, dtype=np.float32))


# ------------------------------------------------------------------ data


def images(size: int, channels: int, each: int) -> None:
    """``each`` noisy pictures of three classes, in folders."""
    rng = np.random.default_rng(1)
    for kind in range(3):
        folder = Path("images", str(kind))
        folder.mkdir(parents=True)
        for number in range(each):
            pixels = rng.integers(0, 130, (size, size, channels)).astype(np.uint8)
            pixels[kind::3] += 100
            Image.fromarray(pixels if channels == 3 else pixels[..., 0]).save(folder / f"{number}.png")


def texts() -> None:
    """Texts of two classes, which differ in their words."""
    rng = np.random.default_rng(2)
    words = ["this", "that", "sun", "moon", "rain", "wind", "snow", "tree"]
    for part, count in (("train", 80), ("test", 16)):
        for kind, first in (("dry", 0), ("wet", 3)):
            folder = Path("texts", part, kind)
            folder.mkdir(parents=True)
            for number in range(count):
                (folder / f"{number}.txt").write_text(" ".join(rng.choice(words[first : first + 5], 20)))


def text() -> None:
    """One text."""
    words = ["the", "a", "dog", "cat", "sees", "likes", "and", "runs", ".\n"]
    Path("text.txt").write_text(" ".join(np.random.default_rng(3).choice(words, 1500)))


def table() -> None:
    """A table of numbers, and a config with formulas for layers."""
    x = np.random.default_rng(4).standard_normal((300, 4))
    y = np.sin(x[:, 0]) * x[:, 1] + 0.3 * np.random.default_rng(5).standard_normal(300)
    np.savetxt("table.csv", np.column_stack([x, y]), delimiter=",", header="a,b,c,d,y", comments="")
    Path("formulas.toml").write_text("""
format = 1
input = [4]
layer = [
    { type = "Linear", in_features = 4, out_features = 16 },
    { type = "TortureSwish", features = 16 },
    { type = "BatchNorm1d", num_features = 16 },
    { type = "Dropout", p = 0.1 },
    { type = "Linear", in_features = 16, out_features = 16 },
    { type = "TortureMish" },
    { type = "TortureNoise" },
    { type = "Linear", in_features = 16, out_features = 1 },
]

[optimizer]
type = "RMSprop"
lr = { type = "ReduceLROnPlateau", lr = 0.01, factor = 0.5, patience = 1 }
ema = { type = "EMA", decay = 0.9, warmup = true }
""")


# ------------------------------------------------------------------ programs


def run_in(folder: Path, model: Any) -> Run:
    """The run in ``folder``, begun or to be begun."""
    begun = any((folder / name).is_file() for name in ("config.toml", "recipe.json"))
    return Run.open(folder) if begun else Run.create(folder, "seed = 5\n", model)


class Pause(Callback):
    """Makes short steps longer, so that they are hit."""

    def on_step(self, step: Step) -> None:
        sleep(0.005)


def by_hand(folder: Path) -> None:
    """Small, with everything that has a state."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((230, 8, 8, 1), dtype=np.float32)
    y = (x[:, :4].sum(axis=(1, 2, 3)) > 0).astype(np.int64) + (x[:, 0, 0, 0] > 1)
    pictures = Input(8, 8, 1) >> Conv2d(1, 4, 3) >> ReLU() >> MaxPool2d(2) >> Flatten()
    model = (pictures >> Linear(36, 8) >> BatchNorm1d(8) >> ReLU() >> Dropout(0.2) >> Linear(8, 3)).init(PCG32(5))
    # lowered several times in these 52 steps
    rate = ReduceLROnPlateau(1e-2, factor=0.5, patience=0, threshold=0.2, cooldown=1)
    groups = [Group("4.bias", frozen=True), Group("0.*", lr=CosineLR(1e-2, total_steps=48, warmup_steps=5))]
    optimizer = Adam(rate, amsgrad=True, ema=EMA(0.9, warmup=True), groups=groups).bind(model)
    loader = Loader(x[:200], y[:200], batch_size=8, rng=np.random.default_rng(7))
    with run_in(folder, model) as run:
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


def speaker(folder: Path) -> None:
    """A language model that learns noise by heart, until it is stopped for what that does to other noise."""
    tokens: npt.NDArray[np.int64] = np.random.default_rng(6).integers(0, 19, (140, 17))
    model: Any = (Input(16, dtype=int) >> GPT2(19, n_positions=16, n_embd=32, n_layer=2, n_head=4, dropout=0.1)).init(
        PCG32(1)
    )
    loader = Loader(tokens[:100, :-1], tokens[:100, 1:], batch_size=8, rng=PCG32(2), workers=2)
    with run_in(folder, model) as run:
        fit(
            model,
            SoftmaxCrossEntropy(),
            AdamW(1e-2, ema=EMA(0.8), groups=[Group("*bias", weight_decay=0.0)]).bind(model),
            loader,
            epochs=30,
            task=Language(per_sample=16),
            run=run,
            callbacks=[Pause()],
            validation=Evaluation(tokens[100:, :-1], tokens[100:, 1:]),
            evaluate_every=8,
            checkpoint_every=4,
            early_stopping=EarlyStopping(patience=4),
            progress=False,
        )


# ------------------------------------------------------------------ the table


def _set(**settings: object) -> tuple[str, ...]:
    return tuple(word for name, value in settings.items() for word in ("--set", f"{name.replace('__', '.')}={value}"))


_LENET5 = _set(
    batch_size=16,
    accumulate=2,
    validation=0.1,
    evaluate_every=7,
    checkpoint_every=5,
    workers=2,
    balance="true",
    augment='["RandomHorizontalFlip", { type = "RandomRotation", degrees = 10 }, "GaussianNoise", "MixUp"]',
    optimizer__ema=0.9,
)
_RESNET18 = _set(
    batch_size=32,
    checkpoint_every=2,
    workers=3,
    drop_last="true",
    augment='["RandomVerticalFlip", { type = "RandomCrop", padding = 1 }, { type = "ColorJitter", brightness = 0.2 }, '
    '"RandomErasing"]',
)
_LSTM = _set(batch_size=16, checkpoint_every=4, generator="numpy")
_GPT2 = _set(
    **{"model.n_positions": 16, "model.n_embd": 32, "model.n_layer": 2, "model.n_head": 4},
    max_steps=60,
    accumulate=2,
    evaluate_every=25,
    checkpoint_every=6,
)
_FORMULAS = _set(batch_size=16, validation=0.2, patience=6, evaluate_every=5, checkpoint_every=4)
TRAININGS: Final[Mapping[str, Training]] = MappingProxyType(
    {
        "by-hand": Training(function=by_hand),
        "lenet5": Training(("lenet5", "--data", "images", "--epochs", "8", *_LENET5), lambda: images(28, 1, 60)),
        "resnet18": Training(("resnet18", "--data", "images", "--epochs", "2", *_RESNET18), lambda: images(8, 3, 80)),
        "lstm": Training(("lstm", "--data", "texts", "--epochs", "5", *_LSTM), texts),
        "gpt2": Training(("gpt2", "--data", "text.txt", *_GPT2), text),
        "speaker": Training(function=speaker),
        "formulas": Training(
            ("formulas.toml", "table.csv", "--target", "y", "--task", "regression", "--epochs", "40", *_FORMULAS),
            table,
            (MODULE,),
        ),
    }
)


if __name__ == "__main__":
    trains = TRAININGS[sys.argv[1]].function
    assert trains is not None, "the command line trains it"
    trains(Path(sys.argv[2]))
