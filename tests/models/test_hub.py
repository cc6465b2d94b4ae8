"""Weights by name, from a stand-in for the hub on this machine: what is asked for, what is refused, and that it is
asked once.
"""

import hashlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import DataError
from typednn.models import GPT2, load_gpt2, save_gpt2

pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


# What a server that means harm, or a line that fails, makes of an answer: by the end of the path, the headers and the
# content.
Spoiled = Callable[[str, dict[str, str], bytes], tuple[int, dict[str, str], bytes]]
spoiled: list[Spoiled] = []


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths that were asked for; the repository ann/small has a model in pieces of nothing else than it needs, and
    a README.
    """
    model: GPT2 = GPT2(7, 6, 8, 1, 2, rng=np.random.default_rng(0))
    save_gpt2(model, tmp_path / "repository")
    (tmp_path / "repository" / "README.md").write_text("not needed")
    asked: list[str] = []

    class Hub(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            asked.append(self.path)
            content, headers = b"", {}
            if self.path.startswith(
                ("/api/models/ann/small/revision/main", f"/api/models/ann/small/revision/{COMMIT}")
            ):
                files = [{"rfilename": path.name} for path in sorted((tmp_path / "repository").iterdir())]
                content = json.dumps({"id": "ann/small", "sha": COMMIT, "siblings": files}).encode()
            elif self.path.startswith(f"/api/models/ann/small/tree/{COMMIT}"):
                places = sorted((tmp_path / "repository").iterdir())
                listed = [
                    {"type": "file", "path": path.name, "oid": "0" * 40, "size": path.stat().st_size} for path in places
                ]
                content = json.dumps(listed).encode()
            elif self.path.startswith(f"/ann/small/resolve/{COMMIT}/"):
                content = (tmp_path / "repository" / self.path.rpartition("/")[2]).read_bytes()
                headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
            code = 200 if content else 404
            for spoil in spoiled:
                code, headers, content = spoil(self.path, headers, content)
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            if not content:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", headers.get("Length", str(len(content))))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    yield asked
    spoiled.clear()
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_model_of_the_hub(served: list[str], tmp_path: Path) -> None:
    model, expected = load_gpt2("hf://ann/small"), load_gpt2(tmp_path / "repository")
    for name, array in expected.named_parameters().items():
        assert np.array_equal(array, model.named_parameters()[name]), name
    assert not any("README" in path for path in served)
    weights = [path for path in served if path.endswith("model.safetensors")]
    assert weights
    load_gpt2("hf://ann/small@main")
    assert [path for path in served if path.endswith("model.safetensors")] == weights, "downloaded once"


@pytest.mark.parametrize("name", ["hf://ann/missing", "hf://", "hf://a/b/c", "hf://ann/small@nowhere"])
def test_mistakes(served: list[str], name: str) -> None:
    with pytest.raises(
        DataError, match=f"^{name}: must be a repository of the hub that can be reached, got .+"
    ) as caught:
        load_gpt2(name)
    assert "\n" not in str(caught.value)


def test_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="hf://ann/small: must be a repository of the hub that can be reached, got "):
        load_gpt2("hf://ann/small")


def flipped(path: str, headers: dict[str, str], content: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, headers, content[:-1] + bytes([content[-1] ^ 1]) if path.endswith(".safetensors") else content


def truncated(path: str, headers: dict[str, str], content: bytes) -> tuple[int, dict[str, str], bytes]:
    whole = path.endswith(".safetensors")
    return (
        200,
        headers | ({"Length": str(len(content))} if whole else {}),
        content[: len(content) // 2] if whole else content,
    )


def to_a_file(path: str, headers: dict[str, str], content: bytes) -> tuple[int, dict[str, str], bytes]:
    return (302, {"Location": "file:///etc/passwd"}, b"") if "/resolve/" in path else (200, headers, content)


def out_of_the_cache(path: str, headers: dict[str, str], content: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, headers | ({"ETag": '"../../../../outside"'} if "ETag" in headers else {}), content


def listed_elsewhere(path: str, headers: dict[str, str], content: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, headers, content.replace(b"0" * 40, b"../outside") if "/tree/" in path else content


def other_json(path: str, headers: dict[str, str], content: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, headers, b'["a", 1]' if "/api/" in path else content


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            flipped,
            r"model\.safetensors must have the checksum [0-9a-f]{12}… that the hub states, got [0-9a-f]{12}…; "
            r"it was removed",
        ),
        (truncated, "must be a repository of the hub that can be reached, got "),
        (to_a_file, "must be a repository of the hub that can be reached, got a redirect to 'file:///etc/passwd'"),
        (out_of_the_cache, "got a name of a file's content that is none, '../../../../outside'"),
        (listed_elsewhere, "got a name of a file's content that is none, '../outside'"),
        (other_json, "must be a repository of the hub that can be reached, got "),
    ],
)
def test_a_server_that_means_harm(served: list[str], tmp_path: Path, spoil: Spoiled, said: str) -> None:
    """One error, nothing outside of the cache; and the server that is right again is asked again."""
    spoiled.append(spoil)
    with pytest.raises(DataError, match=f"^hf://ann/small: .*{said}"):
        load_gpt2("hf://ann/small")
    assert not list(tmp_path.rglob("*outside*"))
    spoiled.clear()
    load_gpt2("hf://ann/small")


def test_a_cache_that_was_damaged(served: list[str], tmp_path: Path) -> None:
    load_gpt2("hf://ann/small")
    (stored,) = (tmp_path / "cache").rglob("*.safetensors")
    stored.write_bytes(stored.read_bytes()[:-1] + b"?")
    with pytest.raises(DataError, match="it was removed from the cache: try again"):
        load_gpt2("hf://ann/small")
    load_gpt2("hf://ann/small")
