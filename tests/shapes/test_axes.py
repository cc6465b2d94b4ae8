from typing import Any

import jaxtyping
import numpy as np
import pytest
from beartype import beartype
from effort import cheap
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jaxtyping import Float, jaxtyped

from typednn.errors import DefinitionError
from typednn.shapes import Dim, Mismatch, Unifier, evaluate, label, parse, rank, sizes

ATTRIBUTES = {"self.in_features": 3, "self.out_features": 4, "self.kernel_size[0]": 2, "self.p": -1}


def attributes(path: str) -> Dim | None:
    return Dim.of(ATTRIBUTES[path]) if path in ATTRIBUTES else None


def dims(*shape: int | str | None) -> list[Dim | None]:
    return [Dim.of(size) if isinstance(size, int) else None if size is None else Dim.named(size) for size in shape]


def matched(*pairs: tuple[str, list[Dim | None] | None]) -> Unifier:
    unifier = Unifier(attributes)
    for annotation, shape in pairs:
        unifier.bind(annotation, shape)
    return unifier


# -------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("annotation", "count"),
    [
        ("", 0),
        ("batch", 1),
        (" out_features", 1),
        ("batch (height-{self.kernel_size[0]})//{self.stride[0]}+1 {self.out_channels}", 3),
        ("rows=28 _ _any #height", 4),
        ("batch *input", None),
        ("*shape", None),
        ("...", None),
        ("batch *_ channels", None),
    ],
)
def test_rank(annotation: str, count: int | None) -> None:
    assert rank(annotation) == count


def test_labels() -> None:
    slots = parse("batch rows=28 {self.in_features} height-{self.kernel_size[0]} {self.a.b} *input _")
    assert [slot.label for slot in slots] == [
        "batch",
        "rows",
        "in_features",
        "height-kernel_size[0]",
        "a.b",
        "input",
        "",
    ]
    assert [label(name) for name in ("in_features", "out_channels", "height", "in_", "input")] == [
        "features",
        "channels",
        "height",
        "in_",
        "input",
    ]


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        ("batch height - 1", "not an expression; balance its brackets and write it without spaces"),
        ("batch (height -1)", "not an expression; balance its brackets and write it without spaces"),
        ("batch height -1", "no axis has -1 elements; write an expression without spaces"),
        ("batch {self.in_features", "not an expression"),
        ("batch h/2", "got h / 2"),
        ("*a *b", "only one * or ... can stand in one annotation"),
        ("*a ...", "only one * or ... can stand in one annotation"),
        ("a...", "not an expression"),
        ("**a", "only one each of *, _ and # can stand before a name"),
        ("##a", "only one each of *, _ and # can stand before a name"),
        ("__a", "only one each of *, _ and # can stand before a name"),
        ("?a", "only one each of *, _ and # can stand before a name"),
        ("*4", "* stands for any number of axes, so one name must follow it"),
        ("*", "* stands for any number of axes, so one name must follow it"),
        ("*a+1", "* stands for any number of axes, so one name must follow it"),
        ("_4", "_ stands for any size, so only a name can follow it"),
        ("_a+1", "_ stands for any size, so only a name can follow it"),
        ("#_", "_ stands for any size, so only a name can follow it"),
        ("=3", "= stands between a name that documents the axis and its size"),
        ("a=", "= stands between a name that documents the axis and its size"),
        ("h<=3", "= stands between a name that documents the axis and its size"),
        ("a=b=3", "not an expression"),
        ("#", "not an expression"),
        ("a#", "spaces, # and quotes cannot stand inside an expression"),
        ("class", "a Python keyword cannot name an axis"),
        ("*class", "a Python keyword cannot name an axis"),
        ("a,b", "got (a, b)"),
    ],
)
def test_malformed(annotation: str, complaint: str) -> None:
    for read in (parse, rank, lambda text: Unifier().bind(text, [])):
        with pytest.raises(DefinitionError) as error:
            read(annotation)
        assert complaint in str(error.value)
        assert str(error.value).startswith(f'annotation "{annotation}": ')


