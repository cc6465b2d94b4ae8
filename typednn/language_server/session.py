"""What an editor has open, checked: texts in, findings and facts out. Knows no protocol."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, final

from typednn.errors import TypednnError
from typednn.static_checks import Finding, KeptMypy, findings, is_installed

if TYPE_CHECKING:  # importing the plugin needs mypy
    from typednn.static_checks import ModuleFacts

# Packages of others: they are read, but not checked.
_OTHERS = {"node_modules", "lib-dynload"}
_STANDARD = Path(os.__file__).parent


@final
class Session:
    """The texts that were checked last, and what is known of them, by absolute path."""

    def __init__(self) -> None:
        self.checked: dict[str, str] = {}
        self.found: dict[str, list[Finding]] = {}
        self._mypy = KeptMypy(facts=True)

    def check(self, texts: Mapping[str, str]) -> None:
        """Check these texts. An error of typednn becomes a finding of each; with any other nothing is kept, and it is raised."""
        texts = {path: text for path, text in texts.items() if is_checked(path)}
        self._mypy.buffers = {path: text.encode(errors="replace") for path, text in texts.items()}
        try:
            found = findings(list(texts), self._mypy) if texts else []
        except TypednnError as error:
            found = [Finding(path, 1, 1, str(error), "config") for path in texts]
        except BaseException:
            self._mypy.close()
            self._mypy = KeptMypy(facts=True)
            raise
        self.checked = dict(texts)
        self.found = {path: [] for path in texts}
        for finding in found:
            self.found.setdefault(os.path.abspath(finding.path), []).append(finding)

    def close(self) -> None:
        """Give up what is kept."""
        self._mypy.close()

    def facts(self, path: str, text: str) -> "ModuleFacts | None":
        """What is known of a file; None if it was not checked with this text, or cannot be parsed."""
        broken = any(finding.code != "shape" for finding in self.found.get(path, ()))
        return None if self.checked.get(path) != text or broken else (self._mypy.known or {}).get(path)


def is_checked(path: str) -> bool:
    """Whether the file is somebody's own Python."""
    parts = Path(path)
    return (
        parts.suffix in (".py", ".pyi")
        and not _OTHERS & set(parts.parts)
        and not is_installed(path)
        and not parts.is_relative_to(_STANDARD)
    )
