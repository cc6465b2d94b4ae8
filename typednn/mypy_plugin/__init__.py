"""mypy plugin: the sizes that run time enforces, proven before the program runs.

In mypy's configuration: ``plugins = ["typednn.mypy_plugin"]``. It reads the annotation strings that jaxtyping checks
at run time, through the same `typednn.shapes`. Each file here does one thing:

    options      ``[tool.typednn-mypy]``
    facts        what is known of a module, for an editor or a report
    reveals      ``reveal_type`` in readable lines
    collecting   what is known of a scope, for an editor or a report
    checking     one module: evaluates its scopes when mypy has checked them
    body         one scope
    statements   runs the statements of a constructor or a body
    evaluator    evaluates expressions
    calls        which function a call means; looks up the meaning of names in
    features/    the table from a name to its analysis: one file per feature
    containers   lists, dicts and tuples of arrays against annotations
    python       Python's own syntax
    sizes        arrays against annotations
    context      the input of an analysis
    names        the meaning of a module's names
    types        the contract in a layer's type, ``Linear[Literal['batch 784 -> batch 10']]``
    bounds       the sizes of slices
    values       what is known of a value
    classes      what a class declares about sizes, kept in mypy's cache
    sources      what a module defines, kept in mypy's cache: its functions as text
    modules      what the statements of one module declare
    decorators   decorators that keep a function as it is
    changes      what statements assign, change and pass on
    syntax       mypy's syntax tree as Python's own
    libraries    the libraries whose arrays are followed
    annotations  the annotations of arrays, as they are written
    jax_modules  the layers of Equinox and Flax

A file imports only what stands below it here. No layer is known by its name: a wrapper is a class with a field whose
type says how the layer in it is used, ``inner: Layer[In, In, G, Literal["batch *shape -> batch *shape"]]``.

An unknown size is silent, and a hook that fails leaves mypy's own answer: nothing here can stop a check.
"""

