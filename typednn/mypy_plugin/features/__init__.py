"""The meaning of each name for sizes: a table from a name, as below, to an analysis; one file per feature.

    builtins.len                     a function, by its full name
    typednn.module.layer.Sequential  a call of this class itself
    (typednn.module.module.Module)   a call of any class derived from it
    Array.reshape()                  a method, by the kind of value (`values`) or by its owner's full name
    Array.shape                      an attribute
    Layer >> Layer, Array + Array    an operator between two kinds of values; + stands for all but >> and @

To add one, write a function that takes a `Call`, put it into its file's ``TABLE``, or into ``EFFECTS`` if it changes
what its caller's names hold, and name a new file here.
"""

from typednn.mypy_plugin.context import Analysis, once
from typednn.mypy_plugin.features import (
    arguments,
    arrays,
    builtins,
    constructors,
    forward,
    gradients,
    lists,
    reveals,
    stacks,
    torch_modules,
    transforms,
)

_FILES = (
    arguments,
    arrays,
    builtins,
    constructors,
    forward,
    gradients,
    reveals,
    stacks,
    torch_modules,
    transforms,
)

EFFECTS: dict[str, Analysis] = {**constructors.EFFECTS, **lists.EFFECTS}
TABLE: dict[str, Analysis] = {
    **EFFECTS,
    **{name: once(analysis) for file in _FILES for name, analysis in file.TABLE.items()},
}
