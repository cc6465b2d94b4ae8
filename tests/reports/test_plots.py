"""Pictures: what is drawn, what is left out, whether it can be read, and whether the same run gives the same bytes."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from colours import contrast, luminance, over
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_run import PICTURES, confusion_of, metrics_lines, sample_arrays, sample_run, write_metrics

from typednn.charts import smoothed, thinned
from typednn.errors import ArgumentError, DataError, MissingExtra
from typednn.plans.explain import Explained, Timed
from typednn.reports import canvas, curves, grids, plans, residuals
from typednn.reports.canvas import PAGE, PHONE, Medium, label
from typednn.reports.curves import accuracy_curve, gradient_norm_curves, loss_curve
from typednn.reports.diagrams import accuracy_diagram, gradient_norm_diagram, loss_diagram
from typednn.reports.grids import confusion_picture, filter_picture, worst_picture
from typednn.reports.plots import write_learning_rates, write_plan, write_plots
from typednn.reports.residuals import residual_picture
from typednn.runs.history import LearningRates
from typednn.runs.recorded import Metrics, read_metrics
from typednn.runs.shown import Residuals, worst_mistakes

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra typednn[plots]")
agg: Any = pytest.importorskip("matplotlib.backends.backend_agg")

Figures = list[Any]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Figures:
    """Every figure that is drawn, as it was when it became a file."""
    kept: Figures = []

    def rendered(drawn: Any, medium: Medium) -> bytes:
        kept.append(drawn)
        return canvas.rendered(drawn, medium)

    for module in (curves, grids, plans, residuals):
        monkeypatch.setattr(module, "rendered", rendered)
    return kept


def pixels(content: bytes) -> np.ndarray[Any, Any]:
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        assert image.format == "PNG"
        assert not image.info.keys() & {"Software", "Creation Time", "date"}
        return np.asarray(image.convert("RGB"))


def texts(drawn: Any) -> list[Any]:
    found = drawn.findobj(
        lambda artist: isinstance(artist, matplotlib.text.Text) and artist.get_visible() and artist.get_text().strip()
    )
    assert found
    return list(found)


def words(drawn: Any) -> str:
    return "\n".join(text.get_text() for text in texts(drawn))


def assert_readable(drawn: Any) -> None:
    """No text lies on another, or leaves the paper."""
    seen: list[Any] = []

    class Renderer(agg.RendererAgg):  # type: ignore[misc]
        def open_group(self, s: str, gid: str | None = None) -> None:
            if s == "text":
                caller = sys._getframe(1).f_locals.get("self")
                if caller is not None and caller.get_text().strip():
                    seen.append(caller)

    drawn.set_layout_engine("none")  # everything stays where savefig put it
    renderer = Renderer(*drawn.canvas.get_width_height(), drawn.dpi)
    drawn.draw(renderer)
    assert seen
    boxes = [(text.get_window_extent(renderer), text.get_text()) for text in seen]
    width, height = drawn.canvas.get_width_height()
    for box, text in boxes:
        assert min(box.x0, box.y0) >= -1, f"{text!r} leaves the paper"
        assert max(box.x1 - width, box.y1 - height) <= 1, f"{text!r} leaves the paper"
    places = np.array([box.extents for box, _ in boxes])
    for at, (box, text) in enumerate(boxes):
        others = places[at + 1 :]
        across = np.minimum(others[:, 2], box.x1) - np.maximum(others[:, 0], box.x0)
        along = np.minimum(others[:, 3], box.y1) - np.maximum(others[:, 1], box.y0)
        overlapping = np.flatnonzero((across > 1) & (along > 1))
        assert not len(overlapping), f"{text!r} lies on {boxes[at + 1 + overlapping[0]][1]!r}"


def metrics_of(steps: int, **norms: Any) -> Metrics:
    rng = np.random.default_rng(0)
    step = np.arange(1.0, steps + 1)
    losses = 2.3 * np.exp(-3 * step / steps) + 0.02 * rng.gamma(2, 1, steps)
    rates = 0.001 * np.cos(step / steps) ** 2
    every = max(steps // 1000, 1)
    tested = (step[::every], losses[::every], 1 - losses[::every] / 8)
    return Metrics((step, np.ceil(step * 5 / steps), losses, rates, step * 0 + 9e3), {"test": tested}, norms)


def test_everything_is_drawn(tmp_path: Path, figures: Figures) -> None:
    written = write_plots(sample_run(tmp_path / "run"), **sample_arrays())
    assert [path.name for path in written] == list(PICTURES)
    assert sorted(path.name for path in (tmp_path / "run" / "plots").iterdir()) == sorted(PICTURES)
    for path in written:
        shown = pixels(path.read_bytes())
        assert min(shown.shape[:2]) > 200
        assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 20, f"{path.name} is blank"
    for drawn in figures:
        assert_readable(drawn)
    assert {
        "Loss",
        "loss (logarithmic)",
        "learning rate",
        "step",
        "training, smoothed",
        "validation (evaluated)",
    } <= set(words(figures[0]).split("\n"))
    assert "validation: 95.65 % in the end, best 95.89 % at step 300" in words(figures[1])


def test_same_run_same_bytes(tmp_path: Path) -> None:
    folders = [sample_run(tmp_path / name, steps=60) for name in "ab"]
    first, second = ([path.read_bytes() for path in write_plots(folder, **sample_arrays(60))] for folder in folders)
    assert first == second


def test_a_persons_settings_change_nothing_and_stay(tmp_path: Path) -> None:
    plain = loss_curve(metrics_of(50))
    with matplotlib.rc_context({"font.size": 30.0, "axes.facecolor": "red", "savefig.dpi": 30}):
        assert loss_curve(metrics_of(50)) == plain
        assert matplotlib.rcParams["font.size"] == 30.0


def test_only_what_is_there_is_drawn(tmp_path: Path) -> None:
    assert write_plots(tmp_path) == []
    assert not (tmp_path / "plots").exists()
    write_metrics(tmp_path, [{"kind": "step", "step": 1, "epoch": 0, "loss": 2.0}])
    assert [path.name for path in write_plots(tmp_path)] == ["curves.png"]
    older = (tmp_path / "plots" / "curves.png").read_bytes()
    (tmp_path / "metrics.jsonl").unlink()
    assert write_plots(tmp_path, filters=sample_arrays()["filters"]) == [tmp_path / "plots" / "filters.png"]
    assert (tmp_path / "plots" / "curves.png").read_bytes() == older


@pytest.mark.parametrize("steps", [1, 2, 49, 50, 1000, 1001])
def test_any_number_of_steps_is_readable(figures: Figures, steps: int) -> None:
    at = np.arange(1.0, steps + 1)
    metrics = metrics_of(steps, conv1=(at, 1 / at), fc=(at, 0.1 / at))
    for draw in (loss_curve, accuracy_curve, gradient_norm_curves):
        assert draw(metrics)
    for drawn in figures:
        assert_readable(drawn)


def test_a_million_steps_are_thinned_and_a_spike_stays(figures: Figures) -> None:
    metrics = metrics_of(10**6)
    metrics.steps[2][700_000] = 40.0
    content = loss_curve(metrics)
    assert content is not None
    assert len(content) < 500_000
    assert_readable(figures[0])
    top = figures[0].axes[0]
    assert all(len(line.get_xdata()) <= canvas.POINTS for line in top.lines)
    band = top.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(40.0)
    assert "training steps, least to greatest" in words(figures[0])
    assert "1,000,000" in words(figures[0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(1, 40))
def test_thinning_keeps_mean_and_extremes(values: list[float], points: int) -> None:
    y = np.array(values)
    x, mean, least, most = thinned(np.arange(len(y), dtype=np.float64), y, points)
    assert len(x) == min(points, len(y))
    assert (least.min(), most.max()) == (y.min(), y.max())
    assert (np.diff(x) > 0).all()
    assert (mean >= least - 1e-6).all()
    assert (mean <= most + 1e-6).all()


def test_thinning_leaves_out_what_is_not_finite() -> None:
    x, y, _, _ = thinned(np.arange(5.0), np.array([1, np.nan, 1e308, -np.inf, 2]), 9)
    assert x.tolist() == [0, 2, 4]
    assert y.tolist() == [1, 1e30, 2]


def test_smoothing_is_a_mean_of_neighbours() -> None:
    line = np.arange(1000.0)
    np.testing.assert_allclose(smoothed(line)[:-50], line[:-50])
    bumpy = np.where(np.arange(400) % 2, 1.0, -1.0)
    assert abs(smoothed(bumpy)[50:]).max() < 0.1
    assert smoothed(bumpy)[0] == bumpy[0]
    assert smoothed(np.array([3.0])).tolist() == [3.0]


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=300), st.booleans())
def test_what_falls_never_rises_when_smoothed(falls: list[float], lead: bool) -> None:
    losses = 1.0 + np.cumsum(falls[::-1])[::-1] / 10
    curve = smoothed(losses)
    assert (np.diff(curve) <= 1e-9).all()
    assert losses.min() - 1e-9 <= curve.min()
    assert curve[0] == losses[0]


def test_the_smoothed_end_is_no_false_turn() -> None:
    """Noise does not bend the end of a falling curve upward on average, and never by half of itself; a real rise is
    seen.
    """
    rng = np.random.default_rng(1)
    falling = np.exp(-np.arange(1000) / 300)
    rises: list[float] = []
    for _ in range(200):
        curve = smoothed(falling + rng.normal(0, 0.05, 1000))
        rises.append(curve[-1] - curve[-100:-50].min())
    assert np.mean(rises) < 0.001
    assert max(rises) < 0.025
    assert smoothed(np.append(falling, np.linspace(falling[-1], 1, 100)))[-1] > 0.4


def test_the_end_lags_by_half_of_its_window() -> None:
    line = np.arange(1000.0, 0.0, -1.0)
    assert smoothed(line)[-1] == pytest.approx(line[-1] + 25)


def test_a_logarithmic_course_follows_what_is_seen(figures: Figures) -> None:
    """On a logarithmic axis one high loss among many low ones does not lift the course far above them."""
    metrics = metrics_of(200)
    metrics.steps[2][:] = np.geomspace(2.0, 0.001, 200)
    metrics.steps[2][-4] = 2.0
    assert loss_curve(metrics)
    course = next(line for line in figures[0].axes[0].lines if line.get_label() == "training, smoothed").get_ydata()
    assert figures[0].axes[0].get_yscale() == "log"
    assert course[-1] < 0.004, "the mean of the last losses is 0.18"


@pytest.mark.parametrize(
    ("per_epoch", "epochs", "expected"),
    [
        (5, 200, list(range(20, 201, 20))),
        (25, 6, [1, 2, 3, 4, 5, 6]),
        (100, 1, []),
        (1, 10_000, list(range(1000, 10_001, 1000))),
    ],
)
def test_epoch_marks_are_few_and_quiet(figures: Figures, per_epoch: int, epochs: int, expected: list[int]) -> None:
    steps = np.arange(1.0, per_epoch * epochs + 1)
    metrics = Metrics((steps, (steps - 1) // per_epoch + 1, 1 / steps, steps * 0 + 1, steps, steps), {}, {})
    assert loss_curve(metrics)
    assert_readable(figures[0])
    top = figures[0].axes[0]
    assert all(len(line.get_xdata()) > 2 for line in top.lines), "no line for an epoch"
    marks = [axis for axis in top.child_axes if axis.get_xlabel() == "end of epoch"]
    ticks = [tick.get_text() for axis in marks for tick in axis.get_xticklabels()]
    assert ticks == [f"{number:,}" for number in expected]
    assert [place for axis in marks for place in axis.get_xticks()] == [per_epoch * number for number in expected]


@pytest.mark.parametrize(
    "epochs", [[1e300] * 3, [-5, -3, -1], [np.nan] * 3, [1, np.inf, 2], [3, 2, 1], [0.5, 1.5, 2.5]]
)
def test_epochs_of_any_kind_are_drawn(epochs: list[float]) -> None:
    steps = np.arange(3.0)
    assert loss_curve(Metrics((steps, np.array(epochs, np.float64), steps, steps, steps, steps), {}, {}))


def test_whose_accuracy_is_said(figures: Figures) -> None:
    metrics = metrics_of(50)
    assert accuracy_curve(metrics)
    shared = Metrics(
        metrics.steps, {"train": metrics.evaluations["test"], "validation": metrics.evaluations["test"]}, {}
    )
    assert accuracy_curve(shared)
    assert [drawn.axes[0].get_title() for drawn in figures] == [
        "Accuracy on test data",
        "Accuracy on train and validation data",
    ]


# ------------------------------------------------------------------------------------------------ for the page


def test_a_phone_has_readable_pictures(figures: Figures) -> None:
    """Everything lies on the paper, no text on another, and no picture is wider than its paper is meant to be."""
    at = np.arange(1.0, 200)
    arrays = sample_arrays(60)
    drawn = [
        worst_picture(
            worst_mistakes(arrays["images"], arrays["labels"], arrays["scores"]), ["aeroplane in the sky"] * 10, PHONE
        ),
        filter_picture(arrays["filters"], PHONE),
        residual_picture(Residuals.of(at, at), PHONE),
    ]
    assert len(figures) == len(drawn)
    for each in figures:
        assert each.get_figwidth() <= PHONE.width + 1e-9
        assert_readable(each)


def test_pictures_for_the_page_have_no_paper_and_two_colours_for_each() -> None:
    arrays = sample_arrays(60)
    pictures = [
        confusion_picture(confusion_of(3), ["cat", "dog", "owl"], PAGE),
        filter_picture(arrays["filters"], PAGE),
        worst_picture(worst_mistakes(arrays["images"], arrays["labels"], arrays["scores"]), None, PAGE),
        residual_picture(Residuals.of(np.arange(5.0), np.ones(5)), PAGE),
    ]
    for picture in pictures:
        assert picture is not None
        svg = picture.decode()
        assert "<script" not in svg
        assert "<metadata" not in svg, "neither a date nor a version"
        assert "prefers-color-scheme:dark" in svg
        body = svg.partition("</style>")[2]
        # What is not a variable is the same in the light and in the dark: no paper, no ink.
        fixed = set(re.findall(r"#[0-9a-f]{6}", body)) - ({canvas.ON_STRONG} if picture is pictures[0] else set())
        assert not [colour for colour in fixed if luminance(colour) > 0.7 or luminance(colour) < 0.05], fixed
        assert "fill: black" not in body
        assert not re.search(r"<text|font-family", body), "letters are drawn: no font is needed"
        assert svg.count("<svg ") == 1
        used = set(re.findall(r"var\((--c\d+)\)", body))
        assert used
        for name in used:
            assert svg.count(f"{name}:") == 2
    assert residual_picture(Residuals.of(np.arange(5.0), np.ones(5)), PAGE) == pictures[-1], "the same bytes"


def test_colours_can_be_told_from_the_paper() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    light, dark = "#ffffff", canvas.DARK[canvas.PAPER]
    for colour in (canvas.INK, canvas.ALARM, canvas.CELL):
        assert contrast(colour, light) >= 4.5
        assert contrast(canvas.DARK[colour], dark) >= 4.5
    for colour in canvas.PALETTE[:3]:  # those of the splits
        assert contrast(colour, light) >= 3
    for colour in canvas.PALETTE:
        assert contrast(canvas.DARK[colour], dark) >= 3
    for colour in (canvas.POSITIVE, canvas.NEGATIVE):
        assert min(contrast(colour, light), contrast(colour, dark)) >= 3


@pytest.mark.parametrize("paper", ["#ffffff", canvas.DARK[canvas.PAPER]])
def test_numbers_in_cells_can_be_read(paper: str) -> None:
    ink = canvas.CELL if paper == "#ffffff" else canvas.DARK[canvas.CELL]
    for opacity in np.linspace(0, 1, 201):
        letters = canvas.ON_STRONG if opacity > canvas.HALF else ink
        assert contrast(letters, over(canvas.STRONG, opacity, paper)) >= 4.5, opacity


def test_a_long_run_has_small_diagrams() -> None:
    at = np.arange(1.0, 100_001)
    noisy = np.random.default_rng(0).lognormal(0, 1, 100_000)
    norms = {f"layer{place}": (at[::50], noisy[::50] * (place + 1)) for place in range(40)}
    metrics = Metrics(
        (at, np.ceil(at / 500), noisy, 1 / at, at, at),
        {"validation": (at[::50], noisy[::50], 1 / (1 + noisy[::50]))},
        norms,
    )
    assert 0 < len(loss_diagram(metrics)) < 150_000
    assert 0 < len(accuracy_diagram(metrics)) < 50_000
    assert 0 < len(gradient_norm_diagram(metrics)) < 500_000


def test_a_diverged_loss_is_marked(figures: Figures) -> None:
    metrics = metrics_of(100)
    metrics.steps[2][60:] = np.nan
    assert loss_curve(metrics)
    assert "loss is not a number, first at step 61" in words(figures[0])
    metrics.steps[2][:] = np.nan
    assert loss_curve(Metrics(metrics.steps, {}, {}))
    assert "first at step 1" in words(figures[1])


@pytest.mark.parametrize("losses", [[1e308, -1e308], [0.0, 0.0], [1e-320, 1.0], [5.0], [-1.0, 2.0]])
def test_extreme_losses_are_drawn(losses: list[float]) -> None:
    steps = np.arange(float(len(losses)))
    assert loss_curve(Metrics((steps, steps, np.array(losses), steps, steps), {}, {"a": (steps, np.array(losses))}))


def test_epochs_without_end_are_drawn(tmp_path: Path) -> None:
    write_metrics(tmp_path, [{"kind": "step", "step": step, "epoch": float("inf"), "loss": 1.0} for step in range(3)])
    assert [path.name for path in write_plots(tmp_path)] == ["curves.png"]


def test_vanished_gradients_leave_no_picture() -> None:
    steps = np.arange(3.0)
    assert gradient_norm_curves(Metrics((steps,) * 5, {}, {"conv1": (steps, np.zeros(3))})) is None
    assert gradient_norm_curves(Metrics((steps,) * 5, {}, {"conv1": (steps, np.array([np.inf, np.nan, 0]))})) is None


@pytest.mark.parametrize("layers", [1, 14, 15, 100])
def test_few_layers_are_named_and_many_coloured(figures: Figures, layers: int) -> None:
    at = np.arange(1.0, 101)
    names = [f"block{place}.attention.query" for place in range(layers)]
    assert gradient_norm_curves(
        Metrics((at,) * 5, {}, {name: (at, np.exp(-0.1 * place) / at) for place, name in enumerate(names)})
    )
    assert_readable(figures[0])
    assert (f"{layers} layers, first to last" in words(figures[0])) == (layers > 14)
    lines = [(line.get_color(), line.get_linestyle()) for line in figures[0].axes[0].lines]
    assert len({str(line) for line in lines}) == layers


@pytest.mark.parametrize(
    ("classes", "name"),
    [(1, "only"), (2, "{}"), (10, "{}"), (10, "a rather long name {}"), (30, "{}"), (100, "class {}"), (300, "{}")],
)
def test_any_number_of_classes_is_readable(figures: Figures, classes: int, name: str) -> None:
    confusion = confusion_of(classes, 100 * classes)
    names = [name.format(place) for place in range(classes)]
    shown = pixels(confusion_picture(confusion, names))
    assert max(shown.shape) < 3000
    assert_readable(figures[0])
    seen = words(figures[0]).split("\n")
    assert {"true", "predicted"} <= set(seen)
    if classes <= 100:
        assert {f"{count:,}" for count in confusion[confusion > 0]} <= set(seen)
        assert set(names) <= set(seen)


def test_confusion_has_true_classes_in_rows(figures: Figures) -> None:
    confusion_picture(np.array([[3, 7], [0, 5]]), ["cat", "dog"])
    places = {text.get_text(): text.get_position() for text in figures[0].axes[0].texts}
    assert places == {"3": (0, 0), "7": (1, 0), "5": (1, 1)}
    assert "8 of 15 right (53.33 %)" in words(figures[0])


@pytest.mark.parametrize(
    "confusion", [np.ones((2, 3), int), np.ones((3, 3), int), np.ones((2, 2)), -np.ones((2, 2), int)]
)
def test_wrong_confusion_is_refused(confusion: Any) -> None:
    with pytest.raises(ArgumentError, match=r"confusion_picture: needs counts of shape \(2, 2\)"):
        confusion_picture(confusion, ["a", "b"])


def test_the_worst_come_first(figures: Figures) -> None:
    probabilities = np.array([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.2, 0.8, 0.0], [0.7, 0.2004, 0.0996]])
    labels = np.array([1, 1, 1, 2])
    images = np.arange(4)[:, None, None] * np.ones((4, 6, 6))
    worst_picture(worst_mistakes(images, labels, probabilities), ["cat", "dog", "owl"])
    tiles = [axes for axes in figures[0].axes if axes.images]
    assert [axes.images[0].get_array()[0, 0] for axes in tiles] == [3, 0, 1]
    assert tiles[0].get_title() == "true owl: 10.0 %\ncalled cat: 70.0 %"
    assert "The worst 3 of 3 misclassified images (of 4)" in words(figures[0])
    assert_readable(figures[0])


def test_scores_become_probabilities(figures: Figures) -> None:
    worst_picture(
        worst_mistakes(np.zeros((2, 4, 4)), np.array([0, 0]), np.array([[0.0, np.log(3.0)], [800.0, -800.0]]))
    )
    assert "true 0: 25.0 %\ncalled 1: 75.0 %" in words(figures[0])


@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 1), (32, 32, 3), (8, 8, 5), (784,), (30,), (60, 10), (10, 60)])
def test_images_of_many_shapes(figures: Figures, shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).random((40, *shape))
    images[0] = np.nan
    names = ["aeroplane in the sky", "automobile number one", "$\\frac{"]
    labels = np.arange(40) % 3
    pixels(worst_picture(worst_mistakes(images, labels, np.eye(3)[(labels + 1) % 3]), names))
    assert_readable(figures[0])


def test_only_the_rows_that_are_drawn_are_read(tmp_path: Path) -> None:
    class Counting:
        reads = 0
        shape, dtype = (1000, 4, 4), np.dtype(np.float64)

        def __len__(self) -> int:
            return 1000

        def __getitem__(self, row: int) -> Any:
            Counting.reads += 1
            return np.zeros((4, 4))

    images: Any = Counting()
    mistakes = worst_mistakes(images, np.zeros(1000, int), np.eye(2)[np.ones(1000, int)], count=9)
    worst_picture(mistakes)
    assert Counting.reads == len(mistakes.images) == 9
    assert (mistakes.wrong, mistakes.total) == (1000, 1000)


def test_no_mistake_is_said(figures: Figures) -> None:
    shown = pixels(worst_picture(worst_mistakes(np.zeros((3, 4, 4)), np.array([0, 1, 1]), np.eye(2)[[0, 1, 1]])))
    assert (shown < 128).any()


@pytest.mark.parametrize(
    ("images", "labels", "scores"),
    [
        (np.zeros((3, 4, 4)), np.zeros(2, int), np.zeros((3, 2))),
        (np.zeros((2, 4, 4)), np.zeros(3, int), np.zeros((3, 2))),
        (np.zeros((3, 4, 4)), np.zeros(3, int), np.zeros(3)),
        (np.zeros((3, 4, 4)), np.full(3, 2), np.ones((3, 2))),
        (np.zeros((3, 4, 4)), np.zeros(3), np.ones((3, 2))),
        (np.zeros((0, 4, 4)), np.zeros(0, int), np.ones((0, 2))),
        (np.array(["a", "b", "c"]), np.zeros(3, int), np.eye(2)[[1, 1, 1]]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(images: Any, labels: Any, scores: Any) -> None:
    with pytest.raises(ArgumentError, match=r"worst_(mistakes|picture): "):
        worst_picture(worst_mistakes(images, labels, scores))


@pytest.mark.parametrize(
    ("shape", "tiles"),
    [((6, 5, 5, 1), 6), ((16, 3, 3, 3), 16), ((2, 3, 5, 4), 8), ((128, 784), 64), ((4, 30), 4), ((1, 1, 1, 1), 1)],
)
def test_filters_of_many_shapes(figures: Figures, shape: tuple[int, ...], tiles: int) -> None:
    pixels(filter_picture(np.random.default_rng(0).normal(size=shape)))
    assert sum(bool(axes.images) for axes in figures[0].axes) == tiles
    assert_readable(figures[0])


def test_each_filter_is_its_own(figures: Figures) -> None:
    weight = np.arange(2 * 2 * 3 * 2, dtype=np.float32).reshape(2, 2, 3, 2)
    filter_picture(weight)
    shown = [(axes.get_title(), axes.images[0].get_array()) for axes in figures[0].axes if axes.images]
    assert [title for title, _ in shown] == ["0, in 0", "0, in 1", "1, in 0", "1, in 1"]
    np.testing.assert_array_equal(shown[1][1], weight[0, :, :, 1])
    assert figures[0].axes[0].images[0].get_clim() == (-23, 23), "zero must be white"


@pytest.mark.parametrize("weight", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((0, 5, 5, 1)), np.array([["a"]])])
def test_what_is_no_filter_is_refused(weight: Any) -> None:
    with pytest.raises(ArgumentError, match="filter_picture: needs weights"):
        filter_picture(weight)


def test_hostile_names_are_drawn_as_they_are(figures: Figures) -> None:
    names = [
        "$\\frac{$",
        "<script>",
        "\ud800\x00\n\t",
        "\u6f22\u5b57",
        "_hidden",
        "x" * 10_000,
        "",
        "\u202eright",
        "%s{0}",
        "\U0001f600",
    ]
    confusion_picture(confusion_of(10), names)
    at = np.arange(1.0, 5)
    gradient_norm_curves(Metrics((at,) * 5, {}, dict.fromkeys(names, (at, at))))
    assert "$\\frac{$" in words(figures[0])
    assert len(figures[1].axes[0].get_legend().get_texts()) == len(names)
    assert label("x" * 10_000) == "x" * 23 + "…"
    for drawn in figures:
        assert_readable(drawn)


@pytest.mark.parametrize("missing", ["images", "labels", "scores"])
def test_arrays_come_together(tmp_path: Path, missing: str) -> None:
    arrays = sample_arrays(20) | {"filters": None}
    with pytest.raises(ArgumentError, match="write_plots: images, labels and scores come together, got only"):
        write_plots(tmp_path, **{name: values for name, values in arrays.items() if name != missing})


def test_a_damaged_report_is_one_error_after_the_rest(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", steps=20)
    (run / "report.json").write_text('{"classes": 10, "confusion"')
    with pytest.raises(
        DataError, match=r"report\.json: must hold one JSON object, got something else; it may have been cut off"
    ):
        write_plots(run)
    assert (run / "plots" / "curves.png").exists()
    assert not (run / "plots" / "confusion.png").exists()


def test_no_run_no_pictures(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"write_plots: needs the folder of a run, got '.*none', which is no folder"):
        write_plots(tmp_path / "none")


def test_pictures_stay_in_the_run(tmp_path: Path) -> None:
    run, elsewhere = sample_run(tmp_path / "run", steps=20), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (run / "plots").symlink_to(elsewhere)
    with pytest.raises(DataError, match="plots: must be a folder of the run, got a link"):
        write_plots(run)
    assert list(elsewhere.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run", steps=20)
    (run / "plots").write_text("a file")
    with pytest.raises(
        DataError, match=r"must be writable, got .*; make room, or make the folder writable, and try again"
    ):
        write_plots(run)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run = sample_run(tmp_path / "run", steps=20)
    with pytest.raises(MissingExtra, match=r"pictures need the package matplotlib.*pip install 'typednn\[plots\]'"):
        write_plots(run)
    with pytest.raises(MissingExtra):
        confusion_picture(np.ones((2, 2), int), ["a", "b"])


def test_the_module_loads_nothing_optional() -> None:
    program = "import sys, typednn.reports.plots, typednn.reports.html; raise SystemExit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "error", "-c", program], check=False).returncode == 0


junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)


@settings(max_examples=12)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["step", "evaluation", "?"]),
                "step": st.integers(-1, 10) | junk,
                "loss": st.floats() | junk,
            },
            optional={
                "epoch": junk,
                "lr": junk,
                "accuracy": st.floats() | junk,
                "split": st.sampled_from(["test", "train"]) | junk,
                "gradient_norms": st.dictionaries(st.text(max_size=3), st.floats() | junk, max_size=3) | junk,
            },
        ),
        max_size=6,
    )
)
def test_whatever_the_metrics_hold(tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]]) -> None:
    run = tmp_path_factory.mktemp("run")
    write_metrics(run, lines)
    write_plots(run)


def test_metrics_of_a_run_are_read_whole(tmp_path: Path) -> None:
    lines = metrics_lines(200)
    write_metrics(tmp_path, lines)
    metrics = read_metrics(tmp_path)
    assert metrics.remarks == ()
    steps = [line for line in lines if line["kind"] == "step"]
    for column, key in zip(
        metrics.steps, ("step", "epoch", "loss", "lr", "samples_per_second", "seconds"), strict=True
    ):
        assert column.tolist() == [line[key] for line in steps]
    for split, (at, loss, accuracy) in metrics.evaluations.items():
        found = [line for line in lines if line.get("split") == split]
        assert list(zip(at, loss, accuracy, strict=True)) == [
            (line["step"], line["loss"], line["accuracy"]) for line in found
        ]
    assert set(metrics.gradient_norms) == {"conv1", "conv2", "fc1", "fc2", "fc3"}
    assert metrics.gradient_norms["fc2"][0].tolist() == [1, *range(10, 201, 10)]


Draw = Callable[[Metrics], bytes | None]


@pytest.mark.parametrize("draw", [loss_curve, accuracy_curve, gradient_norm_curves])
def test_nothing_to_draw(draw: Draw) -> None:
    empty = np.empty(0)
    assert draw(Metrics((empty,) * 5, {}, {})) is None


def test_filters_of_huge_numbers_are_drawn() -> None:
    pixels(filter_picture(np.array([[8e307, -8e307], [1.0, 1.0]])))


@pytest.mark.parametrize("suggestion", [0.01, None])
@pytest.mark.parametrize(
    "losses", [(2.0, 1.5, 1.0, 0.5), (2.0, 1.0, 0.01, 400.0), (1.0, 1.0, 1.0, 1.0), (1.0, 1.5, 1e38, 3e38)]
)
def test_learning_rates(tmp_path: Path, figures: Figures, losses: tuple[float, ...], suggestion: float | None) -> None:
    found = LearningRates((1e-4, 1e-3, 1e-2, 1e-1), losses, losses, suggestion)
    path = write_learning_rates(found, tmp_path / "rates.png")
    assert pixels(path.read_bytes()).std() > 0
    (drawn,) = figures
    shown = words(drawn)
    assert "0.001" in shown
    assert "$" not in shown
    assert ("suggested: 0.01" in shown) == (suggestion is not None)
    (axes,) = drawn.axes
    assert [line.get_label() for line in axes.lines][:2] == ["training step", "smoothed"]
    assert axes.get_xscale() == "log"
    assert write_learning_rates(found, tmp_path / "again.png").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("count", [1, 10, 41])
@pytest.mark.parametrize("seconds", [1e-6, 5e-3])
def test_a_plan(tmp_path: Path, figures: Figures, count: int, seconds: float) -> None:
    """A bar for each step; where there are many, one for each op of a half."""
    lines = tuple(
        Timed(half, f"linear.{half}", f"fc{place}.weight", "halide", "2 × 3", 10, 20, seconds, seconds / 2)
        for half in ("forward", "backward")
        for place in range(count)
    )
    explained = Explained("Chain", lines, 0, 2, 1e9, 1e9, ())
    path = write_plan(explained, tmp_path / "plan.png")
    assert pixels(path.read_bytes()).std() > 0
    (axes,) = figures[0].axes
    bars = axes.patches
    assert len(bars) == (2 if count > 20 else 2 * count)
    scale = 1e3 if seconds * (count if count > 20 else 1) >= 2e-3 else 1e6
    assert sum(bar.get_width() for bar in bars) == pytest.approx(2 * count * seconds * scale)
    shown = words(figures[0])
    assert ("41 x linear" if count > 20 else "linear fc0.weight") in shown
    assert ("ms" if scale == 1e3 else "µs") in shown
    assert write_plan(explained, tmp_path / "again.png").read_bytes() == path.read_bytes()
