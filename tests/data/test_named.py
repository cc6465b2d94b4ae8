"""Data sets by name: where they are looked for, in which order, and how they are fetched."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_data import cifar_archive, small_cifar
from small_data import write_small_mnist as write_small

import typednn.data.named as named
from typednn.data import (
    DATASETS,
    PIXELS,
    Dataset,
    cache_folder,
    class_names,
    find,
    load,
    load_pixels,
    source_folder,
    spiral,
)
from typednn.errors import ArgumentError, DataError


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data set anywhere but in the test's own folder."""
    monkeypatch.delenv("TYPEDNN_DATA", raising=False)
    monkeypatch.delenv("TYPEDNN_MIRROR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(named, "__file__", str(tmp_path / "a" / "b" / "c.py"))


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An address that serves small sets; their checksums are known for as long."""
    root = tmp_path / "served"
    write_small(root / "mnist")
    write_small(root / "fashion-mnist")
    (root / "cifar-10").mkdir()
    (root / "cifar-10" / "cifar-10-binary.tar.gz").write_bytes(cifar_archive(small_cifar()))
    for text, files in {"tinyshakespeare": ("input.txt",), "gpt2-bpe": ("vocab.json", "merges.txt")}.items():
        (root / text).mkdir()
        for file in files:
            (root / text / file).write_text(file)
    sources = {}
    for name, source in named._SOURCES.items():
        sums = {
            file: f"sha256:{hashlib.sha256((root / name / file).read_bytes()).hexdigest()}" for file in source.files
        }
        sources[name] = named._Source(source.address, sums, source.is_in, source.read)
    monkeypatch.setattr(named, "_SOURCES", sources)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


SIZES = {"mnist": (6, 28, 28, 1), "fashion-mnist": (6, 28, 28, 1), "cifar-10": (20, 32, 32, 3)}


@pytest.mark.parametrize("name", sorted(SIZES))
def test_fetched_once_and_kept(name: str, mirror: str, tmp_path: Path) -> None:
    """Z-S1: downloads."""
    assert find(name) is None
    assert load(name, mirror=mirror).train_images.shape == SIZES[name]
    assert find(name) == cache_folder() / name == tmp_path / "cache" / "typednn" / name
    assert load(name, mirror="http://127.0.0.1:1", download=False).train_images.shape == SIZES[name]
    assert not list(cache_folder().rglob("*.part"))


@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_same_in_bytes(name: str, mirror: str) -> None:
    data, pixels = load(name, mirror=mirror), load_pixels(name)
    assert pixels.train_images.dtype == np.uint8
    np.testing.assert_array_equal(pixels.train_images, data.train_images)
    np.testing.assert_array_equal(pixels.test_images, data.test_images)
    np.testing.assert_array_equal(pixels.test_labels, data.test_labels)


def test_only_sets_with_files_have_bytes() -> None:
    assert sorted(PIXELS) == sorted(SIZES)
    with pytest.raises(
        ArgumentError, match="load_pixels: name must be one of 'mnist', 'fashion-mnist', 'cifar-10', got 'digits'"
    ):
        load_pixels("digits")


def test_the_environment_names_a_mirror(mirror: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPEDNN_MIRROR", mirror.rstrip("/"))
    assert isinstance(load("mnist"), Dataset)


def test_altered_files_are_not_kept(mirror: str, tmp_path: Path) -> None:
    served = tmp_path / "served" / "mnist" / "t10k-images-idx3-ubyte.gz"
    content = served.read_bytes()
    served.write_bytes(content[:-1] + b"!")
    with pytest.raises(
        DataError, match=r"mnist/t10k-images-idx3-ubyte\.gz: t10k-images-idx3-ubyte\.gz must have the sha256 .*, got"
    ):
        load("mnist", mirror=mirror)
    assert find("mnist") is None, "half of a download is no data set"
    assert not (cache_folder() / "mnist" / served.name).exists()
    served.write_bytes(content)
    assert len(load("mnist", mirror=mirror).test_images) == 3


def test_a_folder_is_looked_at_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_small(tmp_path / "mine" / "mnist")
    monkeypatch.setenv("TYPEDNN_DATA", str(tmp_path / "mine"))
    for place in (folder, folder.parent, str(folder)):
        assert len(load("mnist", place).train_images) == 6
    with pytest.raises(
        DataError, match=r"load\('mnist'\): .*here or its subfolder mnist must hold train-images.*, got no such files"
    ):
        load("mnist", tmp_path / "here")


def test_the_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = write_small(tmp_path / "cache" / "typednn" / "mnist")
    assert find("mnist") == cached
    beside_file = write_small(tmp_path / "shared" / "data" / "mnist")  # of the repository, and of the current folder
    assert find("mnist") == beside_file
    told = write_small(tmp_path / "told")
    monkeypatch.setenv("TYPEDNN_DATA", str(told))
    assert find("mnist") == told
    within = write_small(told / "mnist")
    assert find("mnist") == within


def test_fashion_is_not_taken_for_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sets have the same file names: a folder that holds them directly must say by its name which it is."""
    for folder, name in (
        ("mnist", "mnist"),
        ("numbers", "mnist"),
        ("Fashion-MNIST", "fashion-mnist"),
        ("my fashion", "fashion-mnist"),
    ):
        monkeypatch.setenv("TYPEDNN_DATA", str(write_small(tmp_path / "sets" / folder)))
        other = {"mnist": "fashion-mnist", "fashion-mnist": "mnist"}[name]
        assert find(name) is not None
        assert find(other) is None
    monkeypatch.setenv("TYPEDNN_DATA", str(tmp_path / "sets"))
    (tmp_path / "sets" / "Fashion-MNIST").rename(tmp_path / "sets" / "fashion-mnist")
    assert find("fashion-mnist") == tmp_path / "sets" / "fashion-mnist"
    assert find("cifar-10") is None


def test_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        DataError, match=r"load\('cifar-10'\): needs a local copy, got none; set TYPEDNN_DATA to a folder that has it"
    ):
        load("cifar-10", download=False)
    with pytest.raises(DataError, match="must be reachable, got Connection refused; is there a network"):
        load("cifar-10", mirror="http://127.0.0.1:1")


