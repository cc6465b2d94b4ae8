"""Weights by name, from a stand-in for the hub on this machine: what is asked for, what is refused, and that it is asked once."""

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import DataError
from typednn.models import GPT2, load_gpt2, save_gpt2

pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths that were asked for; the repository ann/small has a model in pieces of nothing else than it needs, and a README."""
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
            if self.path.startswith(("/api/models/ann/small/revision/main", f"/api/models/ann/small/revision/{COMMIT}")):
                files = [{"rfilename": path.name} for path in sorted((tmp_path / "repository").iterdir())]
                content = json.dumps({"id": "ann/small", "sha": COMMIT, "siblings": files}).encode()
            elif self.path.startswith(f"/api/models/ann/small/tree/{COMMIT}"):
                places = sorted((tmp_path / "repository").iterdir())
                listed = [{"type": "file", "path": path.name, "oid": "0" * 40, "size": path.stat().st_size} for path in places]
                content = json.dumps(listed).encode()
            elif self.path.startswith(f"/ann/small/resolve/{COMMIT}/"):
                content = (tmp_path / "repository" / self.path.rpartition("/")[2]).read_bytes()
                headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
            self.send_response(200 if content else 404)
            for name, value in headers.items():
                self.send_header(name, value)
            if not content:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", str(len(content)))
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
    with pytest.raises(DataError, match=f"^{name}: must be a repository of the hub that can be reached, got .+") as caught:
        load_gpt2(name)
    assert "\n" not in str(caught.value)


def test_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="hf://ann/small: must be a repository of the hub that can be reached, got "):
        load_gpt2("hf://ann/small")
