"""The pointwise losses in Halide against the reference. Losses without exponential to the bit."""

from typing import Any

import numpy as np
import pytest
from fast_ops import agree, at_any_size, every_target, floats, needs_halide, numbers, quiet, seeds, special_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from typednn.engines import counting
from typednn.kernels import pointwise_losses as losses

pytestmark = [needs_halide, quiet]

sizes = st.one_of(st.integers(1, 70), st.sampled_from([1000, 32769, 131073]))
EXACT: dict[str, tuple[float, ...]] = {"l1": (), "huber": (0.7,)}
NUMBERS: dict[str, tuple[float, ...]] = {**EXACT, "bce_with_logits": (2.5,), "kl_div": (), "kl_div_of_logs": ()}
SCALE = 0.3


def error_of_loss(name: str) -> Any:
    """What a rounding of the terms may do: their sizes."""

    def bce(x: Any, t: Any, weight: float) -> Any:
        near = np.log1p(np.exp(-abs(x)))
        return np.nan_to_num(abs(1 - t) * (np.maximum(x, 0) + near) + abs(weight * t) * (np.maximum(-x, 0) + near))

    def of_logs(x: Any, t: Any) -> Any:
        return np.nan_to_num(np.exp(t) * (1 + abs(t)) * abs(t - x))

    return {
        "bce_with_logits": bce,
        "kl_div": lambda x, t: np.nan_to_num(abs(t) * (abs(np.log(np.where(t > 0, t, 1))) + 1 + abs(x))),
        "kl_div_of_logs": of_logs,
    }.get(name)


def error_of_slope(name: str) -> Any:
    def bce(x: Any, t: Any, weight: float, scale: float) -> Any:
        share = np.exp(-abs(x)) / (1 + np.exp(-abs(x)))
        above, below = np.where(x < 0, share, 1 - share), np.where(x < 0, 1 - share, share)
        return np.nan_to_num(scale * (abs(1 - t) * above + abs(weight * t) * below) * (1 + abs(x)))

    return {
        "bce_with_logits": bce,
        "kl_div_of_logs": lambda x, t, scale: np.nan_to_num(scale * np.exp(t) * (1 + abs(t))),
    }.get(name)


def fitting(name: str, x: Any, t: Any) -> tuple[Any, Any]:
    """Targets that the loss is made for. Logarithms beyond 80 would leave float32's normal numbers."""
    if name == "kl_div":
        return x, abs(t)
    if name == "kl_div_of_logs":
        return x, np.where(np.isfinite(t), np.clip(t, -80, 80), t).astype(t.dtype)
    return (x, np.clip(t, 0, 1)) if name == "bce_with_logits" else (x, t)


def drawn(name: str, seed: int, size: int, special: bool, dtype: Any) -> tuple[Any, Any]:
    return fitting(name, *(numbers(seed + place, size, special=special, dtype=dtype) for place in range(2)))


@pytest.mark.parametrize("name", NUMBERS)
@settings(max_examples=25, deadline=None)
@given(size=sizes, special=st.booleans(), seed=seeds, dtype=floats)
def test_loss_and_slope(name: str, size: int, special: bool, seed: int, dtype: Any) -> None:
    op, x, more = getattr(losses, name), drawn(name, seed, size, special, dtype), NUMBERS[name]
    both = at_any_size(getattr(losses, f"{name}_forward_and_backward"))
    loss, grad = (
        agree(f"{name}.forward", at_any_size(op.forward), *x, *more, magnitude=error_of_loss(name))[0],
        agree(f"{name}.backward", at_any_size(op.backward), *x, *more, SCALE, magnitude=error_of_slope(name))[0],
    )
    with counting() as counts:
        together = both(*x, *more, SCALE)
    assert dict(counts) == {(f"{name}.forward_and_backward", "halide"): 1}
    np.testing.assert_array_equal(together[0], loss)
    np.testing.assert_array_equal(together[1], grad)


@pytest.mark.parametrize("name", NUMBERS)
def test_special_pairs(name: str) -> None:
    op, x, more = getattr(losses, name), fitting(name, *special_pairs()), NUMBERS[name]
    agree(f"{name}.forward", at_any_size(op.forward), *x, *more, magnitude=error_of_loss(name))
    agree(f"{name}.backward", at_any_size(op.backward), *x, *more, SCALE, magnitude=error_of_slope(name))


def test_a_negative_probability_is_no_number() -> None:
    x, t = numbers(0, 4000), -abs(numbers(1, 4000)) - 1
    assert np.isnan(agree("kl_div.forward", losses.kl_div.forward, x, t)[0]).all()


def test_a_weight_for_each_class_is_left_to_the_reference() -> None:
    x, t = numbers(0, 300, 8), abs(numbers(1, 300, 8))
    with counting() as counts:
        losses.bce_with_logits.forward(x, t, np.arange(8, dtype=np.float32))
        losses.bce_with_logits_forward_and_backward(x, t, np.arange(8, dtype=np.float32), 0.5)
    assert {engine for _, engine in counts} == {"reference"}


@pytest.mark.parametrize("name", NUMBERS)
def test_on_every_target(name: str, tmp_path: Any) -> None:
    x, t = drawn(name, 0, 1001, False, np.float32)
    formula = getattr(losses, f"{name}_forward_and_backward").op.engines[0].run.__self__
    every_target(formula.kernels[x.dtype], (x, t, *NUMBERS[name], SCALE), [((1001,), np.float32)] * 2, tmp_path)
