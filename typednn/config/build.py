"""Tables to layers: every layer is built and its shapes are worked out in the order of the file, before any array
exists.

Reports the first error at the token that caused it, with the layer's place and name in the model, and the shapes of
the layers before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

from typednn.config.arguments import Arguments, layers_expected, shortened
from typednn.config.registry import LAYERS, RESERVED
from typednn.config.source import MOST_LAYERS, Item, Place, Source
from typednn.errors import ArgumentError, ConfigError, StackError, TypednnError, suggestion
from typednn.layer import Chain, FirstChain, FirstLayer, Input
from typednn.module.stack import AnyLayer, Stack, known_sizes, stack_part, trace_part
from typednn.shapes import Flow

AnyModel: TypeAlias = Stack[Any] | FirstChain[Any, Any, str, *tuple[Any, ...]]


@final
@dataclass(frozen=True, slots=True)
class Where:
    """A layer's place in the model, counted and named: ``layer 8 "fc1"``."""

    steps: tuple[tuple[str, str], ...] = ()  # the number and the name of each layer around it, and its own

    def below(self, number: str, name: str = "") -> Where:
        """The place of a part."""
        return Where((*self.steps, (number, name)))

    def __str__(self) -> str:
        place = f"layer {'.'.join(number for number, _ in self.steps)}"
        named = any(name for _, name in self.steps)
        return f'{place} "{".".join(name or number for number, name in self.steps)}"' if named else place


def build_model(source: Source, tables: Sequence[Item], sample: Input[Any]) -> AnyModel:
    """The model of the ``[[layer]]`` tables: a `Stack`, or a `FirstChain` where the input is integers. Allocates
    nothing.
    """
    layers = _Builder(source, sample).in_stack(tables, Where(), sample.flow)
    return Stack(layers, input=sample) if sample.dtype is float else FirstChain(layers, sample)


def tie_shared(source: Source, item: Item, model: AnyModel) -> None:
    """The parameters of each list in ``shared`` become one: ``shared = [["first.weight", "second.weight"]]``.

    A layer may share parameters among its own parts, as GPT-2 does; they may be listed too.
    """
    modules, known = dict(model.named_modules()), dict.fromkeys(model.parameter_shapes())
    shared = [set(names) for names in model.shared_parameters()]
    known |= dict.fromkeys(name for names in shared for name in names)
    for group in item.parts or [item]:
        names = group.parts or []
        if len(names) < 2:
            raise source.error(
                group.place,
                f'shared: a list of lists of parameters\' names, two or more in each, got {shortened(group)}; '
                'such as shared = [["first.weight", "second.weight"]]',
            )  # fmt: skip
        for name in names:
            if not isinstance(name.value, str) or name.value not in known:
                raise source.error(
                    name.place,
                    f"shared: {shortened(name)} is no parameter, or shared already; "
                    f"{suggestion(str(name.value), known)}",
                )
        holder, _, parameter = str(names[0].value).rpartition(".")
        for name in names[1:]:
            path, _, own = str(name.value).rpartition(".")
            try:
                if not any({names[0].value, name.value} <= pair for pair in shared):
                    modules[path].tie(modules[holder], **{own: parameter})
            except TypednnError as error:
                raise source.error(name.place, f"shared: {error}") from None
            known.pop(str(name.value), None)


