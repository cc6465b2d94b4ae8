"""Stubs of typednn in Pyrefly's syntax, generated from typednn's annotations: ``python -m
benchmarks.static_checkers.overlay DIR``.

Pyrefly does not read ``"batch {self.in_features}"``, but has its own syntax for sizes. So this program translates each
layer's strings to

    class Linear[in_features: IntVar, out_features: IntVar](Layer[Array2, Array2, LinearGrad, Any]):
        def __new__[...](cls, in_features: Int[...], out_features: Int[...], ...) -> Linear[...]: ...
        def forward[batch: IntVar](self, x: ndarray[[batch, in_features], ...]) -> ndarray[[batch, out_features], ...]:
        ...

and ``>>`` takes any object whose forward and backward fit. DIR then holds a copy of the package, with each stub beside
its module. DIR must be first on Pyrefly's search path. To find which attribute comes from which argument of the
constructor, a layer is built twice with prime numbers: an attribute that has the argument's number both times comes
from that argument.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import itertools
import re
import shutil
import sys
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import typednn
from typednn import Gradient, Layer, TypednnError

_SELF = re.compile(r"\{self\.([A-Za-z_]\w*(?:\[\d+\])*)\}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMPY = "_numpy.ndarray[{shape}, _numpy.dtype[Any]]"
_HEAD = (
    "import numpy as _numpy\nfrom shape_extensions import Int as _Int, IntVar as _IntVar\nfrom typing import "
    "Any, overload\n"
)
# Each call of a constructor takes its numbers from one of these tuples, so arguments and defaults cannot be confused.
_PRIMES = (
    (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157),
    (211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271),
)
_MOST_OVERLOADS = 32

# Any replaces the contract, which only the mypy plugin uses.
_RSHIFT: Mapping[str, Any] = {
    "Layer": """
def __rshift__[X1, Y1, Z1, G1, G3](
    self: "Fits[X1, Y1, G1]", other: "Fits[Y1, Z1, G3]"
) -> "Chain[X1, Z1, Any, G1, G3]": ...
""",
    "FirstLayer": 'def __rshift__[Z1, G3](self, other: "Fits[Out, Z1, G3]") -> "FirstChain[In, Z1, Any, G, G3]": ...',
    "Chain": 'def __rshift__[Z1, G3](self, other: "Fits[Out, Z1, G3]") -> "Chain[In, Z1, Any, *Gs, G3]": ...',
    "FirstChain": 'def __rshift__[Z1, G3](self, other: "Fits[Out, Z1, G3]") -> "FirstChain[In, Z1, Any, *Gs, G3]": ...',
    "Elementwise": """
@overload
def __rshift__(self, other: "Elementwise[P2]") -> "ElementwiseChain[P, P2]": ...
@overload
def __rshift__[X1, Y1, G3](self, other: "Fits[X1, Y1, G3]") -> "Chain[X1, Y1, Any, ElementwiseGrad[X1, P], G3]": ...
""",
    "ElementwiseChain": """
@overload
def __rshift__(self, other: "Elementwise[P2]") -> "ElementwiseChain[*Ps, P2]": ...
@overload
def __rshift__[X1, Y1, G3](
    self, other: "Fits[X1, Y1, G3]"
) -> "Chain[X1, Y1, Any, ElementwiseGrad[X1, tuple[*Ps]], G3]": ...
""",
    "Input": """
@overload
def __rshift__(self, other: "FirstLayer[In, Out, G, S2]") -> "FirstChain[In, Out, Any, G]": ...
@overload
def __rshift__[Y1, G3](self, other: "Fits[In, Y1, G3]") -> "Chain[In, Y1, Any, G3]": ...
""",
}
_FITS = """
X1 = TypeVar("X1")

class Fits[In_, Out_, Grad_](Protocol):
    def forward(self, x: In_, /) -> Out_: ...
    def backward(self, next_grad: Out_, /) -> Grad_: ...
