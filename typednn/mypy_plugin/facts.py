"""What the plugin knows about a module's code, for those who show it: an editor, a report. Nothing is collected unless
someone asks.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file: lines from 1, columns from 0, as mypy counts them."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Size:
    """Known sizes: ``text`` is "batch 14 14 6", of a layer "batch 784 -> batch 10"; ``name`` is the variable, empty for
    a call.
    """

    span: Span
    kind: str  # "assignment", "layer" or "call"
    name: str
    text: str
    why: str = ""  # "400 = 5*5*16, from MaxPool2d on 10x10x16"


@dataclass(frozen=True, slots=True)
class Fix:
    """The one cure of a mistake: the text ``old`` at ``span`` becomes ``new``."""

    span: Span
    old: str
    new: str
    title: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake, and how it is cured if there is one way."""

    span: Span
    message: str
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """Where knowledge of a size was lost, and what."""

    span: Span
    what: str


@dataclass(frozen=True, slots=True)
class Function:
    """How much is known of a function: ``verdict`` is "proven", "partly" or "unknown"; ``result`` the sizes that it
    gives, empty where they are not known.
    """

    name: str
    line: int
    verdict: str
    losses: tuple[Loss, ...] = ()
    result: str = ""


@dataclass(slots=True)
class ModuleFacts:
    """All that is known of one module."""

    path: str
    sizes: list[Size] = field(default_factory=list[Size])
    problems: list[Problem] = field(default_factory=list[Problem])
    functions: list[Function] = field(default_factory=list[Function])


collected: dict[str, ModuleFacts] | None = None  # by absolute path; None: nobody wants them, nothing is collected
checked_anew: set[str] = set()  # absolute paths of files that are checked even if mypy's cache has an answer