@dataclass(slots=True)
class _Builder:
    source: Source
    sample: Input[Any]
    count: int = 0
    shapes: tuple[str, ...] = ()  # the trace up to the layer that is being built
    # every layer with its table and its place
    built: list[tuple[AnyLayer, Item, Where]] = field(default_factory=list[Any])

    # ------------------------------------------------------------------ layers in their order

    def in_stack(self, tables: Sequence[Item], where: Where, flow: Flow) -> list[AnyLayer]:
        """The layers of a stack; ``flow`` is the shape of its input."""
        layers: list[AnyLayer] = []
        for table, here in self._parts(tables, where):
            self.shapes = flow.trace
            layer = self.layer(table, here, flow)
            try:
                self.check_kind(layer, first=not layers and not where.steps)
                flow = trace_part(layer, flow)
                known_sizes(flow)
            except StackError as error:
                raise self._misfit(error, table, here) from error
            layers.append(layer)
        return layers

    def check_kind(self, layer: AnyLayer, *, first: bool) -> None:
        """The first layer of a model of integers reads integers, and no other layer does."""
        integers = first and self.sample.dtype is int
        if isinstance(layer, FirstLayer) and not integers:
            reason = 'declare dtype = "int" beside input' if first else "integers have no derivative; put it first"
            raise StackError(f"{layer!r} reads integers; {reason}")
        if integers and not isinstance(layer, FirstLayer):
            raise StackError(
                f"{layer!r} reads floats, and the input's dtype is int; put a layer that reads integers first, "
                "such as Embedding"
            )

    def in_list(self, tables: Sequence[Item], where: Where) -> list[AnyLayer]:
        """Layers whose input is decided by the layer that contains them."""
        return [self.layer(table, here) for table, here in self._parts(tables, where)]

    def _parts(self, tables: Sequence[Item], where: Where) -> list[tuple[Item, Where]]:
        """Each table with its layer's place in the model."""
        self.count += len(tables)
        if self.count > MOST_LAYERS:
            place = max(0, len(tables) - (self.count - MOST_LAYERS))
            raise self.source.error(
                tables[place].place,
                f"{where.below(str(place))}: more than {MOST_LAYERS:,} layers; build such a model in code",
            )
        names: dict[str, Place] = {}
        parts: list[tuple[Item, Where]] = []
        for place, table in enumerate(tables):
            here = where.below(str(place))
            if table.table is None:
                raise self.source.error(
                    table.place,
                    f"{here}: a layer is a table, got {shortened(table)}; write it as [[layer]] with a type",
                )
            name = table.table.get("name")
            if name is not None:
                if not isinstance(name.value, str) or not name.value.isidentifier():
                    raise self.source.error(
                        name.place, f'{here}: a name must be an identifier such as "fc1", got {shortened(name)}'
                    )
                if name.value in names:
                    first = f"{name.value!r} is that of line {names[name.value].line}"
                    raise self.source.error(
                        name.place, f"{here}: every layer's name is its own, and {first}; choose another"
                    )
                names[name.value] = name.place
            parts.append((table, where.below(str(place), name.value if name else "")))
        return parts

    # ------------------------------------------------------------------ one layer

    def layer(self, table: Item, where: Where, flow: Flow | None = None) -> AnyLayer:
        """One layer with those inside it; ``flow`` is the shape of its input in a stack."""
        arguments = Arguments.of_type(self.source, str(where), table, LAYERS, "a layer", RESERVED)
        arguments.check_keys()
        values: dict[str, Any] = {}
        entering: Flow | None = None  # the shape inside a nested stack
        if arguments.kind == "Stack":
            values["input"] = self._stack_input(arguments, flow)
            entering = flow if flow is not None and flow.sizes() == values["input"] else Flow.start(values["input"])
        inside = [key for key, item in arguments.table.items() if _holds_layers(item, arguments.hints.get(key))]
        values |= {key: arguments.plain(key) for key in arguments.table if key not in values and key not in inside}
        try:
            for key in inside:
                values[key] = self._inside(key, arguments, where, entering)
            made: Any = arguments.call(values)
            layer: AnyLayer = made if FirstLayer in type(made).__mro__ else stack_part(made)
        except StackError as error:
            raise self._misfit(error, table, where, self.shapes) from error
        name = (table.table or {}).get("name")
        if name is not None:
            layer.named(name.value)
        self.built.append((layer, table, where))
        return layer

    def _stack_input(self, arguments: Arguments, flow: Flow | None) -> tuple[int, ...]:
        """The input of a nested stack: its own ``input``, else the shape that flows into it."""
        if "input" in arguments.table:
            try:
                return Input(*arguments.plain("input")).sizes
            except ArgumentError as error:
                raise arguments.error(arguments.table["input"].place, str(error)) from None
        if flow is None:
            raise arguments.error(
                arguments.head,
                "Stack needs input here (a list of integers): only the layer around it knows what reaches it",
            )
        return known_sizes(flow)

    def _inside(self, key: str, arguments: Arguments, where: Where, flow: Flow | None) -> Any:
        """The layers of an argument: a list where the constructor takes one, else the layer itself or a chain of
        several.
        """
        item = arguments.table[key]
        tables = [item] if item.table is not None else item.parts
        if not tables:
            raise arguments.error(
                item.place,
                f"{arguments.kind}: {key} must be one or more layers, got {shortened(item)}; write each as a "
                f"table [[layer.{key}]]",
            )
        if flow is not None:
            before = self.shapes
            layers = self.in_stack(tables, where, flow)
            self.shapes = before
            return layers
        if layers_expected(arguments.hints.get(key)) == "many":
            return self.in_list(tables, where)
        if len(tables) == 1 and "name" not in (tables[0].table or {}):
            self._parts(tables, where.below(key))
            return self.layer(tables[0], where.below(key))
        return Chain[Any, Any, str, *tuple[Any, ...]](self.in_list(tables, where.below(key)))

    def _misfit(self, error: StackError, table: Item, where: Where, shapes: Sequence[str] = ()) -> ConfigError:
        """The error about a layer that does not fit, at the argument that gives the size; where there is none, at its
        type.
        """
        inner = ((item, place) for layer in error.layers for built, item, place in self.built if built is layer)
        table, where = next(inner, (table, where))
        fields = table.table or {}
        return self.source.error(
            fields.get(error.argument, fields["type"]).place, f"{where}: {error}", (*shapes, *error.trace)
        )


def _holds_layers(item: Item, hint: Any) -> bool:
    """Whether an argument holds layers: by its annotation, or as a list of tables where it has none."""
    return layers_expected(hint) != "none" or (
        hint is None and bool(item.parts) and all(part.table is not None for part in item.parts or ())
    )
