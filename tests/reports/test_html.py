"""The page of a run: complete, escaped, self-contained, and shown by a real browser."""

import errno
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from colours import contrast, over
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_run import MODEL, metrics_lines, report_of, sample_arrays, sample_run, write_metrics

from typednn.errors import DataError
from typednn.files import write_whole
from typednn.reports import html
from typednn.reports.html import write_report
from typednn.runs.recorded import LINE_LIMIT, read_metrics, read_scores
from typednn.runs.shown import worst_mistakes, write_shown

HOSTILE = "</pre></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--\x00\ud800"
PICTURES = ("data:image/png;base64,", "data:image/svg+xml;base64,")
VOID = {"meta", "img", "source"}


class Page(HTMLParser):
    """The elements of a page, each of which must be closed; all its text; the headings."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(content)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "script" not in self.open:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def report(run: Path) -> Page:
    assert write_report(run) == run / "report.html"
    return page_of(run)


def page_of(run: Path) -> Page:
    page = Page((run / "report.html").read_text(encoding="utf-8"))
    assert_self_contained(page)
    return page


def assert_self_contained(page: Page) -> None:
    """Nothing is loaded, nothing runs."""
    assert not {name for name, _ in page.elements} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "use",
        "foreignobject",
    }
    for name, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]
        if "src" in attributes:
            assert name == "img"
            assert (attributes["src"] or "").startswith(PICTURES)
        if "srcset" in attributes:
            assert name == "source"
            assert (attributes["srcset"] or "").startswith(PICTURES[1])
        if "href" in attributes:
            assert name == "a"
            assert (attributes["href"] or "").startswith("#")
    policies = [
        attributes["content"]
        for attributes in page.of("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all files, its pictures and its page."""
    pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")
    run, arrays = sample_run(tmp_path_factory.mktemp("runs") / "lenet5-digits"), sample_arrays()
    write_shown(started(run), worst_mistakes(arrays["images"], arrays["labels"], arrays["scores"]), arrays["filters"])
    write_report(run)
    return run


