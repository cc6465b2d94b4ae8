"""Results of dtypes, as NumPy 2 has them; a dtype is jaxtyping's word for it, empty where it is not known.

Python's own numbers are weak: they take the precision of the array beside them (NEP 50).
"""

from collections.abc import Sequence
from functools import reduce

WEAK_BOOL, WEAK_INT, WEAK_FLOAT = _WEAK = "a bool", "an int", "a float"

BY_NAME = {
    "bool": "Bool", "bool_": "Bool", "int": "Int64", "int8": "Int8", "int16": "Int16", "int32": "Int32",
    "int64": "Int64", "intp": "Int64", "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "float": "Float64", "float16": "Float16", "float32": "Float32", "float64": "Float64", "single": "Float32",
    "double": "Float64", "half": "Float16", "complex64": "Complex64", "complex128": "Complex128",
    "complex": "Complex128",
}  # fmt: skip
_FAMILIES = ("Bool", "UInt", "Int", "Float", "Complex")
_BITS = {f"{family}{bits}": (family, bits) for family in _FAMILIES for bits in (8, 16, 32, 64, 128)} | {
    "Bool": ("Bool", 0)
}
_WHOLE = {kind: bits for kind, (family, bits) in _BITS.items() if family in ("Bool", "UInt", "Int")}


def family(kind: str) -> str:
    """``Float`` of ``Float32``; empty where it is not known."""
    return next((each for each in _FAMILIES if kind.startswith(each)), "")


def strong(kind: str) -> str:
    """The dtype that Python's own numbers get in an array of their own."""
    return {WEAK_BOOL: "Bool", WEAK_INT: "Int64", WEAK_FLOAT: "Float64"}.get(kind, kind)


def of_python(operator: str, kinds: Sequence[str]) -> str:
    """What an operator gives for Python's own numbers, which stay such; empty where one of them is none."""
    if not all(kind in _WEAK for kind in kinds):
        return ""
    if operator in ("<", "<=", ">", ">=", "==", "!="):
        return WEAK_BOOL
    return WEAK_FLOAT if operator == "/" or WEAK_FLOAT in kinds else WEAK_INT


def promoted(*kinds: str) -> str:
    """The dtype of a sum. Integers meet each float alone, so floats come first; weak ones take what the others are
    together.
    """
    order = sorted(kinds, key=lambda kind: (kind in _WEAK, family(kind) not in ("Float", "Complex")))
    return reduce(_two, order) if kinds else ""


def _two(a: str, b: str) -> str:
    if a == b:
        return a
    if WEAK_BOOL in (a, b):
        return b if a == WEAK_BOOL else a
    for weak, other in ((a, b), (b, a)):
        if weak == WEAK_INT:
            return "Int64" if other == "Bool" else other
        if weak == WEAK_FLOAT:
            return "Float64" if other in _WHOLE else other if family(other) else ""
    if a not in _BITS or b not in _BITS:  # Float beside Float32: a float
        return _float(family(a)) if family(a) == family(b) else ""
    return _of_known(_BITS[a], _BITS[b])


def _of_known(a: tuple[str, int], b: tuple[str, int]) -> str:
    (low, low_bits), (high, high_bits) = sorted((a, b), key=lambda each: (_FAMILIES.index(each[0]), each[1]))
    if low == "Bool" or low == high:
        return high if high == "Bool" else f"{high}{high_bits}"
    if low == "UInt" and high == "Int":
        bits = max(high_bits, 2 * low_bits)
        return f"Int{bits}" if bits <= 64 else "Float64"
    if low in ("Int", "UInt"):
        _, low_bits = _BITS[_inexact(f"{low}{low_bits}")]
        if high == "Float":
            return f"Float{max(low_bits, high_bits)}"
    return f"Complex{max(2 * low_bits, high_bits)}"  # a float beside a complex number


def inexact(*kinds: str) -> str:
    """The dtype of a function such as the exponential."""
    return (
        _inexact(strong(promoted(*kinds))) if any(kind in _WEAK for kind in kinds) else promoted(*map(_inexact, kinds))
    )


def _inexact(kind: str) -> str:
    bits = _WHOLE.get(kind)
    return _float(kind) if bits is None else f"Float{16 if bits <= 8 else 32 if bits == 16 else 64}"


def _float(kind: str) -> str:
    """A float or a complex number; empty for any other."""
    return kind if family(kind) in ("Float", "Complex") else ""


def numeric(*kinds: str) -> str:
    """The dtype of arithmetic that booleans do as int8: a power, a remainder, a shift."""
    kind = strong(promoted(*kinds))
    return "Int8" if kind == "Bool" else kind


def spectral(*kinds: str) -> str:
    """The dtype of a spectrum; whole numbers count as float64."""
    kind = quotient(*kinds)
    return {"Float16": "", "Float32": "Complex64", "Float64": "Complex128"}.get(
        kind, kind if family(kind) == "Complex" else ""
    )


def signal(*kinds: str) -> str:
    """The dtype of what has that spectrum."""
    return real(spectral(*kinds))


def real(kind: str) -> str:
    """The dtype of the parts of a complex number, and of its absolute value."""
    return {"Complex64": "Float32", "Complex128": "Float64"}.get(kind, "" if family(kind) == "Complex" else kind)


def boolean(*kinds: str) -> str:
    """The dtype of a comparison."""
    return "Bool"


def index(*kinds: str) -> str:
    """The dtype of places."""
    return "Int64"


def unknown(*kinds: str) -> str:
    """No dtype that is known."""
    return ""


def quotient(*kinds: str) -> str:
    """The dtype of a true division."""
    kind = strong(promoted(*kinds))
    return "Float64" if kind in _WHOLE else _float(kind)


def solved(*kinds: str) -> str:
    """The dtype of linear algebra, which knows no half precision: integers become float64."""
    kind = quotient(*kinds)
    return "" if kind == "Float16" else kind


def same(kind: str) -> str:
    """The dtype of what keeps it."""
    return kind


def summed(kind: str) -> str:
    """The dtype of a sum of elements: small integers are added as int64."""
    return _float(kind) if kind not in _WHOLE else "UInt64" if family(kind) == "UInt" else "Int64"
