"""Several affine maps and activations in a row, whose intermediate results are not needed: one kernel for few rows.

y = activation_n(… activation_1(x weight_1ᵀ + bias_1) … weight_nᵀ + bias_n)

x (batch, features_0); ``parameters`` are weight_1 (features_1, features_0), bias_1 (features_1) where the layout says that there is one,
weight_2 and so on. 2·batch·in·out flops for each map.
Source: "Deep Learning Implementation With Rust", eqs 22 and 30-33, chained.
"""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from operator import is_
from typing import Any, Final, final

from typednn.arrays import Array2
from typednn.engines import Array, Kernel, empty, fast, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.activations import Activation
from typednn.kernels.linear import reference, schedules
from typednn.kernels.linear.cpu import FEW_ROWS
from typednn.kernels.op import Engine, op


@final
class Layout:
    """The features before, between and after the maps; whether each has a bias; and its activation.

    ``most_rows``: rows up to which one kernel is quicker; 0 where there is none.
    """

    def __init__(self, features: tuple[int, ...], biased: tuple[bool, ...], activations: tuple[Activation, ...]) -> None:
        self.features: tuple[int, ...] = features
        self.biased: tuple[bool, ...] = biased
        self.activations: tuple[Activation, ...] = activations
        compiled = _kernel[features, biased, activations, FLOAT32]
        self.most_rows: int = FEW_ROWS if compiled else 0
        # The dtype and parameters of the last call, and the kernel that takes them. Replaced whole: threads may call at once.
        self.last: tuple[Any, tuple[Any, ...], Kernel | None] = (FLOAT32, (None,), compiled)

    def __reduce__(self) -> Any:
        return Layout, (self.features, self.biased, self.activations)


@specialised("linear.chain")
def _kernel(features: tuple[int, ...], biased: tuple[bool, ...], activations: tuple[Activation, ...], dtype: Any) -> Kernel | None:
    """None where a map has so many weights that several threads pay."""
    weights = list(zip(features[1:], features, strict=False))
    if any(after * before > schedules.WEIGHTS for after, before in weights):
        return None
    shapes = [shape for weight, bias in zip(weights, biased, strict=True) for shape in ((weight, weight[:1]) if bias else (weight,))]
    return kernel(
        "linear.chain",
        schedules.chain,
        inputs=(Array("batch", features[0]), *(Array(*shape, parameter=True) for shape in shapes)),
        outputs=(Array("batch", features[-1]),),
        options={"features": features, "biased": biased, "activations": activations},
        dtype=dtype,
    )


def _reference(x: Array2, layout: Layout, *parameters: Any) -> Array2:
    """y (batch, features_n)."""
    rest = iter(parameters)
    for biased, activation in zip(layout.biased, layout.activations, strict=True):
        x = reference.forward(x, next(rest), next(rest) if biased else None, activation)
    return x


def _plan(x: Array2, layout: Layout, *parameters: Any) -> Kernel | None:
    """The kernel, where it is quicker and takes the parameters. Parameters are checked only when they are not those of the last call."""
    if x.shape[0] > layout.most_rows:
        return None
    dtype, last_parameters, compiled = layout.last
    if x.dtype is not dtype or not all(map(is_, parameters, last_parameters)):
        if not fast(x, *parameters):
            return None
        compiled = _kernel[layout.features, layout.biased, layout.activations, x.dtype]
        layout.last = x.dtype, parameters, compiled
    return compiled


def _run(planned: Kernel, x: Array2, layout: Layout, *parameters: Any) -> Array2:
    """y, by one kernel."""
    y: Array2 = empty((x.shape[0], layout.features[-1]), x.dtype)
    planned.call(x, *parameters, y)
    return y


chain: Final = op(
    "linear.chain",
    _reference,
    Engine("halide", _run, "x", plan=_plan),
    flops=lambda x, layout, *parameters: 2 * x.shape[0] * sum(array.size for array in parameters if array.ndim == 2),
)
