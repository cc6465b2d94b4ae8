"""What a class declares about sizes, read once and kept in mypy's cache.

While mypy analyses a class, its annotation strings, its constructor (as text) and its constants are put into
``TypeInfo.metadata``; a digest goes where mypy's cache and daemon notice a change: into ``extra_attrs`` of the first
base. Annotations of functions outside classes are kept with their parameters' types in the same way (`annotate`).
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypedDict, cast

from mypy import nodes
from mypy.errorcodes import ErrorCode
from mypy.plugin import AnalyzeTypeContext, ClassDefContext
from mypy.types import (
    CallableType,
    ExtraAttrs,
    Instance,
    LiteralType,
    TupleType,
    Type,
    TypeAliasType,
    TypedDictType,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from typednn.mypy_plugin import annotations, changes, libraries, syntax
from typednn.mypy_plugin.modules import in_module
from typednn.shapes import DTYPE_WORDS

SHAPE = ErrorCode("shape", "Sizes of arrays across typednn layers and annotated functions", "typednn")
KEY = "typednn"
MARK = "__typednn__"

MODULE = "typednn.module.module.Module"
LAYER = "typednn.module.layer.Layer"
FIRST_LAYER = "typednn.module.layer.FirstLayer"
INPUT = "typednn.module.layer.Input"
STACK = "typednn.module.stack.Stack"
SEQUENTIAL = "typednn.module.layer.Sequential"
CHAIN = "typednn.module.layer.Chain"
# What `>>` makes where both sides are of one kind, in the order in which they are asked.
KINDS = {
    "typednn.module.layer.Elementwise": "typednn.module.layer.ElementwiseChain",
    "typednn.module.layer.Positionwise": "typednn.module.layer.PositionwiseChain",
}
CHAINS = (CHAIN, "typednn.module.layer.FirstChain", SEQUENTIAL)
FORMULA = "typednn.module.formula.Formula"  # what has a formula, of which its other methods are made
GRADIENT = "typednn.module.gradients.Gradient"
TORCH_MODULE = "torch.nn.modules.module.Module"


def is_module(info: nodes.TypeInfo) -> bool:
    """Whether a class is one of layers: its ``forward`` says what a call does."""
    return info.has_base(MODULE) or info.has_base(TORCH_MODULE)


class Signature(TypedDict):
    """The annotated parameters of a function, in order, with their marks (`_place`), and its result."""

    parameters: list[tuple[str, annotations.Alternatives]]
    result: list[annotations.Alternatives]


# Of a function that is called: its name, its annotation strings, its type.
Known: TypeAlias = tuple[str, Signature, CallableType | None]
Field: TypeAlias = tuple[str, annotations.Alternatives]  # the annotation's own name, such as Parameter; what it says


class ClassFacts(TypedDict):
    """What one class body declares."""

    module: str
    methods: dict[str, Signature]
    fields: dict[str, Field]
    inner: dict[str, str]  # of a wrapper: field -> the contract for the layers in it
    constructor: str
    constants: dict[str, str]
    assigned: dict[
        str, list[str]
    ]  # by method but the constructor: attributes that it assigns; by "": those that the module assigns on others
    calls: dict[str, list[str]]  # by method: the methods of self that it calls
    passed_on: list[str]  # attributes that methods pass on, or store elsewhere
    dataclass: list[list[str]]  # of a dataclass or a NamedTuple: [field, default as text]
    integers: list[str]  # the fields that are declared as int


def signature(function: nodes.FuncDef, aliases: annotations.Aliases) -> Signature | None:
    """The annotation strings of a function whose source is at hand; None if it has none."""
    names = [each.variable.name for each in function.arguments]  # the type has none for those before /
    written = _read(function.unanalyzed_type, lambda each: annotations.annotation(each, aliases), names)
    typed = _read(get_proper_type(function.type), alternatives_of, names)  # with aliases of other modules
    if written is None or typed is None:
        return written or typed
    pairs = zip(written["parameters"], typed["parameters"], strict=True)
    ends = zip(written["result"], typed["result"], strict=False)
    return {
        "parameters": [(name, one or other) for (name, one), (_, other) in pairs],
        "result": [one or other for one, other in ends],
    }


def _read(
    declared: Type | None, alternatives_of: Callable[[Type], annotations.Alternatives], names: Sequence[str | None] = ()
) -> Signature | None:
    if not isinstance(declared, CallableType):
        return None
    kinds = zip(names or declared.arg_names, declared.arg_kinds, declared.arg_types, strict=True)
    parameters = [(_place(kind) + (name or ""), alternatives_of(each)) for name, kind, each in kinds]
    result = list(map(alternatives_of, annotations.elements(get_proper_type(declared.ret_type))))
    said = any(text for _, text in parameters) or any(result)
    return {"parameters": parameters, "result": result} if said or holds_arrays(declared) else None


def _place(kind: nodes.ArgKind) -> str:
    """The mark of a parameter without a position: ``*`` and ``**`` as in Python, ``=`` for one that is given by name
    only.
    """
    return "*" if kind == nodes.ARG_STAR else "**" if kind == nodes.ARG_STAR2 else "=" if kind.is_named() else ""


def read_class(ctx: ClassDefContext) -> None:
    """Keep what a class body declares, if it is a layer, has array annotations, or may hold layers."""
    info = ctx.cls.info
    tree: nodes.MypyFile | None = cast(Any, ctx.api).modules.get(cast(Any, ctx.api).cur_mod_id)
    # no bodies; NumPy's stubs have hundreds of classes, and PyTorch's own modules stand in a table
    if tree is None or tree.is_stub or tree.fullname.startswith("torch."):
        return
    module = in_module(tree)
    functions, plain = syntax.functions(ctx.cls.defs), syntax.functions(ctx.cls.defs, module.keeps_signature)
    methods = {
        name: read for name, function in plain.items() if (read := signature(function, module.aliases)) is not None
    }
    own = [(name, declared) for name, declared, _ in annotations.declared(ctx.cls.defs.body)]
    fields = {
        name: (annotations.word(declared), alternatives)
        for name, declared in (*own, *annotations.declared_on_self(functions.get("__init__")))
        if (alternatives := annotations.annotation(declared, module.aliases))
    }
    holds = any("typednn" in str(getattr(each, "id", getattr(each, "ids", ""))) for each in tree.imports)
    record = is_record(ctx.cls) or any(
        known["dataclass"] for base in info.mro[1:] if (known := facts_of(base)) is not None
    )
    if not (is_module(info) or methods or fields or holds or record or info.has_base("enum.Enum")):
        return
    if info.has_base(FORMULA) and "formula" in methods:
        methods |= _of_formula(methods["formula"])
    bodies = {name: syntax.block(function.body.body) for name, function in functions.items()}
    facts: ClassFacts = {
        "module": info.module_name,
        "methods": methods,
        "fields": fields,
        "inner": {name: text for name, declared in own if (text := annotations.inner_contract(declared))},
        "constructor": syntax.constructor(functions["__init__"]) if "__init__" in functions else "",
        "constants": _constants(ctx.cls.defs),
        "assigned": {name: sorted(changes.assigned(body)) for name, body in bodies.items() if name != "__init__"}
        | {"": sorted(module.assigned)},
        "calls": {name: sorted(changes.called_on_self(body)) for name, body in bodies.items()},
        "passed_on": sorted(changes.passed_on(each for body in bodies.values() for each in body)),
        "dataclass": _dataclass(ctx.cls),
        "integers": [name for name, declared in own if annotations.word(declared) == "int"],
    }
    text = json.dumps(facts)
    info.metadata[KEY] = {"facts": text}
    if info.bases:
        # Part of the class's interface as mypy's cache and daemon see it: metadata alone they do not compare.
        info.bases[0] = _marked(info.bases[0], text, ctx.api.named_type("builtins.str"))


def _of_formula(formula: Signature) -> dict[str, Signature]:
    """What the methods that are made of a formula take and give: of a layer where it has one input, else of a loss."""
    parameters, result = formula["parameters"], formula["result"]
    if len(parameters) == 2:
        backward: Signature = {"parameters": [parameters[0], ("next_grad", result[0])], "result": [[]]}
        return {"forward": formula, "backward": backward}
    prediction = parameters[1][1] if len(parameters) > 1 else []
    results: dict[str, list[annotations.Alternatives]] = {
        "loss": [[]],
        "loss_grad": [prediction],
        "loss_and_grad": [[], prediction],
    }
    return {name: {"parameters": parameters, "result": gives} for name, gives in results.items()}


def _marked(instance: Instance, text: str, string: Instance) -> Instance:
    return instance.copy_with_extra_attr(MARK, LiteralType(text, string))


def _constants(body: nodes.Block) -> dict[str, str]:
    """The names that a class body assigns once, as text; what it changes again is unknown."""
    statements = syntax.block(body.body)
    times = Counter(changes.changed(statements))
    assigned = [(target, each.value) for each in statements if isinstance(each, ast.Assign) for target in each.targets]
    texts = {
        target.id: ast.unparse(ast.fix_missing_locations(value))
        for target, value in assigned
        if isinstance(target, ast.Name)
    }
    return {
        name: texts[name] if name in texts and times[name] == 1 else "..."
        for name in times
        if not name.startswith("self.")
    }


def is_record(cls: nodes.ClassDef) -> bool:
    """Whether a class is a dataclass or a NamedTuple: its fields are its constructor's parameters."""
    decorated = any("dataclass" in ast.unparse(syntax.expression(each)) for each in cls.decorators)
    return decorated or any(syntax.last_name(syntax.expression(each)) == "NamedTuple" for each in cls.base_type_exprs)