@cheap
@given(
    st.text(alphabet="hw1*+-/(){}.,_=# ", max_size=10)
    | st.text(alphabet="hw1*+-/%(){}[].,_=#?'\"self :!\\é", max_size=12)
)
def test_what_is_accepted_here_jaxtyping_accepts(annotation: str) -> None:
    try:
        count = rank(annotation)
    except DefinitionError:
        return
    hint: Any = Float[np.ndarray, annotation]
    assert (None if hint.index_variadic is not None else len(hint.dims)) == count


# -------------------------------------------------------------------------------------------------- parameter shapes


def test_sizes() -> None:
    assert sizes("{self.out_features} {self.in_features}", attributes) == (4, 3)
    assert sizes("rows={self.out_features*2} 5", attributes) == (8, 5)
    assert sizes("", attributes) == ()


@pytest.mark.parametrize("axis", ["{self.other}", "height", "_", "*shape", "...", "height+1"])
def test_sizes_names_the_axis_that_is_not_known(axis: str) -> None:
    with pytest.raises(DefinitionError) as error:
        sizes(f"{{self.out_features}} {axis}", attributes)
    assert str(error.value) == (
        f'axis "{axis}" of "{{self.out_features}} {axis}": a parameter\'s size must follow from its layer\'s '
        "attributes, "
        f"got {axis}; write a number or {{self.…}} of an integer attribute"
    )


# -------------------------------------------------------------------------------------------------- matching


def test_names_bind_from_left_to_right_and_reach_the_result() -> None:
    unifier = matched(("batch {self.in_features}", dims("n", 3)), ("batch height", dims("n", 7)))
    assert unifier.mismatches == []
    assert unifier.result("height-1 batch {self.out_features} _ later") == [
        Dim.of(6),
        Dim.named("n"),
        Dim.of(4),
        None,
        None,
    ]


def test_an_expression_over_a_later_name_is_unknown() -> None:
    unifier = matched(("height+1 height", dims(9, 3)))
    assert unifier.mismatches == []


@pytest.mark.parametrize(
    ("pairs", "mismatch", "sentence"),
    [
        (
            [("batch {self.in_features}", dims("n", 5))],
            Mismatch(1, "features", "3", "5", "{self.in_features}"),
            "expects 3 features, gets 5",
        ),
        ([("batch 28", dims("n", 5))], Mismatch(1, "axis 1", "28", "5", "28"), "expects axis 1 to be 28, gets 5"),
        ([("batch rows=28", dims("n", 5))], Mismatch(1, "rows", "28", "5", "rows=28"), "expects 28 rows, gets 5"),
        ([("batch side side", dims("n", 4, 5))], Mismatch(2, "side", "4", "5", "side"), "expects side to be 4, gets 5"),
        (
            [("batch time", dims(2, 4)), ("time", dims(5))],
            Mismatch(0, "time", "4", "5", "time"),
            "expects time to be 4, gets 5",
        ),
        (
            [("height {self.in_features}*height", dims(2, 5))],
            Mismatch(1, "in_features*height", "6", "5", "{self.in_features}*height"),
            "expects in_features*height to be 6, gets 5",
        ),
        (
            [("*input", dims(8, 8, 6)), ("*input", dims(8, 8, 16))],
            Mismatch(0, "*input", "8x8x6", "8x8x16", "*input"),
            "expects *input to be 8x8x6, gets 8x8x16",
        ),
        (
            [("batch *input", dims(2, 8)), ("batch *input", dims(2, 8, 16))],
            Mismatch(1, "*input", "8", "8x16", "*input"),
            "expects *input to be 8, gets 8x16",
        ),
        (
            [("batch {self.in_features}", dims("n", 5, 5))],
            Mismatch(None, "", "2 axes (batch, in_features=3)", "3 axes (n, 5, 5)", "batch {self.in_features}"),
            "expects 2 axes (batch, in_features=3), gets 3 axes (n, 5, 5)",
        ),
        (
            [("batch", dims(2)), ("batch rows=4 _ {self.x} {self.kernel_size[0]}", dims(None))],
            Mismatch(
                None,
                "",
                "5 axes (batch=2, rows=4, _, x, 2)",
                "1 axis (_)",
                "batch rows=4 _ {self.x} {self.kernel_size[0]}",
            ),
            "expects 5 axes (batch=2, rows=4, _, x, 2), gets 1 axis (_)",
        ),
        (
            [("batch *input channels", dims("n"))],
            Mismatch(None, "", "at least 2 axes (batch, channels)", "1 axis (n)", "batch *input channels"),
            "expects at least 2 axes (batch, channels), gets 1 axis (n)",
        ),
    ],
)
def test_mismatch(pairs: list[tuple[str, list[Dim | None]]], mismatch: Mismatch, sentence: str) -> None:
    unifier = matched(*pairs)
    assert unifier.mismatches == [mismatch]
    assert mismatch.sentence() == sentence


