"""The oracle: every layer's forward and hand-written backward agree with the graph's own gradient of the layer's
formula.

Both run in float64 on the reference, at random sizes; the formula is made of the twelve kinds, without a whole op.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.differences import kinds_of
from tests.graph.layer_formulas import FORMULAS, WITHOUT, formula_of, run
from tests.layer_cases import CASES, LayerCase
from typednn import Module, layers
from typednn.graph.kinds import Kind
from typednn.graph.nodes import realize, tensor
from typednn.graph.normalisation import running_statistics
from typednn.graph.tape import Tape
from typednn.graph.whole import decomposed
from typednn.layers import BatchNorm1d, BatchNorm2d
from typednn.testing import Subject
from typednn.testing.refusals import changed_field, gradient_fields, with_changed_backward

pytestmark = pytest.mark.usefixtures("on_the_reference")
ORACLE = [case for case in CASES if case.name not in WITHOUT]
TOLERANCE = 1e-6


class Formula:
    """A layer's formula at some inputs, with the tensors that stand for its parameters and inputs."""

    def __init__(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        self.parameters = {name: tensor(array.copy()) for name, array in layer.named_parameters().items()}
        by_place = {id(array): self.parameters[name] for name, array in layer.named_parameters().items()}
        self.inputs = [None if array is None else tensor(array) for array in inputs]
        self.y = run(layer, lambda array: None if array is None else by_place[id(array)], *self.inputs)


def subject_of(case: LayerCase, data: st.DataObject) -> tuple[Any, tuple[Any, ...]]:
    """A layer in float64 with its inputs, at times four times as large: beyond the corners of the units
    that have some.
    """
    subject: Subject = case.drawn(data.draw)
    factor = data.draw(st.sampled_from([1.0, 4.0]))
    arrays = subject.arrays(np.float64)
    return subject.ready(np.float64), tuple(
        array * factor if array is not None and array.dtype.kind == "f" else array for array in arrays
    )


def check(layer: Any, inputs: tuple[Any, ...], rng: np.random.Generator) -> None:
    """Forward, and backward by every float input and every parameter."""
    with decomposed(), Tape() as tape:
        formula = Formula(layer, inputs)  # before forward, which moves generators on
        assert Kind.CUSTOM not in kinds_of(formula.y)
        dy = rng.normal(size=formula.y.shape)
        floats = [each for each in formula.inputs if each is not None and each.dtype.kind == "f"]
        found = tape.gradient((formula.y * dy).sum(), [*floats, *formula.parameters.values()], zeros=True)
        realize(formula.y, *found)
    y = layer.forward(*inputs)
    np.testing.assert_allclose(y, formula.y.numpy(), rtol=TOLERANCE, atol=TOLERANCE, err_msg="forward")
    gradient = layer.backward(dy)
    expected = {
        name: each.numpy() for name, each in zip([*range(len(floats)), *formula.parameters], found, strict=True)
    }
    names = getattr(gradient, "__inputs__", ("input",))
    own = [
        getattr(gradient, name) for name, x in zip(names, inputs, strict=True) if x is not None and x.dtype.kind == "f"
    ]
    derivatives = dict(enumerate(own)) | layer.named_gradients(gradient)
    assert derivatives.keys() == expected.keys()
    for name, derivative in derivatives.items():
        scale = max(1.0, abs(expected[name]).max(initial=0.0))
        np.testing.assert_allclose(
            derivative / scale, expected[name] / scale, rtol=0, atol=TOLERANCE, err_msg=str(name)
        )


@pytest.mark.parametrize("case", ORACLE, ids=str)
@given(data=st.data())
def test_forward_and_backward_agree_with_the_graph(case: LayerCase, data: st.DataObject) -> None:
    """X-D7, Z-F1, Z-F3: values, and derivatives by every input and every parameter, to 1e-6."""
    layer, inputs = subject_of(case, data)
    check(layer, inputs, np.random.default_rng(data.draw(st.integers(0, 9))))


@pytest.mark.parametrize("case", ORACLE, ids=str)
def test_evaluation_agrees_with_the_graph(case: LayerCase) -> None:
    """Z-F3, Z-F4: running statistics are used, and nothing is dropped."""
    subject = case.subject()
    layer, inputs = subject.ready(np.float64), subject.arrays(np.float64)
    layer.forward(*inputs)  # moves running statistics
    layer.eval()
    with decomposed():
        y = Formula(layer, inputs).y.numpy()
    np.testing.assert_allclose(layer.forward(*inputs), y, rtol=TOLERANCE, atol=TOLERANCE)


@given(data=st.data(), images=st.booleans())
def test_running_statistics_agree_with_the_graph(data: st.DataObject, images: bool) -> None:
    """Z-F3: the mean, and the unbiased variance, of rows and of images."""
    case = next(case for case in CASES if case.name == ("BatchNorm2d" if images else "BatchNorm1d"))
    layer, (x,) = subject_of(case, data)
    assert isinstance(layer, BatchNorm1d | BatchNorm2d)
    if layer.running_mean is None or layer.running_var is None:
        return
    moved = running_statistics(
        tensor(x), tensor(layer.running_mean.copy()), tensor(layer.running_var.copy()), layer.momentum
    )
    layer.forward(x)
    np.testing.assert_allclose(layer.running_mean, moved[0].numpy(), rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(layer.running_var, moved[1].numpy(), rtol=TOLERANCE, atol=TOLERANCE)


def test_every_layer_has_a_formula_or_a_reason() -> None:
    """A new layer without a formula fails here."""
    classes = {name for name, member in vars(layers).items() if isinstance(member, type) and issubclass(member, Module)}
    assert classes <= FORMULAS.keys(), "write the formula of each new layer in tests/graph/layer_formulas.py"
    for case in ORACLE:
        assert formula_of(case.layer()), (
            f"{case.name} has neither a formula nor a reason in tests/graph/layer_formulas.py"
        )
    assert {case.name for case in CASES} >= WITHOUT.keys()
    assert all(WITHOUT.values())


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "LayerNorm", "LSTM", "Embedding", "MultiHeadAttention", "Repeat"])
def test_the_oracle_sees_a_wrong_derivative(name: str) -> None:
    """Each quantity's derivative is spoiled in turn by a thousandth, and so is the formula."""
    case = next(case for case in ORACLE if case.name == name)
    subject = case.subject()

    def checked(layer: Any) -> None:
        check(layer, subject.arrays(np.float64), np.random.default_rng(0))

    layer = subject.ready(np.float64)
    checked(layer)
    for field in gradient_fields(layer.backward(subject.next_grad(layer.forward(*subject.arrays(np.float64))))):
        broken = with_changed_backward(
            subject.ready(np.float64),
            lambda gradient, field=field: changed_field(gradient, field, lambda array: array * 1.001),
        )
        with pytest.raises(AssertionError):
            checked(broken)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FORMULAS, name, lambda *given, formula=FORMULAS[name]: formula(*given) * 1.001)
        with pytest.raises(AssertionError, match="forward"):
            checked(subject.ready(np.float64))
