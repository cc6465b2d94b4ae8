"""Random models, right or with one fault: each as a program, as layers, as a config, and as plain arithmetic.

    model = draw(7)                # the same one each time
    program([model])               # a module with a function model_0 that builds it
    toml(model)                    # the same layers as a config
    outcome(model)                 # what arithmetic says that it gives; Misfit where the model is faulty

The arithmetic knows nothing of typednn: it is the rules of the layers' docstrings, over integers.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any, Literal

from typednn import layers
from typednn.layer import Sequential

Shape = tuple[int, ...]
Form = Literal["expression", "variables", "sequential", "class"]
Style = Literal["nested", "fresh", "rebound"]

FORMS: tuple[Form, ...] = ("expression", "variables", "sequential", "class")
STYLES: tuple[Style, ...] = ("nested", "fresh", "rebound")
ELEMENTWISE = ("ReLU", "GELU", "LeakyReLU", "PReLU", "Sigmoid", "Tanh", "Identity")
OF_ANY_RANK = (*ELEMENTWISE, "LayerNorm")
POOLS = ("MaxPool2d", "AvgPool2d")
OWN = ("Widen", "Crop", "Tokens", "Mean")  # layers that the program itself defines
KINDS = (
    *OF_ANY_RANK, *POOLS, "Linear", "Conv2d", "BatchNorm2d", "GlobalAvgPool2d", "Pad2d", "Flatten", "Softmax",
    "Residual", "PerPosition",
    *OWN,
)  # fmt: skip
IN_ORDER = (
    "in_features",
    "out_features",
    "in_channels",
    "out_channels",
    "kernel_size",
    "padding",
    "mode",
    "negative_slope",
    "features",
    "margin",
    "num_features",
    "normalized_shape",
)
RANKS = {
    "Conv2d": (4, 4),
    "MaxPool2d": (4, 4),
    "AvgPool2d": (4, 4),
    "BatchNorm2d": (4, 4),
    "GlobalAvgPool2d": (4, 2),
    "Pad2d": (4, 4),
    "Flatten": (4, 2),
    "Linear": (2, 2),
    "Softmax": (2, 2),
    "PerPosition": (3, 3),
    "Widen": (2, 2),
    "Crop": (4, 4),
    "Tokens": (4, 3),
    "Mean": (3, 2),
}
BATCH = 2
FOLLOWED = ("else", "with")  # twists that leave no size open
TWISTS = ("if", "loop", "while", "else", "with", "try", "pair", "step", "times", "turned", "reshaped")


# ---------------------------------------------------------------------------------------------- what a model is made of


@dataclass(frozen=True)
class Number:
    """A size, and how the program writes it: ``12``, ``SIZE_12``, ``3 * 4``, ``n + 2``."""

    value: int
    text: str

    @property
    def known(self) -> bool:
        return "n" not in self.text


Sizes = Number | tuple[Number, ...]
Argument = Sizes | bool | float | str


@dataclass(frozen=True)
class Part:
    """One layer."""

    kind: str
    arguments: tuple[tuple[str, Argument], ...] = ()
    inner: tuple["Part", ...] = ()
    name: str = ""
    by_name: bool = False  # every argument is written with its name

    def numbers(self) -> Iterator[Number]:
        for _, argument in self.arguments:
            if isinstance(argument, Number):
                yield argument
            elif isinstance(argument, tuple):
                yield from argument
        for part in self.inner:
            yield from part.numbers()

    def with_numbers(self, change: Callable[[Number], Number]) -> "Part":
        def changed(argument: Argument) -> Argument:
            if isinstance(argument, Number):
                return change(argument)
            return tuple(map(change, argument)) if isinstance(argument, tuple) else argument

        arguments = tuple((name, changed(argument)) for name, argument in self.arguments)
        return replace(self, arguments=arguments, inner=tuple(part.with_numbers(change) for part in self.inner))

    def everywhere(self) -> Iterator["Part"]:
        yield self
        for part in self.inner:
            yield from part.everywhere()

    def size(self, name: str) -> int:
        return self.pair(name, 0)[0]

    def pair(self, name: str, default: int) -> tuple[int, int]:
        """An argument that is one integer or two."""
        argument = dict(self.arguments).get(name)
        if isinstance(argument, Number):
            return argument.value, argument.value
        if isinstance(argument, tuple):
            return argument[0].value, argument[1].value
        return default, default


@dataclass(frozen=True)
class Model:
    """Parts one after another, an input for them, and the form in which the program writes them."""

    sample: Shape  # one sample of the array that it is run on
    parts: tuple[Part, ...]
    form: Form
    declared: bool  # the program says the sample's sizes: Input(...), or forward's annotation
    groups: tuple[int, ...]  # so many parts at a time in a chain of their own
    promise: Shape  # what a class says that forward gives
    promised: bool  # by sizes; or by names only
    style: Style
    spelled_forward: bool  # self.a.forward(x), not self.a(x)
    n: int | None  # the argument of the function, where sizes are written with it
    # the layer in this place depends on n; the other choice, never taken, is no better or worse
    otherwise: tuple[int, Part] | None = None

    twist: tuple[int, str] | None = None  # a class calls the layer in this place in an unusual way

    @property
    def known(self) -> bool:
        """Whether the program says every size, in a way that can be followed."""
        if self.otherwise is not None or (self.twist is not None and self.twist[1] not in FOLLOWED):
            return False
        return all(number.known for part in self.parts for number in part.numbers()) and (
            self.declared or self.form != "class"
        )

    def grouped(self) -> list[tuple[Part, ...]]:
        ends = [sum(self.groups[: place + 1]) for place in range(len(self.groups))]
        return [self.parts[end - count : end] for end, count in zip(ends, self.groups, strict=True)]

    def weight(self) -> tuple[int, int, int, int]:
        """What a smaller model has less of."""
        others = () if self.otherwise is None else (self.otherwise[1],)
        everywhere = [each for part in (*self.parts, *others) for each in part.everywhere()]
        numbers = [number.value for part in (*self.parts, *others) for number in part.numbers()]
        arguments = sum(len(part.arguments) + bool(part.name) + part.by_name for part in everywhere) + len(numbers)
        texts = sum(len(number.text) for part in self.parts for number in part.numbers())
        forms = (
            (self.otherwise is not None)
            + FORMS.index(self.form)
            + STYLES.index(self.style)
            + (len(self.groups) < len(self.parts))
            + self.spelled_forward
        )
        return len(everywhere), arguments, forms, sum(numbers) + sum(self.sample) + sum(self.promise) + texts


def literal(value: int) -> Number:
    return Number(value, str(value))


# ---------------------------------------------------------------------------------------------------- arithmetic


class Misfit(Exception):
    """The model is faulty, by arithmetic."""


def _need(holds: bool, rule: str) -> None:
    if not holds:
        raise Misfit(rule)


def after(part: Part, shape: Shape) -> Shape:
    """One sample's sizes after one layer."""
    if part.kind in ELEMENTWISE:
        return shape
    if part.kind == "Residual":
        _need(through(part.inner, shape) == shape, "the inner layers change the shape")
        return shape
    if part.kind == "LayerNorm":
        _need(shape[-1] == part.size("normalized_shape"), f"{part.size('normalized_shape')} features, got {shape[-1]}")
        return shape
    _need(len(shape) + 1 == RANKS[part.kind][0], f"{part.kind} on {len(shape) + 1} axes")
    if part.kind == "PerPosition":
        inner = through(part.inner, shape[1:])
        _need(len(inner) == 1, "the inner layers give no rows")
        return shape[0], *inner
    if part.kind == "Linear":
        _need(shape[0] == part.size("in_features"), f"{part.size('in_features')} features, got {shape[0]}")
        return (part.size("out_features"),)
    if part.kind == "Flatten":
        return (math.prod(shape),)
    if part.kind == "Softmax":
        return shape
    if part.kind == "Widen":
        _need(shape[0] == part.size("features"), f"{part.size('features')} features, got {shape[0]}")
        return (shape[0] * (part.pair("factor", 2)[0]),)
    if part.kind == "Mean":
        return shape[1:]
    height, width, channels = shape
    if part.kind == "GlobalAvgPool2d":
        return (channels,)
    if part.kind == "BatchNorm2d":
        _need(channels == part.size("num_features"), f"{part.size('num_features')} channels, got {channels}")
        return shape
    if part.kind == "Tokens":
        return height * width, channels
    if part.kind == "Crop":
        _need(min(height, width) > 2 * part.size("margin"), "nothing is left")
        return height - 2 * part.size("margin"), width - 2 * part.size("margin"), channels
    if part.kind == "Pad2d":
        sides = dict(part.arguments)["padding"]
        left, right, top, bottom = (
            [side.value for side in sides] if isinstance(sides, tuple) else [part.size("padding")] * 4
        )
        return height + top + bottom, width + left + right, channels
    if part.kind == "Conv2d":
        _need(channels == part.size("in_channels"), f"{part.size('in_channels')} channels, got {channels}")
        channels = part.size("out_channels")
    kernel, dilation = part.pair("kernel_size", 0), part.pair("dilation", 1)
    stride = part.pair("stride", 1) if part.kind == "Conv2d" or "stride" in dict(part.arguments) else kernel
    zeros = part.pair("padding", 0)
    if dict(part.arguments).get("padding") == "same":
        return height, width, channels
    places = [
        len(range(0, size + 2 * zeros[axis] - dilation[axis] * (kernel[axis] - 1), stride[axis]))
        for axis, size in enumerate((height, width))
    ]  # counted one by one
    _need(min(places) > 0, "the kernel does not fit")
    return places[0], places[1], channels


