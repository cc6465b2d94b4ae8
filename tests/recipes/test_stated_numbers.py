"""Numbers that recipes and their documentation state: those that the models and the settings have."""

import re
from pathlib import Path
from typing import Any

import pytest

from typednn.models import GPT2
from typednn.recipes import RECIPES, catalogue
from typednn.recipes.catalogue import PRESETS

DOCS = Path(__file__).parents[2] / "docs"
EVERY = RECIPES | {f"gpt2 {name}": each for name, each in PRESETS.items()}


def parameters(recipe: Any, **sizes: Any) -> str:
    return f"{recipe.model(**sizes).num_parameters():,} parameters"


@pytest.mark.parametrize("name", EVERY)
def test_what_a_recipe_says_of_itself(name: str) -> None:
    """Nothing that data or settings change: sizes are computed where they are told."""
    assert not re.search(r"parameter|million|thousand|character|byte pair", EVERY[name].about)
    assert set(re.findall(r"\d[\d.]*", EVERY[name].about)) <= {
        "lenet5": {"5", "99"},
        "lenet5-paper": {"5", "42", "6", "1.0", "600", "0"},
        "mlp": {"128", "98"},
        "lstm": {"128"},
        "resnet18": {"18"},
        "resnet34": {"34"},
        "resnet50": {"50"},
        "vgg16": {"16", "32"},
    }.get(name, {"2"})


def test_numbers_of_settings() -> None:
    """Each number in the sentence of a recipe is a setting of it, or a size that nothing changes."""
    assert "in five epochs" in RECIPES["lenet5"].about
    assert RECIPES["lenet5"].epochs == 5
    paper = RECIPES["lenet5-paper"]
    assert "PCG(42, 6), learning rate 1.0, batches of 600, ten epochs" in paper.about
    assert (paper.generator, paper.seed, paper.stream, paper.optimizer["lr"]) == ("pcg32", 42, 6, 1.0)
    assert (paper.batch_size, paper.epochs) == (600, 10)
    assert "one hidden layer of 128 units" in RECIPES["mlp"].about
    assert RECIPES["mlp"].model().parameter_shapes()["fc1.weight"] == (128, 784)
    assert "their last 128 bytes" in RECIPES["lstm"].about
    assert RECIPES["lstm"].sample == (128,)


def test_numbers_of_the_documentation() -> None:
    models, training = ((DOCS / name).read_text(encoding="utf-8") for name in ("models.md", "training.md"))
    letters = parameters(PRESETS["shakespeare-char"], classes=65)
    rows = {
        f"| `shakespeare-char`, the default | 4 layers, 4 heads, 128 wide, 64 positions; {letters} |": models,
        f"a head of its own; {parameters(PRESETS['nina'], classes=12_729)} with 12,729 tokens |": models,
        f"| `lenet5` | {parameters(RECIPES['lenet5'])}, scores |": training,
        f"| `lenet5-paper` | {parameters(RECIPES['lenet5-paper'])}, Softmax |": training,
        f"lenet5        {parameters(RECIPES['lenet5'])}; Nesterov": catalogue.__doc__ or "",
    }
    for stated, page in rows.items():
        assert stated in page
    published: GPT2 = GPT2()
    assert round(published.num_parameters() / 1e6) == 124
    assert PRESETS["gpt2-124m"].model().num_parameters() == published.num_parameters()