def test_everything_is_on_the_page(whole_run: Path) -> None:
    page = page_of(whole_run)
    assert len(page.of("img")) == 2
    assert all(attributes["alt"] for attributes in page.of("img"))
    diagrams = [attributes["aria-label"] or "" for attributes in page.of("svg") if "aria-label" in attributes]
    assert [label.partition(":")[0] for label in diagrams] == [
        "Loss",
        "Learning rate",
        "Accuracy on train and validation data (%)",
        "Gradient norm of each layer",
    ]
    for words in (
        "lenet5-digits",
        MODEL,
        'name = "lenet5"',
        "4.4 s",
        "Halide 21",
        "precision",
        "test accuracy",
        "train accuracy",
        "99.10 %",
        "validation",
    ):
        assert words in page.text, words
    assert "Left out" not in page.text
    sections = [attributes["id"] for attributes in page.of("section")]
    assert [attributes["href"] for attributes in page.of("a")] == [f"#{name}" for name in sections]
    assert {attributes.get("name") for attributes in page.of("meta")} >= {"viewport", "color-scheme"}
    assert "prefers-color-scheme:dark" in (whole_run / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_matplotlib")
def test_config_and_recipe_are_both_shown(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("the model")
    (tmp_path / "recipe.json").write_text("the recipe")
    page = report(tmp_path)
    assert "config.toml" in page.text
    assert "the model" in page.text
    assert "the recipe" in page.text
    assert "config.toml is missing" not in page.text


def test_same_run_same_page(whole_run: Path) -> None:
    first = (whole_run / "report.html").read_bytes()
    assert write_report(whole_run).read_bytes() == first
    assert not [path for path in whole_run.iterdir() if path.name.startswith(".new-")]


def test_a_folder_without_a_run_has_no_page(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of a run", encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}: needs the folder of a run, got none of config.toml, ")):
        write_report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_page_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text("{}", encoding="utf-8")
    page = report(tmp_path)
    assert page.of("img") == []
    for words in (
        "metrics.jsonl is missing",
        "report.json is missing",
        "model.txt is missing",
        "config.toml is missing",
        "environment.json is missing",
    ):
        assert words in page.text
    assert page.text.count("there is no picture") == 3
    assert page.of("svg") == []
    assert "No loss was recorded." in page.text
    assert "No gradient norm was recorded." in page.text


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_rest_is_there(tmp_path: Path) -> None:
    page = report(sample_run(tmp_path / "run"))
    assert page.of("img") == []
    assert len(page.of("polyline")) > 5, "curves need no package"
    assert "matplotlib is not installed: pip install 'typednn[plots]'" in page.text
    for words in ("precision", "versions.numpy", "2.4.6", MODEL):
        assert words in page.text


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_older_pictures_are_shown(tmp_path: Path, whole_run: Path) -> None:
    run = sample_run(tmp_path / "run")
    shutil.copytree(whole_run / "plots", run / "plots")
    page = report(run)
    assert len(page.of("img")) == 2
    assert "pictures are not drawn anew" in page.text


def hostile_run(run: Path, text: str = HOSTILE) -> Path:
    """A run in which every text is ``text``."""
    names = [f"{text}{place}" for place in range(10)]
    sample_run(run, steps=60, names=names)
    write_metrics(run, metrics_lines(60, layers=(text, f"{text}2")))
    for name in ("model.txt", "config.toml"):
        (run / name).write_text(text, encoding="utf-8", errors="replace")
    start = {"date": text, "command": text, "git": {"commit": text, "changed": True}, "processor": text, text: text}
    (run / "starts.jsonl").write_text(f"{json.dumps(start)}\n" * 2)
    (run / "environment.json").write_text(json.dumps({text: text, "deep": {text: {text: [text, {text: text}]}}}))
    found = json.loads((run / "report.json").read_text())
    (run / "report.json").write_text(json.dumps(found | {"split": text}))
    return run


@pytest.mark.usefixtures("no_matplotlib")
def test_texts_from_files_are_escaped(tmp_path: Path) -> None:
    page = report(hostile_run(tmp_path / "<b onclick=alert(3)>&amp;"))
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "?")
    # In the config and the model, in keys and values of the environment, in each class, twice where a split is named.
    assert page.text.count(shown) >= 17
    assert page.text.count("<b onclick=alert(3)>&amp;") == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "metrics.jsonl",
            b'{"kind": "step", "step": 1, "epoch": 0, "loss": 2.0}\n{"kind": "st',
            "the last line is cut off",
        ),
        (
            "metrics.jsonl",
            b"\x00\xff\n[1]\n7\n" + b'{"kind": "step", "step": "1", "loss": 1}\n',
            "4 of 4 lines are not what they should be",
        ),
        (
            "metrics.jsonl",
            b'{"kind": "step", "step": 1, "loss": 1' + b"0" * LINE_LIMIT + b"}\n",
            "1 of 1 lines are not what they should be",
        ),
        ("metrics.jsonl", b'{"a":' * 100_000 + b"\n", "1 of 1 lines are not what they should be"),
        ("metrics.jsonl", b'{"kind": "step", "step": 1, "loss": ' + b"9" * 5000 + b"}\n", "1 of 1 lines"),
        ("metrics.jsonl", b"", "metrics.jsonl holds no measurement yet"),
        ("report.json", b'{"classes": 10', "report.json: must hold one JSON object"),
        ("report.json", b'{"classes": 1e9}', "report.json: 'classes' must be an integer from 1 to 1000"),
        ("report.json", b"[" * 100_000, "report.json: must hold one JSON object"),
        ("environment.json", b"[]", "environment.json: must hold one JSON object"),
        ("environment.json", b'{"a": {"b": {"c": {"d": {"e": {"f": {}}}}}}}', "a.b.c.d"),
        ("model.txt", b"\xff\xfe\x00layer", "\ufffd\ufffd\ufffdlayer"),
        ("config.toml", b"x" * 300_000, "config.toml: only the first 200,000 of 300,000 characters are shown"),
        ("starts.jsonl", b'{"date": "now"}\n\xff\n[1]\n{"date": "then"', "now"),
        ("plots/worst.png", b"<svg>", "plots/worst.png is not a PNG picture"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
@pytest.mark.usefixtures("no_matplotlib")
def test_damage_is_said(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    run = sample_run(tmp_path / "run", steps=20)
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).write_bytes(content)
    page = report(run)
    assert said in page.text


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("names", ["a"] * 9, "'names' must be 10 strings"),
        ("names", list(range(10)), "'names' must be 10 strings"),
        ("names", None, "'names' must be 10 strings"),
        ("confusion", [[1] * 10] * 9, "'confusion' must be 10 rows of 10 counts"),
        ("confusion", [[1] * 9] * 10, "'confusion' must be 10 counts in a row"),
        ("confusion", [[-1] * 10] * 10, "'confusion' must be 10 counts in a row"),
        ("confusion", [[True] * 10] * 10, "'confusion' must be 10 counts in a row"),
        ("confusion", [[10**30] * 10] * 10, "'confusion' must be 10 counts in a row"),
        ("support", "many", "'support' must be 10 counts in a row"),
        ("precision", [2.0] * 10, "'precision' must be 10 numbers from 0 to 1"),
        ("recall", [float("nan")] * 10, "'recall' must be 10 numbers from 0 to 1"),
        ("f1", [None] * 10, "'f1' must be 10 numbers from 0 to 1"),
        ("accuracy", "0.9", "'accuracy' must be a number from 0 to 1"),
        ("accuracy", True, "'accuracy' must be a number from 0 to 1"),
        ("split", 3, "'split' must be a string"),
        ("train_accuracy", 7, "'train_accuracy' must be a number from 0 to 1, or null"),
        ("classes", 0, "'classes' must be an integer from 1 to 1000"),
        ("classes", True, "'classes' must be an integer from 1 to 1000"),
    ],
)
def test_scores_that_do_not_fit_are_refused(tmp_path: Path, key: str, value: Any, said: str) -> None:
    found = json.loads((sample_run(tmp_path) / "report.json").read_text())
    (tmp_path / "report.json").write_text(json.dumps(found | {key: value}))
    with pytest.raises(DataError) as caught:
        read_scores(tmp_path)
    assert str(caught.value) == f"report.json: {said}, got something else; write it anew with `typednn eval`"


