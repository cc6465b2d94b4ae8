"""``loads(dumps(model))`` builds an equal model: same names, layers, rules for initial weights, and so
the same bits.
"""

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer_cases import CASES, LayerCase
from typednn import AnyArray, Chain, Input, Sequential
from typednn.config import dumps, loads
from typednn.engines import using
from typednn.errors import ArgumentError, ConfigError
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, PerPosition, PReLU, ReLU, Residual, Tanh
from typednn.module.stack import Stack
from typednn.optim import (
    EMA,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    ConstantLR,
    CosineLR,
    ExponentialLR,
    GradientOptimizer,
    Group,
    LinearLR,
    Lion,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    RMSprop,
    StepLR,
)
from typednn.random import PCG32, Constant, HeNormal, Normal, Uniform, Zeros


def same(model: Any, loaded: Stack) -> None:
    """The same walk, layer by layer, and the same numbers from one generator through one forward."""

    def walk(root: Any) -> list[tuple[str, str]]:
        return [
            (path, repr(module))
            for path, module in root.named_modules()
            if path and next(module.children(), None) is None
        ]

    assert walk(model) == walk(loaded)
    assert model.parameter_shapes() == loaded.parameter_shapes()
    model.init(PCG32(3))
    loaded.init(PCG32(3))
    for path, expected in model.state_dict().items():
        assert np.array_equal(expected, loaded.state_dict()[path]), path
    sizes = loaded.sample_shape
    x = np.random.default_rng(5).standard_normal((2, *sizes), dtype=np.float32)
    given = x.reshape(2, -1) if isinstance(model, Stack) else x
    assert np.array_equal(model.forward(given).reshape(2, -1), loaded.forward(x.reshape(2, -1)))


def round_trip(model: Any) -> str:
    text = dumps(model)
    loaded = loads(text, "dumped.toml").model()
    assert dumps(loaded) == text
    same(model, loaded)
    return text


@pytest.mark.parametrize("case", [case for case in CASES if case.configurable], ids=str)
@given(data=st.data())
def test_every_layer(case: LayerCase, data: st.DataObject) -> None:
    """P-D5: the config round trip law, for whatever instance of a layer is drawn.

    On the reference: each would compile kernels of its own.
    """
    layer, shape, *_ = data.draw(st.composite(case.draw)())
    if len(shape) > 1:
        with using("reference"):
            round_trip(Sequential([layer.named("it")], input=Input(*shape[1:])))


@pytest.mark.parametrize(
    "build",
    [
        lambda: Input(4) >> Linear(4, 3) >> ReLU(),
        lambda: PReLU(init=0.2) >> Tanh() >> Linear(4, 3),
        lambda: Input(4) >> (PReLU(init=0.2) >> Tanh() >> Linear(4, 3)),
        lambda: Input(4) >> Linear(4, 4) >> (Linear(4, 3) >> Tanh()) >> (Linear(3, 2) >> Tanh()).named("tail"),
        lambda: Sequential({"fc1": Linear(4, 3, weight_init=Normal(0.02), bias_init="zeros"), "act": ReLU()},
            input=Input(4)),
        lambda: Input(4) >> Linear(4, 3, bias=False, weight_init=Uniform(-1, 1.0), bias_init=Zeros()) >> PReLU(init=1),
        lambda: Input(4) >> Linear(4, 4, weight_init=HeNormal("out"), bias_init=Constant(0.5)),
        lambda: Input(5, 5, 2) >> Pad2d((0, 1, 2, 3), "replicate") >> Conv2d(2, 3, (2, 3), bias=True)
            >> MaxPool2d(2, 1) >> Flatten(),
        lambda: Input(3, 4) >> PerPosition(Linear(4, 3) >> ReLU()) >> Residual(PerPosition(Residual(Linear(3, 3)))),
        lambda: Input(4) >> Residual(Chain([Linear(4, 4)])) >> Residual(Chain([Linear(4, 4).named("fc")])),
        lambda: Input(4) >> Residual(Chain([Chain([Linear(4, 4)]), Tanh()])),
        lambda: Input(4) >> Residual((PReLU() >> PReLU()).named("ignored")),
        lambda: Input(4) >> Residual(Sequential([Linear(4, 4), Linear(4, 4).named("last")])),
        lambda: Stack({"a": Linear(4, 8),
            "b": Stack([Conv2d(2, 2, 2), Stack([Flatten()], input=(1, 1, 2))], input=(2, 2, 2))}, input=[4]),
        lambda: Stack(Input(4) >> Linear(4, 3).named("fc") >> Tanh()),
        lambda: Stack([Stack(Input(4) >> Linear(4, 3))], input=[4]),
        lambda: Input(4) >> Stack([Linear(4, 3)], input=(4,)) >> Tanh(),
        lambda: Input(4) >> Residual(Stack([Linear(4, 4)], input=(4,))),
        lambda: Input(4) >> Tanh() >> (Linear(4, 3) >> Tanh() >> Linear(3, 2))[:2].named("slice"),
        lambda: Input(4) >> Tanh() >> Sequential([Linear(4, 3)]).append(Tanh()).named("longer"),
        lambda: Input(4) >> Tanh() >> (Linear(4, 3) >> Tanh()).append(Tanh()).named("longer"),
        lambda: Stack([Linear(4, 3), Tanh(), Linear(3, 2)], input=(4,))[1:].append(Tanh()),
    ],
)  # fmt: skip
def test_models(build: Any) -> None:
    """P-D5: chains, named or nested, wrappers in wrappers, stacks in stacks."""
    model = build()
    if getattr(model, "sample", 0) is None:
        model = Chain(model.parts, Input(4))
    round_trip(model)


