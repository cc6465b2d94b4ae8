"""One page of types: everything that a layer can be, stacked, and revealed exactly; and what must be refused.

Read by mypy --strict and by pyright --strict, never run. A line that must be refused says so in a comment that both
checkers need: mypy refuses an ignore that is not necessary, and so does pyright. P-T1, P-P1, P-P3, P-P4, Z-D6.
"""

from dataclasses import dataclass
from typing import Any, assert_type, final

from typednn import (
    Array1,
    Array2,
    Array3,
    Array4,
    Chain,
    ChainGrad,
    Elementwise,
    ElementwiseChain,
    ElementwiseGrad,
    FirstChain,
    FirstLayer,
    Gradient,
    Input,
    IntArray2,
    Layer,
    MultiInput,
    S,
)
from typednn.contracts.operands import Last
from typednn.layer import A
from typednn.layers import PerPosition, PerPositionGrad, Residual, ResidualGrad

# ------------------------------------------------------------------ toys, one of each kind


@final
@dataclass(frozen=True)
class RowsGrad(Gradient):
    input: Array2
    weight: Array2
    bias: Array1


@final
class Rows(Layer[Array2, Array2, RowsGrad, S]):
    def __init__(self, in_features: int, out_features: int) -> None: ...
    def forward(self, x: Array2) -> Array2:
        return x

    def backward(self, next_grad: Array2) -> RowsGrad:
        raise AssertionError


@final
@dataclass(frozen=True)
class ImagesGrad(Gradient):
    input: Array4
    weight: Array4


@final
class Images(Layer[Array4, Array4, ImagesGrad, S]):
    def forward(self, x: Array4) -> Array4:
        return x

    def backward(self, next_grad: Array4) -> ImagesGrad:
        raise AssertionError


@final
@dataclass(frozen=True)
class FlatGrad(Gradient):
    input: Array4


@final
class Flat(Layer[Array4, Array2, FlatGrad, S]):
    def forward(self, x: Array4) -> Array2:
        raise AssertionError

    def backward(self, next_grad: Array2) -> FlatGrad:
        raise AssertionError


@final
class Positive(Elementwise[None]):
    def forward(self, x: A) -> A:
        return x

    def backward(self, next_grad: A) -> ElementwiseGrad[A, None]:
        raise AssertionError


@final
@dataclass(frozen=True)
class SlopeGrad(Gradient):
    slope: Array1


@final
class Sloped(Elementwise[SlopeGrad]):
    def forward(self, x: A) -> A:
        return x

    def backward(self, next_grad: A) -> ElementwiseGrad[A, SlopeGrad]:
        raise AssertionError


@final
@dataclass(frozen=True)
class TokensGrad(Gradient):
    input: None
    weight: Array2


@final
class Tokens(FirstLayer[IntArray2, Array3, TokensGrad, S]):
    """Integers have no derivative: first in a chain only."""

    def forward(self, x: IntArray2) -> Array3:
        raise AssertionError

    def backward(self, next_grad: Array3) -> TokensGrad:
        raise AssertionError


@final
@dataclass(frozen=True)
class PairGrad(Gradient, inputs=("left", "right")):
    left: Array2
    right: Array2
    weight: Array2


@final
class Pair(MultiInput[Array2, PairGrad]):
    """Two inputs, a field for each."""

    def forward(self, left: Array2, right: Array2) -> Array2:
        raise AssertionError

    def backward(self, next_grad: Array2) -> PairGrad:
        raise AssertionError


@final
@dataclass(frozen=True)
class BlockGrad(Gradient):
    input: Array3
    attention: ResidualGrad[Array3, PerPositionGrad[RowsGrad]]
    mlp: ResidualGrad[Array3, PerPositionGrad[ChainGrad[Array2, RowsGrad, ElementwiseGrad[Array2, None], RowsGrad]]]


@final
class Block(Layer[Array3, Array3, BlockGrad, S]):
    """A toy transformer block, written by hand."""

    def __init__(self, n: int) -> None:
        self.attention = Residual(PerPosition(Rows(n, n)))
        self.mlp = Residual(PerPosition(Rows(n, 4 * n) >> Positive() >> Rows(4 * n, n)))

    def forward(self, x: Array3) -> Array3:
        return self.mlp.forward(self.attention.forward(x))

    def backward(self, next_grad: Array3) -> BlockGrad:
        mlp = self.mlp.backward(next_grad)
        attention = self.attention.backward(mlp.input)
        return BlockGrad(attention.input, attention, mlp)


# ------------------------------------------------------------------ stacked, and revealed exactly

Rank2 = ElementwiseGrad[Array2, None]
Rank4 = ElementwiseGrad[Array4, None]

