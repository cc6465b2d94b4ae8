"""Every row of the table of array functions against NumPy itself, on random shapes, dtypes and arguments.

Where all sizes are numbers, the table must give NumPy's shape, the dtype if it names one, and a `Misfit` where NumPy
raises because of shapes, ranks or axes. Where some sizes are names, what it gives must be right for the sizes that
stand for them, and what NumPy computes is never refused. `OPEN` holds what a row may leave open, with the reason.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from effort import cheap

from tests.mypy_plugin.array_functions.calls import call_of, drawn
from tests.mypy_plugin.array_functions.comparison import RAISED, computed, judged
from typednn.mypy_plugin.array_functions import TABLE as EVERY
from typednn.mypy_plugin.array_functions import Misfit, Row
from typednn.mypy_plugin.array_functions.rows import ONE, Operands, made
from typednn.mypy_plugin.values import UNKNOWN, Array, Pack, Value

TABLE = {name: row for name, row in EVERY.items() if not name.startswith(("jax.", "torch."))}
CALLS = max(50, cheap.max_examples // 8)  # fewer would not meet all that a row may say
ROWS = {name: row for name, row in TABLE.items() if not name.startswith(("torch.", "jax.", "einops."))}  # NumPy's
SYMBOLS = ({3: "a", 5: "b"}, {2: "a", 3: "b", 4: "c", 5: "d"})

VALUES = "the result's size depends on the elements"
SCALAR = "an axis of a number: NumPy takes 0 and -1 here and refuses them there"
NONE = "an error about values: there are no elements to take"

# (rows, what is said, why it is no bug)
OPEN: tuple[tuple[str, str, str], ...] = (
    (
        r"numpy\.(bincount|unique|argwhere|flatnonzero|extract|compress)",
        "not known|out of bounds|does not match",
        VALUES,
    ),
    (r"(numpy|Array)\.(nonzero|nonzero\(\)|compress)", "not known", VALUES),
    (r"(numpy\.|Array\.)repeat(\(\))?", r"int64\(.*not known", "the numbers are in an array, not in a list"),
    (r"\[\]", r"bool\(.*(not known|shape mismatch)", "how many elements a mask has"),
    (r"\[\]=", r"bool\(", "how many elements a mask has"),
    (r"\[\]=", "out of bounds", "the elements of an index array"),
    (
        r"(numpy|Array)\.(nan)?(mean|std|var|median|average|quantile|percentile)(\(\))?",
        r"out of bounds for array of dimension 0",
        SCALAR,
    ),
    (r"numpy\.(quantile|percentile|median|nanmedian|average)", "size 0|division by zero", NONE),
    (r"(numpy|Array)\.(compress|take|take_along_axis|put_along_axis)(\(\))?", "non-empty take|size 0", NONE),
    (r"(numpy|Array)\.(round|around)(\(\))?", "out=", "whole numbers: an out of any shape is taken"),
    (r"numpy\.linalg\.\w+", "Singular matrix|not positive definite|did not converge", "the elements"),
    (r"numpy\.linalg\.lstsq", "not known", "there are residues or none, by the rank of the matrix"),
    (r"numpy\.linalg\.multi_dot", "out=", "out is not looked at"),
    (r"numpy\.roll", "not enough values", "no axes at all"),
    (r"numpy\.arange", "not known", "steps that are no whole numbers"),
    (r"numpy\.indices", "sparse=True", "a tuple or an array"),
    (r"numpy\.random\.[\w.]+(\(\))?", r"NumPy gives \(\)", "Python's own number, which is weak"),
    (r"numpy\.random\.[\w.]*choice(\(\))?", "cannot be empty|must be non-empty", NONE),
    (r"numpy\.delete", r"slice|not known", "several places may be one"),
    (r"numpy\.insert", "not known|could not broadcast", "how values of several axes are turned"),
)

# Rows that never raise for a shape.
NEVER_RAISES = re.compile(
    r"numpy\.(nan_to_num|\w+\.outer|array_equal|sinc|angle|real|imag|size|shape|ndim|ediff1d|argwhere|flatnonzero|diagflat|kron|ravel"
    r"|copy|tile|atleast_\dd|meshgrid|digitize|isin|resize|unique|searchsorted|histogram|extract|eye|tri|tril|triu|round|around|triu_indices|tril_indices|arange)"
    r"|numpy\.(lib\.stride_tricks\.as_strided|fft\.r?fftfreq)|numpy\.random\.(mtrand\.RandomState\.)?(permutation|shuffle)(\(\))?"
    r"|neg|invert|abs|Array\.(T|real|imag|shape|ndim|size|dtype|(round|conj|conjugate|ravel|flatten|copy|astype)\(\))"
)


def reasons(name: str, told: str) -> Iterator[str]:
    """Why a row may leave something open."""
    return (reason for rows, said, reason in OPEN if re.fullmatch(rows, name) and re.search(said, told))


def complaints(name: str, row: Row, *, calls: int = CALLS) -> Iterator[str]:
    """What is wrong with a row."""
    for seed in range(calls):
        case = drawn(name, seed)
        for symbols in ({}, SYMBOLS[seed % 2]):
            verdict = judged(name, case, symbols, row)
            if verdict.wrong:
                yield verdict.wrong
            if verdict.open and not any(reasons(name, verdict.open)):
                yield verdict.open


@pytest.mark.parametrize("name", ROWS)
def test_each_row_has_random_calls(name: str) -> None:
    assert call_of(name) is not None, (
        f"{name} is compared with nothing: write a generator of its calls into CALLS of calls.py"
    )


@pytest.mark.parametrize("name", ROWS)
def test_each_row_says_what_numpy_does(name: str) -> None:
    wrong = list(complaints(name, ROWS[name]))
    assert not wrong, "\n".join(wrong[:5])


def test_what_is_left_open_is_met() -> None:
    """No line of OPEN is there in vain."""
    told = {
        name: [judged(name, drawn(name, seed), {}).open for seed in range(4 * CALLS)]
        for name in ROWS
        if _may_be_open(name)
    }
    vain = [
        (rows, said)
        for rows, said, _ in OPEN
        if not any(
            re.search(said, each) for name, opens in told.items() if re.fullmatch(rows, name) for each in opens if each
        )
    ]
    assert not vain


def _may_be_open(name: str) -> bool:
    return any(re.fullmatch(rows, name) for rows, _, _ in OPEN)


# --------------------------------------------------------------------------------------------------- the tests can fail


def first_shape(row: Row) -> Row:
    """The result has the first argument's shape."""

    def rule(o: Operands) -> Value:
        result = row.rule(o)
        first = o.values[re.split(r"\W+", row.parameters.lstrip("*"))[0]]
        first = first.items[0] if isinstance(first, Pack) and first.items else first
        return made(first.flow.shape, "") if isinstance(first, Array) and isinstance(result, Array) else result

    return Row(row.parameters, rule)