def through(parts: Sequence[Part], shape: Shape) -> Shape:
    for part in parts:
        shape = after(part, shape)
    return shape


def outcome(model: Model) -> Shape:
    """One sample's sizes after the model, what a class promises included."""
    shape = through(model.parts, model.sample)
    if model.form == "class":
        _need(len(shape) == len(model.promise), "another number of axes than promised")
        _need(shape == model.promise or not model.promised, "other sizes than promised")
    return shape


def faulty(model: Model) -> bool:
    try:
        outcome(model)
    except Misfit:
        return True
    return False


# ---------------------------------------------------------------------------------------------------- as a program

HEADER = '''"""Models to be judged."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3, Array4, Gradient, Input, Layer, S, Sequential
from typednn.layers import (
    GELU, AvgPool2d, BatchNorm2d, Conv2d, Flatten, GlobalAvgPool2d, Identity, LayerNorm, LeakyReLU, Linear, MaxPool2d,
    Pad2d,
    PerPosition, PReLU, ReLU, Residual, Sigmoid, Softmax, Tanh
)


@dataclass(frozen=True)
class Grad2(Gradient):
    input: Float[Array2, "batch features"]


@dataclass(frozen=True)
class Grad3(Gradient):
    input: Float[Array3, "batch time features"]


@dataclass(frozen=True)
class Grad4(Gradient):
    input: Float[Array4, "batch height width channels"]


class Widen(Layer[Array2, Array2, Grad2, S]):
    def __init__(self, features: int, *, factor: int = 2) -> None:
        self.features, self.factor = features, factor
        self.out_features = features * factor

    def forward(self, x: Float[Array2, "batch {self.features}"]) -> Float[Array2, "batch {self.out_features}"]:
        y: Any = np.repeat(x, self.factor, axis=1)
        return y

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> Grad2:
        raise NotImplementedError


class Crop(Layer[Array4, Array4, Grad4, S]):
    def __init__(self, margin: int) -> None:
        self.margin = margin

    def forward(
        self, x: Float[Array4, "batch height width channels"]
    ) -> Float[Array4, "batch height-2*{self.margin} width-2*{self.margin} channels"]:
        return x[:, self.margin : -self.margin, self.margin : -self.margin]

    def backward(self, next_grad: Float[Array4, "batch out_height out_width channels"]) -> Grad4:
        raise NotImplementedError


class Tokens(Layer[Array4, Array3, Grad4, S]):
    def forward(self, x: Float[Array4, "batch height width channels"]) -> Float[Array3, "batch height*width channels"]:
        y: Any = x.reshape(x.shape[0], -1, x.shape[3])
        return y

    def backward(self, next_grad: Float[Array3, "batch time channels"]) -> Grad4:
        raise NotImplementedError


class Mean(Layer[Array3, Array2, Grad3, S]):
    def forward(self, x: Float[Array3, "batch time features"]) -> Float[Array2, "batch features"]:
        y: Any = x.mean(axis=1)
        return y

    def backward(self, next_grad: Float[Array2, "batch features"]) -> Grad3:
        raise NotImplementedError
'''
OPEN_INPUT = {1: "features", 2: "time features", 3: "height width channels"}
OPEN_OUTPUT = {1: "classes", 2: "out_time out_features", 3: "out_height out_width out_channels"}


