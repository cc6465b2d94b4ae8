"""Tapes: what they record, when they end, gradients of gradients."""

import gc
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from typednn.errors import ArgumentError, StateError
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import tensor, unary
from typednn.graph.operations import Unary
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor, Tensor

pytestmark = pytest.mark.usefixtures("on_the_reference")


def number(value: float) -> AnyTensor:
    return tensor(np.asarray(value, np.float64))


def nth_derivatives(build: object, at: float, count: int) -> list[float]:
    """The function at a point, and its first derivatives."""
    x = number(at)
    with Tape() as tape:
        found = [build(x)]  # type: ignore[operator]
        for _ in range(count):
            found += tape.gradient_persistent(found[-1], [x], zeros=True)
        return [each.item() for each in found]


def test_gradient_uses_the_tape_up() -> None:
    """X-A1: a second use is an error that says so."""
    x = number(3)
    tape = Tape()
    y = x * x
    (gradient,) = tape.gradient(y, [x], zeros=True)
    assert gradient.item() == 6
    assert GRAPH.recorded is None
    for use in (tape.gradient, tape.gradient_persistent):
        with pytest.raises(StateError, match="Tape: can be used until it is released, got a use after that"):
            use(y, [x])


def test_gradient_persistent_keeps_it() -> None:
    """X-A1"""
    x = number(3)
    with Tape() as tape:
        y = x * x
        assert [tape.gradient_persistent(y, [x], zeros=True)[0].item() for _ in range(3)] == [6, 6, 6]
        z = y * x
        assert tape.gradient_persistent(z, [x], zeros=True)[0].item() == 27
    with pytest.raises(StateError):
        tape.gradient_persistent(z, [x])


def test_none_or_zeros_for_what_plays_no_part() -> None:
    """X-H1, X-A1"""
    x, other, whole = number(3), tensor(np.ones((2, 3), np.float32)), tensor(np.arange(3))
    with Tape() as tape:
        y = x * x
        unused = x + 1.0
        found = tape.gradient_persistent(y, [x, other, unused, whole])
        assert found[1:] == [None, None, None]
        zeros = tape.gradient(y, [x, other, unused, whole], zeros=True)
    assert [each.shape for each in zeros] == [(), (2, 3), (), (3,)]
    assert [each.dtype.name for each in zeros] == ["float64", "float32", "float64", "int64"]
    assert [float(each.numpy().sum()) for each in zeros] == [6, 0, 0, 0]


def test_sources_by_name() -> None:
    """X-A1: all parameters of a module at once."""
    x, w, b = number(3), number(2), number(1)
    with Tape() as tape:
        y = x * w + b
        found = tape.gradient_persistent(y, {"weight": w, "bias": b, "other": number(0)})
        zeros = tape.gradient(y, {"weight": w, "other": number(0)}, zeros=True)
    assert list(found) == ["weight", "bias", "other"]
    assert found["other"] is None
    assert [None if each is None else each.item() for each in found.values()] == [3, 1, None]
    assert {name: each.item() for name, each in zeros.items()} == {"weight": 3, "other": 0}


def test_all_nodes_made_while_a_tape_lives_are_recorded() -> None:
    """X-A1: and none before or after; an intermediate may be a source, before or after it was realized."""
    x = number(2)
    before = x * 5.0
    with Tape() as tape:
        y = before * before
        z = y * x
        assert GRAPH.recorded is not None
        assert GRAPH.recorded >= {y.id, z.id}
        assert before.id not in GRAPH.recorded
        dx, dy, dbefore = tape.gradient_persistent(z, [x, y, before])
        assert dx is not None
        assert dx.item() == 100  # not through `before`, which was made earlier
        assert dy is not None
        assert dy.item() == 2
        assert dbefore is not None
        assert dbefore.item() == 40
        y.realize()
        assert tape.gradient(z, [before], zeros=True)[0].item() == 40
    assert GRAPH.recorded is None


def test_a_target_from_before_the_tape() -> None:
    """X-A1: nothing recorded leads to it; of itself its derivative is one."""
    x = number(2)
    y = x * x
    with Tape() as tape:
        assert tape.gradient_persistent(y, [x]) == [None]
        assert tape.gradient(y, [y], zeros=True)[0].item() == 1