def silent(row: Row) -> Row:
    """Nothing is ever refused."""

    def rule(o: Operands) -> Value:
        try:
            return row.rule(o)
        except Misfit:
            return UNKNOWN

    return Row(row.parameters, rule)


def further_axis(row: Row) -> Row:
    """Each array of the result has an axis too many."""

    def wrong(value: Value) -> Value:
        match value:
            case Array(flow=flow) if flow.shape is not None:
                return made([*flow.shape, ONE], value.kind)
            case Pack(items=items):
                return Pack(tuple(map(wrong, items)))
            case _:
                return value

    return Row(row.parameters, lambda o: wrong(row.rule(o)))


def noticed(name: str, change: Callable[[Row], Row]) -> bool:
    return next(complaints(name, change(ROWS[name]), calls=8 * CALLS), None) is not None


ATTRIBUTES = {"Array.shape", "Array.ndim", "Array.size", "Array.dtype", "numpy.shape", "numpy.ndim", "numpy.size"}
NOTHING = {name for name in ROWS if name.endswith(".at")} | {
    "numpy.copyto",
    "numpy.put_along_axis",
    *(name for name in ROWS if re.fullmatch(r"numpy\.random\..*shuffle(\(\))?", name)),
}


@pytest.mark.parametrize("name", sorted(ROWS.keys() - ATTRIBUTES - NOTHING))
def test_a_wrong_shape_is_noticed(name: str) -> None:
    assert noticed(name, further_axis)


@pytest.mark.parametrize("name", [name for name in ROWS if not NEVER_RAISES.fullmatch(name)])
def test_a_rule_that_never_raises_is_noticed(name: str) -> None:
    assert noticed(name, silent)


def test_the_first_arguments_shape_is_noticed() -> None:
    """Of functions that change the shape, none passes with that of its first argument."""
    changing = [name for name in ROWS if name not in NOTHING | ATTRIBUTES and _changes(name)]
    assert len(changing) > 100
    assert [name for name in changing if not noticed(name, first_shape)] == []


def _changes(name: str) -> bool:
    """Whether a result of NumPy's has another shape than the first argument."""
    for seed in range(CALLS):
        case = drawn(name, seed)
        try:
            result = computed(name, case)
        except RAISED:
            continue
        before = getattr(case.arguments[0], "shape", None) if case.arguments else None
        if before is not None and "out" not in case.keywords and hasattr(result, "shape") and result.shape != before:
            return True
    return False
