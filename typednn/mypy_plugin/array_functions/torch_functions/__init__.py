"""What PyTorch's functions and methods do to shapes: rows with PyTorch's signatures, and NumPy's rules where they are
the same.

    torch.cat              a function                  torch.Tensor.view()   a method
    torch.Tensor.shape     an attribute                torch.Tensor[]        reading by an index

Operators are the common rows. Of dtypes, places and booleans are known.
"""

from typednn.mypy_plugin.array_functions.rows import Row
from typednn.mypy_plugin.array_functions.torch_functions import (
    creation,
    elementwise,
    indexing,
    joining,
    modules,
    movement,
    neural,
    products,
    reductions,
)

TABLE: dict[str, Row] = {
    name: row
    for file in (elementwise, reductions, products, movement, joining, creation, indexing, neural, modules)
    for name, row in file.TABLE.items()
}