def record(info: nodes.TypeInfo) -> list[list[str]]:
    """The fields of a dataclass with those of its bases, or of a NamedTuple: each with its default as text."""
    fields = {name: default for _, facts in all_facts(info) for name, default in facts["dataclass"]}
    return [[name, default] for name, default in fields.items()] or (
        _dataclass(info.defn) if info.is_named_tuple else []
    )


def _dataclass(cls: nodes.ClassDef) -> list[list[str]]:
    record = is_record(cls)
    return [
        [
            name,
            ""
            if isinstance(value, nodes.TempNode)
            else ast.unparse(ast.fix_missing_locations(syntax.expression(value))),
        ]
        for name, declared, value in annotations.declared(cls.defs.body)
        if record
        and declared is not None
        and annotations.word(declared) not in ("ClassVar", "Parameter", "Kept", "Buffer")
    ]


# ------------------------------------------------------------------ queries


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ClassFacts:
    return cast("ClassFacts", json.loads(text))


def facts_of(info: nodes.TypeInfo | None) -> ClassFacts | None:
    """What this class itself declares."""
    return _parsed(info.metadata[KEY]["facts"]) if info is not None and KEY in info.metadata else None


def method(info: nodes.TypeInfo, name: str) -> Signature | None:
    """The annotation strings of a method, by the first class in resolution order that defines it, or a
    formula for it.
    """
    for base in info.mro:
        facts = facts_of(base)
        if name in base.names or (facts is not None and name in facts["methods"]):
            signature = None if facts is None else facts["methods"].get(name)
            node = base.names[name].node if name in base.names else None
            function = node.func if isinstance(node, nodes.Decorator) else node
            declared = get_proper_type(function.type) if isinstance(function, nodes.FuncDef) else None
            if signature is None and isinstance(node, nodes.FuncDef):  # mypy shows a plugin no NamedTuple's body
                return function_signature(declared)
            return (
                of_arrays(signature, declared)
                if signature is not None and isinstance(declared, CallableType)
                else signature
            )
    return None


