"""The answers to requests: an ASGI application for the trained model of a run.

    GET  /          a page, to try the model in a browser
    POST /predict   JSON that `Predictor.predict` takes, or an image's bytes: {"predictions": [{…}, …]}
                    of a language model {"prompt": "…"}, with the arguments of `Predictor.generate`: {"text": "…"}
    GET  /health    {"status": "ok"}

Whatever a request holds, it is answered: {"error": "where: rule, got …; cure"} and a status of 400 to 503. Bodies are
bounded in bytes, in rows and in time, and so is the number of requests at once. A request from another site's page is
refused, by its ``Origin`` and by its content type, of which browsers ask first; so is one by a host name that was not
told, behind which another site may hide (DNS rebinding).
"""

import ipaddress
import json
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, Never, final
from urllib.parse import urlsplit

import anyio
import numpy as np
import numpy.typing as npt
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from typednn.arguments import integer
from typednn.errors import ArgumentError, DataError, TypednnError, explain, listed
from typednn.files import as_object
from typednn.recipes import Predictor
from typednn.serving.batches import Batches
from typednn.serving.page import POLICY, page_of
from typednn.tasks import Answer, Estimate

MOST_BYTES: Final = 10 << 20
MOST_ROWS: Final = 10_000
_MOST_TOKENS = 1024  # that one request may have drawn
_AT_ONCE = 64  # requests whose bodies are held
_PATIENCE = 30.0  # seconds for a body to arrive
_OPTIONS = ("prompt", "max_new_tokens", "temperature", "top_k", "top_p", "seed")


def create_app(
    predictor: Predictor, *, most_bytes: int = MOST_BYTES, most_rows: int = MOST_ROWS, hosts: Collection[str] = ()
) -> Starlette:
    """The application, which computes in a thread beside the one that listens, one batch at a time (`Batches`).
    Kernels are compiled before it is there.

    ``most_bytes`` and ``most_rows`` bound what a request holds. ``hosts`` are names by which it may be called, besides
    ``localhost`` and addresses; ``"*"`` is any.
    """
    predictor.warm_up()
    service = _Service(predictor, integer("serve", "most_bytes", most_bytes), integer("serve", "most_rows", most_rows))
    app = Starlette(
        routes=[
            Route("/", service.page),
            Route("/predict", service.predict, methods=["POST"]),
            Route("/health", service.health),
        ],
        middleware=[Middleware(_Guard, hosts=frozenset(name.lower() for name in hosts))],
        exception_handlers={TypednnError: _refused, HTTPException: _no_route, Exception: _failed},
    )
    app.router.redirect_slashes = False  # /predict/ is another path
    return app


@final
class _Asked(NamedTuple):
    """A request: its body, whether that is an image, and whether it is dark on light."""

    body: bytes
    image: bool
    invert: bool


