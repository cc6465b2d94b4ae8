"""Recurrent layers: RNN, GRU and LSTM, a whole sequence at a time and one step at a time."""

from typing import Final

from typednn.kernels.op import Engine, flops_of, op
from typednn.kernels.recurrent import cpu, reference
from typednn.kernels.recurrent.cells import Cell

_LENGTHS = {"lengths": "int64 int32 int16 uint8"}

backward: Final = op(
    "recurrent.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad x weight_ih weight_hh kept", others=_LENGTHS, plan=cpu.plan_backward),
    flops=flops_of(
        reference.backward,
        lambda next_grad, x, weight_ih, weight_hh, kept, lengths, cell: (
            4 * x.shape[0] * x.shape[1] * (weight_ih.size + weight_hh.size)
        ),
    ),
)
forward: Final = op(
    "recurrent.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x weight_ih weight_hh bias_ih bias_hh", others=_LENGTHS, plan=cpu.plan),
    flops=flops_of(
        reference.forward,
        lambda x, weight_ih, weight_hh, bias_ih, bias_hh, lengths, cell: (
            2 * x.shape[0] * x.shape[1] * (weight_ih.size + weight_hh.size)
        ),
    ),
    keeps="x weight_ih weight_hh kept lengths",
    backward=backward,
)
step: Final = op(
    "recurrent.step",
    reference.step,
    flops=flops_of(
        reference.step,
        lambda x, weight_ih, weight_hh, bias_ih, bias_hh, hidden, memory, cell: (
            2 * x.shape[0] * (weight_ih.size + weight_hh.size)
        ),
    ),
)

__all__ = ["Cell", "backward", "forward", "step"]
