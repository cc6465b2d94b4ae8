"""LSTM: a recurrent layer with a memory that gates write, keep and show.

i, f, o = σ(x_t W_ihᵀ + b_ih + h_(t-1) W_hhᵀ + b_hh)    g = tanh(…)    c_t = f·c_(t-1) + i·g    h_t = o·tanh(c_t)
y_t = h_t

x (batch, time, input_size)    y (batch, time, hidden_size)    weight_ih (4·hidden, input)
weight_hh (4·hidden, hidden)    biases (4·hidden)
The state before the first step is 0. Blocks of the parameters are i, f, g, o, in this order. Keeps x, by reference, and
of each step six numbers for each of hidden_size. 8·batch·time·hidden·(input + hidden) flops forward, twice that
backward.
Source: Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", with the forget gate of Gers et al. 2000; formulas,
order of the gates and initial values of torch.nn.LSTM, whose weight_ih_l0 is weight_ih here. Its layers and directions
are layers of their own: stack them.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Integer

from typednn.arguments import integer
from typednn.arrays import Array1, Array2, Array3, IntArray1
from typednn.contracts.protocols import Incremental
from typednn.contracts.ranges import check_range
from typednn.kernels import recurrent
from typednn.layer import Layer, S
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import Gradient
from typednn.random import Rng, Uniform


@final
@dataclass(frozen=True, slots=True)
class LSTMGrad(Gradient, inputs=("input", "lengths"), relations=("gates == 4*hidden_size",)):
    """The loss's derivative by each quantity, under that quantity's own name; lengths have none."""

    input: Float[Array3, "batch time input_size"]
    lengths: None
    weight_ih: Float[Array2, "gates input_size"]
    weight_hh: Float[Array2, "gates hidden_size"]
    bias_ih: Float[Array1, " gates"] | None
    bias_hh: Float[Array1, " gates"] | None


@final
class LSTM(Layer[Array3, Array3, LSTMGrad, S], Incremental[tuple[Array2, Array2]]):
    """Whole sequences; ``step`` reads one position, its state is (hidden, memory).

    ``lengths`` of the sequences: from there on a sequence is padding, which is not read, and gives zeros.
    """

    weight_ih: Parameter[Float[Array2, "4*{self.hidden_size} {self.input_size}"]]
    weight_hh: Parameter[Float[Array2, "4*{self.hidden_size} {self.hidden_size}"]]
    bias_ih: Parameter[Float[Array1, "4*{self.hidden_size}"] | None]
    bias_hh: Parameter[Float[Array1, "4*{self.hidden_size}"] | None]
    _x: Kept[Float[Array3, "batch time {self.input_size}"]]
    _lengths: Kept[Integer[IntArray1, " batch"] | None]
    _kept: Kept[Float[Array3, "time+1 batch 6*{self.hidden_size}"]]

    def __init__(self, input_size: int, hidden_size: int, *, bias: bool = True, rng: Rng | None = None) -> None:
        self.input_size: int = integer("LSTM", "input_size", input_size)
        self.hidden_size: int = integer("LSTM", "hidden_size", hidden_size)
        bound = self.hidden_size**-0.5
        self.initialise_with(**dict.fromkeys(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), Uniform(-bound, bound)))
        if not bias:
            self.bias_ih = self.bias_hh = None
        if rng is not None:
            self.init(rng)

    def forward(
        self, x: Float[Array3, "batch time {self.input_size}"], lengths: Integer[IntArray1, " batch"] | None = None
    ) -> Float[Array3, "batch time {self.hidden_size}"]:
        check_range(self, "lengths", lengths, 1, x.shape[1])
        y, kept = recurrent.forward(x, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, lengths, "lstm")
        self._x, self._lengths, self._kept = x, lengths, kept
        return y

    def backward(self, next_grad: Float[Array3, "batch time {self.hidden_size}"]) -> LSTMGrad:
        dx, dweight_ih, dweight_hh, dbias_ih, dbias_hh = recurrent.backward(
            next_grad, self._x, self.weight_ih, self.weight_hh, self._kept, self._lengths, "lstm"
        )
        biases = (None, None) if self.bias_ih is None else (dbias_ih, dbias_hh)
        return LSTMGrad(dx, None, dweight_ih, dweight_hh, *biases)

    def step(
        self,
        x: Float[Array2, "batch {self.input_size}"],
        state: tuple[Float[Array2, "batch {self.hidden_size}"], Float[Array2, "batch {self.hidden_size}"]]
        | None = None,
    ) -> tuple[
        Float[Array2, "batch {self.hidden_size}"],
        tuple[Float[Array2, "batch {self.hidden_size}"], Float[Array2, "batch {self.hidden_size}"]],
    ]:
        hidden, memory = (None, None) if state is None else state
        hidden, memory = recurrent.step(
            x, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, hidden, memory, "lstm"
        )
        return hidden, (hidden, memory)
