"""The functions that check a constructor's arguments: ``integer("Linear", "in_features", in_features)``."""

from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Pack, Value, integer_of, number
from typednn.shapes import Dim


def checked(call: Call) -> Value:
    """The argument; for ``integer`` and ``pair`` at least as large as the check ensures."""
    value = call.argument(2, "value")
    lowest = integer_of(call.argument(3, "least", number(1)))
    match call.name.rpartition(".")[2], value:
        case "integer" | "divisor", _:
            return _size(value, 1 if call.name.endswith("divisor") else lowest)
        case "pair", Number():
            return Pack((_size(value, lowest),) * 2, frozen=True)
        case "pair", Pack(items=items):
            return Pack(tuple(_size(each, lowest) for each in items), frozen=True)
        case "pair", _:
            return UNKNOWN
        case _:
            return value


def zeros(call: Call) -> Value:
    """A convolution's padding as (left, right, top, bottom)."""
    windows = [_pair(call.argument(place, name)) for place, name in ((2, "kernel_size"), (4, "dilation"))]
    match call.argument(1, "padding"):
        case Number() as both:
            return Pack((_size(both, 0),) * 4, frozen=True)
        case Pack(items=(down, across)):
            down, across = _size(down, 0), _size(across, 0)
            return Pack((across, across, down, down), frozen=True)
        case Constant(value="valid"):
            return Pack((number(0),) * 4, frozen=True)
        case Constant(value="same") if windows[0] and windows[1]:
            down, across = (step * (taps - 1) for taps, step in zip(*windows, strict=True))
            return Pack(
                tuple(map(number, (across // 2, across - across // 2, down // 2, down - down // 2))), frozen=True
            )
        case _:
            return UNKNOWN


def _pair(value: Value) -> tuple[int, int] | None:
    """Two numbers that are known."""
    match value:
        case Pack(items=(down, across)) if (first := integer_of(down)) is not None and (
            second := integer_of(across)
        ) is not None:
            return first, second
        case _:
            return None


def _size(value: Value, least: int | None) -> Value:
    """An integer that was found to be at least ``least``; one that is not makes the constructor fail, and is never a
    size.
    """
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


TABLE: dict[str, Analysis] = {
    f"typednn.arguments.{name}": checked for name in ("integer", "divisor", "pair", "choice", "number", "flag")
}
TABLE["typednn.arguments.zeros_around"] = zeros
