"""What errors carry besides their words: programs ask these fields, and never read a message."""

import copy
import json
import pickle  # noqa: TID251  # processes hand errors to each other by it
import re
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from tests.layer_cases import CASES
from typednn import Array2, ElementwiseGrad, Input, layers, losses
from typednn.config.arguments import constructor, hints_of, layers_expected
from typednn.config.registry import INITIALISERS, LAYERS, OPTIMIZERS, SCHEDULES
from typednn.data import batches, one_hot
from typednn.errors import (
    ArgumentError,
    ConfigError,
    DataError,
    MissingExtra,
    ShapeError,
    StackError,
    explain,
    installing,
    printable,
)
from typednn.html import escaped
from typednn.layer import Layer, Sequential
from typednn.layers import Conv2d, Linear, MaxPool2d, ReLU, Residual
from typednn.module.printing import constructor_arguments
from typednn.module.stack import Stack
from typednn.optim import SGD, Adam, AdamW, Group, clip_grad_norm
from typednn.random import PCG32, initialiser
from typednn.shapes import Flow

LOSSES = {name: getattr(losses, name) for name in losses.__all__}
KINDS: dict[str, Any] = {**LAYERS, **LOSSES, **OPTIMIZERS, **SCHEDULES, **INITIALISERS, "PCG32": PCG32}
GOOD: dict[str, dict[str, Any]] = {
    case.name: constructor_arguments(case.layer()) for case in CASES if not case.name.endswith("Chain")
} | {
    "Constant": {"value": 1.0},
    "ConstantLR": {"lr": 0.1},
    "CosineLR": {"lr": 0.1, "total_steps": 3},
    "ExponentialLR": {"lr": 0.1, "gamma": 0.9},
    "LinearLR": {"lr": 0.1},
    "Normal": {"std": 1.0},
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 3},
    "PCG32": {"seed": 0, "stream": 0},
    "PolynomialLR": {"lr": 0.1},
    "ReduceLROnPlateau": {"lr": 0.1},
    "Stack": {"layers": [ReLU()], "input": (4,)},
    "StepLR": {"lr": 0.1, "step_size": 2},
    "Uniform": {"low": 0.0, "high": 1.0},
}
WRONG: dict[str, Any] = {"groups": [3], "layers": []}  # for any other argument, an object() is wrong


def _is_checked(kind: str, name: str, hint: object) -> bool:
    """Not a flag, for which anything will do; not a layer, as what is none is a StackError; not what >> hands over."""
    by_hand = (("Sequential", "input"), ("Concat", "branches"), ("Reshape", "shape"))
    return (
        name != "bias" and layers_expected(hint) != "one" and not kind.endswith("Chain") and (kind, name) not in by_hand
    )


def _arguments() -> list[tuple[str, str]]:
    return [
        (kind, name)
        for kind, made in KINDS.items()
        for name, hint in hints_of(constructor(made)).items()
        if name != "return" and _is_checked(kind, name, hint)
    ]