def test_an_axis_that_may_be_broadcast_binds_nothing_when_it_is_one() -> None:
    assert matched(("#batch", dims(1)), ("batch", dims(5))).mismatches == []
    assert matched(("#batch", dims("n")), ("batch", dims(5))).result("batch #batch") == [Dim.of(5), None]
    assert len(matched(("#batch", dims(3)), ("batch", dims(5))).mismatches) == 1


def test_a_size_that_is_unknown_takes_what_is_expected() -> None:
    unifier = Unifier(attributes)
    assert unifier.bind("batch {self.in_features}", dims(None, None)) == dims(None, 3)
    assert unifier.bind("batch", dims(6)) == dims(6)
    assert unifier.result("batch") == dims(6)
    assert unifier.bind("batch", None) is None


def test_what_one_group_leaves_unknown_another_can_tell() -> None:
    assert matched(("*g", dims(None, 4)), ("*g", dims(3, None)), ("*g", dims(None, None))).result("*g") == dims(3, 4)


def test_a_group_that_may_be_broadcast_binds_nothing() -> None:
    assert matched(("#*g", dims(1, 1)), ("*g", dims(3, 4)), ("*#g", dims(1, 4))).mismatches == []


def test_a_name_cannot_become_two_numbers() -> None:
    unifier = matched(("3 4", dims("h", "h")))
    assert unifier.mismatches == [Mismatch(1, "axis 1", "4", "3", "4")]


def test_a_name_that_must_be_a_number_becomes_it() -> None:
    unifier = matched(("batch side side {self.in_features}", dims("n", "h", "w", "c")))
    assert unifier.refined == {"h": Dim.named("w"), "c": Dim.of(3)}
    assert unifier.result("side batch") == dims("w", "n")
    unifier.bind("side", dims(5))
    assert unifier.refined == {"h": Dim.of(5), "w": Dim.of(5), "c": Dim.of(3)}
    unifier.bind("side", dims(6))
    assert [str(mismatch.got) for mismatch in unifier.mismatches] == ["6"]


def test_what_may_be_equal_stays_open() -> None:
    double = Dim.named("w") * 2
    unifier = matched(("side side", [Dim.named("h") * 3, double]))
    assert (unifier.mismatches, unifier.refined) == ([], {})
    assert unifier.open == [(double, Dim.named("h") * 3)]


def test_conditions_between_sizes() -> None:
    unifier = matched(("height width", dims(3, "w")))
    unifier.require("height*width==12")
    assert [tuple(map(str, pair)) for pair in unifier.open] == [("3*w", "12")]
    unifier.require("height*width==13")
    assert unifier.mismatches == [Mismatch(None, "height*width", "13", "3*w", "height*width==13")]
    unifier.require("other==13")
    assert len(unifier.mismatches) == 1


# ----------------------------------------------------------------------------------------------- jaxtyping is the judge

LONE = [
    "a",
    "a",
    "b",
    "b",
    "c",
    "_",
    "2",
    "rows=3",
    "#a",
    "#b",
    "{self.in_features}",
    "a+1",
    "b*{self.kernel_size[0]}",
    "a//2",
    "(a+b)%3",
]
LONE += ["max(a,b)", "a-{self.p}", "a*{self.p}**2+2*a", "{self.in_features-1}", "min(a,{self.out_features})"]