def test_a_report_without_names_or_training_accuracy(tmp_path: Path) -> None:
    found = json.loads((sample_run(tmp_path) / "report.json").read_text())
    del found["names"]
    (tmp_path / "report.json").write_text(json.dumps(found | {"train_accuracy": None}))
    scores = read_scores(tmp_path)
    assert scores is not None
    assert scores.names == tuple("0123456789")
    assert scores.train_accuracy is None


@pytest.mark.usefixtures("no_matplotlib")
def test_links_out_of_the_run_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    run = sample_run(tmp_path / "run", steps=20)
    for name in ("config.toml", "environment.json", "metrics.jsonl", "report.json"):
        (run / name).unlink()
        (run / name).symlink_to(secret)
    page = report(run)
    assert "hunter2" not in page.text
    assert page.text.count("must lie in the run folder, got a link out of it") == 4


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_stop_the_page(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", steps=20)
    (run / "config.toml").unlink()
    os.mkfifo(run / "config.toml")
    assert "config.toml: must be a file, got something else" in report(run).text


def test_a_long_line_does_not_hide_what_follows(tmp_path: Path) -> None:
    good = json.dumps({"kind": "step", "step": 1, "epoch": 0, "loss": 2.0})
    long = json.dumps({"kind": "step", "step": 2, "epoch": 0, "loss": 2.0, "note": "x" * (3 * LINE_LIMIT)})
    other = json.dumps({"kind": "resumed", "step": 1, "loss": 0})
    (tmp_path / "metrics.jsonl").write_text(f"{good}\n{long}\n\n{good}\n{other}\n")
    metrics = read_metrics(tmp_path)
    assert len(metrics.steps[0]) == 2
    assert metrics.remarks == (
        "metrics.jsonl: 1 of 5 lines are not what they should be and were left out, the first is line 2",
    )


def test_no_run_no_page(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"write_report: needs the folder of a run, got '.*', which is no folder"):
        write_report(tmp_path / "none")


@pytest.mark.usefixtures("no_matplotlib")
def test_a_full_disk_leaves_the_page_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    write_whole(path, b"before")
    (tmp_path / "model.txt").touch()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DataError, match=r"report\.html: must be writable, got No space left on device; make room"):
            write_report(tmp_path)
    assert path.read_bytes() == b"before"
    assert {file.name for file in tmp_path.iterdir()} == {"report.html", "model.txt"}


