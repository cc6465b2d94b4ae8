"""The sizes, in one place."""

from typing import Final

SIDE: Final = 28
CLASSES: Final = 10
KERNEL: Final = 5
CHANNELS: Final = 6
POOLED: Final = (SIDE - KERNEL + 1) // 2
FEATURES: Final = POOLED * POOLED * CHANNELS
