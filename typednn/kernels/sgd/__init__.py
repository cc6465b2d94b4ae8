"""SGD: a step against the gradient, with momentum if wanted."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.engines.cuda import on_gpu
from typednn.kernels.op import Engine, op
from typednn.kernels.sgd import cpu, cuda, reference


def _keeps_velocity(weights: object, grad: object, velocity: object, lr: float, momentum: float, *_: object) -> bool:
    return velocity is not None or momentum == 0


step: Final = op(
    "sgd.step",
    reference.step,
    Engine("halide", cpu.step, "weights grad velocity", aligned=True, sizes=_keeps_velocity),
    Engine("cuda", cuda.step, "weights grad velocity", same_shape=True, sizes=_keeps_velocity, on=on_gpu),
    flops=lambda weights, grad, velocity, *_: (2 if velocity is None else 4) * weights.size,
    writes="weights velocity",
)