def test_several_tapes_share_what_they_record() -> None:
    """X-A1: nodes keep their inputs until the last tape is closed."""
    x = number(3)
    outer = Tape()
    y = x * x
    inner = Tape()
    z = y * x
    (gradient,) = inner.gradient(z, [x], zeros=True)
    assert gradient.item() == 27  # through y, which the outer tape recorded
    assert GRAPH.recorded is not None
    assert len(GRAPH.inputs(z.realize().id)) == 2
    assert outer.gradient(z, [x], zeros=True)[0].item() == 27
    assert GRAPH.recorded is None
    assert GRAPH.inputs(z.id) == ()


def test_a_tape_that_nobody_has_is_closed() -> None:
    """X-A1: at the next look at the graph."""
    before = len(GRAPH)
    tape = Tape()
    y = number(1) * 2.0
    assert GRAPH.tapes == 1
    del tape
    gc.collect()
    GRAPH.collect()
    assert GRAPH.tapes == 0
    assert GRAPH.recorded is None
    del y
    assert len(GRAPH) == before


def test_closing_twice_closes_once() -> None:
    """X-A1: the other tape stays open."""
    with Tape() as other:
        tape = Tape()
        tape.close()
        tape.close()
        x = number(2)
        assert other.gradient(x * x, [x], zeros=True)[0].item() == 4


def test_errors_close_the_tape() -> None:
    with pytest.raises(ZeroDivisionError), Tape():
        _ = 1 / 0
    assert GRAPH.tapes == 0


