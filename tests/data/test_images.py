"""Images, alone, in folders, and as one of the inputs of a prediction."""

import gzip
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.data import image_size, open_image_folder, read_image, read_image_folder, read_inputs
from typednn.errors import ArgumentError, DataError, MissingExtra

Image: Any = pytest.importorskip("PIL.Image")


def save(path: Path, pixels: Any, mode: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.asarray(pixels))
    (image if mode is None else image.convert(mode)).save(path)
    return path


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


GREY = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
RED = np.zeros((2, 2, 3), np.uint8) + np.array([255, 0, 0], np.uint8)


def test_grey(tmp_path: Path) -> None:
    image = read_image(save(tmp_path / "a.png", GREY))
    assert (image.shape, image.dtype) == ((1, 3, 4, 1), np.float32)
    np.testing.assert_array_equal(image[0, :, :, 0], GREY)
    np.testing.assert_array_equal(read_image(str(tmp_path / "a.png"), invert=True)[0, :, :, 0], 255 - GREY)
    assert image_size(tmp_path / "a.png") == (3, 4)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_every_mode_of_black_and_white(tmp_path: Path, mode: str) -> None:
    pixels = np.array([[0, 255], [255, 0]], np.uint8)
    path = save(tmp_path / "a.png", pixels, mode)
    np.testing.assert_array_equal(read_image(path)[0, :, :, 0], pixels)
    np.testing.assert_array_equal(read_image(path, channels=3)[0], np.repeat(pixels[:, :, np.newaxis], 3, axis=2))


def test_colour_transparency_and_sixteen_bits(tmp_path: Path) -> None:
    assert read_image(save(tmp_path / "red.png", RED)).ravel().tolist() == [76.0] * 4
    np.testing.assert_array_equal(read_image(tmp_path / "red.png", channels=3)[0], RED)
    clear = np.dstack([RED, np.array([[0, 255], [128, 255]], np.uint8)])
    assert read_image(save(tmp_path / "clear.png", clear), channels=3)[0, :, :, 0].ravel().tolist() == [
        0.0,
        255.0,
        128.0,
        255.0,
    ]
    deep = save(tmp_path / "deep.png", np.array([[0, 257], [65535, 300]], np.uint16))
    np.testing.assert_allclose(read_image(deep)[0, :, :, 0], [[0, 1], [255, 300 / 257]])


