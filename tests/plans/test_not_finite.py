"""NaN and infinity in a plan: the layers' answers, also of engines that look at the numbers and compute anew."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.plans.planned_pair import assert_bits, assert_gradients, numbers
from typednn.engines import available, counting
from typednn.layers import Conv2d, ConvTranspose2d, MultiHeadAttention
from typednn.plans import Compiled

pytestmark = pytest.mark.skipif(not available(), reason="needs Halide")


class Case(NamedTuple):
    """A model, the shape of its input, an engine that it runs, and what breaks the input or the model."""

    make: Callable[[], Any]
    shape: tuple[int, ...]
    ran: tuple[str, str]
    breaks: Callable[[Any, Any], None]


def nan_at(*place: int) -> Callable[[Any, Any], None]:
    """NaN at one place of the input."""

    def write(model: Any, x: Any) -> None:
        x[place] = np.nan

    return write


def infinite_weight(model: Any, x: Any) -> None:
    weight = next(array for name, array in model.named_parameters().items() if name.endswith("weight"))
    weight.reshape(-1)[3] = np.inf


def attention() -> Any:
    return MultiHeadAttention(16, 2, causal=True).init(np.random.default_rng(0))


def rotary() -> Any:
    return MultiHeadAttention(16, 2, causal=True, rotary=True).init(np.random.default_rng(0))


def dropping() -> Any:
    return MultiHeadAttention(16, 2, causal=True, dropout=0.3).init(np.random.default_rng(0))


def convolution(*more: Any, **settings: Any) -> Callable[[], Any]:
    return lambda: Conv2d(*more, **settings).init(np.random.default_rng(0))


CASES = {
    "attention": Case(attention, (2, 32, 16), ("self_attention.forward", "halide"), nan_at(0, -1, 3)),
    "attention, backward": Case(attention, (2, 32, 16), ("self_attention.backward", "halide"), nan_at(1, 0, 0)),
    "rotary": Case(rotary, (2, 32, 16), ("attention.forward", "halide"), nan_at(0, -1, 3)),
    "dropout": Case(dropping, (2, 32, 16), ("self_attention.forward", "halide"), nan_at(0, -1, 3)),
    "Winograd": Case(
        convolution(32, 32, 3, padding=1), (8, 16, 16, 32), ("conv2d.forward", "winograd"), nan_at(1, 2, 3, 4)
    ),
    "Winograd, backward": Case(
        convolution(32, 32, 3, padding=1), (8, 16, 16, 32), ("conv2d.backward", "winograd"), nan_at(1, 2, 3, 4)
    ),
    "convolution, backward": Case(
        convolution(16, 16, 3, padding=1), (4, 9, 9, 16), ("conv2d.backward", "halide"), infinite_weight
    ),
    "transposed convolution": Case(
        lambda: ConvTranspose2d(16, 16, 3, padding=1, bias=False).init(np.random.default_rng(0)),
        (3, 8, 8, 16),
        ("conv_transpose2d.forward", "halide"),
        infinite_weight,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_finite(name: str) -> None:
    """The derivatives by inputs too, which are kept; and the step after it is right again."""
    case = CASES[name]
    model = case.make()
    other = copy.deepcopy(model)
    compiled: Compiled[Any, Any, Any] = Compiled(model, "inputs", told=pytest.fail)
    before = {key: array.copy() for key, array in model.named_parameters().items()}

    def step(seed: int, broken: bool) -> None:
        x = numbers(*case.shape, seed=seed)
        if broken:
            case.breaks(model, x)
            case.breaks(other, x.copy())
        with np.errstate(all="ignore"):
            y, wanted = compiled.forward(x), other.forward(x)
            assert_bits(y, wanted, "the output")
            next_grad = numbers(*y.shape, seed=seed + 50)
            assert_gradients(compiled.backward(next_grad), other.backward(next_grad), inputs=True)
        if broken:
            assert not np.isfinite(y).all()
            for each in (model, other):
                for key, array in each.named_parameters().items():
                    array[...] = before[key]

    with counting() as ran:
        step(0, False)
    assert ran[case.ran] > 0
    for seed in range(1, 5):
        step(seed, False)
    step(5, True)
    step(6, False)
    assert compiled.explain().lines
