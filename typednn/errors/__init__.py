"""Every exception of typednn, and the one shape its messages have.

    TypednnError                    catch this to catch them all
    ├── DefinitionError  TypeError      a class is annotated so that it could not be checked
    ├── ArgumentError    ValueError     a constructor or function got a value outside its domain
    │   └── CallError    TypeError          or arguments that it does not take
    ├── MissingName      AttributeError what has no such attribute, though another library's has
    ├── MissingImport    ImportError    a package has no such name, though another or another library's has
    ├── StackError       TypeError      two layers that cannot follow each other
    ├── LocatedError                    an error of one layer; knows the layer's path in the model
    │   ├── CheckError   TypeError          an array is not what an annotation promises
    │   │   ├── ShapeError                      wrong rank or size
    │   │   ├── DTypeError                      wrong kind or precision
    │   │   └── DeviceError                     arrays of two devices, or of none that is known
    │   ├── OutOfMemory  MemoryError        an array does not fit into memory
    │   └── StateError   RuntimeError       a layer is not in the state that a call needs
    │       ├── NotInitialised                  parameters were never filled
    │       ├── NotForwarded                    backward without a forward that kept anything
    │       └── LayerReused                     one layer called twice within one outer forward
    ├── StateDictError   ValueError     saved state does not belong to this model
    ├── DataError        ValueError     a data file is missing, or not what it should be
    ├── CheckpointError  ValueError     a run's files cannot be written, or are not what they should be
    ├── ConfigError      ValueError     a model config cannot be read; has file:line:column
    ├── EngineError      RuntimeError   a kernel that could not be compiled, or that failed while it ran
    └── MissingExtra     ImportError    a feature needs an optional package

A message says *where*, which *rule*, what it *got*, and the *cure*: see `explain`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal


class TypednnError(Exception):
    """Base of everything that typednn raises on purpose."""


class DefinitionError(TypednnError, TypeError):
    """A class whose annotations could not be enforced; raised while the class is being defined."""


class ArgumentError(TypednnError, ValueError):
    """A value outside a function's domain, such as ``Linear(0, 10)``.

    ``argument`` is the name of the argument to blame, ``in_features``; "" where no single one is.
    """

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


class CallError(ArgumentError, TypeError):
    """A call with arguments that the function does not take, such as ``Adam(learning_rate=0.1)``."""


class MissingName(TypednnError, AttributeError):
    """An object or a module has no such attribute, and `typednn.errors.habits` knows what to write instead."""


class MissingImport(TypednnError, ImportError):
    """A package has no such name, and `typednn.errors.habits` knows what to write instead."""


class LocatedError(TypednnError):
    """An error of one layer; ``path`` is that layer's place in the model, filled in while the error
    travels outwards.
    """

    def __init__(self, message: str, owner: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.owner = owner
        self.path = ""

    def __str__(self) -> str:
        return f'layer "{self.path}": {self.message}' if self.path else self.message


class CheckError(LocatedError, TypeError):
    """An array is not what an annotation promises."""


class ShapeError(CheckError):
    """Wrong rank or size."""


class DTypeError(CheckError):
    """Wrong kind of number, or another precision than the model's."""


class DeviceError(CheckError):
    """Arrays of two devices meet, or an array of no registered kind."""


class OutOfMemory(LocatedError, MemoryError):
    """An array that does not fit into memory; raised before it is made where its size is known by then."""