def test_sizes(tmp_path: Path) -> None:
    path = save(tmp_path / "a.png", np.full((8, 6), 77, np.uint8))
    with pytest.raises(
        DataError, match=r"a\.png: the image must be 28 x 28, got 8 x 6; pass resize=True to stretch it, or"
    ):
        read_image(path, size=28)
    for size, shape in ((28, (28, 28)), ((4, 3), (4, 3)), ((8, 6), (8, 6))):
        resized = read_image(path, size=size, resize=True)
        assert resized.shape == (1, *shape, 1)
        np.testing.assert_allclose(resized, 77.0, atol=1e-4)
    ramp = save(tmp_path / "ramp.png", np.repeat(np.arange(8, dtype=np.uint8) * 10, 8).reshape(8, 8))
    halves = read_image(ramp, size=(2, 2), resize=True)[0, :, 0, 0]
    assert halves[0] < 35 < halves[1], "rows stay rows"
    assert halves.sum() == pytest.approx(70.0), "an average, not a sample"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            b"",
            "a PNG, JPEG, GIF, BMP or WebP image, got a file that begins with nothing, as it is empty; save",
            id="empty",
        ),
        pytest.param(
            b"GIF80a" + bytes(30), "a file that begins with 47 49 46 38 30 61 00 00; save it as PNG or JPEG", id="kind"
        ),
        pytest.param(
            b"RIFF" + bytes(30), "a file that begins with 52 49 46 46 00 00 00 00; save it as PNG or JPEG", id="RIFF"
        ),
        pytest.param(
            b"GIF89a" + bytes(30), "must be a whole image, got a header that Pillow cannot read; save it anew", id="GIF"
        ),
        pytest.param(
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 2**31, 2**31, 8, 0, 0, 0, 0)),
            "an image has 1 to",
            id="large",
        ),
        pytest.param(
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 0, 5, 8, 0, 0, 0, 0)), "got 5 x 0", id="nothing"
        ),
        pytest.param(
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 4, 5, 8, 0, 0, 0, 0)),
            "must be a whole image",
            id="cut",
        ),
    ],
)
def test_what_is_no_image(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize("size", [(1, 1 << 24), (1 << 24, 1), (16385, 2)])
def test_what_is_very_long_is_refused_before_it_is_unpacked(tmp_path: Path, size: tuple[int, int]) -> None:
    """Pillow keeps something for each row: one pixel wide, 2^24 of them took six seconds and 1.3 GB."""
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", *size, 8, 0, 0, 0, 0)))
    with pytest.raises(
        DataError, match=r"a\.png: an image has 1 to 16777216 pixels, and at most 16384 in a row or column, got"
    ):
        read_image(tmp_path / "a.png", size=28, resize=True)


@pytest.mark.parametrize("settings", [{}, {"size": 3, "resize": True}])
def test_a_second_header_is_refused_before_it_is_unpacked(tmp_path: Path, settings: dict[str, Any]) -> None:
    """The first header is small, Pillow believes the last: 178 million pixels, just below what it calls a bomb."""
    first, last = (chunk(b"IHDR", struct.pack(">2I5B", side, side, 8, 0, 0, 0, 0)) for side in (3, 13000))
    rows = chunk(b"IDAT", zlib.compress(bytes(1 << 20)))
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + first + last + rows + chunk(b"IEND", b""))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"must be a whole image, got (two sizes in one file|.*decompression bomb)"):
            read_image(tmp_path / "a.png", **settings)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_unreadable_and_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be a readable file, got No such file"):
        read_image(tmp_path / "nowhere.png")
    with pytest.raises(ArgumentError, match="channels must be 1, grey, or 3, got 4"):
        read_image(save(tmp_path / "a.png", GREY), channels=4)
    path = tmp_path / "cut.png"
    path.write_bytes((tmp_path / "a.png").read_bytes()[:50])
    with pytest.raises(DataError, match="must be a whole image"):
        read_image(path)


def test_pillow_raises_many_kinds_of_errors(tmp_path: Path) -> None:
    path = save(tmp_path / "a.png", GREY)
    content = path.read_bytes()
    path.write_bytes(content[:33] + chunk(b"zTXt", b"note\0\0" + zlib.compress(bytes(1 << 22))) + content[33:])
    with pytest.raises(DataError, match="must be a whole image, got Decompressed data too large"):
        read_image(path)


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "a.png", GREY)
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert image_size(path) == (3, 4)
    with pytest.raises(
        MissingExtra, match=r"needs Pillow to read images, .*; pip install 'typednn\[images\]'"
    ) as caught:
        read_image(path)
    assert caught.value.name == "PIL"


def folder_of(root: Path) -> Path:
    for place, value in (("two/b.png", 3), ("two/a.png", 2), ("one/z.png", 1), ("two/.hidden", 0)):
        if place.endswith("png"):
            save(root / place, np.full((3, 4), value, np.uint8))
        else:
            (root / place).write_text("not looked at")
    return root


def test_folders_are_classes(tmp_path: Path) -> None:
    found = read_image_folder(folder_of(tmp_path))
    assert found.names == ("one", "two")
    assert [path.name for path in found.paths] == ["z.png", "a.png", "b.png"]
    np.testing.assert_array_equal(found.labels, [0, 1, 1])
    np.testing.assert_array_equal(found.images[:, 0, 0, 0], [1, 2, 3])
    assert found.images.shape == (3, 3, 4, 1)
    assert read_image_folder(str(tmp_path), size=28, resize=True, channels=3).images.shape == (3, 28, 28, 3)