def type_of(info: nodes.TypeInfo, name: str) -> CallableType | None:
    """The type of a method."""
    node = member(info, name)
    function = node.func if isinstance(node, nodes.Decorator) else node
    declared = get_proper_type(function.type) if isinstance(function, nodes.FuncDef | nodes.Var) else None
    return declared if isinstance(declared, CallableType) else None


def member(info: nodes.TypeInfo | None, name: str) -> nodes.SymbolNode | None:
    """What a class or one of its bases has by that name."""
    symbol = None if info is None else info.get(name)
    return None if symbol is None else symbol.node


def of_arrays(signature: Signature, declared: CallableType) -> Signature | None:
    """What a signature says about arrays of a known library. Other arrays have rules of their own."""
    kinds = [libraries.library_of(each) for each in declared.arg_types]
    ends = [libraries.library_of(each) for each in annotations.elements(get_proper_type(declared.ret_type))]
    pairs = zip(signature["parameters"], kinds, strict=False)
    parameters = [(name, _of(library, alternatives)) for (name, alternatives), library in pairs]
    results = [_of(library, alternatives) for alternatives, library in zip(signature["result"], ends, strict=False)]
    if len(parameters) < len(signature["parameters"]) or len(results) < len(signature["result"]):
        return signature
    known = any(alternatives for _, alternatives in parameters) or any(results)
    return {"parameters": parameters, "result": results} if known else None


