"""Every row for PyTorch against PyTorch itself, as `test_array_functions` does it for NumPy."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from effort import cheap

from tests.mypy_plugin.array_functions.comparison import RAISED, judged
from tests.mypy_plugin.array_functions.test_array_functions import (
    NONE,
    SYMBOLS,
    VALUES,
    first_shape,
    further_axis,
    silent,
)
from tests.mypy_plugin.array_functions.torch_calls import ROWS, call_of, drawn
from tests.mypy_plugin.array_functions.torch_library import TORCH, computed
from typednn.mypy_plugin.array_functions import Row

CALLS = max(50, cheap.max_examples // 8)
DIVISION = "whole numbers by zero"
DEVICE = "there is no such device"
ODD = "what PyTorch's kernels do not take besides"

# (rows, what is said, why it is no bug)
OPEN: tuple[tuple[str, str, str], ...] = (
    (r".*(floor_divide|remainder|fmod|//|%).*", "ZeroDivision", DIVISION),
    (r"torch\.Tensor\.(cuda|pin_memory)\(\)", "CUDA|accelerator|NVIDIA", DEVICE),
    (r".*(bincount|masked_select|nonzero|argwhere|one_hot)(\(\))?", "not known", VALUES),
    (r".*repeat_interleave(\(\))?", "not known", VALUES),
    (r".*\.norm(\(\))?", "matrix_norm", "a norm over more than two axes"),
    (r".*einsum", "not known", "a sum over the axes of ..."),
    (r".*add(mm|mv)(\(\))?|.*baddbmm(\(\))?", "not known", NONE),
    (r".*vecdot", "not known", "a number beside a row"),
    (r".*(scatter|take_along|index_select|gather).*", "out of bounds", NONE),
    (r".*multinomial(\(\))?", "cannot sample", NONE),
    (
        r"torch\.Tensor\[\]=?",
        "not known|bool|shape mismatch|out of bounds|Ellipsis",
        "masks, and dots that stand twice",
    ),
    (r".*(cross_entropy|nll_loss)", "size mismatch|out of bounds|not known|Expected|multi-target", NONE),
    (r".*linear", "mat2 must be", ODD),
    (r".*conv_transpose\dd", "memory descriptor|output size|too small", ODD),
    (r".*avg_pool3d", "smaller than kernel", ODD),
    (r".*adaptive_avg_pool\dd", "not known|Expected", "a mean over the last axes"),
    (r".*\.pad", "narrow", ODD),
    (r"torch\.nn\.init\.\w+", "division by zero|fan_in", NONE),
)


def reasons(name: str, told: str) -> Iterator[str]:
    """Why a row may leave something open."""
    return (reason for rows, said, reason in OPEN if re.fullmatch(rows, name) and re.search(said, told))


def complaints(name: str, row: Row, *, calls: int = CALLS) -> Iterator[str]:
    """What is wrong with a row."""
    for seed in range(calls):
        case = drawn(name, seed)
        for symbols in ({}, SYMBOLS[seed % 2]):
            verdict = judged(name, case, symbols, row, TORCH)
            if verdict.wrong:
                yield verdict.wrong
            if verdict.open and not any(reasons(name, verdict.open)):
                yield verdict.open


def test_each_row_has_random_calls() -> None:
    missing = [name for name in ROWS if call_of(name) is None]
    assert not missing, f"{missing} are compared with nothing: write generators of their calls into torch_calls.py"


@pytest.mark.parity
@pytest.mark.parametrize("name", ROWS)
def test_each_row_says_what_pytorch_does(name: str) -> None:
    wrong = list(complaints(name, ROWS[name]))
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parity
def test_what_is_left_open_is_met() -> None:
    """No line of OPEN is there in vain."""
    rows = {name for name in ROWS if any(re.fullmatch(each, name) for each, _, _ in OPEN)}
    told = {name: [judged(name, drawn(name, seed), {}, None, TORCH).open for seed in range(4 * CALLS)] for name in rows}

    def met(rows: str, said: str) -> bool:
        return any(re.search(said, each) for name in told if re.fullmatch(rows, name) for each in told[name] if each)

    assert [(rows, said) for rows, said, _ in OPEN if not met(rows, said)] == []


# --------------------------------------------------------------------------------------------------- the tests can fail


def noticed(name: str, change: Callable[[Row], Row]) -> bool:
    return next(complaints(name, change(ROWS[name]), calls=8 * CALLS), None) is not None


def _gives(name: str) -> list[tuple[object, object]]:
    """Shapes of the first argument and of what PyTorch gives, where both are arrays."""
    found = list[tuple[object, object]]()
    for seed in range(CALLS):
        case = drawn(name, seed)
        try:
            result = computed(name, case)
        except RAISED:
            continue
        before = getattr(case.arguments[0], "shape", None) if case.arguments else None
        if isinstance(result, np.ndarray):
            found.append((before, result.shape))
    return found


@pytest.mark.parity
def test_a_wrong_shape_is_noticed() -> None:
    giving = [name for name in ROWS if _gives(name) and "=" not in name]
    assert len(giving) > 500
    assert [name for name in giving if not noticed(name, further_axis)] == []


@pytest.mark.parity
def test_the_first_arguments_shape_is_noticed() -> None:
    """Of functions that change the shape, none passes with that of its first argument."""
    changing = [name for name in ROWS if any(a is not None and a != b for a, b in _gives(name))]
    assert len(changing) > 150
    assert [name for name in changing if not noticed(name, first_shape)] == []


@pytest.mark.parity
def test_a_rule_that_never_raises_is_noticed() -> None:
    """Where PyTorch refuses a call for its shapes, the table must."""
    refusing = [name for name in ROWS if _refuses(name)]
    assert len(refusing) > 250
    assert [name for name in refusing if not noticed(name, silent)] == []


def _refuses(name: str) -> bool:
    """Whether PyTorch refuses some call, for no reason that may be left open."""
    for seed in range(CALLS):
        case = drawn(name, seed)
        try:
            computed(name, case)
        except RAISED as error:
            told = f"{name}({case}): only PyTorch refuses it ({error})"
            if not TORCH.about_dtypes(error) and not any(reasons(name, told)):
                return True
    return False
