"""P-E11: crosses told from squares."""

import numpy as np
import pytest

from examples import crosses_and_squares
from examples.crosses_and_squares import TEST, TEST_LABELS, TRAIN, learned


def test_pictures_never_seen_are_named() -> None:
    """P-E11: all four, and the loss fell."""
    losses, answers = learned()
    assert len(losses) == 1000
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_array_equal(answers, TEST_LABELS)


def test_none_was_learned_from() -> None:
    seen = {image.tobytes() for image in TRAIN}
    assert not seen & {image.tobytes() for image in TEST}


def test_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """P-E11: each picture with its name."""
    crosses_and_squares.main()
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("->")] == [
        "-> cross",
        "-> square",
        "-> cross",
        "-> square",
    ]
    assert printed.startswith("loss ")