def test_sets_that_need_no_files() -> None:
    data = load("spiral")
    assert (data.train_images.shape, data.test_images.shape, data.classes) == ((300, 1, 1, 2), (300, 1, 1, 2), 3)
    for images, labels, seed in (
        (data.train_images, data.train_labels, 1984),
        (data.test_images, data.test_labels, 2020),
    ):
        places, arms = spiral(3, 100, np.random.default_rng(seed))
        np.testing.assert_array_equal(images.reshape(-1, 2), places)
        np.testing.assert_array_equal(labels, arms)
    assert find("spiral") is None
    pytest.importorskip("sklearn")
    assert load("digits").train_images.shape == (1438, 28, 28, 1)


def test_names() -> None:
    assert DATASETS == ("mnist", "fashion-mnist", "cifar-10", "digits", "spiral")
    assert [len(class_names(name)) for name in DATASETS] == [10, 10, 10, 10, 3]
    assert class_names("cifar-10")[3] == "cat"
    for call in (load, find, class_names):
        others = ", 'tinyshakespeare', 'gpt2-bpe'" if call is find else ""
        with pytest.raises(
            ArgumentError,
            match=f"name must be one of 'mnist', 'fashion-mnist', 'cifar-10', 'digits', 'spiral'{others}, got "
            "'imagenet'",
        ):
            call("imagenet")


@pytest.mark.parametrize(("name", "file"), [("tinyshakespeare", "input.txt"), ("gpt2-bpe", "merges.txt")])
def test_texts_and_vocabularies_are_fetched_once(mirror: str, name: str, file: str) -> None:
    with pytest.raises(DataError, match="needs a local copy"):
        source_folder(name, download=False)
    place = source_folder(name, mirror=mirror)
    assert (place / file).read_text() == file
    assert source_folder(name, download=False) == find(name) == place


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for told in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", told)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder() == tmp_path / ".cache" / "typednn"


def test_addresses_and_checksums() -> None:
    """Public addresses, over https where there is one, and a checksum for every file."""
    for source in named._SOURCES.values():
        assert source.address.startswith(("https://", "http://fashion-mnist.s3-website."))
        for checksum in source.files.values():
            kind, _, digits = checksum.partition(":")
            assert len(bytes.fromhex(digits)) == {"md5": 16, "sha256": 32}[kind]
