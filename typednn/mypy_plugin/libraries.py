"""The libraries whose arrays are followed, by mypy's types."""

from collections.abc import Iterable

from mypy.types import Instance, NoneType, Type, TypeVarType, UnionType, get_proper_type

NDARRAY = "numpy.ndarray"
# The classes of arrays, each with its library.
LIBRARIES = {
    NDARRAY: "numpy",
    "torch._tensor.Tensor": "torch",
    "torch.nn.parameter.Parameter": "torch",
    "jax._src.basearray.Array": "jax",
}


def library_of(declared: Type | None) -> str:
    """The library of a type of arrays, or of a choice of them; a type variable without a bound may be one of NumPy's.
    Empty for any other type.
    """
    match get_proper_type(declared):
        case Instance(type=info):
            return LIBRARIES.get(info.fullname, "")  # a class that derives from it may have operators of its own
        case UnionType(items=items):
            return _common(each for each in items if not isinstance(get_proper_type(each), NoneType))
        case TypeVarType(values=[_, *_] as values):
            return _common(values)
        case TypeVarType(upper_bound=bound):
            above = get_proper_type(bound)
            anything = isinstance(above, Instance) and above.type.fullname == "builtins.object"
            return "numpy" if anything else library_of(above)
        case _:
            return ""


def _common(types: Iterable[Type]) -> str:
    libraries = set(map(library_of, types))
    return libraries.pop() if len(libraries) == 1 else ""
