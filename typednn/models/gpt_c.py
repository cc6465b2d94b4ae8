"""gpt.c's file of a GPT-2: one header, all shapes, all numbers.

int32    256   20240415, n_positions, vocab_size, n_layer, n_head, n_embd, length of the shapes, steps trained, 0, …
int32          for each tensor the number of its axes, then their sizes
float32        each tensor's numbers, row by row

All little-endian, tensors in the order of `GPT2.parameter_shapes`: the file of 124 million parameters has 497,761,640
bytes, its shapes 346 numbers. Weights are (out, in), as here.
Source: gpt.c, which continues Karpathy's llm.c.
"""

from pathlib import Path
from typing import Final

import numpy as np

from typednn.arguments import integer
from typednn.arrays import IntArray1
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import File, opened, path_of, write_whole
from typednn.models.gpt2 import GPT2

MAGIC: Final = 20240415
HEADER: Final = 256
_NAMES = ("n_positions", "vocab_size", "n_layer", "n_head", "n_embd")
_MOST = 1 << 20  # of a size in the header: beyond it a header is no header


def read_gpt_c(path: str | Path, *, limit: int | None = None) -> tuple[GPT2, int]:
    """The model and the steps that it was trained for; a `DataError` names the field, what it must be and what it is.

    ``limit`` is how many bytes the numbers may take. The file's length and all shapes are compared before anything is
    allocated.
    """
    with opened("read_gpt_c", path, limit) as file:
        where, header, sizes = file.where, *_header(file)
        try:
            model: GPT2 = GPT2(*(sizes[name] for name in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head")))
        except ArgumentError as error:
            raise DataError(explain(where, "its header must be sizes of a GPT-2", str(error))) from None
        shapes = _listed(model)
        if header[6] != len(shapes):
            raise DataError(
                explain(f"{where}, field 6", f"the shapes of these sizes take {len(shapes)} numbers", str(header[6]))
            )
        if header[7] < 0:
            raise DataError(explain(f"{where}, field 7", "the steps must be 0 or more", str(header[7])))
        expected = 4 * (HEADER + len(shapes) + model.num_parameters())
        if file.size != expected:
            raise DataError(explain(where, f"must have {expected:,} bytes", f"{file.size:,}"))
        if (found := np.frombuffer(bytes(file.exactly(file.stream, 4 * len(shapes))), "<i4").tolist()) != shapes:
            place = next(place for place, (ours, its) in enumerate(zip(shapes, found, strict=True)) if ours != its)
            rule = f"must be {shapes[place]} for these sizes"
            raise DataError(
                explain(
                    f"{where}, number {HEADER + place}", rule, str(found[place]), "it is a size, or a number of axes"
                )
            )
        state = {
            name: np.frombuffer(file.exactly(file.stream, 4 * int(np.prod(shape))), "<f4")
            .astype(np.float32)
            .reshape(shape)
            for name, shape in model.parameter_shapes().items()
        }
    model.load_state_dict(state)
    return model, int(header[7])


def is_gpt_c(path: Path) -> bool:
    """Whether a file begins as gpt.c's models do."""
    with opened("read_gpt_c", path) as file:
        start = file.stream.read(8)
    return len(start) == 8 and int.from_bytes(start[:4], "little") == MAGIC and start[4:] != bytes(4)


def sizes_of_gpt_c(path: str | Path) -> dict[str, int]:
    """The constructor's arguments of the model in a file, from its header alone."""
    with opened("read_gpt_c", path) as file:
        return _header(file)[1]


def _header(file: File) -> tuple[IntArray1, dict[str, int]]:
    """The header's numbers, and the sizes in it; a `DataError` where they are none."""
    where = file.where
    if file.size < 4 * HEADER:
        raise DataError(explain(where, f"must begin with a header of {4 * HEADER} bytes", f"{file.size} bytes"))
    header = np.frombuffer(bytes(file.exactly(file.stream, 4 * HEADER)), "<i4")
    if header[0] != MAGIC:
        raise DataError(explain(f"{where}, field 0", f"must be {MAGIC}", str(header[0]), "this is no model of gpt.c"))
    sizes: dict[str, int] = dict(zip(_NAMES, (int(number) for number in header[1:6]), strict=True))
    for field, (name, size) in enumerate(sizes.items(), 1):
        if not 1 <= size <= _MOST:
            raise DataError(explain(f"{where}, field {field}", f"{name} must be 1 to {_MOST}", str(size)))
    if 48 * sizes["n_layer"] > file.size:  # bytes of the blocks' shapes: before as many layers are made
        raise DataError(
            explain(f"{where}, field 3", "n_layer must be that of the tensors behind the header", str(sizes["n_layer"]))
        )
    return header, sizes


def write_gpt_c(model: GPT2, path: str | Path, *, steps: int = 0) -> None:
    """Write ``model`` in float32; ``steps`` is how many it was trained for."""
    if not isinstance(model, GPT2):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(explain("write_gpt_c", "model is a GPT2", type(model).__name__), "model")
    if not model.tie_word_embeddings:
        raise ArgumentError(
            explain("write_gpt_c", "the head is the embedding, as GPT-2's is", "a head of its own"), "model"
        )
    place, shapes = path_of("write_gpt_c", path), _listed(model)
    header = np.zeros(HEADER, "<i4")
    header[:8] = [
        MAGIC,
        *(getattr(model, name) for name in _NAMES),
        len(shapes),
        integer("write_gpt_c", "steps", steps, least=0),
    ]
    numbers = [np.asarray(to_numpy(array), "<f4").tobytes() for array in model.parameters()]
    write_whole(place, b"".join([header.tobytes(), np.array(shapes, "<i4").tobytes(), *numbers]))


def _listed(model: GPT2) -> list[int]:
    """The number of axes and the sizes of each tensor, one after another."""
    return [number for shape in model.parameter_shapes().values() for number in (len(shape), *shape)]
