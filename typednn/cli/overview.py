"""The command that lists runs: runs."""

import json
from argparse import Namespace
from dataclasses import asdict

from typednn.cli.output import hint, say
from typednn.runs.overview import as_table, runs_in
from typednn.screen import screen_width


def runs(options: Namespace) -> int:
    """A table of the runs in a folder, or JSON; what is damaged in a run is told."""
    found = runs_in(options.folder, options.sort)
    for line in [json.dumps(asdict(run)) for run in found] if options.json else as_table(found, screen_width()):
        say(line)
    for run in found:
        for remark in run.remarks:
            hint(f"{run.name}: {remark}")
    return 0
