"""The paper's own text format: three sections, split by lines of 20 ``#``.

    600,28,28,1                       batch, height, width, channels; the batch is a hint, the model takes any
    ####################
    Pad2D,2,2,0                       pad_h, pad_w, value
    Conv2D,1,6,5,5,1,1,1,1            c_in, c_out, k_h, k_w, stride_h, stride_w, dil_h, dil_w
    ReLU
    MaxPool2D,2,2,2,2,1,1             k_h, k_w, s_h, s_w, d_h, d_w
    Flatten
    Linear,256,10                     in, out
    Softmax
    ####################
    SGD,1.0                           lr; with the paper's decay of 1e-7 on every parameter (`SGD` itself has none)

A layer of one's own (`typednn.config.register`) is named too, ``Scale,256,1.5``, and another optimizer than SGD,
``Adam,0.001,0.9,0.999``: the fields are the constructor's arguments in their order, of a tuple one field each; what is
left out keeps its default.

Weights are He normal (eq 55), a Linear's bias too, a Conv2D has none; the generator is PCG32(42, 6), as in the
paper's experiment. The text becomes the tree that the same model in TOML would give, so `build` checks both alike.
"""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args, get_origin

from typednn.config.arguments import constructor, hints_of
from typednn.config.registry import BUILT_IN, LAYERS, OPTIMIZERS
from typednn.config.source import Item, Place, Source
from typednn.errors import suggestion

SEPARATOR: Final = "#" * 20

_INTEGER = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def is_paper_format(text: str) -> bool:
    """Whether a text is of this format, where the file name does not tell: no line looks like TOML, or the first can't
    be TOML or JSON.
    """
    lines = [line.strip() for line in text.split("\n")]
    first = next(filter(None, lines), "")
    return (bool(first) and "=" not in first and first[0] not in "[{#\"'") or (SEPARATOR in lines and "=" not in text)


