"""Layers on the last axis: stacked after rows and sequences with exact types, and refused after images.

Read by mypy --strict and by pyright --strict, never run.
"""

from dataclasses import dataclass
from typing import Any, assert_type, final

from typednn import (
    Array1,
    Array2,
    Array3,
    Array4,
    Chain,
    ElementwiseGrad,
    FirstChain,
    FirstLayer,
    Gradient,
    Input,
    IntArray2,
    Layer,
    Positionwise,
    PositionwiseChain,
    S,
)
from typednn.contracts.operands import Last
from typednn.layer import Rows
from typednn.layers import Conv2d, Conv2dGrad, Flatten, FlattenGrad, Linear, LinearGrad, ReLU, Residual, ResidualGrad


@final
@dataclass(frozen=True)
class MapGrad(Gradient):
    weight: Array2
    bias: Array1


@final
class Map(Positionwise[MapGrad]):
    def __init__(self, in_features: int, out_features: int) -> None: ...

    def forward(self, x: Rows) -> Rows:
        return x

    def backward(self, next_grad: Rows) -> ElementwiseGrad[Rows, MapGrad]:
        raise AssertionError


@final
@dataclass(frozen=True)
class TokensGrad(Gradient):
    input: None
    weight: Array2


@final
class Tokens(FirstLayer[IntArray2, Array3, TokensGrad, S]):
    def forward(self, x: IntArray2) -> Array3:
        raise AssertionError

    def backward(self, next_grad: Array3) -> TokensGrad:
        raise AssertionError


@final
@dataclass(frozen=True)
class SwapGrad(Gradient):
    input: Array3


@final
class Swap(Layer[Array3, Array3, SwapGrad, S]):
    def forward(self, x: Array3) -> Array3:
        raise AssertionError

    def backward(self, next_grad: Array3) -> SwapGrad:
        raise AssertionError


Map2 = ElementwiseGrad[Array2, MapGrad]
Map3 = ElementwiseGrad[Array3, MapGrad]
MapRelu3 = ElementwiseGrad[Array3, tuple[MapGrad, None]]
None2 = ElementwiseGrad[Array2, None]
None3 = ElementwiseGrad[Array3, None]

# ------------------------------------------------------------------ of rank 2 and of rank 3

