"""How PyTorch's functions read their arguments."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions.rows import Operands, Row, Rule, Shape, certain, position
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Pack, Value, integer_of

_ALSO = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def row(parameters: str, rule: Rule) -> Row:
    """A row with the names that PyTorch takes from NumPy besides its own."""
    return Row(parameters, rule, _ALSO)


def named(names: str, parameters: str, rule: Rule, *, method: bool = True, function: bool = True) -> dict[str, Row]:
    """The rows of several functions, and of the methods of the same names."""
    made = row(parameters, rule)
    functions = {f"torch.{name}": made for name in names.split() if function}
    return functions | {f"torch.Tensor.{name}()": made for name in names.split() if method}


def dim(o: Operands, shape: Shape, name: str = "dim") -> int:
    """An axis, counted from the front; a number counts as an axis of one element."""
    return certain(o.axis(name, shape, max(1, len(shape))))


def dims(o: Operands, shape: Shape, name: str = "dim") -> list[int]:
    """One axis or several."""
    value = o[name]
    numbers = [integer_of(each) for each in (value.items if isinstance(value, Pack) else (value,))]
    return [position(certain(each), max(1, len(shape)), shape) for each in numbers]


def reduced(o: Operands, shape: Shape) -> list[int]:
    """The axes that go; all of them where none is named."""
    if not o.given("dim") or o["dim"] in (Pack(()), Pack((), frozen=True)):
        return list(range(len(shape)))
    return dims(o, shape)


def several(value: Value) -> Value:
    """``x.view(2, 3)`` or ``x.view((2, 3))``: the numbers; a value that is not known may be one of them, or a tuple."""
    match value:
        case Pack(items=(Number(),)):
            return value
        case Pack(items=(Pack(keys=()) as inner,)):
            return inner
        case Pack(items=(_,)):
            return UNKNOWN
        case _:
            return value


def absent(o: Operands, *names: str) -> bool:
    """Whether none of these arguments is there."""
    return all(o.values.get(name, Constant(None)) == Constant(None) for name in names)
