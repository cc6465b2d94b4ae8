"""Runs on one page: which are compared, what the page says of them, and that a browser sorts its tables."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import run_command
from tests.reports.test_html import HOSTILE, Page, browse, measured, needs_chromium
from typednn import Input
from typednn.data import Loader
from typednn.errors import ArgumentError, DataError
from typednn.layers import Linear
from typednn.losses import MSE, SoftmaxCrossEntropy
from typednn.optim import SGD
from typednn.reports.comparison import compared_folders, write_comparison
from typednn.training import fit


def a_run(folder: Path, lr: float = 0.1, *, steps: int = 60, accuracy: tuple[float, ...] = (0.5, 0.75)) -> Path:
    """A run as ``typednn train`` writes it, of ``steps`` steps with an evaluation in the middle and at the end."""
    folder.mkdir(parents=True)
    lines: list[dict[str, Any]] = [
        {"kind": "step", "step": step, "epoch": 1, "loss": 2.0 / step, "lr": lr, "seconds": step / 10}
        for step in range(1, steps + 1)
    ]
    for place, share in enumerate(accuracy, 1):
        at = place * steps // len(accuracy)
        lines.append(
            {"kind": "evaluation", "step": at, "epoch": 1, "split": "validation", "loss": 1 / place, "accuracy": share}
        )
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    recipe = {"name": "mlp", "about": str(lr), "epochs": 1, "batch_size": 32, "optimizer": {"type": "SGD", "lr": lr}}
    config = "[[layer]]\ntype = 'Linear'\nin_features = 4\n"
    plan = {"recipe": recipe, "config": config, "data": {"name": "digits"}}
    (folder / "recipe.json").write_text(json.dumps(plan), encoding="utf-8")
    return folder


def compared(*runs: Path, output: Path | None = None) -> Page:
    path = write_comparison(runs, output)
    page = Page(path.read_text(encoding="utf-8"))
    assert not {name for name, _ in page.elements} & {"link", "iframe", "object", "embed", "base", "form", "img"}
    assert len(page.of("script")) == 1
    assert not [key for _, attributes in page.elements for key in attributes if key.startswith("on")]
    assert not [attributes for _, attributes in page.elements if "src" in attributes]
    return page


def rows(path: Path, words: str) -> list[list[str]]:
    """The cells of the table of that name, the head first, as they are read."""
    content = path.read_text(encoding="utf-8").partition(f'aria-label="{words}"')[2].partition("</table>")[0]
    lines = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.DOTALL) for line in content.split("</tr>")]
    return [[unescape(re.sub("<[^>]*>", "", cell)) for cell in line] for line in lines if line]


# ------------------------------------------------------------------------------------------------ which, and where


def test_runs_and_folders_of_runs_each_once(tmp_path: Path) -> None:
    a, b, c = (a_run(tmp_path / name) for name in ("x/a", "x/b", "y/c"))
    assert compared_folders([a, tmp_path / "x", tmp_path / "y" / ".." / "x" / "a"]) == [a, b]
    assert compared_folders(tmp_path / "x") == [a, b]
    assert compared_folders([c, a]) == [c, a], "in the order that was asked for"


def test_the_page_is_where_all_runs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = (a_run(tmp_path / name) for name in ("x/a", "x/b", "y/c"))
    assert write_comparison([a, b]) == tmp_path / "x" / "comparison.html"
    assert write_comparison([a, c]) == tmp_path / "comparison.html"
    assert write_comparison([a, tmp_path / "y" / ".." / "x" / "b"]) == tmp_path / "x" / "comparison.html"
    assert "x/a" in compared(a, c).text, "so much of the path that names differ"
    monkeypatch.chdir(tmp_path)
    assert write_comparison("x") == tmp_path / "x" / "comparison.html"
    assert write_comparison(["x/a", "y/c"], "all.html") == Path("all.html")
    assert (tmp_path / "all.html").is_file()


def test_less_than_two_runs_and_folders_without(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    with pytest.raises(ArgumentError, match=r"compares two runs at least, got one, '.*run'; typednn\.reports\.html"):
        write_comparison([run, run])
    with pytest.raises(ArgumentError, match="compares two runs at least, got none"):
        write_comparison([])
    with pytest.raises(DataError, match="must hold runs, folders that training wrote, got no folder"):
        write_comparison([run, tmp_path / "nowhere"])


def test_the_command(tmp_path: Path) -> None:
    a, b = a_run(tmp_path / "a"), a_run(tmp_path / "b")
    done = run_command("report", "a", "b", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'comparison.html'}\n")
    assert run_command("report", ".", "--output", "all.html", cwd=tmp_path).stdout == "all.html\n"
    assert "run" in Page((tmp_path / "all.html").read_text(encoding="utf-8")).text
    one = run_command("report", "a", "--output", "x.html", cwd=tmp_path)
    assert one.returncode == 1
    assert "--output is for a comparison of runs, got one run; leave it out" in one.stderr
    assert run_command("report", "a", cwd=tmp_path).stdout == "a/report.html\n"
    missing = run_command("report", "a", "nowhere", cwd=tmp_path)
    assert missing.stderr.startswith("typednn report: nowhere: must hold runs")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "all.html", "b", "comparison.html"]
    assert (a / "plots").is_dir()
    assert not (b / "plots").exists()


# ------------------------------------------------------------------------------------------------ what it says


def test_the_best_and_the_last_of_each(tmp_path: Path) -> None:
    a_run(tmp_path / "a", accuracy=(0.5, 0.9, 0.8))
    a_run(tmp_path / "b", steps=40, accuracy=())
    page = compared(tmp_path / "a", tmp_path / "b")
    assert "2 runs side by side" in page.text
    head, a, b = rows(tmp_path / "comparison.html", "Runs")
    first, second = dict(zip(head, a, strict=True)), dict(zip(head, b, strict=True))
    assert first == {
        "run": "a",
        "model": "mlp",
        "data": "digits",
        "epochs": "1/1",
        "steps": "60",
        "seconds": "6.0",
        "train loss": "0.03333",
        "evaluated on": "validation",
        "metric": "accuracy",
        "best": "90.00 %",
        "at step": "40",
        "last": "80.00 %",
    }, "no column for what no run has, such as a result"
    assert (second["steps"], second["best"], second["last"]) == ("40", "", "")


def test_only_settings_that_differ(tmp_path: Path) -> None:
    for name, lr in (("a", 0.1), ("b", 0.2), ("c", 0.1)):
        a_run(tmp_path / name, lr)
    compared(*(tmp_path / name for name in "abc"))
    table = rows(tmp_path / "comparison.html", "Settings that differ")
    assert table == [["run", "optimizer.lr"], ["a", "0.1"], ["b", "0.2"], ["c", "0.1"]]
    compared(tmp_path / "a", tmp_path / "c")
    assert rows(tmp_path / "comparison.html", "Settings that differ") == []
    assert "are the same" in (tmp_path / "comparison.html").read_text(encoding="utf-8")


def test_more_settings_than_runs_have_a_row_each(tmp_path: Path) -> None:
    a, b = a_run(tmp_path / "a"), a_run(tmp_path / "b")
    plan = json.loads((b / "recipe.json").read_text())
    plan["recipe"] |= {f"setting{place}": place for place in range(7)}
    (b / "recipe.json").write_text(json.dumps(plan))
    compared(a, b)
    table = rows(tmp_path / "comparison.html", "Settings that differ")
    assert table[:2] == [["setting", "a", "b"], ["setting0", "–", "0"]]
    assert len(table) == 8


def test_curves_of_all_runs_lie_over_each_other(tmp_path: Path) -> None:
    page = compared(a_run(tmp_path / "a"), a_run(tmp_path / "b", steps=30))
    names = [attributes["aria-label"] for attributes in page.of("svg") if "aria-label" in attributes]
    assert names == [
        "Training loss, smoothed: a, b. ",
        "Loss on validation data: a, b. ",
        "Accuracy on validation data (%): a, b. ",
    ]
    assert len(page.of("polyline")) == 6
    colours = [re.findall("stroke:([^;]+)", line["style"] or "")[0] for line in page.of("polyline")]
    assert colours[::2] == [colours[0]] * 3, "a run has the same colour everywhere"
    assert colours[1::2] == [colours[1]] * 3


def test_links_lead_to_the_runs_own_pages(tmp_path: Path) -> None:
    a, b = a_run(tmp_path / "runs" / 'a "1"#?'), a_run(tmp_path / "runs" / "b")
    (a / "report.html").touch()
    page = compared(a, b, output=tmp_path / "elsewhere" / "all.html")
    links = [attributes["href"] or "" for attributes in page.of("a") if not (attributes["href"] or "").startswith("#")]
    assert links == ["../runs/a%20%221%22%23%3F/report.html"]


def test_runs_of_fit_and_of_a_regression(tmp_path: Path) -> None:
    """`fit` writes no recipe: its arguments, model and optimizer are compared too."""
    x = np.random.default_rng(0).standard_normal((40, 4), dtype=np.float32)
    for name, size, lr in (("a", 8, 0.1), ("b", 20, 0.05)):
        rng = np.random.default_rng(0)
        model = (Input(4) >> Linear(4, 2)).init(rng)
        loader = Loader(x, np.arange(40) % 2, batch_size=size, rng=rng)
        fit(model, SoftmaxCrossEntropy(), SGD(lr), loader, epochs=2, run=tmp_path / name, progress=False)
    rng = np.random.default_rng(0)
    numbers = x[:, :1].copy()
    fit(
        (Input(4) >> Linear(4, 1)).init(rng),
        MSE(),
        SGD(0.1),
        Loader(x, numbers, batch_size=8, rng=rng),
        epochs=3,
        run=tmp_path / "c",
        validation=(x, numbers),
        progress=False,
    )
    page = compared(*(tmp_path / name for name in "abc"))
    table = rows(tmp_path / "comparison.html", "Settings that differ")
    found = dict(zip(table[0], zip(*table[1:], strict=True), strict=True))
    assert found["run"] == ("a", "b", "c")
    assert found["batch_size"] == ("8", "20", "8")
    assert found["epochs"] == ("2", "2", "3")
    assert found["optimizer.lr"] == ("0.1", "0.05", "0.1")
    assert found["loss"] == ("SoftmaxCrossEntropy", "SoftmaxCrossEntropy", "MSE")
    head, *lines = rows(tmp_path / "comparison.html", "Runs")
    assert [dict(zip(head, line, strict=True))["model"] for line in lines] == ["Chain, 10 parameters"] * 2 + [
        "Chain, 5 parameters"
    ]
    assert "r2 on validation data" in page.text


def test_damage_is_told_and_the_rest_is_compared(tmp_path: Path) -> None:
    a, b = a_run(tmp_path / "a"), a_run(tmp_path / "b")
    (a / "recipe.json").write_text("[")
    with (b / "metrics.jsonl").open("a") as stream:
        stream.write("nonsense\n")
    text = compared(a, b).text
    assert "a: recipe.json: must hold one JSON object" in text
    assert "b: metrics.jsonl: 1 of 63 lines" in text
    assert len(rows(tmp_path / "comparison.html", "Runs")) == 3


def test_names_are_text(tmp_path: Path) -> None:
    text = HOSTILE.replace("\x00", "").replace("\ud800", "").replace("/", "")
    a, b = a_run(tmp_path / text), a_run(tmp_path / "javascript:alert(1)")
    for run in (a, b):
        (run / "report.html").touch()
    plan = json.loads((a / "recipe.json").read_text())
    plan["recipe"] = {"name": HOSTILE, HOSTILE: HOSTILE, "epochs": HOSTILE}
    (a / "recipe.json").write_text(json.dumps(plan))
    page = compared(a, b)
    assert page.text.count("<script>alert(1)") >= 6
    links = [attributes["href"] or "" for attributes in page.of("a") if not (attributes["href"] or "").startswith("#")]
    assert "javascript%3Aalert%281%29/report.html" in links
    assert not [link for link in links if ":" in link]


# ------------------------------------------------------------------------------------------------ a real browser


@needs_chromium
def test_browser_sorts_a_table_by_its_head(tmp_path: Path) -> None:
    """The page's own script runs under its policy: numbers by value, what is missing last."""
    for name, steps, accuracy in (("a", 100, (0.9, 0.8)), ("b", 9, (0.95, 0.1)), ("c", 20, ())):
        a_run(tmp_path / name, steps=steps, accuracy=accuracy)
    path = write_comparison([tmp_path / name for name in "abc"])
    # A click needs a script of the test's, for which the policy of this copy makes an exception.
    content = path.read_text(encoding="utf-8")
    for head, clicks, expected in (
        ("steps", 1, "bca"),
        ("steps", 2, "acb"),
        ("best", 1, "abc"),
        ("run", 2, "cba"),
    ):
        clicked = (
            "<script>addEventListener('load', () => { const head = [...document.querySelectorAll('th button')]"
            f".find(each => each.textContent === {head!r}); for (let n = 0; n < {clicks}; n++) head.click(); "
            "document.body.dataset.found = [...document.querySelectorAll('tbody')[0].rows]"
            ".map(row => row.cells[0].textContent).join('') })</script></body>"
        )
        copy = tmp_path / "copy.html"
        copy.write_text(
            re.sub("; script-src '[^']*'", "; script-src 'unsafe-inline'", content).replace("</body>", clicked),
            encoding="utf-8",
        )
        document, _ = browse(copy, "--dump-dom")
        assert re.findall('data-found="([^"]*)"', document) == [expected], (head, clicks)
    document, console = browse(path, "--dump-dom")
    assert console == "", "the policy allows the page's own script"
    assert "<table" in document


@needs_chromium
def test_browser_cuts_nothing_off_in_any_width(tmp_path: Path) -> None:
    long = "a-run-with-a-name-that-is-longer-than-a-phone-is-wide-and-more"
    paths = [a_run(tmp_path / f"{long}-{place}", lr=place / 10) for place in range(1, 9)]
    (paths[0] / "report.html").touch()
    for found in measured(write_comparison(paths), tmp_path, (360, 768, 1280)):
        assert found["scroll"] <= found["width"], f"the page is wider than {found['width']} pixels"
        assert found["cut"] == []
