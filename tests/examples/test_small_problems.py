"""Z-E1, X-E1: the small problems are learnt."""

from pathlib import Path

import pytest

from examples.small_problems import arms, deep, digits, line, saved, sine


def test_the_line_is_found() -> None:
    """Z-E1: y = 2x + 5, within the noise of 100 points."""
    slope, intercept = line()
    assert slope == pytest.approx(2.0, abs=0.05)
    assert intercept == pytest.approx(5.0, abs=0.05)


def test_the_sine_is_learnt() -> None:
    """Z-E1: f(π/4) = 0.7071 and f(π/2) = 1."""
    quarter, half = sine()
    assert quarter == pytest.approx(0.7071, abs=0.01)
    assert half == pytest.approx(1.0, abs=0.01)


def test_the_arms_are_told_apart() -> None:
    """Z-E1: a straight line gets half of them; a network that has learnt, nearly all."""
    assert arms(epochs=1) < 0.6
    assert arms() > 0.95


def test_a_saved_training_goes_on(tmp_path: Path) -> None:
    """Z-E1: the same bits as without the interruption."""
    assert saved(tmp_path)


def test_an_mlp_learns_digits() -> None:
    """X-E1: 200 steps."""
    assert digits(steps=1) < 0.5
    assert digits() > 0.85


def test_a_deep_mlp_learns_digits() -> None:
    """Z-E1: seven hidden layers of 100 with GELU, by AdamW, in batches of 100."""
    assert deep(150) > 0.8