RUN_FILES = (
    "metrics.jsonl",
    "report.json",
    "pictures.safetensors",
    "environment.json",
    "model.txt",
    "config.toml",
    "recipe.json",
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from([*RUN_FILES, "starts.jsonl"]),
        st.binary(max_size=60),
        min_size=1,
    ).filter(lambda files: files.keys() != {"starts.jsonl"})
)
@pytest.mark.usefixtures("no_matplotlib")
def test_whatever_the_files_hold(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    run = tmp_path_factory.mktemp("run")
    for name, content in files.items():
        (run / name).write_bytes(content)
    report(run)


def test_a_thousand_classes_are_folded_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_matplotlib: None
) -> None:
    import numpy as np

    (tmp_path / "report.json").write_text(
        json.dumps(report_of(np.eye(1000, dtype=np.int64), [f"class {place}" for place in range(1000)]))
    )
    page = report(tmp_path)
    assert "class 999" in page.text
    assert [("open" in attributes) for attributes in page.of("details")] == [False]


# --------------------------------------------------------------------------------------------- how training was started

START = {
    "step": 0,
    "date": "2026-03-01T09:30:00+00:00",
    "command": "python -m typednn train lenet5 --data digits",
    "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "changed": False},
    "processor": "Model 5",
    "threads": {"cores": 8, "kernels": 4, "OMP_NUM_THREADS": ""},
    "engine": "Halide 21",
    "gpu": "Card 7",
}


def started(run: Path, *changes: dict[str, Any]) -> Path:
    """``run``, started once, and again with each of the ``changes``."""
    (run / "starts.jsonl").write_text("".join(json.dumps(START | change) + "\n" for change in ({}, *changes)))
    return run


@pytest.mark.usefixtures("no_matplotlib")
def test_date_commit_command_and_hardware_are_on_the_page(tmp_path: Path) -> None:
    page = report(started(sample_run(tmp_path / "run", steps=20)))
    assert "2026-03-01 09:30:00 UTC · commit 0123456789ab · Model 5 · Card 7" in page.text
    assert page.text.count("python -m typednn train lenet5 --data digits") == 2
    assert rows_of(tmp_path / "run", "How and with what training was started") == [
        ["after step", "0"],
        ["date", "2026-03-01 09:30:00 UTC"],
        ["command", "python -m typednn train lenet5 --data digits"],
        ["git commit", "0123456789abcdef0123456789abcdef01234567"],
        ["uncommitted changes", "False"],
        ["processor", "Model 5"],
        ["cores", "8"],
        ["threads of kernels", "4"],
        ["engine", "Halide 21"],
        ["GPU", "Card 7"],
    ]
    assert "Where and with what the run took place" not in page.text, "the same is not shown twice"


@pytest.mark.usefixtures("no_matplotlib")
def test_each_start_has_a_column(tmp_path: Path) -> None:
    later = [
        {"step": 10 * number, "git": {"commit": "f" * 40, "changed": True}, "processor": "Model 6"} for number in (1, 2)
    ]
    page = report(started(sample_run(tmp_path / "run", steps=20), *later))
    assert "started 3 times, the last 2026-03-01 09:30:00 UTC" in page.text
    rows = {name: values for name, *values in rows_of(tmp_path / "run", "How and with what training was started")}
    assert rows["after step"] == ["0", "10", "20"]
    assert rows["processor"] == ["Model 5", "Model 6", "Model 6"]
    assert rows["uncommitted changes"] == ["False", "True", "True"]
    page = report(started(tmp_path / "run", *({"step": number} for number in range(1, 1000))))
    assert "(the first and the last 4 of 1,000 times)" in page.text
    rows = {name: values for name, *values in rows_of(tmp_path / "run", "How and with what training was started (")}
    assert rows["after step"] == ["0", "996", "997", "998", "999"]


@pytest.mark.usefixtures("no_matplotlib")
def test_changes_that_are_not_committed_are_said_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "model.txt").touch()
    (tmp_path / "starts.jsonl").write_text(json.dumps({"git": {"commit": "a" * 40, "changed": True}}) + "\n")
    assert "commit aaaaaaaaaaaa, with uncommitted changes" in report(tmp_path).text
    (tmp_path / "starts.jsonl").write_text(json.dumps({"command": "train"}) + "\n")
    assert "commit" not in report(tmp_path).text.replace("`", "")


