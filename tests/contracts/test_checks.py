"""Annotations are enforced, or the class is not defined: never silently ignored."""

import copy
import gc
import pickle  # noqa: TID251 - a user may
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pytest
from jaxtyping import AbstractArray, Float, Int
from typing_extensions import TypeVar

from typednn import (
    Array1,
    Array2,
    Array4,
    Backward,
    Elementwise,
    ElementwiseGrad,
    Forward,
    Gradient,
    Input,
    InputGrad,
    Kept,
    Layer,
    Loss,
    MultiInput,
    Optimizer,
    Parameter,
    S,
    Sequential,
    Stack,
    checking,
    get_checks,
    gradcheck,
    set_checks,
)
from typednn.arrays import AnyArray
from typednn.errors import (
    ArgumentError,
    CheckError,
    DefinitionError,
    DeviceError,
    DTypeError,
    NotInitialised,
    ShapeError,
    TypednnError,
)
from typednn.layers import (
    Conv1d,
    Conv2d,
    Flatten,
    Linear,
    LinearGrad,
    MaxPool2d,
    MultiHeadAttention,
    Pad2d,
    PerPosition,
    ReLU,
    Residual,
)
from typednn.losses import MSE, CrossEntropy, SoftmaxCrossEntropy
from typednn.optim import SGD, Adam, accumulate, clip_grad_norm

A = TypeVar("A", bound=AnyArray)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


@pytest.fixture(params=["full", "cached"])
def mode(request: pytest.FixtureRequest) -> Any:
    with checking(request.param):
        yield request.param


# ------------------------------------------------------------------ when a class is defined


@dataclass(frozen=True)
class RowGrad(Gradient):
    input: Float[Array2, "batch features"]


@dataclass(frozen=True)
class ImageGrad(Gradient):
    input: Float[Array4, "batch height width channels"]


def defined(forward: Any = None, backward: Any = None, base: type = Layer, **namespace: Any) -> Any:
    """A layer class made of these methods; the right ones where none are given."""

    def good_forward(self: Any, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return x

    def good_backward(self: Any, next_grad: Float[Array2, "batch features"]) -> RowGrad:
        return RowGrad(next_grad)

    methods = {"forward": forward or good_forward, "backward": backward or good_backward}
    return type("Own", (base,), methods | {"__module__": __name__} | namespace)


def test_a_well_annotated_class_is_defined_and_runs() -> None:
    layer = defined()()
    assert layer.forward(array(2, 3)).shape == (2, 3)
    assert layer.backward(array(2, 3)).input.shape == (2, 3)


def unresolvable(self: Any, x: "Float[Nowhere, 'batch features']") -> Float[Array2, "batch features"]:  # type: ignore[name-defined]
    return x


def missing_parameter(self: Any, x) -> Float[Array2, "batch features"]:  # type: ignore[no-untyped-def]
    return x


def missing_result(self: Any, x: Float[Array2, "batch features"]):  # type: ignore[no-untyped-def]
    return x


def wrong_rank(self: Any, x: Float[Array2, "batch height width"]) -> Float[Array2, "batch features"]:
    return x


def wrong_result_rank(self: Any, x: Float[Array2, "batch features"]) -> Float[Array4, "batch features"]:
    return x


def variadic(self: Any, *x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
    return x[0]


def no_array(self: Any, x: int) -> Float[Array2, "batch features"]:
    return array(1, x)


def malformed(self: Any, x: Float[Array2, "batch features//"]) -> Float[Array2, "batch features"]:
    return x


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (unresolvable, "every annotation must be resolvable at run time, got name 'Nowhere' is not defined"),
        (missing_parameter, "every parameter must be annotated, got 'x' without"),
        (missing_result, "the result must be annotated, got no '->'"),
        (
            wrong_rank,
            "'x': Array2 promises 2 axes, got 3 axes in the string 'batch height width'; write Array3 or name 2 axes",
        ),
        (wrong_result_rank, "'return': Array4 promises 4 axes, got 2 axes"),
        (variadic, "takes a fixed list of parameters, got *x; name every parameter"),
        (no_array, "inputs and output are arrays with named axes"),
        (malformed, "features//"),
    ],
)
def test_an_annotation_that_could_not_be_enforced_is_an_error(forward: Any, words: str) -> None:
    """P-P1: never a silent no-op."""
    with pytest.raises(DefinitionError) as caught:
        defined(forward)
    assert words in str(caught.value)


