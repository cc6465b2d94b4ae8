"""Curves as HTML: where lines are, what stands below a pointer, and that nothing is loaded or run."""

import math
import re
from html import unescape
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.test_html import EVIL, Page, page
from typednn.charts import PALETTE, epoch_ends
from typednn.curves import HEIGHT, Line, curves

FLOATS = st.floats(allow_nan=True, allow_infinity=True)


def drawn(read: Page) -> list[list[tuple[float, float]]]:
    """The places of each line's points, in units of the SVG that is stretched."""
    lines = [(line["points"] or "").split() for line in read.named("polyline")]
    return [[(float(x), float(y)) for x, y in (place.split(",") for place in line)] for line in lines]


def below(read: Page) -> list[list[str]]:
    """The lines of text of each band, from left to right."""
    return [unescape(band["data-at"] or "").split("\n") for band in read.named("i")]


@example({"": [(0.0, 0.0), (1.0, 0.0), (3.5e17, 0.0), (-4.8e15, 0.0)]})  # no float lies between two of the places
@given(st.dictionaries(st.text(max_size=3), st.lists(st.tuples(FLOATS, FLOATS), max_size=6), max_size=5))
def test_curves_stay_in_their_frame(lines: dict[str, list[tuple[float, float]]]) -> None:
    """Whatever the numbers: of equal ones, of one, of none, of numbers near the largest."""
    made = curves(lines, "step")
    kept = {name: [point for point in points if all(map(math.isfinite, point))] for name, points in lines.items()}
    kept = {name: points for name, points in kept.items() if points}
    if not kept:
        assert made == ""
        return
    read = page(made)
    places = drawn(read)
    assert [len(points) for points in places] == [len(points) for points in kept.values()]
    for points, line in zip(kept.values(), places, strict=True):
        for across, down in line:
            assert 0 <= across <= 1000
            assert 0 <= down <= HEIGHT
        for (one, first), (other, second) in zip(
            zip(points, line, strict=True), zip(points[1:], line[1:], strict=True), strict=False
        ):
            assert (one[1] - other[1]) * (first[1] - second[1]) <= 0  # up is more
            assert (one[0] - other[0]) * (first[0] - second[0]) >= 0


@pytest.mark.parametrize("scale", ["upright", "along"])
def test_decades_have_equal_distances(scale: str) -> None:
    """Equal ratios are equal distances where the axis is logarithmic; equal differences where it is linear."""
    points = np.array([(0.0, 1.0), (1.0, 0.1), (2.0, 0.01)])
    if scale == "upright":
        made = curves({"loss": points}, "epoch", title="Loss")
        assert [y for _, y in drawn(page(made))[0]] == [0.0, HEIGHT / 2, HEIGHT]
        assert "Loss (logarithmic)" in page(made).text
        linear = page(curves({"loss": points}, "epoch", title="Loss", logarithmic=False))
        assert [round(y) for _, y in drawn(linear)[0]] == [0, 182, 200]
        assert "logarithmic" not in linear.text
    else:
        made = curves({"loss": points[:, ::-1]}, "rate", along_logarithmic=True)
        assert [x for x, _ in drawn(page(made))[0]] == [1000.0, 500.0, 0.0]


def test_what_a_logarithm_cannot_take_is_left_out() -> None:
    made = curves({"norm": [(0, 0.0), (1, -3.0), (2, 1.0), (3, 10.0)]}, "step", logarithmic=True)
    assert len(drawn(page(made))[0]) == 2
    assert curves({"norm": [(0, 0.0)]}, "step", logarithmic=True) == ""


