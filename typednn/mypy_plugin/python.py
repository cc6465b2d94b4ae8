"""Python's own syntax on known values: conditions, items of a tuple, elements of a loop.

Nothing here reports errors: a result that is not decided is `UNKNOWN`.
"""

import ast
from dataclasses import replace
from functools import reduce

from typednn.mypy_plugin.syntax import last_name
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Entries,
    Function,
    Layer,
    Many,
    Number,
    Pack,
    Partial,
    Slice,
    Value,
    integer_of,
    join,
    number,
    show,
)
from typednn.shapes import Flow

_TRANSPARENT = ("checking", "open", "nullcontext", "errstate", "catch_warnings", "closing", "redirect_stdout")
# that no array of a wrong shape raises
_OTHER_ERRORS = (
    "KeyError", "OSError", "FileNotFoundError", "ImportError", "ModuleNotFoundError", "KeyboardInterrupt",
    "StopIteration", "AttributeError", "ZeroDivisionError", "EOFError", "TimeoutError", "UnicodeDecodeError",
)  # fmt: skip
UNROLLED = 64  # elements that are evaluated one by one, at most


def member(owner: str, name: str, value: Value, *, integer: bool) -> Value:
    """A member of an enum; of an `IntEnum` it is the integer itself."""
    if integer:
        return value
    return Layer(f"{owner.rpartition('.')[2]}.{name}", owner, attributes={"name": Constant(name), "value": value})


def value_of_member(value: Value) -> Value:
    """What a member of an enum stands for."""
    return value.attributes.get("value", UNKNOWN) if isinstance(value, Layer) else value


def unary(op: ast.unaryop, value: Value) -> Value:
    """``-n``, ``not n``; the negative of an array is as large as the array."""
    match op, value:
        case ast.USub(), Number():
            return Number(-value.size, value.positive)
        case ast.Not(), _:
            decided = truth(value)
            return UNKNOWN if decided is None else Constant(not decided)
        case _:
            return UNKNOWN


def compared(op: ast.cmpop, a: Value, b: Value) -> Value:
    """``a < b`` of two integers, ``==`` of two constants, ``is None``."""
    match op:
        case ast.Is() | ast.IsNot() if isinstance(a, Constant) and isinstance(b, Constant) and type(b.value) is bool:
            return Constant((a.value is b.value) == isinstance(op, ast.Is))
        case ast.Is() | ast.IsNot() if b == Constant(None) and isinstance(a, Constant | Number | Pack):
            return Constant((a == b) == isinstance(op, ast.Is))
        case ast.Eq() | ast.NotEq() if isinstance(a, Constant) and isinstance(b, Constant):
            return Constant((a.value == b.value) == isinstance(op, ast.Eq))
        case ast.Eq() | ast.NotEq() if (
            isinstance(a, Constant | Number) and isinstance(b, Constant | Number) and _never_equal(a, b)
        ):
            return Constant(isinstance(op, ast.NotEq))
        case ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() if (
            isinstance(a, Layer) and isinstance(b, Layer) and _enum(a) and _enum(b)
        ):
            return Constant((a == b) == isinstance(op, ast.Is | ast.Eq))
        case ast.Eq() | ast.NotEq() if isinstance(a, Number) and isinstance(b, Number):
            rest = (a.size - b.size).value  # known also of two names that are one
            return UNKNOWN if rest is None else Constant((rest == 0) == isinstance(op, ast.Eq))
        case ast.Eq() | ast.NotEq() if isinstance(a, Pack) and isinstance(b, Pack) and _tuples(a, b):
            pairs = [compared(ast.Eq(), one, other) for one, other in zip(a.items, b.items, strict=False)]
            if len(a.items) != len(b.items) or Constant(False) in pairs:
                return Constant(isinstance(op, ast.NotEq))
            return Constant(isinstance(op, ast.Eq)) if all(each == Constant(True) for each in pairs) else UNKNOWN
        case ast.In() | ast.NotIn() if isinstance(b, Pack) and isinstance(a, Constant | Number):
            found = a in b.items or (bool(b.keys) and show(a) in b.keys)
            sure = (
                found
                or all(isinstance(each, Constant) or integer_of(each) is not None for each in (*b.items, a))
                or bool(b.keys)
            )
            return Constant(found == isinstance(op, ast.In)) if sure else UNKNOWN
        case _ if (first := integer_of(a)) is not None and (second := integer_of(b)) is not None:
            answers: dict[type[ast.cmpop], bool] = {
                ast.Eq: first == second, ast.NotEq: first != second, ast.Lt: first < second, ast.LtE: first <= second,
                ast.Gt: first > second, ast.GtE: first >= second,
            }  # fmt: skip
            return Constant(answers[type(op)]) if type(op) in answers else UNKNOWN
        case _:
            return UNKNOWN


