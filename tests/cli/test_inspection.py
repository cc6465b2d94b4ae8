"""typednn summary, check, gradcheck, info, --help."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import typednn as package
from typednn.cli.commands import COMMANDS
from typednn.cli.parser import parser

Command = Callable[..., Any]


@pytest.mark.parametrize("name", ["lenet5", "lenet5-paper", "mlp"])
def test_summary_of_a_recipe(at_once: Command, name: str) -> None:
    done = at_once("summary", name)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^[\d,]+ parameters, [\d.]+ KiB in float32$", done.stdout, re.MULTILINE)
    assert re.search(r"^layer +output +parameters +flops +memory\ninput +28 x 28 x 1$", done.stdout, re.MULTILINE)
    assert re.search(r"^fc\d +Linear\(\d+, (\d+)\) +\1 +[\d,]+ +[\d.]+ k +\d+ B$", done.stdout, re.MULTILINE)
    assert re.search(r"^optimizer\.type +\"SGD\"$", done.stdout, re.MULTILINE)


def test_summary_of_a_config(at_once: Command, files: Path) -> None:
    done = at_once("summary", files / "model.toml")
    assert done.returncode == 0, done.stderr
    assert "67 parameters, 268 B in float32" in done.stdout
    assert re.search(r"^optimizer\.lr +0\.1$", done.stdout, re.MULTILINE)
    assert re.search(r"^seed +3$", done.stdout, re.MULTILINE)


def test_summary_of_a_run(at_once: Command, trained: tuple[Path, Any]) -> None:
    """Its model, and the settings that it was started with."""
    done = at_once("summary", trained[0])
    assert done.returncode == 0, done.stderr
    assert re.search(r"^fc1 +Linear\(4, 8\) +8 +40 +64 +32 B$", done.stdout, re.MULTILINE)
    assert re.search(r"^epochs +8$", done.stdout, re.MULTILINE)
    assert re.search(r"^batch_size +20$", done.stdout, re.MULTILINE)


def test_check(at_once: Command, files: Path, tmp_path: Path) -> None:
    good = at_once("check", files / "model.config")
    assert good.returncode == 0
    assert "Linear(4, 8)" in good.stdout
    (tmp_path / "bad.toml").write_text((files / "model.toml").read_text().replace("ReLU", "ReLv"), encoding="utf-8")
    bad = at_once("check", "bad.toml")
    assert bad.returncode == 1
    assert "bad.toml:11:8: layer 1: unknown type \"ReLv\"; did you mean 'ReLU'?" in bad.stderr
    assert "^^^^^^" in bad.stderr


def test_check_with_layers_of_ones_own(typednn: Command, files: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'from typednn.config import register\nfrom typednn.layers import ReLU\n\n\n@register("Mine")\nclass '
        "Mine(ReLU.__mro__[1]):\n"
        "    def forward(self, x):\n        return x\n",
        encoding="utf-8",
    )
    done = typednn("check", files / "model.toml", "--import", "nowhere_at_all")
    assert done.returncode == 1
    assert "import nowhere_at_all: No module named" in done.stderr


@pytest.mark.parametrize(
    "subject",
    [
        "Conv2d(2, 3, (3, 2), stride=2, bias=True)",
        "Linear(4, 2)",
        "MaxPool2d(2)",
        "Softmax()",
        "GLU()",
        "LSTM(3, 4)",
        "GroupNorm(2, 4)",
    ],
)
def test_gradcheck_of_a_layer(at_once: Command, subject: str) -> None:
    done = at_once("gradcheck", subject)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  input +error \d", done.stdout, re.MULTILINE)
    assert "every derivative agrees with finite differences" in done.stdout


def test_gradcheck_of_a_config(at_once: Command, files: Path) -> None:
    done = at_once("gradcheck", files / "model.toml")
    assert done.returncode == 0, done.stderr
    assert "fc2.bias" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["Conv2d(2, 3, 3, strid=2)"], "Conv2d has no argument 'strid'; did you mean 'stride'?"),
        (["Convd(2, 3, 3)"], "unknown type \"Convd\"; did you mean 'Conv2d'?"),
        (["ReLU()", "--input", "a,b"], "--input: expects one to three sizes of one sample, got 'a,b'"),
        (["ReLU(3)"], "takes at most 0 arguments, got 1"),
        (["model"], "expects the name of a recipe or a config file that exists"),
        (["Linear(4, 2)", "--input", "5"], "expects 4 features, gets 5"),
        (["Conv2d(2, 3, 50)"], "kernel does not fit"),
        (["Linear(n(4), 2)"], "a layer's arguments are numbers and words, got n(4); such as"),
        (
            [f"Linear({'-' * 900}1, 2)"],
            "a layer's arguments are numbers and words, got one that is nested too deeply; such as",
        ),
    ],
)
def test_gradcheck_refuses(at_once: Command, arguments: list[str], part: str) -> None:
    done = at_once("gradcheck", *arguments)
    assert done.returncode == 1
    assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_info(typednn: Command) -> None:
    done = typednn("info")
    assert done.returncode == 0, done.stderr
    assert f"typednn       {package.__version__}\n" in done.stdout
    assert "OPENBLAS_NUM_THREADS=1" in done.stdout
    assert re.search(r"^devices +cpu", done.stdout, re.MULTILINE)
    for fact in ("processor", "kernels", "products", "threads", "numpy's blas"):
        assert re.search(rf"^{fact} +\S", done.stdout, re.MULTILINE), fact


def test_help_is_by_example_and_quick(typednn: Command) -> None:
    done = typednn("--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    assert "examples:\n" in done.stdout
    assert "exit codes:\n" in done.stdout
    imported = re.findall(r"^import time:.*\| +(\w+)$", done.stderr, re.MULTILINE)
    assert "argparse" in imported
    assert not {"numpy", "rich", "jaxtyping", "beartype"} & set(imported), "it takes a tenth of a second without them"


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "info"])
def test_every_command_shows_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_code:
        parser().parse_args([command, "--help"])
    assert exit_code.value.code == 0
    shown = capsys.readouterr().out
    assert f"  typednn {command}" in shown.partition("examples:")[2]


def test_version(typednn: Command) -> None:
    assert typednn("--version").stdout == f"typednn {package.__version__}\n"
