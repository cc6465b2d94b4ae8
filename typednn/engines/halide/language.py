"""Halide's language: the names of the module ``halide``, which is imported when the first of them is used.

Kernels are described with them, as ``hl.Func`` and ``hl.Var``. Their types are in ``stubs/halide``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    from halide import *  # noqa: F403
    from halide import Func, Stage

    Scheduled = TypeVar("Scheduled", Func, Stage)  # what a schedule is given, and gives back
else:
    import importlib

    def __getattr__(name):
        if name.startswith("__"):  # what Python asks of every module
            raise AttributeError(name)
        found = globals()[name] = getattr(importlib.import_module("halide"), name)
        return found
