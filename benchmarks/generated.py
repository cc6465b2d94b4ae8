"""Ops whose kernels are written by hand, beside the kernels that the graph makes of the same formulas:
``python -m benchmarks.generated``.

Rows: softmax, log-softmax, layer, RMS, group and batch norm, GLU and PReLU, forward and backward, for few and many
numbers. Each layer and its formula become plans (`typednn.compile`), whose results are compared first; then the plans'
calls alternate, and a time is the sum of the medians of a half's calls, ``least`` that of the fastest. A ratio is the
formula's time over the layer's: below 1.05 the generated kernel could take the other's place. ``--runs`` says how often
each is timed, ``--rows`` selects layers. The exit code is 1 if results disagree.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchmarks.machine import LEFT_OUT, described

for _name in LEFT_OUT:  # before NumPy and typednn are imported
    os.environ.pop(_name, None)

import numpy as np  # noqa: E402
from jaxtyping import Float  # noqa: E402

import typednn  # noqa: E402
from typednn import Array1, Array2, Gradient, GraphElementwise, GraphLayer, Parameter, S, layers  # noqa: E402
from typednn.graph import (  # noqa: E402
    AnyTensor,
    Tensor2,
    batch_norm,
    group_norm,
    layer_norm,
    log_softmax,
    maximum,
    minimum,
    rms_norm,
    sigmoid,
    softmax,
    tensor,
)

AGREEMENT = 2e-5  # of an array's largest number


@final
class Plain(GraphElementwise[None]):
    """A formula without parameters."""

    def __init__(self, of: Callable[[Any], Any]) -> None:
        self.of: Callable[[Any], Any] = of

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        y: AnyTensor = self.of(x)
        return y


@final
@dataclass(frozen=True, slots=True)
class LearntGrad(Gradient):
    """The derivatives by the parameters."""

    weight: Float[Array1, " _"]
    bias: Float[Array1, " _"]


@final
class Learnt(GraphElementwise[LearntGrad]):
    """A formula with a weight and a bias."""

    weight: Parameter[Float[Array1, " {self.features}"]]
    bias: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int, of: Callable[[Any, Any, Any], Any]) -> None:
        self.features: int = features
        self.of: Callable[[Any, Any, Any], Any] = of

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        y: AnyTensor = self.of(x, tensor(self.weight), tensor(self.bias))
        return y


@final
@dataclass(frozen=True, slots=True)
class WeightGrad(Gradient):
    """The derivative by the parameter."""

    weight: Float[Array1, " _"]


@final
class Weighted(GraphElementwise[WeightGrad]):
    """A formula with a weight."""

    weight: Parameter[Float[Array1, " {self.features}"]]

    def __init__(self, features: int, of: Callable[[Any, Any], Any]) -> None:
        self.features: int = features
        self.of: Callable[[Any, Any], Any] = of

    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        y: AnyTensor = self.of(x, tensor(self.weight))
        return y


@final
@dataclass(frozen=True, slots=True)
class GatedGrad(Gradient):
    """The derivative by the input."""

    input: Float[Array2, "batch _"]


@final
class Gated(GraphLayer[Array2, Array2, GatedGrad, S]):
    """GLU's formula."""

    def formula(self, x: Float[Tensor2, "batch _"]) -> Float[Tensor2, "batch _"]:
        half = x.shape[1] // 2
        return x[:, :half] * sigmoid(x[:, half:])


