"""Requests to a served run, within this process: answers equal those of the run, and whatever is wrong is one error in
JSON.
"""

import asyncio
import json
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from typednn.errors import ArgumentError, DataError
from typednn.html import png
from typednn.recipes import Predictor
from typednn.serving import application, create_app
from typednn.serving.batches import Batches

JSON = {"content-type": "application/json"}


def client_of(predictor: Predictor, **options: Any) -> TestClient:
    return TestClient(create_app(predictor, **options), base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture
def house(houses: Predictor) -> TestClient:
    return client_of(houses)


@pytest.fixture
def picture(pictures: Predictor) -> TestClient:
    return client_of(pictures)


def refused(response: Any, status: int, *parts: str) -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    (message,) = response.json().values()
    assert list(response.json()) == ["error"]
    assert "Traceback" not in message
    for part in parts:
        assert part in message


# ------------------------------------------------------------------------------------------------------------ answers


def test_rows(house: TestClient, houses: Predictor, kinds: Predictor) -> None:
    rows = [{"area": 95, "year": 1990}, {"year": 1920, "area": 41.5}]
    wanted = [answer.as_json() for answer in houses.predict(rows)]
    for data in (rows, [[95, 1990], [41.5, 1920]]):
        assert house.post("/predict", json=data).json() == {"predictions": wanted}
    alone = houses.predict(rows[0])[0].as_json()
    assert house.post("/predict", json=rows[0]).json() == {"predictions": [alone]}
    told = client_of(kinds).post("/predict", json=rows).json()
    assert told == {"predictions": [answer.as_json() for answer in kinds.predict(rows)]}
    assert list(told["predictions"][0]) == ["label", "name", "probabilities"]
    assert house.get("/health").json() == {"status": "ok"}


def test_images(picture: TestClient, pictures: Predictor) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (28, 28, 1), dtype=np.uint8)
    content = png(pixels)
    wanted = pictures.predict(content)[0].as_json()
    for kind in ("image/png", "application/octet-stream", "image/jpeg; name=x", "IMAGE/PNG"):
        response = picture.post("/predict", content=content, headers={"content-type": kind})
        assert response.json()["predictions"] == [wanted]
    assert picture.post("/predict", json=pixels.tolist()).json()["predictions"] == [wanted]
    bright = png(255 - pixels // 8)
    told = picture.post("/predict", content=bright, headers={"content-type": "image/png"}).json()
    assert "looks dark on light" in told["remark"]
    inverted = picture.post("/predict?invert=1", content=bright, headers={"content-type": "image/png"}).json()
    assert inverted == {"predictions": [pictures.predict(bright, invert=True)[0].as_json()]}


def test_texts_and_language(texts: Predictor, speaker: Predictor) -> None:
    told = client_of(texts).post("/predict", json=["3141", "abc"]).json()
    assert told == {"predictions": [answer.as_json() for answer in texts.predict(["3141", "abc"])]}
    client = client_of(speaker)
    told = client.post("/predict", json={"prompt": "12", "max_new_tokens": 9, "temperature": 0.5, "seed": 4}).json()
    assert told == {"text": speaker.generate("12", 9, temperature=0.5, seed=4)}
    for wrong, part in (
        ({"prompt": 7}, "got a prompt that is none"),
        ({"promt": "a"}, "got 'promt'"),
        (["a"], "got list"),
        ({"prompt": "1", "max_new_tokens": 100_000}, "max_new_tokens is an integer from 0 to 1024, got 100000"),
        ({"prompt": "1", "max_new_tokens": "9"}, "max_new_tokens is an integer"),
        ({"prompt": "1", "temperature": "hot"}, "temperature"),
        ({"prompt": "1", "top_k": -1}, "top_k"),
        ({"prompt": "1", "top_p": []}, "top_p"),
        ({"prompt": "1", "seed": "x"}, "seed"),
        ({"prompt": "1", "seed": -1}, "seed"),
        ({"prompt": "€"}, "the vocabulary has the"),
        ({"prompt": "\ud800"}, ""),
        ({"prompt": ""}, "a text begins with a prompt"),
    ):
        refused(client.post("/predict", content=json.dumps(wrong), headers=JSON), 400, part)


def test_the_page(house: TestClient) -> None:
    page = house.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "<label>area<input" in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text


# ----------------------------------------------------------------------------------------------------- hostile inputs


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "the body is JSON, got nothing"),
        (b"{", "the body is JSON, got "),
        (b"[1, 2] and more", "the body is JSON, got Extra data"),
        (b"\xff\xfe\xfd", "the body is JSON, got bytes that are no UTF-8"),
        (b"[" * 100_000, "lists too deep"),
        (b'{"a":' * 100_000, "lists too deep"),
        (b"[" * 500 + b"]" * 500, ""),
        (b"[NaN, 1]", "got NaN, which JSON has not"),
        (b"[1, -Infinity]", "got -Infinity, which JSON has not"),
        (b"[1, 1e999]", "row 1, column 'year' must be a finite number, got inf"),
        (b"[1, " + b"9" * 4000 + b"]", "row 1, column 'year' must be a finite number, got 999"),
        (b"[1, " + b"9" * 10_000 + b"]", "the body is JSON, got "),
        (b"null", "got NoneType"),
        (b"true", "got bool"),
        (b"7", "got int"),
        (b'"/etc/passwd"', "got str"),
        (b'["/etc/passwd", "../x"]', "row 1, column 'area' must be a finite number, got '/etc/passwd'"),
        (b"[]", "got none"),
        (b"[[]]", "row 1 must hold 2 numbers"),
        (b"[{}]", "row 1, column 'area' must be a finite number, got nothing"),
        (b'{"area": 1, "year": [1990]}', "column 'year' must be a finite number, got [1990]"),
        (b'{"area": 1, "year": {"a": 1}}', "column 'year' must be a finite number"),
        (b'{"area": 1, "year": "1990; drop"}', "column 'year' must be a finite number, got '1990; drop'"),
        (b'{"area": 1, "year": 2, "__class__": 3}', "must have the columns area, year, got '__class__'"),
        (b'{"area": 1, "year": 2, "\\ud800": 3}', r"got '\ud800'"),
        (b'{"area": 1, "year": 2, "\\u001b[2J": 3}', "got '\\x1b[2J'"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bodies_that_are_wrong(house: TestClient, body: bytes, part: str) -> None:
    refused(house.post("/predict", content=body, headers=JSON), 400, part)
    assert house.post("/predict", json=[95, 1990]).status_code == 200


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_body_is_answered(house: TestClient, body: bytes) -> None:
    response = house.post("/predict", content=body, headers=JSON)
    assert response.status_code in (200, 400)
    assert list(response.json()) == ["predictions" if response.status_code == 200 else "error"]


def a_png(width: int, height: int, data: bytes = b"") -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "must be a PNG, JPEG, GIF, BMP or WebP image"),
        (b"<svg onload='alert(1)'/>" + bytes(20), "must be a PNG, JPEG, GIF, BMP or WebP image"),
        (png(np.zeros((28, 28, 1), np.uint8))[:50], "must be a whole image"),
        (a_png(2**31 - 1, 2**31 - 1), "an image has 1 to"),
        (a_png(16_000, 16_000, zlib.compress(bytes(10**6))), "an image has 1 to"),
        (a_png(0, 5), "an image has 1 to"),
        (a_png(4000, 4000, zlib.compress(bytes(100))), "must be a whole image"),
        (b"\xff\xd8\xff\xe0" + bytes(40), "must be a whole image"),
        (b"BM" + bytes(60), "must be a whole image"),
    ],
    ids=["empty", "svg", "truncated", "huge", "large", "none", "bomb", "jpeg", "bmp"],
)
def test_images_that_are_wrong(picture: TestClient, content: bytes, part: str) -> None:
    refused(picture.post("/predict", content=content, headers={"content-type": "image/png"}), 400, part)


