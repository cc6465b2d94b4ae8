"""``python -m typednn``: the command line."""

import sys

from typednn.cli import main

if __name__ == "__main__":
    sys.exit(main())
