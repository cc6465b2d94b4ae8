"""What lower floors call of higher ones. `typednn/__init__.py`, which is above all floors and runs before any of them,
sets each.
"""

from __future__ import annotations

TYPE_CHECKING = False  # to type checkers it is true; `typing` would be much of `import typednn`'s time
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from typing import Any

fused: Callable[[Sequence[Any]], Any]
"""How a chain of these parts runs: a `typednn.fusion.Fused`."""

save: Callable[[Any, str | os.PathLike[str]], None]
"""Write a model into a file: `typednn.exchange.save`."""