def test_long_lines_are_thinned_to_their_means_and_spikes_stay() -> None:
    steps = np.arange(5000.0)
    losses = steps % 2
    losses[3001] = 40.0
    points = np.stack([steps, losses], axis=1)
    assert len(drawn(page(curves({"loss": points}, "step")))[0]) == 500
    pale = page(curves([Line("loss", points, look="pale")], "step"))
    outline = (pale.named("polygon")[0]["points"] or "").split()
    heights = [float(place.partition(",")[2]) for place in outline]
    assert min(heights) == 0.0, "the highest loss"
    assert max(heights) == HEIGHT


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.floats(0.5, 2.0)), min_size=1, max_size=60, unique_by=lambda each: each[0]
    )
)
def test_each_point_of_a_short_line_stands_below_the_pointer(points: list[tuple[int, float]]) -> None:
    read = page(curves({"loss": [(float(x), y) for x, y in points]}, "step"))
    assert below(read) == [[f"step {x}", f"loss  {y:.4g}"] for x, y in sorted(points)]
    spans = [re.findall(r"(?:left|width):([\d.]+)%", band["style"] or "") for band in read.named("i")]
    ends = [float(left) + float(width) for left, width in spans]
    assert ends[-1] == pytest.approx(100, abs=0.05)
    for end, (left, _) in zip(ends, spans[1:], strict=False):
        assert float(left) == pytest.approx(end, abs=0.02), "no gap, no overlap"
    at = sorted(x for x, _ in drawn(read)[0])
    middles = [(one + other) / 20 for one, other in pairwise(at)]
    assert ends[:-1] == pytest.approx(middles, abs=0.05), "the nearest point is told"


def test_of_long_lines_eighty_places_are_told_and_all_numbers_are_true() -> None:
    rng = np.random.default_rng(0)
    steps = np.arange(1.0, 401)
    one, other = rng.random(400), 1.0 + rng.random(400)
    lines = {"one": np.stack([steps, one], axis=1), "other": np.stack([steps[::50], other[::50]], axis=1)}
    read = page(curves(lines, "step"))
    told = below(read)
    assert len(told) == 80
    for head, *rows in told:
        at = int(head.removeprefix("step ")) - 1
        assert f"one  {one[at]:.4g}" in rows
    for band, (head, *_) in zip(read.named("i"), told, strict=True):
        left, width, share = map(float, re.findall(r"(?:left:|width:|--x:)([\d.]+)%", band["style"] or ""))
        at = 100 * (int(head.removeprefix("step ")) - 1) / 399
        assert left + width * share / 100 == pytest.approx(at, abs=0.05), "the line stands where the numbers are"
    said = [row for _, *rows in told for row in rows if row.startswith("other")]
    assert said == [f"other  {value:.4g}" for value in other[::50]]
    both = [rows for _, *rows in told if len(rows) == 2]
    assert all(rows[0].startswith("other") for rows in both), "the greatest first, as on the picture"


def test_of_many_lines_the_greatest_are_told() -> None:
    lines = {f"run {place}": [(0.0, float(place)), (1.0, 1.0)] for place in range(30)}
    read = page(curves(lines, "step"))
    first = below(read)[0]
    assert first[:3] == ["step 0", "run 29  29", "run 28  28"]
    assert first[-1] == "and 18 more"
    assert "30 lines, first to last" in read.text
    strokes = [re.findall("stroke:([^;]+)", line["style"] or "")[0] for line in read.named("polyline")]
    assert len(set(strokes)) == 30


def test_few_lines_differ_in_colour_or_dashes() -> None:
    lines = {f"run {place}": [(0.0, 1.0), (1.0, float(place))] for place in range(24)}
    styles = [line["style"] for line in page(curves(lines, "step")).named("polyline")]
    assert len(set(styles)) == 24
    assert f"stroke:var(--c0,{PALETTE[0]})" in (styles[0] or "")


def test_marks_and_words_above() -> None:
    lines = {"loss": [(0.0, 1.0), (10.0, 2.0)]}
    read = page(curves(lines, "step", above={5.0: "1", 10.0: "2"}, mark=(2.5, "here"), about="falls"))
    assert "end of epoch" in read.text
    assert read.text.endswith("loss here")
    assert [line["x1"] for line in read.named("line") if line.get("x1") == line.get("x2")] == ["25.00%"]
    assert "falls" in (read.named("svg")[0]["aria-label"] or "")


def test_names_are_text() -> None:
    made = curves({EVIL: [(0.0, 1.0)]}, EVIL, title=EVIL, about=EVIL, mark=(0.0, EVIL), above={0.0: EVIL})
    read = page(made)
    assert read.text.count("<script>alert") == 5
    assert "<script>alert" in below(read)[0][0]


def test_epochs_end_at_round_numbers() -> None:
    steps = np.arange(1.0, 101)
    assert epoch_ends(steps, (steps - 1) // 5 + 1, 4) == {25.0: "5", 50.0: "10", 75.0: "15", 100.0: "20"}
    assert epoch_ends(steps, steps * 0 + 1, 4) == {}
    assert epoch_ends(steps[:0], steps[:0], 4) == {}
