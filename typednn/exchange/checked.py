"""What every function here asks of the model that it gets."""

from typednn.errors import ArgumentError, explain
from typednn.module.module import Module


def check_model(where: str, model: object) -> None:
    """An `ArgumentError` where ``model`` is none."""
    if not isinstance(model, Module):
        got, cure = type(model).__name__, "build one: `typednn docs models`"
        if isinstance(model, type):
            got, cure = f"the class {model.__name__}", "call it"
        raise ArgumentError(explain(where, "model is a model of typednn", got, cure), "model")
