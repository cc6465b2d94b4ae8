"""Everything that the commands print fits a screen of 80 columns, and one of other widths."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.cli import main
from typednn.cli.commands import COMMANDS
from typednn.layers import Conv2d
from typednn.metrics import ClassificationReport
from typednn.screen import columns, screen_width, wrapped

ANSI = re.compile("\x1b")


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command, and gives the lines that it printed on a screen of so many columns."""

    def run(*arguments: str, width: int = 80, code: int = 0) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        try:
            got = main([*arguments])
        except SystemExit as left:
            got = int(left.code or 0)
        out, err = capsys.readouterr()
        assert got == code, err
        assert not ANSI.search(out + err)
        return [*out.splitlines(), *err.splitlines()]

    return run


def too_long(lines: list[str], width: int = 80) -> list[str]:
    """Lines that are longer, but for a path, which is one word, and for calls to copy."""
    return [
        line
        for line in lines
        if len(line) > width
        and max(map(len, line.split())) < width - 8
        and not line.strip().startswith(("typednn ", "./"))
    ]


@pytest.mark.parametrize("width", [66, 80, 132])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_helps_fit(shown: Any, command: str, width: int) -> None:
    lines = shown(*filter(None, [command]), "--help", width=width)
    assert too_long(lines, width) == []
    if width >= 80:
        assert [line for line in lines if len(line) > width] == [], "and no call is longer either"


@pytest.mark.parametrize("width", [50, 80, 200])
@pytest.mark.parametrize(
    "command", ["summary lenet5", "summary gpt2", "summary resnet50", "summary vgg16", "summary lstm", "info"]
)
def test_what_is_printed_fits(shown: Any, command: str, width: int) -> None:
    lines = shown(*command.split(), width=width)
    assert width < 80 or too_long(lines, width) == []
    if width == 80:
        assert [line for line in lines if len(line) > width] == []


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("train nothing-of-that-name", 1),
        ("train --data nothing", 1),
        ("train lenet5 --set learning=1 --data digits", 1),
        ("train", 2),
        ("trian", 2),
        ("train lenet5 --learning-speed 3", 2),
        ("eval", 2),
        ("predict runs/none seven.png", 1),
        ("runs nowhere", 1),
        ("summary nothing.toml", 1),
        ("gradcheck Linear(4)", 1),
        ("generate nowhere --prompt x", 1),
        ("export nowhere --to onnx", 1),
    ],
)
def test_errors_fit(shown: Any, command: str, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    lines = shown(*command.split(), code=code)
    assert lines
    assert too_long(lines) == []


def test_a_training_and_what_follows_fit(shown: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    header = "height,width,depth,kind"
    kinds = ["a class with a name that is rather long, longer than is reasonable, for a class of a table", "b", "c"]
    rows = [",".join([*map(str, rng.standard_normal(3).round(3)), f'"{kinds[n % 3]}"']) for n in range(90)]
    Path("table.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    train = shown("train", "--data", "table.csv", "--target", "kind", "--run", "runs/one", "--epochs", "2")
    assert any("ROC AUC" in line for line in train)
    later = ("eval", "runs/one"), ("runs",), ("resume", "runs/one"), ("summary", "runs/one")
    for lines in (train, *(shown(*each) for each in later)):
        assert too_long(lines) == []
    Path("rows.csv").write_text("height,width,depth\n1,2,3\n", encoding="utf-8")
    for lines in (shown("predict", "runs/one", "rows.csv"), shown("check", "runs/one")):
        assert lines


@pytest.mark.skipif(os.name == "nt", reason="no such terminals there")
def test_no_colours_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, with NO_COLOR, a line about kernels stays instead of being erased."""
    from typednn.engines.halide.rehearsal import progress_line

    written: list[str] = []

    class Terminal:
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> None:
            written.append(text)

        def flush(self) -> None:
            return None

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    for done in range(3):
        progress_line(done, 2, "linear")
    assert written == ["typednn compiles 2 kernels for these sizes and this processor\n"]
    monkeypatch.delenv("NO_COLOR")
    progress_line(0, 2, "linear")
    assert ANSI.search(written[-1])


# --- the parts -------------------------------------------------------------------------------------------------------


def test_printed_models_and_reports_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Input(9, 9, 1) >> Conv2d(1, 6, (3, 3), stride=(2, 2), padding=(1, 1), bias=False, weight_init="he_normal")
    whole = str(model)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, str(model).splitlines())) <= 60
    assert sorted(str(model).split()) == sorted(whole.split()), "the same words"
    monkeypatch.setenv("COLUMNS", "500")
    assert str(model) == whole
    report = ClassificationReport(90, np.arange(90) // 2, np.arange(90), tuple(f"class {n}" * 9 for n in range(90)))
    assert len(max(str(report).splitlines(), key=len)) > 200
    monkeypatch.setenv("COLUMNS", "80")
    lines = str(report).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("true") and line.endswith("most often")]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("few words", ["few words"]),
        ("one two three four", ["one two", "  three", "  four"]),
        ("a-long-word-of-a-path/which/is/not/broken x", ["a-long-word-of-a-path/which/is/not/broken", "  x"]),
        ("ab  one two three", ["ab  one", "    two", "    three"]),
        ("  a b  one two", ["  a b", "      one", "      two"]),
        ("", [""]),
    ],
)
def test_lines_are_broken_at_blanks(text: str, lines: list[str]) -> None:
    assert wrapped(text, 9) == "\n".join(lines)
    assert wrapped(text, None) == text


def test_columns_are_narrowed_from_the_widest(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("name", "what it is", "1"), ("  inner", "a text of several words that is long", "1,000")]
    narrow = columns(rows, (2,), 30)
    assert max(map(len, narrow)) <= 30
    assert narrow[0].split() == ["name", "what", "it", "is", "1"]
    assert narrow[1].endswith("1,000")
    assert sorted(" ".join(narrow).split()) == sorted(" ".join(columns(rows, (2,))).split()), "the same words"
    assert columns(rows, (2,), 200) == columns(rows, (2,))
    monkeypatch.setenv("COLUMNS", "3")
    assert screen_width() == 40
    for wrong in ("", "0", "-1", "wide"):
        monkeypatch.setenv("COLUMNS", wrong)
        assert screen_width() is None