import hashlib
import os
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from mypy import nodes
from mypy.checker import TypeChecker
from mypy.checker_state import checker_state
from mypy.errors import CompileError
from mypy.nodes import Decorator, FuncDef, TypeInfo, Var
from mypy.options import Options as MypyOptions
from mypy.plugin import (
    AnalyzeTypeContext,
    ClassDefContext,
    FunctionContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
from mypy.types import AnyType, CallableType, FunctionLike, Instance, Type, TypeOfAny, get_proper_type

from typednn import shapes
from typednn.errors import ArgumentError
from typednn.mypy_plugin import classes, collecting, facts, libraries, options, sources
from typednn.mypy_plugin.body import Body
from typednn.mypy_plugin.checking import FINISH, Checking
from typednn.mypy_plugin.modules import in_module
from typednn.mypy_plugin.reveals import Reveals
from typednn.mypy_plugin.types import accepting, with_contract
from typednn.mypy_plugin.values import Layer

Answer = TypeVar("Answer")
Hook: TypeAlias = Callable[[Any], Type]

_STACKING = ("__rshift__", "__rrshift__")
_CALLS = ("forward", "__call__", "backward", "update")


class TypednnPlugin(Plugin):
    """The hooks; each gives mypy's own answer where typednn has nothing to add."""

    def __init__(self, mypy_options: MypyOptions) -> None:
        super().__init__(mypy_options)
        self._refused = ""  # what is wrong with the settings
        try:
            self.settings: options.Options = options.read(mypy_options.config_file)
        except ArgumentError as error:
            self._refused, self.settings = str(error), options.Options()
        files = [*Path(__file__).parent.rglob("*.py"), *Path(shapes.__file__).parent.glob("*.py")]
        self._source = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()
        self._began = int(time.time())
        self._checking = Checking(self.settings)
        self._reveals = Reveals(self._revealed)

    def report_config_data(self, ctx: ReportConfigContext) -> Any:
        """A change of settings, or of typednn itself, makes mypy check again.

        So does a file that was saved in the second in which mypy began, or later: mypy's cache knows a file by its size
        and by whole seconds, and would take another text of the same second and size for the one that was checked.
        """
        self._refuse()
        if not ctx.is_check:  # mypy is about to keep the module in its cache
            self._mark_aliases(ctx.id)
        known = {"report_unknown": self.settings.report_unknown, "debug": self.settings.debug, "source": self._source}
        tree = None if ctx.is_check else (self._modules or {}).get(ctx.id)  # what mypy is about to write
        self._keep(tree)
        if sources.incomplete(tree):
            return {**known, "incomplete": True}
        if ctx.is_check:
            asked = bool(facts.checked_anew) and os.path.abspath(ctx.path) in facts.checked_anew
            return {**known, "asked": True} if asked else known
        return {**known, "just saved": True} if _saved(ctx.path) >= self._began else known

    def _mark_aliases(self, module: str) -> None:
        tree, string = (self._modules or {}).get(module), self._node("builtins.str")
        if tree is not None and isinstance(string, TypeInfo) and not tree.is_stub:
            classes.mark_aliases(tree, Instance(string, []))

    def get_additional_deps(self, file: nodes.MypyFile) -> list[tuple[int, str, int]]:
        """None; asked of each file that is not in the cache, before it is checked."""
        self._refuse()
        if getattr(file, "raw_data", None) is None:  # it has its statements, not its imports alone
            self._keep(file)
        return []

    def _keep(self, tree: nodes.MypyFile | None) -> None:
        try:
            sources.keep(tree)
        except Exception:  # as in `_notice`
            if self.settings.debug:
                raise

    def _refuse(self) -> None:
        """End the check if the settings are wrong; from here mypy shows it as it shows its own errors."""
        if self._refused:
            raise CompileError([self._refused])

    # ------------------------------------------------------------------ reading

    def get_customize_class_mro_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        return lambda ctx: self._safely(lambda: classes.read_class(ctx), None, ctx)

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        return self._annotated if fullname in ("typing.Annotated", "typing_extensions.Annotated") else None

    # ------------------------------------------------------------------ following

    def get_function_hook(self, fullname: str) -> Hook | None:
        if fullname == FINISH:
            return self._finish
        self._notice()
        node = self._node(fullname)
        if isinstance(node, TypeInfo):
            if node.has_base(classes.TORCH_MODULE):
                return self._hook(_called)
            return self._hook(_constructed) if _is_layer(node) or node.has_base(classes.GRADIENT) else None
        typed: Type | None = node.type if isinstance(node, FuncDef | Decorator | Var) else None
        declared = None if isinstance(node, Var) and self._transformed(node) else get_proper_type(typed)
        if isinstance(node, Decorator):
            tree = _checker(checker_state.type_checker).tree
            own = node.name in tree.names and tree.names[node.name].node is node
            if own and in_module(tree).keeps_signature(node.original_decorators):
                declared = get_proper_type(node.func.type)
            elif classes.holds_aliases(declared):
                return None  # whether the decorator keeps what they say is not known
        signature = classes.function_signature(declared)
        if signature is not None and isinstance(declared, CallableType):
            return self._hook(partial(_called, signature=(fullname.rpartition(".")[2], signature, declared)))
        function = isinstance(node, FuncDef | Decorator)
        return self._hook(_called) if function and self._builds(node.fullname) else None

    def get_method_hook(self, fullname: str) -> Hook | None:
        self._notice()
        owner, _, name = fullname.rpartition(".")
        info = self._node(owner) if owner != libraries.NDARRAY else None
        if not isinstance(info, TypeInfo):
            return None
        if name in _STACKING and _is_layer(info):
            return self._hook(_stacked)
        if name in _CALLS and _is_layer(info):
            return self._hook(_called)
        signature = classes.method(info, name)
        if signature is None:
            return self._hook(_called) if self._builds(info.fullname) else None
        known = f"{info.name}.{name}", signature, classes.type_of(info, name)
        return self._hook(partial(_called, signature=known))

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        owner, _, name = fullname.rpartition(".")
        info = self._node(owner) if name in _STACKING else None
        if not isinstance(info, TypeInfo) or not _is_layer(info):
            return None
        return lambda ctx: self._safely(
            lambda: _stacking(self._checking.body(_checker(ctx.api)), ctx), ctx.default_signature, ctx
        )

    def _annotated(self, ctx: AnalyzeTypeContext) -> Type:
        """``Float[Array2, "batch 10"]``: the string goes into the type; else the type is what stands first."""
        analyzed = self._safely(lambda: classes.annotate(ctx), None, ctx)
        return (
            next(map(ctx.api.analyze_type, ctx.type.args), AnyType(TypeOfAny.from_error))
            if analyzed is None
            else analyzed
        )

    # ------------------------------------------------------------------ machinery

    def _hook(self, act: Callable[[Body, Any], Type]) -> Hook:
        return lambda ctx: self._safely(lambda: act(self._checking.body(ctx.api), ctx), ctx.default_return_type, ctx)

    def _collected(self, body: Body) -> None:
        collecting.collect(body)
        if self.settings.report_unknown:
            for loss in collecting.losses(body):  # of a module and a class too: what is built there
                ctx = nodes.TempNode(AnyType(TypeOfAny.special_form), no_rhs=True)
                ctx.set_line(loss.span.line, loss.span.column)
                body.api.note(f"not proven: {loss.what}", ctx, code=classes.SHAPE)

    def _revealed(self) -> None:
        """mypy reveals a type: the scope is evaluated even if nothing else in it is of interest."""
        try:
            self._checking.body(_checker(checker_state.type_checker))
        except Exception:  # as in `_notice`
            if self.settings.debug:
                raise

    def _notice(self) -> None:
        """mypy checks a module: it is evaluated afterwards."""
        try:
            if checker_state.type_checker is not None:
                self._reveals.watch(_checker(checker_state.type_checker))
                self._checking.notice(_checker(checker_state.type_checker))
        except Exception:  # as in `_safely`, where there is no place for a message
            if self.settings.debug:
                raise

    def _finish(self, ctx: FunctionContext) -> Type:
        none: list[Body] = []
        for body in self._safely(lambda: list(self._checking.finished(_checker(ctx.api))), none, ctx):
            self._safely(body.check, None, ctx)
            self._safely(partial(self._collected, body), None, ctx)
        return ctx.default_return_type

    def _transformed(self, node: Var) -> bool:
        """Whether it may be a name such as ``batched = vmap(f)``, for which mypy infers f's own type."""
        tree: nodes.MypyFile | None = (self._modules or {}).get(node.fullname.rpartition(".")[0])
        if not node.is_inferred or tree is None:
            return False
        used = (str(getattr(each.node, "fullname", "")) for each in tree.names.values())
        return any(each.partition(".")[0] == "jax" for each in used)

    def _builds(self, fullname: str) -> bool:
        """Whether a function or a class is one of the project's, and its module knows layers."""
        kept = sources.kept((self._modules or {}).get(fullname.rpartition(".")[0]))
        return kept is not None and kept["builds"]

    def _node(self, fullname: str) -> Any:
        return getattr(self.lookup_fully_qualified(fullname), "node", None)

    def _safely(self, hook: Callable[[], Answer], otherwise: Answer, ctx: Any) -> Answer:
        try:
            return hook()
        except Exception:  # an error of the plugin, not of the user's program
            if self.settings.debug:
                ctx.api.fail(
                    f"typednn.mypy_plugin, please report this:\n{traceback.format_exc()}",
                    ctx.context if hasattr(ctx, "context") else ctx.cls,
                )
            return otherwise


# ------------------------------------------------------------------ what the hooks do


def _checker(api: object) -> TypeChecker:
    """mypy's checker of a module, of which a plugin is told less."""
    return cast("TypeChecker", api)


def _saved(path: str) -> float:
    """When the file was saved, in seconds; 0 of one that is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _is_layer(info: TypeInfo) -> bool:
    return info.fullname == classes.INPUT or info.has_base(classes.MODULE)


def _constructed(body: Body, ctx: FunctionContext) -> Type:
    """``Linear(784, 10)``: the contract goes into the type."""
    value = body.value(ctx.context)
    known = value.contract if isinstance(value, Layer) and body.kept(ctx.context) else None
    return with_contract(ctx.default_return_type, known, ctx.api)


def _stacking(body: Body, ctx: MethodSigContext) -> CallableType:
    """``a >> b``, before mypy looks for an overload: ranks that do not fit are reported once, by typednn."""
    body.value(ctx.context)
    right = getattr(ctx.context, "right", None)
    if right is None or not body.refused_rank(right):
        return ctx.default_signature
    return accepting(ctx.default_signature, body.type_of(right))


def _stacked(body: Body, ctx: MethodContext) -> Type:
    value = body.value(ctx.context)
    if isinstance(value, Layer) and body.kept(ctx.context):
        return with_contract(ctx.default_return_type, value.contract, ctx.api)
    return ctx.default_return_type


def _called(body: Body, ctx: FunctionContext | MethodContext, signature: classes.Known | None = None) -> Type:
    """A call of a layer, of what has annotations, or of what may build layers: it is checked when the module is."""
    if signature is not None:
        body.remember(ctx.context, signature)
    return ctx.default_return_type


def plugin(version: str) -> type[Plugin]:
    """The plugin class, which mypy looks up by this name."""
    return TypednnPlugin