@pytest.mark.parametrize(("kind", "name"), _arguments())
def test_every_constructor_names_the_argument_that_it_refuses(kind: str, name: str) -> None:
    KINDS[kind](**GOOD.get(kind, {}))
    with pytest.raises(ArgumentError) as refused:
        KINDS[kind](**GOOD.get(kind, {}) | {name: WRONG.get(name, object())})
    assert refused.value.argument == name


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: Linear(4, 0), "out_features"),
        (lambda: Conv2d(1, 1, (3, 0)), "kernel_size"),
        (lambda: Linear(4, 3, weight_init="he_norml"), "weight_init"),
        (lambda: Linear(4, 3, bias_init="zero"), "bias_init"),
        (lambda: Adam(betas=(0.9, 1.0)), "betas"),
        (lambda: SGD(nesterov=True), "nesterov"),
        (lambda: SGD(l2=0.1, decay=0.1), "decay"),
        (lambda: AdamW(groups=[Group("*", l2=0.1)]), "l2"),
        (lambda: SGD(lr=lambda _: -1.0).step(np.ones(1, np.float32), np.ones(1, np.float32)), "lr"),
        (lambda: initialiser("normal?"), "name_or_object"),
        (lambda: PCG32(0, 0).random((2.0,)), "size"),  # type: ignore[arg-type]
        (lambda: Input(4, 0), "sizes"),
        (lambda: clip_grad_norm(ElementwiseGrad(np.ones(1), None), -1.0), "max_norm"),
        (lambda: one_hot(np.array([3]), 3), "labels"),
        (lambda: batches(3, 0, PCG32(0, 0)), "batch_size"),
        (lambda: Sequential([Linear(2, 2).named("a"), Linear(2, 2).named("a")]), ""),
    ],
)  # fmt: skip
def test_what_is_refused_for_its_value(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        call()
    assert refused.value.argument == argument


class Halves(Layer[Array2, Array2, ElementwiseGrad[Array2, None]]):
    """Gives half of each row; of one number nothing is left."""

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch features//2"]:
        return x[:, ::2]

    def backward(self, next_grad: Float[Array2, "batch features//2"]) -> ElementwiseGrad[Array2, None]:
        raise AssertionError


class EverySecond(Layer[Array2, Array2, ElementwiseGrad[Array2, None]]):
    """Gives the first number of each row, the third, and so on; of one number that number."""

    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch (features+1)//2"]:
        return x[:, ::2]

    def backward(self, next_grad: Float[Array2, "batch half"]) -> ElementwiseGrad[Array2, None]:
        raise AssertionError


def _misfit(build: Callable[[], object]) -> StackError:
    with pytest.raises(StackError) as raised:
        build()
    return raised.value


any_layer: Any = layers  # what mypy would refuse to build
begin: Any = Input


@pytest.mark.parametrize(
    ("build", "reason", "axis", "argument"),
    [
        (lambda: begin(4, 4, 1) >> any_layer.Linear(16, 2), "rank", "", ""),
        (lambda: begin(4, 4, 1) >> any_layer.Flatten() >> any_layer.Linear(5, 2), "size", "features", "in_features"),
        (lambda: begin(4, 4, 1) >> any_layer.Conv2d(3, 1, 1), "size", "channels", "in_channels"),
        (lambda: begin(4, 4, 1) >> any_layer.Conv2d(1, 1, 5), "empty", "height", "kernel_size"),
        (lambda: begin(4, 2, 1) >> any_layer.MaxPool2d(3), "empty", "width", "kernel_size"),
        (lambda: begin(1) >> Halves(), "empty", "features", ""),
        (lambda: any_layer.Residual(any_layer.Linear(3, 4)), "shape", "", ""),
        (lambda: begin(4) >> any_layer.PerPosition(any_layer.Linear(4, 4)), "rank", "", ""),
        (lambda: Stack([any_layer.Linear(4, 4), Stack([any_layer.Linear(5, 5)], input=[5])], input=[4]), "size",
            "features", "input"),
        (lambda: any_layer.Residual(any_layer.Linear(3, 3) >> Stack([any_layer.Linear(5, 3)], input=[5])), "size",
            "features", "input"),
        (lambda: Sequential([any_layer]), "part", "", ""),
        (lambda: Stack([any_layer], input=[4]), "part", "", ""),
    ],
)  # fmt: skip
def test_why_layers_do_not_follow_each_other(
    build: Callable[[], object], reason: str, axis: str, argument: str
) -> None:
    error = _misfit(build)
    assert (error.reason, error.axis, error.argument) == (reason, axis, argument)


def test_the_layers_that_an_error_passed() -> None:
    linear: Linear = Linear(3, 3)
    inner = Sequential([ReLU(), linear])
    outer = Residual(inner)
    assert _misfit(lambda: outer.trace(Flow.of((2, 4)))).layers == [linear, inner, outer]
    several = any_layer.PerPosition(ReLU())  # its own misfit, not that of a layer inside
    assert _misfit(lambda: Residual(several).trace(Flow.of((2, 4)))).layers[0] is several
    assert _misfit(lambda: Sequential([any_layer])).layers == []


@pytest.mark.parametrize(
    ("model", "shape"), [(MaxPool2d(3), (1, 2, 2, 1)), (Residual(EverySecond()), (1, 4))], ids=["empty", "shape"]
)
def test_an_array_that_fits_no_layer_inside_is_refused_before_any_arithmetic(
    model: Any, shape: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError, match=r"MaxPool2d|keep the shape"):
        model.forward(np.ones(shape, np.float32))


def test_what_the_annotation_of_a_call_says_is_left_to_it() -> None:
    with pytest.raises(ShapeError, match=r'^layer "inner": Linear\(3, 3\)\.forward: x must be'):
        any_layer.Residual(Linear(3, 3)).forward(np.ones((1, 4), np.float32))


@pytest.mark.parametrize(
    "error",
    [
        ArgumentError("n must be 1, got 2", "n"),
        StackError(
            "a cannot follow b",
            "size",
            axis="features",
            expected="1",
            got="2",
            argument="in_features",
            trace=("b  1 -> 2",),
        ),
        ConfigError("no", "m.toml", 2, 3, ["     2 | x"]),
        DataError("no"),
    ],
)
def test_a_copy_carries_the_same(error: Exception) -> None:
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))


