"""Static checks of sizes in Python files: mypy with typednn's plugin, without a mypy set-up of one's own.

mypy runs within this process, with a configuration made here. Only what the plugin says is reported, and files that
cannot be parsed; everything else that mypy finds is left to those who run mypy. Of the user's own mypy settings those
count that decide where modules are found.
"""

from typing import TYPE_CHECKING

from typednn.static_checks.coverage import coverage
from typednn.static_checks.findings import Finding, findings, known_facts
from typednn.static_checks.formats import written_as
from typednn.static_checks.places import end_of
from typednn.static_checks.running import KeptMypy, is_installed
from typednn.static_checks.targets import python_files

if TYPE_CHECKING:  # importing the plugin needs mypy
    from typednn.mypy_plugin.facts import ModuleFacts as ModuleFacts
    from typednn.mypy_plugin.facts import Problem as Problem
    from typednn.mypy_plugin.facts import Span as Span

__all__ = [
    "Finding",
    "KeptMypy",
    "coverage",
    "end_of",
    "findings",
    "is_installed",
    "known_facts",
    "python_files",
    "written_as",
]
