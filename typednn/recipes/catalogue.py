"""Recipes by name, and recipes from a config file.

============  =====================================================================================
lenet5        61,706 parameters; Nesterov momentum under a cosine, from scores; at least 99 % of MNIST's test images
lenet5-paper  as "Deep Learning Implementation With Rust" trains it (section XI), number for number
mlp           one hidden layer of 128, for rows of a table or images of any size; a few seconds per epoch
lstm          for texts: a folder per class, a .txt file per text
cnn           four convolutions, for some dozens or hundreds of photographs: changed at random, stopped early
resnet18      for images of any size and colour, and any number of classes; resnet34, resnet50 and vgg16 likewise
gpt2          a language model, for any text or file of tokens, in the sizes of `PRESETS`
============  =====================================================================================
"""

import math
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from typednn.config import dumps, load
from typednn.errors import ArgumentError, closest, explain, suggestion
from typednn.layer import Input
from typednn.layers import BatchNorm2d, Conv2d, Flatten, GlobalAvgPool2d, Linear, MaxPool2d, ReLU, Softmax
from typednn.models import GPT2, lenet5, lstm_classifier, resnet18, resnet34, resnet50, vgg16
from typednn.models.hub import local_folder
from typednn.recipes.plan import FILE, holds_run, read_plan
from typednn.recipes.recipe import AnyModel, Recipe
from typednn.recipes.weights import sizes_at, vocabulary_for


def _mlp(classes: int = 10, shape: tuple[int, ...] = (28, 28, 1)) -> AnyModel:
    hidden = Linear(math.prod(shape), 128, weight_init="he_normal", bias_init="zeros").named("fc1")
    read: Any = Input(*shape) >> Flatten() if len(shape) > 1 else Input(*shape)
    return read >> hidden >> ReLU() >> Linear(128, classes, weight_init="he_normal", bias_init="zeros").named("fc2")


def _cnn(classes: int = 10, image: tuple[int, int, int] = (64, 64, 3)) -> AnyModel:
    """Blocks of Conv2d 3x3, BatchNorm2d, ReLU and MaxPool2d, each with twice the channels of the one before."""
    model: Any = Input(*image)
    channels = image[2]
    for number, wide in enumerate((16, 32, 64, 128), 1):
        convolution = Conv2d(channels, wide, 3, padding=1, bias=False, weight_init="he_normal")
        model = model >> convolution.named(f"conv{number}") >> BatchNorm2d(wide).named(f"bn{number}") >> ReLU()
        model = model >> MaxPool2d(2) if min(image[:2]) >= 2**number else model
        channels = wide
    return model >> GlobalAvgPool2d() >> Linear(channels, classes, bias_init="zeros").named("fc")


_MODERN = {
    "type": "SGD",
    "lr": {"type": "CosineLR", "lr": 0.05, "warmup_steps": 100},
    "momentum": 0.9,
    "nesterov": True,
}


def _deep(name: str, model: Callable[..., AnyModel], about: str, lr: float = 0.1) -> Recipe:
    """A recipe for photographs, or any other images."""
    optimizer = {**_MODERN, "lr": {"type": "CosineLR", "lr": lr, "warmup_steps": 200}, "weight_decay": 5e-4}
    small = partial(model, classes=10, image=(32, 32, 3))
    return Recipe(
        name,
        small,
        optimizer,
        about,
        "cifar-10",
        epochs=30,
        least_steps=500,
        batch_size=128,
        validation=0.05,
        adapts=("classes", "image"),
    )


def gpt2(classes: int = 50257, **sizes: Any) -> AnyModel:
    """``classes`` are the tokens of the vocabulary."""
    model: GPT2 = GPT2(classes, **sizes)
    return Input(model.n_positions, dtype=int) >> model


