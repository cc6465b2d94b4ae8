"""The server of ``typednn serve``: uvicorn on one address, with patience for no client that keeps it waiting."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final, final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from typednn.errors import DataError, explain
from typednn.files import reason

_TICK: Final = 10.0  # seconds; a client that is waited for at one tick and still at the next is let go
_GRACE: Final = 10  # seconds for requests that are being answered when the server ends


def serve(app: ASGIApp, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Answer requests until Ctrl-C or SIGTERM, which then acts as it would have: requests that have begun are answered
    before.

    ``ready`` is called with the address once the server listens. A `DataError` where the address can't be had.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        cure = "choose another --port, or 0 for a free one"
        why = reason(error).partition(" (while")[0]  # behind that is the address again
        raise DataError(explain(f"{host}:{port}", "must be an address to listen on", why, cure)) from None
    with listening:
        name, free = listening.getsockname()[:2]
        config = uvicorn.Config(
            app,
            http=Patient,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE,
        )
        ready(f"http://{f'[{name}]' if ':' in name else name}:{free}/")
        uvicorn.Server(config).run(sockets=[listening])


@final
class Patient(H11Protocol):
    """HTTP/1.1 that ends a connection whose client keeps it waiting over two ticks: for the head of a request, for the
    rest of one that was answered already, or for taking the answer. (The application waits for bodies, and uvicorn for
    the next request.)
    """

    _tick: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # A head and its body are two writes: without this the second waits for the client's delayed acknowledgement.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._watch(False)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._tick is not None:
            self._tick.cancel()

    def _watch(self, late: bool) -> None:
        waits = self._waits()
        if late and waits:
            self.transport.abort()
        else:
            self._tick = self.loop.call_later(_TICK, self._watch, waits)

    def _waits(self) -> bool:
        if self.flow.write_paused:
            return True
        cycle: Any = self.cycle  # None before the first request
        answering = cycle is not None and not cycle.response_complete
        begun = cycle is None or self.conn.their_state is not h11.IDLE or bool(self.conn.trailing_data[0])
        return begun and not answering