model = Images() >> Positive() >> Images() >> Sloped() >> Flat() >> Rows(4, 5)
assert_type(
    model,
    Chain[
        Array4,
        Array2,
        Last[Rows[Any]],
        ImagesGrad,
        Rank4,
        ImagesGrad,
        ElementwiseGrad[Array4, SlopeGrad],
        FlatGrad,
        RowsGrad,
    ],
)
assert_type(Positive() >> Sloped() >> Positive(), ElementwiseChain[None, SlopeGrad, None])
assert_type(
    Positive() >> Sloped() >> Rows(3, 4),
    Chain[Array2, Array2, Last[Rows[Any]], ElementwiseGrad[Array2, tuple[None, SlopeGrad]], RowsGrad],
)
assert_type(
    Input(28, 28, 1) >> Images() >> Positive() >> Flat(),
    Chain[Array4, Array2, Last[Flat[Any]], ImagesGrad, Rank4, FlatGrad],
)
assert_type(Input(28) >> Positive() >> Rows(28, 4), Chain[Array2, Array2, Last[Rows[Any]], Rank2, RowsGrad])
tokens = Input(32, dtype=int) >> Tokens() >> Block(3) >> Residual(Block(3)) >> PerPosition(Rows(3, 3))
assert_type(
    tokens,
    FirstChain[
        IntArray2,
        Array3,
        Last[PerPosition[RowsGrad, Any]],
        TokensGrad,
        BlockGrad,
        ResidualGrad[Array3, BlockGrad],
        PerPositionGrad[RowsGrad],
    ],
)
once = Rows(3, 3)
assert_type(once >> Positive() >> once.shared(), Chain[Array2, Array2, Last[Rows[Any]], RowsGrad, Rank2, RowsGrad])
nested = Rows(2, 3) >> (Rows(3, 3) >> Rows(3, 4))
assert_type(
    nested,
    Chain[
        Array2,
        Array2,
        Last[Chain[Array2, Array2, Last[Rows[Any]], RowsGrad, RowsGrad]],
        RowsGrad,
        ChainGrad[Array2, RowsGrad, RowsGrad],
    ],
)


def gradients(images: Array4, rows: Array2, sequence: Array3, ids: IntArray2) -> None:
    assert_type(model.forward(images), Array2)
    assert_type(model(images), Array2)
    gradient = model.backward(rows)
    assert_type(gradient.input, Array4)
    assert_type(gradient.parts[0].weight, Array4)
    assert_type(gradient.parts[1].input, Array4)
    assert_type(gradient.parts[3].parameters.slope, Array1)
    assert_type(gradient.parts[5].weight, Array2)
    assert_type((gradient + gradient).parts[5].bias, Array1)
    assert_type((gradient * 0.5).parts[0], ImagesGrad)
    assert_type(tokens.forward(ids), Array3)
    assert_type(tokens.backward(sequence).input, None)
    assert_type(tokens.backward(sequence).parts[1].mlp.inner.inner.parts[2].weight, Array2)
    assert_type(Pair().backward(rows).left, Array2)
    assert_type(Positive().forward(images), Array4)
    assert_type(Positive()(rows), Array2)

    # ------------------------------------------------------------------ refused: what is handed to them
    model.forward(rows)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    model.backward(images)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    tokens.forward(rows)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gradient.weight  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gradient.parts[4].weight  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    gradient.input = images  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    gradient + Rows(3, 4).backward(rows)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


# ------------------------------------------------------------------ refused: stacks

Images() >> Rows(3, 4)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Images() >> Positive() >> Rows(3, 4)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Flat() >> Images()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Rows(3, 4) >> Tokens()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Rows(3, 4) >> Pair()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Pair() >> Rows(3, 4)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Rows(3, 4) >> Rows  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28) >> Images()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28) >> Positive() >> Images()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(28, 28, 1) >> Tokens()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Input(1, 2, 3, 4)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
Input("28")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
Residual(Flat())  # type: ignore[misc]  # pyright: ignore[reportCallIssue, reportArgumentType]
PerPosition(Images())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

# ------------------------------------------------------------------ refused: classes that break a Protocol's promise


class WrongInputGradient(Layer[Array2, Array2, ImagesGrad, S]):
    def forward(self, x: Array2) -> Array2:
        return x

    # mypy alone compares a method with all base classes; at run time the class definition fails for users of pyright
    # too.
    def backward(self, next_grad: Array2) -> ImagesGrad:  # type: ignore[override]
        raise AssertionError


class WrongForward(Layer[Array2, Array2, RowsGrad, S]):
    def forward(self, x: Array4) -> Array2:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        raise AssertionError

    def backward(self, next_grad: Array2) -> RowsGrad:
        raise AssertionError


class NoBackward(Layer[Array2, Array2, RowsGrad, S]):
    def forward(self, x: Array2) -> Array2:
        return x


NoBackward()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]