WRITTEN = """\
format = 1
input = [4]

[[layer]]
type = "Linear"
name = "fc1"
in_features = 4
out_features = 3
weight_init = { type = "Normal", std = 0.02 }

[[layer]]
type = "Residual"

[[layer.inner]]
type = "Linear"
in_features = 3
out_features = 2

[[layer.inner]]
type = "Linear"
name = "up"
in_features = 2
out_features = 3
bias = false
"""


def test_what_is_written() -> None:
    head = Linear(4, 3, weight_init=Normal(0.02)).named("fc1")
    assert round_trip(Input(4) >> head >> Residual(Linear(3, 2) >> Linear(2, 3, bias=False).named("up"))) == WRITTEN


@pytest.mark.parametrize(
    "build",
    [
        lambda: Input(4) >> (first := Linear(4, 4)) >> ReLU() >> first.shared(),
        lambda: (
            Input(4) >> (first := Linear(4, 4)) >> Linear(4, 4, bias=False).named("out").tie(first, weight="weight")
        ),
        lambda: (
            Input(4)
            >> Residual((first := Linear(4, 4)) >> Tanh())
            >> Residual(Tanh() >> first.shared())
            >> first.shared()
        ),
        lambda: Stack(
            {"a": (first := Linear(4, 4)), "b": Stack([Linear(4, 4).tie(first, bias="bias")], input=(4,))}, input=(4,)
        ),
        lambda: Input(4) >> (first := Linear(4, 1)) >> PReLU().tie(first, slope="bias"),
    ],
)
def test_shared_parameters_are_written_once(build: Any) -> None:
    """The model that is loaded shares the same parameters: saved, counted and printed once, and trained alike."""
    model = build()
    loaded = loads(dumps(model), "m.toml").model()
    assert loaded.shared_parameters() == model.shared_parameters() != []
    assert loaded.parameter_shapes() == model.parameter_shapes()
    assert dumps(loaded) == dumps(model)
    model.init(np.random.default_rng(0))
    loaded.init(np.random.default_rng(0))
    x = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)
    for each in (model, loaded):
        each.update(SGD(0.5), each.backward(np.cos(each.forward(x))))
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(loaded.state_dict()[name], array)


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        (
            '"a.weight"',
            'm.toml:3:10: shared: a list of lists of parameters\' names, two or more in each, got "a.weight"',
        ),
        ('[["a.weight"]]', "m.toml:3:11: shared: a list of lists of parameters' names, two or more in each"),
        (
            '[["a.weight", "b.weigt"]]',
            "m.toml:3:24: shared: \"b.weigt\" is no parameter, or shared already; did you mean 'b.weight'?",
        ),
        ('[["a.weight", 3]]', "m.toml:3:24: shared: 3 is no parameter"),
        ('[["a.weight", ["b.weight"]]]', 'm.toml:3:24: shared: ["b.weight"] is no parameter'),
        ('[[{x = 1}, "a.weight"]]', "m.toml:3:12: shared: a table is no parameter"),
        (
            '[["a.weight", "c.weight"]]',
            "m.toml:3:24: shared: Linear(4, 3).tie: weight and Linear(4, 4)'s weight must have one shape",
        ),
        (
            '[["a.weight", "a.weight"]]',
            "m.toml:3:24: shared: Linear(4, 4).tie: takes another layer and names, got itself",
        ),
        (
            '[["a.weight", "b.weight"], ["a.bias", "b.weight"]]',
            'm.toml:3:48: shared: "b.weight" is no parameter, or shared already',
        ),
    ],
)
def test_complaints_about_shared(shared: str, words: str) -> None:
    layers = "".join(
        f'[[layer]]\ntype = "Linear"\nname = "{name}"\nin_features = 4\nout_features = {size}\n'
        for name, size in zip("abc", (4, 4, 3), strict=True)
    )
    with pytest.raises(ConfigError) as raised:
        loads(f"format = 1\ninput = [4]\nshared = {shared}\n{layers}", "m.toml")
    assert str(raised.value).startswith(words)


