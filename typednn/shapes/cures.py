"""What to write where the number of axes does not fit, or their order: the one place that knows, below the layers, what
helps.
"""

from collections.abc import Sequence

# By the number of axes that is expected and that of the array: what to do with the array.
_ARRAYS = {
    (2, 4): "put Flatten() before it, or flatten the samples: {name}.reshape(len({name}), -1)",
    (2, 1): "add a batch axis: {name}[None]",
    (3, 2): "add a batch axis: {name}[None]",
    (4, 3): "add a batch or a channel axis: {name}[None] or {name}[..., None]",
    (2, 3): "wrap the layer in PerPosition(...)",
}


def between(expected: int | None, got: int) -> str:
    """What to put between two layers, where that can be guessed."""
    return "put Flatten() between them" if (expected, got) == (2, 4) else ""


def rank_cure(name: str, expected: int | None, got: int) -> str:
    """What to do about the array ``name``, where that can be guessed."""
    return _ARRAYS.get((expected or 0, got), "").format(name=name)


def channels_cure(name: str, shape: Sequence[int], expected: str) -> str:
    """What to do about images whose channels stand first, as PyTorch has them."""
    first = len(shape) == 4 and str(shape[1]) == expected != str(shape[3])
    return f"channels stand last: {name}.transpose(0, 2, 3, 1)" if first else ""


def target_cure(target: Sequence[int], prediction: Sequence[int], *, labels: bool) -> str:
    """What to do about a loss's target of this shape; ``labels`` are integers, one for each row of scores."""
    given, wanted = tuple(target), tuple(prediction[:-1] if labels else prediction)
    if given == (*wanted, 1):
        return "drop its last axis: target[..., 0]"
    if (*given, 1) == wanted:
        return "add an axis: target[:, None]"
    if labels and len(prediction) == 3 and given == (prediction[0], prediction[2]):
        return "classes stand last: prediction.transpose(0, 2, 1)"
    if labels and len(given) < len(wanted):
        return f"give a label for each position, in shape {wanted}"
    return ""
