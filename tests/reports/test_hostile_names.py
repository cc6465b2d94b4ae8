"""Names that mean harm, on a run's page, in a notebook, in a terminal: nothing runs, nothing is asked for, nothing
moves the cursor.
"""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import tty
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, final
from urllib.parse import unquote

import numpy as np
import pytest
from hostile_names import COUNT, MARK, file_names, harmless_names, hostile_names, in_packs
from jaxtyping import Float
from sample_run import confusion_of, metrics_lines, report_of, write_metrics

from tests.cli.conftest import CONFIG, environment
from tests.reports import test_html
from tests.reports.test_html import browse, needs_chromium
from typednn import Array1, Array2, ElementwiseGrad, Gradient, Layer
from typednn.curves import curves
from typednn.data import read_table
from typednn.data.images import ImageFolder
from typednn.data.labels import normalised
from typednn.data.token_files import packed
from typednn.errors import UNSEEN, TypednnError, printable
from typednn.html import facts, images, progress, shown, table, tinted
from typednn.layers import Linear
from typednn.metrics import ClassificationReport
from typednn.models import GPT2, write_gpt_c
from typednn.recipes import Samples
from typednn.reports.html import write_report
from typednn.reports.page_style import page_style
from typednn.runs import Run
from typednn.runs.history import Best, Epoch, History, Measured
from typednn.runs.tensorboard import EventWriter
from typednn.tasks import Answer, Estimate

asked = test_html.asked
no_matplotlib = test_html.no_matplotlib

NAMES: Final = hostile_names()
CONTROL: Final = re.compile(f"{UNSEEN.pattern}|[\ud800-\udfff]")


def test_the_names() -> None:
    """As many as are promised, each of every kind of harm, with the same outcome each time."""
    assert hostile_names() == NAMES
    assert len(set(NAMES)) == COUNT == 500
    whole = "".join(NAMES)
    for part in (
        "<script",
        "onerror=",
        "javascript:",
        "</style>",
        "</script>",
        "<!--",
        "<![CDATA[",
        "&#x3c;",
        "<svg",
        "<math",
        "{{",
        "${",
        "`",
    ):
        assert part in whole, part
    assert {chr(code) for code in (*range(32), *range(127, 160))} <= set(whole)
    assert {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2028\u2029\udcff\ud800\U000e007f"} <= set(
        whole
    )
    for part in ("\x1b]52;", "\x1b]8;;", "\x1b]0;", "\x1b[2J", "\x1bP", "\x9b", "\x9d"):
        assert part in whole or part in whole.replace("\x9d", "\x1b]"), part
    assert {name[0] for name in NAMES if name} >= set("=+-@")
    assert max(map(len, NAMES)) == 5000
    assert len(set(file_names(NAMES))) == COUNT


# ------------------------------------------------------------------------------------------------ a real browser

# Each page stands in a frame of its own, without the policy that stands behind the escapes; the page around tells what
# became of it.
_LOOK: Final = """<script>
function look(frame) {
  const page = frame.contentDocument, made = {}, words = [];
  if (!page) return {left: true};
  for (const element of page.querySelectorAll('*')) {
    made[element.tagName] = (made[element.tagName] || 0) + 1;
    for (const {name, value} of element.attributes) {
      if (['alt', 'aria-label', 'data-at'].includes(name)) { words.push(value); continue; }
      const key = `${element.tagName} ${name}=${value}`;
      made[key] = (made[key] || 0) + 1;
    }
  }
  return {made, words: [page.title, page.documentElement.textContent, ...words]};
}
addEventListener('load', () => setTimeout(() => {
  const frames = [...document.getElementsByTagName('iframe')].map(look);
  document.body.textContent = '';
  document.body.dataset.found = encodeURIComponent(JSON.stringify({frames, ran: 'MARK' in window}));
}, 200));
</script>""".replace("MARK", MARK)
# the style takes time alone
_ASIDE: Final = re.compile(f'<meta http-equiv="Content-Security-Policy"[^>]*>|{re.escape(page_style())}')

Seen: TypeAlias = dict[str, Any]


