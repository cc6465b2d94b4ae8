"""A layer of one's own that reads square images, on images that are not."""

from dataclasses import dataclass

from jaxtyping import Float

from typednn import Array4, Gradient, Input, Layer, S


@dataclass(frozen=True)
class ImagesGrad(Gradient):
    input: Float[Array4, "batch side side channels"]


class Transposed(Layer[Array4, Array4, ImagesGrad, S]):
    def forward(self, x: Float[Array4, "batch side side channels"]) -> Float[Array4, "batch side side channels"]:
        return x.transpose(0, 2, 1, 3)

    def backward(self, next_grad: Float[Array4, "batch side side channels"]) -> ImagesGrad:
        return ImagesGrad(next_grad.transpose(0, 2, 1, 3))


model = Input(7, 8, 1) >> Transposed()  # shape: expects side to be 7, gets 8
