"""Every code block of the documentation is run.

What stands before a block, as an HTML comment of its own line, says what is special about it:

    <!-- raises: ShapeError -->     the python block must raise that; the text block that follows is the message
    <!-- prints -->                 the text block is what the python block before it printed
    <!-- file: model.toml -->       the block, of any language, becomes a file in the folder where the page's blocks run
    <!-- not run: reason -->        for bash and console only

The python blocks of a page share one namespace, in order, in an empty folder. There each line of a bash block is run as
well and must succeed, and each command of a console block, after "$ ", must print what follows it: "…" stands for
anything, seconds and errors of rounding for any. A command that is not run must still be one: its verb, options and
modules exist.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import pytest

from typednn.cli.commands import COMMANDS
from typednn.cli.parser import parser

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "SECURITY.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"<!--\s*(?P<directive>raises|prints|file|not run)(?::\s*(?P<value>.*?))?\s*-->\s*\Z")
_RAN = {"python", "console", "bash"}
_SHELL = {"console", "bash"}
_READ = {"text"}
# What differs from run to run, in what a command prints: seconds, and how far derivatives are from differences.
_VARIES = re.compile(r"(?P<any>…)|\d+(?:\.\d+)?(?= s$)|(?<=error )\d\.\de-\d+", re.MULTILINE)
VERBS = set(re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


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
    for block in blocks_of(page):
        where = f"{name}:{block.line}"
        assert message is None or block.language == "text", (
            f"{where}: the message of the error before it should follow, as a text block"
        )
        if block.directive == "file":
            Path(block.value).write_text(block.code, encoding="utf-8")
            continue
        language = block.language or "no language"
        assert block.language in _RAN | _READ, (
            f"{where}: a block in {language} is not run; make it python, text or a file"
        )
        if block.directive == "not run":
            assert block.language in _SHELL, f"{where}: only bash and console may be left out"
            assert block.value, f"{where}: left out without a reason"
            for command, _ in commands_of(block):
                wrong = misunderstood(command)
                assert not wrong, f"{where}: {command}: {wrong}"
            continue
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
        elif block.language in _SHELL:
            for command, expected in commands_of(block):
                code, said = run_command(command)
                if expected is None:
                    assert code == 0, f"{where}: {command} fails:\n{said}"
                else:
                    assert matches(expected, said), f"{where}: {command} prints now\n{said}"
            proven += 1
    assert message is None, f"{name}: the message of the last error should follow, as a text block"
    return proven


def commands_of(block: Block) -> list[tuple[str, str | None]]:
    """The commands of a block for the shell; of a console each with what it prints."""
    if block.language == "bash":
        return [
            (line.strip(), None)
            for line in block.code.splitlines()
            if line.strip() and not line.lstrip().startswith("#")
        ]
    before, *parts = re.split(r"^\$ ", block.code, flags=re.MULTILINE)
    assert not before.strip(), "a console begins with a command, after $"
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def run_command(command: str) -> tuple[int, str]:
    """Exit code and all that is said, as a reader in the current folder has it."""
    tools = str(Path(sys.executable).parent)
    paths = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": paths,
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["sh", "-c", command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def matches(expected: str, said: str) -> bool:
    """Whether it is what the page shows."""
    pattern, end = "", 0
    for found in _VARIES.finditer(expected := expected.strip()):
        pattern += re.escape(expected[end : found.start()]) + (r".*" if found["any"] else r"[0-9.e+-]+")
        end = found.end()
    return re.fullmatch(pattern + re.escape(expected[end:]), said.strip(), re.DOTALL) is not None


def misunderstood(command: str) -> str:
    """What is wrong with a command that is not run, as far as that shows; "" where nothing is."""
    words = shlex.split(command, comments=True)
    while words and (words[0] == "time" or re.fullmatch(r"[A-Z_]+=.*", words[0])):
        del words[0]
    match words:
        case ["make", *verbs]:
            return ", ".join(f"the Makefile has no {verb}" for verb in verbs if verb not in VERBS)
        case ["typednn", *arguments]:
            try:
                parser().parse_args(arguments)
            except SystemExit:
                return "typednn does not understand it"
            return ""
        case ["cd", _] | ["cp", "-r", _, _]:
            return ""
        case [python, "-m", module, *_] if python.rpartition("/")[2] == "python":
            return "" if (REPOSITORY / f"{module.replace('.', '/')}.py").is_file() else f"there is no module {module}"
        case _:
            return (
                ""
                if words and re.fullmatch(r"(?:.*/)?(?:pip|python(?:3(?:\.\d+)?)?)", words[0])
                else "what does it run?"
            )


def _message_of(code: CodeType, namespace: dict[str, object], expected: str, where: str) -> str:
    raised: Exception | None = None
    try:
        exec(code, namespace)
    except Exception as error:
        raised = error
    assert raised is not None, f"{where}: raises nothing, not {expected}"
    assert expected in {kind.__name__ for kind in type(raised).__mro__}, (
        f"{where}: raises {type(raised).__name__}, not {expected}"
    )
    return str(raised)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_blocks_hold(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(path.read_text(encoding="utf-8"), path.relative_to(REPOSITORY).as_posix(), capsys)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_commands_named_in_passing_exist(path: Path) -> None:
    """Verbs and commands in the prose, and every option that stands behind one."""
    prose = _FENCE.sub("", path.read_text(encoding="utf-8"))
    named = re.findall(r"`((?:[A-Z_]+=\S+ )*(?:make|typednn) [^`]+)`", prose)
    wrong = {command: _misnamed(command) for command in named}
    assert {command: reason for command, reason in wrong.items() if reason} == {}


def _misnamed(command: str) -> str:
    """As `misunderstood`, of a command that may leave out its arguments, or stand them for by a word."""
    words = command.replace("…", "").split()
    while re.fullmatch(r"[A-Z_]+=.*", words[0]):
        del words[0]
    if words[0] == "make":
        return misunderstood(" ".join(words))
    known = parser().format_help() if words[1].startswith("-") else ""
    if words[1] in COMMANDS:
        with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
            parser().parse_args([words[1], "--help"])
        known = shown.getvalue()
    elif words[1] != "COMMAND" and not known:
        return f"typednn has no command {words[1]}"
    options = [word for word in words[1:] if word.startswith("--")]
    return ", ".join(f"no option {option}" for option in options if known and option not in known)


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


def test_anchors_are_headings() -> None:
    """As GitHub and its like name them; the build of the site checks its own."""
    broken = []
    for page in PAGES:
        prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", prose):
            if "://" not in target and anchor not in _anchors(page.parent / target if target else page):
                broken.append(f"{page.name}: {target}#{anchor}")
    assert broken == []


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings: small letters, digits, - and _, and - for a space."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


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
typednn train lenet5 --set compile=false   # slowly
```

```bash
cp a.txt b.txt
```

```console
$ cat b.txt
y = 2
$ echo one; echo two, in 12 s; echo error 1.2e-10
…
two, in 3.5 s
error 5.9e-11
```
"""


