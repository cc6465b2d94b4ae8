"""GLU: one half of the features, each gated by its partner in the other half.

y = a σ(b), x = [a, b]       da = dy σ(b)       db = dy a σ(b)(1 - σ(b))       σ(x) = 1/(1 + exp(-x))

x (batch, features) or (batch, time, features), features even   y likewise with half the features
Keeps x, by reference.
Source: Dauphin, Fan, Auli and Grangier 2017, "Language Modeling with Gated Convolutional Networks", equation 1;
torch.nn.GLU.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray, Array2
from typednn.errors import StackError, explain
from typednn.kernels import glu
from typednn.kernels.reshape import reshape
from typednn.layer import Positionwise, Rows
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad
from typednn.shapes import Flow


@final
class GLU(Positionwise[None]):
    """Over the last axis, after a layer that gives twice as many features as are wanted."""

    _x: Kept[Float[AnyArray, "*batch features"]]

    def trace(self, flow: Flow) -> Flow:
        size = None if flow.shape is None else flow.shape[-1]
        features = None if size is None else size.value
        if features is not None and features % 2:
            rule, cure = "the number of features must be even, for two halves", f"give it {features + 1}"
            raise StackError(
                explain(self.label(), rule, str(features), cure),
                "size",
                axis="features",
                expected="even",
                got=str(features),
            )
        return super().trace(flow)

    def forward(self, x: Float[Rows, "*batch features"]) -> Float[Rows, "*batch features//2"]:
        self._x = x
        y: Rows = reshape(glu.forward(_rows(x)), (*x.shape[:-1], x.shape[-1] // 2))
        return y

    def backward(self, next_grad: Float[Rows, "*batch half"]) -> ElementwiseGrad[Rows, None]:
        dx: Rows = reshape(glu.backward(_rows(next_grad), _rows(self._x)), self._x.shape)
        return ElementwiseGrad(dx, None)


def _rows(x: Float[AnyArray, "*batch features"]) -> Float[Array2, "rows features"]:
    """Every position as a row."""
    rows: Array2 = reshape(x, (-1, x.shape[-1]))
    return rows
