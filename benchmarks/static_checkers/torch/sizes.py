"""Sizes that another module imports."""

from typing import Final

CHANNELS: Final = 16
WIDTH: Final = 28
