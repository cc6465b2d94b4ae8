"""Wrong turns on the command line, each with the right call: what people type who come from other tools."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from typednn.cli.commands import COMMANDS, SETTINGS
from typednn.cli.cures import COMMANDS_ELSEWHERE, OPTIONS_ELSEWHERE, for_command, for_option
from typednn.cli.training_arguments import MODELS
from typednn.recipes import RECIPES
from typednn.recipes.recipe import CHANGEABLE

Command = Callable[..., Any]

# What is typed, the exit code, and what is said.
TURNS: list[tuple[str, int, str]] = [
    ("", 0, "typednn train lenet5        trains on handwritten digits"),
    ("train", 2, "what is to be trained? Such as typednn train lenet5, typednn train --data photos/"),
    ("fit lenet5", 2, "no command 'fit'; typednn train MODEL trains"),
    ("test run", 2, "no command 'test'; typednn eval RUN measures"),
    ("evaluate run", 2, "no command 'evaluate'; typednn eval RUN measures"),
    ("run lenet5", 2, "no command 'run'; typednn train MODEL trains, and typednn predict RUN FILE"),
    ("infer run seven.png", 2, "typednn predict RUN FILE"),
    ("init thing", 2, "typednn new NAME writes a project"),
    ("sumary lenet5", 2, "no command 'sumary'; did you mean 'summary'?"),
    ("trian lenet5", 2, "no command 'trian'; did you mean 'train'?"),
    ("frobnicate", 2, "no command 'frobnicate'; there are new, train, resume"),
    ("train lenet", 1, "did you mean 'lenet5'?"),
    ("train ResNet-18", 1, "did you mean 'resnet18'?"),
    ("train resnet_50", 1, "did you mean 'resnet50'?"),
    ("train model.yaml", 1, "configs are TOML or JSON"),
    ("train model.py", 1, "a script is started with python"),
    ("train weights.pt", 1, "that is a file of weights"),
    ("summary table.csv", 1, "typednn train --data TABLE --target COLUMN"),
    ("train folder", 1, "got the folder 'folder'; data are named by --data"),
    ("train mlp --device cuda", 2, "no option '--device'; commands train on the CPU"),
    ("train mlp --gpu", 2, "commands train on the CPU"),
    ("train mlp --num-epochs 3", 2, "no option '--num-epochs'; here it is: --epochs N"),
    ("train mlp --learning_rate 3", 2, "did you mean '--learning-rate'?"),
    ("train mlp --batch_size=3", 2, "no option '--batch_size'; did you mean '--batch-size'?"),
    ("train mlp --momentum 0.9", 2, "here it is: --set optimizer.momentum=0.9"),
    ("train mlp --max-steps 9", 2, "here it is: --set max_steps=VALUE"),
    ("train mlp --output-dir x", 2, "--run DIR names the run folder"),
    ("train mlp --early-stopping", 2, "here it is: --set patience=3 --set validation=0.1"),
    ("train mlp --resume run", 2, "typednn resume RUN goes on with a run"),
    ("train mlp --workres 3", 2, "no option '--workres'"),
    ("train mlp --lr fast", 2, "argument --lr/--learning-rate: expected a number above 0, got 'fast'"),
    ("train mlp --batch-size 0", 2, "argument --batch-size: expected a whole number, at least 1, got '0'"),
    ("train mlp --set lr=0.1", 1, "did you mean 'optimizer.lr'?"),
    ("train mlp --set learning_rate=0.1", 1, "did you mean 'optimizer.lr'?"),
    ("train mlp --set momentum=0.1", 1, "did you mean 'optimizer.momentum'?"),
    ("help train", 0, "usage: typednn train"),
    ("help", 0, "usage: typednn [-h] [-V] COMMAND"),
    ("help frobnicate", 2, "no command 'frobnicate'"),
    ("compare run run2", 2, "typednn report RUN RUN compares runs on one page"),
    ("runs nothing", 1, "nothing: must hold runs, folders that training wrote, got no folder"),
    ("runs", 1, "runs: must hold runs, folders that training wrote, got no folder; typednn train MODEL"),
    ("-V", 0, "typednn 0."),
    ("export run --format onnx", 2, "typednn export: no option '--format'; here it is: --to FORMAT"),
    ("export run", 2, "the following arguments are required: --to"),
    ("train mlp --set epochs 3", 1, "--set: expects NAME=VALUE, got 'epochs'"),
    ("train mlp --set lr", 1, "expects NAME=VALUE, got 'lr'; such as --set optimizer.lr=0.05"),
    ("train mlp --optimizer adma", 1, "optimizer: expects the name of one, got 'adma'; did you mean 'Adam'?"),
    ("train mlp a.csv --data spiral", 1, "takes --data or CSV files, got both"),
    ("train --data spiral --target price", 1, "--target: names a column of a table, got data 'spiral'"),
    ("eval run --device cuda", 2, "commands train on the CPU"),
    ("eval run --weights newest", 2, "invalid choice: 'newest'"),
    ("eval run/recipe.json", 1, "must be a run folder, with recipe.json, got a file; its run is run"),
    ("eval here.txt", 1, "got a file; name the folder of a run"),
    ("eval several", 1, "did you mean 'several/lenet5-2'?"),
    ("eval nowhere", 1, "no such folder; `typednn train` makes one"),
    ("new typednn", 1, "a project's name begins with a letter"),
    ("completion tcsh", 2, "invalid choice: 'tcsh' (choose from"),
]


@pytest.mark.parametrize(("typed", "code", "said"), TURNS, ids=[typed or "nothing" for typed, _, _ in TURNS])
def test_a_wrong_turn_gets_a_cure(at_once: Command, tmp_path: Path, typed: str, code: int, said: str) -> None:
    """And nothing is written."""
    for folder in ("run", "folder", "several/lenet5-1", "several/lenet5-2"):
        (tmp_path / folder).mkdir(parents=True)
        if folder != "folder":
            (tmp_path / folder / "recipe.json").write_text("{}")
    for name in ("here.txt", "model.yaml", "model.json", "model.py", "weights.pt", "table.csv"):
        (tmp_path / name).write_text("")
    before = sorted(tmp_path.rglob("*"))
    done = at_once(*typed.split())
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_no_cure_names_what_there_is_not() -> None:
    """A command of ours is no wrong turn; each cure for an option names one that some command has, or
    no option at all.
    """
    assert not set(COMMANDS_ELSEWHERE) & set(COMMANDS)
    known = {name for command in COMMANDS.values() for names, _ in command.arguments for name in names} | {
        "--debug",
        "--help",
        "--version",
    }
    train = {name for names, _ in COMMANDS["train"].arguments for name in names}
    for name, told in OPTIONS_ELSEWHERE.items():
        assert f"--{name}" not in train, name
        assert {word.strip(",;") for word in told.split() if word.startswith("--")} <= known, told


def test_what_the_parser_knows_of_recipes() -> None:
    """It imports none of these, which would import NumPy."""
    assert set(MODELS) == set(RECIPES)
    assert set(SETTINGS.split()) <= set(CHANGEABLE)
    options = {name.removeprefix("--").replace("-", "_") for names, _ in COMMANDS["train"].arguments for name in names}
    assert set(CHANGEABLE) - set(SETTINGS.split()) <= options
    words = re.split(r"[\s;]+", COMMANDS["train"].examples.partition("settings for --set:")[2])
    assert set(CHANGEABLE) - {"data", "task"} <= set(words), (
        "the help names those that are no option of another meaning"
    )


def test_cures_alone() -> None:
    assert for_command("evl", ["eval", "train"]) == "did you mean 'eval'?"
    assert for_command("xyz", ["eval", "train"]) == "there are eval, train"
    assert for_option("--Epochs=3", ["--epochs"]) == "did you mean '--epochs'?"
    assert for_option("--zzz", ["--epochs"]) == ""
    assert for_option("--num-epochs", ["--run"]) == "", "the cure of another command is none"


def test_short_options_are_settings(at_once: Command, tmp_path: Path) -> None:
    """--lr, --batch-size, --seed, --optimizer do what --set does."""
    shorts = ["--lr", "0.02", "--batch-size", "7", "--seed", "5", "--optimizer", "adam"]
    sets = ["--set", "optimizer=Adam", "--set", "optimizer.lr=0.02", "--set", "batch_size=7", "--set", "seed=5"]
    for name, words in (("short", shorts), ("long", sets)):
        done = at_once("train", "mlp", "--data", "spiral", "--set", "max_steps=2", *words, "--run", name, "-q")
        assert done.returncode == 0, done.stderr
    short, long = ((tmp_path / name / "recipe.json").read_text() for name in ("short", "long"))
    assert short == long
    assert '"type": "Adam"' in short
    assert '"batch_size": 7' in short
