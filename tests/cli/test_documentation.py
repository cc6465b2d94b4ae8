"""typednn docs: the pages that come with the package, and the messages that name them."""

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from typednn.cli import documentation

Command = Callable[..., Any]

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = sorted(path.stem for path in (REPOSITORY / "docs").glob("*.md"))


def test_every_page_is_listed_once(at_once: Command) -> None:
    done = at_once("docs")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted([*(line.split()[0] for line in done.stdout.splitlines()), "index"]) == FILES
    assert re.search(r"^training  +recipes, ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("page", FILES)
def test_a_page_is_printed_as_it_is(at_once: Command, page: str) -> None:
    path = REPOSITORY / "docs" / f"{page}.md"
    assert at_once("docs", page).stdout == path.read_text(encoding="utf-8")
    assert at_once("docs", f"docs/{page}.md", "--path").stdout == f"{path}\n"


def test_a_terminal_has_it_laid_out(at_once: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the marks of Markdown and without comments; each line within the width."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", at_once("docs", "getting-started").stdout)
    assert "Getting started" in shown
    assert not re.search(r"^#|^```|<!--", shown, re.MULTILINE)
    listed = at_once("docs").stdout.splitlines()
    for line in (*shown.splitlines(), *listed):
        assert len(line) <= 60
    assert len(listed) > len(FILES), "what is longer goes on in a line of its own"


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("trainin", "did you mean 'training'?; typednn docs lists the pages"),
        ("../README", "typednn docs lists the pages"),
        ("", "typednn docs lists the pages"),
        ("docs/images/nina-curves.png", "typednn docs lists the pages"),
    ],
)
def test_a_page_that_there_is_not(at_once: Command, name: str, cure: str) -> None:
    done = at_once("docs", name)
    assert done.returncode == 1
    assert done.stderr.startswith(f"typednn docs: page: expects the name of a page, got {name!r}; ")
    assert done.stderr.endswith(f"{cure}\n")


def test_messages_name_pages_that_there_are() -> None:
    """By the command that shows them: an installed package has no folder docs/ beside it."""
    named: set[str] = set()
    for path in sorted((REPOSITORY / "typednn").rglob("*.*")):
        texts = _texts(path.read_text(encoding="utf-8")) if path.suffix == ".py" else []
        if path.suffix == ".txt":  # of a new project
            texts = [path.read_text(encoding="utf-8")]
        assert [text for text in texts if re.search(r"(?<!/)docs/[a-z-]+\.md", text)] == [], path.name
        named |= {page for text in texts for page in re.findall(r"`typednn docs ([a-z-]+)`", text)}
    assert named >= {"exchange", "config", "models", "testing", "editor"}
    assert named <= {page.name for page in documentation.pages()}


def _texts(source: str) -> list[str]:
    """What a program may show: its strings, without the docstrings."""
    tree = ast.parse(source)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]
