"""Every row of JAX's functions and methods against JAX itself, as `test_array_functions` compares NumPy's.

JAX evaluates a call without computing it where the elements do not matter. `OPEN` holds what a row may leave open.
"""

import inspect
import re
from collections.abc import Callable, Iterator

import pytest

from tests.mypy_plugin.array_functions.comparison import judged
from tests.mypy_plugin.array_functions.jax_calls import ROWS, call_of, drawn
from tests.mypy_plugin.array_functions.jax_library import JAX, function_of
from tests.mypy_plugin.array_functions.test_array_functions import SYMBOLS, first_shape, further_axis, silent
from typednn.mypy_plugin.array_functions import TABLE, Row
from typednn.mypy_plugin.array_functions.signatures import parameters_of

CALLS = 12
# Rows whose results depend on elements: JAX compiles each call.
BY_ELEMENTS = re.compile(r"jax\.(numpy|Array)\.(bincount|nonzero|unique|argwhere|flatnonzero|extract|compress)(\(\))?")

VALUES = "the result's size depends on the elements"
SCALAR = "an axis of a number: NumPy takes 0 and -1"
NONE = "an error about values: there are no elements to take"
STRICT = "JAX takes no negative axis, no part of negative size, where NumPy does"

# (rows, what is said, why it is no bug)
OPEN: tuple[tuple[str, str, str], ...] = (
    (BY_ELEMENTS.pattern, "not known|does not match|out of bounds", VALUES),
    (r"jax\.(numpy|Array)\.\S+", "for array of dimension 0|tuple index out of range|of a number", SCALAR),
    (r"jax\.(numpy|Array)\.\S+", "out of range|size 0|from an empty axis", NONE),
    (r"jax\.lax\.arg\w+|jax\.random\.choice", "non-empty|greater than 0|not known", NONE),
    (r"jax\.numpy\.(permute_dims|\w*split)", "isn't a permutation|missing 1 required|must be nonnegative", STRICT),
    (r"jax\.numpy\.(convolve|correlate|meshgrid)", "1-dimensional|must be 1D", "a number is no vector to JAX"),
    (r"jax\.numpy\.fft\.\w+", "only supports 2 axes|not known|should be positive", "two axes, each with a point"),
    (r"jax\.(numpy|Array)\.repeat(\(\))?", "not known", "the numbers are in an array"),
    (r"jax\.Array(\[\]|\.at\..*)", r"bool\(", "how many elements a mask has"),
    (r"jax\.numpy\.(arange|indices)", "not known", "steps that are no whole numbers; a tuple or an array"),
    (r"jax\.numpy\.(delete|insert)", "not known|broadcast", "several places may be one"),
    (r"jax\.numpy\.einsum", "not known", "an output without the axes of ..."),
    (r"jax\.numpy\.(nan)?(median|quantile|percentile)", "not known", "the median of a number may be a vector"),
    (r"jax\.numpy\.linalg\.(cholesky|eigh|eigvalsh)", "not known", "one row broadcasts to a square matrix"),
    (r"jax\.numpy\.linalg\.lstsq", "not known", "there are residues or none"),
    (r"jax\.numpy\.(logspace|vsplit|nan\w+)", "not known", "what JAX allows here and NumPy does not"),
    (r"jax\.random\.PRNGKey", "not known", "the kind of key is a setting"),
)


def reasons(name: str, told: str) -> Iterator[str]:
    """Why a row may leave something open."""
    return (reason for rows, said, reason in OPEN if re.fullmatch(rows, name) and re.search(said, told))


def complaints(name: str, row: Row, *, calls: int = CALLS) -> Iterator[str]:
    """What is wrong with a row."""
    for seed in range(calls if not BY_ELEMENTS.fullmatch(name) else calls // 4):
        case = drawn(name, seed)
        for symbols in ({}, SYMBOLS[seed % 2]):
            verdict = judged(name, case, symbols, row, JAX)
            if verdict.wrong:
                yield verdict.wrong
            if verdict.open and not any(reasons(name, verdict.open)):
                yield verdict.open


@pytest.mark.parametrize("name", ROWS)
def test_each_row_has_random_calls(name: str) -> None:
    assert call_of(name) is not None, f"{name} is compared with nothing: write its calls into jax_calls.py"


@pytest.mark.parity
@pytest.mark.parametrize("name", ROWS)
def test_each_row_says_what_jax_does(name: str) -> None:
    wrong = list(complaints(name, TABLE[name]))
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parity
@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith(("jax.nn.", "jax.lax.", "jax.random."))])
def test_parameters_are_jax_own(name: str) -> None:
    """A row of JAX's alone names its parameters, in JAX's order."""
    theirs = list(inspect.signature(function_of(name)).parameters)
    own = list(parameters_of(TABLE[name].parameters))
    assert set(own) <= set(theirs)
    assert [each for each in theirs if each in own] == own


# --------------------------------------------------------------------------------------------------- the tests can fail

CHANGING = (
    "jax.numpy.sum", "jax.numpy.concatenate", "jax.numpy.einsum", "jax.numpy.clip", "jax.numpy.linalg.solve",
    "jax.Array.reshape()", "jax.Array[]", "jax.lax.dot_general", "jax.lax.conv",
    "jax.lax.dynamic_slice", "jax.nn.glu", "jax.nn.one_hot", "jax.nn.logsumexp",
    "jax.random.categorical", "jax.random.choice", "jax.random.split", "jax.scipy.special.logsumexp",
)  # fmt: skip
REFUSING = (
    "jax.numpy.sum", "jax.numpy.matmul", "jax.numpy.concatenate", "jax.numpy.where", "jax.numpy.clip", "jax.numpy.tril",
    "jax.Array.reshape()", "jax.Array[]", "jax.Array.at.set()", "jax.Array.at.divide()", "jax.lax.add",
    "jax.lax.select", "jax.lax.clamp", "jax.lax.dot_general", "jax.lax.conv", "jax.lax.conv_general_dilated",
    "jax.lax.top_k", "jax.lax.cumsum", "jax.lax.argmax", "jax.lax.dynamic_slice", "jax.lax.dynamic_slice_in_dim",
    "jax.lax.dynamic_update_slice", "jax.lax.slice_in_dim", "jax.lax.transpose", "jax.lax.reshape", "jax.nn.glu",
    "jax.nn.one_hot", "jax.nn.softmax", "jax.nn.dot_product_attention", "jax.random.categorical",
    "jax.random.permutation", "jax.random.multivariate_normal",
)  # fmt: skip


def noticed(name: str, change: Callable[[Row], Row]) -> bool:
    return next(complaints(name, change(TABLE[name]), calls=8 * CALLS), None) is not None


@pytest.mark.parity
@pytest.mark.parametrize("name", sorted({*CHANGING, *REFUSING}))
def test_a_wrong_shape_is_noticed(name: str) -> None:
    assert noticed(name, further_axis)


@pytest.mark.parity
@pytest.mark.parametrize("name", REFUSING)
def test_a_rule_that_never_raises_is_noticed(name: str) -> None:
    assert noticed(name, silent)


@pytest.mark.parity
@pytest.mark.parametrize("name", CHANGING)
def test_the_first_arguments_shape_is_noticed(name: str) -> None:
    assert noticed(name, first_shape)