assert_type(Linear(3, 4) >> Map(4, 5), Chain[Array2, Array2, Last[Map], LinearGrad, Map2])
assert_type(Swap() >> Map(4, 5), Chain[Array3, Array3, Last[Map], SwapGrad, Map3])
assert_type(
    Linear(3, 4) >> ReLU() >> Map(4, 5) >> Linear(5, 2),
    Chain[Array2, Array2, Last[Linear[Any]], LinearGrad, None2, Map2, LinearGrad],
)
assert_type(
    Swap() >> Map(4, 5) >> ReLU() >> Swap(), Chain[Array3, Array3, Last[Swap[Any]], SwapGrad, Map3, None3, SwapGrad]
)
assert_type(Map(4, 5) >> Linear(5, 2), Chain[Array2, Array2, Last[Linear[Any]], Map2, LinearGrad])
assert_type(Map(4, 5) >> Swap(), Chain[Array3, Array3, Last[Swap[Any]], Map3, SwapGrad])
assert_type(Map(4, 5) >> ReLU(), PositionwiseChain[MapGrad, None])
assert_type(ReLU() >> Map(4, 5), PositionwiseChain[None, MapGrad])
assert_type(ReLU() >> ReLU() >> Map(4, 5), PositionwiseChain[None, None, MapGrad])
assert_type(Map(4, 5) >> Map(5, 6) >> ReLU(), PositionwiseChain[MapGrad, MapGrad, None])
assert_type(
    Swap() >> (Map(4, 5) >> ReLU() >> Map(5, 6)),
    Chain[
        Array3,
        Array3,
        Last[PositionwiseChain[MapGrad, None, MapGrad]],
        SwapGrad,
        ElementwiseGrad[Array3, tuple[MapGrad, None, MapGrad]],
    ],
)
assert_type(
    Swap() >> Residual(Map(4, 4) >> ReLU()),
    Chain[
        Array3, Array3, Last[Residual[Array3, MapRelu3, Array3, None]], SwapGrad, ResidualGrad[Array3, MapRelu3, None]
    ],
)
assert_type(
    Map(4, 5) >> ReLU() >> Linear(5, 2),
    Chain[Array2, Array2, Last[Linear[Any]], ElementwiseGrad[Array2, tuple[MapGrad, None]], LinearGrad],
)
assert_type(Input(4) >> Map(4, 5), Chain[Array2, Array2, Last[Map], Map2])
assert_type(Input(7, 4) >> Map(4, 5) >> ReLU(), Chain[Array3, Array3, Last[ReLU], Map3, None3])
assert_type(Input(7, 4) >> ReLU() >> Map(4, 5), Chain[Array3, Array3, Last[Map], None3, Map3])
assert_type(Tokens() >> Map(4, 5), FirstChain[IntArray2, Array3, Last[Map], TokensGrad, Map3])
assert_type(
    Input(7, dtype=int) >> Tokens() >> Map(4, 5) >> ReLU(),
    FirstChain[IntArray2, Array3, Last[ReLU], TokensGrad, Map3, None3],
)
assert_type(Flatten() >> Map(4, 5), Chain[Array4, Array2, Last[Map], FlattenGrad, Map2])
assert_type(
    Map(4, 5) >> Flatten(), Chain[Array3, Array2, Last[Flatten[Array3, Array2, Any]], Map3, FlattenGrad[Array3]]
)
assert_type(Conv2d(1, 6, 5) >> Flatten() >> Map(4, 5), Chain[Array4, Array2, Last[Map], Conv2dGrad, FlattenGrad, Map2])


def gradients(rows: Array2, sequence: Array3, images: Array4) -> None:
    model = Swap() >> Map(4, 5) >> ReLU()
    gradient = model.backward(model.forward(sequence))
    assert_type(gradient.parts[1].input, Array3)
    assert_type(gradient.parts[1].parameters.weight, Array2)
    assert_type(Map(4, 5).forward(rows), Array2)
    assert_type(Map(4, 5)(sequence), Array3)
    assert_type((Map(4, 5) >> ReLU()).backward(sequence).parameters[0].bias, Array1)
    Map(4, 5).forward(images)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    (Map(4, 5) >> ReLU()).forward(images)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    model.forward(rows)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# ------------------------------------------------------------------ refused after images, however they are joined

Conv2d(1, 6, 5) >> Linear(6, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Conv2d(1, 6, 5) >> Map(6, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Conv2d(1, 6, 5) >> ReLU() >> Map(6, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Conv2d(1, 6, 5) >> (ReLU() >> Map(6, 5))  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Conv2d(1, 6, 5) >> (Map(6, 5) >> ReLU())  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Conv2d(1, 6, 5) >> (Map(6, 5) >> Linear(5, 4))  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Conv2d(1, 6, 5) >> (Linear(6, 5) >> ReLU())  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28, 28, 1) >> Linear(1, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28, 28, 1) >> Map(1, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28, 28, 1) >> (Map(1, 5) >> ReLU())  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28, 28, 1) >> ReLU() >> Map(1, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28, 28, 1) >> Conv2d(1, 6, 5) >> Map(6, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Map(6, 5) >> Conv2d(5, 6, 5)  # type: ignore[type-var]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Map(6, 5) >> Flatten(1, 2)  # type: ignore[type-var]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Map(6, 5) >> ReLU() >> Conv2d(5, 6, 5)  # type: ignore[type-var]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Linear(6, 5) >> Map(5, 4) >> Swap()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
# Read from the right, mypy lets a stack through that begins with a layer of several ranks; the plugin and the
# definition do not.
Linear(6, 5) >> (Map(5, 4) >> Swap())  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
