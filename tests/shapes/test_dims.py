import copy
import random

import pytest
from effort import cheap
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.shapes import Dim, differ, evaluate, same, solve

H, W, C = (Dim.named(name) for name in ("height", "width", "channels"))

leaves = st.one_of(st.sampled_from(["h", "w", "c"]), st.integers(0, 9).map(str))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]}){t[1]}({t[2]})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.integers(-6, 6).filter(bool)).map(
            lambda t: f"({t[0]}){t[1]}({t[2]})"
        ),
        st.tuples(inner, st.sampled_from(["h", "w", "2*c", "h*w"])).map(lambda t: f"({t[0]})//({t[1]})"),
        inner.map(lambda text: f"-({text})"),
    ),
    max_leaves=8,
)
sizes = st.fixed_dictionaries({name: st.integers(1, 40) for name in "hwc"})


def symbolic(text: str) -> Dim:
    dim = evaluate(text, Dim.named)
    assert dim is not None
    return dim


def number(dim: Dim, values: dict[str, int]) -> int | None:
    return dim.substitute({name: Dim.of(size) for name, size in values.items()}).value


@cheap
@given(expressions, sizes)
def test_the_algebra_computes_what_python_computes(text: str, values: dict[str, int]) -> None:
    expected = eval(text, dict(values))
    dim = symbolic(text)
    assert number(dim, values) == expected
    assert number(dim.reduced(), values) == expected
    assert eval(str(dim), dict(values)) == expected
    assert evaluate(text, {name: Dim.of(size) for name, size in values.items()}.get) == Dim.of(expected)


@cheap
@given(expressions)
def test_a_dim_reads_back_what_it_writes(text: str) -> None:
    dim = symbolic(text)
    assert " " not in str(dim)
    again = evaluate(str(dim), Dim.named)
    assert again == dim
    assert hash(again) == hash(dim)


@cheap
@given(expressions, expressions, sizes)
def test_differ_and_same_are_never_wrong(one: str, other: str, values: dict[str, int]) -> None:
    a, b = symbolic(one), symbolic(other)
    assert not (differ(a, b) and same(a, b))
    if differ(a, b):
        assert eval(one, dict(values)) != eval(other, dict(values))
    if same(a, b):
        assert eval(one, dict(values)) == eval(other, dict(values))


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.lists(st.sampled_from(["h", "w", "c"]), max_size=3)), max_size=6),
    st.randoms(use_true_random=False),
)
def test_one_polynomial_is_one_object_however_it_is_built(
    terms: list[tuple[int, list[str]]], order: random.Random
) -> None:
    def build(pieces: list[tuple[int, list[str]]]) -> Dim:
        total = Dim.of(0)
        for coefficient, names in pieces:
            product = Dim.of(coefficient)
            for name in order.sample(names, len(names)):
                product = Dim.named(name) * product
            total = product + total
        return total

    shuffled = copy.deepcopy(terms)
    order.shuffle(shuffled)
    assert build(terms) == build(shuffled)
    assert len({build(terms), build(shuffled)}) == 1


@settings(max_examples=500)
@given(expressions, expressions, sizes)
def test_what_solve_pins_down_must_be_so(one: str, other: str, values: dict[str, int]) -> None:
    a, b = symbolic(one), symbolic(other)
    found = solve(a, b)
    if found is None:
        return
    name, answer = found
    assert same(a.substitute({name: answer}), b.substitute({name: answer}))
    if eval(one, dict(values)) == eval(other, dict(values)):
        assert values[name] == number(answer, values)


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (Dim.of(0), "0"),
        (Dim.of(-3), "-3"),
        (-H, "-height"),
        ((H - 4) * (W - 4) * 6, "6*height*width-24*height-24*width+96"),
        ((H - 3) // 2 + 1, "(height-3)//2+1"),
        (-(H // 2), "-(height//2)"),
        (H // 2 * C * (W // 2), "channels*(height//2)*(width//2)"),
        (C // H, "channels//height"),
        (C // (H - 1), "channels//(height-1)"),
        (H // 2 - H // 2, "0"),
    ],
)
def test_text(dim: Dim, text: str) -> None:
    assert str(dim) == text


@pytest.mark.parametrize(
    ("dim", "rule"),
    [
        ((H * 4 + 3) // 4, H),
        ((H * 4 + C) // 4, H + C // 4),
        ((H * W) // W, H),
        ((H * W * 6 + W) // (W * 2), H * 3 + W // (W * 2)),
        ((H // 2) // 3, H // 6),
        ((H // 2 + 1) // 3, (H + 2) // 6),
        (((H - 3) // 2 + 1) // 2, (H - 1) // 4),
        ((H * 2 + 1) // 4, H // 2),
        ((H * 6 + 5) // 9, (H * 2 + 1) // 3),
        (H // -2, (-H) // 2),
        (Dim.of(-7) // 2, Dim.of(-4)),
        (Dim.of(0) // H, Dim.of(0)),
        (H // 1, H),
    ],
)
def test_floor_division_is_simplified_exactly(dim: Dim, rule: Dim) -> None:
    assert dim == rule


def test_division_by_zero_is_refused() -> None:
    with pytest.raises(ZeroDivisionError, match="height//0"):
        H // 0


def test_a_divisor_that_becomes_zero_stays_as_it_is() -> None:
    dim = C // (H - 5)
    assert dim.substitute({"height": Dim.of(5)}) == dim
    assert dim.substitute({"height": Dim.of(7), "channels": Dim.of(9)}) == Dim.of(4)


def test_value_and_names() -> None:
    assert Dim.of(7).value == 7
    assert H.value is None
    assert (H - H).value == 0
    assert ((H - 3) // 2 * W + C // H).names() == {"height", "width", "channels"}


@pytest.mark.parametrize(
    ("a", "b", "impossible"),
    [
        (Dim.of(3), Dim.of(4), True),
        (H, H + 1, True),
        ((H - 4) * (W - 4) * 6, Dim.of(3), True),  # a multiple of 6
        ((H - 4) * (W - 4) * 6, Dim.of(12), False),
        (H * 2, H, True),  # height is at least 1
        (H, Dim.of(0), True),
        (H + W, Dim.of(1), True),
        (H + W, Dim.of(2), False),
        (-H, Dim.of(-1), False),
        (-H - W, Dim.of(-1), True),
        (H // 2, Dim.of(0), False),  # height may be 1
        ((H - 3) // 2 + 1, (H - 1) // 2, False),
        ((H - 3) // 2 + 2, (H - 1) // 2, True),
        (H, W, False),
    ],
)
def test_differ(a: Dim, b: Dim, impossible: bool) -> None:
    assert differ(a, b) is impossible
    assert differ(b, a) is impossible


def test_same_sees_through_the_formula_that_is_printed() -> None:
    a, b = (H - 3) // 2 + 1, (H - 1) // 2
    assert str(a) != str(b)
    assert same(a, b)
    assert not same(a, b + 1)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (H, Dim.of(5), ("height", Dim.of(5))),
        (Dim.of(5), H - 4, ("height", Dim.of(9))),
        (H, W, ("height", W)),
        (H * 2, Dim.of(8), None),
        (H + W, Dim.of(8), None),
        (H // 2, Dim.of(4), None),
    ],
)
def test_solve(a: Dim, b: Dim, answer: tuple[str, Dim] | None) -> None:
    assert solve(a, b) == answer
