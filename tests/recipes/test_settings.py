"""Every setting of a recipe, given values of every kind: what it takes trains, what it doesn't is refused in one
sentence.
"""

import inspect
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.config.registry import OPTIMIZERS, SCHEDULES
from typednn.errors import ArgumentError, TypednnError
from typednn.layers import Linear
from typednn.recipes import Recipe, Samples, parsed_settings, train
from typednn.recipes.recipe import CHANGEABLE

# As after the "=" of --set. Some fit some settings; none may end in anything but a training or a sentence.
VALUES = [
    *("none", "true", "false", "0", "-1", "3", "1.5", "-0.5", "nan", "inf", "-inf", "1e400", "1e-400", "1" + "0" * 30),
    *("9" * 400, "-" + "9" * 400, "9" * 5000, "0x" + "f" * 6000),
    *("word", "''", "'word'", "'\\u0000'", "\ud800", "=", "2020-01-01", "10:00:00", "2020-01-01T00:00:00Z"),
    *("[]", "[1]", "['a']", "[[]]", "[{}]", "[{ a = 1 }]", "[{ names = 1 }]", "[{ names = '*', lr = 'x' }]"),
    *("{}", "{ a = 1 }", "{ type = 1 }", "{ type = 'Nope' }", "{ type = [] }", "{ type = {} }"),
]
RNG = np.random.default_rng(0)
SAMPLES = Samples(
    "rows",
    "made here",
    *(part for rows in (12, 6) for part in (RNG.random((rows, 4), np.float32), np.arange(rows) % 3)),
)
PLAIN = Recipe("plain", lambda: Input(4) >> Linear(4, 3), {"type": "SGD", "lr": 0.1}, epochs=1, batch_size=4)


def _names(kind: type[Any]) -> list[str]:
    return list(inspect.signature(kind).parameters)


def _scheduled(optimizer: str, schedule: str) -> Recipe:
    needed = {"StepLR": {"step_size": 2}, "ExponentialLR": {"gamma": 0.5}}.get(schedule, {})
    rate = "max_lr" if schedule == "OneCycleLR" else "lr"
    return PLAIN.changed(
        {"validation": 0.2, "optimizer": {"type": optimizer, "lr": {"type": schedule, rate: 0.1, **needed}}}
    )


ODD = [
    "optimizer",
    "optimizer.type",
    "optimizer.group",
    "optimizer.",
    "optimizer..",
    "optimizer.lr.x.y",
    "epochs.x",
    ".",
    "name",
    "imports",
]
CASES = [(PLAIN, name) for name in (*CHANGEABLE, *ODD)]
CASES += [
    (_scheduled(kind, "StepLR"), f"optimizer.{name}") for kind, made in OPTIMIZERS.items() for name in _names(made)
]
CASES += [
    (_scheduled("SGD", kind), f"optimizer.lr.{name}")
    for kind, made in SCHEDULES.items()
    for name in ("type", *_names(made))
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers at the edge of what floats hold
@pytest.mark.parametrize(
    ("recipe", "name"), [pytest.param(one, name, id=f"{place}-{name}") for place, (one, name) in enumerate(CASES)]
)
def test_any_value_for_any_setting(recipe: Recipe, name: str) -> None:
    sentences = []
    for value in VALUES:
        try:
            changed = recipe.changed(parsed_settings([f"{name}={value}"]))
            train(changed.changed({"epochs": 1}), SAMPLES, progress=False)
        except TypednnError as error:
            sentences.append(str(error))
    assert sentences, "some of these fit no setting"
    assert all(sentence.strip() for sentence in sentences)


def test_every_setting_is_there() -> None:
    names = {name for _, name in CASES}
    assert set(CHANGEABLE) <= names
    assert {
        "optimizer.lr",
        "optimizer.betas",
        "optimizer.momentum",
        "optimizer.lr.warmup_steps",
        "optimizer.lr.gamma",
    } <= names


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("epochs=true", "recipe 'plain': epochs must be an integer, got True"),
        ("epochs=" + "9" * 400, None),
        ("epochs=0x" + "f" * 6000, f"recipe 'plain': epochs must be an integer, got '0x{'f' * 74}..."),
        ("validation=" + "9" * 400, f"recipe 'plain': validation must be a number, got {'9' * 77}..."),
        ("clip_grad_norm='a'", "recipe 'plain': clip_grad_norm must be a number or none, got 'a'"),
        ("drop_last=1", "recipe 'plain': drop_last must be true or false, got 1"),
        (
            "optimizer.group=3",
            "recipe 'plain': optimizer.group must be a list of tables, got 3; "
            "such as --set 'optimizer.group=[{ names = \"*.bias\", lr = 0.5 }]'",
        ),
        (
            "optimizer.group={ names = '*' }",
            "recipe 'plain': optimizer.group must be a list of tables, got {'names': '*'}; such as ",
        ),
        ("optimizer.group=['a']", "recipe 'plain': optimizer.group must be a list of tables, got ['a']; such as "),
    ],
)
def test_in_these_words(setting: str, message: str | None) -> None:
    if message is None:
        assert PLAIN.changed(parsed_settings([setting])).epochs == int("9" * 400)
        return
    with pytest.raises(ArgumentError) as refusal:
        PLAIN.changed(parsed_settings([setting]))
    assert str(refusal.value).startswith(message)


def test_groups_as_a_list_of_tables() -> None:
    """The cure that the refusal names."""
    changed = PLAIN.changed(parsed_settings(['optimizer.group=[{ names = "*.bias", lr = 0.5 }]']))
    optimizer: Any = changed.checked().optimizer()
    assert [names for names, _ in optimizer.groups] == ["*.bias"]


def test_by_their_names() -> None:
    assert PLAIN.changed(epochs=3) == PLAIN.changed({"epochs": 3})
    assert PLAIN.changed({"epochs": 3}, batch_size=7) == PLAIN.changed({"epochs": 3, "batch_size": 7})
    assert PLAIN.changed() == PLAIN
    with pytest.raises(ArgumentError, match=r"got 'epoch'; did you mean 'epochs'\?"):
        PLAIN.changed(epoch=3)
    with pytest.raises(ArgumentError, match=r"^Recipe.changed: settings are a mapping .*, got 3; such as "):
        PLAIN.changed(3)  # type: ignore[arg-type]
