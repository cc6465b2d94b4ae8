"""The table of layers: what each class is in ONNX, and how PyTorch names and lays out its arrays.

A row has both directions: ``write`` makes ONNX's nodes of a layer, ``read`` the layer of a node, by the node's
operator. A layer that is several nodes there has no ``read``: the nodes come back as a formula.
"""

from typing import Final

from typednn.exchange.onnx.layers import features, sequences, structure, windows
from typednn.exchange.onnx.layers.row import Read, Row

LAYERS: Final[dict[type, Row]] = {
    **features.ROWS,
    **sequences.ROWS,
    **structure.ROWS,
    **windows.ROWS,
}
READS: Final[dict[str, Read]] = {
    **structure.OTHERS,
    **{operator: read for row in LAYERS.values() for operator, read in row.read.items()},
}