def test_the_gradient_must_belong_to_the_layer() -> None:
    """P-P3, P-P4: a gradient class without a derivative, or with one of another rank, is refused with the class."""

    def image_gradient(self: Any, next_grad: Float[Array2, "batch features"]) -> ImageGrad:
        raise AssertionError

    def no_gradient(self: Any, next_grad: Float[Array2, "batch features"]) -> int:
        raise AssertionError

    with pytest.raises(DefinitionError, match=r"ImageGrad\.input: the derivative by that input has its 2 axes"):
        defined(backward=image_gradient)
    with pytest.raises(DefinitionError, match="must return a gradient dataclass"):
        defined(backward=no_gradient)
    with pytest.raises(
        DefinitionError, match="RowGrad must have a field 'weight': the derivative by that parameter, got input"
    ):
        defined(__annotations__={"weight": Parameter[Float[Array2, "{self.n} {self.n}"]]})
    with pytest.raises(DefinitionError, match="one array type"):
        defined(__annotations__={"weight": Parameter[int]})
    with pytest.raises(DefinitionError, match="a parameter's axes are all named"):
        defined(__annotations__={"weight": Parameter[Float[AnyArray, "*any"]]})
    with pytest.raises(DefinitionError, match="Array1 promises 1 axis"):
        defined(__annotations__={"_x": Kept[Float[Array1, "a b"]]})


def test_several_inputs_need_a_derivative_each() -> None:
    def forward(self: Any, left: Float[Array2, "batch n"], right: Float[Array2, "batch n"]) -> Float[Array2, "batch n"]:
        return left + right

    def backward(self: Any, next_grad: Float[Array2, "batch n"]) -> RowGrad:
        raise AssertionError

    with pytest.raises(DefinitionError, match="RowGrad must name a derivative by each of left, right, got input"):
        defined(forward, backward, base=MultiInput)


def test_axes_used_before_they_are_bound_are_told() -> None:
    def forward(self: Any, x: Float[Array2, "batch features+1"]) -> Float[Array2, "batch features"]:
        return x

    with pytest.raises(DefinitionError, match="an axis expression may use only axes that were bound before it"):
        defined(forward)().forward(array(2, 3))


def test_a_deferred_annotation_that_resolves_is_enforced() -> None:
    """``from __future__ import annotations`` must not mute the checks: strings are resolved when the
    class is defined.
    """
    program = """
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
from jaxtyping import Float
from typednn import Array2, Gradient, Layer, S
from typednn.errors import ShapeError

@dataclass(frozen=True)
class OwnGrad(Gradient):
    input: Float[Array2, "batch 3"]

class Own(Layer[Array2, Array2, OwnGrad, S]):
    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 3"]:
        return x
    def backward(self, next_grad: Float[Array2, "batch 3"]) -> OwnGrad:
        return OwnGrad(next_grad)

Own().forward(np.ones((2, 3), np.float32))
try:
    Own().forward(np.ones((2, 4), np.float32))
except ShapeError as error:
    print(error)
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == 'Own.forward: x must be "batch 3", got shape (2, 4): axis 1 is 4, not 3\n'


def test_only_for_type_checking_is_not_enough() -> None:
    program = """
from __future__ import annotations
from typing import TYPE_CHECKING
from jaxtyping import Float
from typednn import Layer
if TYPE_CHECKING:
    from typednn import Array2

class Own(Layer):
    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 3"]:
        return x
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (
        "DefinitionError: Own.forward: every annotation must be resolvable at run time, got name 'Array2' is "
        "not defined" in result.stderr
    )


# --------------------------------------------------------------- Protocols, on implementers and where they are consumed


class Doubled(Forward[Array2, Array2]):
    """Derives from a Protocol alone."""

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return x[:, :1] if x.shape[1] == 5 else 2 * x


class Plain:
    """Derives from nothing."""

    def forward(self, x: Any) -> Any:
        return x


def test_explicit_implementers_of_any_protocol_are_enforced(mode: str) -> None:
    """P-P1, P-P6, P-P7."""
    assert Doubled().forward(array(2, 3)).shape == (2, 3)
    with pytest.raises(ShapeError, match='x must be "batch features"'):
        Doubled().forward(array(2))
    with pytest.raises(ShapeError, match=r"the result must be .* axis 1 is 1, not 5"):
        Doubled().forward(array(2, 5))
    with pytest.raises(DefinitionError, match="every parameter must be annotated"):
        type("Bad", (Forward,), {"forward": lambda self, x: x})

    class Own(Loss[Array2, Array2]):
        def loss_grad(
            self, prediction: Float[Array2, "batch n"], target: Float[Array2, "batch n"]
        ) -> Float[Array2, "batch n"]:
            return prediction[:1] if target.shape[1] == 5 else prediction

    with pytest.raises(ShapeError, match=r"target must be \"batch n\", got shape \(2, 4\): axis 1 is 4, not 3"):
        Own().loss_grad(array(2, 3), array(2, 4))
    with pytest.raises(ShapeError, match="the result must be"):
        Own().loss_grad(array(2, 5), array(2, 5))


def test_the_protocols_are_run_time_checkable() -> None:
    assert isinstance(Plain(), Forward)
    assert not isinstance(Plain(), Backward)
    assert isinstance(Linear(1, 1), Forward)
    assert isinstance(Linear(1, 1), Backward)
    assert isinstance(SGD(), Optimizer)
    assert isinstance(RowGrad(array(1, 1)), InputGrad)
    assert not isinstance(MSE(), Optimizer)