def _of(library: str, alternatives: annotations.Alternatives) -> annotations.Alternatives:
    return [[kind, text, library] for kind, text, _ in alternatives] if library else []


def all_facts(info: nodes.TypeInfo) -> Iterator[tuple[nodes.TypeInfo, ClassFacts]]:
    """What a class and its bases declare, the bases first."""
    return ((base, facts) for base in reversed(info.mro) if (facts := facts_of(base)) is not None)


def fields(info: nodes.TypeInfo) -> dict[str, Field]:
    """Every annotated field of a class and its bases, in the order of declaration."""
    return {name: field for _, facts in all_facts(info) for name, field in facts["fields"].items()}


def inner(info: nodes.TypeInfo) -> dict[str, str]:
    """The fields of a wrapper that hold layers, each with its contract."""
    return {name: text for _, facts in all_facts(info) for name, text in facts["inner"].items()}


def positive(info: nodes.TypeInfo) -> set[str]:
    """Attributes that are a whole axis in some annotation, or a factor of one, and so at least 1."""
    found = (path for _, facts in all_facts(info) for path in sized([facts["methods"], facts["fields"]]))
    return {path.removeprefix("self.") for path in found if path.startswith("self.")}


_FACTOR = r"(?:\{[\w.\[\]]+\}|\w+)"
_AXIS = re.compile(rf"(?<![^\s\"=#]){_FACTOR}(?:\*{_FACTOR})*(?![^\s\"])")


def sized(annotations: object) -> set[str]:
    """What stands in braces as a whole axis, or as a factor of one: ``self.kernel_size[0]``, ``times``."""
    return {path for axis in _AXIS.findall(json.dumps(annotations)) for path in re.findall(r"\{([^{}]+)\}", axis)}


def passed_on(info: nodes.TypeInfo) -> frozenset[str]:
    """Attributes that some method passes on."""
    return frozenset(name for _, facts in all_facts(info) for name in facts["passed_on"])


def assigned(info: nodes.TypeInfo) -> frozenset[str]:
    """Attributes that some method assigns which is not a part of the constructor: they may change at any time."""
    parts = parts_of_constructor(info)
    return frozenset(
        name
        for _, facts in all_facts(info)
        for method, names in facts["assigned"].items()
        if method not in parts
        for name in names
    )


def parts_of_constructor(info: nodes.TypeInfo) -> frozenset[str]:
    """The methods that constructors alone call, such as ``self._build()``, and ``__post_init__``."""
    each = [facts["calls"] for _, facts in all_facts(info)]
    found, new = set[str](), {"__init__", "__post_init__"}
    while new:
        found |= new
        new = {name for calls in each for method in new for name in calls.get(method, [])} - found
    others = {name for calls in each for method, names in calls.items() if method not in found for name in names}
    return frozenset(found - others)


def constructor_owner(mro: Iterable[nodes.TypeInfo]) -> nodes.TypeInfo | None:
    """The first of the classes with a constructor of its own."""
    return next((base for base in mro if "__init__" in base.names and base.fullname != "builtins.object"), None)


# ------------------------------------------------------------------ functions


