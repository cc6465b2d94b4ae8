"""What functions of arrays do to shapes and dtypes: a table with a row for each function, and nothing of mypy.

    numpy.concatenate   a function                  Array.sum()   a method; the array is its first argument
    Array.T             an attribute                + @ < neg     an operator
    []   []=            reading and assigning by an index

The functions of JAX are named ``jax.numpy.concatenate``, its methods ``jax.Array.sum()``.

A function that stands in no row is unknown. To add one, write its signature and its rule into the file of its kind; a
test compares every row with its library itself.
"""

from typednn.mypy_plugin.array_functions import (
    creation,
    einops,
    einsum,
    elementwise,
    fourier,
    indexing,
    jax_functions,
    jax_lax,
    jax_numpy,
    joining,
    linear_algebra,
    movement,
    products,
    random,
    reductions,
    torch_functions,
)
from typednn.mypy_plugin.array_functions.any_rank import apply
from typednn.mypy_plugin.array_functions.rows import Misfit, Row

TABLE: dict[str, Row] = {
    name: row
    for file in (
        elementwise,
        reductions,
        products,
        einops,
        einsum,
        linear_algebra,
        movement,
        joining,
        creation,
        random,
        fourier,
        indexing,
        jax_numpy,
        jax_lax,
        jax_functions,
        torch_functions,
    )
    for name, row in file.TABLE.items()
}

__all__ = ["TABLE", "Misfit", "Row", "apply"]
