"""Pad2d: a border around every image.

x (batch, height, width, channels)      y (batch, top + height + bottom, left + width + right, channels)
constant:   y is ``value`` outside x          dx = dy without the border
replicate:  y repeats the nearest pixel of x  dx = dy without the border, plus the border's dy on the pixel it repeats

``padding`` is PyTorch's (left, right, top, bottom). One copy forward; backward a view (constant) or one copy
(replicate).
Source: "Deep Learning Implementation With Rust", eqs 28-29 (eq 28 with 0 <= i - p); the paper leaves replicate open.
"""

from typing import Literal, TypeAlias

from jaxtyping import Float

from typednn.arrays import Array4, namespace

Border: TypeAlias = tuple[int, int, int, int]
Mode: TypeAlias = Literal["constant", "replicate"]


def forward(
    x: Float[Array4, "batch height width channels"], padding: Border, mode: Mode, value: float
) -> Float[Array4, "batch height+{padding[2]}+{padding[3]} width+{padding[0]}+{padding[1]} channels"]:
    """y; ``value`` is read in mode "constant" only."""
    xp = namespace(x)
    left, right, top, bottom = padding
    border = ((0, 0), (top, bottom), (left, right), (0, 0))
    y: Array4 = xp.pad(x, border, constant_values=value) if mode == "constant" else xp.pad(x, border, mode="edge")
    return y


def backward(
    next_grad: Float[Array4, "batch out_height out_width channels"], padding: Border, mode: Mode
) -> Float[Array4, "batch out_height-{padding[2]}-{padding[3]} out_width-{padding[0]}-{padding[1]} channels"]:
    """dx, smaller than dy by the border."""
    left, right, top, bottom = padding
    _, height, width, _ = next_grad.shape
    rows = slice(top, height - bottom)
    columns = slice(left, width - right)
    if mode == "constant":
        return next_grad[:, rows, columns]
    # Rows first, corners included; then the corners reach their pixel along the columns.
    folded: Array4 = next_grad[:, rows].copy()
    folded[:, 0] += next_grad[:, : rows.start].sum(axis=1)
    folded[:, -1] += next_grad[:, rows.stop :].sum(axis=1)
    dx: Array4 = folded[:, :, columns].copy()
    dx[:, :, 0] += folded[:, :, : columns.start].sum(axis=2)
    dx[:, :, -1] += folded[:, :, columns.stop :].sum(axis=2)
    return dx
