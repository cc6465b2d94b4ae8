"""The parser of the command line, with cures for what is misspelt. Imports nothing that is slow."""

import argparse
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Final, NoReturn, final

from typednn.cli.commands import COMMANDS, SETTINGS
from typednn.cli.cures import for_command, for_option
from typednn.cli.output import as_shown
from typednn.screen import wrapped
from typednn.version import __version__

_EPILOG = """\
examples:
  typednn train lenet5                          train on handwritten digits, into a new folder runs/lenet5-1
  typednn train lenet5 --data mnist --run big   on MNIST, into the folder big
  typednn resume big                            continue after Ctrl-C, a crash or a power cut, with the same result
  typednn predict big seven.png                 which digit is it?
  typednn COMMAND --help                        more, with examples

exit codes:
  0 success   1 an error, with a message that says what is wrong   2 the command line is wrong
  130 stopped by Ctrl-C   143 stopped by SIGTERM; `typednn resume` continues a stopped run
"""


WELCOME: Final = """\
typednn trains neural networks whose shapes are proven to fit. To begin:
  typednn train lenet5        trains on handwritten digits, into a new folder runs/lenet5-1
  typednn new my-project      writes a small project: a layer, a config, a script, a test
  typednn --help              every command, with examples
"""
_CALLS: Final = (
    "Such as typednn train lenet5, typednn train --data photos/, or typednn train --data table.csv --target COLUMN"
)


class Help(argparse.RawDescriptionHelpFormatter):
    """Help whose lines fit the screen; a call to copy is not broken."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """A paragraph without indented lines is one text; of the others each line is broken for itself."""
        parts = [
            part if "\n " in part else textwrap.fill(part, width, break_long_words=False, break_on_hyphens=False)
            for part in text.rstrip("\n").split("\n\n")
        ]
        lines = [
            line if line.startswith("  typednn") and "   " not in line.strip() else wrapped(line, width)
            for line in "\n\n".join(parts).split("\n")
        ]
        return "\n".join([*lines, ""])


@final
class Parser(argparse.ArgumentParser):
    """As argparse's, with a cure for misspelt commands and options and for those of other tools; exit code 2."""

    given: Sequence[str] = ()  # the words of the command line

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if unknown:
            message = f"no command {unknown[1]!r}; {for_command(unknown[1], COMMANDS)}"
        elif "are required" in message:  # perhaps given under another name
            options = self._option_string_actions
            words = [word for word in self.given if word.startswith("--") and word.partition("=")[0] not in options]
            cure = for_option(words[0], options) if words else ""
            message = f"no option {words[0].partition('=')[0]!r}; {cure}" if cure else message
        self.exit(2, as_shown(f"{self.prog}: {message}\n{self.prog} --help shows examples") + "\n")


def _is_bare(options: argparse.Namespace) -> bool:
    return all(named is None for named in (options.recipe, options.model, options.data, options.preset, options.start))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options in ``arguments``; what is left over ends the process with exit code 2 and a cure."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["help"]:  # as git and cargo have it
        given = [*given[1:2], "--help"]
    top = parser(given)
    options, left = top.parse_known_args(given)
    if options.command == "train" and not left and _is_bare(options):
        asked = f"typednn train: what is to be trained? {_CALLS}\ntypednn train --help shows examples"
        top.exit(2, f"{as_shown(asked)}\n")
    unknown = next((word for word in left if word.startswith("-") and word != "-"), None)
    if left and unknown is None and options.command == "train":  # argparse takes no files behind an option
        options.files = [*options.files, *left]
    elif left:
        options_here = [
            name for names, _ in COMMANDS[options.command].arguments for name in names if name.startswith("--")
        ]
        settings = SETTINGS.split() if options.command == "train" else ()
        cure = "" if unknown is None else for_option(unknown, [*options_here, "--debug", "--help"], settings)
        if options.command == "resume" and unknown in [
            name for names, _ in COMMANDS["train"].arguments for name in names
        ]:
            cure = "a run keeps the settings that it began with; typednn train begins another"
        got = f"takes no {' '.join(left)!r}" if unknown is None else f"no option {unknown.partition('=')[0]!r}"
        where = f"typednn {options.command}"
        said = as_shown(f"{where}: {got}; {cure}" if cure else f"{where}: {got}")
        top.exit(2, f"{said}\n{where} --help shows examples\n")
    options.given = given
    return options


def parser(given: Sequence[str] = ()) -> Parser:
    """The parser of the whole command line; messages look at the words that are ``given``."""
    top = Parser(
        prog="typednn",
        description="Train, resume, test and use neural networks whose shapes are proven to fit.",
        epilog=_EPILOG,
        formatter_class=Help,
    )
    top.add_argument("-V", "--version", action="version", version=f"typednn {__version__}")
    parsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, command in COMMANDS.items():
        added = parsers.add_parser(
            name, help=command.about, description=command.about, epilog=command.examples, formatter_class=Help
        )
        added.given = given
        added.add_argument("--debug", action="store_true", help="show the traceback of an error")
        for names, options in command.arguments:
            added.add_argument(*names, **options)
    return top
