"""``typednn serve`` in a process of its own, asked over loopback; and clients that keep it waiting."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.cli.conftest import environment
from typednn.cli import main
from typednn.errors import DataError
from typednn.html import png
from typednn.recipes import Predictor
from typednn.serving import create_app, server

JSON = {"content-type": "application/json"}


@contextmanager
def served(*arguments: str | Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The process, and its address."""
    command = [sys.executable, "-W", "error", "-m", "typednn", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(
        command, env=environment(TYPEDNN_ENGINE="reference"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.communicate(timeout=30)
        yield process, address
    finally:
        process.kill()
        process.communicate(timeout=30)


def asked(address: str, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_the_command(houses: Predictor, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Predictions over loopback are those of `typednn predict`; it lives on after what is hostile, and ends at once."""
    (tmp_path / "new.csv").write_text("year,area\n1990,95\n1920,41.5\n")
    assert main(["predict", str(houses.folder), str(tmp_path / "new.csv"), "--json"]) == 0
    wanted = [json.loads(line)["values"] for line in capsys.readouterr().out.splitlines()]
    with served(houses.folder) as (process, address):
        body = json.dumps([{"area": 95, "year": 1990}, {"area": 41.5, "year": 1920}]).encode()
        status, told = asked(address, "POST", "/predict", body, JSON)
        assert status == 200
        np.testing.assert_allclose([one["values"] for one in told["predictions"]], wanted, rtol=1e-6)
        for body, headers, expected in (
            (b"[" * 10**6, JSON, 400),
            (b"x" * (11 << 20), JSON, 413),
            (b"[1, 2]", JSON | {"host": "evil.example"}, 400),
            (b"[1, 2]", JSON | {"origin": "http://evil.example"}, 403),
            (b"a=1", {}, 415),
        ):
            status, told = asked(address, "POST", "/predict", body, headers)
            assert (status, list(told)) == (expected, ["error"])
        for raw in (b"\x16\x03\x01\x02" * 20, b"GET / HTTP/1.1\r\n" + b"a" * 100_000, b"POST /predict HTTP/9\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0), 30) as raw_socket:
                raw_socket.sendall(raw)
                assert b" 400 " in raw_socket.recv(1000)
        assert asked(address, "GET", "/health") == (200, {"status": "ok"})
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 130
        assert errors.splitlines()[-1] == "stopped"
        assert "Traceback" not in errors


def test_an_image_by_its_bytes(pictures: Predictor, tmp_path: Path) -> None:
    content = png(np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8))
    (wanted,) = pictures.predict(content)
    with served(pictures.folder) as (process, address):
        status, told = asked(address, "POST", "/predict", content, {"content-type": "image/png"})
        assert status == 200
        assert told["predictions"][0]["probabilities"] == pytest.approx(wanted.as_json()["probabilities"], abs=1e-6)
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode in (-signal.SIGTERM, 143)


def test_what_has_begun_is_answered(speaker: Predictor) -> None:
    """A signal ends the server behind the answer to a request that it has read."""
    with served(speaker.folder) as (process, address):
        found: list[Any] = []
        body = json.dumps({"prompt": "1", "max_new_tokens": 600}).encode()
        thread = threading.Thread(target=lambda: found.append(asked(address, "POST", "/predict", body, JSON)))
        thread.start()
        time.sleep(0.2)
        process.terminate()
        thread.join(60)
        process.communicate(timeout=30)
    assert found[0][0] == 200
    assert len(found[0][1]["text"]) == 601


@contextmanager
def listening(houses: Predictor, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server in a thread, whose patience is short; its port."""
    import uvicorn

    monkeypatch.setattr(server, "_TICK", 0.1)
    ports, kept = [0], list[uvicorn.Server]()
    ready = threading.Event()
    real = uvicorn.Server.run

    def run(self: uvicorn.Server, sockets: Any = None) -> None:
        kept.append(self)
        real(self, sockets)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    monkeypatch.setattr(uvicorn.Server, "capture_signals", lambda self: contextmanager(lambda: iter([None]))())

    def told(address: str) -> None:
        ports[0] = urlsplit(address).port or 0
        ready.set()

    app = create_app(houses, most_bytes=100_000_000)
    thread = threading.Thread(target=server.serve, args=(app, "127.0.0.1", 0, told))
    thread.start()
    assert ready.wait(30)
    try:
        yield ports[0]
    finally:
        while not kept:
            time.sleep(0.01)
        kept[0].should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def closed(connection: socket.socket) -> bool:
    """Whether the server ends the connection, within seconds."""
    connection.settimeout(20)
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET /health HTTP/1.1\r\nho",
        b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\nx",
    ],
    ids=["nothing", "a part of a head", "a part of a second head", "not the rest of what was answered"],
)
def test_a_client_that_sends_no_more(houses: Predictor, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    with listening(houses, monkeypatch) as port, socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(sent)
        assert closed(connection)
        assert asked(f"http://127.0.0.1:{port}", "GET", "/health") == (200, {"status": "ok"})


def test_a_client_that_takes_no_answer(houses: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for the page again and again, and reads nothing: the server waits for it, and then no longer."""
    requests = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1_000_000
    with listening(houses, monkeypatch) as port, socket.create_connection(("127.0.0.1", port), 30) as connection:
        with pytest.raises(ConnectionError):
            connection.sendall(requests)
        assert asked(f"http://127.0.0.1:{port}", "GET", "/health") == (200, {"status": "ok"})


def test_a_patient_client_is_kept(houses: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that asks, waits, and asks again."""
    with listening(houses, monkeypatch) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for _ in range(3):
            connection.request("POST", "/predict", b"[1, 2]", JSON)
            assert connection.getresponse().read().startswith(b'{"predictions"')
            time.sleep(0.5)
        connection.close()


def test_addresses_that_cannot_be_had(houses: Predictor, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", str(houses.folder), "--port", str(port)]) == 1
        told = capsys.readouterr().err
        assert (
            f"typednn serve: 127.0.0.1:{port}: must be an address to listen on, got Address already in use; choose"
            in told
        )
    for host in ("999.1.1.1", "no such host", "\ud800", "a" * 300, "::zz"):
        with pytest.raises(DataError, match="must be an address to listen on, got"):
            server.serve(create_app(houses), host, 0, lambda _: None)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--port", "70000"], "a port, 0 to 65535, got '70000'"),
        (["--port", "-1"], "a port, 0 to 65535, got '-1'"),
        (["--max-rows", "0"], "at least 1, got '0'"),
        (["--bind", "x"], "no option '--bind'"),
    ],
)
def test_a_wrong_command_line(options: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "nowhere", *options])
    assert ended.value.code == 2
    assert part in capsys.readouterr().err


def test_without_the_extra() -> None:
    program = (
        "import sys; sys.modules['uvicorn'] = None\nfrom typednn.cli import main\nsys.exit(main(['serve', 'nowhere']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 1
    assert "needs starlette and uvicorn, got no module named 'uvicorn'; " in done.stderr
    assert "typednn[serve]" in done.stderr
    assert "Traceback" not in done.stderr