def test_a_structural_optimizer_is_welcome_and_another_object_is_not() -> None:
    class SignSGD:
        def step(self, weights: Any, grad: Any) -> None:
            weights -= np.sign(grad)

    layer = Linear(2, 1, rng=np.random.default_rng(0))
    layer.forward(array(3, 2))
    gradient = layer.backward(array(3, 1))
    before = layer.weight.copy()
    layer.update(SignSGD(), gradient)
    np.testing.assert_array_equal(layer.weight, before - 1)
    with pytest.raises(CheckError, match=r"Linear\(2, 1\)\.update: optimizer must be Optimizer, got int"):
        layer.update(3, gradient)  # type: ignore[arg-type]


def test_every_method_that_names_arrays_is_enforced(mode: str) -> None:
    """A method of one's own, such as predict, is held to its annotations too."""

    class Model(Elementwise[None]):
        def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
            return x

        def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
            return ElementwiseGrad(next_grad, None)

        def predict(self, x: Float[Array2, "batch features"], top: int = 1) -> Int[AnyArray, " batch"]:
            return x.argmax(axis=1) if top == 1 else x

    assert Model().predict(array(4, 3)).shape == (4,)
    assert Model().predict(x=array(4, 3), top=1).shape == (4,)
    with pytest.raises(ShapeError, match="x must be"):
        Model().predict(array(4))
    with pytest.raises(CheckError, match="top must be int, got str"):
        Model().predict(array(4, 3), "1")  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="the result must hold numbers of kind int, got float32"):
        Model().predict(array(4, 3), top=2)


def test_optimizers_and_losses_are_enforced(mode: str) -> None:
    """P-P6, P-P7: also right after a call that fitted."""
    optimizer = SGD(0.1)
    weights = array(2, 3)
    optimizer.step(weights, array(2, 3))
    optimizer.step(weights, array(2, 3))
    for wrong, error in (
        (array(3, 2), ShapeError),
        (array(2), ShapeError),
        (array(2, 3, dtype=np.int64), DTypeError),
        ([1.0], DeviceError),
    ):
        with pytest.raises(error, match="grad must"):
            optimizer.step(weights, wrong)
    loss = SoftmaxCrossEntropy()
    labels = np.zeros(2, np.int64)
    loss.loss_grad(array(2, 3), labels)
    loss.loss_grad(array(2, 3), labels)
    for target in (np.zeros(3, np.int64), array(2, 4), array(2), np.zeros((2, 3), np.int64), "labels"):
        with pytest.raises(CheckError, match="target must be"):
            loss.loss_grad(array(2, 3), target)  # type: ignore[arg-type]


def test_mistakes_that_people_make_are_told() -> None:
    """A class for an instance, a seed for a generator, another model's gradient, a mix of precisions, labels for
    probabilities.
    """
    layer = Linear(2, 3, rng=np.random.default_rng(0))
    layer.forward(array(4, 2))
    gradient = layer.backward(array(4, 3))
    told = []
    attempts: list[Any] = [
        lambda: layer.update(SGD, gradient),  # type: ignore[arg-type]
        lambda: layer.init(0),  # type: ignore[arg-type]
        lambda: layer.init(np.random),
        lambda: Linear(2, 3, rng=np.random.Generator),  # type: ignore[arg-type]
        lambda: (layer >> ReLU()).update(SGD(), gradient),  # type: ignore[arg-type]
        lambda: MSE().loss_grad(array(2, 3), array(2, 3, dtype=np.float64)),
        lambda: SGD().step(array(2), array(2, dtype=np.float64)),
        lambda: CrossEntropy().loss(array(2, 3), np.array([0, 1])),  # type: ignore[arg-type]
        lambda: (Input(28, 28, 1) >> Flatten()).forward(array(2, 28, 28)),  # type: ignore[arg-type]
        lambda: Linear(2, 2, weight_init="he"),
    ]
    for attempt in attempts:
        with pytest.raises(TypednnError) as caught:
            attempt()
        told.append(str(caught.value))
    assert told == [
        "Linear(2, 3).update: optimizer must be an Optimizer, got the class SGD; write SGD(...)",
        "Linear(2, 3).init: rng must be a generator, got int; pass numpy.random.default_rng(0) or PCG32(0): "
        "there is no global one",
        "Linear(2, 3).init: rng must be a generator, got numpy.random; "
        "pass numpy.random.default_rng(0) or PCG32(0): there is no global one",
        "Linear(2, 3).init: rng must be a generator, got Generator; pass numpy.random.default_rng(0) or "
        "PCG32(0): there is no global one",
        "Chain: its gradient must have a part for '0', got LinearGrad; hand it what its own backward returned, "
        "with a field '0'",
        "MSE(reduction='mean').loss_grad: target must have the dtype of prediction, float32, got float64; "
        "convert it with target.astype(numpy.float32)",
        "SGD.step: grad must have the dtype of weights, float32, got float64; convert it with "
        "grad.astype(numpy.float32)",
        "CrossEntropy(reduction='mean', eps=1e-07).loss: target must be float \"batch classes\", got int64 of "
        "shape (2,); "
        "class labels go through one_hot(labels, classes), or straight into SoftmaxCrossEntropy",
        'Input(28, 28, 1): the input must be "batch 28 28 1", got shape (2, 28, 28); '
        "add a batch or a channel axis: x[None] or x[..., None]",
        "initialiser: a name is one of zeros, ones, he_normal, he_uniform, xavier_normal, xavier_uniform, "
        "kaiming_uniform, kaiming_normal, "
        "got 'he'; did you mean 'he_normal'?",
    ]


