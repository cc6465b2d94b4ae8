"""Activations as values: what a kernel that ends in one has to know of it.

==============  ====================  =====================================
name            y                     dz, from dy and y
==============  ====================  =====================================
``identity``    z                     dy
``relu``        max(z, 0)             dy where y > 0, else 0
``leaky_relu``  z or slope·z          dy where y > 0, else slope·dy
``sigmoid``     1 / (1 + exp(-z))     dy·y·(1 - y)
``tanh``        tanh(z)               dy·(1 - y²)
==============  ====================  =====================================

The formulas are those of the ops of these names; backward needs the output alone. Write dz as `gradient_expression` and `backward` do,
not as dy times a slope: where ReLU stops an infinite dy, or rounding makes the slope of tanh 0, the product would be NaN.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from typednn.kernels import leaky_relu, relu, sigmoid, tanh

Name: TypeAlias = Literal["identity", "relu", "leaky_relu", "sigmoid", "tanh"]

_OPS: dict[str, Any] = {"relu": relu, "leaky_relu": leaky_relu, "sigmoid": sigmoid, "tanh": tanh}


class Activation(NamedTuple):
    """An elementwise function without parameters; ``slope`` is what LeakyReLU multiplies negative numbers by."""

    name: Name
    slope: float = 0.0

    @property
    def monotone(self) -> bool:
        """Whether it never falls: the largest number stays the largest, and the sign of y is that of z. Backward from y needs it."""
        return self.name != "leaky_relu" or self.slope >= 0

    @property
    def dear(self) -> bool:
        """Whether it takes an exponential."""
        return self.name in ("sigmoid", "tanh")

    # ------------------------------------------------------------------ in kernels: Halide expressions of float32, NaN kept

    def expression(self, hl: Any, z: Any) -> Any:
        """y at ``z``."""
        return z if self.name == "identity" else _OPS[self.name].cpu.value(hl, z, *map(hl.f32, self._numbers()))

    def gradient_expression(self, hl: Any, next_grad: Any, y: Any) -> Any:
        """dz from ``next_grad`` and ``y``."""
        return next_grad if self.name == "identity" else _OPS[self.name].cpu.passed(hl, next_grad, y, *map(hl.f32, self._numbers()))

    # ------------------------------------------------------------------ in references: arrays of any kind and dtype

    def forward(self, z: Any) -> Any:
        """y, shaped like z; z itself for ``identity``."""
        return z if self.name == "identity" else _OPS[self.name].reference.forward(z, *self._numbers())

    def backward(self, next_grad: Any, y: Any) -> Any:
        """dz, shaped like y."""
        return next_grad if self.name == "identity" else _OPS[self.name].reference.backward(next_grad, y, *self._numbers())

    def _numbers(self) -> tuple[float, ...]:
        return (self.slope,) if self.name == "leaky_relu" else ()


IDENTITY = Activation("identity")
RELU = Activation("relu")

__all__ = ["IDENTITY", "RELU", "Activation", "Name"]
