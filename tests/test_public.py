"""What a user's code calls: arguments that are not taken, and how a package becomes public."""

import inspect
import pickle  # noqa: TID251  # processes hand functions to each other by it
import pydoc
import sys
from types import ModuleType

import pytest

from typednn import Input, data, layers, losses, models, optim, runs, training
from typednn.errors import ArgumentError, CallError
from typednn.errors.public import public
from typednn.layers import Linear, ReLU

PACKAGES = (data, layers, losses, models, optim, runs, training)


@public
def area(width: int, height: int = 1, *, scale: float = 1.0) -> float:
    """The area."""
    return width * height * scale


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, r"area: takes width, \[height, scale\], got no width; pass width=…"),
        ((1, 2, 3), {}, r"area: takes width, \[height, scale\], got 3 arguments by position; write scale=…"),
        ((1,), {"width": 2}, r"area: takes width, \[height, scale\], got width by position and by name"),
        ((1,), {"heigth": 2}, r"area: takes width, \[height, scale\], got heigth=; it is called height"),
        ((1,), {"colour": 2}, r"area: takes width, \[height, scale\], got colour=$"),
    ],
)
def test_a_call_that_does_not_fit_is_told(args: tuple[int, ...], named: dict[str, int], message: str) -> None:
    with pytest.raises(CallError, match=message) as raised:
        area(*args, **named)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert isinstance(raised.value, TypeError)  # as Python has it
    assert isinstance(raised.value, ArgumentError)


def test_the_argument_to_blame_is_known_to_programs() -> None:
    with pytest.raises(CallError) as raised:
        Linear(2, 3, rate=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert raised.value.argument == "rate"


def test_a_type_error_within_is_nobody_elses() -> None:
    """A `TypeError` of a call that fits is a bug, and stays as it is."""

    @public
    def broken(x: int) -> int:
        return x + "1"  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]

    with pytest.raises(TypeError, match="unsupported operand") as raised:
        broken(1)
    assert type(raised.value) is TypeError


def test_a_call_that_fits_is_as_before() -> None:
    assert area(2, 3, scale=0.5) == 3.0
    assert inspect.signature(area) == inspect.Signature.from_callable(inspect.unwrap(area))
    assert area.__doc__ == "The area."


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_public_function_and_class_tells_of_a_wrong_argument(package: ModuleType) -> None:
    told = 0
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value) and (
            issubclass(value, BaseException) or getattr(value, "_is_protocol", False) or inspect.isabstract(value)
        ):
            continue
        if inspect.isfunction(value) or (inspect.isclass(value) and inspect.isfunction(vars(value).get("__init__"))):
            with pytest.raises(CallError, match="got there_is_no_such_argument=") as raised:
                value(there_is_no_such_argument=1)
            assert str(raised.value).startswith(name)
            told += 1
    assert told


@pytest.mark.parametrize("function", [training.fit, data.one_hot, models.lenet5])
def test_public_functions_can_be_pickled(function: object) -> None:
    assert pickle.loads(pickle.dumps(function)) is function


def test_operators_between_layers_say_what_joins_them() -> None:
    with pytest.raises(CallError, match="a >> b"):
        Linear(4, 8) | ReLU()  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
    assert repr(Input(4) >> Linear(4, 8))


@pytest.mark.parametrize("package", [layers, losses, optim], ids=lambda package: package.__name__)
def test_help_shows_the_formula(package: ModuleType) -> None:
    """What a file says of its one class is in the class's docstring; the classes beside it keep their own."""
    shown = 0
    for name in package.__all__:
        kind = getattr(package, name)
        home = sys.modules[kind.__module__]
        if getattr(kind, "_is_protocol", False):
            continue
        if kind.__name__.lower() == home.__name__.rpartition(".")[2].replace("_", ""):
            text = pydoc.plain(pydoc.render_doc(kind))
            assert [
                line for line in (home.__doc__ or "").splitlines() if line.strip() and line.strip() not in text
            ] == []
            assert f"{name}(" in text  # the signature
            shown += 1
    assert shown >= 6


def test_help_of_a_convolution() -> None:
    text = pydoc.plain(pydoc.render_doc(layers.Conv2d))
    text = " ".join(text.replace("|  ", "").split()).replace("( ", "(")  # Python 3.13 gives each parameter a line
    assert "Conv2d(in_channels: int, out_channels: int, kernel_size: int | tuple[int, int]" in text
    assert layers.Conv2d.__doc__ is not None
    assert layers.Conv2d.__doc__.startswith("``kernel_size``")
    assert "y[" in layers.Conv2d.__doc__
    assert layers.Conv2dGrad.__doc__ is not None
    assert "y[" not in layers.Conv2dGrad.__doc__