Made = Callable[[int], tuple[Any, Any]]  # of features: the layer and its formula
_ROWS: tuple[tuple[int, ...], ...] = ((64, 10), (600, 10), (768, 128), (256, 768), (4096, 1024))
_IMAGES: tuple[tuple[int, ...], ...] = ((8, 28, 28, 16), (32, 28, 28, 64))
WORKS: dict[str, tuple[Made, tuple[tuple[int, ...], ...]]] = {
    "Softmax": (lambda n: (layers.Softmax(), Plain(softmax)), _ROWS),
    "LogSoftmax": (lambda n: (layers.LogSoftmax(), Plain(log_softmax)), _ROWS),
    "LayerNorm": (lambda n: (layers.LayerNorm(n), Learnt(n, lambda x, w, b: layer_norm(x, w, b, 1e-5))), _ROWS),
    "RMSNorm": (lambda n: (layers.RMSNorm(n, 1e-6), Weighted(n, lambda x, w: rms_norm(x, w, 1e-6))), _ROWS),
    "GLU": (lambda n: (layers.GLU(), Gated()), _ROWS),
    "PReLU": (
        lambda n: (layers.PReLU(init=0.2), Weighted(1, lambda x, w: maximum(x, 0.0) + minimum(x, 0.0) * w)),
        _ROWS,
    ),
    "GroupNorm, 8 groups": (
        lambda n: (layers.GroupNorm(8, n), Learnt(n, lambda x, w, b: group_norm(x, 8, w, b, 1e-5))),
        _IMAGES,
    ),
    "BatchNorm2d": (
        lambda n: (
            layers.BatchNorm2d(n, track_running_stats=False),
            Learnt(n, lambda x, w, b: batch_norm(x, w, b, 1e-5)),
        ),
        _IMAGES,
    ),
}


def _trained(model: Any, x: Any, next_grad: Any) -> tuple[Any, list[Any]]:
    """The model's plan, and its results: the output, the derivatives."""
    compiled: Any = typednn.compile(model.train(), keep="inputs")
    for _ in range(3):
        compiled.forward(x)
        compiled.backward(next_grad)
    y, grad = compiled.forward(x), compiled.backward(next_grad)
    if why := compiled.why_not():
        sys.exit(f"{model!r} has no plan: {why}")
    planned = next(iter(compiled._planned.values()))
    return planned.plan, [y, grad.input, *model.named_gradients(grad).values()]


def measured(name: str, made: Made, shape: tuple[int, ...], runs: int) -> bool:
    """Print a row; False where results disagree."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape, np.float32)
    by_hand, formula = made(shape[-1])
    by_hand.init(rng)
    formula.init(rng)
    for own, other in zip(by_hand.named_parameters().values(), formula.named_parameters().values(), strict=True):
        other[...] = own
    next_grad = rng.standard_normal(by_hand.eval().forward(x).shape, np.float32)
    plans, results = zip(*(_trained(model, x, next_grad) for model in (by_hand, formula)), strict=True)
    far = [float(np.abs(a - b).max() / max(float(np.abs(a).max()), 1e-30)) for a, b in zip(*results, strict=True)]
    text = " × ".join(map(str, shape))
    if max(far) > AGREEMENT:
        print(f"{name:22}{text:18} results differ by {max(far):.1e}")
        return False
    samples = [[plan.timed(x, next_grad) for plan in plans] for _ in range(runs)]
    cells: list[str] = []
    for half in ("forward", "backward"):
        hand, generated = (np.array([pair[place][half] for pair in samples]) for place in range(2))
        middle = [float(np.median(each, axis=0).sum()) * 1e6 for each in (hand, generated)]
        least = [float(each.min(axis=0).sum()) * 1e6 for each in (hand, generated)]
        cells.append(f"{middle[0]:9.1f}{middle[1]:9.1f}{middle[1] / middle[0]:7.2f}{least[1] / least[0]:7.2f}")
    print(f"{name:22}{text:18}{cells[0]}   {cells[1]}", flush=True)
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where results disagree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generated", description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=[*WORKS], default=[*WORKS], help="some of the layers")
    parser.add_argument("--runs", type=int, default=300, help="of each plan (default: 300)")
    options = parser.parse_args(arguments)
    print(described())
    print(f"{'layer':22}{'shape':18}{'forward: by hand, generated µs':>25}  ratio  least   backward: the same")
    fine = [
        measured(name, made, shape, options.runs)
        for name, (made, shapes) in WORKS.items()
        if name in options.rows
        for shape in shapes
    ]
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