def test_mistakes_of_those_who_know_pytorch_are_told() -> None:
    """Channels first, labels as floats, a loss's weight in the first place, a mask of numbers, a size that has no
    plural.
    """
    rng = np.random.default_rng(0)
    attention, images = MultiHeadAttention(8, 2, rng=rng), Input(8, 8, 3) >> Conv2d(3, 4, 3, rng=rng)
    told = []
    attempts: list[Any] = [
        lambda: Conv2d(3, 4, 3, rng=rng).forward(array(2, 3, 8, 8)),
        lambda: images.forward(array(2, 3, 8, 8)),
        lambda: images.forward(array(2, 8, 3, 3)),
        lambda: SoftmaxCrossEntropy().loss(array(2, 3), array(2)),  # type: ignore[arg-type]
        lambda: SoftmaxCrossEntropy(array(3)),  # type: ignore[arg-type]
        lambda: attention.forward(array(2, 5, 8), mask=array(2, 5)),  # type: ignore[arg-type]
        lambda: attention.forward(array(2, 5, 7)),
        lambda: attention.forward(array(8)),  # type: ignore[arg-type]
        lambda: Conv1d(3, 4, 3, 2, padding="same"),
    ]
    for attempt in attempts:
        with pytest.raises(TypednnError) as caught:
            attempt()
        told.append(str(caught.value))
    assert told == [
        'Conv2d(3, 4, 3).forward: x must be "batch height width {self.in_channels}", self.in_channels = 3, got '
        "shape (2, 3, 8, 8): "
        "axis 3 is 8, not 3; channels stand last: x.transpose(0, 2, 3, 1)",
        'Input(8, 8, 3): the input must be "batch 8 8 3", got shape (2, 3, 8, 8); channels stand last: '
        "x.transpose(0, 2, 3, 1)",
        'Input(8, 8, 3): the input must be "batch 8 8 3", got shape (2, 8, 3, 3); feed such samples or declare others',
        "SoftmaxCrossEntropy(reduction='batchmean').loss: target must be integer \"batch *positions\" or float "
        '"batch *positions classes", '
        "got float32 of shape (2,); class labels are integers: target.astype(numpy.int64)",
        "SoftmaxCrossEntropy: reduction must be one of 'none', 'sum', 'mean', 'mean_batch', 'mean_feature', "
        f"'batchmean', got {array(3)!r}",
        "MultiHeadAttention(8, 2).forward: mask must hold numbers of kind bool, got float32; convert it with "
        "mask.astype(numpy.bool)",
        'MultiHeadAttention(8, 2).forward: x must be "batch time {self.embed_dim}", self.embed_dim = 8, got '
        "shape (2, 5, 7): "
        "axis 2 is 7, not 8; make it 8, or build the layer with embed_dim=7",
        'MultiHeadAttention(8, 2).forward: x must be "batch time {self.embed_dim}", self.embed_dim = 8, got '
        "shape (8,): 1 axis",
        'Conv1d: padding="same" needs stride 1, got stride=2; give the padding in numbers',
    ]


MODEL: Any = Input(4) >> Linear(4, 3) >> ReLU() >> Linear(3, 2)


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda: MODEL(None), "x must be an array, got NoneType"),
        (lambda: MODEL.update(SGD(), None), "its gradient must have a part for '0', got NoneType"),
        (lambda: MODEL.load_state_dict(None), "takes arrays by name, or a list of them in order, got NoneType"),
        (lambda: MODEL.load_state_dict({"0.weight": "x"}), "'0.weight' is a str, not an array"),
        (lambda: MODEL.astype("nonsense"), "a model's dtype is float16, float32 or float64, got 'nonsense'"),
        (lambda: MODEL.astype("int8"), "a model's dtype is float16, float32 or float64, got 'int8'"),
        (
            lambda: MODEL.astype(np.longdouble),
            "a model's dtype is float16, float32 or float64, got <class 'numpy.longdouble'>",
        ),
        (lambda: MODEL.astype(">f4"), "a model's dtype is float16, float32 or float64, got '>f4'"),
        (lambda: MODEL.named(3), "a layer's name is an identifier, got 3"),
        (lambda: MODEL.to("gpu"), 'expected "cpu" or "cuda"'),
        (lambda: MODEL >> None, "a stack is made of layers, got NoneType"),
        (lambda: Residual(3), "a stack is made of layers, got int"),
        (lambda: PerPosition(None), "a stack is made of layers, got NoneType"),
        (lambda: Sequential(None), "needs a list of layers, or a mapping of names to layers, got NoneType"),
        (lambda: Sequential({"a": 3}), "a stack is made of layers, got int"),
        (lambda: Pad2d(1.5), "padding must be an integer of at least 0, got 1.5"),
        (lambda: clip_grad_norm(3, 1.0), "takes what backward gives, a Gradient, got int"),
        (lambda: accumulate([1, 2]), "takes what backward gives, a Gradient, got int"),
        (lambda: SGD(groups="abc"), "groups are a list of Group(names, ...), got 'a'"),
        (lambda: Adam(betas=3), "betas are two numbers, got 3"),
        (lambda: Stack([Linear(3, 4)], input=5), "input is an Input, or one sample's sizes, got 5"),
        (lambda: gradcheck(3, array(1)), "takes a layer or model, got int"),
        (lambda: gradcheck(MODEL), "needs the layer's input, got none"),
        (lambda: set_checks(None), "mode must be 'full', 'cached' or 'off', got None"),
    ],
)
def test_no_mistake_surfaces_inside_a_dependency(mistake: Any, words: str) -> None:
    with pytest.raises(TypednnError) as caught:
        mistake()
    assert words in str(caught.value)


