"""The command that draws a run's pictures and writes its page: report."""

from argparse import Namespace
from pathlib import Path

from typednn.cli.output import hint, say
from typednn.errors import MissingExtra
from typednn.reports.canvas import matplotlib
from typednn.reports.html import write_report


def report(options: Namespace) -> int:
    """The pictures, and one HTML page; its path."""
    write_page(options.run)
    return 0


def write_page(run: str | Path) -> None:
    """Draw, write, and print the path of the page; without matplotlib, a hint."""
    try:
        matplotlib()
    except MissingExtra as error:
        hint(f"no pictures: {error}")
    say(str(write_report(run)))
