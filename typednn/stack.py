"""`Stack`, the model that a config describes; it is written in `typednn.module.stack`."""

from typednn.module.stack import AnyLayer, Dyn, DynGrad, Stack, known_sizes, stack_part, trace_part

__all__ = ["AnyLayer", "Dyn", "DynGrad", "Stack", "known_sizes", "stack_part", "trace_part"]