"""


def write_overlay(folder: Path, modules: Sequence[str] = ()) -> None:
    """Write the stubs of typednn, and of ``modules`` with your own layers, into ``folder``."""
    package = Path(typednn.__file__).parent
    shutil.copytree(package, folder / "typednn", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    layers = [
        f"typednn.layers.{path.stem}" for path in sorted((package / "layers").glob("*.py")) if path.stem != "__init__"
    ]
    for name in ("typednn.module.layer", *layers, *modules):
        module = importlib.import_module(name)
        stub = folder.joinpath(*name.split(".")).with_suffix(".pyi")
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(
            stacking_stub(module) if name == "typednn.module.layer" else layers_stub(module), encoding="utf-8"
        )


def stacking_stub(module: ModuleType) -> str:
    """``typednn.module.layer`` with a ``>>`` that checks the types of forward and backward."""
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in _RSHIFT:
            instead = {"__rshift__", "__init__"} if node.name == "Input" else {"__rshift__"}
            node.body = [part for part in node.body if not (isinstance(part, ast.FunctionDef) and part.name in instead)]
            node.body += ast.parse(_RSHIFT[node.name]).body + (_input_constructors() if node.name == "Input" else [])
    first_class = next(place for place, node in enumerate(tree.body) if isinstance(node, ast.ClassDef))
    tree.body[first_class:first_class] = ast.parse(_FITS).body
    return _HEAD + "from typing import Protocol\n" + ast.unparse(tree)


def _input_constructors() -> list[ast.stmt]:
    lines = []
    for count in (1, 2, 3):
        names = [f"size{place}" for place in range(count)]
        generics = ", ".join(f"{name}: _IntVar" for name in names)
        shape = _NUMPY.format(shape=f"[int, {', '.join(names)}]")
        sizes = ", ".join(f"{name}: _Int[{name}]" for name in names)
        lines.append(f"@overload\ndef __new__[{generics}](cls, {sizes}, /) -> Input[{shape}]: ...")
    lines.append("@overload\ndef __new__(cls, /, *, dtype: type[int]) -> Input[IntArray1]: ...")
    lines.append("@overload\ndef __new__(cls, size0: int, /, *, dtype: type[int]) -> Input[IntArray2]: ...")
    return ast.parse("\n".join(lines)).body


def layers_stub(module: ModuleType) -> str:
    """The stub of a module of layers, with sizes."""
    tree = ast.parse(inspect.getsource(module))
    gradients: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            cls = getattr(module, node.name)
            if issubclass(cls, Gradient) and not node.bases[1:]:
                gradients[node.name] = _size_gradient(node)
            elif issubclass(cls, Layer):
                _size_layer(node, cls, gradients)
    return _HEAD + "from typednn.layer import X1, Fits\n" + ast.unparse(tree)


def _size_gradient(node: ast.ClassDef) -> list[str]:
    """Add a size to a gradient dataclass for each name in its annotations; return the names in order."""
    names: list[str] = []
    for field in node.body:
        if isinstance(field, ast.AnnAssign):
            for text in _strings(field.annotation):
                if _shape(text) is None:
                    return []
                names += [name for name in _NAME.findall(text) if name not in names]
    for field in node.body:
        if isinstance(field, ast.AnnAssign):
            field.annotation = _Sized(names).visit(field.annotation)
    _parametrise(node, [f"{name}_" for name in names])
    return names


def _size_layer(node: ast.ClassDef, cls: type[Any], gradients: Mapping[str, list[str]]) -> None:
    """Add a size to a layer for each attribute in its annotations; a wrapper's parameters become the
    protocol ``Fits``.
    """
    methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    strings = [text for name in ("forward", "backward") for hint in _hints(methods[name]) for text in _strings(hint)]
    if "__init__" in methods:
        methods["__init__"].args.args = [_layer_to_fits(argument) for argument in methods["__init__"].args.args]
    if any(_shape(text) is None for text in strings):
        hints = [ast.unparse(hint) for hint in _hints(methods["forward"])]
        if len(hints) == 2 and hints[0] == hints[1]:  # one type at any rank: a type variable of the method
            for method in (methods["forward"], methods["backward"]):
                method.body = [ast.Expr(ast.Constant(...))]
                _PerCall().visit(method)
        return
    attributes = list(dict.fromkeys(found for text in strings for found in _SELF.findall(text)))
    sizes = [_identifier(attribute) for attribute in attributes]
    grad = methods["backward"].returns
    name = grad.id if isinstance(grad, ast.Name) else ""
    for method in (methods["forward"], methods["backward"]):
        free = _free_names(method)
        unbound = frozenset(free) - frozenset(_free_names(method, results=False))  # names that occur only in the result
        _parametrise(method, free)
        for argument in method.args.args[1:]:
            if argument.annotation:
                argument.annotation = _Sized().visit(argument.annotation)
        if method.name == "forward" and method.returns:
            method.returns = _Sized(unknown=unbound).visit(method.returns)
        elif name in gradients:
            known = {size[:-1]: size for size in sizes} | {bound: bound for bound in free}
            method.returns = _applied(name, gradients[name], known)
        method.body = [ast.Expr(ast.Constant(...))]
    node.body.remove(methods["forward"])
    node.body.append(methods["forward"])
    if name in gradients:
        taken = ast.unparse(_applied(name, gradients[name], {size[:-1]: size for size in sizes}))
        node.body += ast.parse(f"def update(self, optimizer: Any, grad: {taken}) -> None: ...").body
    if attributes and "__init__" in methods:
        node.body.remove(methods["__init__"])
        node.body += ast.parse("\n".join(_constructors(cls, methods["__init__"], attributes))).body
        _parametrise(node, sizes)
        node.bases = [_Unnamed().visit(base) for base in node.bases]
    node.body = [part for part in node.body if not (isinstance(part, ast.AnnAssign) and "{self" in ast.unparse(part))]


def _constructors(cls: type[Any], init: ast.FunctionDef, attributes: Sequence[str]) -> Iterator[str]:
    """One overload of ``__new__`` for each form of the sizes, and one for unknown sizes."""
    hints = typing.get_type_hints(cls.__init__)
    ways = {
        name: list(_ways(hints[name], parameter))
        for name, parameter in inspect.signature(cls).parameters.items()
        if name in hints
    }
    sized = {name: way for name, way in ways.items() if way}
    combinations = list(itertools.product(*sized.values()))
    if len(combinations) <= _MOST_OVERLOADS:
        for combination in combinations:
            chosen = dict(zip(sized, combination, strict=True))
            found = _origins(cls, chosen, attributes)
            if found is not None:
                symbols = [symbol for name, count in chosen.items() for symbol in _symbols(name, count)]
                generics = f"[{', '.join(f'{symbol}: _IntVar' for symbol in symbols)}]" if symbols else ""
                parameters = _parameters(init, {name: _annotation(name, count) for name, count in chosen.items()})
                yield f"@overload\ndef __new__{generics}({parameters}) -> {cls.__name__}[{', '.join(found)}]: ..."
    yield (
        f"@overload\ndef __new__({_parameters(init, {})}) -> "
        f"{cls.__name__}[{', '.join(['int'] * len(attributes))}]: ..."
    )


def _ways(hint: Any, parameter: inspect.Parameter) -> Iterator[int | None]:
    """The forms of a size argument: 1 for a number, n for a tuple of n, None for omitted."""
    members = typing.get_args(hint) if not isinstance(hint, type) else (hint,)
    if int in members:
        yield 1
    for member in members:
        if typing.get_origin(member) is tuple and set(typing.get_args(member)) == {int}:
            yield len(typing.get_args(member))
    if int in members and parameter.default is not inspect.Parameter.empty:
        yield None


def _symbols(name: str, count: int | None) -> list[str]:
    return (
        []
        if count is None
        else [f"given_{name}"]
        if count == 1
        else [f"given_{name}_{place}" for place in range(count)]
    )


def _annotation(name: str, count: int | None) -> str | None:
    sizes = [f"_Int[{symbol}]" for symbol in _symbols(name, count)]
    return None if count is None else sizes[0] if count == 1 else f"tuple[{', '.join(sizes)}]"


def _origins(cls: type[Any], chosen: Mapping[str, int | None], attributes: Sequence[str]) -> list[str] | None:
    """Each attribute as a symbol of an argument; None if the constructor rejects such arguments."""
    results = []
    for primes in _PRIMES:
        numbers = iter(primes)
        symbols: dict[int, str] = {}
        arguments: dict[str, Any] = {}
        for name, count in chosen.items():
            if count is not None:
                sizes = tuple(next(numbers) for _ in range(count))
                symbols.update(zip(sizes, _symbols(name, count), strict=True))
                arguments[name] = sizes[0] if count == 1 else sizes
        try:
            layer = cls(**arguments)
        except TypednnError:
            return None
        values = [_attribute(layer, attribute) for attribute in attributes]
        results.append([symbols.get(value, str(value)) for value in values])
    return [first if first == second else "int" for first, second in zip(*results, strict=True)]


def _attribute(layer: Any, path: str) -> Any:
    name, *places = re.findall(r"\w+", path)
    value = getattr(layer, name)
    for place in places:
        value = value[int(place)]
    return value


def _parameters(init: ast.FunctionDef, sized: Mapping[str, str | None]) -> str:
    """The constructor's parameters: those in ``sized`` with that annotation, or omitted if it is None."""
    arguments = init.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    parts = ["cls"]
    by_name = False
    positional = zip(arguments.args[1:], defaults[1:], strict=True)
    for argument, default in [*positional, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]:
        if argument.arg in sized and sized[argument.arg] is None:
            by_name = True  # parameters after an omitted one can only be passed by name
            continue
        if (argument in arguments.kwonlyargs or by_name) and "*" not in parts:
            parts.append("*")
        annotation = sized.get(argument.arg)
        hint = annotation or ast.unparse(argument.annotation or ast.Name("Any"))
        parts.append(f"{argument.arg}: {hint}" + ("" if default is None or annotation else " = ..."))
    return ", ".join(_defaults_last(parts))