def _argument(argument: Argument) -> str:
    if isinstance(argument, Number):
        return argument.text
    return f"({', '.join(number.text for number in argument)})" if isinstance(argument, tuple) else repr(argument)


def layer(part: Part) -> str:
    """The call that makes one layer."""
    if part.inner:
        arguments = [chain(part.inner)]
    else:
        by_order = (
            ()
            if part.by_name
            else IN_ORDER
            if part.kind == "Pad2d"
            else tuple(name for name in IN_ORDER if name != "padding")
        )
        arguments = [
            _argument(value) if name in by_order else f"{name}={_argument(value)}" for name, value in part.arguments
        ]
    named = f'.named("{part.name}")' if part.name else ""
    return f"{part.kind}({', '.join(arguments)}){named}"


def chain(parts: Sequence[Part]) -> str:
    return " >> ".join(map(layer, parts))


def _tuple(sizes: Shape) -> str:
    return ", ".join(map(str, sizes))


def function(model: Model, place: int) -> list[str]:
    """The lines of one model: a function that builds it, and its class if it is one."""
    parameters = "" if model.n is None else "n: int"
    head = f"def model_{place}({parameters}) -> object:"
    groups = [chain(group) for group in model.grouped()]
    if model.otherwise is not None and model.form in ("expression", "sequential"):
        place, other = model.otherwise
        groups[place] = f"({groups[place]} if n > 0 else {layer(other)})"
    nested = [f"({text})" if len(group) > 1 else text for text, group in zip(groups, model.grouped(), strict=True)]
    declaration = [f"Input({_tuple(model.sample)})"] if model.declared else []
    if model.form == "expression":
        return [head, f"    return {' >> '.join([*declaration, *nested])}"]
    if model.form == "sequential":
        if model.style == "fresh":
            written = ", ".join(f'"part{number}": {text}' for number, text in enumerate(groups))
            written = f"{{{written}}}"
        else:
            written = f"[{', '.join(groups)}]"
        return [head, f"    return Sequential({', '.join([written, *(f'input={text}' for text in declaration)])})"]
    if model.form == "variables":
        lines = [f"    {text}" for text in _assigned(model, "part", groups, declaration)]
        whole = "part0"
        for number in range(1, len(groups) + len(declaration)):
            if model.style == "nested":
                whole = f"{whole} >> part{number}"
            else:
                lines.append(f"    up_to{number} = {whole} >> part{number}")
                whole = f"up_to{number}"
        return [head, *lines, f"    return {whole}"]
    return [
        *_class(model, f"Model{place}", groups),
        "",
        "",
        head,
        f"    return Model{place}({'' if model.n is None else 'n'})",
    ]