def rows_of(run: Path, words: str) -> list[list[str]]:
    """The cells of the body of the table below the summary that begins with ``words``."""
    content = (run / "report.html").read_text(encoding="utf-8")
    body = content.partition(f"<summary>{words}")[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [unescape(cell) for cell in re.findall("<td>(.*?)</td>", row, re.DOTALL)]
        for row in body.split("</tr>")
        if "<td>" in row
    ]


# ----------------------------------------------------------------------------------------------- readable on any screen


def colours(style: str) -> dict[str, dict[str, str]]:
    """The colours' values in the light and in the dark."""
    light, dark = re.findall(r":root\{([^}]*--ink[^}]*)\}", style)
    return {
        name: dict(re.findall(r"--(\w+):(#[0-9a-f]+);", block)) for name, block in (("light", light), ("dark", dark))
    }


def test_texts_have_enough_contrast(whole_run: Path) -> None:
    """At least 4.5, which WCAG 2 asks of texts (level AA), on every background that they are on."""
    style = (whole_run / "report.html").read_text(encoding="utf-8").partition("<style>")[2].partition("</style>")[0]
    values = colours(style)
    assert values["light"].keys() == values["dark"].keys()
    levels = re.findall(r"\.matrix \.a\d+\{background:(#[0-9a-f]{6})([0-9a-f]{2})(?:;color:(#[0-9a-f]{6}))?\}", style)
    assert len(levels) == 20
    for theme in values.values():
        for text in ("ink", "soft", "link"):
            for paper in ("paper", "card"):
                assert contrast(theme[text], theme[paper]) >= 4.5, (text, paper)
        assert contrast(theme["ink"], theme["warn"]) >= 4.5
        for colour, alpha, own in levels:
            assert contrast(own or theme["cell"], over(colour, int(alpha, 16) / 255, theme["paper"])) >= 4.5, (
                colour,
                alpha,
            )
    assert set(re.findall(r"(?<!-)color:([^;}]+)", style)) == {
        f"var(--{name})" for name in ("ink", "soft", "link", "cell")
    } | {"#ffffff", "inherit"}, "every other colour of a text has two values"


def test_headings_are_in_order_and_pictures_have_words(whole_run: Path) -> None:
    page = page_of(whole_run)
    headings = [int(name[1]) for name, _ in page.elements if re.fullmatch("h[1-6]", name)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    for attributes in page.of("img"):
        assert re.match(r"[A-Z].{20}", attributes["alt"] or ""), "what it is, and what it shows"
    alts = "\n".join(attributes["aria-label"] or "" for attributes in page.of("svg") if "aria-label" in attributes)
    assert re.search(r"Training loss: \S+ at step 1, \S+ at step 400\.", alts)
    assert "validation: last 95.65 %, best 95.89 % at step 300." in alts
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(attributes["aria-labelledby"] in ids for attributes in page.of("section"))
    assert [attributes["aria-label"] for attributes in page.of("nav")] == ["Sections"]
    assert {attributes.get("scope") for attributes in page.of("th")} == {"col", "row"}


def test_what_is_wide_scrolls_in_a_box(whole_run: Path) -> None:
    content = (whole_run / "report.html").read_text(encoding="utf-8")
    boxes = re.findall(r'<div class="wide" tabindex="0" role="region" aria-label="[^"]+">\s*<table', content)
    assert len(boxes) == content.count("<table") >= 4
    style = content.partition("<style>")[2].partition("</style>")[0]
    for rule in (".wide{overflow-x:auto}", "img{max-width:100%;height:auto"):
        assert rule in style
    assert re.search(r"\npre\{[^}]*overflow-x:auto", style)
    assert re.search(r"h1\{[^}]*overflow-wrap:break-word", style)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in content
    sources = re.findall(r'<source media="\(max-width:36rem\)" srcset="data:image/svg\+xml', content)
    assert len(sources) == content.count("<picture>") == 2


@pytest.mark.usefixtures("no_matplotlib")
def test_the_matrix_has_whole_names(tmp_path: Path) -> None:
    import numpy as np

    names = ["a cat that is asleep on a warm window sill", "dog", "owl"]
    (tmp_path / "report.json").write_text(
        json.dumps(report_of(np.array([[8, 2, 0], [0, 1000, 0], [3, 0, 1]]), names, "validation"))
    )
    page = report(tmp_path)
    content = (tmp_path / "report.html").read_text(encoding="utf-8")
    matrix = content.partition('<table class="matrix">')[2].partition("</table>")[0]
    assert re.findall(r'<th scope="col"><span>(.*?)</span>', matrix) == names
    assert re.findall(r'<th scope="row"><span>(.*?)</span>', matrix) == names
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in matrix.partition("<tbody>")[2].split("</tr>")[:3]]
    assert rows == [["8", "2", ""], ["", "1,000", ""], ["3", "", "1"]]
    levels = [int(level) for level in re.findall(r'<td class="a(\d+)">', matrix)]
    assert levels == [math.ceil(20 * share**0.45) for share in (0.8, 0.2, 1.0, 0.75, 0.25)]
    assert "On the validation split 1,009 of 1,014 are right (99.51 %)." in page.text
    assert rows_of(tmp_path, "The most frequent confusions") == [
        ["owl", names[0], "3", "75.0 %"],
        [names[0], "dog", "2", "20.0 %"],
    ]


