"""What does not fit is refused, for every layer, method, kind of wrongness, mode and device; and not by accident."""

from typing import Any

import numpy as np
import pytest
import strict_array

from tests.layer_cases import CASES, LayerCase
from typednn import checking
from typednn.backends import to_device
from typednn.contracts import checks, derivatives
from typednn.contracts.checks import Mode
from typednn.engines import using
from typednn.errors import ShapeError
from typednn.module import calls, fields, gradients, updates
from typednn.shapes import Flow
from typednn.testing import LAYER_LAWS, refusals

strict_array.register()
WRONG = {
    **refusals.WRONG,
    "device": lambda array: to_device(array, "strict" if isinstance(array, np.ndarray) else "cpu"),
}


def applies(case: LayerCase, what: str, wrong: str) -> bool:
    """Whether a kind of wrongness is one, for this layer and method."""
    if what == "forward":
        return bool(refusals.checked_inputs(case.subject(), wrong, WRONG[wrong]))
    return what != "update" or (bool(case.layer().num_parameters()) and wrong != "list")


COMBINATIONS = [
    pytest.param(case, what, wrong, id=f"{case}-{what}-{wrong}")
    for case in CASES
    for what in refusals.METHODS
    for wrong in WRONG
    if applies(case, what, wrong)
]


@pytest.mark.parametrize(("case", "what", "wrong"), COMBINATIONS)
def test_refused(case: LayerCase, what: str, wrong: str, device: str) -> None:
    """P-T1, P-P1, P-L1: wrong rank, size, dtype and device are refused on forward, backward, every gradient field and
    update.

    In every mode; "cached" before a first call that is right, and after it. What a mode remembers does not depend on
    the device.
    """
    modes: list[tuple[Mode, bool]] = [("full", False), ("cached", False), ("cached", True)][
        : None if device == "cpu" else 1
    ]
    for mode, after_valid in modes:
        with checking(mode):
            refusals.check_cases(refusals.METHODS[what](case.subject(device), wrong, WRONG[wrong]), after_valid)


@pytest.fixture
def no_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks, replaced by no-ops; the bookkeeping around them stays."""

    def nothing(*arguments: Any, **named: Any) -> None:
        return None

    for module in (checks, derivatives, fields, gradients, updates):
        monkeypatch.setattr(module, "judge", nothing, raising=True)
    for module in (derivatives, updates):
        monkeypatch.setattr(module, "check_derivative", nothing)
    monkeypatch.setattr(calls, "_check_inputs", nothing)
    monkeypatch.setattr(calls, "_check_output", nothing)
    for module in (checks, gradients):
        monkeypatch.setattr(module, "check_agreement", nothing)
    monkeypatch.setattr("typednn.layer.Parts.check_sizes", nothing)
    monkeypatch.setattr("typednn.layer.Positionwise.check_sizes", nothing)


# A list gets no further than the kernels without any check: they ask what computes on it.
@pytest.mark.parametrize(
    ("case", "what", "wrong"), [combination for combination in COMBINATIONS if combination.values[2] != "list"]
)
def test_refusals_need_the_checks(case: LayerCase, what: str, wrong: str, no_checks: None) -> None:
    """The meta-test: with the checks replaced by no-ops, every refusal test fails. Kernels, which refuse too, don't
    run.
    """
    with checking("full"), using("reference"):
        try:
            refusals.check_cases(refusals.METHODS[what](case.subject(), wrong, WRONG[wrong]), after_valid=False)
        except (Exception, pytest.fail.Exception):
            return
    pytest.fail("this refusal does not come from a check")


def test_every_layer_refuses_something(case: LayerCase) -> None:
    """What is promised is read from annotations: nothing promised would be nothing checked."""
    assert {("next_grad", wrong) for wrong in WRONG} <= {
        combination.values[1:] for combination in COMBINATIONS if combination.values[0] == case
    }
    assert refusals.checked_inputs(case.subject(), "list", WRONG["list"])


def test_modes_give_the_same_bits(case: LayerCase, device: str) -> None:
    """``full``, ``cached`` and ``off`` compute the same."""
    LAYER_LAWS["modes"](case.subject(device))


def test_the_trace_tells_the_shape(case: LayerCase) -> None:
    """A2: what the annotations say before any array is what forward gives."""
    LAYER_LAWS["trace"](case.subject())
    subject = case.subject()
    if case.stackable:
        assert subject.ready().trace(Flow.of(subject.inputs[0])).sizes() is not None


def test_an_empty_batch_is_refused(case: LayerCase) -> None:
    """P-T1: every axis has at least one element."""
    subject = case.subject()
    with pytest.raises(ShapeError, match=r"is empty; every axis needs at least one element|must be"):
        subject.ready().forward(*(None if x is None else x[:0] for x in subject.arrays()))
