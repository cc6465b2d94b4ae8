"""A gradient is what its annotations promise from the moment it is constructed, wherever that is; and is not checked
twice.
"""

import dataclasses
import threading
from dataclasses import dataclass, field, replace
from typing import Any, Generic

import numpy as np
import pytest
import strict_array
from jaxtyping import Float
from typing_extensions import TypeVar

from typednn import Array1, Array2, Gradient, Input, Kept, Layer, checking, layers
from typednn.arrays import AnyArray
from typednn.contracts.derivatives import gradient_fields
from typednn.contracts.hints import array_hints
from typednn.errors import CheckError, DefinitionError, DeviceError, DTypeError, ShapeError
from typednn.layers import Conv2dGrad, Linear, LinearGrad, ReLU
from typednn.module import gradients
from typednn.module.gradients import ChainGrad, ElementwiseGrad, set_shared
from typednn.optim import SGD

strict_array.register()


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


@pytest.fixture(params=["full", "cached", "cached, after a hit"])
def mode(request: pytest.FixtureRequest) -> Any:
    with checking("full" if request.param == "full" else "cached"):
        if request.param.endswith("hit"):
            for _ in range(2):
                LinearGrad(array(2, 3), array(4, 3), array(4))
                OwnGrad(array(2, 3), array(2, 3), array(3), None, "any")
                Wide(array(2, 3), array(7, 3))
        yield request.param


@dataclass(frozen=True, slots=True)
class OwnGrad(Gradient, inputs=("left", "right")):
    left: Float[Array2, "batch features"]
    right: Float[Array2, "batch features"]
    scale: Float[Array1, " features"]
    shift: Float[Array1, " features"] | None
    note: Any


@dataclass(frozen=True)
class Wide(Gradient):
    """Sizes of the layer's own are open while there is no layer; ranks and everything else are not."""

    input: Float[Array2, "batch features"]
    weight: Float[Array2, "{self.width} features"]


def own(**changed: Any) -> Any:
    fields = {"left": array(2, 3), "right": array(2, 3), "scale": array(3), "shift": None, "note": "any"}
    return OwnGrad(**(fields | changed))


def linear(**changed: Any) -> Any:
    return LinearGrad(**({"input": array(2, 3), "weight": array(4, 3), "bias": array(4)} | changed))


def test_what_is_promised_is_constructed(mode: str) -> None:
    own()
    own(shift=array(3), note=object())
    linear(bias=None)
    linear(input=array(2, 3, dtype=np.float64), weight=array(4, 3, dtype=np.float64), bias=None)
    Wide(array(2, 3), array(7, 3))
    Conv2dGrad(array(2, 5, 5, 1), array(3, 2, 2, 1), None)
    ElementwiseGrad(array(2, 3, 4), None)
    ElementwiseGrad(array(2, 3), (None, Slope(array(1))))
    ChainGrad(None, (linear(), None))
    ChainGrad(array(2, 3), ())


