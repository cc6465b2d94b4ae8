"""typednn.html, and what each object shows of itself in a notebook."""

import base64
import io
import math
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.data import Dataset, Loader, Pixels
from typednn.data.images import ImageFolder
from typednn.html import Html, bar, facts, images, number, png, progress, shown, table, tinted
from typednn.layers import Conv2d, Embedding, Flatten, Linear, ReLU
from typednn.losses import SoftmaxCrossEntropy
from typednn.metrics import ClassificationReport, LanguageReport, RegressionReport
from typednn.optim import SGD
from typednn.recipes import Samples, recipe, train
from typednn.runs import Run
from typednn.runs.history import Best, Epoch, History, Measured
from typednn.training import Evaluation, fit

pytestmark = pytest.mark.usefixtures("on_the_reference")

TAGS = {"div", "span", "pre", "b", "i", "style", "table", "tr", "th", "td", "figure", "img", "figcaption"}
SVG = {"svg", "line", "text", "polyline", "polygon", "circle"}
VOID = {"img", "br", "hr", "input"}
EVIL = "<script>alert('x')</script>&\"\x00\ud800"


class Page(HTMLParser):
    """Reads HTML: whether every tag is closed in order; its tags, attributes and text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:  # rules for classes of typednn's alone
            assert re.fullmatch(r"(\.typednn-[^{},]*\{[^{}]*\})+", data)
            return
        self.text += data.replace("\N{NO-BREAK SPACE}", " ")

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page(source: str) -> Page:
    """``source``, after what holds for all that notebooks show: nothing is run or loaded, no text is markup, no colour
    hides text.
    """
    read = Page(source)
    assert {tag for tag, _ in read.tags} <= TAGS | SVG
    for tag, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("href", "id")]
        assert all(name.startswith("typednn-") for name in (attributes.get("class") or "").split())
        assert tag == "i" or "class" not in attributes
        assert (attributes.get("src") or "data:image/png;base64,").startswith("data:image/png;base64,")
        style = attributes.get("style") or ""
        assert "url(" not in style
        assert re.findall(r"(?<![-\w])color:([^;]+)", style) in ([], ["inherit"], ["#d55e00"], ["inherit", "inherit"])
    source.encode()  # a notebook's file is UTF-8
    return read


# ------------------------------------------------------------------ pieces


def test_nothing_is_imported_before_a_notebook_asks() -> None:
    program = (
        "import sys, typednn.recipes, typednn.training; print([name for name in ('typednn.html', 'IPython') if name "
        "in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_text_is_text() -> None:
    made = shown(
        EVIL,
        facts({EVIL: EVIL}),
        table([EVIL, "b"], [[EVIL, EVIL]], numbers=[EVIL]),
        tinted(EVIL, 1.0),
        progress(0.5, EVIL, [EVIL]),
    )
    assert page(made).text.count("<script>alert('x')</script>&\"\N{REPLACEMENT CHARACTER}?") == 9
    assert page(table(["a"], [[Html("<b>x</b>")]])).named("b") == [{}]


def test_a_long_table_is_cut() -> None:
    read = page(table(["row"], [[place] for place in range(1234)]))
    assert len(read.named("tr")) == 201
    assert read.text.endswith("and 1,034 more rows")


def test_columns_of_numbers_are_flush_right() -> None:
    sides = [
        re.findall("text-align:(\\w+)", cell["style"] or "")[0]
        for cell in page(table(["a", "b"], [[1, 2]], numbers=["b"])).named("td")
    ]
    assert sides == ["left", "right"]


@pytest.mark.parametrize(
    ("share", "width"), [(0.0, 0.0), (0.5, 4.0), (1.0, 8.0), (7.0, 8.0), (-1.0, 0.0), (math.nan, 0.0)]
)
def test_bars(share: float, width: float) -> None:
    assert f"width:{width:.2f}em" in (page(bar(share)).named("div")[0]["style"] or "")


@pytest.mark.parametrize(
    ("value", "words"), [(0.123456, "0.1235"), (12345.678, "1.235e+04"), (math.nan, "nan"), (-math.inf, "-inf")]
)
def test_numbers_that_are_none_stand_out(value: float, words: str) -> None:
    read = page(number(value))
    assert read.text == words
    assert bool(read.named("b")) is not math.isfinite(value)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("height", "width"), [(1, 1), (5, 7), (64, 3)])
def test_png_is_read_by_pillow(height: int, width: int, channels: int) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, channels)).astype(np.uint8)
    read = np.asarray(pillow.open(io.BytesIO(png(pixels)))).reshape(pixels.shape)
    np.testing.assert_array_equal(read, pixels)


def _pixels_of(source: str) -> list[Any]:
    pillow = pytest.importorskip("PIL.Image")
    encoded = [(image["src"] or "").partition(",")[2] for image in page(source).named("img")]
    return [np.asarray(pillow.open(io.BytesIO(base64.b64decode(each)))) for each in encoded]


def test_images_are_scaled_from_their_least_to_their_greatest() -> None:
    pictures = np.array([[[-1.0, 0.0], [0.5, 1.0]]], np.float32)[..., np.newaxis]
    np.testing.assert_array_equal(_pixels_of(images(pictures, ["a"]))[0], [[0, 128], [191, 255]])
    np.testing.assert_array_equal(
        _pixels_of(images(pictures.astype(np.uint8) + np.uint8(7), ["a"]))[0], pictures[0, ..., 0].astype(np.uint8) + 7
    )
    assert _pixels_of(images(np.full((1, 2, 2, 1), np.nan, np.float32), ["none"]))[0].max() == 0
    assert [image.shape for image in _pixels_of(images(np.zeros((2, 200, 100, 3), np.float32), [1, 2]))] == [
        (50, 25, 3)
    ] * 2


# ------------------------------------------------------------------ objects


def _model() -> Any:
    return Input(6, 6, 1) >> Conv2d(1, 2, 3) >> ReLU() >> Flatten() >> Linear(32, 3).named("head")


def _dataset(kind: Any = Dataset, rows: int = 20) -> Any:
    pixels = np.arange(rows * 36).reshape(rows, 6, 6, 1).astype(kind._dtype)
    return kind(pixels, np.arange(rows) % 3, pixels, np.arange(rows) % 3, classes=3)


def test_a_model_shows_layers_shapes_and_counts() -> None:
    """Before it has any array."""
    text = page(_model()._repr_html_()).text
    assert text.startswith("Chain, 117 parameters")
    for piece in (
        "from 6 × 6 × 1",
        "Conv2d(1, 2, 3)4 × 4 × 2weight (2, 3, 3, 1)18",
        "Linear(32, 3)3weight (3, 32), bias (3,)99",
    ):
        assert piece in text
    assert "output" not in page(Linear(3, 2)._repr_html_()).text
    tokens = Input(5, dtype=int) >> Embedding(7, 4)
    assert "5 × 4" in page(tokens._repr_html_()).text  # type: ignore[attr-defined]


def test_a_gradient_shows_its_norms() -> None:
    model = _model().init(np.random.default_rng(0))
    x = np.ones((2, 6, 6, 1), np.float32)
    gradient = model.backward(SoftmaxCrossEntropy().loss_grad(model.forward(x), np.array([0, 2])))
    read = page(gradient._repr_html_())
    for name, leaf in gradient.leaves().items():
        assert f"{name}{' × '.join(map(str, leaf.shape))}{np.linalg.norm(leaf.astype(np.float64)):.4g}" in read.text
    assert f"norm {gradient.norm():.4g}" in read.text
    widths = [float(width) for width in re.findall(r"width:([\d.]+)em;height", gradient._repr_html_())]
    assert max(widths) == 8.0
    broken = gradient.map(lambda leaf: leaf * np.float32(np.nan))
    assert page(broken._repr_html_()).text.count("nan") == 4


def test_a_history_shows_its_curves() -> None:
    epochs = tuple(Epoch(number, 2.0 / number, 0.5) for number in (1, 2, 3))
    measured = tuple(
        Measured(10 * number, number, "validation", 1.0 / number, {"accuracy": 0.9}) for number in (1, 2, 3)
    )
    history = History(epochs, measured, Best(30, "accuracy", 0.9), 30, "<time limit>")
    read = page(history._repr_html_())
    training, validation = ((line["points"] or "").split() for line in read.named("polyline"))
    assert [place.partition(",")[0] for place in training] == [place.partition(",")[0] for place in validation]
    assert "ended by <time limit>" in read.text
    assert read.text.endswith("303validation0.33330.9best")
    assert "epochs 0" in page(History(())._repr_html_()).text
    # stopped within the first epoch, by a loss that is none
    within = History((), (Measured(4, 1, "test", math.nan),), None, 4)
    assert "nan" in page(within._repr_html_()).text


@pytest.mark.parametrize("kind", [Dataset, Pixels])
def test_data_show_their_first_images(kind: Any) -> None:
    read = page(_dataset(kind)._repr_html_())
    assert len(read.named("img")) == 12
    assert "to train on 20" in read.text
    assert "6 × 6 × 1" in read.text


def test_folders_loaders_and_samples() -> None:
    data = _dataset()
    folder = ImageFolder(
        data.train_images, data.train_labels, ("<a>", "b", "c"), tuple(Path(str(row)) for row in range(20))
    )
    assert page(folder._repr_html_()).text.endswith("<a>bc")
    loader = Loader(data.train_images, data.train_labels, batch_size=8, shuffle=False)
    assert "batches an epoch 3" in page(loader._repr_html_()).text
    rows = np.ones((4, 2), np.float32)
    assert "targets float32" in page(Samples("table", "<here>", rows, rows[:, 0], rows, rows[:, 0])._repr_html_()).text
    named = Samples(
        "images", "x", data.train_images, data.train_labels, data.test_images, data.test_labels, ("one", "two", "three")
    )
    assert len(page(named._repr_html_()).named("img")) == 12
    assert "three" in page(named._repr_html_()).text


def test_reports_and_trainings() -> None:
    report = ClassificationReport(3, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), names=("<a>", "b", "c"))
    text = page(report._repr_html_()).text
    assert text.startswith("accuracy 75.00% (3 of 4)")
    assert "<a>0.5001.0000.6671" in text
    many = ClassificationReport(40, np.arange(40), np.arange(40))
    assert "true, predicted" not in page(many._repr_html_()).text
    assert "0.25" in page(RegressionReport(10, 0.25, 0.5, 0.75)._repr_html_()).text
    assert "perplexity 7.39" in page(LanguageReport(10, 2.0, 0.5, 5)._repr_html_()).text
    pixels, labels = np.random.default_rng(0).random((20, 28, 28, 1), dtype=np.float32), np.arange(20) % 10
    result = train(
        recipe("mlp").changed({"epochs": 2, "least_steps": 0}),
        Samples("s", "here", pixels, labels, pixels, labels),
        progress=False,
    )
    read = page(result._repr_html_())
    assert read.text.startswith(f"mlptrain {result.train.headline}   test {result.test.headline}   run none")
    assert len(read.named("polyline")) == 2


def test_a_run_shows_its_folder_and_losses(tmp_path: Path) -> None:
    model, data = _model().init(np.random.default_rng(0)), _dataset()
    folder = tmp_path / "<run>"
    with Run.create(folder, "seed = 0\n", model) as run:
        assert "steps 0" in page(run._repr_html_()).text
        loader = Loader(data.train_images / 720, data.train_labels, batch_size=10, shuffle=False)
        fit(
            model,
            SoftmaxCrossEntropy(),
            SGD(0.1),
            loader,
            epochs=3,
            run=run,
            validation=Evaluation(data.test_images, data.test_labels),
            progress=False,
        )
        read = page(run._repr_html_())
    assert str(folder) in read.text
    assert [len((line["points"] or "").split()) for line in read.named("polyline")] == [6, 3]