def annotate(ctx: AnalyzeTypeContext) -> Type:
    """``Float[Array2, "batch 10"]``: the array's type, with the string on it; an error where their ranks differ."""
    analyser: Any = ctx.api
    analyzed: Type = analyser.try_analyze_special_unbound_type(ctx.type, "typing.Annotated")
    semantic: Any = analyser.api
    scope = getattr(semantic, "scope", None)
    function = next(iter(getattr(scope, "functions", [])[-1:]), getattr(scope, "function", None))
    if isinstance(function, nodes.FuncDef) and function.is_decorated:
        tree = semantic.modules.get(semantic.cur_mod_id)
        if tree is None or id(function) in in_module(tree).changed_by_decorators:
            return analyzed
    if len(ctx.type.args) == 2 and annotations.word(ctx.type) in DTYPE_WORDS:
        text = annotations.text_of(ctx.type.args[1])
        wrong = None if text is None else annotations.rank_error(annotations.word(ctx.type.args[0]), text)
        if wrong:
            analyser.fail(wrong, ctx.type, code=SHAPE)
    alternatives = annotations.annotation(ctx.type)
    declared = get_proper_type(analyzed)
    array = get_proper_type(declared.upper_bound) if isinstance(declared, TypeVarType) else declared
    library = libraries.library_of(array)
    if len(alternatives) != 1 or not isinstance(array, Instance) or not library:
        return analyzed
    marked = _with_string(array, json.dumps(_of(library, alternatives)), ctx.api.named_type("builtins.str", []))
    return cast(Any, declared).copy_modified(upper_bound=marked) if isinstance(declared, TypeVarType) else marked


def _with_string(array: Instance, text: str, string: Instance) -> Instance:
    """The string goes onto the dtype: where mypy joins two arrays, it takes what stands on either away from the type
    itself.
    """
    dtype = get_proper_type(array.args[-1]) if array.args else None
    if not isinstance(dtype, Instance):
        return _marked(array, text, string)
    return cast("Instance", cast(Any, array).copy_modified(args=[*array.args[:-1], _marked(dtype, text, string)]))


def holds_arrays(declared: Type | None) -> bool:
    """Whether an annotated array stands somewhere in a type, such as in ``list[Float[Array2, "batch 10"]]``."""
    if isinstance(declared, TypeAliasType) and declared.is_recursive:
        return False
    plain = get_proper_type(declared)
    own = isinstance(plain, Instance) and alternatives_of(plain)
    return bool(own) or any(map(holds_arrays, _inner_types(plain)))


def _inner_types(declared: Type | None) -> Iterable[Type]:
    match declared:
        case Instance(args=args):
            return args
        case UnionType(items=items) | TupleType(items=items):
            return items
        case TypedDictType(items=fields):
            return fields.values()
        case CallableType(arg_types=parameters, ret_type=result):
            return (*parameters, result)
        case _:
            return ()


def holds_aliases(declared: Type | None) -> bool:
    """Whether an alias of an annotation stands somewhere in a type."""
    if isinstance(declared, TypeAliasType):
        return holds_arrays(declared)
    return any(map(holds_aliases, _inner_types(declared)))


def mark_aliases(tree: nodes.MypyFile, string: Instance) -> None:
    """Put the strings of a module's aliases, ``Images = Float[Array4, "batch 28 28 1"]``, into mypy's types of them,
    which have lost them.
    """
    for name, said in annotations.aliases(tree.defs).items():
        node = tree.names[name].node if name in tree.names else None
        target = get_proper_type(node.target) if isinstance(node, nodes.TypeAlias) else None
        library = libraries.library_of(target)
        if isinstance(node, nodes.TypeAlias) and isinstance(target, Instance) and library:
            node.target = _with_string(target, json.dumps(_of(library, said)), string)


def alternatives_of(declared: Type) -> annotations.Alternatives:
    """The strings that `annotate` put on a type."""
    match get_proper_type(declared):
        case UnionType(items=items):
            each = [alternatives_of(item) for item in items]
            plain = any(libraries.library_of(item) and not said for item, said in zip(items, each, strict=True))
            return [] if plain else [said for alternatives in each for said in alternatives]
        case Instance(extra_attrs=ExtraAttrs(attrs=attrs)) if isinstance(mark := attrs.get(MARK), LiteralType):
            text = str(mark.value)  # a class has its facts there, an object
            return cast("annotations.Alternatives", json.loads(text)) if text.startswith("[[") else []
        case Instance(type=info, args=[*_, dtype]) if info.fullname == libraries.NDARRAY:
            return alternatives_of(dtype)
        case TypeVarType(upper_bound=bound):
            return alternatives_of(bound)
        case _:
            return []


def function_signature(declared: Type | None) -> Signature | None:
    """The annotation strings of a function, from its type: also where its source was not read."""
    return _read(get_proper_type(declared), alternatives_of)
