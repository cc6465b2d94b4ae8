"""What an editor has open, checked: texts in, findings and facts out. Knows no protocol."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, final

from typednn.errors import ArgumentError, TypednnError
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
        self._refused: dict[str, str] = {}

    def check(self, texts: Mapping[str, str]) -> None:
        """Check these texts. One that mypy cannot read to its end, or whose settings are wrong, has that as its
        finding.

        The others are checked without it, and it is not tried again until it changes.
        """
        texts = {path: text for path, text in texts.items() if is_checked(path)}
        self._refused = {path: text for path, text in self._refused.items() if texts.get(path) == text}
        said = [finding for path in self._refused for finding in self.found[path]]
        found = said + self._found({path: text for path, text in texts.items() if path not in self._refused})
        self.checked = dict(texts)
        self.found = {path: [] for path in texts}
        for finding in found:
            self.found.setdefault(os.path.abspath(finding.path), []).append(finding)

    def _found(self, texts: Mapping[str, str]) -> list[Finding]:
        """The findings; where checking raises, it is asked of which text: those that have changed are tried alone, or
        all.
        """
        try:
            return self._together(texts)
        except Exception as error:  # mypy may raise anything
            if len(texts) == 1:
                ((path, text),) = texts.items()
                if not isinstance(error, ArgumentError):  # an error of the settings, which may change
                    self._refused[path] = text
                said = (
                    str(error)
                    if isinstance(error, TypednnError)
                    else f"cannot be checked: {type(error).__name__}: {error}"
                )
                return [Finding(path, 1, 1, said, "config")]
        changed = {path: text for path, text in texts.items() if self.checked.get(path) != text}
        alone = {path: self._found({path: text}) for path, text in (changed or texts).items()}
        wrong = [path for path, found in alone.items() if any(finding.code == "config" for finding in found)]
        if not wrong:  # only together, or of a text that has not changed
            alone |= {path: self._found({path: text}) for path, text in texts.items() if path not in alone}
            return [finding for found in alone.values() for finding in found]
        others = self._found({path: text for path, text in texts.items() if path not in wrong})
        return [finding for path in wrong for finding in alone[path]] + others

    def _together(self, texts: Mapping[str, str]) -> list[Finding]:
        self._mypy.buffers = {path: text.encode(errors="replace") for path, text in texts.items()}
        return findings(list(texts), self._mypy) if texts else []

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
