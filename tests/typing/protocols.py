"""Objects that derive from nothing, between layers and in fit; Protocols whose parameters an implementer names as it
likes.

Read by mypy --strict and by pyright --strict, never run. P-P1, P-P10.
"""

from dataclasses import dataclass
from typing import Any, assert_type

from jaxtyping import Float

from typednn import (
    AnyArray,
    Array2,
    Array4,
    Backward,
    Chain,
    DynLayer,
    ElementwiseChain,
    ElementwiseGrad,
    Forward,
    Gradient,
    Input,
    Loss,
    Optimizer,
    Sequential,
    Stack,
    Update,
)
from typednn.contracts.operands import Last
from typednn.data import Loader
from typednn.layers import Conv2d, Linear, LinearGrad, ReLU
from typednn.losses import MSE
from typednn.optim import SGD
from typednn.training import fit


@dataclass(frozen=True)
class OwnGrad(Gradient):
    input: Array2
    weight: Array2


class Renamed(Forward[Array2, Array2], Backward[Array2, Array2], Update[OwnGrad]):
    """Every parameter has another name than the Protocol's."""

    def forward(self, rows: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        return rows

    def backward(self, dy: Float[Array2, "batch features"]) -> OwnGrad:
        return OwnGrad(dy, dy)

    def update(self, rule: Optimizer, given: OwnGrad) -> None: ...


class RenamedLoss(Loss[Array2, Array2]):
    def loss_grad(self, scores: Float[Array2, "batch n"], wanted: Float[Array2, "batch n"]) -> Float[Array2, "batch n"]:
        return scores


class RenamedOptimizer(Optimizer):
    def step(self, values: Float[AnyArray, "*weights"], derivative: Float[AnyArray, "*weights"]) -> None: ...


class Own:
    """Derives from nothing."""

    out_features = 3

    def forward(self, rows: Array2) -> Array2:
        return rows

    def backward(self, dy: Array2) -> OwnGrad:
        return OwnGrad(dy, dy)

    def update(self, rule: Optimizer, given: OwnGrad) -> None: ...


forward: Forward[Array2, Array2] = Own()
backward: Backward[Array2, Array2] = Own()
update: Update[OwnGrad] = Own()
dyn: DynLayer = Own()

# ------------------------------------------------------------------ one operand of >> is typednn's

assert_type(
    Linear(4, 8) >> Own() >> ReLU(),
    Chain[Array2, Array2, Last[ReLU], LinearGrad, OwnGrad, ElementwiseGrad[Array2, None]],
)
assert_type(Own() >> Linear(4, 8), Chain[Array2, Array2, Last[Linear[Any]], OwnGrad, LinearGrad])
assert_type(Renamed() >> Linear(4, 8), Chain[Array2, Array2, Last[Linear[Any]], OwnGrad, LinearGrad])
assert_type(Own() >> ReLU(), Chain[Array2, Array2, Last[ReLU], OwnGrad, ElementwiseGrad[Array2, None]])
assert_type(ReLU() >> Own(), Chain[Array2, Array2, Last[Own], ElementwiseGrad[Array2, None], OwnGrad])
assert_type(ReLU() >> ReLU(), ElementwiseChain[None, None])
assert_type(Input(4) >> Own() >> Linear(4, 8), Chain[Array2, Array2, Last[Linear[Any]], OwnGrad, LinearGrad])
Sequential([Linear(4, 8), Own(), ReLU()])
Sequential({"first": Linear(4, 8), "second": Own()})
Stack([Linear(4, 3), Own(), ReLU()], input=(4,))


def train(data: Loader[Array2, Array2]) -> None:
    fit(Own(), MSE(), SGD(0.1), data, epochs=1)
    fit(Linear(4, 8), MSE(), SGD(0.1), data, epochs=1)
    fit(Linear(4, 8) >> Own(), MSE(), SGD(0.1), data, epochs=1)
    fit(SGD(0.1), MSE(), SGD(0.1), data, epochs=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# ------------------------------------------------------------------ refused


class OtherRank(Forward[Array2, Array2]):
    def forward(self, rows: Array4) -> Array2:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        raise AssertionError


class NoInput(Backward[Array2, Array2]):
    def backward(self, dy: Array2) -> Array2:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return dy


class Half:
    def forward(self, rows: Array2) -> Array2:
        return rows


Conv2d(1, 6, 5) >> Own()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Own() >> Conv2d(1, 6, 5)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Linear(4, 8) >> Half()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Half() >> Linear(4, 8)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
Own() >> Own()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
