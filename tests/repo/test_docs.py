"""Every code block of the documentation is run.

What stands before a block, as an HTML comment of its own line, says what is special about it:

    <!-- raises: ShapeError -->     the python block must raise that; the text block that follows is the message
    <!-- prints -->                 the text block is what the python block before it printed
    <!-- file: model.toml -->       the block, of any language, becomes a file in the folder where the page's blocks run
    <!-- not run: reason -->        for bash only

The python blocks of a page share one namespace, in order, in an empty folder. Each `make` verb of a bash block must exist.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--\s*(?P<directive>raises|prints|file|not run)(?::\s*(?P<value>.*?))?\s*-->\s*\Z")
_RAN = {"python"}
_READ = {"text", "console", "bash"}


@dataclass(frozen=True)
class Block:
    """A fenced block: where it starts, its language, what is in it, and the comment before it."""

    line: int
    language: str
    code: str
    directive: str = ""
    value: str = ""


def blocks_of(page: str) -> list[Block]:
    found, end = [], 0
    for fence in _FENCE.finditer(page):
        comment = _COMMENT.search(page[end : fence.start()])
        end = fence.end()
        indent = len(fence["indent"])
        code = "".join(line[indent:] if line.strip() else line for line in fence["code"].splitlines(keepends=True))
        directive, value = (comment["directive"], comment["value"] or "") if comment else ("", "")
        found.append(Block(page.count("\n", 0, fence.start()) + 1, fence["language"].strip(), code, directive, value))
    return found


def run_page(page: str, name: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Run the blocks of ``page`` in the current folder; how many were run or compared."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    message, printed, proven = None, "", 0
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for block in blocks_of(page):
        where = f"{name}:{block.line}"
        assert message is None or block.language == "text", f"{where}: the message of the error before it should follow, as a text block"
        if block.directive == "file":
            Path(block.value).write_text(block.code, encoding="utf-8")
            continue
        language = block.language or "no language"
        assert block.language in _RAN | _READ, f"{where}: a block in {language} is not run; make it python, text or a file"
        assert block.directive != "not run" or block.language == "bash", f"{where}: only bash may be left out"
        if block.language == "python":
            # Lines count from the top of the page, so that a traceback leads there.
            code = compile("\n" * block.line + block.code, name, "exec", dont_inherit=True)
            capsys.readouterr()
            if block.directive == "raises":
                message = _message_of(code, namespace, block.value, where)
            else:
                exec(code, namespace)
            printed = capsys.readouterr().out
            proven += 1
        elif block.language == "text" and message is not None:
            assert block.code.strip() == message.strip(), f"{where}: the message is now\n{message}"
            message = None
        elif block.directive == "prints":
            assert block.code.rstrip() == printed.rstrip(), f"{where}: it prints now\n{printed}"
        elif block.language == "bash":
            used = set(re.findall(r"^\s*(?:[A-Z_]+=\S* )*make ([a-z-]+)", block.code, re.MULTILINE))
            assert used <= targets, f"{where}: the Makefile has no {', '.join(sorted(used - targets))}"
    assert message is None, f"{name}: the message of the last error should follow, as a text block"
    return proven


def _message_of(code: CodeType, namespace: dict[str, object], expected: str, where: str) -> str:
    raised: Exception | None = None
    try:
        exec(code, namespace)
    except Exception as error:
        raised = error
    assert raised is not None, f"{where}: raises nothing, not {expected}"
    assert expected in {kind.__name__ for kind in type(raised).__mro__}, f"{where}: raises {type(raised).__name__}, not {expected}"
    return str(raised)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_blocks_hold(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(path.read_text(encoding="utf-8"), path.relative_to(REPOSITORY).as_posix(), capsys)


def test_readme_shows_code_and_a_caught_mistake() -> None:
    blocks = blocks_of((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    assert [block.directive for block in blocks if block.language == "python"].count("raises") >= 1


def test_links_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


GOOD = """\
```python
x = 1
```

<!-- file: a.txt -->
```toml
y = 2
```

```python
from pathlib import Path
print(x, Path("a.txt").read_text().strip())
```

<!-- prints -->
```text
1 y = 2
```

<!-- raises: ValueError -->
```python
int("x")
```

```text
invalid literal for int() with base 10: 'x'
```

<!-- not run: it takes minutes -->
```bash
make demo
```
"""


def test_good_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(GOOD, "page", capsys) == 3


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("base 10: 'x'", "base 10: 'y'", "page:25: the message is now"),
        ("raises: ValueError", "raises: TypeError", "page:21: raises ValueError, not TypeError"),
        ('int("x")', 'int("1")', "page:21: raises nothing"),
        ("1 y = 2", "1 y = 3", "page:16: it prints now"),
        ("make demo", "make tea", "page:30: the Makefile has no tea"),
        ("<!-- file: a.txt -->\n", "", "page:5: a block in toml is not run"),
        ("```python\nx = 1", "<!-- not run: slow -->\n```python\nx = 1", "page:2: only bash may be left out"),
    ],
)
def test_bad_page_is_noticed(
    old: str, new: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in GOOD
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=re.escape(complaint)):
        run_page(GOOD.replace(old, new), "page", capsys)
