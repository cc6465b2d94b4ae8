"""What an option of the command line is, and those that several commands take."""

import argparse
import csv
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, final

Argument: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]


@final
class Command(NamedTuple):
    """A command: the module in ``typednn.cli`` that has its function, its help, and the arguments of `argparse` it
    takes.
    """

    module: str
    about: str
    arguments: tuple[Argument, ...] = ()
    examples: str = ""


def _number(
    kind: Callable[[str], float], above: float, expected: str, text: str, *, most: float = sys.float_info.max
) -> float:
    with suppress(ValueError):
        if above < kind(text) <= most:
            return kind(text)
    raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")


def argument(*names: str, **options: Any) -> Argument:
    """An argument as `argparse` takes it."""
    return names, options


def weights(text: str) -> str:
    """``last`` is another word for ``latest``."""
    return "latest" if text == "last" else text


def yes(text: str) -> bool:
    """Whether the text is ``yes``; ``no`` is the only other."""
    if text not in ("yes", "no"):
        raise argparse.ArgumentTypeError(f"expected yes or no, got {text!r}")
    return text == "yes"


def character(text: str) -> str:
    """A character, of which the tabulator has names."""
    return "\t" if text in ("tab", "\\t") else text


def names(text: str) -> list[str]:
    """Names between commas; one that holds a comma stands in quotes, as in CSV files."""
    found = [name.strip() for row in csv.reader([text], skipinitialspace=True) for name in row]
    if not all(found) or not found:
        raise argparse.ArgumentTypeError(f"expected names between commas, got {text!r}")
    return found


_NEGATIVE = -5e-324  # the largest number below 0
COUNT: Final = partial(_number, int, 0, "a whole number, at least 1")
FOLDS: Final = partial(_number, int, 1, "a whole number, at least 2")
WHOLE: Final = partial(_number, int, -1, "a whole number, at least 0")
POSITIVE: Final = partial(_number, float, 0, "a number above 0")
NOT_NEGATIVE: Final = partial(_number, float, _NEGATIVE, "a number of at least 0")
PORT: Final = partial(_number, int, -1, "a port, 0 to 65535", most=65535)
SHARE: Final = partial(_number, float, _NEGATIVE, "a number from 0 to 1", most=1.0)

RUN = argument("run", metavar="RUN", help="the run's folder")
IMPORT = argument(
    "--import",
    metavar="MODULE",
    action="append",
    default=[],
    dest="modules",
    help="import a module that registers layers; may be repeated",
)
MODEL = argument(
    "--model",
    metavar="MODULE:NAME",
    help="of a run of fit whose config can't say it: the model, or what makes it; imports MODULE",
)
LAYOUT = (
    argument(
        "--header",
        type=yes,
        metavar="yes|no",
        help="of a CSV file: whether line 1 holds the columns' names; by default it decides",
    ),
    argument(
        "--delimiter", type=character, metavar="CHAR", help="of a CSV file: what is between columns, such as ';' or tab"
    ),
    argument("--decimal", choices=(".", ","), help="of a CSV file: what is before fractions"),
)
TRAINING = (
    argument(
        "--ranks", type=COUNT, metavar="N", help="so many processes share out each batch, by MPI: as mpiexec -n N does"
    ),
    argument("--stages", type=COUNT, default=1, metavar="S", help="cut the model into so many parts, a rank for each"),
    argument(
        "--restarts",
        type=WHOLE,
        default=0,
        metavar="N",
        help="with --ranks: where a rank dies, go on from the last checkpoint, up to N times",
    ),
    argument(
        "--shard-optimizer",
        action="store_true",
        help="with --ranks: each process keeps the optimizer's arrays of its part of every parameter, in less memory",
    ),
    argument(
        "--time-limit",
        type=partial(_number, float, 0, "a number of seconds above 0"),
        metavar="SECONDS",
        help="save and stop after this time",
    ),
    argument(
        "--report",
        action="store_true",
        help="at the end, draw the pictures and write the page, as `typednn report` does",
    ),
    argument(
        "--track",
        choices=("mlflow", "wandb"),
        help="log to MLflow or to Weights & Biases; their environment variables say where",
    ),
    argument("-q", "--quiet", action="store_true", help="no progress, no tables"),
)
