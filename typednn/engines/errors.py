"""What an engine raises when a kernel cannot be compiled or fails while it runs; wrong arrays are Shape- and DTypeErrors."""

from __future__ import annotations

from typednn.errors import TypednnError


class EngineError(TypednnError, RuntimeError):
    """A kernel that could not be compiled, or that failed while it ran."""