class StackError(TypednnError, TypeError):
    """Two layers that cannot follow each other; raised while the stack is being built.

    ``reason``     what does not fit:
                       "rank"   the number of axes
                       "size"   the size of one axis
                       "empty"  an output axis would have no elements: the window or the cut is larger than the input
                       "shape"  what an inner layer gives is not what its wrapper adds it to
                       "part"   the object cannot be a part of this stack, whatever its sizes
    ``axis``       the name of the axis, where it is one axis
    ``expected``   what would fit, as the message says it; ``got`` what there is
    ``argument``   the layer's argument that gives the size, as its annotation says: ``in_features``; "" where there is
                   none
    ``trace``      the shapes so far, a line per layer
    ``layers``     the layers that the error passed on its way out, innermost first: the first is ``layer``, the one
                   that does not fit
    """

    def __init__(
        self,
        message: str,
        reason: Literal["rank", "size", "empty", "shape", "part"] = "part",
        *,
        axis: str = "",
        expected: str = "",
        got: str = "",
        argument: str = "",
        trace: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.axis = axis
        self.expected = expected
        self.got = got
        self.argument = argument
        self.trace = trace
        self.layers: list[object] = []

    @property
    def layer(self) -> object:
        """The layer that does not fit; None where no layer was asked."""
        return self.layers[0] if self.layers else None


class StateError(LocatedError, RuntimeError):
    """A layer is not in the state that a call needs."""


class NotInitialised(StateError):
    """A parameter was read before ``init(rng)`` filled it."""


class NotForwarded(StateError):
    """``backward`` was called while nothing is kept from a ``forward``."""


class LayerReused(StateError):
    """One layer was called twice within one outer ``forward`` while training."""


class StateDictError(TypednnError, ValueError):
    """Saved state that does not belong to this model."""


class DataError(TypednnError, ValueError):
    """A data file that is missing, or not what it should be."""


class CheckpointError(TypednnError, ValueError):
    """A run's files cannot be written, or are not what they should be.

    ``damaged`` tells a file that is broken, for which an older checkpoint can stand in, from one that belongs
    elsewhere.
    """

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        super().__init__(message)
        self.damaged: bool = damaged


class ConfigError(TypednnError, ValueError):
    """A model config that cannot be read or whose shapes do not fit.

    ``message`` says what is wrong, without the place; ``line`` and ``column`` count from 1, 0 where there is none;
    ``shown`` are lines to print under the message.
    """

    def __init__(self, message: str, path: str = "", line: int = 0, column: int = 0, shown: Sequence[str] = ()) -> None:
        message = printable(message)  # it may quote the file
        super().__init__(printable("\n".join([f"{path}:{line}:{column}: {message}" if line else message, *shown])))
        self.message = message
        self.path = path
        self.line = line
        self.column = column


class EngineError(TypednnError, RuntimeError):
    """A kernel that could not be compiled, or that failed while it ran; wrong arrays are Shape- and DTypeErrors."""


class MissingExtra(TypednnError, ImportError):
    """A feature needs an optional package; the message names the extra that brings it, and how it is installed here
    (`installing`).
    """

    def __init__(self, message: str, *, name: str | None = None) -> None:
        super().__init__(installing(message), name=name)


_PIP = re.compile(r"pip install '?typednn\[([\w,]+)\]'?")


def installing(text: str) -> str:
    """``text`` with each hint to install an extra as it works here, in quotes, without which zsh reads a pattern.

    uv installs into environments that have no pip. Where typednn is not installed, as in a clone on PYTHONPATH, its
    folder is named: an index might have another package of this name.
    """
    found = _PIP.search(text)
    if found is None:
        return text
    from importlib import metadata  # slow to import, and needed only here

    try:
        tool = (metadata.distribution("typednn").read_text("INSTALLER") or "").strip()
        how = "uv pip install 'typednn[{}]'" if tool == "uv" else "pip install 'typednn[{}]'"
    except metadata.PackageNotFoundError:
        folder = Path(__file__).resolve().parents[2]
        how = f"pip install '{folder}[{{}}]'"
    return _PIP.sub(lambda match: how.format(match[1]), text)


def optional(module: str, where: str, rule: str, cure: str) -> Any:
    """The module of an optional package; a `MissingExtra` with the cure where it cannot be imported."""
    try:
        return import_module(module)
    except ImportError as error:
        package, missing = module.partition(".")[0], (error.name or module).partition(".")[0]
        raise MissingExtra(explain(where, rule, f"no module named {missing!r}", cure), name=package) from None


def explain(where: str, rule: str, got: str, cure: str = "") -> str:
    """``where: rule, got …; cure``: the order in which a reader needs it. What quotes a file or an argument is cut
    where it is long.
    """
    message = f"{where}: {_cut(rule)}, got {_cut(got)}"
    return printable(f"{message}; {cure}" if cure else message)


def _cut(text: str, most: int = 1500) -> str:
    """``text`` without its middle where it has more than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def shown(value: object, most: int = 100) -> str:
    """``repr(value)`` in one line, cut where it is long: a list of arrays would hide the rest of the message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(parts: Sequence[str], separator: str = ", ", most: int = 12) -> str:
    """``parts`` in one line; of more than ``most`` the first of them, and how many more there are."""
    more = len(parts) - most
    return separator.join(parts if more <= 0 else [*parts[:most], f"and {more} more"])


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word that was probably meant, ignoring case; "" where none is as near as ``cutoff``, a share of equal
    letters.
    """
    from difflib import get_close_matches  # takes time to import, for mistakes alone

    lower = {name.lower(): name for name in known}
    near = get_close_matches(word[:_LONGEST].lower(), lower, 1, cutoff)
    return lower[near[0]] if near else ""


def suggestion(word: str, known: Iterable[str], otherwise: str = "there are") -> str:
    """``did you mean 'in_features'?`` where a known word is close; else the known words, of many the nearest."""
    from difflib import get_close_matches

    names = list(known)
    near = closest(word, names)
    if near:
        return f"did you mean {near!r}?"
    if len(names) <= _MOST:
        return f"{otherwise} {', '.join(names) or 'none'}"
    lower = {name.lower(): name for name in names}
    nearest = get_close_matches(word[:_LONGEST].lower(), lower, n=8, cutoff=0.0)
    return f"the nearest of {len(lower)} are {', '.join(lower[name] for name in nearest)}"


_LONGEST: Final = 60  # characters of a word that are compared
_MOST: Final = 24  # names that a message lists
SURE: Final = 0.75  # a cutoff of `closest` for names in a program, where a wrong guess misleads


def counted(number: int, noun: str) -> str:
    """``1 parameter``, ``2,048 parameters``: a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    r"""``text`` as every terminal, page and file can show it. All that is shown to people goes through this.

    Written as escapes, such as ``\u001b``, which JSON reads too: controls but tabs and line feeds, which move the
    cursor or command a terminal; marks that turn the direction of text around, which can make one name look like
    another; lone surrogates, which names that are not UTF-8 contain.
    """
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.encode("utf-8", "backslashreplace").decode())


UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]"
)
"""The characters that `printable` escapes."""
