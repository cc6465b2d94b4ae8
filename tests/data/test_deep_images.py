"""PNG of 16 bits: every kind, beside the numbers that were written, by the formulas of ISO/IEC 15948 and ITU-R 601.

The files are written here, with zlib: filters (9.2), the seven passes of an interlaced image (8.2), transparency
(11.3.2.1).
"""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import read_image

pytest.importorskip("PIL.Image")

# first row, column, steps
_PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
_BANDS = {0: 1, 2: 3, 4: 2, 6: 4}  # of a kind of colour: grey, colours, grey and alpha, colours and alpha


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _filtered(pixels: Any) -> bytes:
    """Rows, each by the next of the five filters."""
    step, before = 2 * pixels.shape[2], None
    lines: list[bytes] = []
    for number, row in enumerate(pixels.astype(">u2").reshape(len(pixels), -1)):
        line = np.frombuffer(row.tobytes(), np.uint8).astype(int)
        up = np.zeros_like(line) if before is None else before
        left, corner = (np.concatenate([np.zeros(step, int), each[:-step]]) for each in (line, up))
        guess = left + up - corner
        ways = np.stack([left, up, corner])
        nearest = ways[np.abs(ways - guess).argmin(axis=0), np.arange(len(line))]
        kinds = (0 * line, left, up, (left + up) // 2, nearest)
        lines.append(bytes([number % 5]) + ((line - kinds[number % 5]) % 256).astype(np.uint8).tobytes())
        before = line
    return b"".join(lines)


def write_deep(
    path: Path, pixels: Any, kind: int, *, interlaced: bool = False, clear: tuple[int, ...] | None = None
) -> Path:
    """A PNG of 16 bits, of (height, width, channels)."""
    parts = [pixels[y::down, x::right] for y, x, down, right in _PASSES] if interlaced else [pixels]
    content = b"".join(_filtered(part) for part in parts if part.size)
    about = struct.pack(">2I5B", pixels.shape[1], pixels.shape[0], 16, kind, 0, 0, interlaced)
    chunks = [(b"IHDR", about), *([] if clear is None else [(b"tRNS", struct.pack(f">{len(clear)}H", *clear))])]
    chunks += [(b"IDAT", zlib.compress(content)), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks))
    return path


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize(("kind", "keyed"), [(0, False), (0, True), (2, False), (2, True), (4, False), (6, False)])
def test_sixteen_bits_keep_their_fraction(tmp_path: Path, kind: int, keyed: bool, interlaced: bool) -> None:
    pixels = np.random.default_rng(kind).integers(0, 1 << 16, (11, 9, _BANDS[kind]))
    pixels[0, 0], pixels[1, :3] = 33023, [[65535], [0], [33023]]
    if kind in (4, 6):
        pixels[0, 0, -1] = 65535
    clear = tuple(pixels[4, 5].tolist()) if keyed else None
    path = write_deep(tmp_path / "a.png", pixels, kind, interlaced=interlaced, clear=clear)
    colours = pixels.astype(np.float64)
    if kind in (4, 6):
        colours = colours[..., :-1] * colours[..., -1:] / 65535
    if clear is not None:
        colours[(pixels == clear).all(axis=2)] = 0
    colours /= 257
    grey = colours if colours.shape[2] == 1 else (colours @ [0.299, 0.587, 0.114])[..., None]
    one, three = read_image(path)[0], read_image(path, channels=3)[0]
    assert one.dtype == three.dtype == np.float32
    np.testing.assert_allclose(one, grey, rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(three, np.broadcast_to(colours, (11, 9, 3)), rtol=1e-6, atol=1e-4)
    if not keyed:
        assert one[0, 0, 0] == pytest.approx(33023 / 257, abs=1e-4)


@pytest.mark.parametrize("kind", sorted(_BANDS))
def test_cut_images_are_whole_numbers(tmp_path: Path, kind: int) -> None:
    """The middle is cut out, and each pixel is the nearest whole number, not the one below."""
    path = write_deep(tmp_path / "a.png", np.full((4, 6, _BANDS[kind]), 65535), kind)
    np.testing.assert_array_equal(read_image(path, size=4, resize="crop", channels=3), np.full((1, 4, 4, 3), 255.0))
    pixels = np.full((4, 6, _BANDS[kind]), 33023 + 200)
    if kind in (4, 6):
        pixels[..., -1] = 65535
    path = write_deep(tmp_path / "b.png", pixels, kind)
    np.testing.assert_array_equal(read_image(path, size=4, resize="crop"), np.full((1, 4, 4, 1), 129.0))  # 129.27
