"""One module while mypy checks it, and when mypy has checked it.

A plugin is asked at each call, not at the end of a function. So the first call in a module adds one function of the
plugin's own to those that mypy checks later (`_last`); when mypy comes to it, all types are known, and every scope is
evaluated once, in the order in which they stand in the file.
"""

from collections.abc import Iterator
from functools import partial

from mypy import nodes
from mypy.checker import DeferredNode, TypeChecker
from mypy.types import CallableType, NoneType

from typednn.mypy_plugin import classes, sources, syntax
from typednn.mypy_plugin.body import Body, Scope
from typednn.mypy_plugin.modules import in_module
from typednn.mypy_plugin.names import ConstructionCache, Names
from typednn.mypy_plugin.options import Options
from typednn.mypy_plugin.statements import Statements
from typednn.mypy_plugin.values import Value, parsed

FINISH = "typednn.mypy_plugin.finish"


class Checking:
    """The scopes of the modules that mypy is checking."""

    def __init__(self, settings: Options) -> None:
        self.settings: Options = settings
        self.cache: ConstructionCache = ConstructionCache(None)
        self._noticed: dict[int, TypeChecker] = {}  # the modules' checkers that `_last` was given to, by id
        self._bodies: dict[int, Body] = {}  # by scope
        self._done: set[int] = set()  # scopes that were evaluated
        self._asked: set[int] = set()  # functions that are evaluated to see what is refused in them
        self._latest: Body | None = None

    def notice(self, api: TypeChecker) -> None:
        """Evaluate the module when mypy has checked it: called at whatever mypy asks the plugin about."""
        run = api.msg.errors.error_info_map  # mypy begins each check, the daemon each update, with a new one
        if run is not self.cache.run:
            self.cache, self._latest = ConstructionCache(run, evaluate=_assigned), None
            self._bodies.clear()
            self._noticed.clear()
            self._done.clear()
        if id(api) not in self._noticed:
            self._noticed[id(api)] = api
            sources.keep(api.tree)
            self.cache.begin()
            self._mark_aliases(api)
            if not api.tree.is_stub and not getattr(api, "can_skip_diagnostics", False):
                api.deferred_nodes.append(DeferredNode(_last(api), None))

    def _mark_aliases(self, api: TypeChecker) -> None:
        """Those of this module, and of the modules whose names it has."""
        string = api.named_type("builtins.str")
        named = (symbol.node for symbol in api.tree.names.values())
        modules = {
            each.fullname.rpartition(".")[0] if isinstance(each, nodes.TypeAlias) else getattr(each, "fullname", "")
            for each in named
        }
        for name in sorted({api.tree.fullname, *modules} & api.modules.keys()):
            if not api.modules[name].is_stub:
                classes.mark_aliases(api.modules[name], string)

    def body(self, api: TypeChecker) -> Body:
        """The scope that mypy is in: it makes a new binder whenever it begins to check one."""
        latest = self._latest
        if latest is not None and latest.binder is api.binder and latest.api is api:
            return latest
        self.notice(api)
        stack = [each for each in api.scope.stack if not isinstance(each, nodes.LambdaExpr)]
        scope: Scope = stack[-1] if isinstance(stack[-1], nodes.FuncDef | nodes.TypeInfo) else api.tree
        known = self._bodies.get(id(scope))
        if (
            known is not None
            and known.api is api
            and (known.binder is api.binder or isinstance(api.scope.stack[-1], nodes.LambdaExpr))
        ):
            self._latest = known
            self.cache.held, self.cache.faults = (known.outer or known).held, partial(self._faults, api)
            return known
        functions = [each for each in stack if isinstance(each, nodes.FuncDef)]
        around = self._bodies.get(id(functions[-2])) if len(functions) > 1 and functions[-1] is scope else None
        self._latest = made = self._made(api, scope, around)
        made.binder = api.binder
        if made.outer is not None and made.function is not None:
            made.outer.reach(made.function)
        return made

    def _made(self, api: TypeChecker, scope: Scope, around: Body | None) -> Body:
        outer = None if scope is api.tree else self._bodies.get(id(api.tree))
        if outer is None and scope is not api.tree:
            outer = self._made(api, api.tree, None)
        made = Body(api, scope, outer, around, self.cache)
        self._bodies[id(scope)] = made
        self.cache.held, self.cache.faults = (outer or made).held, partial(self._faults, api)
        self._done.discard(id(scope))
        return made

    def finished(self, api: TypeChecker) -> Iterator[Body]:
        """The scopes of a module that mypy has checked by now, each once: they can be evaluated."""
        self.cache.begin()
        self.cache.faults = partial(self._faults, api)
        if (module := self._bodies.get(id(api.tree))) is not None:
            self.cache.held = module.held
        self._noticed.pop(id(api), None)
        self._latest = None
        for scope, around in _scopes(api.tree):
            body = self._bodies.get(id(scope))
            if id(scope) in self._done or (body is None and not _annotated(scope, api)):
                continue
            if body is None:
                body = self._made(api, scope, None if around is None else self._bodies.get(id(around)))
            if body.checked():
                self._done.add(id(scope))
                yield body

    def _faults(self, api: TypeChecker, function: nodes.FuncDef) -> frozenset[int]:
        if id(function) in self._asked:  # a function that calls itself
            return frozenset()
        self._asked.add(id(function))
        try:
            body = self._bodies.get(id(function)) or self._made(api, function, None)
            return body.faults()
        finally:
            self._asked.discard(id(function))