def _assigned(model: Model, name: str, groups: list[str], before: list[str]) -> list[str]:
    lines: list[str] = [f"{name}{number} = {text}" for number, text in enumerate([*before, *groups])]
    if model.otherwise is not None:
        place = model.otherwise[0] + len(before)
        lines[place : place + 1] = [
            "if n > 0:",
            f"    {lines[place]}",
            "else:",
            f"    {name}{place} = {layer(model.otherwise[1])}",
        ]
    return lines


def _class(model: Model, name: str, groups: list[str]) -> list[str]:
    rank, out_rank = len(model.sample) + 1, len(model.promise) + 1
    reads = " ".join(map(str, model.sample)) if model.declared else OPEN_INPUT[rank - 1]
    gives = " ".join(map(str, model.promise)) if model.promised else OPEN_OUTPUT[out_rank - 1]
    body: list[str] = []
    value, now, variable = "x", rank, rank
    for number, group in enumerate(model.grouped()):
        read, before = value, now
        value = f"self.part{number}{'.forward' if model.spelled_forward else ''}({value})"
        for part in group:
            now = _rank_after(part, now)
        if model.twist is not None and model.twist[0] == number:
            body += [f"        {line}" for line in _twisted(model.twist[1], value, read, before, now)]
            value = "y"
            continue
        last = number == len(groups) - 1
        if model.style == "fresh" and not last:
            body.append(f"        h{number} = {value}")
            value = f"h{number}"
        elif model.style == "rebound" and not last:
            target = "x" if now == variable == rank else f"x{now}"
            body.append(f"        {target} = {value}")
            value, variable = target, now
    return [
        f"class {name}(Layer[Array{rank}, Array{out_rank}, Grad{rank}, S]):",
        f"    def __init__(self{'' if model.n is None else ', n: int'}) -> None:",
        *(f"        {text}" for text in _assigned(model, "self.part", groups, [])),
        "",
        f'    def forward(self, x: Float[Array{rank}, "batch {reads}"]) -> Float[Array{out_rank}, "batch {gives}"]:',
        *body,
        f"        return {value}",
        "",
        f'    def backward(self, next_grad: Float[Array{out_rank}, "batch {gives}"]) -> Grad{rank}:',
        "        raise NotImplementedError",
    ]


def _twisted(how: str, call: str, read: str, before: int, after: int) -> list[str]:
    """``y = call`` on what is read, said otherwise; the batch is more than one."""
    again = call.replace(f"({read})", "(y)")
    return {
        "if": [f"y = {read}", "if len(x) > 1:", f"    y = {again}"],
        "loop": [f"y = {read}", "for _ in range(1):", f"    y = {again}"],
        "while": [f"y = {read}", "while True:", f"    y = {again}", "    break"],
        "else": ["if len(x) > 1:", f"    y = {call}", "else:", "    raise ValueError(len(x))"],
        "with": ['with np.errstate(all="ignore"):', f"    y = {call}"],
        "try": ["try:", f"    y = {call}", "finally:", "    pass"],
        "pair": [f"y, _ = {call}, 0"],
        "step": [f"def step(y: Array{before}) -> Array{after}:", f"    return {again}", "", f"y = step({read})"],
        "times": [f"y = {call}", "y = y * 2.0"],
        "turned": [f"y = {call}", "y = y[:, ::-1]"],
        "reshaped": [f"y = {call}", "y = y.reshape(y.shape)"],
    }[how]


def _rank_after(part: Part, rank: int) -> int:
    if part.kind == "Residual":
        for inner in part.inner:
            rank = _rank_after(inner, rank)
        return rank
    return rank if part.kind in OF_ANY_RANK else RANKS[part.kind][1]


def program(models: Sequence[Model]) -> tuple[str, list[range]]:
    """A module with every model, and the lines of each."""
    texts = {number.text for model in models for part in model.parts for number in part.numbers()}
    constants = sorted({int(word[5:]) for text in texts for word in text.split() if word.startswith("SIZE_")})
    lines = HEADER.splitlines()
    lines += ["", *(f"SIZE_{value}: Final = {value}" for value in constants)]
    places: list[range] = []
    for place, model in enumerate(models):
        lines += ["", ""]
        start = len(lines) + 1
        lines += function(model, place)
        places.append(range(start, len(lines) + 1))
    return "\n".join(lines) + "\n", places


# ----------------------------------------------------------------------------------------------- as layers, as a config


def _value(argument: Argument) -> Any:
    if isinstance(argument, Number):
        return argument.value
    return tuple(number.value for number in argument) if isinstance(argument, tuple) else argument


def built_layer(part: Part) -> Any:
    """The layer itself."""
    kind = _own()[part.kind] if part.kind in OWN else getattr(layers, part.kind)
    if not part.inner:
        return kind(**{name: _value(argument) for name, argument in part.arguments})
    inner = [built_layer(each) for each in part.inner]
    return kind(inner[0] if len(inner) == 1 else Sequential(inner))