def test_content_types(house: TestClient, picture: TestClient) -> None:
    """Those that a page of another site may send without asking are not taken."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "image/png", ""):
        refused(house.post("/predict", content=b"[1, 2]", headers={"content-type": kind}), 415, "application/json, got")
    refused(picture.post("/predict", content=b"x", headers={"content-type": "text/plain"}), 415, "or that of an image")
    refused(house.post("/predict", content=b"[1, 2]"), 415, "got none")
    assert house.post(
        "/predict", content=b"[1, 2]", headers={"content-type": "Application/JSON; charset=utf-8"}
    ).is_success


def test_sizes(houses: Predictor) -> None:
    client = client_of(houses, most_bytes=1000, most_rows=3)
    assert client.post("/predict", json=[[1, 2]] * 3).is_success
    refused(client.post("/predict", json=[[1, 2]] * 4), 400, "a request has at most 3 rows, got 4")
    assert client.post("/predict", content=b"[1, 2" + b" " * 994 + b"]", headers=JSON).is_success
    refused(client.post("/predict", content=b"[1, 2" + b" " * 995 + b"]", headers=JSON), 413, "at most 1,000 bytes")

    def endless() -> Iterator[bytes]:
        for _ in range(10_000):
            yield b" " * 100

    refused(client.post("/predict", content=endless(), headers=JSON), 413, "at most 1,000 bytes")
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ArgumentError, match="serve: most_rows must be an integer of at least 1"):
            create_app(houses, most_rows=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path", ["/x", "/predict/", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/recipe.json", "/%1b[2J"]
)
def test_other_paths(house: TestClient, path: str) -> None:
    refused(house.get(path, follow_redirects=False), 404, "there is GET /, POST /predict and GET /health")


def test_other_methods(house: TestClient) -> None:
    for method in ("GET", "PUT", "DELETE", "OPTIONS", "PATCH"):
        response = house.request(method, "/predict")
        refused(response, 405, f"takes another method, got {method}; use POST")
        assert response.headers["allow"] == "POST"
    refused(house.post("/health"), 405, "use GET")


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost", True),
        ("LOCALHOST:8000", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("192.168.1.7", True),
        ("models.example", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example:8000", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("[", False),
        ("", False),
    ],
)
def test_hosts(houses: Predictor, host: str, known: bool) -> None:
    """Whose name was made to lead here calls by that name."""
    client = client_of(houses, hosts=["Models.example"])
    response = client.get("/health", headers={"host": host})
    assert response.is_success if known else refused(response, 400, "Host: is localhost, an address, or a name") is None
    assert client_of(houses, hosts=["*"]).get("/health", headers={"host": host}).is_success


def test_another_sites_page(house: TestClient) -> None:
    for origin in ("http://evil.example", "null", "http://localhost.evil.example", "http://localhost:1", "://["):
        refused(house.post("/predict", json=[1, 2], headers={"origin": origin}), 403, "Origin: a page of another site")
    assert house.post("/predict", json=[1, 2], headers={"origin": "http://localhost"}).is_success
    assert "access-control-allow-origin" not in house.get("/health", headers={"origin": "http://evil.example"}).headers


def test_a_body_that_does_not_come(houses: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "_PATIENCE", 0.05)

    async def ask() -> list[Any]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            if not sent and not asked:
                asked.append(1)
                return {"type": "http.request", "body": b"[1,", "more_body": True}
            await asyncio.sleep(60)
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        asked: list[int] = []
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/predict",
            "raw_path": b"/predict",
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
            "http_version": "1.1",
            "scheme": "http",
        }
        await create_app(houses)(scope, receive, send)
        return sent

    start, body = asyncio.run(ask())
    assert start["status"] == 408
    assert "a body arrives within 0.05 seconds, got 3 bytes until then" in json.loads(body["body"])["error"]


def test_too_many_at_once(house: TestClient, houses: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many requests without an answer the next is refused, and then again taken."""
    monkeypatch.setattr(application, "_AT_ONCE", 2)
    going, started = threading.Event(), threading.Semaphore(0)
    real = Predictor.answers

    def slow(self: Predictor, *args: Any, **named: Any) -> Any:
        started.release()
        assert going.wait(30)
        return real(self, *args, **named)

    with client_of(houses) as client:
        monkeypatch.setattr(Predictor, "answers", slow)
        found: list[int] = []

        def asks() -> None:
            status = 503
            while status == 503:  # for the second, the first and a look below may be two
                status = client.post("/predict", json=[1, 2]).status_code
            found.append(status)

        threads = [threading.Thread(target=asks) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert started.acquire(timeout=30)
        for _ in range(3000):  # until the second has come
            response = client.get("/health")
            if response.status_code != 200:
                break
            time.sleep(0.01)
        going.set()
        refused(response, 503, "requests wait for one another, got 2 that are not yet answered; try again")
        assert response.headers["retry-after"] == "1"
        for thread in threads:
            thread.join(30)
        assert found == [200, 200]
        assert client.get("/health").is_success


def test_faults_of_the_server(house: TestClient, houses: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Predictor, "answers", lambda *_, **__: 1 / 0)
        refused(house.post("/predict", json=[1, 2]), 500, "got a ZeroDivisionError of the server")
    with monkeypatch.context() as patched:
        patched.setattr(Predictor, "inputs", lambda *_, **__: exec("raise MemoryError"))
        refused(house.post("/predict", json=[1, 2]), 500, "got a MemoryError of the server")
    broken = {name: np.full_like(array, np.nan) for name, array in houses.model.state_dict().items()}
    kept = {name: array.copy() for name, array in houses.model.state_dict().items()}
    try:
        houses.model.load_state_dict(broken)
        refused(house.post("/predict", json=[1, 2]), 500, "the model gives finite numbers, got NaN or infinity")
    finally:
        houses.model.load_state_dict(kept)
    assert house.post("/predict", json=[1, 2]).is_success


# ------------------------------------------------------------------------------------------------------------ batches


def test_what_waits_is_one_batch() -> None:
    """While one batch is computed the others gather; each gets its own answer, or its own error."""
    batches: list[list[int]] = []
    going = threading.Event()

    def compute(asked: Sequence[int]) -> list[int | Exception]:
        batches.append(list(asked))
        assert going.wait(30)
        return [DataError(f"not {number}") if number == 5 else number**2 for number in asked]

    async def ask() -> list[Any]:
        gathered = Batches(compute, 4)
        tasks = [asyncio.create_task(gathered.answer(number)) for number in range(1)]
        while not batches:
            await asyncio.sleep(0.001)
        tasks += [asyncio.create_task(gathered.answer(number)) for number in range(1, 8)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        going.set()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)

    answers = asyncio.run(ask())
    assert batches == [[0], [1, 2, 3, 4], [5, 6, 7]]
    assert isinstance(answers[2], asyncio.CancelledError)
    assert str(answers[5]) == "not 5"
    assert [answers[number] for number in (0, 1, 3, 4, 6, 7)] == [0, 1, 9, 16, 36, 49]


def test_a_batch_that_fails() -> None:
    """All of it are told; the next may do better."""

    def compute(asked: Sequence[int]) -> list[int | Exception]:
        if asked == [0]:
            raise RuntimeError("no")
        return [*asked]

    async def ask() -> list[Any]:
        gathered = Batches(compute, 1)
        return await asyncio.gather(*(gathered.answer(number) for number in range(3)), return_exceptions=True)

    first, *others = asyncio.run(ask())
    assert isinstance(first, RuntimeError)
    assert others == [1, 2]


def test_one_wrong_request_among_others(houses: Predictor) -> None:
    """Its error is its own; the others have their answers."""
    rows = [[95.0 + number, 1990] for number in range(12)]
    wanted = [houses.predict(row)[0].values for row in rows]
    found: dict[int, Any] = {}
    with client_of(houses) as client:

        def ask(number: int) -> None:
            data = [1, "x"] if number == 7 else rows[number]
            found[number] = client.post("/predict", json=data)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    refused(found.pop(7), 400, "got 'x'")
    for number, response in found.items():
        assert response.json()["predictions"][0]["values"] == pytest.approx(wanted[number], rel=1e-5)
