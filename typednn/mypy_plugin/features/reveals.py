"""``reveal_type(x)`` also says the sizes of an array, and the layers of a model."""

from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.values import Array, Layer, Value, written_shape
from typednn.shapes import Flow


def revealed(call: Call) -> Value:
    """A note beside mypy's own."""
    value = call.argument(0, "")
    text = _described(value)
    if text:
        call.context.scope.note(text, call.node)
    return value


def _described(value: Value) -> str:
    match value:
        case Array(flow=flow) if flow.shape is not None:
            return f'Revealed sizes are "{written_shape(flow.shape, " ")}"'
        case Layer(shown=shown):
            contract = value.contract and value.trace(Flow.start(None)).contract
            return (
                f'Revealed model is "{shown}"'
                if contract is None or contract in shown
                else f'Revealed model is "{shown}: {contract}"'
            )
        case _:
            return ""


TABLE: dict[str, Analysis] = dict.fromkeys(
    ("builtins.reveal_type", "typing.reveal_type", "typing_extensions.reveal_type"), revealed
)
