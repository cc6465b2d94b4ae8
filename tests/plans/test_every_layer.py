"""Every layer, planned and layer by layer: alone, in a chain between two layers that learn, and between two that are
called one by one.
"""

import copy
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import pytest
from jaxtyping import Float, Integer

from tests.graph.test_graph_layer import Affine, LargestShare, Leaky, Net, RowSoftmax, Shifted, Swish, TanhGELU
from tests.layer_cases import CASES, LayerCase
from tests.plans.planned_pair import Between, Pair
from typednn import AnyArray, Array3, Buffer, Gradient, IntArray1, Layer, S
from typednn.kernels.pointwise import add
from typednn.layers import GRU, LSTM, RNN, Conv2d, LastStep, MultiHeadAttention, SequenceLinear
from typednn.module.gradients import ElementwiseGrad
from typednn.optim import SGD

FORMS = ("alone", "chain", "by hand")
SEVERAL = {"MultiHeadAttention to a memory", "MaskedGate", "MaskedGate without mask"}  # need more than one input
LENGTHS = {"RNN of relu", "GRU with lengths", "LSTM with lengths", "LastStep with lengths"}  # tested below

FORMULAS = [Swish(4), Affine(4, 2), Affine(4, 2, bias=False), RowSoftmax(), Shifted(4), TanhGELU(), Leaky(), Net()]

# What has no plan, and why: all of it is nothing, or has nothing to compute.
GIVEN = "the output, or a derivative, is an array that no op computed"
REFUSED = {
    **dict.fromkeys(
        [(name, "alone", mode) for name in ("Dropout", "Dropout2d") for mode in ("eval",)],
        GIVEN,
    ),
    **dict.fromkeys(
        [
            (name, "alone", mode)
            for name in (
                *("Flatten", "Flatten of sequences", "Flatten to pixels"),
                *("Reshape", "Reshape of images", "Identity"),
            )
            for mode in ("eval", "parameters", "inputs")
        ],
        GIVEN,
    ),
    **dict.fromkeys([(name, "alone", "inputs") for name in ("LearnedPositions", "SinusoidalPositions")], GIVEN),
    # Backward computes forward again, on copies of the buffers.
    **dict.fromkeys(
        [("Repeat with checkpointing", form, mode) for form in FORMS for mode in ("parameters", "inputs")],
        "count_batch reads an array that no op computed",
    ),
}


def affine(shape: tuple[int, ...], out: int) -> Any:
    """A layer with parameters for arrays of any rank."""
    return Conv2d(shape[-1], out, 1, bias=True) if len(shape) == 4 else SequenceLinear(shape[-1], out)


def placed(layer: Any, x: Any, form: str) -> Any:
    """The layer in a form."""
    if form == "alone":
        return layer
    y = copy.deepcopy(layer).train().forward(x)
    before: Any
    after: Any
    before = affine(x.shape, x.shape[-1])
    after = affine(y.shape, 3)
    before.init(np.random.default_rng(0)).astype(x.dtype)
    after.init(np.random.default_rng(0)).astype(x.dtype)
    return before >> layer >> after if form == "chain" else Between(before, layer, after)


def batches(x: Any, count: int = 6) -> list[Any]:
    """Other numbers each time."""
    rngs: list[Any] = [np.random.default_rng(seed) for seed in range(count)]
    if x.dtype.kind == "f":
        return [rng.standard_normal(x.shape).astype(x.dtype) for rng in rngs]
    return [rng.integers(0, x.max() + 1, x.shape) for rng in rngs]


def follow(model: Any, x: Any, mode: str) -> Pair:
    """Six steps of both."""
    keep: Literal["parameters", "inputs"] = "inputs" if mode == "inputs" else "parameters"
    pair = Pair(model.train(mode != "eval"), lambda: SGD(0.05, momentum=0.9), keep)
    for each in batches(x):
        assert pair.step(each) is not None, pair.error
    return pair


@pytest.mark.parametrize("mode", ["parameters", "inputs", "eval"])
@pytest.mark.parametrize(
    ("case", "form"),
    [
        (case, form)
        for case in CASES
        if case.name not in SEVERAL | LENGTHS
        for form in (FORMS if case.name != "Embedding" else FORMS[:1])  # reads integers
    ],
    ids=str,
)
def test_every_layer(case: LayerCase, form: str, mode: str) -> None:
    """The same bits after each of six steps, and a plan but for what is named above."""
    subject = case.subject()
    x = subject.arrays()[0]
    model = placed(subject.ready(), x, form)
    pair = follow(model, x, mode)
    why = REFUSED.get((case.name, form, mode), "")
    assert pair.compiled.why_not().startswith(why)
    assert bool(pair.told) == bool(why), pair.told
    assert pair.plans == (not why)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["parameters", "inputs", "eval"])