# ------------------------------------------------------------------ modes


def test_modes_switch_at_run_time() -> None:
    assert get_checks() == "cached"
    layer = Linear(3, 3, rng=np.random.default_rng(0))
    with checking("off"):
        assert get_checks() == "off"
        layer.forward(array(2, 3).astype(np.float64))  # computed, unchecked
    assert get_checks() == "cached"
    with pytest.raises(DTypeError):
        layer.forward(array(2, 3).astype(np.float64))
    set_checks("full")
    assert get_checks() == "full"
    set_checks("cached")
    with pytest.raises(ArgumentError, match="mode must be 'full', 'cached' or 'off', got 'on'"):
        set_checks("on")  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "printed"), [("full", "full"), ("off", "off"), (None, "cached")])
def test_the_environment_sets_the_mode(value: str | None, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TYPEDNN_CHECKS", raising=False)
    if value is not None:
        monkeypatch.setenv("TYPEDNN_CHECKS", value)
    program = "import typednn; print(typednn.get_checks())"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
        == printed
    )


def test_a_wrong_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPEDNN_CHECKS", "yes")
    result = subprocess.run(
        [sys.executable, "-c", "import typednn.contracts.checks"], capture_output=True, text=True, check=False
    )
    assert (
        "ArgumentError: environment variable TYPEDNN_CHECKS: must be 'full', 'cached' or 'off', got 'yes'"
        in result.stderr
    )


