"""The sizes."""

from typing import Final

SIDE: Final = 16
CHANNELS: Final = 12
POOLED: Final = SIDE // 4  # shape
FLAT: Final = POOLED * POOLED * CHANNELS