@dataclass(frozen=True, slots=True)
class Slope(Gradient):
    slope: Float[Array1, "1"]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: linear(weight="a string"), DeviceError, "LinearGrad: weight must be an array, got str"),
        (lambda: linear(weight=None), DeviceError, "LinearGrad: weight must be an array, got NoneType"),
        (lambda: linear(weight=[[1.0]]), DeviceError, "LinearGrad: weight must be an array, got list"),
        (lambda: linear(bias=3.0), DeviceError, "LinearGrad: bias must be an array, got float"),
        (lambda: linear(weight=np.float32(1)), DeviceError, "weight must be an array, got numpy.float32"),
        (
            lambda: linear(weight=array(4)),
            ShapeError,
            'weight must be "out_features in_features", got shape (4,): 1 axis',
        ),
        (lambda: linear(weight=array(4, 5)), ShapeError, "axis 1 is 5, not 3"),
        (lambda: linear(bias=array(5)), ShapeError, "axis 0 is 5, not 4"),
        (lambda: linear(bias=array(0)), ShapeError, "axis 0 is empty"),
        (
            lambda: linear(weight=array(4, 3, dtype=np.float64)),
            DTypeError,
            "weight must have the dtype of input, float32, got float64",
        ),
        (
            lambda: linear(weight=array(4, 3, dtype=np.int64)),
            DTypeError,
            "weight must hold numbers of kind float, got int64",
        ),
        (
            lambda: linear(weight=strict_array.to_strict(array(4, 3))),
            DeviceError,
            "weight must be on the device of input, 'cpu', got 'strict'",
        ),
        (
            lambda: own(right=array(5, 3)),
            ShapeError,
            'right must be "batch features", got shape (5, 3): axis 0 is 5, not 2',
        ),
        (lambda: own(shift=array(4)), ShapeError, "axis 0 is 4, not 3"),
        (lambda: own(left="left"), DeviceError, "OwnGrad: left must be an array, got str"),
        (lambda: Wide(array(2, 3), array(7, 4)), ShapeError, "axis 1 is 4, not 3"),
        (lambda: Wide(array(2, 3), array(7)), ShapeError, "weight must be"),
        (lambda: ElementwiseGrad("a string", None), DeviceError, "ElementwiseGrad: input must be an array, got str"),
        (lambda: ChainGrad(3, ()), DeviceError, "ChainGrad: input must be an array, got int"),
        (lambda: ChainGrad(None, [linear()]), CheckError, "ChainGrad: parts must be"),
        (lambda: ChainGrad(array(2, 3), "parts"), CheckError, "ChainGrad: parts must be"),
        (lambda: replace(linear(), weight="x"), DeviceError, "weight must be an array"),
        (lambda: linear().map(lambda leaf: leaf.astype(np.float64)), DTypeError, "must have the dtype of input"),
        (lambda: linear().map(lambda leaf: leaf[0]), ShapeError, "weight must be"),
        (lambda: linear().map(np.isnan), DTypeError, "weight must hold numbers of kind float, got bool"),
        (lambda: linear().map(np.sum), DeviceError, "weight must be an array, got numpy.float32"),
    ],
)
def test_anything_else_is_refused_when_it_is_constructed(make: Any, error: type, words: str, mode: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)
    with checking("off"):
        make()


def test_a_post_init_of_ones_own_comes_first() -> None:
    for slots in (False, True):

        @dataclass(frozen=True, slots=slots)
        class Whole(Gradient):
            input: Float[Array2, "batch features"]

            def __post_init__(self) -> None:
                object.__setattr__(self, "input", np.asarray(self.input))

        Whole(array(2, 3))
        Whole([[1.0, 2.0]])  # type: ignore[arg-type]
        with pytest.raises(ShapeError, match="input must be"):
            Whole([1.0])  # type: ignore[arg-type]


def test_an_annotation_that_cannot_be_checked_is_refused() -> None:
    @dataclass(frozen=True)
    class Lost(Gradient):
        input: "NoSuchArray"  # type: ignore[name-defined]

    with pytest.raises(DefinitionError, match="every field's annotation must be resolvable"):
        Lost(array(2, 3))


T = TypeVar("T", bound=AnyArray)


def test_a_bound_is_a_promise() -> None:
    @dataclass(frozen=True)
    class Bound(Gradient, Generic[T]):
        input: T

    Bound(array(2, 3))
    with pytest.raises(CheckError, match="Bound: input must be"):
        Bound("text")  # type: ignore[type-var]


# ------------------------------------------------------------------ where a backward checks, construction does not


@dataclass(frozen=True, slots=True)
class Plain(Gradient):
    input: Float[Array2, "batch features"]


