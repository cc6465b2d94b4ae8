"""Activations as values, for kernels that apply one to their result.

The formulas are those of `typednn.kernels.pointwise`. Backward needs the output y alone, as y has the sign of x. Write
dz as `gradient_expression` and `backward` do, not as dy times a slope: where ReLU's slope is 0 or rounding makes that
of tanh 0, an infinite dy would give NaN.
"""

from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from jaxtyping import Float

from typednn.arrays import AnyArray, Array1, namespace
from typednn.engines import hl
from typednn.engines.cuda_formula import CudaFormula
from typednn.kernels import pointwise

X = TypeVar("X", bound=AnyArray)
Name: TypeAlias = Literal["identity", "relu", "leaky_relu", "sigmoid", "tanh"]


class Activation(NamedTuple):
    """A pointwise op of one array; ``slope`` is what LeakyReLU multiplies negative numbers by."""

    name: Name
    slope: float = 0.0

    @property
    def monotone(self) -> bool:
        """Whether it is non-decreasing: the largest number stays the largest, and y has the sign of z. Backward from y
        needs this.
        """
        return self.name != "leaky_relu" or self.slope >= 0

    @property
    def uses_exp(self) -> bool:
        """Whether it takes an exponential."""
        return self._formulas[0].uses_exp

    # ------------------------------------------------------------------ in kernels: Halide expressions, NaN kept

    def expression(self, z: "hl.Expr") -> "hl.Expr":
        """y at ``z``."""
        y: hl.Expr = self._formulas[0].on_numbers(z, *self._numbers)
        return y

    def gradient_expression(self, next_grad: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
        """dz from ``next_grad`` and ``y``."""
        dz: hl.Expr = self._formulas[1].on_numbers(next_grad, y, *self._numbers)
        return dz

    # ------------------------------------------------------------------ in references: arrays of any kind and dtype

    def forward(self, z: Float[X, "*shape"]) -> Float[X, "*shape"]:
        """y; z itself for ``identity``."""
        y: X = self.on_arrays(namespace(z), z)
        return y

    def backward(self, next_grad: Float[X, "*shape"], y: Float[AnyArray, "*shape"] | None) -> Float[X, "*shape"]:
        """dz."""
        dz: X = self.derivative_on_arrays(namespace(next_grad), next_grad, y)
        return dz

    def on_arrays(self, xp: Any, z: Any) -> Any:
        """y, by the functions of ``xp``."""
        return self._formulas[0].on_arrays(xp, z, *self._numbers)

    def derivative_on_arrays(self, xp: Any, next_grad: Any, y: Any) -> Any:
        """dz, by the functions of ``xp``."""
        return self._formulas[1].on_arrays(xp, next_grad, y, *self._numbers)

    # ------------------------------------------------------------------ on a GPU: a kernel each

    def with_bias(
        self, z: Float[X, "*batch features"], bias: Float[Array1, " features"] | None
    ) -> Float[X, "*batch features"]:
        """y of z + bias."""
        if bias is not None:
            y: X = _cuda_kernels(self).of_sum.run(z, bias)
            return y
        return z if self.name == "identity" else _cuda_kernels(self).alone.run(z)

    def derivative(self, next_grad: Float[X, "*shape"], y: Float[AnyArray, "*shape"] | None) -> Float[X, "*shape"]:
        """dz."""
        return next_grad if self.name == "identity" else _cuda_kernels(self).derivative.run(next_grad, y)

    @property
    def _formulas(self) -> tuple[pointwise.Formula, pointwise.Formula]:
        row: pointwise.Pointwise = getattr(pointwise, self.name)
        return row.formulas

    @property
    def _numbers(self) -> tuple[float, ...]:
        return (self.slope,) if self.name == "leaky_relu" else ()


class _CudaKernels(NamedTuple):
    of_sum: CudaFormula
    alone: CudaFormula
    derivative: CudaFormula


@cache
def _cuda_kernels(activation: Activation) -> _CudaKernels:
    """Of y from z and a bias, of y from z, and of dz from dy and y."""

    def of_sum(xp: Any, z: Any, bias: Any) -> Any:
        return activation.on_arrays(xp, z + bias)

    return _CudaKernels(
        CudaFormula(f"{activation.name}_with_bias", of_sum, 1, columns=1),
        CudaFormula(f"{activation.name}_alone", activation.on_arrays, 1),
        CudaFormula(f"{activation.name}_derivative", activation.derivative_on_arrays, 2),
    )


IDENTITY = Activation("identity")
RELU = Activation("relu")
