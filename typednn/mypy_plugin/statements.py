"""Runs statements in order on what is known of each name.

Where a branch cannot be decided, both sides run, and what they agree on is kept. A loop over known elements is unrolled;
any other loop runs until nothing changes.
"""

import ast
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from typednn.mypy_plugin import python
from typednn.mypy_plugin.evaluator import Evaluator
from typednn.mypy_plugin.syntax import changed
from typednn.mypy_plugin.values import UNKNOWN, Constant, Environment, Pack, Value, either, join, unshared


@dataclass(eq=False)
class Statements(Evaluator):
    """The statements of one body."""

    returns: Callable[[Value, ast.AST], None] | None = None
    _breaks: list[list[Environment]] = field(default_factory=list[list[Environment]], init=False)
    _exits: list[Environment] = field(default_factory=list[Environment], init=False)  # at each return

    def inside(self, module: str, under: Hashable) -> "Statements":
        return Statements(self.scope.inside(module), under=(*self.under, under))

    def outcome(self, statements: Sequence[ast.stmt], env: Environment) -> Environment:
        after = self.run(statements, env)
        return reduce(either, self._exits, after) or {}

    def returned(self, statements: Sequence[ast.stmt], env: Environment) -> Value:
        values: list[Value] = []
        self.returns = lambda value, _: values.append(value)
        if self.run(statements, env) is not None:
            values.append(Constant(None))
        return reduce(join, values) if values else UNKNOWN

    def run(self, statements: Sequence[ast.stmt], env: Environment) -> Environment | None:
        """The environment afterwards; None where nothing comes after."""
        current: Environment | None = env
        for statement in statements:
            if current is not None:
                current = self.step(statement, current)
        return current

    def step(self, statement: ast.stmt, env: Environment) -> Environment | None:
        """One statement, which may change ``env``."""
        match statement:
            case ast.Assign(targets=targets, value=right):
                value = self.evaluate(right, env)
                for target in targets:
                    self.assign(target, value if len(targets) == 1 else unshared(value), env)
            case ast.Expr(value=value):
                self.evaluate(value, env)
            case ast.Return(value=value):
                result = Constant(None) if value is None else self.evaluate(value, env)
                if self.returns is not None:
                    self.returns(result, value or statement)
                self._exits.append(env)
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                decided = python.truth(self.peek(test, env))
                if decided is not None:
                    return self.run(body if decided else orelse, env)
                return either(self.run(body, dict(env)), self.run(orelse, dict(env)))
            case ast.For():
                return self._for(statement, env)
            case ast.While(test=test, body=body, orelse=orelse):
                return self._loop([], [ast.Expr(value=test), *body], [ast.Expr(value=test), *orelse], env)
            case ast.With(items=items, body=body):
                for item in items:
                    self.evaluate(item.context_expr, env)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, UNKNOWN, env)
                after = self.run(body, dict(env))
                if all(python.transparent(item.context_expr) for item in items):
                    return after
                return either(forget(env, body), after)  # a manager may cut its body short
            case ast.Try():
                return self._try(statement, env)
            case ast.Raise() | ast.Break() | ast.Continue():
                if isinstance(statement, ast.Break) and self._breaks:
                    self._breaks[-1].append(env)
                return None
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                env[name] = UNKNOWN
            case _:
                pass
        return env

    def _for(self, statement: ast.For, env: Environment) -> Environment | None:
        items = python.elements(self.peek(statement.iter, env))
        if isinstance(items, Pack) and len(items.items) <= python.UNROLLED and not _leaves(statement.body):
            current: Environment | None = env
            for item in items.items:
                if current is not None:
                    self.assign(statement.target, item, current)
                    current = self.run(statement.body, current)
            return None if current is None else self.run(statement.orelse, current)
        return self._loop([statement.target], statement.body, statement.orelse, env, python.element(items))

    def _loop(
        self,
        targets: list[ast.expr],
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        env: Environment,
        item: Value = UNKNOWN,
    ) -> Environment | None:
        if _leaves(body):  # continue skips the rest of the body: what the body changes becomes unknown
            env = forget(env, body)
        entry = dict(env)
        breaks: list[Environment] = []
        for _ in range(4):
            self._breaks.append([])
            start = dict(entry)
            for target in targets:
                self.assign(target, item, start)
            after = self.run(body, start)
            breaks = self._breaks.pop()
            widened = either(dict(env), after)
            if widened is None or widened == entry:
                break
            entry = widened
        else:
            entry = forget(env, body)
        return reduce(either, breaks, self.run(orelse, dict(entry)))

    def _try(self, statement: ast.Try, env: Environment) -> Environment | None:
        after = self.run([*statement.body, *statement.orelse], dict(env))
        interrupted = forget(env, statement.body)
        for handler in statement.handlers:
            after = either(after, self.run(handler.body, {**interrupted, handler.name or "": UNKNOWN}))
        if not statement.finalbody:
            return after
        final = self.run(statement.finalbody, dict(interrupted if after is None else after))
        return None if after is None else final


def forget(env: Environment, body: Sequence[ast.stmt]) -> Environment:
    """The environment with everything unknown that some statements may assign or change."""
    return {**env, **dict.fromkeys(changed(body), UNKNOWN)}


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Continue | ast.Break) for statement in body for node in ast.walk(statement))