def _defaults_last(parts: list[str]) -> list[str]:
    """Make parameters after the first default keyword-only: Python requires parameters without default first."""
    seen = False
    for place, part in enumerate(parts):
        if part == "*":
            break
        if part.endswith("= ..."):
            seen = True
        elif seen:
            return [*parts[:place], "*", *(other for other in parts[place:] if other != "*")]
    return parts


def _shape(text: str, owned: Collection[str] = (), unknown: frozenset[str] = frozenset()) -> str | None:
    """An annotation's string as a Pyrefly shape; None if Pyrefly cannot express it. ``owned`` are the names of the
    class.
    """
    words = text.split()
    if any(word.startswith("*") or word in ("...", "_") for word in words):
        return None
    if unknown:
        words = ["int" if unknown.intersection(_NAME.findall(_SELF.sub("0", word))) else word for word in words]
    words = [
        _NAME.sub(lambda found: f"{found[0]}_" if found[0] in owned else found[0], word.split("=")[-1])
        for word in words
    ]
    return f"[{', '.join(_SELF.sub(lambda found: _identifier(found[1]), word) for word in words)}]"


def _identifier(attribute: str) -> str:
    """A type parameter's name. It ends in an underscore, because a class's attributes hide its type parameters."""
    return re.sub(r"\W+", "_", attribute).strip("_") + "_"


