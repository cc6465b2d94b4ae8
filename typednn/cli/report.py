"""The command that draws a run's pictures and writes its page, or compares runs: report."""

from argparse import Namespace
from pathlib import Path

from typednn.cli.output import hint, say
from typednn.errors import ArgumentError, DataError, MissingExtra, explain
from typednn.reports.canvas import matplotlib
from typednn.reports.comparison import compared_folders, write_comparison
from typednn.reports.html import write_report


def report(options: Namespace) -> int:
    """One run: the pictures, and one HTML page. Several: one page that compares them. Prints the page's path."""
    folders = _folders(options.runs)
    if len(folders) > 1:
        say(str(write_comparison(folders, options.output)))
        return 0
    if options.output is not None:
        got, cure = "one run", "leave it out: a run's page is RUN/report.html"
        raise ArgumentError(explain("report", "--output is for a comparison of runs", got, cure), "output")
    write_page(folders[0])
    return 0


def _folders(given: list[str]) -> list[Path]:
    """The runs that are meant; one folder that holds none is left to `write_report`, which says what it lacks."""
    try:
        return compared_folders(given)
    except DataError:
        if len(given) > 1:
            raise
        return [Path(given[0])]


def write_page(run: str | Path) -> None:
    """Draw, write, and print the path of the page; without matplotlib, a hint."""
    try:
        matplotlib()
    except MissingExtra as error:
        hint(f"no pictures: {error}")
    say(str(write_report(run)))
