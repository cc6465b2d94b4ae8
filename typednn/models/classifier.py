"""What models for images share: their types, in which parts are erased as they depend on the image, and the check of
its sizes.
"""

from typing import Any, TypeAlias

from typednn.arguments import integer
from typednn.arrays import Array2, Array4
from typednn.errors import ArgumentError, explain
from typednn.layer import Chain

Images: TypeAlias = Chain[Array4, Array4, str, *tuple[Any, ...]]
Classifier: TypeAlias = Chain[Array4, Array2, str, *tuple[Any, ...]]


def sizes_of(where: str, image: tuple[int, int, int], least: int = 1) -> tuple[int, int, int]:
    """``image`` as (height, width, channels), the first two of ``least`` pixels."""
    sizes: object = image
    if not isinstance(sizes, tuple | list) or len(image) != 3:
        raise ArgumentError(explain(where, "image is (height, width, channels)", repr(image)), "image")
    height, width = (
        integer(f"{where}, image", name, size, least) for name, size in zip(("height", "width"), image[:2], strict=True)
    )
    return height, width, integer(f"{where}, image", "channels", image[2])