@st.composite
def calls(draw: st.DrawFn, count: int) -> tuple[list[str], list[tuple[int, ...]]]:
    """Annotations, and shapes that mostly fit them."""
    known = {name: Dim.of(draw(st.integers(1, 4))) for name in "abc"}
    group = draw(st.lists(st.integers(1, 3), max_size=2))
    texts: list[str] = []
    arrays: list[tuple[int, ...]] = []
    for _ in range(count):
        words = draw(st.lists(st.sampled_from(LONE), max_size=3))
        if draw(st.booleans()):
            words.insert(draw(st.integers(0, len(words))), draw(st.sampled_from(["*g", "*g", "..."])))
        shape: list[int] = []
        for word in words:
            dim = (
                evaluate(word.lstrip("#").replace("rows=", ""), known.get, attributes)
                if word not in ("*g", "...", "_")
                else None
            )
            size = 1 if dim is None or dim.value is None else max(1, dim.value)
            shape += group if word in ("*g", "...") else [1 if "#" in word and draw(st.booleans()) else size]
        if draw(st.integers(0, 5)) == 0:
            shape = draw(st.lists(st.integers(1, 4), max_size=4))
        texts.append(" ".join(words))
        arrays.append(tuple(shape))
    return texts, arrays


class Layer:
    in_features, out_features, kernel_size, p = 3, 4, (2,), -1


def accepted(texts: list[str], arrays: list[tuple[int, ...]]) -> bool:
    first, second, third = (Float[np.ndarray, text] for text in texts)

    def forward(self: Any, x: first, y: second) -> third:  # type: ignore[valid-type]
        return np.zeros(arrays[2])

    try:
        jaxtyped(forward, typechecker=beartype)(Layer(), np.zeros(arrays[0]), np.zeros(arrays[1]))
    except jaxtyping.TypeCheckError:
        return False
    return True


@settings(max_examples=400)
@given(calls(3))
def test_known_sizes_get_the_verdict_of_jaxtyping(call: tuple[list[str], list[tuple[int, ...]]]) -> None:
    texts, arrays = call
    try:
        verdict = accepted(texts, arrays)
    except (jaxtyping.AnnotationError, NameError):  # an expression over a name that is bound later
        assume(False)
    unifier = matched(*((text, dims(*array)) for text, array in zip(texts, arrays, strict=True)))
    assert unifier.open == []
    assert (not unifier.mismatches) is verdict


@settings(max_examples=300)
@given(calls(2), st.data())
def test_what_is_unknown_is_never_refused(call: tuple[list[str], list[tuple[int, ...]]], data: st.DataObject) -> None:
    texts, arrays = call
    exact = matched(*((text, dims(*array)) for text, array in zip(texts, arrays, strict=True)))
    assume(not exact.mismatches)
    known: dict[str, int] = {}
    vague: list[list[Dim | None]] = []
    for array in arrays:
        vague.append([])
        for size in array:
            kind = data.draw(st.sampled_from(["number", "name", "sum", "nothing"]))
            name = f"s{len(known)}"
            known |= {name: size if kind != "sum" else size + 1}
            dim = {"number": Dim.of(size), "name": Dim.named(name), "sum": Dim.named(name) - 1, "nothing": None}[kind]
            vague[-1].append(dim)
    unifier = matched(*zip(texts, vague, strict=True))
    assert unifier.mismatches == []
    numbers = {name: Dim.of(size) for name, size in known.items()}
    assert all(dim.substitute(numbers) == numbers[name] for name, dim in unifier.refined.items())
    assert all(left.substitute(numbers) == right.substitute(numbers) for left, right in unifier.open)
    for text in texts:
        certain, promised = exact.result(text), unifier.result(text)
        if certain is not None and promised is not None:
            for one, other in zip(certain, promised, strict=True):
                assert one is None or other is None or other.substitute(numbers) == one