@final
class _Service:
    """The endpoints."""

    def __init__(self, predictor: Predictor, most_bytes: int, most_rows: int) -> None:
        self._predictor = predictor
        self._bytes = most_bytes
        self._rows = most_rows
        self._page = page_of(predictor)
        self._batches = Batches(self._answers, 1 if predictor.reads == "prompt" else _AT_ONCE)

    async def page(self, request: Request) -> Response:
        headers = {"content-security-policy": POLICY, "x-content-type-options": "nosniff"}
        return Response(self._page, media_type="text/html", headers=headers)

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def predict(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        reads = self._predictor.reads
        image = reads == "image" and (kind.startswith("image/") or kind == "application/octet-stream")
        if not image and kind != "application/json":
            rule = "the content type is application/json" + (", or that of an image" if reads == "image" else "")
            return _error(415, explain("POST /predict", rule, kind or "none", "name it in the header content-type"))
        body = await self._body(request)
        invert = request.query_params.get("invert", "").lower() in ("1", "true", "yes")
        return Response(await self._batches.answer(_Asked(body, image, invert)), media_type="application/json")

    async def _body(self, request: Request) -> bytes:
        """The body, of which no more is read than may be."""
        body = bytearray()
        try:
            with anyio.fail_after(_PATIENCE):
                async for piece in request.stream():
                    body += piece
                    if len(body) > self._bytes:
                        rule = f"a body has at most {self._bytes:,} bytes"
                        raise HTTPException(413, explain("POST /predict", rule, "more", "send fewer rows at a time"))
        except TimeoutError:
            rule = f"a body arrives within {_PATIENCE:g} seconds"
            got = f"{len(body):,} bytes until then"
            raise HTTPException(408, explain("POST /predict", rule, got)) from None
        return bytes(body)

    def _answers(self, batch: Sequence[_Asked]) -> list[bytes | Exception]:
        """The answer to each request as JSON, or its own error."""
        if self._predictor.reads == "prompt":
            return [json.dumps({"text": _written(self._predictor, _parsed(one.body))}).encode() for one in batch]
        read = [self._inputs(one) for one in batch]
        inputs = [one[0] for one in read if not isinstance(one, Exception)]
        answers = iter(self._predictor.answers(np.concatenate(inputs)) if inputs else ())
        return [one if isinstance(one, Exception) else _told([*islice(answers, len(one[0]))], one[1]) for one in read]

    def _inputs(self, one: _Asked) -> tuple[npt.NDArray[Any], str] | Exception:
        """The inputs of a request and the remark on them, or what is wrong with it."""
        try:
            inputs, remark = self._predictor.inputs(one.body if one.image else _parsed(one.body), invert=one.invert)
        except (TypednnError, MemoryError) as error:
            return error
        if len(inputs) > self._rows:
            rule = f"a request has at most {self._rows:,} rows"
            return DataError(explain("POST /predict", rule, f"{len(inputs):,}", "send fewer at a time"))
        return inputs, remark


def _told(answers: Sequence[Answer | Estimate], remark: str) -> bytes | Exception:
    told = {"predictions": [answer.as_json() for answer in answers]} | ({"remark": remark} if remark else {})
    try:
        return json.dumps(told, allow_nan=False).encode()
    except ValueError:
        return HTTPException(500, explain("POST /predict", "the model gives finite numbers", "NaN or infinity"))


def _parsed(body: bytes) -> object:
    """What the JSON in ``body`` says."""

    def refuse(constant: str) -> Never:
        raise ValueError(f"{constant}, which JSON has not")

    try:
        return json.loads(body, parse_constant=refuse)
    except RecursionError:
        got = "lists too deep within each other"
    except UnicodeDecodeError:
        got = "bytes that are no UTF-8"
    except ValueError as error:
        got = str(error)[:200] if body else "nothing"
    raise DataError(explain("POST /predict", "the body is JSON", got))


def _written(predictor: Predictor, data: object) -> str:
    """The text of a language model."""
    options = as_object(data)
    got = type(data).__name__ if options is None else ""
    options = options or {}
    got = got or next((repr(name[:40]) for name in options if name not in _OPTIONS), "")
    got = got or ("" if isinstance(options.get("prompt", ""), str) else "a prompt that is none")
    if got:
        raise DataError(explain("POST /predict", f"the body is an object of {listed(_OPTIONS)}; prompt is a text", got))
    integer("POST /predict", "max_new_tokens", options.get("max_new_tokens", 1), 0, below=_MOST_TOKENS + 1)
    return predictor.generate(**options)


@final
class _Guard:
    """What is asked of every request before it is read: by which name it calls, from which site, and how many there are
    at once.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = hosts
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is not None:
            return await refusal(scope, receive, send)
        self._open += 1
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:  # nobody waits for an answer
            pass
        finally:
            self._open -= 1

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if "*" not in self._hosts and not _is_known(host, self._hosts):
            cure = "typednn serve --allow-host NAME allows a name"
            return _error(
                400, explain("Host", "is localhost, an address, or a name that was allowed", repr(host), cure)
            )
        if method not in ("GET", "HEAD") and origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            rule = "a page of another site sends nothing"
            return _error(403, explain("Origin", rule, repr(origin), "a program leaves the header Origin out"))
        if self._open >= _AT_ONCE:
            got, cure = f"{_AT_ONCE} that are not yet answered", "try again"
            return _error(503, explain("serve", "requests wait for one another", got, cure), {"retry-after": "1"})
        return None


def _is_known(host: str, hosts: Collection[str]) -> bool:
    """Whether a header ``Host`` names this machine for certain: an address, localhost, or one of ``hosts``."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name in ("localhost", *hosts):
            return True
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _refused(request: Request, error: Exception) -> Response:
    return _error(400 if isinstance(error, DataError | ArgumentError) else 500, str(error))


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    where = f"{request.method[:20]} {request.url.path[:80]}"
    allowed = " or ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
    told = {
        404: explain(where, "there is GET /, POST /predict and GET /health", "another path"),
        405: explain(where, "takes another method", request.method[:20], f"use {allowed}"),
    }
    return _error(error.status_code, told.get(error.status_code, error.detail), error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """For a fault of this program, which the server's log tells."""
    return _error(
        500, explain("serve", "a request is answered", f"a {type(error).__name__} of the server", "report it")
    )


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)