_ADAMW = {
    "type": "AdamW",
    "betas": [0.9, 0.99],
    "group": [{"names": name, "weight_decay": 0.0} for name in ("*bias", "*ln_*")],
}
_SPOKEN = Recipe(
    "gpt2",
    partial(gpt2, n_positions=64, n_embd=128, n_layer=4, n_head=4),
    {
        **_ADAMW,
        "lr": {"type": "CosineLR", "lr": 1e-3, "warmup_steps": 100, "eta_min": 1e-4},
        "weight_decay": 0.1,
    },
    about="a GPT-2 that learns to write a text",
    data="tinyshakespeare",
    task="language",
    max_steps=2000,
    batch_size=12,
    generator="numpy",
    seed=1337,
    clip_grad_norm=1.0,
    validation=0.1,
    evaluate_every=250,
    checkpoint_every=250,
    adapts=("classes",),
    vocabulary="characters",
    stride=1,
)
PRESETS: dict[str, Recipe] = {
    "shakespeare-char": _SPOKEN,
    "nina": replace(
        _SPOKEN,
        model=partial(gpt2, n_positions=128, n_embd=256, n_layer=6, n_head=8, tie_word_embeddings=False, initial="he"),
        optimizer={"type": "AdamW", "lr": 1e-3, "weight_decay": 0.0},
        about="a GPT-2 with a head of its own that learns a text by heart",
        max_steps=None,
        epochs=100,
        batch_size=16,
        clip_grad_norm=None,
        validation=0.0,
        evaluate_every=None,
        checkpoint_every=None,
        vocabulary="nina",
        stride=None,
    ),
    "gpt2-124m": replace(
        _SPOKEN,
        model=partial(gpt2, n_positions=1024, n_embd=768, n_layer=12, n_head=12),
        optimizer={
            **_ADAMW,
            "betas": [0.9, 0.95],
            "lr": {"type": "CosineLR", "lr": 6e-4, "warmup_steps": 100, "eta_min": 6e-5},
            "weight_decay": 0.1,
        },
        about="GPT-2, by default in its smallest published size",
        vocabulary="gpt2",
        batch_size=4,
        accumulate=8,
        stride=None,
    ),
}
RECIPES: dict[str, Recipe] = {
    each.name: each
    for each in (
        Recipe(
            "lenet5",
            partial(lenet5, bias=True, softmax=False, bias_init="zeros"),
            {**_MODERN, "weight_decay": 5e-4},
            about="LeNet5 on handwritten digits: at least 99 % of MNIST's test images in five epochs",
            epochs=5,
            least_steps=700,
            validation=0.05,
        ),
        Recipe(
            "lenet5-paper",
            lenet5,
            {"type": "SGD", "lr": 1.0, "decay": 1e-7},
            about="LeNet5 as the paper trains it: PCG(42, 6), learning rate 1.0, batches of 600, ten epochs, smoothed "
            "targets",
            data="mnist",
            epochs=10,
            batch_size=600,
            loss="cross_entropy",
            smoothing=0.1,
            seed=42,
            stream=6,
        ),
        Recipe(
            "mlp",
            _mlp,
            _MODERN,
            about="one hidden layer of 128 units, for rows or images: quick, 98 % of MNIST's test images",
            epochs=5,
            least_steps=700,
            validation=0.05,
            adapts=("classes", "shape"),
        ),
        Recipe(
            "lstm",
            partial(lstm_classifier, classes=2),
            {"type": "Adam", "lr": {"type": "CosineLR", "lr": 2e-3, "warmup_steps": 50}},
            about="an LSTM that classifies texts by their last 128 bytes; --data names a folder of texts",
            data="texts",
            epochs=10,
            least_steps=500,
            clip_grad_norm=1.0,
            adapts=("classes",),
        ),
        Recipe(
            "cnn",
            _cnn,
            {
                "type": "AdamW",
                "lr": {"type": "CosineLR", "lr": 2e-3, "warmup_steps": 20},
                "weight_decay": 1e-2,
            },
            about="a small convolutional network for few photographs, which are changed at random in training",
            data="cifar-10",
            epochs=10,
            least_steps=400,
            batch_size=16,
            validation=0.15,
            stratify=True,
            patience=10,
            evaluate_every=25,
            checkpoint_every=100,
            adapts=("classes", "image"),
            augment=(
                "RandomHorizontalFlip",
                "RandomShift",
                {"type": "RandomRotation", "degrees": 15},
                {"type": "ColorJitter", "brightness": 0.3, "contrast": 0.3, "saturation": 0.3},
            ),
        ),
        _deep("resnet18", resnet18, "ResNet-18 on images of any size"),
        _deep("resnet34", resnet34, "ResNet-34 on images of any size"),
        _deep("resnet50", resnet50, "ResNet-50 on images of any size"),
        _deep("vgg16", vgg16, "VGG16 on images of at least 32x32", 0.01),
        _SPOKEN,
    )
}


def recipe(name: str) -> Recipe:
    """The recipe of that name; `ArgumentError` with the one that was probably meant."""
    if name not in RECIPES:
        raise ArgumentError(explain("recipe", "expects the name of one", repr(name), suggestion(name, RECIPES)), "name")
    return RECIPES[name]


def preset(name: str, of: Recipe) -> Recipe:
    """``of``, a gpt2, with the size and the settings of a preset; `ArgumentError` with the one that was
    probably meant.
    """
    _check_name("--preset", of)
    if name not in PRESETS:
        raise ArgumentError(explain("--preset", "expects the name of one", repr(name), suggestion(name, PRESETS)))
    return PRESETS[name]