@pytest.mark.parametrize(
    "optimizer",
    [
        SGD(),
        SGD(0.1, momentum=0.9, nesterov=True, weight_decay=1e-4),
        SGD(1.0, decay=1e-7),
        SGD(CosineLR(0.1, 100, warmup_steps=5), dampening=0.5, l2=1e-3),
        Adam(1e-3, (0.8, 0.99), eps=1e-6),
        AdamW(
            StepLR(0.1, 10),
            groups=[Group("*.bias", weight_decay=0.0), Group("0.*", lr=ConstantLR(0.5)), Group("*", lr=StepLR(1.0, 2))],
        ),
        AdamW(l2=0.5),
        Adam(OneCycleLR(0.1, 100, pct_start=0.2, three_phase=True), amsgrad=True, ema=0.99),
        RMSprop(ExponentialLR(0.1, 0.9), alpha=0.9, centered=True, momentum=0.5, groups=[Group("*.bias", frozen=True)]),
        Adagrad(LinearLR(0.1, 0.5), lr_decay=0.1, initial_accumulator_value=0.2, ema=EMA(0.9, warmup=True)),
        Adadelta(PolynomialLR(0.1, 7, 2.0), 0.95, maximize=True),
        Lion(ReduceLROnPlateau(0.1, "max", patience=2, metric="accuracy"), (0.8, 0.9), 0.1),
    ],
)
def test_optimizers(optimizer: GradientOptimizer) -> None:
    """P-D2, P-D5: any optimizer of typednn, with its schedules and groups."""
    text = dumps(Input(4) >> Linear(4, 3), optimizer)
    loaded = loads(text, "m.toml").optimizer()
    assert type(loaded) is type(optimizer)
    assert loaded is not None
    assert loaded.settings == optimizer.settings
    assert loaded.groups == optimizer.groups
    for name in (
        inspect.signature(type(optimizer).__init__).parameters.keys()
        - vars(type(optimizer.settings)).keys()
        - {"self", "groups"}
    ):
        assert getattr(loaded, name, None) == getattr(optimizer, name, None)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Chain([Linear(4, 3)]),
            "dumps: a config declares its input, got a model without one; build it as Input(...) >> ...",
        ),
        (
            lambda: Linear(4, 3),
            "dumps: writes a Chain, a Sequential or a Stack, got Linear(4, 3); build one with >> or Sequential",
        ),
        (
            lambda: Input(4) >> Linear(4, 3, weight_init=_halves),
            "dumps, weight_init of Linear: an argument must have a form in TOML, got {halves}; "
            "pass a number, a string, a list, or a rule of typednn",
        ),
    ],
)
def test_what_has_no_form(build: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        dumps(build())
    assert str(raised.value) == message.replace("{halves}", repr(_halves))


def test_the_input_of_a_model_that_declares_none() -> None:
    chain: Any = Chain([Linear(4, 3)])
    declared: Any = Input(4) >> Linear(4, 3)
    assert dumps(chain, input=Input(4)) == dumps(declared)
    assert dumps(declared, input=Input(9)) == dumps(declared)


def _halves(rng: Any, shape: Any, fans: Any) -> Any:
    return np.full(shape, 0.5)


def test_an_unregistered_optimizer_has_no_form() -> None:
    class Mine(GradientOptimizer):
        def apply(self, state: Any, grad: AnyArray, lr: float) -> None:
            raise AssertionError

    with pytest.raises(
        ArgumentError,
        match=r"^dumps: an optimizer is one of SGD, Adadelta, Adagrad, Adam, AdamW, Lion, RMSprop, got Mine; leave it "
        r"out$",
    ):
        dumps(Input(4) >> Linear(4, 3), Mine(0.1))
    with pytest.raises(ArgumentError, match=r"^dumps, lr of SGD: an argument must have a form in TOML, got <function"):
        dumps(Input(4) >> Linear(4, 3), SGD(lambda step: 0.1))