def looked_at(pages: Sequence[str], folder: Path) -> tuple[list[Seen], bool]:
    """Of each of ``pages`` what it became in chromium, elements and attributes of each kind, and its texts; and whether
    a script ran.
    """
    framed = [_ASIDE.sub("", page).replace("&", "&amp;").replace('"', "&quot;") for page in pages]
    frames = "\n".join(f'<iframe hidden srcdoc="{page}"></iframe>' for page in framed)
    wrapper = folder / "frames.html"
    wrapper.write_text(f'<!doctype html><meta charset="utf-8">{_LOOK}<body>{frames}', encoding="utf-8")
    document, _ = browse(wrapper, "--dump-dom")
    told = re.search(r'data-found="([^"]*)"', document)
    assert told, "the pages finished loading"
    found = json.loads(unquote(told[1]))
    assert len(found["frames"]) == len(pages)
    return found["frames"], found["ran"]


def assert_only_text(hostile: Sequence[Seen], harmless: Sequence[Seen]) -> None:
    """The pages have the elements and attributes of those with harmless names, and no control in what people read."""
    for bad, good in zip(hostile, harmless, strict=True):
        assert "left" not in bad, "the page went elsewhere"
        assert bad["made"] == good["made"]
        assert not [made for made in bad["made"] if re.match("[A-Za-z]+ on", made)]
        assert not [text for text in bad["words"] if CONTROL.search(text)]


# ------------------------------------------------------------------------------------------------ a page


def _run(folder: Path, names: Sequence[str], place: int) -> Path:
    """A run in which every text is one of ``names``, or all of them: a classifier's, or with an odd ``place`` a
    language model's.
    """
    folder.mkdir(parents=True)
    lines = metrics_lines(20, 10, layers=tuple(names))
    measured = {f"{name} of {number}": 0.5 for number, name in enumerate(names)}
    lines = [line | measured if line["kind"] == "evaluation" else line for line in lines]
    lines += [{"kind": "sample", "step": 20, "text": "".join(names[part::4])} for part in range(4)]
    write_metrics(folder, lines)
    whole = "".join(f"{name}\n" for name in names)
    for name in ("model.txt", "config.toml"):
        (folder / name).write_text(f"of the run\n{whole}", encoding="utf-8", errors="replace")
    told = {f"{number}{name}": f"{number}{name}" for number, name in enumerate(names)}
    (folder / "recipe.json").write_text(json.dumps({"recipe": told}), encoding="utf-8")
    if place % 2:
        language = {
            "task": "language",
            "tokens": 9,
            "loss": 1.0,
            "token_accuracy": 0.5,
            "length": 3,
            "split": f"x{names[0]}",
        }
        (folder / "report.json").write_text(json.dumps(language), encoding="utf-8")
        (folder / "environment.json").write_text(json.dumps(told), encoding="utf-8")
    else:
        report = report_of(confusion_of(len(names), 100 * len(names)), [*names])
        (folder / "report.json").write_text(json.dumps(report | {"split": f"x{names[1]}"}), encoding="utf-8")
        start = {
            "date": whole,
            "command": whole,
            "git": {"commit": whole, "changed": True},
            "processor": whole,
            "gpu": whole,
        }
        (folder / "starts.jsonl").write_text(f"{json.dumps(start | told)}\n" * 2, encoding="utf-8")
    return folder


def _folders(names: Sequence[str]) -> list[str]:
    """Names of folders that hold all of ``names``."""
    return in_packs(file_names(names), lambda name: len(os.fsencode(name)), 255)