def test_disabling_jaxtyping_is_not_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAXTYPING_DISABLE would turn every check into a no-op: it is refused, with the switch that is ours."""
    monkeypatch.setenv("JAXTYPING_DISABLE", "1")
    result = subprocess.run(
        [sys.executable, "-c", "import typednn.contracts.checks"], capture_output=True, text=True, check=False
    )
    assert "TYPEDNN_CHECKS=off" in result.stderr
    monkeypatch.setenv("TYPEDNN_CHECKS", "off")
    assert subprocess.run([sys.executable, "-c", "import typednn.contracts.checks"], check=False).returncode == 0
    import jaxtyping

    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ArgumentError, match="jaxtyping disabled"):
        ReLU().forward(array(7, 7))


def test_what_is_remembered_does_not_grow_with_sizes() -> None:
    """A kind is a class and a dtype; sizes are compared. Kinds that nobody uses are forgotten."""
    from typednn.contracts import checks

    layer = ReLU()
    for size in range(1, 50):
        layer.forward(array(1, size))
    layer.forward(array(2, 3, 4))
    assert len(layer.__typednn_calls__.kinds) == 1
    layer.forward(array(2, 3, dtype=np.float64))
    assert len(layer.__typednn_calls__.kinds) == 2
    kinds: tuple[int, ...] = ()
    for kind in range(100):
        kinds = checks.remembered(kinds, kind)
    assert kinds == tuple(range(99, 99 - checks._MOST_KINDS, -1))


def test_a_changed_size_is_noticed_after_a_hit() -> None:
    """The sizes read from self are part of the signature."""
    layer = Linear(3, 3, rng=np.random.default_rng(0))
    layer.forward(array(2, 3))
    layer.forward(array(2, 3))
    layer.in_features = 4
    with pytest.raises(ShapeError, match="axis 1 is 3, not 4"):
        layer.forward(array(2, 3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda y: (1.0, y[:, :1]), r'result\[1\] must be "batch features", got shape \(4, 1\): axis 1 is 1, not 3'),
        (lambda y: (1.0, y.astype(np.int64)), r"result\[1\] must hold numbers of kind float, got int64"),
        (lambda y: (y, y), r"result\[0\] must be float, got ndarray"),
        (lambda y: (1.0, y, y), "the result must be"),
        (lambda y: [1.0, y], "the result must be"),
        (lambda y: y, "the result must be"),
    ],
)
def test_each_part_of_a_tuple_is_compared(wrong: Callable[[Any], Any], message: str) -> None:
    """Also after a call of the same kind that fitted, which is then not judged again."""

    class Both(Loss[Array2, Array2]):
        wrong: Callable[[Any], Any] | None = None

        def loss_grad(
            self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
        ) -> Float[Array2, "batch features"]:
            return prediction

        def loss_and_grad(
            self, prediction: Float[Array2, "batch features"], target: Float[Array2, "batch features"]
        ) -> tuple[float, Float[Array2, "batch features"]]:
            return self.wrong(prediction) if self.wrong else (1.0, prediction)

    both = Both()
    both.loss_and_grad(array(2, 3), array(2, 3))
    contract: Any = Both.loss_and_grad
    with mock.patch.object(contract.__typednn_contract__, "check_result", side_effect=AssertionError("judged again")):
        both.loss_and_grad(array(5, 4), array(5, 4))
    both.wrong = wrong
    with pytest.raises(CheckError, match=message):
        both.loss_and_grad(array(4, 3), array(4, 3))


def test_every_call_is_compared() -> None:
    """A result, a gradient's field and a batch that don't fit are refused after calls of the same kind that fitted."""

    class Own(Layer[Array2, Array2, RowGrad, S]):
        cut = ""

        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
            return x[:, :1] if self.cut == "result" else x

        def backward(self, next_grad: Float[Array2, "batch features"]) -> RowGrad:
            return RowGrad(next_grad[:1] if self.cut == "gradient" else next_grad)

    own = Own()
    for batch in (2, 3, 4):
        own.forward(array(batch, 3))
        own.backward(array(batch, 3))
    with pytest.raises(ShapeError, match=r"next_grad must be shaped as forward's output, \(4, 3\), got shape \(3, 3\)"):
        own.backward(array(3, 3))
    own.cut = "gradient"
    with pytest.raises(
        ShapeError, match=r"gradient field 'input' must be shaped as the input, \(4, 3\), got shape \(1, 3\)"
    ):
        own.backward(array(4, 3))
    own.cut = "result"
    with pytest.raises(ShapeError, match=r"the result must be .* axis 1 is 1, not 3"):
        own.forward(array(4, 3))


def test_a_copy_knows_the_last_forward() -> None:
    """Also a pickled one: its backward is held to what was read; calls of the copy are compared as others are."""
    model = (Linear(3, 4) >> ReLU()).init(np.random.default_rng(0))
    model.forward(array(2, 3))
    model.backward(array(2, 4))
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(ShapeError, match="next_grad must be shaped as forward's output"):
            twin.backward(array(3, 4))
        np.testing.assert_array_equal(twin.backward(array(2, 4)).input, model.backward(array(2, 4)).input)
        for batch in (5, 6):
            assert twin.forward(array(batch, 3)).shape == (batch, 4)
            assert twin.backward(array(batch, 4)).input.shape == (batch, 3)
        with pytest.raises(ShapeError, match="expects 3 features, gets 4"):
            twin.forward(array(5, 4))
    with checking("off"):
        model.forward(array(2, 3))
    assert copy.deepcopy(model).backward(array(2, 4)).input.shape == (2, 3)


def test_a_new_batch_size_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by beartype and jaxtyping, nor by following the shape through the chain; what does not fit is."""
    from typednn.contracts import checks, derivatives
    from typednn.module import gradients

    model = (Input(8, 8, 1) >> Conv2d(1, 2, 3) >> ReLU() >> MaxPool2d(2) >> Flatten() >> Linear(18, 2)).init(
        np.random.default_rng(0)
    )
    loss, optimizer = SoftmaxCrossEntropy(), SGD(0.1)

    def step(batch: int) -> None:
        y = model.forward(array(batch, 8, 8, 1))
        labels = np.zeros(batch, np.int64)
        loss.loss(y, labels)
        model.update(optimizer, model.backward(loss.loss_grad(y, labels)))

    step(2)
    judged: list[str] = []
    with monkeypatch.context() as patch:
        for module in (checks, derivatives, gradients):
            patch.setattr(module, "judge", lambda where, *_: judged.append(where))
        patch.setattr("typednn.module.chain.Flow", None)
        for batch in (3, 1, 7):
            step(batch)
    assert judged == []
    with pytest.raises(ShapeError, match="the input must be"):
        model.forward(array(2, 7, 7, 1))


