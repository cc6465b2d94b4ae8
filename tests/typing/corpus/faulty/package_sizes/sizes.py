"""The sizes, in one place."""

from typing import Final

SIDE: Final = 28
CLASSES: Final = 10
FEATURES: Final = 12 * 12