def _pages(folder: Path, names: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """The pages of runs that have ``names`` in their files, 50 in each; and of at most ``most`` runs that have the rest
    of `_folders`.
    """
    folders = iter(_folders(names))
    runs = [
        _run(folder / next(folders), names[start : start + 50], odd)
        for start in range(0, len(names), 50)
        for odd in range(2)
    ]
    bare = [folder / name for name, _ in zip(folders, range(most), strict=False)]
    for run in bare:
        run.mkdir()
        (run / "environment.json").write_text("{}", encoding="utf-8")
    whole, empty = ([write_report(run).read_text(encoding="utf-8") for run in some] for some in (runs, bare))
    return whole, empty


@needs_chromium
@pytest.mark.usefixtures("no_matplotlib")
def test_a_page(tmp_path: Path, asked: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    address, requests = asked
    names = hostile_names(address)
    whole, bare = _pages(tmp_path / "hostile", names, COUNT)
    alike, alone = _pages(tmp_path / "harmless", harmless_names(names), 1)
    assert not [page for page in whole + bare if UNSEEN.search(page)]
    assert sum(page.count(address.partition("//")[2]) for page in whole) > 4 * COUNT, "as text"
    seen, ran = looked_at([*whole, *bare, *alike, *alone], tmp_path)
    assert (ran, requests) == (False, [])
    count = len(whole) + len(bare)
    assert_only_text(seen[:count], [*seen[count:-1], *seen[-1:] * len(bare)])
    # A page itself, with its policy, has nothing to say either.
    run = _run(tmp_path / "run", names[:2], 0)
    _, console = browse(write_report(run), "--dump-dom")
    assert (console, requests) == ("", [])
    # The probe works: without escapes scripts run, and pictures are asked for.
    for module in ("html", "elements"):
        monkeypatch.setattr(f"typednn.reports.{module}.escaped", _unescaped)
    _, ran = looked_at([write_report(run).read_text(encoding="utf-8")], tmp_path)
    assert ran
    assert requests


def _unescaped(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# ------------------------------------------------------------------------------------------------ a notebook


def _notebook(folder: Path, names: Sequence[str]) -> list[str]:
    """What a notebook shows of objects that have ``names``, in pages of 20 names."""

    @final
    @dataclass(frozen=True, slots=True)
    class NamedGrad(Gradient):
        weight: Float[Array1, "1"]

    class Named(Layer[Array2, Array2, ElementwiseGrad[Array2, None]]):
        def __init__(self, word: str) -> None:
            self.word = word

        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
            return x

        def backward(self, next_grad: Float[Array2, "batch features"]) -> ElementwiseGrad[Array2, None]:
            return ElementwiseGrad(next_grad, None)

    made: list[str] = []
    for start in range(0, len(names), 20):
        some = tuple(names[start : start + 20])
        cells = [_of_data(some), _of_training(some)]
        for name in some:
            Named.__name__ = NamedGrad.__qualname__ = _unescaped(name).replace("\0", "\1")
            cells += [_in_cell(Named(name)), _in_cell(NamedGrad(np.ones(1, np.float32))), _piece(name)]
        made.append(f"<!doctype html><title>notebook</title><body>{''.join(cells)}")
    for name in _folders(names)[:5]:
        with Run.create(folder / name, "seed = 0\n", Linear(2, 2).init(np.random.default_rng(0))) as run:
            made.append(f"<!doctype html><title>notebook</title><body>{_in_cell(run)}")
    return made


def _in_cell(shown_there: Any) -> str:
    """What a cell of a notebook shows of it."""
    html: str = shown_there._repr_html_()
    return html


def _of_data(names: tuple[str, ...]) -> str:
    """Reports, samples and folders of images, whose classes have ``names``."""
    labels = np.arange(len(names))
    report = ClassificationReport(len(names), labels, labels, names=names)
    pixels = np.ones((len(names), 1, 1, 1), np.float32)
    found = [_in_cell(report)]
    for part in (slice(0, 10), slice(10, 20)):
        x, y = pixels[part], np.arange(10)
        found.append(_in_cell(Samples(names[part][0], names[part][1], x, y, x, y, names[part])))
        found.append(_in_cell(ImageFolder(x, y, names[part], tuple(Path(str(each)) for each in y))))
    return "".join(found)


def _of_training(names: tuple[str, ...]) -> str:
    """A history whose splits, metrics and end have ``names``."""
    measured = tuple(Measured(place, place, name, 1.0, {name: 0.5}) for place, name in enumerate(names, 1))
    histories = (
        History((Epoch(1, 1.0, 1.0),), measured[part], Best(1, name, 0.5), 9, name)
        for part, name in zip(_HALVES, names, strict=False)
    )
    return "".join(_in_cell(history) for history in histories)


_HALVES: Final = (slice(0, 10), slice(10, 20))


def _piece(name: str) -> str:
    """Each piece that `typednn.html` makes of a text."""
    picture = images(np.zeros((1, 1, 1, 1), np.uint8), [name])
    parts = (
        facts({name: name}),
        table([name], [[name]], numbers=[name]),
        curves({name: [(0.0, 1.0)]}, name),
        tinted(name, 0.5),
    )
    return shown(name, *parts, progress(0.5, name, [name]), picture)


@needs_chromium
def test_a_notebook(tmp_path: Path, asked: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    address, requests = asked
    names = hostile_names(address)
    pages = _notebook(tmp_path / "hostile", names)
    assert not [page for page in pages if UNSEEN.search(page)]
    seen, ran = looked_at([*pages, *_notebook(tmp_path / "harmless", harmless_names(names))], tmp_path)
    assert (ran, requests) == (False, [])
    assert_only_text(seen[: len(pages)], seen[len(pages) :])
    assert all(name in seen[0]["words"][1] for name in names[:20]), "they are shown as they are"
    monkeypatch.setattr("typednn.html.escaped", _unescaped)  # the probe works
    _, ran = looked_at([_piece(name) for name in names[:2]], tmp_path)
    assert ran
    assert requests


# ------------------------------------------------------------------------------------------------ a terminal

_COMMANDS: Final = """
import json, sys, traceback
sys.modules["matplotlib"] = None  # to draw takes long, and pictures are no terminal's
from typednn.cli import main
from typednn.errors import TypednnError
codes = []
with open(sys.argv[1], encoding="utf-8") as file:
    calls = json.load(file)
for arguments in calls:
    try:
        codes.append(main(arguments))
    except SystemExit as wrong:
        codes.append(wrong.code)
    except TypednnError:  # with --debug, and as Python ends then
        traceback.print_exc()
        codes.append(1)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(codes, file)
"""
# What a bar of progress sends: colours, the cursor hidden and shown, the line begun anew.
_OF_A_BAR: Final = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|2K|1A)|\r")
_CLASSES: Final = 250  # of a run: each more makes each row of its matrix longer


def _told(folder: Path, calls: Sequence[Sequence[str]]) -> tuple[list[int], str]:
    """The exit codes of the calls, one after another in a terminal, and all that they wrote there."""
    (folder / "calls.json").write_text(json.dumps(calls), encoding="utf-8")
    ours, theirs = pty.openpty()
    tty.setraw(theirs)  # bytes come as they are written
    command = [sys.executable, "-W", "error", "-c", _COMMANDS, "calls.json", "codes.json"]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment(TERM="xterm-256color", COLUMNS="200", TYPEDNN_ENGINE="reference", PYTHONUTF8="1"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        written = bytearray()
        try:
            while part := os.read(ours, 1 << 16):
                written += part
        except OSError:  # so a terminal ends on Linux
            pass
        os.close(ours)
    assert process.returncode == 0, written.decode("utf-8", "replace")[-2000:]
    codes: list[int] = json.loads((folder / "codes.json").read_text(encoding="utf-8"))
    return codes, written.decode("utf-8")


def _is_word(name: str) -> bool:
    """Whether a table can have it as a class, and a file of UTF-8 hold it."""
    return (
        len(name) < 200 and name.strip().lower() not in ("", "nan", "null") and not re.search("[\ud800-\udfff\0]", name)
    )


def _words() -> list[str]:
    return list(dict.fromkeys(normalised(name) for name in NAMES if _is_word(name)))


def _write_table(path: Path, header: Sequence[str], classes: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(header)
        rows.writerows([word, place % 7, place % 3] for place, word in enumerate([*classes] * 3))


def _training(folder: Path) -> list[tuple[int, list[str]]]:
    """Runs whose folders, data, columns and classes have hostile names, and what is done with them; and
    the exit codes.
    """
    words, files = _words(), [f"{name}.csv" for name in file_names(NAMES)]
    calls: list[tuple[int, list[str]]] = []
    layout = ["--header", "yes", "--delimiter", ",", "--decimal", "."]
    for start in range(0, len(words), _CLASSES):
        some = words[start : start + _CLASSES]
        header, run, data = (some[0] + "y", some[1] + "a", some[2] + "b"), f"run {files[start]}", f"data {files[start]}"
        _write_table(folder / data, header, some)
        rows = files[start : start + _CLASSES]
        for file in rows:
            _write_table(folder / file, header, some[:1])
        train = ["train", "--data", data, "--target", header[0], "--run", run, "--set", "max_steps=4", *layout]
        calls += [
            (0, train),
            (0, ["predict", run, *rows, *layout]),
            (0, ["predict", run, *rows[:9], "--json", *layout]),
        ]
        if not start:
            calls += [(0, [verb, run]) for verb in ("eval", "report", "resume", "check", "summary")]
            calls += [(0, ["export", run, "--to", form, "--output", f"x{run}.{form}"]) for form in ("onnx", "npz")]
    return calls


def _mistakes() -> list[tuple[int, list[str]]]:
    """Each name where another word belongs, in one of these places; and the exit codes."""
    calls: list[tuple[int, list[str]]] = []
    for place, name in enumerate(NAMES):
        argument = "".join(
            part for part in name if part != "\0" and not "\ud800" <= part < "\udc80" and not "\udcff" < part < "\ue000"
        )
        word, option = f"x{argument}", argument.replace(" ", "_")
        every: list[tuple[int, list[str]]] = [
            *(
                (1, [verb, word])
                for verb in ("summary", "eval", "check", "generate", "train", "resume", "report", "gradcheck")
            ),
            (1, ["predict", word, "x.csv"]),
            (1, ["export", word, "--to", "npz"]),
            (1, ["summary", word, "--debug"]),
            (1, ["resume", word, "--debug"]),
            (2, [word]),
            (2, ["train", f"--ta={argument}"]),
            (2, ["train", f"--x{option}"]),
            (1, ["train", "mlp", "--set", word]),
            (1, ["train", "mlp", "--set", f"{word}=1"]),
            (1, ["train", "mlp", "--data", word]),
            (2, ["export", "run", "--to", word]),
            (1, ["generate", "model.bin", "--tokenizer", "tokenizer.bin", "--prompt", word]),
        ]
        calls.append(every[place % len(every)])
    # that were shown raw, or with a traceback
    return [*calls, (2, ["train", "--ta=\x1b[2J"]), (1, ["gradcheck", "a " * 1500])]


def _of_files(folder: Path) -> list[tuple[int, list[str]]]:
    """Configs with the names and of these names, and tokens that are the names; and the exit codes."""
    files = [f"{name}.toml" for name in file_names(NAMES)]
    for file, name in zip(files, NAMES, strict=True):
        text = f"{CONFIG}\n[[layer]]\ntype = {json.dumps(name[:300], ensure_ascii=False)}\n# {name[:300]}\n"
        (folder / file).write_text(text, encoding="utf-8", errors="replace")
    tokens = [name.encode("utf-8", "surrogatepass")[:255] for name in NAMES]
    (folder / "tokenizer.bin").write_bytes(packed("tokenizer", "names", [*tokens, b"end"], COUNT))
    write_gpt_c(GPT2(COUNT + 1, 8, 4, 1, 1, rng=np.random.default_rng(0)), folder / "model.bin")
    model, every = ["generate", "model.bin", "--tokenizer", "tokenizer.bin"], str([*range(COUNT)])
    return [
        (1, ["check", *files[::3]]),
        (1, ["check", *files[1::3], "--format", "github"]),
        (1, ["check", *files[2::3], "--format", "json"]),
        *((1, ["summary", file]) for file in files[::20]),
        *((1, ["train", "mlp", "--import", f"x{file}"]) for file in files[150::100]),
        (0, [*model, "--prompt-tokens", every, "--max-tokens", "9"]),
        (0, [*model, "--prompt-tokens", "[1]", "--top", str(COUNT)]),
        (0, ["tokens", "decode", "--tokenizer", "tokenizer.bin", every]),
    ]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What all verbs that show names write into a terminal; the exit codes are as they should be."""
    folder = tmp_path_factory.mktemp("terminal")
    calls = [*_training(folder), *_of_files(folder), *_mistakes()]
    codes, written = _told(folder, [arguments for _, arguments in calls])
    assert [(code, call) for code, (expected, call) in zip(codes, calls, strict=True) if code != expected] == []
    return written


def test_what_a_terminal_gets(told: str) -> None:
    """Of what is no character there are the sequences of a bar of progress alone; every name is written, as text."""
    rest = _OF_A_BAR.sub("", told)
    assert [ascii(rest[max(0, found.start() - 60) : found.end() + 9]) for found in UNSEEN.finditer(rest)][:5] == []
    for word in _words():
        assert printable(word) in told
        assert word == printable(word) or word not in told


def _in_tmux(folder: Path, content: str) -> tuple[list[str], str]:
    """What tmux is like after ``content`` was written in it: its modes, cursor, titles and clipboard; and the text that
    it holds.
    """
    (folder / "content").write_text(content, encoding="utf-8", errors="surrogatepass", newline="")
    with tempfile.TemporaryDirectory() as sockets:  # their paths must be short
        tmux = ["tmux", "-S", f"{sockets}/s", "-f", str(folder / "tmux.conf")]
        allowed = (
            "history-limit 200000",
            "set-clipboard on",
            "allow-rename on",
            "allow-passthrough on",
            "set-titles on",
        )
        (folder / "tmux.conf").write_text(
            "".join(f"set -g {each}\n" for each in (*allowed, "automatic-rename off", "status off"))
        )

        def ask(*arguments: str) -> str:
            done = subprocess.run(
                [*tmux, *arguments],
                capture_output=True,
                check=True,
                timeout=60,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )
            return done.stdout.decode("utf-8", "replace")

        shell = f"stty -echo; cat content; {shlex.join([*tmux, 'wait-for', '-S', 'written'])}; exec sleep 60"
        ask("new-session", "-d", "-n", "window", "-x", "400", "-y", "50", "-c", str(folder), "sh", "-c", shell)
        try:
            ask("wait-for", "written")
            modes = (
                "alternate_on",
                "insert_flag",
                "keypad_flag",
                "keypad_cursor_flag",
                "mouse_any_flag",
                "origin_flag",
                "wrap_flag",
                "cursor_flag",
            )
            state = (
                *modes,
                "cursor_x",
                "cursor_y",
                "scroll_region_upper",
                "scroll_region_lower",
                "pane_tabs",
                "window_name",
                "pane_title",
            )
            kept = [ask("display-message", "-p", f"#{{{name}}}") for name in state]
            return [*kept, ask("list-buffers")], ask("capture-pane", "-p", "-J", "-S", "-")
        finally:
            ask("kill-server")


# in lines that tmux changes, or that a bar leaves
_JOINED: Final = re.compile(f"[\u115f\u200d\u3164\U0001f1e6]|{_OF_A_BAR.pattern}")


def _letters(lines: Iterable[str]) -> Counter[str]:
    """The lines without what takes no place of its own, which terminals keep or drop, and U+FFFD, which they make of
    what is none.
    """
    plain = (
        "".join(part for part in line if unicodedata.category(part)[0] in "LNPS" and part != "\ufffd") for line in lines
    )
    return Counter(filter(None, plain))


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux on the PATH")
def test_a_terminal(told: str, tmp_path: Path) -> None:
    """In tmux: the cursor, the titles, the clipboard and all modes are as after harmless lines, and each line is there,
    in its place.
    """
    untouched, _ = _in_tmux(tmp_path, "line\n" * 200)
    state, text = _in_tmux(tmp_path, told)
    assert state == untouched
    expected = _letters(line for line in told.split("\n") if not _JOINED.search(line))
    assert expected.total() > 2000
    assert not expected - _letters(text.split("\n"))
    assert _in_tmux(tmp_path, "".join(NAMES))[0] != untouched, "the probe works"


def test_what_python_prints() -> None:
    """``print`` of a report, of an answer and of an error: as the commands show them."""
    labels = np.arange(COUNT)
    shown_here = [str(ClassificationReport(COUNT, labels, labels, names=NAMES))]
    for name in NAMES:
        shown_here += [str(Answer(name, 0, 0, name, {name: 0.5, f"x{name}": 0.5})), str(Estimate(name, 0, (1.0,)))]
        with pytest.raises(TypednnError) as refused:
            read_table(name.replace("\0", "") + ".none", target=name)
        shown_here.append(str(refused.value))
    assert [ascii(text[:200]) for text in shown_here if CONTROL.search(text)][:5] == []


# ------------------------------------------------------------------------------------------------ TensorBoard


def test_tags_of_tensorboard(tmp_path: Path) -> None:
    """They are written as text, each as a tag of its own."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2", reason="needs the extra typednn[tensorboard]")
    with EventWriter(tmp_path) as writer:
        for place, name in enumerate(NAMES):
            writer.scalar(name, 1.0, place)
    content, tags = next(tmp_path.iterdir()).read_bytes(), list[str]()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        tags += [value.tag for value in event_pb2.Event.FromString(content[12 : 12 + length]).summary.value]
        content = content[16 + length :]
    assert tags == [printable(name) for name in NAMES]
    assert not [tag for tag in tags if CONTROL.search(tag)]