def test_good_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(GOOD, "page", capsys) == 5


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("base 10: 'x'", "base 10: 'y'", "page:25: the message is now"),
        ("raises: ValueError", "raises: TypeError", "page:21: raises ValueError, not TypeError"),
        ('int("x")', 'int("1")', "page:21: raises nothing"),
        ("1 y = 2", "1 y = 3", "page:16: it prints now"),
        ("make demo", "make tea", "page:30: make tea: the Makefile has no tea"),
        (
            "train lenet5 --set",
            "train lenet5 --sets",
            "page:30: typednn train lenet5 --sets compile=false   # slowly: typednn does not understand it",
        ),
        ("typednn train", "rm -rf", "what does it run?"),
        ("run: it takes minutes", "run", "page:30: left out without a reason"),
        ("cp a.txt b.txt", "cp c.txt b.txt", "page:35: cp c.txt b.txt fails:"),
        ("b.txt\ny = 2", "b.txt\ny = 3", "page:39: cat b.txt prints now"),
        ("two, in 3.5 s", "two, in 3.5 m", "page:39: echo one; echo two, in 12 s; echo error 1.2e-10 prints now"),
        ("$ cat", "cat", "a console begins with a command"),
        ("<!-- file: a.txt -->\n", "", "page:5: a block in toml is not run"),
        (
            "```python\nx = 1",
            "<!-- not run: slow -->\n```python\nx = 1",
            "page:2: only bash and console may be left out",
        ),
    ],
)
def test_bad_page_is_noticed(
    old: str,
    new: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert old in GOOD
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=re.escape(complaint)):
        run_page(GOOD.replace(old, new), "page", capsys)
