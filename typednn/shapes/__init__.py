"""The algebra of shapes: what layers' annotations say, worked out before there is an array.

An annotation such as ``batch height-{self.kernel_size[0]}+1 {self.out_channels}`` is read in four places: at run
time by jaxtyping, when layers are stacked, when a config is loaded, and by the mypy plugin. The last three read it
here, with one meaning, which is jaxtyping's. This package is pure Python and imports no array library.

`Dim`            one size: an integer polynomial over sizes that are not known yet, always in one form
`evaluate`       one axis expression as a `Dim`; None where it cannot be known
`parse`, `rank`, `sizes`    an annotation's axes, their number, their sizes where all are known
`Unifier`        the names of one call, bound from left to right
`Flow`           a shape that runs through a stack, with its history and the messages when a layer does not fit

Three answers are kept apart: *same* (whatever the sizes are), *differ* (whatever the sizes are), and open. Only
what differs is refused; what is open is decided by the first array. So nothing that could run is ever refused.
"""

from typednn.shapes.axes import (
    DTYPE_WORDS,
    Mismatch,
    Shape,
    Slot,
    Unifier,
    align,
    label,
    number_of_axes,
    parse,
    rank,
    sizes,
)
from typednn.shapes.dims import Dim, Pair, differ, leave, same, solve, undecided
from typednn.shapes.expressions import Lookup, evaluate, operation, unknown, write
from typednn.shapes.flow import Axis, Constraint, Flow, side_by_side, split_contract

__all__ = [
    "DTYPE_WORDS",
    "Axis",
    "Constraint",
    "Dim",
    "Flow",
    "Lookup",
    "Mismatch",
    "Pair",
    "Shape",
    "Slot",
    "Unifier",
    "align",
    "differ",
    "evaluate",
    "label",
    "leave",
    "number_of_axes",
    "operation",
    "parse",
    "rank",
    "same",
    "sizes",
    "solve",
    "side_by_side",
    "split_contract",
    "undecided",
    "unknown",
    "write",
]
