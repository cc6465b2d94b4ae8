"""What the user's mypy configuration says about finding modules."""

import io
import re
from typing import Any

from typednn.errors import SURE, ArgumentError, closest, explain, optional

# Those of mypy's settings that count here.
_USED = ("mypy_path", "namespace_packages", "explicit_package_bases", "exclude", "cache_dir")
_FILES = ("pyproject.toml", "setup.cfg")
# Why mypy must be there, and the command that installs it.
NEEDS_MYPY = ("needs mypy to check Python", "pip install 'typednn[mypy]'")


def user_settings(target: str) -> Any:
    """mypy's own `Options`, from the file that mypy would read; ``target`` is named where mypy is not installed."""
    options: Any = optional("mypy.options", target, *NEEDS_MYPY).Options()
    complaints = io.StringIO()
    try:
        optional("mypy.config_parser", target, *NEEDS_MYPY).parse_config_file(
            options, lambda: None, None, complaints, complaints
        )
    except (UnicodeDecodeError, AttributeError, TypeError, ValueError) as error:
        complaints.write(f"mypy's configuration: {error}")
    file, _, problem = complaints.getvalue().strip().partition(": ")
    if problem and not problem.startswith(("[", "No [mypy] section")):  # those are about single settings
        raise ArgumentError(f"{file}: cannot be read for mypy's settings: {problem}")
    for line in complaints.getvalue().splitlines():
        if (
            used := re.match(rf"(.*?): \[mypy\]: (?:Unrecognized option: )?({'|'.join(_USED)})\b(.*)", line)
        ) is not None:
            raise ArgumentError(f"{used[1]}: mypy's setting {used[2]}: {used[3].lstrip(': ')}")
        unknown = re.match(r"(.*?): \[mypy\]: Unrecognized option: (\w+)", line)
        near = closest(unknown[2], _USED, SURE) if unknown is not None else ""
        if unknown is not None and near:
            raise ArgumentError(
                explain(unknown[1], "expects settings that mypy has", unknown[2], f"did you mean {near}?")
            )
    plugin: Any = optional("typednn.mypy_plugin.options", target, *NEEDS_MYPY)
    for name in (options.config_file, *_FILES):  # also where there is no table of mypy's
        if name is not None:
            plugin.read(name)
    return options