REFUSED = {
    "one tensor": (lambda x: (x, x), "write \\[x\\]"),
    "no tensors": (lambda x: (x, [np.ones(3)]), "differentiates tensors by tensors, got ndarray"),
    "no list": (lambda x: (x, 3), "several tensors, got int"),
    "no target": (lambda x: (3.0, [x]), "differentiates tensors by tensors, got float"),
    "integers": (lambda x: (x.cast(np.int32), [x]), "a tensor of floats, got int32: cast\\(array \\(\\)\\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    x = number(1)
    given, message = REFUSED[case]
    with Tape() as tape, pytest.raises(ArgumentError, match=message):
        tape.gradient(*given(x))  # type: ignore[arg-type]


def test_gradients_are_nodes_and_start_with_ones() -> None:
    """X-A2: the derivative of a tensor is that of its sum; nothing is computed for it."""
    x = tensor(np.arange(6.0).reshape(2, 3))
    with Tape() as tape:
        (own,) = tape.gradient_persistent(x, [x], zeros=True)
        (gradient,) = tape.gradient(x * x, [x], zeros=True)
    assert not gradient.is_realized
    assert gradient.id in GRAPH.slab
    assert own.numpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    np.testing.assert_array_equal(gradient.numpy(), 2 * np.arange(6.0).reshape(2, 3))


def test_repeated_use_adds() -> None:
    """X-A2, Z-F5: of y = x + x it is 2, of x x x it is 3 x²."""
    x = number(5)
    with Tape() as tape:
        assert tape.gradient_persistent(x + x, [x], zeros=True)[0].item() == 2
        assert tape.gradient_persistent(x * x * x, [x], zeros=True)[0].item() == 75
        assert [each.item() for each in tape.gradient(x + x, [x, x], zeros=True)] == [2, 2]


def test_derivatives_of_a_cube() -> None:
    """X-A2"""
    assert nth_derivatives(lambda x: x**3, 2, 4) == [8, 12, 12, 6, 0]


@given(at=st.floats(-2, 2))
def test_derivatives_of_tanh(at: float) -> None:
    """Z-D4: tanh⁽ⁿ⁾ is a polynomial in t = tanh x, whose derivative is p'(t) (1 - t²)."""
    found = nth_derivatives(lambda x: unary(Unary.TANH, x), at, 5)
    polynomial = np.polynomial.Polynomial([0, 1])
    for n, value in enumerate(found):
        assert value == pytest.approx(polynomial(math.tanh(at)), rel=1e-9, abs=1e-9), n
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([1, 0, -1])


@given(at=st.floats(-3, 3))
def test_derivatives_of_sine(at: float) -> None:
    """Z-D4: sine, cosine, and so on, nine times."""
    found = nth_derivatives(lambda x: unary(Unary.SIN, x), at, 9)
    assert found == pytest.approx([math.sin(at + n * math.pi / 2) for n in range(10)], abs=1e-9)


def test_taylor_series_of_sine() -> None:
    """Z-D4, Z-F7: terms until one is below 1e-4, at π/4; the gradient is the cosine."""

    def sine(x: AnyTensor) -> AnyTensor:
        total = x * 0.0
        for n in range(100):
            term = x ** float(2 * n + 1) * ((-1) ** n / math.factorial(2 * n + 1))
            total = total + term
            if abs(term.item()) < 1e-4:
                break
        return total

    value, slope = nth_derivatives(sine, math.pi / 4, 1)
    assert value == pytest.approx(math.sin(math.pi / 4), abs=1e-4)
    assert slope == pytest.approx(math.cos(math.pi / 4), abs=1e-4)


def test_negative() -> None:
    """Z-D5: forward -x, backward -g."""
    x = tensor(np.array([1.0, -2.0]))
    with Tape() as tape:
        y = -x
        (gradient,) = tape.gradient(y * tensor(np.array([3.0, 4.0])), [x], zeros=True)
    assert y.numpy().tolist() == [-1, 2]
    assert gradient.numpy().tolist() == [-3, -4]


def test_matyas() -> None:
    """Z-F6: 0.26 (x² + y²) - 0.48 x y at (1, 1)."""
    x, y = number(1), number(1)
    with Tape() as tape:
        z = 0.26 * (x * x + y * y) - 0.48 * x * y
        found = tape.gradient(z, [x, y], zeros=True)
    assert [each.item() for each in found] == pytest.approx([0.04, 0.04], abs=1e-15)


def test_second_derivative_of_a_product_of_matrices_with_gelu() -> None:
    """X-A2: of a sum over gelu(x w + b), by x twice, against differences of the first."""
    rng = np.random.default_rng(3)
    w, b, start, weights = (
        tensor(rng.normal(size=(3, 2))),
        tensor(rng.normal(size=2)),
        rng.normal(size=(2, 3)),
        rng.normal(size=(2, 3)),
    )

    def slope(x: AnyTensor) -> AnyTensor:
        with Tape() as tape:
            h = x @ w + b
            y = h * (unary(Unary.ERF, h * math.sqrt(0.5)) + 1.0) * 0.5
            return tape.gradient(y.sum(), [x], zeros=True)[0]

    x = tensor(start)
    with Tape() as outer:
        (second,) = outer.gradient((slope(x) * tensor(weights)).sum(), [x], zeros=True)
    expected = np.zeros_like(start)
    for place in np.ndindex(start.shape):
        moved = [start.copy(), start.copy()]
        moved[0][place] += 1e-6
        moved[1][place] -= 1e-6
        above, below = ((slope(tensor(each)).numpy() * weights).sum() for each in moved)
        expected[place] = (above - below) / 2e-6
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-6, atol=1e-8)


def test_no_requires_grad_and_no_no_grad() -> None:
    """X-A3: a tape says what is recorded; tensors carry no marks."""
    import typednn.graph

    names = {name.lower() for owner in (Tensor, Tape, typednn.graph) for name in dir(owner)}
    assert not {"requires_grad", "no_grad", "enable_grad", "detach", "grad", "backward"} & names


def test_tensors_cannot_be_changed() -> None:
    """X-A4: no assignment, nor through the array that comes out; ``+=`` makes another tensor."""
    given = np.array([1.0, 2.0])
    x = tensor(given)
    with pytest.raises(TypeError, match="item assignment"):
        x[0] = 3.0  # type: ignore[index]
    for name in ("shape", "dtype", "size", "new"):
        with pytest.raises(AttributeError):
            setattr(x, name, 3)
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 3
    with pytest.raises(ValueError, match="read-only"):
        (x * 2.0).numpy()[0] = 3
    y = x
    y += 1.0
    assert x.numpy().tolist() == [1, 2]
    assert y.numpy().tolist() == [2, 3]
    assert given.flags.writeable