@cache
def _own() -> dict[str, Any]:
    """The layers that every program defines."""
    namespace: dict[str, Any] = {"__name__": __name__}
    exec(HEADER, namespace)
    return namespace


def configurable(model: Model) -> bool:
    return not any(part.kind in OWN for top in model.parts for part in top.everywhere())


def toml(model: Model) -> str:
    """The same layers one after another, with the input's sizes."""
    lines = ["format = 1", f"input = [{_tuple(model.sample)}]"]

    def table(part: Part, path: str) -> None:
        lines.extend(["", f"[[{path}]]", f'type = "{part.kind}"'])
        for name, argument in part.arguments:
            value = _value(argument)
            written = list(value) if isinstance(value, tuple) else value
            lines.append(f"{name} = {str(written).lower() if isinstance(value, bool) else repr(written)}")
        for inner in part.inner:
            table(inner, f"{path}.inner")

    for part in model.parts:
        table(part, "layer")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------------------- drawn


class _Draw:
    """One random model, right by arithmetic."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.n = random.randint(1, 6) if random.random() < 0.12 else None
        self.plain = random.random() < 0.5  # sizes are written as literals

    def number(self, value: int) -> Number:
        random = self.random
        if self.n is not None and random.random() < 0.4:
            less = value - self.n
            return Number(value, "n" if not less else f"n + {less}" if less > 0 else f"n - {-less}")
        if self.plain or random.random() < 0.5:
            return literal(value)
        one = random.randint(1, value)
        divisors = [divisor for divisor in range(1, value + 1) if value % divisor == 0]
        divisor = random.choice(divisors)
        return Number(
            value,
            random.choice(
                [
                    f"SIZE_{value}",
                    f"{divisor} * {value // divisor}",
                    f"SIZE_{divisor} * {value // divisor}",
                    f"{value + one} - {one}",
                    f"{value * 2 + random.randint(0, 1)} // 2",
                    f"SIZE_{value - 1} + 1",
                    f"{divisor} * SIZE_{value // divisor} + 0",
                ]
            ),
        )

    def sizes(self, first: int, second: int) -> Sizes:
        """One integer where it says the same, or two."""
        if first == second and self.random.random() < 0.7:
            return self.number(first)
        return self.number(first), self.number(second)

    def part(self, shape: Shape, depth: int) -> Part:
        random = self.random
        if random.random() < 0.25:
            return self.elementwise()
        if depth and random.random() < 0.2:
            return self.residual(shape, depth)
        if random.random() < 0.06:
            return Part("LayerNorm", (("normalized_shape", self.number(shape[-1])),))
        if len(shape) == 1:
            if random.random() < 0.1:
                factor = (("factor", self.number(random.randint(1, 3))),) if random.random() < 0.5 else ()
                return Part("Widen", (("features", self.number(shape[0])), *factor))
            return Part("Softmax") if random.random() < 0.12 else self.linear(shape[0], random.randint(1, 9))
        if len(shape) == 2:
            if random.random() < 0.15:
                return Part("Mean")
            return Part("PerPosition", inner=self.chain(shape[1:], random.randint(1, 3), 0)[0])
        chance = random.random()
        if chance < 0.2:
            return Part("Flatten")
        if chance < 0.24:
            return Part("Tokens")
        if chance < 0.3:
            return (
                Part("GlobalAvgPool2d")
                if chance < 0.26
                else Part("BatchNorm2d", (("num_features", self.number(shape[2])),))
            )
        if chance > 0.94 and min(shape[:2]) > 2:
            return Part("Crop", (("margin", self.number(random.randint(1, (min(shape[:2]) - 1) // 2))),))
        return self.pad() if chance < 0.4 else self.window(shape)

    def elementwise(self) -> Part:
        kind = self.random.choice(ELEMENTWISE)
        if kind == "LeakyReLU" and self.random.random() < 0.5:
            return Part(kind, (("negative_slope", 0.2),))
        return Part(kind, (("init", 0.3),)) if kind == "PReLU" and self.random.random() < 0.5 else Part(kind)

    def linear(self, reads: int, gives: int) -> Part:
        arguments: tuple[tuple[str, Argument], ...] = (
            ("in_features", self.number(reads)),
            ("out_features", self.number(gives)),
        )
        return Part("Linear", (*arguments, ("bias", False)) if self.random.random() < 0.2 else arguments)

    def pad(self) -> Part:
        random = self.random
        sides = tuple(random.randint(0, 2) for _ in range(4))
        padding: Sizes = self.number(random.randint(1, 2)) if random.random() < 0.5 else tuple(map(literal, sides))
        return Part(
            "Pad2d", (("padding", padding), ("mode", "replicate")) if random.random() < 0.3 else (("padding", padding),)
        )

    def window(self, shape: Shape) -> Part:
        random = self.random
        square = random.random() < 0.7
        reach = [size if not square else min(shape[:2]) for size in shape[:2]]
        kernel = [random.randint(1, min(3, most)) for most in reach]
        dilation = [
            random.randint(1, 2) if 2 * (size - 1) < most else 1 for size, most in zip(kernel, reach, strict=True)
        ]
        stride = [random.randint(1, 3) for _ in reach]
        if square:
            kernel[1], dilation[1], stride[1] = kernel[0], dilation[0], stride[0]
        options: list[tuple[str, Argument]] = []
        if random.random() < 0.4:
            options.append(("stride", self.sizes(*stride)))
        if random.random() < 0.3:
            options.append(("dilation", self.sizes(*dilation)))
        pool = random.choice(POOLS) if random.random() < 0.4 else ""
        if pool == "AvgPool2d":
            options = [(name, value) for name, value in options if name != "dilation"]
        if random.random() < 0.35:
            zeros = (random.randint(1, 2), random.randint(1, 2)) if not pool else (kernel[0] // 2, kernel[1] // 2)
            same = not pool and random.random() < 0.3 and "stride" not in dict(options)
            if same or min(zeros):
                options.append(("padding", "same" if same else self.sizes(*zeros)))
        if pool:
            return Part(pool, (("kernel_size", self.sizes(*kernel)), *options))
        if random.random() < 0.2:
            options.append(("bias", True))
        reads, gives = self.number(shape[2]), self.number(random.randint(1, 4))
        return Part(
            "Conv2d", (("in_channels", reads), ("out_channels", gives), ("kernel_size", self.sizes(*kernel)), *options)
        )

    def residual(self, shape: Shape, depth: int) -> Part:
        """Around layers that keep the shape."""
        random = self.random
        middle = random.randint(1, 6)
        if len(shape) == 1:
            inner = [self.linear(shape[0], middle), self.elementwise(), self.linear(middle, shape[0])]
        elif len(shape) == 2:
            inner = [Part("PerPosition", inner=(self.linear(shape[1], middle), self.linear(middle, shape[1])))]
        else:
            kernel, channels = random.choice([1, 3]), shape[2]
            conv = Part(
                "Conv2d", tuple(zip(IN_ORDER[2:5], map(self.number, (channels, channels, kernel)), strict=True))
            )
            inner = [Part("Pad2d", (("padding", self.number(1)),)), conv] if kernel == 3 else [conv, self.elementwise()]
        if depth > 1 and random.random() < 0.2:
            inner = [Part("Residual", inner=tuple(inner))]
        return Part("Residual", inner=tuple(inner))

    def chain(self, shape: Shape, count: int, depth: int) -> tuple[tuple[Part, ...], Shape]:
        """Not of elementwise layers alone: what stands around it needs a rank."""
        while True:
            parts, now = [], shape
            for _ in range(count):
                part = self.part(now, depth)
                try:
                    now = after(part, now)
                except Misfit:  # a window that no image of this size takes
                    part = self.elementwise()
                parts.append(replace(part, by_name=not part.inner and self.random.random() < 0.15))
            if depth or any(part.kind not in OF_ANY_RANK for part in parts):
                return tuple(parts), now

    def model(self) -> Model:
        random = self.random
        rank = random.choice([1, 1, 2, 3, 3, 3])
        extents = (random.randint(1, 9),) if rank == 1 else (random.randint(1, 4), random.randint(1, 6))
        sample = extents if rank < 3 else (random.randint(3, 12), random.randint(3, 12), random.randint(1, 3))
        parts, promise = self.chain(sample, random.randint(2, 8), 2)
        parts = tuple(
            replace(part, name=f"name{place}") if part.kind not in ELEMENTWISE and random.random() < 0.1 else part
            for place, part in enumerate(parts)
        )
        groups: list[int] = []
        while sum(groups) < len(parts):
            groups.append(min(1 if random.random() < 0.8 else random.randint(2, 3), len(parts) - sum(groups)))
        return Model(
            sample=sample,
            parts=parts,
            form=random.choice(FORMS),
            declared=random.random() < 0.75,
            groups=tuple(groups),
            promise=promise,
            promised=random.random() < 0.7,
            style=random.choice(STYLES),
            spelled_forward=random.random() < 0.4,
            n=self.n,
        )


def draw(seed: int) -> Model:
    """The model of this number: about every second one has a fault, by arithmetic."""
    random = Random(f"random models: {seed}")
    right = _Draw(random).model()
    model = right
    if random.random() < 0.5:
        for _ in range(10):
            model = _broken(right, random)
            if faulty(model):
                break
    if model.form == "class" and random.random() < 0.3:
        model = _with_twist(model, random)
    if random.random() < (0.03 if faulty(model) else 0.12):
        model = _with_choice(model, random)
    uses_n = model.otherwise is not None or any(not number.known for part in model.parts for number in part.numbers())
    return model if uses_n else replace(model, n=None)


def _with_twist(model: Model, random: Random) -> Model:
    """The class with one layer called in an unusual way, that makes no difference."""
    how, groups = random.choice(TWISTS), model.grouped()
    place = random.randrange(len(groups))
    rank = len(model.sample) + 1
    for part in sum(groups[:place], ()):
        rank = _rank_after(part, rank)
    after = rank
    for part in groups[place]:
        after = _rank_after(part, after)
    fits = {
        "if": all(part.kind in ELEMENTWISE for part in groups[place]),
        "loop": rank == after,
        "while": rank == after,
    }
    return replace(model, twist=(place, how)) if fits.get(how, True) else model


def _with_choice(model: Model, random: Random) -> Model:
    """The model with a layer that depends on ``n``: the other choice has other sizes, and all fits as
    well or as badly.
    """
    single = replace(model, groups=(1,) * len(model.parts), n=model.n or 1, twist=None)
    for _ in range(40):
        place = random.randrange(len(model.parts))
        numbers = sum(1 for _ in model.parts[place].numbers())
        if numbers and not model.parts[place].inner:
            start = sum(1 for part in model.parts[:place] for _ in part.numbers())
            changed = _with_number(single, start + random.randrange(numbers), random.choice([-1, 1]))
            chosen = replace(single, otherwise=(place, changed.parts[place]))
            if changed != single and _fair(chosen):
                return chosen
    return model


def _broken(model: Model, random: Random) -> Model:
    """The model with one thing changed, which is mostly a fault."""
    chance = random.random()
    if chance < 0.5:  # one size
        numbers = sum(1 for part in model.parts for _ in part.numbers())
        if numbers:
            return _with_number(model, random.randrange(numbers), random.choice([-1, 1, 1, 2, random.randint(2, 12)]))
    if chance < 0.6:  # one size of the input
        axis = random.randrange(len(model.sample))
        more = random.choice([1, -1, -2, 1])
        return replace(
            model, sample=tuple(max(1, size + more * (place == axis)) for place, size in enumerate(model.sample))
        )
    if chance < 0.65 and model.form == "class":
        axis = random.randrange(len(model.promise))
        return replace(model, promise=tuple(size + (place == axis) for place, size in enumerate(model.promise)))
    places = list(range(len(model.parts)))
    place = random.choice([place for place in places if model.parts[place].kind not in ELEMENTWISE] or places)
    if chance < 0.75 and len(places) > 1:  # a layer is missing
        return without(model, place)
    parts = list(model.parts)
    if (
        chance < 0.8
        and parts[place].kind == "Residual"
        and not any(part.kind == "Linear" for part in parts[place].everywhere())
    ):
        parts[place] = replace(
            parts[place], inner=(Part("MaxPool2d", (("kernel_size", literal(random.randint(2, 3))),)),)
        )
    elif chance < 0.85 and parts[place].inner:  # a layer is missing inside another
        inner = list(parts[place].inner)
        del inner[random.randrange(len(inner))]
        if any(part.kind not in OF_ANY_RANK for part in inner):
            parts[place] = replace(parts[place], inner=tuple(inner))
    elif chance < 0.93:  # a layer in place of another, of any rank
        shape = random.choice([(random.randint(1, 6),), (2, random.randint(1, 6)), (4, 5, random.randint(1, 3))])
        parts[place] = _Draw(random).part(shape, 1) if model.n is None else Part("Flatten")
        if not all(number.known for number in parts[place].numbers()):
            parts[place] = Part("Flatten")
    elif place + 1 < len(parts):
        parts[place], parts[place + 1] = parts[place + 1], parts[place]
    return replace(model, parts=tuple(parts))


def _with_number(model: Model, chosen: int, more: int) -> Model:
    count = iter(range(1 << 30))

    def change(number: Number) -> Number:
        if next(count) != chosen or number.value + more < 1:
            return number
        if number.known:
            return literal(number.value + more)
        return Number(number.value + more, f"{number.text} {'+' if more > 0 else '-'} {abs(more)}")

    changed = replace(model, parts=tuple(part.with_numbers(change) for part in model.parts))
    return changed if _constructible(changed) else model


def _constructible(model: Model) -> bool:
    """Whether no constructor refuses its arguments for themselves: a pool's padding is at most half its window."""
    others = () if model.otherwise is None else (model.otherwise[1],)
    pools = [each for part in (*model.parts, *others) for each in part.everywhere() if each.kind in POOLS]
    sides = [
        sides for pool in pools for sides in zip(pool.pair("kernel_size", 0), pool.pair("padding", 0), strict=True)
    ]
    return all(padding <= kernel // 2 for kernel, padding in sides)


# ---------------------------------------------------------------------------------------------------- smaller


def without(model: Model, place: int) -> Model:
    """The model without its part at ``place``."""
    groups = list(model.groups)
    group = next(index for index in range(len(groups)) if sum(groups[: index + 1]) > place)
    groups[group] -= 1
    parts = model.parts[:place] + model.parts[place + 1 :]
    otherwise = model.otherwise
    if otherwise is not None:
        otherwise = None if otherwise[0] == place else (otherwise[0] - (otherwise[0] > place), otherwise[1])
    twist = model.twist
    if twist is not None and group <= twist[0] and not groups[group]:
        twist = None if group == twist[0] else (twist[0] - 1, twist[1])
    return replace(
        model, parts=parts, groups=tuple(count for count in groups if count), otherwise=otherwise, twist=twist
    )


def smaller(model: Model) -> list[Model]:
    """Models that are simpler in one respect, the simplest first."""
    found = {
        candidate
        for candidate in _smaller(model)
        if candidate.weight() < model.weight() and candidate.parts and _constructible(candidate) and _fair(candidate)
    }
    return sorted(found, key=lambda candidate: (candidate.weight(), repr(candidate)))


def _fair(model: Model) -> bool:
    """Whether the choice that is never taken is no better or worse."""
    if model.otherwise is None:
        return True
    place, other = model.otherwise
    return faulty(replace(model, parts=(*model.parts[:place], other, *model.parts[place + 1 :]))) == faulty(model)


def _smaller(model: Model) -> Iterator[Model]:
    single = replace(model, groups=(1,) * len(model.parts), twist=None)
    yield single
    yield replace(model, otherwise=None)
    if model.otherwise is not None:
        for other in _simpler(model.otherwise[1]):
            yield replace(model, otherwise=(model.otherwise[0], other))
    yield replace(model, twist=None)
    yield replace(model, style="nested")
    yield replace(model, spelled_forward=False)
    for form in FORMS[: FORMS.index(model.form)]:
        yield replace(single, form=form)
    for place, part in enumerate(model.parts):
        yield without(model, place)
        yield _excerpt(model, 0, place, model.sample)
        with suppress(Misfit):
            shape = through(model.parts[:place], model.sample)
            yield _excerpt(model, place, len(model.parts), shape)
            yield _alone(model, part.inner, shape[1:] if part.kind == "PerPosition" else shape, None)
        for other in _simpler(part):
            yield replace(model, parts=(*model.parts[:place], other, *model.parts[place + 1 :]))
        if part.inner:
            parts = (*model.parts[:place], *part.inner, *model.parts[place + 1 :])
            yield replace(single, parts=parts, groups=(1,) * len(parts), otherwise=None)
    yield from _with_less(model)


def _excerpt(model: Model, start: int, end: int, sample: Shape) -> Model:
    """Some of the parts, on an input of their own."""
    return _alone(
        model, model.parts[start:end], sample, model.otherwise and (model.otherwise[0] - start, model.otherwise[1])
    )


def _alone(model: Model, parts: tuple[Part, ...], sample: Shape, otherwise: tuple[int, Part] | None) -> Model:
    promise = model.promise
    with suppress(Misfit):
        promise = through(parts, sample)
    if otherwise is not None and not 0 <= otherwise[0] < len(parts):
        otherwise = None
    return replace(
        model, parts=parts, groups=(1,) * len(parts), sample=sample, promise=promise, otherwise=otherwise, twist=None
    )


def _simpler(part: Part) -> Iterator[Part]:
    """One layer with less in it."""
    yield replace(part, name="", by_name=False)
    yield part.with_numbers(lambda number: literal(number.value))
    one = dict.fromkeys((*POOLS, "Pad2d", "Widen", "Crop", "BatchNorm2d", "LayerNorm"), 1)
    needed = ({"Linear": 2, "Conv2d": 3} | one).get(part.kind, 0)
    for place, (name, argument) in enumerate(part.arguments):
        rest = part.arguments[:place], part.arguments[place + 1 :]
        if place >= needed:
            yield replace(part, arguments=(*rest[0], *rest[1]))
        if isinstance(argument, tuple):
            yield replace(part, arguments=(*rest[0], (name, argument[0]), *rest[1]))
    for place, inner in enumerate(part.inner):
        if any(each.kind not in OF_ANY_RANK for each in part.inner[:place] + part.inner[place + 1 :]):
            yield replace(part, inner=part.inner[:place] + part.inner[place + 1 :])
        for other in (*_simpler(inner), *inner.inner[: len(inner.inner) == 1]):
            yield replace(part, inner=(*part.inner[:place], other, *part.inner[place + 1 :]))


def _with_less(model: Model) -> Iterator[Model]:
    """Every size of one value together, then each alone."""
    values = (
        {number.value for part in model.parts for number in part.numbers()} | set(model.sample) | set(model.promise)
    )
    for value in sorted(values):
        for less in sorted({1, 2, value // 2, value - 1}):
            if 0 < less < value:

                def lessened(size: int, value: int = value, less: int = less) -> int:
                    return less if size == value else size

                def change(number: Number, value: int = value, less: int = less) -> Number:
                    return literal(less) if number.value == value else number

                parts = tuple(part.with_numbers(change) for part in model.parts)
                sample, promise = tuple(map(lessened, model.sample)), tuple(map(lessened, model.promise))
                yield replace(model, sample=sample, parts=parts, promise=promise)
                for axis, size in enumerate(model.sample):
                    if size == value:
                        yield replace(model, sample=(*model.sample[:axis], less, *model.sample[axis + 1 :]))
                with suppress(Misfit):
                    yield replace(model, parts=parts, sample=sample, promise=through(parts, sample))
    for chosen, number in enumerate(number for part in model.parts for number in part.numbers()):
        if number.known:
            yield _with_number(model, chosen, -1)
        yield _with_number(model, chosen, 1 - number.value)


__all__ = [
    "BATCH", "FORMS", "KINDS", "STYLES", "Misfit", "Model", "Number", "Part", "Shape",
    "built_layer", "chain", "configurable", "draw", "faulty", "function", "literal", "outcome", "program", "smaller",
    "through", "toml",
]  # fmt: skip