def test_files_and_folders_are_sorted(tmp_path: Path) -> None:
    names = [f"{number:02}" for number in range(20)]
    for number in (7 * count % 20 for count in range(20)):
        for other in names[::3]:
            save(tmp_path / names[number] / f"{other}.png", np.full((1, 1), number, np.uint8))
    found = read_image_folder(tmp_path)
    assert found.names == tuple(names)
    assert [path.stem for path in found.paths] == names[::3] * 20
    np.testing.assert_array_equal(found.images.ravel(), found.labels)


def test_folders_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="must hold a folder of images for each class, got no folder; make one per class"
    ):
        read_image_folder(tmp_path)
    with pytest.raises(DataError, match="must be a readable folder, got No such file"):
        read_image_folder(tmp_path / "nowhere")
    folder_of(tmp_path)
    (tmp_path / "three").mkdir()
    with pytest.raises(DataError, match="each class must have images, got none in 'three'"):
        read_image_folder(tmp_path)
    save(tmp_path / "three" / "a.png", np.zeros((5, 5), np.uint8))
    with pytest.raises(DataError, match=r"three.a\.png: the image must be 3 x 4, got 5 x 5; pass resize=True"):
        read_image_folder(tmp_path)
    (tmp_path / "three" / "a.png").write_text("text")
    with pytest.raises(DataError, match=r"three.a\.png: must be a PNG, JPEG"):
        read_image_folder(tmp_path)


