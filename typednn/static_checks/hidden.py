"""Files that hide a package which sizes are known by: beside a ``numpy.py`` mypy reads that, and knows no size of any
array.
"""

import importlib.util
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from typednn.static_checks.targets import base_folder, module_name

_NEEDED: Final = ("typednn", "numpy", "jaxtyping", "typing_extensions")
_FORMS: Final = ("{}/__init__.pyi", "{}/__init__.py", "{}.pyi", "{}.py")
_IMPORT: Final = re.compile(rf"^[ \t]*(?:from|import)[ \t]+(?:{'|'.join(_NEEDED)})\b".encode(), re.MULTILINE)


def hiding(files: Iterable[str]) -> dict[str, str]:
    """Of ``files`` those that have the name of such a package and are not in it, each with that name."""
    named = {file: module_name(file) for file in files}
    return {file: name for file, name in named.items() if name in _NEEDED and not _is_real(name, file)}


def hidden_by(files: Iterable[str], mypy_path: Sequence[str]) -> dict[str, str]:
    """The packages that a file on the disk hides, each with that file: where mypy looks before it looks among what is
    installed.
    """
    folders = dict.fromkeys([os.getcwd(), *map(os.path.abspath, mypy_path), *map(base_folder, files)])
    places = [(name, Path(folder, form.format(name))) for name in _NEEDED for folder in folders for form in _FORMS]
    return {
        name: os.path.relpath(place)
        for name, place in reversed(places)
        if place.is_file() and not _is_real(name, str(place))
    }


def import_line(text: bytes) -> int:
    """The line, from 1, of the first import of such a package; 1 where there is none."""
    match = _IMPORT.search(text)
    return 1 if match is None else text.count(b"\n", 0, match.end()) + 1


def _is_real(name: str, file: str) -> bool:
    """Whether a file is that of the package which this process would import."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    if spec is None or spec.origin is None:
        return False
    real = Path(os.path.realpath(spec.origin))
    return Path(os.path.realpath(file)).is_relative_to(real.parent if real.stem == "__init__" else real)
