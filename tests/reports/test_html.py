"""The page of a run: complete, escaped, self-contained, and shown by a real browser."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_run import MODEL, metrics_lines, report_of, sample_arrays, sample_run, write_metrics

from typednn.errors import DataError
from typednn.files import write_whole
from typednn.reports.html import write_report
from typednn.reports.plots import write_plots
from typednn.runs.recorded import LINE_LIMIT, read_metrics, read_scores

HOSTILE = "</pre></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--\x00\ud800"
VOID = {"meta", "img"}


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

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def report(run: Path) -> Page:
    path = write_report(run)
    assert path == run / "report.html"
    page = Page(path.read_text(encoding="utf-8"))
    assert_self_contained(page)
    return page


def assert_self_contained(page: Page) -> None:
    """Nothing is loaded, nothing runs."""
    assert not {name for name, _ in page.elements} & {"script", "link", "iframe", "object", "embed", "base", "form", "svg"}
    for name, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]
        if "src" in attributes:
            assert name == "img"
            assert (attributes["src"] or "").startswith("data:image/png;base64,")
        if "href" in attributes:
            assert name == "a"
            assert (attributes["href"] or "").startswith("#")
    policies = [attributes["content"] for attributes in page.of("meta") if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")
    run = sample_run(tmp_path_factory.mktemp("runs") / "lenet5-digits")
    write_plots(run, **sample_arrays())
    return run


def test_everything_is_on_the_page(whole_run: Path) -> None:
    page = report(whole_run)
    assert len(page.of("img")) == 6
    assert all(attributes["alt"] for attributes in page.of("img"))
    for words in (
        "lenet5-digits",
        MODEL,
        'name = "lenet5"',
        "versions.numpy",
        "4.4 s",
        "2.4.6",
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
    first = write_report(whole_run).read_bytes()
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
    assert page.text.count("there is no picture") == 6


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_rest_is_there(tmp_path: Path) -> None:
    page = report(sample_run(tmp_path / "run"))
    assert page.of("img") == []
    assert "matplotlib is not installed: pip install 'typednn[plots]'" in page.text
    assert "precision" in page.text
    assert MODEL in page.text


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_older_pictures_are_shown(tmp_path: Path, whole_run: Path) -> None:
    run = sample_run(tmp_path / "run")
    shutil.copytree(whole_run / "plots", run / "plots")
    page = report(run)
    assert len(page.of("img")) == 6
    assert "pictures are not drawn anew" in page.text


def hostile_run(run: Path, text: str = HOSTILE) -> Path:
    """A run in which every text is ``text``."""
    names = [f"{text}{place}" for place in range(10)]
    sample_run(run, steps=60, names=names)
    write_metrics(run, metrics_lines(60, layers=(text, f"{text}2")))
    for name in ("model.txt", "config.toml"):
        (run / name).write_text(text, encoding="utf-8", errors="replace")
    (run / "environment.json").write_text(json.dumps({text: text, "deep": {text: {text: [text, {text: text}]}}}))
    found = json.loads((run / "report.json").read_text())
    (run / "report.json").write_text(json.dumps(found | {"split": text}))
    return run


def test_texts_from_files_are_escaped(tmp_path: Path) -> None:
    page = report(hostile_run(tmp_path / "<b onclick=alert(3)>&amp;"))
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "?")
    # In the config and the model, in keys and values of the environment, in each class, twice where a split is named.
    assert page.text.count(shown) >= 17
    assert page.text.count("<b onclick=alert(3)>&amp;") == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("metrics.jsonl", b'{"kind": "step", "step": 1, "epoch": 0, "loss": 2.0}\n{"kind": "st', "the last line is cut off"),
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
        ("plots/worst.png", b"<svg>", "plots/worst.png is not a PNG picture"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
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
    assert metrics.remarks == ("metrics.jsonl: 1 of 5 lines are not what they should be and were left out, the first is line 2",)


def test_no_run_no_page(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"write_report: needs the folder of a run, got '.*', which is no folder"):
        write_report(tmp_path / "none")


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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(
            ["metrics.jsonl", "report.json", "pictures.safetensors", "environment.json", "model.txt", "config.toml", "recipe.json"]
        ),
        st.binary(max_size=60),
        min_size=1,
    )
)
@pytest.mark.usefixtures("no_matplotlib")
def test_whatever_the_files_hold(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    run = tmp_path_factory.mktemp("run")
    for name, content in files.items():
        (run / name).write_bytes(content)
    report(run)


def test_a_thousand_classes_are_folded_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_matplotlib: None) -> None:
    import numpy as np

    (tmp_path / "report.json").write_text(json.dumps(report_of(np.eye(1000, dtype=np.int64), [f"class {place}" for place in range(1000)])))
    page = report(tmp_path)
    assert "class 999" in page.text
    assert [("open" in attributes) for attributes in page.of("details")] == [False]


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


def measured(page: Path, folder: Path, width: int) -> dict[str, Any]:
    """The page as laid out in ``width`` pixels, asked by a script: a copy whose policy allows one, in a frame."""
    content = page.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', content)
    assert policy
    script = (
        "<script>addEventListener('load',()=>{const d=document.documentElement,i=[...document.images];"
        "parent.document.body.dataset.found=JSON.stringify({width:d.clientWidth,scroll:d.scrollWidth,images:i.map(x=>x.complete?x.naturalWidth:0),"
        "paper:getComputedStyle(document.body).backgroundColor,least:Math.min(...i.map(x=>x.width))})})</script></body>"
    )
    content = content.replace(policy[0], "").replace("</body>", script)
    framed = content.replace("&", "&amp;").replace('"', "&quot;")
    wrapper = folder / "frame.html"
    wrapper.write_text(
        f'<!doctype html><meta charset="utf-8"><body><iframe width="{width}" height="800" srcdoc="{framed}"></iframe>', encoding="utf-8"
    )
    document, _ = browse(wrapper, "--dump-dom")
    found = re.search(r'data-found="([^"]*)"', document)
    assert found, "the page never finished loading"
    answer: dict[str, Any] = json.loads(found[1].replace("&quot;", '"'))
    return answer


@needs_chromium
def test_browser_shows_every_picture(whole_run: Path, tmp_path: Path) -> None:
    from PIL import Image

    page = write_report(whole_run)
    for width in (360, 1200):
        found = measured(page, tmp_path, width)
        assert len(found["images"]) == 6
        assert min(found["images"]) > 200
        assert found["scroll"] <= found["width"], f"the page is wider than {width} pixels"
    papers = set()
    for scheme in (0, 1):
        shot = tmp_path / f"{scheme}.png"
        _, console = browse(page, f"--screenshot={shot}", "--window-size=1200,3000", f"--blink-settings=preferredColorScheme={scheme}")
        assert console == ""
        with Image.open(shot) as image:
            assert image.size[0] == 1200
            assert len(image.convert("RGB").getcolors(2**24) or []) > 100
            papers.add(image.convert("RGB").getpixel((5, 5)))
    assert papers == {(13, 17, 23), (255, 255, 255)}, "dark and light"


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

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()


@needs_chromium
def test_browser_runs_nothing_and_asks_nobody(tmp_path: Path, asked: tuple[str, list[str]]) -> None:
    address, requests = asked
    attack = f"<script>document.title='owned';fetch('{address}/s')</script><img src={address}/i><link rel=stylesheet href={address}/l>"
    text = f"</pre></td></title></style>{attack}"
    page = write_report(hostile_run(tmp_path / "run", text))
    document, console = browse(page, "--dump-dom")
    assert "<script" not in document
    assert "<title>run · typednn</title>" in document
    assert f"src={address}" in document.replace("&lt;img ", ""), "as text"
    assert console == ""
    assert requests == []
    # The probe works: a page without escapes would have been noticed, but for the policy that stands behind them.
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"<img src={address}/i></body>"), encoding="utf-8")
    _, console = browse(page, "--dump-dom")
    assert "Content Security Policy" in console
    assert requests == []
    page.write_text(f"<!doctype html><img src={address}/i>", encoding="utf-8")
    browse(page, "--dump-dom")
    assert requests == ["/i"]