class Sloppy(Layer[Array2, Array2, Plain]):
    """The identity; its backward calls what it is told to."""

    _x: Kept[Float[Array2, "batch features"]]
    aside: Any = None

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        self._x = x
        return x

    def backward(self, next_grad: Float[Array2, "batch features"]) -> Plain:
        if self.aside is not None:
            self.aside()
        return Plain(next_grad)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the gradients that were checked when they were constructed."""
    seen: list[str] = []
    check = gradients._Promises.check

    def counting(self: Any, gradient: Any) -> None:
        seen.append(self.where)
        check(self, gradient)

    monkeypatch.setattr(gradients._Promises, "check", counting)
    return seen


def test_no_gradient_of_a_checked_backward_is_checked_twice(counted: list[str]) -> None:
    net = (Input(3) >> Linear(3, 4) >> ReLU() >> Linear(4, 2)).init(np.random.default_rng(0))
    for checks in ("full", "cached"):
        with checking(checks):  # type: ignore[arg-type]
            for _ in range(3):
                net.update(SGD(0.1), net.backward(net.forward(array(5, 3))))
    assert counted == []
    grad = net.backward(net.forward(array(5, 3)))
    grad * 2.0
    assert counted == ["LinearGrad", "ElementwiseGrad", "LinearGrad", "ChainGrad"]


def test_after_a_backward_that_failed_construction_is_checked(counted: list[str]) -> None:
    layer = Sloppy()
    layer.aside = lambda: 1 / 0
    y = layer.forward(array(2, 3))
    with pytest.raises(ZeroDivisionError):
        layer.backward(y)
    with pytest.raises(ShapeError):
        Plain(array(2))
    assert counted == ["Plain"]


def test_a_backward_in_another_thread_changes_nothing_here(counted: list[str]) -> None:
    layer, inside, go_on = Sloppy(), threading.Event(), threading.Event()
    layer.aside = lambda: (inside.set(), go_on.wait(20))
    y = layer.forward(array(2, 3))
    thread = threading.Thread(target=layer.backward, args=(y,))
    thread.start()
    try:
        assert inside.wait(20)
        with pytest.raises(ShapeError):
            Plain(array(2))
    finally:
        go_on.set()
        thread.join()
    assert counted == ["Plain"]


def test_a_backward_that_nothing_checks_leaves_it_to_construction() -> None:
    """Its forward ran with the checks off."""
    layer = Sloppy()
    with checking("off"):
        y = layer.forward(array(2, 3))
    with pytest.raises(ShapeError, match="Plain: input must be"):
        layer.backward(y[0])


@dataclass(frozen=True)
class Pair(Gradient, inputs=("left", "right")):
    left: Float[Array2, "batch 2"]
    right: Float[Array2, "batch 2"]


@dataclass(frozen=True)
class Hidden(Gradient):
    input: Float[Array2, "batch 2"]
    weight: Float[Array2, "a b"] = field(repr=False)


class Spoken(Gradient):
    def __repr__(self) -> str:
        return "spoken"


@dataclass(frozen=True, repr=False)
class Quiet(Spoken):
    input: Float[Array2, "batch 2"]


def test_how_gradients_print_and_what_they_lack() -> None:
    one = array(1, 2)
    assert repr(Hidden(one, one)) == f"Hidden(input={one!r})"
    assert repr(Quiet(one)) == "spoken"
    with pytest.raises(AttributeError, match="'Pair' object has no attribute 'input'"):
        _ = Pair(one, one).input  # type: ignore[attr-defined]


def test_shared_leaves_are_asked_for_once() -> None:
    asked: list[object] = []
    gradient = LinearGrad(array(1, 2), array(2, 2), None)
    set_shared(gradient, lambda grad: asked.append(grad) or [])  # type: ignore[func-returns-value]
    gradient.norm()
    gradient.map(np.copy)
    gradient.leaves()
    assert asked == [gradient]


# ------------------------------------------------------------------ the fields of one gradient, against each other


# Axes of which one field alone knows the size; of some classes others.
FREE = {"batch", "time", "memory", "height", "width", "kernel_height", "kernel_width", "kernel_size"}
FREE_OF = {
    "SequenceLinearGrad": {"in_features"},
    "LearnedPositionsGrad": {"batch", "max_length"},  # a table may have more rows than are used
    "MultiHeadAttentionGrad": {"time", "memory"},
}
KINDS = {name: kind for name, kind in vars(layers).items() if name.endswith("Grad") and dataclasses.is_dataclass(kind)}
# Of one field that names axes, or of fields that are other gradients: each is a gradient with checks of its own.
ALONE = {
    "AdaptiveAvgPool2dGrad", "AvgPool2dGrad", "ConcatGrad", "Dropout2dGrad", "EmbeddingGrad", "FlattenGrad",
    "GlobalAvgPool2dGrad", "LastStepGrad", "LogSoftmaxGrad", "MaxPool2dGrad", "Pad2dGrad", "PerPositionGrad",
    "PReLUGrad", "RMSNormGrad", "RepeatGrad", "ReshapeGrad", "ResidualGrad", "SinusoidalPositionsGrad", "SoftmaxGrad",
    "UpsampleGrad", "GLUGrad",
}  # fmt: skip
SIZES: dict[str, dict[str, tuple[int, ...] | None]] = {
    "BatchNorm1dGrad": {"weight": (3,), "bias": (3,)},
    "BatchNorm2dGrad": {"input": (2, 4, 5, 3), "weight": (3,), "bias": (3,)},
    "Conv1dGrad": {"input": (2, 5, 4), "weight": (6, 3, 2), "bias": (6,)},
    "Conv2dGrad": {"input": (2, 5, 6, 4), "weight": (6, 3, 1, 2), "bias": (6,)},
    "ConvTranspose2dGrad": {"input": (2, 5, 6, 4), "weight": (4, 3, 1, 3), "bias": (6,)},
    "GRUGrad": {"input": (2, 5, 4), "weight_ih": (9, 4), "weight_hh": (9, 3), "bias_ih": (9,), "bias_hh": (9,),
        "lengths": None},
    "GroupNormGrad": {"input": (2, 4, 5, 6), "weight": (6,), "bias": (6,)},
    "LSTMGrad": {"input": (2, 5, 4), "weight_ih": (12, 4), "weight_hh": (12, 3), "bias_ih": (12,), "bias_hh": (12,),
        "lengths": None},
    "LayerNormGrad": {"weight": (3,), "bias": (3,)},
    "LearnedPositionsGrad": {"input": (2, 5, 3), "weight": (5, 3)},
    "LinearGrad": {"input": (2, 3), "weight": (4, 3), "bias": (4,)},
    "MultiHeadAttentionGrad": {
        "input": (2, 5, 4), "memory": (2, 3, 6), "mask": None, "in_proj_weight": None, "q_proj_weight": (4, 4),
        "k_proj_weight": (4, 6), "v_proj_weight": (4, 6), "in_proj_bias": (12,), "out_proj_weight": (4, 4),
        "out_proj_bias": (4,),
    },
    "RNNGrad": {"input": (2, 5, 4), "weight_ih": (3, 4), "weight_hh": (3, 3), "bias_ih": (3,), "bias_hh": (3,),
        "lengths": None},
    "SequenceLinearGrad": {"weight": (4, 3), "bias": (4,)},
}  # fmt: skip


def test_every_gradient_class_is_here() -> None:
    assert KINDS.keys() == SIZES.keys() | ALONE & KINDS.keys()


@pytest.mark.parametrize("name", SIZES)
def test_no_gradient_has_fields_of_two_layers(name: str, mode: str) -> None:
    """Each axis of each field, made longer by one: refused, unless no other field knows it."""
    kind: Any = KINDS[name]
    fields = {field: None if shape is None else array(*shape) for field, shape in SIZES[name].items()}
    kind(**fields)
    hints = gradient_fields(kind, name)
    for place, value in fields.items():
        if value is None:
            continue
        for axis, label in enumerate(array_hints(hints[place])[0].dim_str.split()):
            more = list(value.shape)
            more[axis] += 1
            changed = fields | {place: array(*more)}
            if label in FREE_OF.get(name, FREE):
                kind(**changed)
                continue
            with pytest.raises(ShapeError):
                kind(**changed)


@pytest.mark.parametrize(
    ("build", "got"),
    [
        (lambda: layers.Conv2dGrad(array(1, 3, 3, 2), array(3, 2, 2, 4), None), "in_channels 2, group_channels 4"),
        (
            lambda: layers.Conv2dGrad(array(1, 3, 3, 4), array(3, 2, 2, 2), None),
            "in_channels 4, out_channels 3, group_channels 2",
        ),
        (
            lambda: layers.ConvTranspose2dGrad(array(1, 3, 3, 3), array(3, 2, 2, 3), array(6)),
            "in_channels 3, group_channels 3, out_channels 6",
        ),
        (lambda: layers.LearnedPositionsGrad(array(1, 6, 2), array(5, 2)), "time 6, max_length 5"),
    ],
)
def test_what_does_not_belong_together_is_told_in_sizes(build: Any, got: str) -> None:
    with pytest.raises(ShapeError, match=f"its fields are of one layer: .*, got {got}$"):
        build()
