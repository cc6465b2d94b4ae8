"""Where the windows of a convolution and of the pooling after it lie."""

from __future__ import annotations

from dataclasses import dataclass, field

from typednn.kernels.windows import output_sizes


@dataclass(frozen=True, slots=True)
class Geometry:
    """``padding`` (left, right, top, bottom) with zeros; the others are (height, width): of the convolution, then of the pooling.

    ``pool_size`` None: no pooling.
    """

    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pool_size: tuple[int, int] | None = None
    pool_stride: tuple[int, int] = (1, 1)
    pool_dilation: tuple[int, int] = (1, 1)
    _hash: int = field(init=False, repr=False, compare=False)  # every call looks its kernels up

    def __post_init__(self) -> None:
        windows = (self.padding, self.stride, self.dilation, self.pool_size, self.pool_stride, self.pool_dilation)
        object.__setattr__(self, "_hash", hash(windows))

    def __hash__(self) -> int:
        return self._hash

    @property
    def side_by_side(self) -> bool:
        """Whether pooling windows are 2x2 or 3x3 and touch without overlapping, or nothing is pooled: what the fast kernels take in."""
        if self.pool_size is None:
            return True
        return self.pool_size in ((2, 2), (3, 3)) and self.pool_stride == self.pool_size and self.pool_dilation == (1, 1)

    def convolved(self, size: tuple[int, int], kernel_size: tuple[int, int]) -> tuple[int, int]:
        """Height and width between convolution and pooling, for images of ``size``."""
        left, right, top, bottom = self.padding
        return output_sizes((size[0] + top + bottom, size[1] + left + right), kernel_size, self.stride, self.dilation)
