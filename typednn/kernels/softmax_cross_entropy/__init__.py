"""Cross entropy of logits, before its reduction; the target is a label for each row, or a probability
for each class.
"""

from typing import Final

from typednn.engines.cuda import on_gpu
from typednn.kernels.class_targets import one_hot
from typednn.kernels.op import Engine, op
from typednn.kernels.softmax_cross_entropy import cpu, cuda, reference

_TARGET = {"target": "float32 float64 int64"}  # probabilities, or labels

backward: Final = op(
    "softmax_cross_entropy.backward",
    reference.backward,
    Engine("halide", cpu.backward, "logits weight", others=_TARGET, plan=cpu.plan_with_scale),
    Engine("cuda", cuda.backward, "logits weight", sizes=cuda.covers, on=on_gpu),
    flops=8,
)
forward: Final = op(
    "softmax_cross_entropy.forward",
    reference.forward,
    Engine("halide", cpu.forward, "logits weight", others=_TARGET, plan=cpu.plan),
    Engine("cuda", cuda.forward, "logits weight", sizes=cuda.covers, on=on_gpu),
    flops=8,
    keeps="logits target weight",
    backward=backward,
)
forward_and_backward: Final = op(
    "softmax_cross_entropy.forward_and_backward",
    reference.forward_and_backward,
    Engine("halide", cpu.forward_and_backward, "logits weight", others=_TARGET, plan=cpu.plan_with_scale),
    Engine("cuda", cuda.forward_and_backward, "logits weight", sizes=cuda.covers, on=on_gpu),
    flops=10,
)

__all__ = ["backward", "forward", "forward_and_backward", "one_hot"]