def _strings(hint: ast.expr) -> list[str]:
    return [node.value for node in ast.walk(hint) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _hints(method: ast.FunctionDef) -> list[ast.expr]:
    return [argument.annotation for argument in method.args.args if argument.annotation] + (
        [method.returns] if method.returns else []
    )


def _free_names(method: ast.FunctionDef, *, results: bool = True) -> list[str]:
    """The names that one call binds: all except the layer's attributes."""
    hints = _hints(method) if results else [argument.annotation for argument in method.args.args if argument.annotation]
    texts = [_SELF.sub("0", text) for hint in hints for text in _strings(hint)]
    return list(dict.fromkeys(name for text in texts for name in _NAME.findall(text)))


def _parametrise(node: Any, names: Sequence[str]) -> None:
    """Add a type parameter to a class or a method for each name."""
    source = f"def _[{', '.join(f'{name}: _IntVar' for name in names)}](): ..." if names else "def _(): ..."
    node.type_params = getattr(ast.parse(source).body[0], "type_params", [])


def _applied(name: str, sizes: Sequence[str], known: Mapping[str, str]) -> ast.expr:
    """A gradient's class with the sizes that are known at this place."""
    return (
        ast.parse(f"{name}[{', '.join(known.get(size, 'int') for size in sizes)}]", mode="eval").body
        if sizes
        else ast.Name(name)
    )


def _layer_to_fits(argument: ast.arg) -> ast.arg:
    """Replace the annotation ``Layer[...]`` of a parameter by ``Fits[...]``."""
    hint = argument.annotation
    if isinstance(hint, ast.Subscript) and isinstance(hint.slice, ast.Tuple) and ast.unparse(hint.value) == "Layer":
        argument.annotation = ast.parse(f"Fits[{', '.join(map(ast.unparse, hint.slice.elts[:3]))}]", mode="eval").body
    return argument


class _Sized(ast.NodeTransformer):
    """``Float[Array2, "batch features"]`` in Pyrefly's syntax."""

    def __init__(self, owned: Collection[str] = (), unknown: frozenset[str] = frozenset()) -> None:
        self.owned = owned
        self.unknown = unknown

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and isinstance(parts[1].value, str):
            shape = _shape(parts[1].value, self.owned, self.unknown)
            if shape is not None:
                return ast.parse(_NUMPY.format(shape=shape), mode="eval").body
        self.generic_visit(node)
        return node


class _PerCall(ast.NodeTransformer):
    """Replace ``In``, a type variable of the layer, by a type variable of the method."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name("X1") if node.id == "In" else node


class _Unnamed(ast.NodeTransformer):
    """Replace ``S`` by ``Any``: an old-style type variable cannot be mixed with new-style ones."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name("Any") if node.id == "S" else node


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the stubs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to; this folder comes first on Pyrefly's search path")
    parser.add_argument(
        "--module", action="append", default=[], help="a module with layers of your own; may be repeated"
    )
    options = parser.parse_args(arguments)
    if not hasattr(ast, "TypeVar"):
        parser.error(f"Pyrefly's syntax is that of Python 3.12 and later, got Python {sys.version.split()[0]}")
    write_overlay(options.folder, options.module)
    return 0


if __name__ == "__main__":
    sys.exit(main())
