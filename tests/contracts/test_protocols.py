"""Whoever derives from a Protocol is held to it: when the class is defined, and whenever its methods are called."""

import copy
import gc
import types
from dataclasses import dataclass
from typing import Any, Generic, Protocol

import numpy as np
import pytest
from jaxtyping import Float, Int
from typing_extensions import TypeVar

from typednn import (
    AnyArray,
    Array1,
    Array2,
    Array3,
    Array4,
    Backward,
    DynLayer,
    Forward,
    Gradient,
    Incremental,
    InputGrad,
    IntArray1,
    Layer,
    Loss,
    Optimizer,
    S,
    Update,
    checking,
)
from typednn.contracts import promises
from typednn.errors import CheckError, DefinitionError, DeviceError, DTypeError, ShapeError
from typednn.layers import Linear
from typednn.optim import SGD

In = TypeVar("In")
Out = TypeVar("Out")


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


@pytest.fixture(params=["full", "cached"])
def mode(request: pytest.FixtureRequest) -> Any:
    with checking(request.param):
        yield request.param


@dataclass(frozen=True)
class RowGrad(Gradient):
    input: Float[Array2, "batch features"]


@dataclass(frozen=True)
class ScaleGrad(Gradient):
    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]


class Scale(Forward[Array2, Array2], Backward[Array2, Array2], Update[ScaleGrad]):
    """Keeps every law unless it is told which to break. It calls its parameters what it likes."""

    def __init__(self, features: int = 3, broken: str = "") -> None:
        self.weight = array(features)
        self.broken = broken

    def forward(self, rows: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        self.rows = rows
        broken: dict[str, Any] = {
            "text": "rows",
            "rank": rows[0],
            "batch": rows[:1],
            "dtype": rows.astype(np.int64),
        }
        return broken.get(self.broken, rows * self.weight)

    def backward(self, dy: Float[Array2, "batch features"]) -> ScaleGrad:
        dx, dweight = dy * self.weight, (dy * self.rows).sum(axis=0)
        broken: dict[str, Any] = {
            "gradient": dy,
            "input shape": ScaleGrad(dx[:, :1], dweight),
            "input rank": ScaleGrad(dx[0], dweight),
            "input text": ScaleGrad("dx", dweight),  # type: ignore[arg-type]
            "input dtype": ScaleGrad(dx.astype(np.float64), dweight),
            "weight shape": ScaleGrad(dx, dweight[:1]),
            "weight missing": ScaleGrad(dx, None),  # type: ignore[arg-type]
        }
        return broken.get(self.broken, ScaleGrad(dx, dweight))

    def update(self, optimizer: Optimizer, grad: ScaleGrad) -> None:
        optimizer.step(self.weight, grad.weight)


def method(name: str, *parameters: Any, result: Any) -> Any:
    """A method with these annotations, which gives its first argument back."""

    names = ["x", "y", "z"][: len(parameters)]
    namespace: dict[str, Any] = {}
    exec(f"def {name}(self{''.join(f', {one}' for one in names)}): return {(*names, 'self')[0]}", namespace)
    made = namespace[name]
    made.__annotations__ = dict(zip(names, parameters, strict=True)) | {"return": result}
    return made


ROWS = Float[Array2, "batch features"]
IMAGES = Float[Array4, "batch height width channels"]


def defined(*bases: Any, **methods: Any) -> Any:
    """A class on ``bases`` whose methods have these annotations: parameters, then the result."""
    namespace = {
        name: method(name, *hints[:-1], result=hints[-1]) if isinstance(hints, tuple) else hints
        for name, hints in methods.items()
    }

    def fill(body: dict[str, Any]) -> None:
        body.update(namespace, __module__=__name__)

    return types.new_class("Own", bases, exec_body=fill)


# ------------------------------------------------------------------ when a class is defined


@pytest.mark.parametrize(
    ("bases", "methods", "words"),
    [
        (
            (Forward[Array2, Array2],),
            {"forward": (Any, ROWS)},
            "Own.forward, 'x': is an array with named axes, got Any",
        ),
        (
            (Forward[Array2, Array2],),
            {"forward": (ROWS, Any)},
            "Own.forward, the result: is an array with named axes, got Any",
        ),
        (
            (Forward[Array2, Array2],),
            {"forward": (ROWS, str)},
            "Own.forward, the result: is an array with named axes, got str",
        ),
        (
            (Forward[Array2, Array2],),
            {"forward": (Array2, ROWS)},
            "Own.forward, 'x': is an array with named axes, got Array2",
        ),
        (
            (Forward[Array2, Array2],),
            {"forward": (ROWS, ROWS | None)},
            "Own.forward, the result: is an array with named axes",
        ),
        (
            (Forward[Array2, Array2],),
            {"forward": (ROWS, IMAGES)},
            "Own.forward, the result: the Protocol promises 2 axes, got 'batch height width channels'; name as many",
        ),
        ((Forward[Array2, Array2],), {"forward": (IMAGES, ROWS)}, "Own.forward, 'x': the Protocol promises 2 axes"),
        (
            (Forward[Array2, Array2],),
            {"forward": (ROWS, Float[Array2, "batch *any"])},
            "the Protocol promises 2 axes, got 'batch *any'",
        ),
        ((Forward[Array2, Array2],), {"forward": (ROWS,)}, "Own.forward: takes x, got nothing"),
        (
            (Forward[Array2, Array2],),
            {"forward": staticmethod(len)},
            "Own.forward: what a Protocol promises is a method",
        ),
        ((Backward[Array2, Array2],), {"backward": (Any, RowGrad)}, "Own.backward, 'x': is an array with named axes"),
        (
            (Backward[Array2, Array2],),
            {"backward": (IMAGES, RowGrad)},
            "Own.backward, 'x': the Protocol promises 2 axes",
        ),
        ((Backward[Array2, Array2],), {"backward": (ROWS, int)}, "must return a gradient dataclass, got <class 'int'>"),
        ((Backward[Array2, Array2],), {"backward": (ROWS, Any)}, "must return a gradient dataclass"),
        (
            (Update[RowGrad],),
            {"update": (Optimizer, Any, None)},
            "Own.update: grad must be what backward returns, a gradient dataclass",
        ),
        ((Update[RowGrad],), {"update": (Optimizer, None)}, "Own.update: takes an optimizer and a gradient, got x"),
        (
            (Backward[Array2, Array2], Update[ScaleGrad]),
            {"update": (Optimizer, ScaleGrad, None), "backward": (ROWS, RowGrad)},
            "Own.update: grad must be what backward returns, RowGrad, got ScaleGrad",
        ),
        ((Optimizer,), {"step": (Any, Float[AnyArray, "*w"], None)}, "Own.step, 'x': is an array with named axes"),
        (
            (Loss[Array2, Array2],),
            {"loss_grad": (ROWS, ROWS, float)},
            "Own.loss_grad, the result: is an array with named axes",
        ),
        (
            (Loss[Array2, Array2],),
            {"loss_grad": (ROWS, IMAGES, ROWS)},
            "Own.loss_grad, 'y': the Protocol promises 2 axes",
        ),
        (
            (Loss[Array2, IntArray1 | Array2],),
            {"loss_grad": (ROWS, IMAGES, ROWS)},
            "Own.loss_grad, 'y': the Protocol promises 1 axis or 2 axes",
        ),
        ((Incremental[Array2],), {"step": (ROWS, ROWS, ROWS)}, "Own.step, the result: is a tuple of 2, got Float"),
        (
            (Incremental[Array2],),
            {"step": (IMAGES, ROWS, tuple[ROWS, ROWS])},
            "Own.step, 'x': the Protocol promises 2 axes",
        ),  # type: ignore[valid-type]
        (
            (Incremental[Array2],),
            {"step": (ROWS, ROWS, tuple[Any, ROWS])},
            "Own.step, the result[0]: is an array with named axes",
        ),  # type: ignore[valid-type]
        ((Incremental[Array2],), {"step": (ROWS, tuple[ROWS, ROWS])}, "Own.step: takes x and state, got x"),  # type: ignore[valid-type]
        ((DynLayer,), {"forward": (IMAGES, ROWS)}, "Own.forward, 'x': the Protocol promises 2 axes"),
        ((DynLayer,), {"backward": (ROWS, int)}, "must return a gradient dataclass"),
        (
            (Layer[Array2, Array2, RowGrad, S],),
            {"forward": (IMAGES, ROWS)},
            "Own.forward, 'x': the Protocol promises 2 axes",
        ),
    ],
)
def test_a_class_that_breaks_its_protocol_is_not_defined(bases: Any, methods: Any, words: str) -> None:
    """P-P1: not Any, no text, no other rank; Layers and plain classes alike."""
    with pytest.raises(DefinitionError) as caught:
        defined(*bases, **methods)
    assert words in str(caught.value)


def test_what_agrees_is_defined() -> None:
    labels = Int[IntArray1, " batch"]
    defined(Forward[Array2, Array2], forward=(ROWS, ROWS))
    defined(Forward[Any, Any], forward=(IMAGES, ROWS))
    defined(Forward, forward=(IMAGES, ROWS))
    defined(Forward[Array2, Array2], forward=(ROWS | IMAGES, ROWS))
    defined(Backward[Array2, Array2], backward=(ROWS, InputGrad[Array2]))
    defined(Backward[Array2, Array2], backward=(ROWS, RowGrad))
    defined(Loss[Array2, IntArray1 | Array2], loss_grad=(ROWS, labels | ROWS, ROWS))
    defined(DynLayer, forward=(ROWS, ROWS), backward=(ROWS, RowGrad), update=(Optimizer, RowGrad, None))


def test_a_protocol_of_ones_own_has_names_of_its_own() -> None:
    """Beside `DynLayer`, whose gradient may be Any: what a Protocol says of the gradient counts, not
    what it calls it.
    """

    class Steps(Protocol):
        def update(self, optimizer: Any, derivatives: Any) -> None: ...

    class Says(Protocol):
        def update(self, optimizer: Any, derivatives: RowGrad) -> None: ...

    rest: Any = {"forward": (ROWS, ROWS), "backward": (ROWS, RowGrad), "update": (Optimizer, Any, None)}
    defined(DynLayer, Steps, **rest)
    with pytest.raises(DefinitionError, match=r"Own.update: grad must be what backward returns, a gradient dataclass"):
        defined(DynLayer, Says, **rest)


def test_the_gradient_names_the_derivative_by_the_input() -> None:
    @dataclass(frozen=True)
    class Nothing(Gradient):
        weight: Float[Array1, " features"]

    @dataclass(frozen=True)
    class Loose(Gradient):
        input: Any

    @dataclass(frozen=True)
    class Images(Gradient):
        input: IMAGES  # type: ignore[valid-type]

    for gradient, words in (
        (Nothing, "Nothing must have a field 'input': the derivative by that input, got weight"),
        (Loose, "Loose.input: the derivative by an input is an array with named axes, got Any"),
    ):
        with pytest.raises(DefinitionError, match="input") as caught:
            defined(Backward[Array2, Array2], backward=(ROWS, gradient))
        assert words in str(caught.value)
    for methods in (
        {"forward": (ROWS, ROWS), "backward": (ROWS, Images)},
        {"backward": (ROWS, Images), "forward": (ROWS, ROWS)},
    ):
        with pytest.raises(DefinitionError, match=r"Images\.input: the derivative by that input has its 2 axes"):
            defined(Forward[Array2, Array2], Backward[Array2, Array2], **methods)
    with pytest.raises(DefinitionError, match=r"InputGrad\.input: the Protocol promises 2 axes"):
        defined(Backward[Array2, Array2], backward=(ROWS, InputGrad[Array4]))
    with pytest.raises(DefinitionError, match=r"Images\.input: the Protocol promises 2 axes"):
        defined(Backward[Array2, Array2], backward=(ROWS, Images))


def test_type_arguments_are_found_through_every_class_between() -> None:
    class Between(Forward[In, Out], Generic[Out, In]):
        pass

    with pytest.raises(DefinitionError, match="the result: the Protocol promises 4 axes"):
        defined(Between[Array4, Array2], forward=(ROWS, ROWS))
    with pytest.raises(DefinitionError, match="'x': the Protocol promises 3 axes"):
        defined(defined(Between[Array2, Array3]), forward=(ROWS, ROWS))
    assert defined(Between[Array2, Array2], forward=(ROWS, ROWS))().forward(array(2, 3)).shape == (2, 3)


def test_a_method_that_comes_from_elsewhere_is_held_to_the_protocol() -> None:
    class Mixin:
        def forward(self, x: Any) -> Any:
            return x

    class Fitting:
        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
            return x[:1]

    with pytest.raises(DefinitionError, match="is an array with named axes"):
        defined(Mixin, Forward[Array2, Array2])
    with pytest.raises(ShapeError, match="axis 0 is 1, not 2"):
        defined(Fitting, Forward[Array2, Array2])().forward(array(2, 3))
    assert Fitting().forward(array(2, 3)).shape == (1, 3), "the mixin itself stays as it was written"


def test_what_is_promised_must_be_written() -> None:
    with pytest.raises(TypeError, match="abstract"):
        defined(Forward[Array2, Array2])()
    with pytest.raises(TypeError, match="abstract"):
        defined(DynLayer, forward=(ROWS, ROWS), backward=(ROWS, RowGrad))()


@pytest.mark.parametrize("gives", [RowGrad, InputGrad[Array2]])
def test_a_dyn_layer_may_write_what_the_protocol_writes(gives: Any, mode: str) -> None:
    """P-D1: ``grad: Any`` is what its own backward returns, and is held to that."""
    kind = defined(DynLayer, forward=(ROWS, ROWS), backward=(ROWS, gives), update=(Optimizer, Any, None))
    kind.update(kind(), SGD(0.1), RowGrad(array(2, 3)))
    if gives is RowGrad:
        with pytest.raises(CheckError, match=r"gradient field 'input'"):
            kind.update(kind(), SGD(0.1), type("Other", (), {"input": array(3)})())
    with pytest.raises(CheckError, match="optimizer must be an Optimizer"):
        kind.update(kind(), SGD, RowGrad(array(2, 3)))


# ------------------------------------------------------------------ when it is called


def test_a_class_that_keeps_its_promises_runs(mode: str) -> None:
    scale = Scale()
    for batch in (2, 4, 2):
        assert scale.forward(array(batch, 3)).shape == (batch, 3)
        gradient = scale.backward(array(batch, 3))
        np.testing.assert_array_equal(gradient.weight, batch * array(3))
        scale.weight[...] = 1.0
    scale.update(SGD(0.5), gradient)
    np.testing.assert_array_equal(scale.weight, 0 * array(3))
    assert scale.forward(rows=array(2, 3)).shape == (2, 3)
    assert scale.backward(dy=array(2, 3)).input.shape == (2, 3)


@pytest.mark.parametrize("after", [False, True], ids=["at once", "after a call that kept them"])
@pytest.mark.parametrize(
    ("broken", "error", "words"),
    [
        ("text", DeviceError, "the result must be an array, got str"),
        ("rank", ShapeError, "the result must be"),
        ("batch", ShapeError, "axis 0 is 1, not 4"),
        ("dtype", DTypeError, "the result must hold numbers of kind float, got int64"),
    ],
)
def test_forward_is_held_to_its_protocol(mode: str, broken: str, error: Any, words: str, after: bool) -> None:
    scale = Scale()
    if after:
        scale.forward(array(4, 3))
    scale.broken = broken
    with pytest.raises(error, match=words):
        scale.forward(array(4, 3))


@pytest.mark.parametrize("after", [False, True], ids=["at once", "after a call that kept them"])
@pytest.mark.parametrize(
    ("broken", "error", "words"),
    [
        ("gradient", CheckError, "the result must be ScaleGrad, got ndarray"),
        (
            "input shape",
            ShapeError,
            r"gradient field 'input' must be shaped as the input, \(4, 3\), got shape \(4, 1\)",
        ),
        ("input rank", ShapeError, "gradient field 'input' must be shaped as the input"),
        ("input text", DeviceError, "gradient field 'input' must be an array, got str"),
        ("input dtype", DTypeError, "gradient field 'input' must have the dtype of the input, float32, got float64"),
        (
            "weight shape",
            ShapeError,
            r"gradient field 'weight' must be shaped as self.weight, \(3,\), got shape \(1,\)",
        ),
        ("weight missing", DeviceError, "gradient field 'weight' must be an array, got NoneType"),
    ],
)
def test_backward_is_held_to_its_protocol(mode: str, broken: str, error: Any, words: str, after: bool) -> None:
    """P-P3, P-P4."""
    scale = Scale()
    scale.forward(array(4, 3))
    if after:
        scale.backward(array(4, 3))
    scale.broken = broken
    with pytest.raises(error, match=words):
        scale.backward(array(4, 3))


def test_the_batch_is_kept_whatever_the_implementer_calls_its_axes(mode: str) -> None:
    """The law is the Protocol's: the implementer's own annotations allow this."""

    class Halved(Forward[Array2, Array2]):
        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "half features"]:
            return x[: len(x) // 2]

    class Cut(Loss[Array2, Array2]):
        def loss_grad(
            self, prediction: Float[Array2, "batch n"], target: Float[Array2, "batch m"]
        ) -> Float[Array2, "some n"]:
            return prediction[:1]

    with pytest.raises(
        ShapeError, match=r'Halved.forward: the result must be "batch \*output", got shape \(2, 3\): axis 0 is 2, not 4'
    ):
        Halved().forward(array(4, 3))
    with pytest.raises(ShapeError, match=r'the result must be "batch \*features", got shape \(1, 3\)'):
        Cut().loss_grad(array(4, 3), array(4, 3))

    class Steps(Optimizer):
        def step(self, weights: Float[AnyArray, "*weights"], grad: Float[AnyArray, "*grad"]) -> None: ...

    with pytest.raises(ShapeError, match=r'grad must be "\*weights", got shape \(3, 4\)'):
        Steps().step(array(4, 3), array(3, 4))


class Summed(Incremental[tuple[Array2, Array2]]):
    """The sum of all positions, and of their squares; ``broken`` says what to get wrong."""

    broken = ""

    def step(
        self,
        x: Float[Array2, "batch features"],
        state: tuple[Float[Array2, "batch features"], Float[Array2, "batch features"]] | None = None,
    ) -> tuple[
        Float[Array2, "batch features"], tuple[Float[Array2, "batch features"], Float[Array2, "batch features"]]
    ]:
        total, squares = (0 * x, 0 * x) if state is None else state
        y, after = total + x, (total + x, squares + x * x)
        broken: dict[str, Any] = {
            "batch": (y[:1], after),
            "state": (y, (after[0], after[1][:1])),
            "alone": y,
            "three": (y, (*after, y)),
        }
        return broken.get(self.broken, (y, after))


def test_steps_are_held_to_their_protocol(mode: str) -> None:
    """Arrays within the state too, before and after calls that fitted."""
    summed = Summed()
    assert isinstance(summed, Incremental)
    for _ in range(2):
        _, state = summed.step(array(3, 2))
        y, state = summed.step(array(3, 2), state)
        np.testing.assert_array_equal(y, 2 * array(3, 2))
        wrong: list[tuple[Any, Any, str]] = [
            (array(3), state, r'x must be "batch features"'),
            (array(4, 2), state, r'state\[0\] must be "batch features", got shape \(3, 2\): axis 0 is 3, not 4'),
            (array(3, 2), (state[0], array(2, 2)), r"state\[1\] must be .* axis 0 is 2, not 3"),
            (array(3, 2), (state[0], 3), r"state\[1\] must be an array, got int"),
            (array(3, 2), state[:1], "state must be"),
            (array(3, 2), state[0], "state must be"),
        ]
        for x, before, words in wrong:
            with pytest.raises(CheckError, match=words):
                summed.step(x, before)
        for summed.broken, words in (
            ("batch", r"result\[0\] must be .* axis 0 is 1, not 3"),
            ("state", r"result\[1\]\[1\] must be .* axis 0 is 1, not 3"),
            ("alone", "the result must be"),
            ("three", r"result\[1\] must be"),
        ):
            with pytest.raises(CheckError, match=words):
                summed.step(array(3, 2), state)
        summed.broken = ""


def test_next_grad_is_shaped_as_the_last_output(mode: str) -> None:
    scale = Scale()
    scale.forward(array(4, 3))
    for wrong in (array(2, 3), array(4, 2)):
        with pytest.raises(ShapeError, match=r"Scale.backward: dy must be shaped as forward's output, \(4, 3\)"):
            scale.backward(wrong)
    with pytest.raises(ShapeError, match="dy must be"):
        scale.backward(array(4))
    with pytest.raises(DTypeError, match="dy must have the dtype of forward's output, float32, got float64"):
        scale.backward(array(4, 3, dtype=np.float64))


def test_without_a_known_forward_the_annotations_decide(mode: str) -> None:
    class Alone(Backward[Array2, Array2]):
        def backward(self, next_grad: Float[Array2, "batch features"]) -> RowGrad:
            return RowGrad(next_grad if next_grad.shape[1] < 5 else next_grad[0])

    assert Alone().backward(array(2, 3)).input.shape == (2, 3)
    for _ in range(2):
        with pytest.raises(ShapeError, match="gradient field 'input' must be"):
            Alone().backward(array(2, 5))
    with checking("off"):
        scale = Scale()
        scale.forward(array(4, 3))
        scale.forward(array(2, 3))
    with pytest.raises(ShapeError, match="dy must be"):
        scale.backward(array(2))


def test_a_forward_without_checks_leaves_no_record_of_the_one_before() -> None:
    scale = Scale()
    scale.forward(array(4, 3))
    with checking("off"):
        scale.forward(array(2, 3))
    assert scale.backward(array(2, 3)).input.shape == (2, 3)


def test_update_is_held_to_the_gradient_of_the_class(mode: str) -> None:
    scale, optimizer = Scale(), SGD(0.1)
    scale.forward(array(2, 3))
    good = scale.backward(array(2, 3))
    with checking("off"):  # with checks most of these are not made
        cases = (
            (RowGrad(array(2, 3)), CheckError, "grad must be ScaleGrad, got RowGrad"),
            (
                ScaleGrad(array(2, 3), array(4)),
                ShapeError,
                r"gradient field 'weight' must be shaped as self.weight, \(3,\)",
            ),
            (ScaleGrad(array(2, 3), array(3, dtype=np.float64)), DTypeError, "must have the dtype of self.weight"),
            (ScaleGrad(array(2, 3), "weight"), DeviceError, "gradient field 'weight' must be an array"),  # type: ignore[arg-type]
            (ScaleGrad(array(3), array(3)), ShapeError, "gradient field 'input' must be"),
        )
    for repeat in range(2):
        before = scale.weight.copy()
        for wrong, error, words in cases:
            with pytest.raises(error, match=words):
                scale.update(optimizer, wrong)  # type: ignore[arg-type]
        with pytest.raises(CheckError, match=r"optimizer must be an Optimizer, got the class SGD; write SGD\(...\)"):
            scale.update(SGD, good)  # type: ignore[arg-type]
        with pytest.raises(CheckError, match="optimizer must be Optimizer, got int"):
            scale.update(3, good)  # type: ignore[arg-type]
        np.testing.assert_array_equal(scale.weight, before)
        scale.update(optimizer, good)
        assert repeat or not np.array_equal(scale.weight, before)


def test_an_array_in_a_field_without_axes_is_told(mode: str) -> None:
    @dataclass(frozen=True)
    class Loose(Gradient):
        input: Float[Array2, "batch features"]
        weight: Any

    class Own(Backward[Array2, Array2]):
        def backward(self, next_grad: Float[Array2, "batch features"]) -> Loose:
            return Loose(next_grad, next_grad[0])

    with pytest.raises(DefinitionError, match=r"Loose\.weight: a field that holds an array names its axes"):
        Own().backward(array(2, 3))


# ------------------------------------------------------------------ gradients that derive from InputGrad


@dataclass(frozen=True)
class Rows(InputGrad[Array2]):
    input: Float[Array2, "batch features"]
    weight: Float[Array1, " features"]


def test_a_gradient_on_input_grad_is_held_to_it_when_it_is_made(mode: str) -> None:
    assert isinstance(Rows(array(2, 3), array(3)), InputGrad)
    for wrong, error, words in (
        ((array(3), array(3)), ShapeError, "gradient field 'input' must be"),
        ((array(2, 3), array(4)), ShapeError, "gradient field 'weight' must be"),
        (("x", array(3)), DeviceError, "gradient field 'input' must be an array, got str"),
        ((array(2, 3, dtype=np.int64), array(3)), DTypeError, "kind float"),
    ):
        with pytest.raises(error, match=words):
            Rows(*wrong)
    with checking("off"):
        assert Rows("x", array(3)).input == "x"  # type: ignore[arg-type,comparison-overlap]


def test_every_way_to_write_such_a_gradient(mode: str) -> None:
    @dataclass(frozen=True, slots=True)
    class Slots(InputGrad[Array2]):
        input: Float[Array2, "batch features"]
        seen: list[int]

        def __post_init__(self) -> None:
            self.seen.append(1)

    seen: list[int] = []
    assert Slots(array(2, 3), seen).input.shape == (2, 3)
    assert seen == [1]
    with pytest.raises(ShapeError, match="gradient field 'input'"):
        Slots(array(2), [])

    class Computed(InputGrad[Array2]):
        def __init__(self, rows: Any) -> None:
            self.rows = rows

        @property
        def input(self) -> Float[Array2, "batch features"]:
            return self.rows

    assert Computed(array(2, 3)).input.shape == (2, 3)
    with pytest.raises(ShapeError, match="the result must be"):
        _ = Computed(array(2)).input


def test_a_gradient_class_that_breaks_input_grad_is_not_defined() -> None:
    def made(hint: Any) -> Any:
        return types.new_class(
            "Own", (InputGrad[Array2],), exec_body=lambda body: body.update(__annotations__={"input": hint})
        )

    for hint, words in (
        (Any, "Own.input: is an array with named axes, got Any"),
        (str, "Own.input: is an array with named axes, got str"),
        (IMAGES, "Own.input: the Protocol promises 2 axes, got 'batch height width channels'"),
        (Float[Array2, "batch height width"], "Array2 promises 2 axes, got 3 axes"),
    ):
        with pytest.raises(DefinitionError) as caught:
            made(hint)
        assert words in str(caught.value)
    with pytest.raises(DefinitionError, match="Own: names the derivative by the input, got no field 'input'"):
        defined(InputGrad[Array2])
    with pytest.raises(DefinitionError, match="the result: is an array with named axes"):
        defined(InputGrad[Array2], input=property(method("input", result=str)))
    assert made(ROWS).__name__ == "Own"


# ------------------------------------------------------------------ between calls


def test_what_is_known_of_an_instance_goes_with_it_and_is_not_copied() -> None:
    gc.collect()
    before = len(promises._records)
    scale = Scale()
    scale.forward(array(4, 3))
    assert len(promises._records) == before + 1
    assert set(vars(scale)) == {"weight", "broken", "rows"}
    for twin in (copy.copy(scale), copy.deepcopy(scale)):
        twin.rows = array(2, 3)
        assert twin.backward(array(2, 3)).input.shape == (2, 3), "the copy has had no forward of its own"
    del scale, twin
    gc.collect()
    assert len(promises._records) == before


def test_instances_of_one_class_have_verdicts_of_their_own() -> None:
    """The derivative by ``weight`` is held to each instance's own, also where the other fitted."""
    small, large = Scale(3), Scale(1)
    large.broken = small.broken = ""
    for scale in (small, large):
        scale.forward(array(4, 3))
    small.backward(array(4, 3))
    with pytest.raises(
        ShapeError, match=r"gradient field 'weight' must be shaped as self.weight, \(1,\), got shape \(3,\)"
    ):
        large.backward(array(4, 3))


def test_a_layer_is_a_plain_implementer_of_every_protocol() -> None:
    layer = Linear(2, 3)
    assert isinstance(layer, Forward)
    assert isinstance(layer, Backward)
    assert isinstance(layer, Update)
    assert isinstance(layer, DynLayer)
