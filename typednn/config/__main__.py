"""``python -m typednn.config FILE [--import MODULE ...]``: print the model that a config describes, or what is wrong with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from typednn.config.model_config import load
from typednn.errors import ConfigError


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 for a good config, 1 for a faulty one (2, by argparse, for a command that is not understood)."""
    parser = argparse.ArgumentParser(
        prog="python -m typednn.config", description="Check a model config and print its layers; nothing is allocated."
    )
    parser.add_argument("file", metavar="FILE", help="a TOML config, or one in the paper's own format")
    parser.add_argument(
        "--import",
        metavar="MODULE",
        action="append",
        default=[],
        dest="modules",
        help="import a module that registers layers; may be repeated",
    )
    given = parser.parse_args(arguments)
    try:
        model = load(given.file, imports=given.modules).model()
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{model}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
