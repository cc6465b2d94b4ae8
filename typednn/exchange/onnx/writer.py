"""The nodes of an ONNX file while it is written, and what rows write them with.

ONNX Runtime computes some operators in float32 alone. In a file of float64 these stand between two Casts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from typednn.arrays import is_array
from typednn.backends import to_numpy
from typednn.exchange.tracing import Traced
from typednn.module.module import Module

FLOAT, INT32, INT64, STRING, DOUBLE = 1, 6, 7, 8, 11  # TensorProto's numbers

# What ONNX Runtime 1.31 computes in float32 alone, and how many inputs of each are such floats.
SINGLE: Final[Mapping[str, int]] = {
    "AveragePool": 1, "Conv": 3, "ConvTranspose": 3, "Elu": 1, "Erf": 1, "GRU": 4, "HardSigmoid": 1, "HardSwish": 1,
    "LSTM": 4, "RNN": 4, "Resize": 1, "Selu": 1, "Softplus": 1,
}  # fmt: skip


class Out(NamedTuple):
    """What a row gives: a name in the file, and whether its axes are channels first."""

    name: str
    first: bool = False


def axes_of(rank: int, first: bool) -> list[int]:
    """The axes in the order that has channels first, or that has them last again."""
    return [0, rank - 1, *range(1, rank - 1)] if first else [0, *range(2, rank), 1]


def input_names(inputs: int) -> list[str]:
    """What the inputs of a file are called."""
    return ["x"] if inputs == 1 else [f"x{place}" for place in range(inputs)]


@final
class Writer:
    """The nodes of a file so far, and under which names and in which layouts the values of a trace stand in it."""

    def __init__(
        self, onnx: Any, model: Module, state: Mapping[str, Any], inputs: Sequence[Traced], channels_first: bool
    ) -> None:
        self.onnx = onnx
        self.model = model
        self.channels_first = channels_first
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.bytes: int = 0
        self.known: dict[Any, str] = {}  # names of constants: of those with a key, and of arrays of the model
        self.names: dict[int, str] = {id(array): name for name, array in state.items()}
        self.path = ""
        self.layer: Any = model
        self.batch: int = len(inputs[0])
        self.heads: list[Any] = []
        self.forms: dict[int, dict[bool, str]] = {}  # of each value its names, channels first or not
        for name, value in zip(input_names(len(inputs)), inputs, strict=True):
            head, first = self.described(name, value)
            self.heads.append(head)
            self.forms[id(value)] = {first: name}

    def described(self, name: str, value: Traced) -> tuple[Any, bool]:
        """The entry of an input or output, its batch free, and whether its channels are first."""
        helper, first = self.onnx.helper, self.channels_first and value.ndim == 4
        sizes = [value.shape[axis] for axis in axes_of(value.ndim, True)] if first else list(value.shape)
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        return helper.make_tensor_value_info(name, kind, ["batch", *sizes[1:]]), first

    # -------------------------------------------------------------- what rows use

    def read(self, value: Any, first: bool = False) -> str:
        """The name under which ``value`` stands with its channels last, or first; constants are written as they are."""
        if not isinstance(value, Traced):
            return self.constant(value)
        forms = self.forms[id(value)]
        if value.ndim <= 2:
            return next(iter(forms.values()))
        if first not in forms:
            forms[first] = self.node("Transpose", forms[not first], perm=axes_of(value.ndim, first))
        return forms[first]

    def layout(self, *values: Any) -> bool:
        """Whether to compute with these values channels first: where all are at hand so, and nothing
        has to be turned.
        """
        return all(isinstance(value, Traced) and value.ndim > 2 and True in self.forms[id(value)] for value in values)

    def at_hand(self, value: Traced) -> Out:
        """The name of a value in the layout that it has."""
        first = self.layout(value)
        return Out(self.read(value, first), first)

    def node(self, kind: str, *inputs: str, outputs: Any = 1, **attributes: Any) -> Any:
        """A new node; the name of its result, or of each of several."""
        if kind not in SINGLE or self.model.dtype != np.float64:
            return self.plain(kind, *inputs, outputs=outputs, **attributes)
        given = [
            self.plain("Cast", name, to=FLOAT) if name and place < SINGLE[kind] else name
            for place, name in enumerate(inputs)
        ]
        return self.plain("Cast", self.plain(kind, *given, **attributes), to=DOUBLE)

    def plain(self, kind: str, *inputs: str, outputs: Any = 1, **attributes: Any) -> Any:
        """The same, as it is."""
        name = f"{self.path or type(self.layer).__name__}/{kind}_{len(self.nodes)}"
        names = [name] if outputs == 1 else [f"{name}_{place}" for place in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), names, name, **attributes))
        return name if outputs == 1 else names

    def constant(
        self, value: Any, change: Callable[[Any], Any] | None = None, key: Any = None, *, learnt: bool = False
    ) -> str:
        """The name of an array in the file; one of the model is written once, under its own name, for each ``key`` of a
        ``change``.

        ``learnt``: it was made of arrays of the model.
        """
        known = (id(value), key) if id(value) in self.names else None
        if known in self.known:
            return self.known[known]
        array = np.asarray(to_numpy(value) if is_array(value) else value)
        made = np.asarray(array if change is None else change(array), order="C")
        self.bytes += made.nbytes
        base = getattr(value, "base", None)
        if known is None and not learnt and id(base) not in self.names:
            name: str = self.plain("Constant", value=self.onnx.numpy_helper.from_array(made))
            return name
        own = (
            self.names.get(id(value)) or self.names.get(id(base)) or f"{self.path or type(self.layer).__name__}/weight"
        )
        name = own if own not in self.constants else f"{own}_{len(self.constants)}"
        self.constants[name] = made
        if known is not None:
            self.known[known] = name
        return name

    def constants_of(self, *arrays: Any) -> list[str]:
        """The names of those arrays that there are."""
        return [self.constant(array) for array in arrays if array is not None]

    def number(self, value: float, like: Traced) -> str:
        """The name of a number of the dtype of ``like``."""
        return self.constant(np.asarray(value, like.dtype))

    def integers(self, *values: int) -> str:
        """The name of a list of integers."""
        return self.constant(np.array(values, np.int64))

    def reshaped(self, name: str, *sizes: int) -> str:
        """``name`` under another shape of a sample."""
        reshaped: str = self.node("Reshape", name, self.integers(-1, *sizes))
        return reshaped