def test_eval_serves_many_threads() -> None:
    model = (Linear(8, 16) >> ReLU() >> Linear(16, 4)).init(np.random.default_rng(0)).eval()
    x = np.random.default_rng(1).standard_normal((64, 8)).astype(np.float32)
    expected = model(x).tobytes()
    wrong: list[object] = []

    def serve() -> None:
        for _ in range(100):
            if model(x).tobytes() != expected:
                wrong.append("another result")

    threads = [threading.Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ------------------------------------------------------------------ messages, word for word


def test_messages_name_the_path_the_rule_the_value_and_the_cure() -> None:
    """P-L1: wrong in_features names both."""
    model = (
        Conv2d(1, 2, 3).named("conv1")
        >> ReLU()
        >> MaxPool2d(2)
        >> Flatten()
        >> Linear(18, 5).named("fc1")
        >> Linear(5, 2).named("fc2")
    ).init(np.random.default_rng(0))
    model.forward(array(2, 8, 8, 1))
    told: list[str] = []
    attempts: list[Any] = [
        lambda: model.forward(array(2, 10, 10, 1)),
        lambda: model.forward(array(2, 8, 8, 1, dtype=np.float64)),
        lambda: model.forward(array(2, 8, 8, 1, dtype=np.int64)),
        lambda: model.forward(array(2, 8, 8, 3)),
        lambda: model.forward(array(8, 8, 1)),
        lambda: model.forward([[1.0]]),
        lambda: model[4].forward(array(2, 17)),
        lambda: model[4].forward(array(2, 3, 3, 2)),
        lambda: [model.forward(array(2, 8, 8, 1)), model.backward(array(2, 3))],
        lambda: MSE().loss(array(2, 3), array(3, 3)),
    ]
    for attempt in attempts:
        with pytest.raises(CheckError) as caught:
            attempt()
        told.append(f"{type(caught.value).__name__}: {caught.value}")
    assert told == [
        "ShapeError: Linear(18, 5) cannot follow Flatten: expects 18 features, gets 32 (= 4*4*2, from MaxPool2d "
        "on 8x8x2)",
        'DTypeError: layer "conv1": Conv2d(1, 2, 3).forward: x must have the model\'s dtype float32, got float64; '
        "convert one of them: x.astype(numpy.float32) or model.astype(numpy.float64)",
        'DTypeError: layer "conv1": Conv2d(1, 2, 3).forward: x must hold numbers of kind float, got int64; '
        "convert it with x.astype(numpy.float32)",
        "ShapeError: Conv2d(1, 2, 3) cannot follow an array of shape (2, 8, 8, 3): expects 1 channel, gets 3",
        "ShapeError: Conv2d(1, 2, 3) cannot follow an array of shape (8, 8, 1): expects 4 axes "
        "(batch, height, width, in_channels=1), gets 3 axes (8, 8, 1)",
        "DeviceError: Chain.forward: x must be an array, got list; convert it with numpy.asarray(x)",
        'ShapeError: Linear(18, 5).forward: x must be "batch {self.in_features}", self.in_features = 18, got '
        "shape (2, 17): "
        "axis 1 is 17, not 18; give 18 features, or build the layer with in_features=17",
        'ShapeError: Linear(18, 5).forward: x must be "batch {self.in_features}", self.in_features = 18, got '
        "shape (2, 3, 3, 2): "
        "4 axes; put Flatten() before it, or flatten the samples: x.reshape(len(x), -1)",
        "ShapeError: Chain.backward: next_grad must be shaped as forward's output, (2, 2), got shape (2, 3)",
        "ShapeError: MSE(reduction='mean').loss: target must be \"batch *features\", got shape (3, 3): axis 0 "
        "is 3, not 2",
    ]


def test_a_hand_written_model_names_its_layer() -> None:
    class Model(Layer[Array2, Array2, RowGrad, S]):
        fc1: Linear
        fc2: Linear

        def __init__(self) -> None:
            self.fc1, self.fc2 = Linear(3, 4), Linear(5, 2)

        def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 2"]:
            return self.fc2.forward(self.fc1.forward(x))

        def backward(self, next_grad: Float[Array2, "batch 2"]) -> RowGrad:
            raise AssertionError

    with pytest.raises(
        NotInitialised, match=r'layer "fc1": Linear\(3, 4\)\.weight was never filled; call model\.init\(rng\)'
    ):
        Model().forward(array(2, 3))
    with pytest.raises(ShapeError) as caught:
        Model().init(np.random.default_rng(0)).forward(array(2, 3))
    assert str(caught.value).startswith('layer "fc2": Linear(5, 2).forward: x must be "batch {self.in_features}"')
    assert caught.value.path == "fc2"


def test_a_layer_that_breaks_the_batch_law_is_refused(mode: str) -> None:
    """The Protocol's own annotation holds for every layer: the batch is kept."""

    class Halved(Layer[Array2, Array2, RowGrad, S]):
        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "half features"]:
            return x[: len(x) // 2]

        def backward(self, next_grad: Float[Array2, "half features"]) -> RowGrad:
            raise AssertionError

    with pytest.raises(
        ShapeError, match=r'the result must be "batch \*output", got shape \(2, 3\): axis 0 is 2, not 4'
    ):
        Halved().forward(array(4, 3))


def test_a_layer_that_promotes_is_refused(mode: str) -> None:
    """A10: one float dtype per model; a layer without parameters returns its input's."""

    class Promoted(Layer[Array2, Array2, RowGrad, S]):
        def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
            return x * np.float64(2)

        def backward(self, next_grad: Float[Array2, "batch features"]) -> RowGrad:
            raise AssertionError

    with pytest.raises(DTypeError, match="the result must stay float32, got float64"):
        Promoted().forward(array(4, 3))


def test_sizes_in_braces_are_attributes() -> None:
    """They are read at every call, so they may change; the shape algebra runs no code, so no call stands among them."""

    def by_call(self: Any, x: Float[Array2, "batch {self.size()}"]) -> Float[Array2, "batch features"]:
        return x

    def by_list(self: Any, x: Float[Array2, "batch {self.n[0]}"]) -> Float[Array2, "batch features"]:
        return x

    def by_min(self: Any, x: Float[Array2, "batch {min(self.n[0],4)}"]) -> Float[Array2, "batch features"]:
        return x

    with pytest.raises(
        DefinitionError,
        match=r"braces read attributes, got a call in \{self\.size\(\)\}; keep the size in an attribute",
    ):
        defined(by_call)
    layer = defined(by_list)()
    layer.n = [3]
    assert layer.forward(array(2, 3)).shape == (2, 3)
    layer.n[0] = 4
    with pytest.raises(ShapeError, match="axis 1 is 3, not 4"):
        layer.forward(array(2, 3))
    layer = defined(by_min)()
    layer.n = (9,)
    assert layer.forward(array(2, 4)).shape == (2, 4)


def test_the_array_to_blame_is_named() -> None:
    def forward(self: Any, x: Float[Array2, "rows n"]) -> Float[Array2, "rows n"]:
        return x

    def backward(self: Any, next_grad: Float[Array2, "rows n"]) -> RowGrad:
        return RowGrad(next_grad[:, :-1])

    layer = defined(forward, backward)()
    layer.forward(array(2, 3))
    with pytest.raises(
        ShapeError, match=r"gradient field 'input' must be shaped as the input, \(2, 3\), got shape \(2, 2\)"
    ):
        layer.backward(array(2, 3))


def test_an_array_in_an_undeclared_field_is_an_error() -> None:
    layer = Linear(2, 2)
    layer.extra = array(3)  # type: ignore[attr-defined]
    words = r"Linear\.extra: an array is held in a declared field, .* declare it in the class body"
    with pytest.raises(DefinitionError, match=words):
        layer.init(np.random.default_rng(0))
    with pytest.raises(DefinitionError, match=words):
        layer.forward(array(2, 2))


def test_a_parameter_can_be_set_but_only_to_what_was_declared() -> None:
    layer = Linear(2, 3)
    layer.weight = array(3, 2)
    assert layer.weight.shape == (3, 2)
    for wrong, error in (
        (array(2, 3), ShapeError),
        (array(3, 2, dtype=np.float64), DTypeError),
        (array(3, 2, dtype=np.int32), DTypeError),
    ):
        with pytest.raises(error, match="weight"):
            layer.weight = wrong


def test_the_declared_input_is_held_to() -> None:
    model = (Input(4) >> Linear(4, 2)).init(np.random.default_rng(0))
    with pytest.raises(ShapeError, match=r'Input\(4\): the input must be "batch 4", got shape \(2, 5\)'):
        model.forward(array(2, 5))


def test_shaped_results_of_unregistered_arrays_are_refused() -> None:
    class Foreign:
        shape, dtype = (2, 3), np.dtype(np.float32)

    class Own(Elementwise[None]):
        def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
            return x

        def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
            return ElementwiseGrad(next_grad, None)

    with pytest.raises(DeviceError, match=r"x must be an array, got .*Foreign"):
        Own().forward(Foreign())  # type: ignore[type-var]
    with pytest.raises(DeviceError, match="x must be an array"):
        (Linear(3, 3) >> ReLU()).init(np.random.default_rng(0)).forward(Foreign())  # type: ignore[arg-type]


# ------------------------------------------------------------------ memory


def _annotations() -> int:
    gc.collect()
    return len(AbstractArray.__subclasses__())


def test_judging_makes_no_annotations() -> None:
    """beartype and jaxtyping remember every annotation for ever: sizes that are always new must not make any."""
    model = (Input(3) >> Linear(3, 5) >> ReLU() >> Linear(5, 2)).init(np.random.default_rng(0))
    loss, optimizer = SoftmaxCrossEntropy(), SGD(0.01)

    def right(batch: int) -> None:
        y, labels = model.forward(array(batch, 3)), np.zeros(batch, np.int64)
        loss.loss(y, labels)
        grad = model.backward(loss.loss_grad(y, labels))
        LinearGrad(array(batch, 3), array(5, 3), None)
        model.update(optimizer, grad)

    def wrong(batch: int) -> None:
        y = model.forward(array(batch, 3))
        grad = model.backward(y)
        with checking("off"):
            foreign = grad.map(lambda derivative: np.ones((batch, 1), np.float32))
        calls: tuple[Callable[[], Any], ...] = (
            lambda: model.forward(array(batch, 4)),
            lambda: model.forward(array(batch, 3, dtype=np.float64)),
            lambda: model.forward([batch]),
            lambda: [model.forward(array(batch, 3)), model.backward(array(batch + 1, 2))],
            lambda: model.update(optimizer, foreign),
            lambda: loss.loss(y, np.zeros(batch + 1, np.int64)),
            lambda: loss.loss(y, np.zeros(batch, np.complex64)),
            lambda: LinearGrad(array(batch, 3), array(batch, 4), None),
        )
        for call in calls:
            with pytest.raises(CheckError):
                call()

    for calls in (right, wrong):
        calls(1)
        calls(2)
        before = _annotations()
        for batch in range(3, 60):
            calls(batch)
        assert _annotations() == before
