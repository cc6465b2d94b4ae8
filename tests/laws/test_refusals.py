"""What does not fit is refused, for every layer, method, kind of wrongness, mode and device; and not by accident."""

from typing import Any

import pytest
import refusals
import strict_array
from law_tools import WRONG, bits, ready, values

from tests.layer_cases import CASES, LayerCase
from typednn import calls, checking, checks, derivatives, fields, updates
from typednn.engines import using
from typednn.errors import ShapeError
from typednn.shapes import Flow

strict_array.register()
COMBINATIONS = [
    pytest.param(case, what, wrong, id=f"{case}-{what}-{wrong}")
    for case in CASES
    for what in refusals.ALL
    for wrong in WRONG
    if refusals.applies(case, wrong, what) and (what != "update" or (case.example()[0].num_parameters() and wrong != "list"))
]


@pytest.mark.parametrize("mode", ["full", "cached", "cached, after a hit"])
@pytest.mark.parametrize(("case", "what", "wrong"), COMBINATIONS)
def test_refused(case: LayerCase, what: str, wrong: str, mode: str, device: str) -> None:
    """P-T1, P-P1, P-L1: wrong rank, size, dtype and device are refused on forward, backward, every gradient field and update."""
    with checking("full" if mode == "full" else "cached"):
        refusals.ALL[what](case, wrong, device, mode.endswith("hit"))


@pytest.fixture
def no_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks, replaced by no-ops; the bookkeeping around them stays."""

    def nothing(*arguments: Any, **named: Any) -> None:
        return None

    for module in (checks, calls, derivatives, fields, updates):
        monkeypatch.setattr(module, "judge", nothing, raising=True)
    for module in (calls, derivatives, updates):
        monkeypatch.setattr(module, "check_derivative", nothing)
    monkeypatch.setattr(calls, "_check_inputs", nothing)
    monkeypatch.setattr(calls, "_check_output", nothing)
    monkeypatch.setattr(checks.Contract, "check_agreement", nothing)
    monkeypatch.setattr("typednn.layer._Parts.check_sizes", nothing)


# A list gets no further than the kernels without any check: they ask what computes on it.
@pytest.mark.parametrize(("case", "what", "wrong"), [combination for combination in COMBINATIONS if combination.values[2] != "list"])
def test_refusals_need_the_checks(case: LayerCase, what: str, wrong: str, no_checks: None) -> None:
    """The meta-test: with the checks replaced by no-ops, every refusal test fails. Kernels, which refuse too, don't run."""
    with checking("full"), using("reference"):
        try:
            refusals.ALL[what](case, wrong, "cpu", False)
        except (Exception, pytest.fail.Exception):
            return
    pytest.fail("this refusal does not come from a check")


def test_modes_give_the_same_bits(case: LayerCase, device: str) -> None:
    """``full``, ``cached`` and ``off`` compute the same."""
    results = []
    for mode in ("full", "cached", "cached", "off"):
        with checking(mode):  # type: ignore[arg-type]
            layer, shape = case.example()
            ready(layer, device)
            from law_tools import locked

            y = layer.forward(locked(values(shape, dtype="float32"), device))
            results.append([bits(y), bits(layer.backward(locked(values(y.shape, dtype="float32"), device)))])
    assert all(result == results[0] for result in results)


def test_the_trace_tells_the_shape(case: LayerCase) -> None:
    """A2: what the annotations say before any array is what forward gives."""
    layer, shape = case.example()
    ready(layer)
    y = layer.forward(values(shape, dtype="float32"))
    assert layer.trace(Flow.of(shape)).sizes() == y.shape[1:]
    assert layer.trace(Flow.start(shape[1:])).sizes() == y.shape[1:]


def test_an_empty_batch_is_refused(case: LayerCase) -> None:
    """P-T1: every axis has at least one element."""
    layer, shape = case.example()
    ready(layer)
    with pytest.raises(ShapeError, match=r"is empty; every axis needs at least one element|must be"):
        layer.forward(values(shape, dtype="float32")[:0])
