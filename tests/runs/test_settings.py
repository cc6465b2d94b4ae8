"""Settings of a run: the same names whoever trained it, and what is damaged."""

import json
from pathlib import Path

import pytest

from typednn.errors import DataError
from typednn.runs.settings import flattened, read_settings, settings_of

CONFIG = """format = 1
input = [4]

[[layer]]
type = "Linear"
in_features = 4
out_features = 2

[optimizer]
type = "SGD"
lr = 0.1
"""


def test_of_a_recipe(tmp_path: Path) -> None:
    recipe = {"name": "mlp", "about": "words", "data": "auto", "epochs": 3, "optimizer": {"lr": {"lr": 0.5}}}
    plan = {"recipe": recipe, "config": CONFIG, "data": {"name": "digits"}}
    (tmp_path / "recipe.json").write_text(json.dumps(plan))
    (tmp_path / "config.toml").write_text("not read")
    assert read_settings(tmp_path) == {
        "input": [4],
        "layer.0": "Linear(in_features=4, out_features=2)",
        "optimizer.type": "SGD",
        "optimizer.lr": 0.1,
        "optimizer.lr.lr": 0.5,
        "name": "mlp",
        "epochs": 3,
        "data.name": "digits",
    }


def test_of_fit_the_last_start_counts(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    lines = [
        {"step": 0, "settings": {"epochs": 2}},
        {"step": 9, "settings": {"epochs": 5, "evaluate_every": {"steps": 4}}},
    ]
    (tmp_path / "starts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = read_settings(tmp_path)
    assert found["optimizer.lr"] == 0.1
    assert (found["epochs"], found["evaluate_every.steps"]) == (5, 4)


@pytest.mark.parametrize("text", ["# a note\n", "not TOML at all", "a = " + "[" * 5000, ""])
def test_any_text_may_be_a_config(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    assert read_settings(tmp_path) == {}
    assert settings_of(text, {"epochs": 3}) == {"epochs": 3}


def test_damage_is_an_error_and_other_kinds_are_left_out(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == {}
    (tmp_path / "starts.jsonl").write_text('{"settings": 3}\n[1]\n')
    (tmp_path / "recipe.json").write_text('{"recipe": 3, "config": 4, "data": null}')
    assert read_settings(tmp_path) == {}
    (tmp_path / "recipe.json").write_text("[1")
    with pytest.raises(DataError, match=r"recipe\.json: must hold one JSON object"):
        read_settings(tmp_path)


def test_tables_become_names_down_to_some_depth() -> None:
    assert dict(flattened({"a": {"b": 1, "c": [1, {"d": 2}]}, "e": None, "f": {}})) == {
        "a.b": 1,
        "a.c": [1, {"d": 2}],
        "e": None,
    }
    assert dict(flattened({"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}})) == {"a.b.c.d.e": {"f": 1}}