def _scopes(tree: nodes.MypyFile) -> Iterator[tuple[Scope, nodes.FuncDef | None]]:
    """The module, its classes and functions, in the order of lines; each nested function with the one that it stands
    in.
    """
    yield tree, None
    yield from _within(tree.defs, None)


def _within(
    statements: list[nodes.Statement], around: nodes.FuncDef | None
) -> Iterator[tuple[Scope, nodes.FuncDef | None]]:
    for each in statements:
        function = each.func if isinstance(each, nodes.Decorator) else each
        if isinstance(function, nodes.FuncDef):
            yield function, around
        elif isinstance(each, nodes.ClassDef) and each.info:
            yield each.info, None
        yield from _within(syntax.within(each), function if isinstance(function, nodes.FuncDef) else around)


def _annotated(scope: Scope, api: TypeChecker) -> bool:
    """Whether a function has annotated arrays: in its header, or for a name at the top of its body."""
    if not isinstance(scope, nodes.FuncDef):
        return False
    declared = (each.type for each in scope.body.body if isinstance(each, nodes.AssignmentStmt))
    return any(map(classes.holds_arrays, declared)) or classes.signature(scope, in_module(api.tree).aliases) is not None


def _assigned(scope: Names, text: str) -> Value:
    """What another module assigns to a name."""
    return Statements(scope).evaluate(parsed(text), {})


def _last(api: TypeChecker) -> nodes.FuncDef:
    """A function that mypy checks after the others: it calls `FINISH`, and so the plugin."""
    signature = CallableType([], [], [], NoneType(), api.named_type("builtins.function"))
    called = nodes.FuncDef("finish", [], nodes.Block([]), signature)
    name = nodes.NameExpr("finish")
    name.kind, name.node = nodes.GDEF, called
    called._fullname = name.fullname = FINISH  # pyright: ignore[reportPrivateUsage]
    call = nodes.CallExpr(name, [], [], [])
    statement = nodes.ExpressionStmt(call)
    last = nodes.FuncDef("__typednn__", [], nodes.Block([statement]), signature)
    last._fullname = f"{api.tree.fullname}.__typednn__"  # pyright: ignore[reportPrivateUsage]
    if hasattr(last, "def_or_infer_vars"):  # mypy 2.3 and later: checked also while it looks at what other modules see
        last.def_or_infer_vars = True
    for node in (called, name, call, statement, last.body, last):
        node.set_line(-1)
    return last
