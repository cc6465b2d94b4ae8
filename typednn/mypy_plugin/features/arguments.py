"""The functions that check a constructor's arguments: ``integer("Linear", "in_features", in_features)``."""

from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.values import UNKNOWN, Number, Pack, Value, integer_of, number
from typednn.shapes import Dim


def checked(call: Call) -> Value:
    """The argument; for ``integer`` and ``pair`` at least as large as the check ensures."""
    value = call.argument(2, "value")
    lowest = integer_of(call.argument(3, "least", number(1)))
    match call.name.rpartition(".")[2], value:
        case "integer", _:
            return _size(value, lowest)
        case "pair", Number():
            return Pack((_size(value, lowest),) * 2, frozen=True)
        case "pair", Pack(items=items):
            return Pack(tuple(_size(each, lowest) for each in items), frozen=True)
        case "pair", _:
            return UNKNOWN
        case _:
            return value


def _size(value: Value, least: int | None) -> Value:
    """An integer that was found to be at least ``least``; one that is not makes the constructor fail, and is never a size."""
    if not isinstance(value, Number):
        return UNKNOWN
    if value.size.value is not None:
        return value if least is None or value.size.value >= least else UNKNOWN
    return Number(value.size, value.positive or (_multiple(value.size) and least is not None and least >= 1))


def _multiple(size: Dim) -> bool:
    """Whether ``size`` is one name, or a number of times one: then the name is positive where the size is."""
    match size.terms:
        case (((str(),), int() as times),):
            return times > 0
        case _:
            return False


TABLE: dict[str, Analysis] = {f"typednn.arguments.{name}": checked for name in ("integer", "pair", "choice", "number")}
