"""What the user's mypy configuration says about finding modules."""

import io
from typing import Any

from typednn.errors import ArgumentError, optional

# Why mypy must be there, and the command that installs it.
NEEDS_MYPY = ("needs mypy to check Python", "pip install 'typednn[mypy]'")


def user_settings(target: str) -> Any:
    """mypy's own `Options`, from the file that mypy would read; ``target`` is named where mypy is not installed."""
    options: Any = optional("mypy.options", target, *NEEDS_MYPY).Options()
    complaints = io.StringIO()
    try:
        optional("mypy.config_parser", target, *NEEDS_MYPY).parse_config_file(options, lambda: None, None, complaints, complaints)
    except (UnicodeDecodeError, AttributeError, TypeError, ValueError) as error:
        complaints.write(f"mypy's configuration: {error}")
    file, _, problem = complaints.getvalue().strip().partition(": ")
    if problem and not problem.startswith(("[", "No [mypy] section")):  # those are about single settings
        raise ArgumentError(f"{file}: cannot be read for mypy's settings: {problem}")
    return options
