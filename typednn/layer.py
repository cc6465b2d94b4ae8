"""For those who write layers or stack them: `Layer` and its siblings, the chains that ``>>`` makes of them, and the
type variables of their annotations. All is written in `typednn.module.layer` and `typednn.module.chain`.
"""

from typednn.module.chain import Parts, run, run_back
from typednn.module.foreign import not_a_part
from typednn.module.layer import (
    S0,
    A,
    ArrayGrad,
    Before,
    Chain,
    Elementwise,
    ElementwiseChain,
    FirstChain,
    FirstLayer,
    G,
    Gs,
    In,
    Input,
    Layer,
    MultiInput,
    Out,
    P,
    Positionwise,
    PositionwiseChain,
    Rows,
    S,
    Sequential,
)

__all__ = [
    "Layer", "Elementwise", "Positionwise", "FirstLayer", "MultiInput", "Input",
    "Chain", "ElementwiseChain", "FirstChain", "Parts", "PositionwiseChain", "Sequential",
    "A", "ArrayGrad", "Before", "G", "Gs", "In", "Out", "P", "Rows", "S", "S0",
    "not_a_part", "run", "run_back",
]  # fmt: skip