def test_a_large_matrix_is_a_picture_and_its_worst_cells_have_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")
    monkeypatch.setattr(html, "_CELLS", 5)
    counts = np.eye(6, dtype=np.int64) * 9
    counts[3, 4] = 1
    (tmp_path / "report.json").write_text(
        json.dumps(report_of(counts, [f"class number {place}" for place in range(6)]))
    )
    page = report(tmp_path)
    assert 'class="matrix"' not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [attributes.get("class") for attributes in page.of("img")] == ["large"]
    assert rows_of(tmp_path, "The most frequent confusions") == [["class number 3", "class number 4", "1", "10.0 %"]]


@pytest.mark.usefixtures("no_matplotlib")
def test_whose_numbers_they_are_is_said(tmp_path: Path) -> None:
    page = report(sample_run(tmp_path / "run", steps=100))
    names = re.findall("<dt>(.*?)</dt>", (tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert [name for name in names if "accuracy" in name] == ["test accuracy", "train accuracy"]
    assert "training loss, last step" in names
    assert {row[1] for row in rows_of(tmp_path / "run", "Evaluations")} == {"train", "validation"}
    assert "Class by class, on the test split" in page.text


def test_a_page_of_a_long_run_is_small(tmp_path: Path, whole_run: Path) -> None:
    """Ten times as many steps as are drawn, and 400 evaluations."""
    write_metrics(sample_run(tmp_path, steps=1), metrics_lines(10_000, per_epoch=50))
    page = report(tmp_path)
    assert "The last 20 of " in page.text
    assert (tmp_path / "report.html").stat().st_size < 2 * (whole_run / "report.html").stat().st_size


# ------------------------------------------------------------------------------------------------ a real browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the PATH")


def browse(page: Path, *arguments: str) -> tuple[str, str]:
    """What chromium says of ``page``: its document, and its console."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
        ]
        command += [
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            "--virtual-time-budget=4000",
            *arguments,
        ]
        done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def measured(page: Path, folder: Path, widths: tuple[int, ...]) -> list[dict[str, Any]]:
    """The page as laid out in each of the ``widths`` in pixels, asked by a script: copies whose policy allows one, in
    frames.

    ``scroll``: the width that the page takes. ``images``: the natural widths of the pictures, 0 for one that is not
    shown. ``cut``: the headings, summaries, tiles and paragraphs that leave the page or their box.
    """
    content = page.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', content)
    assert policy
    script = (
        "<script>addEventListener('load',()=>{const d=document.scrollingElement,i=[...document.images];"
        "const cut=[...document.querySelectorAll('h1,h2,summary,dt,dd,p,nav,figcaption,img:not(.large)')].filter(x=>"
        "x.getBoundingClientRect().right>innerWidth||x.scrollWidth>x.clientWidth+1&&x.clientWidth).map(x=>x.tagName+x.textContent);"
        "const found={width:innerWidth,scroll:d.scrollWidth,images:i.map(x=>x.complete?x.naturalWidth:0),cut};"
        "parent.postMessage(found,'*')})</script></body>"
    )
    framed = content.replace(policy[0], "").replace("</body>", script).replace("&", "&amp;").replace('"', "&quot;")
    collect = (
        "<script>const "
        "all=[];addEventListener('message',e=>{all.push(e.data);document.body.dataset.found=JSON.stringify(all)})</script>"
    )
    frames = "".join(
        f'<iframe style="border:0" width="{width}" height="800" srcdoc="{framed}"></iframe>' for width in widths
    )
    wrapper = folder / "frame.html"
    wrapper.write_text(f'<!doctype html><meta charset="utf-8"><body>{collect}{frames}', encoding="utf-8")
    document, _ = browse(wrapper, "--dump-dom")
    found = re.search(r'data-found="([^"]*)"', document)
    assert found, "no page finished loading"
    answers: list[dict[str, Any]] = json.loads(unescape(found[1]))
    assert sorted(answer["width"] for answer in answers) == sorted(widths), "every frame is as wide as asked"
    return sorted(answers, key=lambda answer: int(answer["width"]))


WIDTHS = (360, 768, 1280)


@needs_chromium
def test_browser_cuts_nothing_off_in_any_width(whole_run: Path, tmp_path: Path) -> None:
    phone, tablet, desk = measured(whole_run / "report.html", tmp_path, WIDTHS)
    for found in (phone, tablet, desk):
        assert found["scroll"] <= found["width"], f"the page is wider than {found['width']} pixels"
        assert found["cut"] == []
        assert len(found["images"]) == 2
        assert min(found["images"]) > 200
    assert phone["images"][0] < 400 < tablet["images"][0] == desk["images"][0], "the narrow picture on a phone alone"


@needs_chromium
def test_browser_keeps_the_longest_words_on_the_page(tmp_path: Path, no_matplotlib: None) -> None:
    word = "Donaudampfschifffahrtsgesellschaft" * 4
    run = sample_run(tmp_path / f"{word}-1", steps=60, names=[f"{word}{place}" for place in range(30)])
    (run / "starts.jsonl").write_text(f"{json.dumps(START | {'command': word, 'processor': word, word: word})}\n" * 7)
    for found in measured(write_report(run), tmp_path, WIDTHS):
        assert found["scroll"] <= found["width"], f"the page is wider than {found['width']} pixels"
        assert found["cut"] == []


@needs_chromium
def test_browser_shows_no_white_charts_in_the_dark(whole_run: Path, tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    page = whole_run / "report.html"
    light: dict[int, float] = {}
    for scheme, paper in ((0, (13, 17, 23)), (1, (255, 255, 255))):
        shot = tmp_path / f"{scheme}.png"
        _, console = browse(
            page, f"--screenshot={shot}", "--window-size=1200,3000", f"--blink-settings=preferredColorScheme={scheme}"
        )
        assert console == ""
        with Image.open(shot) as image:
            assert image.size[0] == 1200
            assert len(image.convert("RGB").getcolors(2**24) or []) > 100
            pixels = np.asarray(image.convert("RGB"))
        assert tuple(pixels[5, 5]) == paper
        light[scheme] = float((pixels.min(axis=2) > 200).mean())
    assert light[0] < 0.03, "letters are light, papers are not"
    assert light[1] > 0.8


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on this machine, and the requests that it got."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:  # a browser keeps some open and asks by others
        server.daemon_threads, server.block_on_close = True, False
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()


@needs_chromium
def test_browser_runs_nothing_and_asks_nobody(tmp_path: Path, asked: tuple[str, list[str]]) -> None:
    address, requests = asked
    attack = (
        f"<script>document.title='owned';fetch('{address}/s')</script><img src={address}/i><link rel=stylesheet "
        f"href={address}/l>"
    )
    text = f"</pre></td></title></style>{attack}"
    page = write_report(hostile_run(tmp_path / "run", text))
    document, console = browse(page, "--dump-dom")
    assert "<script" not in document
    assert "<title>run · typednn</title>" in document
    assert f"src={address}" in document.replace("&lt;img ", ""), "as text"
    assert console == ""
    assert requests == []
    # The probe works: a page without escapes would have been noticed, but for the policy that stands behind them.
    page.write_text(
        page.read_text(encoding="utf-8").replace("</body>", f"<img src={address}/i></body>"), encoding="utf-8"
    )
    _, console = browse(page, "--dump-dom")
    assert "Content Security Policy" in console
    assert requests == []
    page.write_text(f"<!doctype html><img src={address}/i>", encoding="utf-8")
    browse(page, "--dump-dom")
    assert requests == ["/i"]
