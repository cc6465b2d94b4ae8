"""What to write where the number of axes does not fit: the one place that knows, below the layers, which of them helps."""

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
