"""What the commands say, on standard output; hints and progress go to standard error."""

from __future__ import annotations

import sys


def say(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(f"{text}\n")


def hint(text: str) -> None:
    """A line beside the result."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


__all__ = ["hint", "say"]