@pytest.mark.parametrize("place", ["two/link.png", "three", "up"])
def test_links_out_of_a_folder_are_refused(tmp_path: Path, place: str) -> None:
    """Of a file, of a class, and of a part of a data set; links within the folder are read."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    save(outside / "secret.png", np.zeros((3, 4), np.uint8))
    folder_of(root / "train")
    folder_of(root / "test")
    (root / "train" / "two" / "again.png").symlink_to("a.png")
    assert len(read_image_folder(root / "train").labels) == 4
    assert len(np.asarray(open_image_folder(root).test_images)) == 3
    link = root / "val" if place == "up" else root / "train" / place
    link.symlink_to(outside / "secret.png" if place.endswith("png") else outside)
    said = rf"{link.name}: must lie within .*, got a link to .*outside.*; copy what it leads to"
    with pytest.raises(DataError, match=said):
        open_image_folder(root)
    if place != "up":
        with pytest.raises(DataError, match=said):
            read_image_folder(root / "train")


PIXELS = np.arange(24.0).reshape(2, 3, 4)


def test_inputs_of_every_kind(tmp_path: Path) -> None:
    same = PIXELS.reshape(2, 3, 4, 1).astype(np.float32)
    paths = []
    for number, array in enumerate((PIXELS, PIXELS.reshape(2, 12), same, PIXELS.astype(np.uint8))):
        paths.append(tmp_path / f"{number}.npy")
        np.save(paths[-1], array)
    np.savez(tmp_path / "a.npz", images=PIXELS)
    np.savetxt(tmp_path / "a.csv", PIXELS.reshape(2, 12), delimiter=",")
    np.savetxt(tmp_path / "b.CSV", np.c_[[7, 8], PIXELS.reshape(2, 12)], delimiter=",")
    idx = struct.pack(">HBB3I", 0, 8, 3, 2, 3, 4) + PIXELS.astype(np.uint8).tobytes()
    (tmp_path / "a-idx3-ubyte").write_bytes(idx)
    (tmp_path / "a.gz").write_bytes(gzip.compress(idx))
    for path in (*paths, *(tmp_path / name for name in ("a.npz", "a.csv", "b.CSV", "a-idx3-ubyte", "a.gz"))):
        read = read_inputs(path, 3, 4)
        assert read.dtype == np.float32
        np.testing.assert_array_equal(read, same)
    save(tmp_path / "a.png", GREY)
    np.testing.assert_array_equal(read_inputs(tmp_path / "a.png", 3, 4, invert=True)[0, :, :, 0], 255 - GREY)
    assert read_inputs(tmp_path / "a.png", resize=True).shape == (1, 28, 28, 1)
    np.save(tmp_path / "one.npy", PIXELS[0])
    assert read_inputs(str(tmp_path / "one.npy"), 3, 4).shape == (1, 3, 4, 1)


def test_inputs_that_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", PIXELS)
    with pytest.raises(
        DataError, match=r"must hold images of 28 x 28 x 1, or rows of 784 numbers, got shape \(2, 3, 4\)"
    ):
        read_inputs(tmp_path / "a.npy")
    with pytest.raises(DataError, match=r"images of 3 x 4 x 3, or rows of 36 numbers, got shape \(2, 3, 4\)"):
        read_inputs(tmp_path / "a.npy", 3, 4, 3)
    np.savez(tmp_path / "a.npz", a=PIXELS, b=PIXELS)
    with pytest.raises(DataError, match="must hold one array, the images, got 2; save them alone"):
        read_inputs(tmp_path / "a.npz", 3, 4)
    np.save(tmp_path / "none.npy", PIXELS[:0])
    with pytest.raises(DataError, match=r"got shape \(0, 3, 4\)"):
        read_inputs(tmp_path / "none.npy", 3, 4)


# --- the other formats ----------------------------------------------------------------------------------------------

COLOURS = np.random.default_rng(3).integers(0, 256, (6, 8, 3), np.uint8)


def saved(path: Path, image: Any, **settings: Any) -> Path:
    image.save(path, **settings)
    return path


@pytest.mark.parametrize(("ending", "settings"), [("bmp", {}), ("webp", {"lossless": True}), ("png", {})])
def test_formats_that_keep_every_pixel(tmp_path: Path, ending: str, settings: dict[str, Any]) -> None:
    path = saved(tmp_path / f"a.{ending}", Image.fromarray(COLOURS), **settings)
    assert image_size(path) == (6, 8)
    np.testing.assert_array_equal(read_image(path, channels=3)[0], COLOURS)
    renamed = path.rename(tmp_path / "a.jpg")
    np.testing.assert_array_equal(read_image(renamed, channels=3)[0], COLOURS, err_msg="whatever it is called")


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_jpeg(tmp_path: Path, mode: str) -> None:
    smooth = np.linspace(0, 255, 64).reshape(8, 8, 1).repeat(3, axis=2).astype(np.uint8)
    path = saved(tmp_path / "a.jpeg", Image.fromarray(smooth).convert(mode), quality=95)
    for channels in (1, 3):
        np.testing.assert_allclose(read_image(path, channels=channels)[0], smooth[..., :channels], atol=8)


def test_the_first_picture_of_an_animation(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((4, 5), value, np.uint8)) for value in (50, 200)]
    for ending, settings in (("gif", {}), ("webp", {"lossless": True})):
        path = saved(tmp_path / f"a.{ending}", frames[0], save_all=True, append_images=frames[1:], **settings)
        np.testing.assert_array_equal(read_image(path), np.full((1, 4, 5, 1), 50.0))


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_what_is_transparent_is_black(tmp_path: Path, ending: str) -> None:
    clear = np.dstack([np.full((2, 2, 3), 255, np.uint8), np.array([[0, 255], [255, 0]], np.uint8)])
    path = saved(tmp_path / f"a.{ending}", Image.fromarray(clear), **({"lossless": True} if ending == "webp" else {}))
    np.testing.assert_array_equal(read_image(path, channels=3)[0, :, :, 0], [[0, 255], [255, 0]])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_photographs_are_turned_upright(tmp_path: Path, orientation: int) -> None:
    """By the table of EXIF 2.32, 4.6.4: where row 0 and column 0 of what is stored are."""
    upright = np.kron(np.arange(6).reshape(2, 3) * 40, np.ones((16, 16))).astype(np.uint8)
    turns: dict[int, Any] = {
        1: lambda a: a,
        2: np.fliplr,
        3: lambda a: np.rot90(a, 2),
        4: np.flipud,
        5: np.transpose,
        6: lambda a: np.rot90(a, 1),
        7: lambda a: np.rot90(np.transpose(a), 2),
        8: lambda a: np.rot90(a, -1),
    }
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = Image.fromarray(np.ascontiguousarray(turns[orientation](upright)))
    path = saved(tmp_path / "a.jpg", stored, exif=exif, quality=95)
    assert image_size(path) == upright.shape
    np.testing.assert_allclose(read_image(path)[0, :, :, 0], upright, atol=6)
    np.testing.assert_allclose(read_image(path, size=(32, 48))[0, :, :, 0], upright, atol=6)
    small = read_image(path, size=(2, 3), resize="crop")[0, :, :, 0]
    assert small.ravel().argsort().tolist() == [0, 1, 2, 3, 4, 5], "the six squares in their order"


@pytest.mark.parametrize(("height", "width"), [(8, 4), (4, 8), (8, 8), (8, 12)])
def test_the_middle_is_cut_out(tmp_path: Path, height: int, width: int) -> None:
    """Halved: each pixel is a weighted mean of those around it, and the middle of a linear ramp stays where it is."""
    rows, columns = np.mgrid[:height, :width]
    path = save(tmp_path / "a.png", (10 * rows + columns).astype(np.uint8))
    cut = read_image(path, size=4, resize="crop")[0, :, :, 0]
    assert cut.shape == (4, 4)
    side = min(height, width)
    top, left = (height - side) / 2, (width - side) / 2
    places = (np.arange(4) + 0.5) * side / 4 - 0.5
    ramp = 10 * (places[:, None] + top) + places[None] + left
    np.testing.assert_allclose(cut[1:-1, 1:-1], ramp[1:-1, 1:-1], atol=1.0)
    np.testing.assert_array_equal(cut, np.rint(cut))


def test_a_large_jpeg_is_unpacked_smaller_to_the_same_picture(tmp_path: Path) -> None:
    rows, columns = np.mgrid[:400, :600]
    smooth = (127 + 60 * np.sin(rows / 60) + 60 * np.cos(columns / 90)).astype(np.uint8)
    image = Image.fromarray(smooth)
    path = saved(tmp_path / "a.jpg", image, quality=95)
    expected = np.asarray(image.crop((100, 0, 500, 400)).resize((40, 40), Image.Resampling.BOX), np.float32)
    np.testing.assert_allclose(read_image(path, size=40, resize="crop")[0, :, :, 0], expected, atol=3)


def test_pillows_pixel_limit_stays_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "a.jpg", Image.fromarray(COLOURS))
    for most, message in (
        (47, r"a\.jpg: an image has 1 to 47 pixels, and at most 16384 in a row or column, got 6 x 8"),
        (20, r"a\.jpg: must"),
    ):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
        for read in (read_image, image_size):
            with pytest.raises(DataError, match=message):
                read(path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 48)
    assert read_image(path).shape == (1, 6, 8, 1)


@pytest.mark.parametrize("ending", ["jpg", "gif", "bmp", "webp"])
def test_damaged_files_of_every_format(tmp_path: Path, ending: str) -> None:
    content = saved(tmp_path / f"a.{ending}", Image.fromarray(COLOURS)).read_bytes()
    for length in (24, len(content) // 2):
        (tmp_path / f"b.{ending}").write_bytes(content[:length])
        with pytest.raises(DataError, match=rf"b\.{ending}: must be a whole image, got .*; save it anew"):
            read_image(tmp_path / f"b.{ending}", size=4, resize="crop")


def test_ways_to_resize_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="read_image: resize must be True, False or 'crop', got 'fit'"):
        read_image(save(tmp_path / "a.png", GREY), resize="fit")  # type: ignore[arg-type]


def test_a_photograph_is_an_input(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.JPG", Image.fromarray(COLOURS))
    assert read_inputs(path, 4, 4, 3, resize="crop").shape == (1, 4, 4, 3)
