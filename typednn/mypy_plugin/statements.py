"""Runs statements in order on what is known of each name.

Where a branch cannot be decided, both sides run, and what they agree on is kept. A loop over known elements is
unrolled; any other loop runs until nothing changes.
"""

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from mypy import nodes
from mypy.types import Type

from typednn.mypy_plugin import classes, libraries, python
from typednn.mypy_plugin.changes import changed, handed_on
from typednn.mypy_plugin.containers import misfit_inside
from typednn.mypy_plugin.context import mutated
from typednn.mypy_plugin.evaluator import Evaluator
from typednn.mypy_plugin.features import functions
from typednn.mypy_plugin.names import OF_GENERATORS
from typednn.mypy_plugin.sizes import class_of, fits, names_of, promised, within
from typednn.mypy_plugin.syntax import origin, walk
from typednn.mypy_plugin.types import value_of
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Environment,
    Function,
    Layer,
    Many,
    Number,
    Pack,
    Reference,
    Value,
    either,
    join,
    sizes_in,
    unshared,
)

_TURNS = 8  # of a while loop, as its share of what loops within it may unroll: how many there are is known at its end


@dataclass(eq=False)
class Statements(Evaluator):
    """The statements of one body."""

    returns: Callable[[Value, ast.AST], None] | None = None
    _breaks: list[list[Environment]] = field(default_factory=list[list[Environment]], init=False)
    _continues: list[list[Environment]] = field(default_factory=list[list[Environment]], init=False)
    _exits: list[Environment] = field(default_factory=list[Environment], init=False)  # at each return

    def inside(self, module: str, under: Hashable, names: frozenset[str] = frozenset()) -> "Statements":
        inner = Statements(self.scope.inside(module), names, (*self.under, under))
        inner.unrolled = self.unrolled
        return inner

    def outcome(self, statements: Sequence[ast.stmt], env: Environment) -> Environment:
        after = self.run(statements, self._entered(statements, env))
        return reduce(either, self._exits, after) or {}

    def returned(self, statements: Sequence[ast.stmt], env: Environment) -> Value:
        values: list[Value] = []
        self.returns = lambda value, _: values.append(value)
        if self.run(statements, self._entered(statements, env)) is not None:
            values.append(Constant(None))
        return reduce(join, values) if values else UNKNOWN

    def _entered(self, statements: Sequence[ast.stmt], env: Environment) -> Environment:
        """The names at the start of a body: a list that a function inside may change is not known."""
        self.watch(statements)
        return env | {name: unshared(env[name]) for name in self.reached & env.keys()}

    def run(self, statements: Sequence[ast.stmt], env: Environment) -> Environment | None:
        """The environment afterwards; None where nothing comes after."""
        current: Environment | None = env
        for statement in statements:
            if current is not None:
                current = self.step(statement, current)
                if self.scope.pairs:
                    self.scope.leave_open(statement)
        return current

    def step(self, statement: ast.stmt, env: Environment) -> Environment | None:
        """One statement, which may change ``env``."""
        match statement:
            case ast.Assign(targets=targets, value=right):
                value = self.evaluate(right, env)
                if isinstance(targets[0], ast.Name) and (promise := getattr(statement, "declared", None)) is not None:
                    value = self._declared(statement, targets[0], promise, value)
                elif getattr(origin(statement), "unanalyzed_type", None) is not None:
                    value = self._declared_inside(targets[0], origin(statement).type, value, right)
                for target in targets:
                    self.assign(target, value if len(targets) == 1 else unshared(value), env)
            case ast.AugAssign(target=target, op=op, value=right):
                binary = ast.BinOp(left=target, op=op, right=right)
                binary.origin, binary.in_place = origin(statement), True  # type: ignore[attr-defined]
                self.assign(target, self.evaluate(binary, env), env)
            case ast.Expr(value=value):
                self.evaluate(value, env)
                self.guarded(value)
            case ast.Assert(test=test):
                return None if self.decided(self.evaluate(test, env), test) is False else env
            case ast.Delete(targets=targets):
                for target in targets:
                    mutated(target, env)
            case ast.Return(value=value):
                result = Constant(None) if value is None else self.evaluate(value, env)
                if self.returns is not None:
                    self.returns(result, value or statement)
                self._exits.append(env)
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                decided = self.chosen(test, body, orelse, env)
                if decided is not None:
                    return self.run(body if decided else orelse, env)
                return either(self.run(body, dict(env)), self.run(orelse, dict(env)))
            case ast.Match():
                return self._match(statement, env)
            case ast.For():
                return self._for(statement, env)
            case ast.While():
                return self._while(statement, env)
            case ast.With(items=items, body=body):
                for item in items:
                    opened = self.evaluate(item.context_expr, env)
                    of_generator = self.scope.class_name(item.context_expr) in OF_GENERATORS
                    if item.optional_vars is not None:
                        yielded = opened.item if isinstance(opened, Many) else opened
                        self.assign(item.optional_vars, yielded if of_generator else UNKNOWN, env)
                managers = [item.context_expr for item in items]
                if all(python.transparent(each) or self.scope.catches_nothing(each) for each in managers):
                    return self.run(body, dict(env))
                return either(forget(env, body), self._caught(body, env))  # a manager may cut its body short
            case ast.Try():
                return self._try(statement, env)
            case ast.Raise() | ast.Break() | ast.Continue():
                if isinstance(statement, ast.Break) and self._breaks:
                    self._breaks[-1].append(env)
                if isinstance(statement, ast.Continue) and self._continues:
                    self._continues[-1].append(env)
                return None
            case ast.FunctionDef(name=name, args=parameters, body=body, decorator_list=decorators):
                plain = (
                    not any(isinstance(each, ast.Yield | ast.YieldFrom) for each in walk(statement)) and not decorators
                )
                self.hand_on_defaults(parameters, env)
                kept = self.captured(env)
                env[name] = UNKNOWN
                if plain:
                    env[name] = kept[name] = Function(
                        name, self.scope.module, parameters, body, kept, origin(statement)
                    )  # it may call itself
            case ast.ClassDef(name=name):
                env[name] = UNKNOWN
            case _:
                pass
        return env

    def _declared(self, statement: ast.Assign, target: ast.Name, promise: list[str], value: Value) -> Value:
        """``y: Float[Array2, "batch 10"] = …``."""
        declared = getattr(origin(statement), "type", None)
        kind, text, _ = promise
        library = libraries.library_of(declared)
        if not library or not set(names_of(text)) <= self.names:
            return value
        if isinstance(value, Array):
            fits(self, within(self, self.attributes), f'{target.id} is "{text}": ', text, value, statement.value)
        return functions.better(
            value if isinstance(value, Array) and value.shape is not None else UNKNOWN,
            promised(self, [kind, text, library], self.attributes),
        )

    def _declared_inside(self, target: ast.expr, declared: Type | None, value: Value, node: ast.expr) -> Value:
        """``ys: list[Float[Array2, "batch 10"]] = …``."""
        if declared is None or not classes.holds_arrays(declared):
            return value
        wrong = misfit_inside(self, within(self, self.attributes), declared, value, node)
        if wrong is not None:
            self.scope.complain(f'{ast.unparse(target)}{wrong.place} is "{wrong.text}": {wrong.how}', node)
        return value_of(declared, self.promised) if value is UNKNOWN else value

    def _match(self, statement: ast.Match, env: Environment) -> Environment | None:
        """The first case that fits for sure, and all before it that may."""
        subject = self.peek(statement.subject, env)
        after: Environment | None = None
        for case in statement.cases:
            inner = dict(env)
            fits = self._fits(case.pattern, subject, inner)
            if fits is None or fits:
                guard = True if case.guard is None else self.decided(self.peek(case.guard, inner), case.guard)
                fits = fits if guard else False if guard is False else None
            if fits is not False and self.scope.reached(statement.subject, case.body):
                after = either(after, self.run(case.body, inner))
            if fits:
                return after
        return either(after, env)

    def _fits(self, pattern: ast.pattern, subject: Value, env: Environment) -> bool | None:
        """Whether a value fits a pattern, whose names it binds; None where that is not known."""
        match pattern:
            case ast.MatchValue(value=value):
                self.flexible.update(sizes_in(subject))
                return python.truth(python.compared(ast.Eq(), subject, self.peek(value, env)))
            case ast.MatchSingleton(value=value):
                return python.truth(python.compared(ast.Is(), subject, Constant(value)))
            case ast.MatchAs(pattern=inner, name=name):
                fits = True if inner is None else self._fits(inner, subject, env)
                if name is not None:
                    env[name] = unshared(subject)
                return fits
            case ast.MatchOr(patterns=several):
                verdicts = [self._fits(each, subject, env) for each in several]
                return True if True in verdicts else None if None in verdicts else False
            case ast.MatchSequence(patterns=several):
                star = next((place for place, each in enumerate(several) if isinstance(each, ast.MatchStar)), None)
                items = subject.items if isinstance(subject, Pack) and not subject.keys else None
                if items is None or (star is not None and len(items) < len(several) - 1):
                    for each in several:
                        self._fits(each, UNKNOWN, env)
                    return None if items is None else False
                if star is not None:
                    after = len(several) - star - 1
                    items = (*items[:star], Pack(items[star : len(items) - after]), *items[len(items) - after :])
                if len(items) != len(several):
                    return False
                verdicts = [self._fits(each, item, env) for each, item in zip(several, items, strict=True)]
                return False if False in verdicts else None if None in verdicts else True
            case ast.MatchStar(name=name):
                if name is not None:
                    env[name] = unshared(subject)
                return True
            case ast.MatchClass(cls=cls, patterns=positional, kwd_attrs=names, kwd_patterns=named):
                return self._fits_class(
                    self.evaluate(cls, env), positional, dict(zip(names, named, strict=True)), subject, env
                )
            case _:
                return None

    def _fits_class(
        self, cls: Value, positional: list[ast.pattern], named: dict[str, ast.pattern], subject: Value, env: Environment
    ) -> bool | None:
        attributes: Mapping[str, Value] = {}
        same: bool | None = None
        match subject, cls:
            case Layer(attributes=known), Reference(node=nodes.TypeInfo(fullname=wanted)) if (
                info := class_of(self, subject)
            ) is not None:
                attributes, same = (
                    {name: known.get(name, UNKNOWN) for name, _ in classes.record(info)},
                    info.has_base(wanted),
                )
            case Pack(fields=(_, *_) as fields, items=items), _:
                attributes = dict(zip(fields, items, strict=True))
            case Number(), Reference(node=nodes.TypeInfo(fullname="builtins.int")):
                return self._fits(positional[0], subject, env) if positional else True
            case _:
                pass
        if same is False:
            return False
        verdicts = [self._fits(each, attributes.get(name, UNKNOWN), env) for name, each in named.items()]
        places = [*attributes.values(), *[UNKNOWN] * len(positional)]
        verdicts += [self._fits(each, value, env) for each, value in zip(positional, places, strict=False)]
        return False if False in verdicts else same if None not in verdicts else None

    def _for(self, statement: ast.For, env: Environment) -> Environment | None:
        items = self.lent(statement.target, statement.iter, statement.body, env)
        if not isinstance(items, Pack) or len(items.items) > self.unrolled:
            return self._loop([statement.target], statement.body, statement.orelse, env, python.element(items))
        current: Environment | None = env
        left: list[Environment] = []
        for item in items.items:
            if current is not None:
                self.assign(statement.target, item, current)
                with self.within(len(items.items)):
                    current, breaks = self._iteration(statement.body, current)
                left += breaks
        return reduce(either, left, None if current is None else self.run(statement.orelse, current))

    def _while(self, statement: ast.While, env: Environment) -> Environment | None:
        """As long as the condition is decided, iteration by iteration."""
        current: Environment | None = env
        left: list[Environment] = []
        for _ in range(self.unrolled):
            if current is None:
                return reduce(either, left, None)
            decided = self.decided(self.peek(statement.test, current), statement.test)
            if decided is None:
                break
            if not decided:
                return reduce(either, left, self.run(statement.orelse, current))
            with self.within(_TURNS):
                current, breaks = self._iteration(statement.body, current)
            left += breaks
        test = ast.Expr(value=statement.test)
        inside, orelse = [test, *statement.body], [test, *statement.orelse]
        after = None if current is None else self._loop([], inside, orelse, current, test=statement.test)
        return reduce(either, left, after)

    def _iteration(self, body: Sequence[ast.stmt], env: Environment) -> tuple[Environment | None, list[Environment]]:
        """The environment after one run of a loop's body, and those at its breaks."""
        self._breaks.append([])
        self._continues.append([])
        after = self.run(body, env)
        return reduce(either, self._continues.pop(), after), self._breaks.pop()

    def _loop(
        self,
        targets: list[ast.expr],
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        env: Environment,
        item: Value = UNKNOWN,
        test: ast.expr | None = None,
    ) -> Environment | None:
        entry = dict(env)
        breaks: list[Environment] = []
        for _ in range(4):
            start = dict(entry)
            for target in targets:
                self.assign(target, item, start)
            after, breaks = self._iteration(body, start)
            widened = either(dict(env), after)
            if widened is None or widened == entry:
                break
            entry = widened
        else:
            entry = forget(env, body)
            start = dict(entry)
            for target in targets:
                self.assign(target, item, start)
            breaks = self._iteration(body, start)[1]
        endless = test is not None and self.decided(self.peek(test, dict(entry)), test)
        return reduce(either, breaks, None if endless else self.run(orelse, dict(entry)))

    def _caught(self, body: Sequence[ast.stmt], env: Environment) -> Environment | None:
        """Statements whose errors are caught: a mistake in them may be on purpose, so none is reported."""
        self.scope.muted += 1
        try:
            return self.run(body, dict(env))
        finally:
            self.scope.muted -= 1

    def _try(self, statement: ast.Try, env: Environment) -> Environment | None:
        left = [(each, len(each)) for each in (self._exits, *self._breaks[-1:], *self._continues[-1:])]
        caught = any(python.catches(handler.type) for handler in statement.handlers)
        after = self._caught(statement.body, env) if caught else self.run(statement.body, dict(env))
        after = None if after is None else self.run(statement.orelse, after)
        interrupted = forget(env, statement.body)
        for handler in statement.handlers:
            after = either(after, self.run(handler.body, {**interrupted, handler.name or "": UNKNOWN}))
        if not statement.finalbody:
            return after
        for envs, before in left:  # who leaves by break or return runs it, too
            envs[before:] = [forget(each, statement.finalbody) for each in envs[before:]]
        final = self.run(statement.finalbody, dict(interrupted if after is None else after))
        return None if after is None else final


def forget(env: Environment, body: Sequence[ast.stmt]) -> Environment:
    """The environment with everything unknown that some statements may assign or change."""
    lists = {name for name in handed_on(body) if name in env and unshared(env[name]) is not env[name]}
    return {**env, **dict.fromkeys({*changed(body), *lists}, UNKNOWN)}
