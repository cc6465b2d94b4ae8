"""What a model costs: for each of its layers the parameters, what one sample is after it, the flops and the memory of
that.

Flops are those of the ops that forward runs (`typednn.kernels.op`): each layer is run once, on one sample of ones, in
eval and on its own, so that nothing is fused. A layer that runs no op, such as one of your own in NumPy, has None.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from typednn.engines import observing, using
from typednn.engines.counters import Ran
from typednn.errors import OutOfMemory, TypednnError
from typednn.random import PCG32
from typednn.screen import columns, wrapped
from typednn.shapes import Flow
from typednn.training.evaluation import evaluating


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """Of one layer: its name, its call, ``output`` of one sample, parameters, flops of a sample's forward, bytes of its
    float32 output.
    """

    name: str
    layer: str
    output: tuple[int, ...]
    parameters: int
    flops: int | None
    memory: int


def costs(model: Any) -> list[Cost]:
    """One for each layer of a stacked model, in order. Its parameters are filled, where they are not yet, to run it."""
    model.init(PCG32(0))
    flow: Flow = model.sample.flow
    found: list[Cost] = []
    with evaluating(model):
        for place, (name, layer) in enumerate(model.children()):
            before = flow.sizes() or ()
            flow = layer.trace(flow)
            output = flow.sizes() or ()
            x: Any = np.ones((1, *before), np.int64 if not place and model.sample.dtype is int else np.float32)
            call = repr(layer) if next(layer.children(), None) is None else type(layer).__name__
            found.append(Cost(name, call, output, layer.num_parameters(), _flops(layer, x), 4 * int(np.prod(output))))
    return found


def _flops(layer: Any, x: Any) -> int | None:
    ran: list[int] = []

    def observed(run: Ran) -> None:
        ran.append(int(run.op.flops(*run.arguments)))

    try:
        with using("reference"), observing(observed):
            y = layer.forward(x)
    except OutOfMemory:
        raise
    except TypednnError:  # a stack within a stack, which reads rows
        return None
    return sum(ran) if ran or y.base is x or y is x else None


def table(model: Any, width: int | None = None) -> str:
    """`costs` in columns, and their sums, in lines of at most ``width``."""
    found = costs(model)
    rows = [("layer", "", "output", "parameters", "flops", "memory")]
    rows.append(("input", "", " x ".join(map(str, model.sample.flow.sizes() or ())), "", "", ""))
    rows += [
        (
            each.name,
            each.layer,
            " x ".join(map(str, each.output)),
            f"{each.parameters:,}",
            _counted(each.flops),
            _bytes(each.memory),
        )
        for each in found
    ]
    flops = sum(each.flops or 0 for each in found)
    unknown = " and those of layers with ?" if any(each.flops is None for each in found) else ""
    number = model.num_parameters()
    sums = [
        f"{number:,} parameters, {_bytes(4 * number)} in float32",
        f"of one sample: {_counted(flops)} flops forward{unknown}, {_bytes(sum(each.memory for each in found))} "
        "of outputs in float32",
    ]
    return "\n".join([*columns(rows, range(3, 6), width), *(wrapped(line, width) for line in sums)])


def _counted(flops: int | None) -> str:
    if flops is None:
        return "?"
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")) if flops >= scale), (1.0, "")
    )
    return f"{flops / scale:.1f}{unit}" if unit else str(flops)


def _bytes(number: int) -> str:
    scale, unit = next(
        ((1 << power, unit) for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")) if number >= 1 << power),
        (1, "B"),
    )
    return f"{number / scale:.1f} {unit}" if scale > 1 else f"{number} B"