def starting_from(path: str, of: Recipe | None = None, vocabulary: str | None = None) -> Recipe:
    """A recipe that starts from the weights at ``path``. Of a run it is the run's recipe, unless ``of`` is another, and
    of a file of weights ``of``; a gpt2 has the sizes there, as `typednn.recipes.weights` reads them, and their
    vocabulary or another.
    """
    place = local_folder("--from", path).resolve()
    if of is None and holds_run(place) and not os.path.isfile(place / FILE):
        rule, cure = "a run of fit holds weights, for the model that is named", "such as --model mlp"
        raise ArgumentError(explain("--from", rule, "no model", cure))
    if os.path.isfile(place / FILE):
        begun = read_plan(place).recipe
        same = RECIPES.get(begun.name)
        if same is not None and begun.task != "language":
            begun = replace(begun, model=same.model, adapts=same.adapts, described=None)
        return replace(of or begun, weights=str(place), start_from_epoch=0, freeze=0, fold="")
    if of is not None and of.task != "language":
        return replace(of, weights=str(place))
    if of is None and place.suffix in (".safetensors", ".pt", ".pth"):
        rule, cure = "a file of weights is for the model that is named", "such as --model resnet18"
        raise ArgumentError(explain("--from", rule, "no model", cure))
    of = of or RECIPES["gpt2"]
    sizes = sizes_at(place)
    count = sizes.pop("vocab_size")
    return replace(
        of, model=partial(gpt2, **sizes), vocabulary=vocabulary or vocabulary_for(place, count), weights=str(place)
    )


def _check_name(option: str, of: Recipe) -> None:
    if of.task != "language" or of.described is not None:
        raise ArgumentError(explain(option, "is for the recipe gpt2", f"recipe {of.name!r}", "typednn train gpt2"))


def recipe_of_config(path: str | Path, imports: Sequence[str] = ()) -> Recipe:
    """A config file as a recipe: its model, its optimizer (SGD, 0.05, momentum 0.9 where it names none) and its
    generator.

    Where the model ends with Softmax, the loss is `CrossEntropy`, else `SoftmaxCrossEntropy`. A config in the paper's
    own format is trained as the paper does: its batch size, ten epochs, smoothed targets.
    """
    config = load(path, imports)
    model, optimizer = config.checked, config.optimizer()
    paper = config.batch is not None
    init = config.init
    table: dict[str, Any] = {"type": "SGD", "lr": 0.05, "momentum": 0.9}
    if optimizer is not None:
        table = tomllib.loads(dumps(model, optimizer))["optimizer"]
    last = list(model.children())[-1][1]
    return Recipe(
        Path(path).stem,
        config.built,
        table,
        about=f"the model of {Path(path).name}",
        batch_size=config.batch or 64,
        loss="cross_entropy" if isinstance(getattr(last, "layer", last), Softmax) else "softmax_cross_entropy",
        smoothing=0.1 if paper else 0.0,
        seed=init.get("seed", 0),
        generator=init.get("generator", "numpy") if init else "pcg32",
        stream=init.get("stream") or 0,
        imports=tuple(imports),
        described=config,
    )


def find(name_or_config: str, imports: Sequence[str] = ()) -> Recipe:
    """A recipe by its name, else the config file of that path; ``imports`` are modules that register layers."""
    place = Path(name_or_config)
    if name_or_config in RECIPES:
        return replace(RECIPES[name_or_config], imports=tuple(imports)) if imports else RECIPES[name_or_config]
    if place.suffix.lower() not in _NO_CONFIGS and place.is_file():
        return recipe_of_config(name_or_config, imports)
    got, cure = repr(name_or_config), _NO_CONFIGS.get(place.suffix.lower(), "")
    if name_or_config and place.is_dir():
        got = f"the folder {name_or_config!r}"
        cure = (
            "a run goes on with: typednn resume RUN" if (place / "recipe.json").exists() else "data are named by --data"
        )
    elif not cure:
        near = closest(name_or_config.replace("-", "").replace("_", ""), RECIPES)
        cure = f"did you mean {near!r}?" if near else suggestion(name_or_config, RECIPES)
    raise ArgumentError(
        explain("recipe", "expects the name of a recipe or a config file that exists", got, cure), "name_or_config"
    )


_TOML = "configs are TOML or JSON, such as `typednn new NAME` writes; `typednn docs config` has every key"
_NO_CONFIGS = {
    **dict.fromkeys((".yaml", ".yml", ".ini", ".cfg", ".xml"), _TOML),
    ".py": "a script is started with python; typednn check looks for size mistakes in it",
    ".ipynb": "a notebook is started with Jupyter",
    **dict.fromkeys(
        (".csv", ".tsv", ".parquet", ".arrow", ".feather"),
        "a table is data: typednn train --data TABLE --target COLUMN",
    ),
    **dict.fromkeys(
        (".safetensors", ".pt", ".pth", ".onnx", ".h5", ".keras", ".ckpt", ".bin"),
        "that is a file of weights, not a recipe",
    ),
}