def _tuples(a: Pack, b: Pack) -> bool:
    return a.frozen and b.frozen and not (a.keys or b.keys)


def _never_equal(a: Value, b: Value) -> bool:
    """A number beside a string or None."""
    plain = [each.value for each in (a, b) if isinstance(each, Constant)]
    return len(plain) == 1 and (plain[0] is None or isinstance(plain[0], str))


def _enum(value: Layer) -> bool:
    return set(value.attributes) == {"name", "value"}


def truth(value: Value) -> bool | None:
    """Whether a condition holds; None where it may or may not."""
    match value:
        case Constant(value=inner):
            return bool(inner)
        case Number() if value.size.value is not None:
            return bool(value.size.value)
        case Pack(items=items):
            return bool(items)
        case Function() | Partial():
            return True
        case _:
            return None


def key(shown: str) -> str | None:
    """The text of a dict's key that is a string; None of any other."""
    literal = ast.literal_eval(shown) if shown[:1] in ("'", '"') else None
    return literal if isinstance(literal, str) else None


def dictionary(pairs: Value) -> Value:
    """A dict of pairs, if all keys are known."""
    items = (
        [each.items for each in pairs.items if isinstance(each, Pack) and len(each.items) == 2]
        if isinstance(pairs, Pack)
        else []
    )
    if (
        not isinstance(pairs, Pack)
        or len(items) < len(pairs.items)
        or not all(isinstance(name, Constant | Number) for name, _ in items)
    ):
        return UNKNOWN
    latest = {show(name): value for name, value in items}
    return Pack(tuple(latest.values()), keys=tuple(latest))


def item(base: Value, place: Value) -> Value:
    """``base[place]``: of a tuple, a list, a dict, a stack."""
    index = integer_of(place)
    match base:
        case Pack(items=items, keys=()) if isinstance(place, Slice):
            part = place.numbers
            return UNKNOWN if part is None or part.step == 0 else Pack(items[part], frozen=base.frozen)
        case Pack(items=items, keys=keys) if keys:
            return items[keys.index(show(place))] if show(place) in keys else UNKNOWN
        case Pack(items=items) | Layer(parts=tuple(items)) if index is not None and -len(items) <= index < len(items):
            return items[index]
        case Many(item=any_item) if isinstance(place, Number):
            return any_item
        case Entries(item=any_item):
            return any_item
        case _:
            return UNKNOWN


def keys_of(value: Pack) -> tuple[Value, ...]:
    """The keys of a dict."""
    return tuple(
        Constant(text) if (text := key(each)) is not None else number(int(each)) if each.isdecimal() else UNKNOWN
        for each in value.keys
    )


def elements(value: Value) -> Value:
    """The values of an iteration; of a dict its keys."""
    if isinstance(value, Array) and value.flow.shape:
        row = replace(value, flow=Flow.of(value.flow.shape[1:]))
        count = value.flow.shape[0].value if value.flow.shape[0] is not None else None
        return Pack((row,) * count) if count is not None and count <= UNROLLED else Many(row)
    if isinstance(value, Entries):
        return UNKNOWN
    return Pack(keys_of(value), frozen=True) if isinstance(value, Pack) and value.keys else value


def element(value: Value) -> Value:
    """What is known of each of the elements."""
    if isinstance(value, Many):
        return value.item
    return reduce(join, value.items) if isinstance(value, Pack) and value.items else UNKNOWN


def catches(kind: ast.expr | None) -> bool:
    """Whether a handler may catch what NumPy, or a check of annotations, raises."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(each is None or last_name(each) not in _OTHER_ERRORS for each in kinds)


def transparent(manager: ast.expr) -> bool:
    """Whether a context manager surely lets exceptions pass, so that its body runs to the end."""
    return last_name(manager) in _TRANSPARENT