def test_a_config_error_with_and_without_its_place() -> None:
    error = ConfigError("no", "m.toml", 2, 3, ["     2 | x"])
    assert (str(error), error.message) == ("m.toml:2:3: no\n     2 | x", "no")
    assert str(ConfigError("import m: no", "m.toml")) == "import m: no"


class _Installed:
    """What `importlib.metadata` gives for typednn."""

    def __init__(self, tool: str | None) -> None:
        self.tool = tool

    def read_text(self, name: str) -> str | None:
        assert name == "INSTALLER"
        return self.tool


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("pip\n", "pip install 'typednn[images]'"),
        ("uv\n", "uv pip install 'typednn[images]'"),
        (None, "pip install 'typednn[images]'"),
    ],
)
def test_a_hint_is_quoted_and_names_the_tool(monkeypatch: pytest.MonkeyPatch, tool: str | None, said: str) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: _Installed(tool))
    for text in ("pip install typednn[images]", "pip install 'typednn[images]'"):
        assert installing(f"needs it; {text}, or not") == f"needs it; {said}, or not"
        assert str(MissingExtra(f"a; {text}", name="PIL")) == f"a; {said}"
    assert installing("nothing to install") == "nothing to install"


def test_a_hint_of_a_clone_names_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where typednn is only on the path: an index might have another package of this name."""

    def missing(name: str) -> object:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert installing("pip install 'typednn[plots]'") == f"pip install '{Path(__file__).resolve().parents[1]}[plots]'"


def test_every_hint_names_an_extra_in_quotes() -> None:
    """In the sources and in the documentation: zsh reads brackets without quotes as a pattern."""
    root = Path(__file__).resolve().parents[1]
    extras = set(
        tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    )
    texts = [
        path.read_text(encoding="utf-8")
        for path in (root / "README.md", *(root / "docs").glob("*.md"), *(root / "typednn").rglob("*.py"))
    ]
    hints = [hint for text in texts for hint in re.findall(r"pip install (\S*\[[\w,]+\].?)", text)]
    assert len(hints) > 20
    for hint in hints:
        quoted = re.fullmatch(r"'(?:typednn|\.)\[([\w,]+)\]'", hint)
        assert quoted, hint
        assert set(quoted[1].split(",")) <= extras, hint


# ------------------------------------------------------------------ what is shown

# What moves the cursor or commands a terminal, turns the direction of text around, ends a line, or is no character at
# all.
CONTROLS = map(chr, (*range(9), *range(11, 32), *range(127, 160)))
HOSTILE = [*CONTROLS, *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufff9", "\udcff"]


@pytest.mark.parametrize("character", HOSTILE, ids=ascii)
def test_what_is_written_as_an_escape(character: str) -> None:
    shown = printable(f"a{character}b")
    assert shown == f"a\\u{ord(character):04x}b"
    assert json.loads(f'"{shown}"') == f"a{character}b"
    assert character not in str(ArgumentError(explain(f"load {character}", character, character, character)))
    assert character not in escaped(f"a{character}b")


def test_a_long_quotation_leaves_the_message_short() -> None:
    long = "start " + "x" * 100_000 + " end"
    told = explain("a.json", long, long, "write it anew")
    assert len(told) < 4000
    assert told.startswith("a.json: start x")
    assert told.endswith(" end; write it anew")
    at_the_limit = "x" * 1500
    assert at_the_limit in explain("a.json", "rule", at_the_limit)


def test_text_of_people_is_shown_as_it_is() -> None:
    for text in (
        "größe\tπ\n中文 עברית",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "e\u0301 \u00a0\u3000",
        "C:\\new",
    ):
        assert printable(text) == text
