"""The command that writes a run's page: report."""

from __future__ import annotations

from argparse import Namespace

from typednn.cli.output import say
from typednn.training.html import write_report


def report(options: Namespace) -> int:
    """One HTML page; its path."""
    say(str(write_report(options.run)))
    return 0


__all__ = ["report"]
