"""A run as a web service: a page for people, `POST /predict` for programs.

    from typednn.serving import create_app
    app = create_app(typednn.load("runs/houses"))     an ASGI application, for uvicorn or to be mounted in another

`application` answers requests, `page` is the page, `server` listens, for ``typednn serve``. Needs starlette and
uvicorn, the extra ``typednn[serve]``.
"""

from typednn.errors import optional

for _package in ("starlette", "uvicorn"):
    optional(_package, "serve", "needs starlette and uvicorn", "pip install 'typednn[serve]'")

from typednn.serving.application import MOST_BYTES, MOST_ROWS, create_app  # noqa: E402  # what is missing is told first
from typednn.serving.server import serve  # noqa: E402

__all__ = ["MOST_BYTES", "MOST_ROWS", "create_app", "serve"]