@pytest.mark.parametrize(
    ("layer", "form"), [*((layer, form) for layer in FORMULAS for form in FORMS), (LargestShare(), "alone")], ids=str
)
def test_formulas(layer: Any, form: str, mode: str, dtype: Any) -> None:
    """Layers from a formula have plans, whatever they compute."""
    x = np.ones((3, 4), dtype)
    model = placed(copy.deepcopy(layer).init(np.random.default_rng(1)).astype(dtype), x, form)
    pair = follow(model, x, mode)
    assert pair.told == []
    assert pair.plans == 1


# ------------------------------------------------------------------ layers of several inputs


@final
@dataclass(frozen=True, slots=True)
class MoreGrad(Gradient):
    """Of a layer that gives an inner one more than its own input."""

    input: Float[Array3, "batch time features"]
    before: Any
    inner: Any


@final
class WithLengths(Layer[Array3, AnyArray, MoreGrad, S]):
    """A recurrent layer on sequences whose lengths are a buffer."""

    lengths: Buffer[Integer[IntArray1, " 3"]]

    def __init__(self, inner: Any) -> None:
        self.before: SequenceLinear = SequenceLinear(3, 3)
        self.inner: Any = inner
        self.initialise_with(lengths="ones")

    def forward(self, x: Float[Array3, "3 time 3"]) -> Float[AnyArray, "3 *output"]:
        y: AnyArray = self.inner.forward(self.before.forward(x), self.lengths)
        return y

    def backward(self, next_grad: Float[AnyArray, "3 *output"]) -> MoreGrad:
        inner = self.inner.backward(next_grad)
        before = self.before.backward(inner.input)
        return MoreGrad(before.input, before, inner)


@final
class ToMemory(Layer[Array3, Array3, MoreGrad, S]):
    """Attention to a map of the input."""

    def __init__(self) -> None:
        self.before: SequenceLinear = SequenceLinear(4, 6)
        self.inner: MultiHeadAttention = MultiHeadAttention(4, 2, kdim=6, dropout=0.2)

    def forward(self, x: Float[Array3, "batch time 4"]) -> Float[Array3, "batch time 4"]:
        return self.inner.forward(x, self.before.forward(x), None)

    def backward(self, next_grad: Float[Array3, "batch time 4"]) -> MoreGrad:
        inner = self.inner.backward(next_grad)
        before: ElementwiseGrad[Array3, Any] = self.before.backward(inner.memory)  # type: ignore[arg-type]
        return MoreGrad(add(inner.input, before.input), before, inner)


DRAWN_LENGTHS = [(5, 2, 1), (4, 4, 4), (1, 5, 2), (1, 1, 1), (2, 3, 5), (5, 5, 5), (3, 1, 2), (9, 1, 1)]


@pytest.mark.parametrize("mode", ["parameters", "inputs", "eval"])
@pytest.mark.parametrize("kind", [RNN, GRU, LSTM, LastStep])
def test_lengths_that_change(kind: Any, mode: str) -> None:
    """Lengths are read anew in each call, not as they were when it was recorded."""
    model = WithLengths(kind() if kind is LastStep else kind(3, 4)).init(np.random.default_rng(0))
    model.lengths = np.array([1, 1, 1])
    pair = Pair(model.train(mode != "eval"), keep="inputs" if mode == "inputs" else "parameters")
    for seed, lengths in enumerate(DRAWN_LENGTHS):

        def change(model: Any, lengths: tuple[int, ...] = lengths) -> None:
            model.lengths[...] = lengths

        pair.change(change)
        y = pair.step(np.random.default_rng(seed).standard_normal((3, 5, 3), np.float32))
        assert (y is None) == (lengths[0] == 9), pair.error  # no sequence is that long
    assert pair.told == []
    assert pair.plans == 1


@pytest.mark.parametrize("mode", ["parameters", "inputs", "eval"])
def test_attention_to_a_memory(mode: str) -> None:
    model = ToMemory().init(np.random.default_rng(0))
    pair = follow(model, np.ones((2, 3, 4), np.float32), mode)
    assert pair.told == []
    assert pair.plans == 1