class _Line:
    """One line's fields with their places."""

    def __init__(self, source: Source, number: int) -> None:
        self.source = source
        self.fields: list[Item] = []
        text, column = source.lines[number - 1], 1
        for field in text.split(","):
            word = field.strip()
            indent = len(field) - len(field.lstrip()) if word else 0
            self.fields.append(_item(word, Place(number, column + indent, max(1, len(word)))))
            column += len(field) + 1
        self.whole = Place(number, self.fields[0].place.column, max(1, len(text.strip())))

    def numbers(self, where: str, form: Sequence[str], *, skip: int = 1, real: str = "") -> dict[str, Item]:
        """The fields after the first ``skip`` by their names in ``form``: integers, but any number for the one named
        ``real``.
        """
        if len(self.fields) != len(form):
            count = "1 field" if len(form) == 1 else f"{len(form)} fields"
            raise self.source.error(self.whole, f"{where}: expects {','.join(form)} ({count}), got {len(self.fields)}")
        numbers: dict[str, Item] = {}
        for name, item in list(zip(form, self.fields, strict=True))[skip:]:
            kind, pattern, parsed = ("a number", _NUMBER, float) if name == real else ("an integer", _INTEGER, int)
            if not pattern.fullmatch(item.value):
                raise self.source.error(item.place, f"{where}: {name} must be {kind}, got {item.value[:60]!r}")
            numbers[name] = _item(parsed(item.value), item.place)
        return numbers

    def arguments(self, where: str, factory: Any) -> dict[str, Item]:
        """The fields after the name as the arguments of ``factory`` in their order; of a tuple of numbers one field
        each.
        """
        function = constructor(factory)
        hints, fields = hints_of(function), self.fields[1:]
        found: dict[str, Item] = {}
        names = [
            name
            for name, parameter in list(inspect.signature(function).parameters.items())[isinstance(factory, type) :]
            if name != "rng" and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        for name in names:
            hint = hints.get(name)
            count = len(get_args(hint)) if get_origin(hint) is tuple and ... not in get_args(hint) else 1
            taken, fields = fields[:count], fields[count:]
            if not taken:
                break
            values = [_item(_plain(item.value), item.place) for item in taken]
            found[name] = values[0] if count == 1 else _item(values, _span(values))
        if fields:
            form = ",".join([self.fields[0].value, *names])
            raise self.source.error(fields[0].place, f"{where}: expects {form}, got {len(self.fields)} fields")
        return found


def _plain(word: str) -> Any:
    """A field as a number, true or false; else as it is."""
    if _INTEGER.fullmatch(word.removeprefix("-")):
        return int(word)
    if _NUMBER.fullmatch(word):
        return float(word)
    return {"true": True, "false": False}.get(word, word)


def read_paper_format(source: Source) -> dict[str, Item]:
    """The items that the same model in TOML would give, and ``batch``."""
    first, layers, last = _sections(source)
    sample = _one_line(source, first, "input", "batch,h,w,c").numbers("input", ("batch", "h", "w", "c"), skip=0)
    for name, item in sample.items():
        if item.value < 1:
            raise source.error(item.place, f"input: {name} must be at least 1, got {item.value}")
    batch, *sizes = sample.values()
    start = Place(1, 1)
    if not layers:
        raise source.error(Place(last[0] if last else len(source.lines), 1), "layers: expects at least one line, got 0")
    return {
        "format": _item(1, start),
        "input": _item(sizes, _span(sizes)),
        "layer": _item([_layer(_Line(source, number), place) for place, number in enumerate(layers)], start),
        "optimizer": _optimizer(_one_line(source, last, "optimizer", "SGD,lr")),
        "init": _table(start, {"seed": 42, "generator": "pcg32", "stream": 6}),
        "batch": batch,
    }


def _sections(source: Source) -> list[list[int]]:
    """The numbers of the lines of each section, empty lines left out."""
    sections: list[list[int]] = [[]]
    separator = Place(1, 1)
    for number, line in enumerate(source.lines, 1):
        text = line.strip()
        place = Place(number, line.find(text) + 1, max(1, len(text)))
        if text == SEPARATOR:
            sections.append([])
            separator = place
        elif text.startswith("#"):
            raise source.error(
                place, f"sections are split by a line of 20 #, and there are no comments, got {text[:60]!r}"
            )
        elif text:
            sections[-1].append(number)
    if len(sections) != 3:
        raise source.error(
            separator,
            f"a config has three sections (input, layers, optimizer) split by lines of 20 #, got {len(sections)}",
        )
    return sections


def _one_line(source: Source, numbers: Sequence[int], section: str, form: str) -> _Line:
    if len(numbers) != 1:
        place = Place(numbers[1], 1, len(source.lines[numbers[1] - 1])) if numbers else Place(len(source.lines), 1)
        raise source.error(place, f"{section}: expects one line, {form}, got {len(numbers)}")
    return _Line(source, numbers[0])


_HE: Final = {"weight_init": "he_normal", "bias_init": "same"}

# the paper's name -> the layer, the fields that follow the name, the layer's arguments from one field or several, and
# further arguments
_LAYERS: Final[dict[str, tuple[str, str, Mapping[str, str], Mapping[str, str]]]] = {
    "Pad2D": ("Pad2d", "pad_h pad_w value", {"padding": "pad_w pad_w pad_h pad_h", "value": "value"}, {}),
    "Conv2D": (
        "Conv2d",
        "c_in c_out k_h k_w stride_h stride_w dil_h dil_w",
        {
            "in_channels": "c_in",
            "out_channels": "c_out",
            "kernel_size": "k_h k_w",
            "stride": "stride_h stride_w",
            "dilation": "dil_h dil_w",
        },
        _HE,
    ),
    "ReLU": ("ReLU", "", {}, {}),
    "MaxPool2D": (
        "MaxPool2d",
        "k_h k_w s_h s_w d_h d_w",
        {"kernel_size": "k_h k_w", "stride": "s_h s_w", "dilation": "d_h d_w"},
        {},
    ),
    "Flatten": ("Flatten", "", {}, {}),
    "Linear": ("Linear", "in out", {"in_features": "in", "out_features": "out"}, _HE),
    "Softmax": ("Softmax", "", {}, {}),
}


def _layer(line: _Line, place: int) -> Item:
    where = f"layer {place}"
    name = line.fields[0]
    if name.value in LAYERS.keys() - BUILT_IN:
        return _table(line.whole, {"type": name, **line.arguments(where, LAYERS[name.value])})
    if name.value not in _LAYERS:
        known = [*_LAYERS, *(registered for registered in LAYERS if registered not in BUILT_IN)]
        raise line.source.error(
            name.place, f"{where}: unknown layer {name.value[:60]!r}; {suggestion(name.value, known)}"
        )
    kind, fields, arguments, others = _LAYERS[name.value]
    numbers = line.numbers(where, [name.value, *fields.split()], real="value")
    values = {argument: _together([numbers[field] for field in names.split()]) for argument, names in arguments.items()}
    if kind == "MaxPool2d" and all(numbers[f"k_{side}"].value == numbers[f"s_{side}"].value for side in "hw"):
        del values["stride"]  # the layer's default stride is its window
    return _table(line.whole, {"type": _item(kind, name.place), **values, **others})


def _together(items: Sequence[Item]) -> Item:
    """One argument of several fields: ``5`` where all are, else ``[5, 3]``."""
    equal = len({item.value for item in items}) == 1
    return _item(items[0].value if equal else list(items), _span(items))


def _span(items: Sequence[Item]) -> Place:
    """From the first of some fields to the last, in whatever order they are."""
    places = sorted((item.place for item in items), key=lambda place: place.column)
    return Place(places[0].line, places[0].column, places[-1].column + places[-1].length - places[0].column)


def _optimizer(line: _Line) -> Item:
    name = line.fields[0]
    if name.value not in OPTIMIZERS:
        raise line.source.error(
            name.place, f"optimizer: unknown optimizer {name.value[:60]!r}; {suggestion(name.value, OPTIMIZERS)}"
        )
    if name.value != "SGD":
        return _table(line.whole, {"type": name, **line.arguments("optimizer", OPTIMIZERS[name.value])})
    return _table(line.whole, {"type": name, "decay": 1e-7, **line.numbers("optimizer", ["SGD", "lr"], real="lr")})


def _item(value: object, place: Place) -> Item:
    return Item(value, place, place)


def _table(place: Place, fields: Mapping[str, Any]) -> Item:
    return _item({key: item if isinstance(item, Item) else _item(item, place) for key, item in fields.items()}, place)
