"""Identity: output and derivative equal their input. Source: "Deep Learning Implementation With Rust", eqs 13-14."""

from typing import final

from jaxtyping import Float

from typednn.layer import A, Elementwise
from typednn.module.gradients import ElementwiseGrad


@final
class Identity(Elementwise[None]):
    """Keeps nothing and computes nothing; a place to put another layer later."""

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        return x

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(next_grad, None)
