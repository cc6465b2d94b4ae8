"""Folders of weights by name: on this machine, or on Hugging Face's hub.

    hf://openai-community/gpt2            the newest files of that repository
    hf://openai-community/gpt2@REVISION   those of a branch, a tag or a commit

Only the files that a GPT-2 needs are downloaded, once, into the cache of `huggingface_hub`, the extra ``hub``; HF_HOME
names another cache, HF_ENDPOINT another server, and with HF_HUB_OFFLINE=1 only the cache is read.

`huggingface_hub` names a file in its cache by what the server calls its content, an ETag, and does not compare the
content with it. So each answer is looked at before it is used: such a name is no path, and a redirect leads to another
server, not to a file. What is in the cache is compared with its name, which is its SHA-256 or that of git, each time; a
file that differs is removed.
"""

import hashlib
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from typednn.errors import DataError, explain, optional
from typednn.files import path_of

SCHEME: Final = "hf://"
FILES: Final = (
    *("config.json", "model.safetensors.index.json", "*.safetensors"),
    *("tokenizer.json", "vocab.json", "merges.txt"),
)


def local_folder(where: str, folder: str | Path) -> Path:
    """``folder`` as a path; of ``hf://…`` the folder that it was downloaded to. A `DataError` where the hub has no such
    repository.
    """
    text: object = folder
    if not isinstance(text, str) or not text.startswith(SCHEME):
        return path_of(where, folder)
    repository, _, revision = text.removeprefix(SCHEME).partition("@")
    hub: Any = optional(
        "huggingface_hub", where, "hf:// needs the package huggingface_hub", "pip install 'typednn[hub]'"
    )
    try:
        endpoint = os.environ.get("HF_ENDPOINT")
        with _watched(hub.get_session()):
            found = hub.snapshot_download(
                repository, revision=revision or None, allow_patterns=list(FILES), endpoint=endpoint
            )
    except Exception as error:  # of the library and of those below it, whatever a server answers
        got = str(error).strip().partition("\n")[0].rstrip(".")[:200] or type(error).__name__
        raise DataError(explain(text, "must be a repository of the hub that can be reached", got)) from None
    for file in sorted(Path(found).iterdir()):
        _verify(text, file)
    return Path(found)


@contextmanager
def _watched(client: Any) -> Generator[None]:
    """Every answer to ``client`` meanwhile goes through `_check`."""
    hooks = client.event_hooks
    client.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _check]}
    try:
        yield
    finally:
        client.event_hooks = hooks


def _check(response: Any) -> None:
    """A `ValueError` for an answer that would lead out of the cache, or to something else than a server."""
    place = response.headers.get("Location", "")
    if (
        response.is_redirect
        and ":" in place.partition("/")[0]
        and not place.lower().startswith(("http://", "https://"))
    ):
        raise ValueError(f"a redirect to {place[:80]!r}")
    names = [response.headers.get(header, "").removeprefix("W/").strip('"') for header in ("ETag", "X-Linked-Etag")]
    if "/tree/" in response.url.path:  # where the hub lists what files contain
        names += re.findall(r'"(?:oid|xetHash)"\s*:\s*"([^"]*)"', response.read().decode(errors="replace"))
    wrong = next((name for name in names if not re.fullmatch(r"(?:[0-9A-Za-z_-][0-9A-Za-z._-]{0,127})?", name)), None)
    if wrong is not None:
        raise ValueError(f"a name of a file's content that is none, {wrong[:80]!r}")


def _verify(where: str, file: Path) -> None:
    """A `DataError` where the content of a file in the cache is not what its name there says."""
    stored = Path(os.path.realpath(file))
    size = stored.stat().st_size
    if re.fullmatch("[0-9a-f]{64}", stored.name):
        digest = hashlib.sha256()
    elif re.fullmatch("[0-9a-f]{40}", stored.name):  # of a file that git itself stores
        digest = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    else:
        return  # a cache without links, or of a server that names contents otherwise
    with stored.open("rb") as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != stored.name:
        file.unlink()
        stored.unlink(missing_ok=True)
        rule, got = (
            f"{file.name} must have the checksum {stored.name[:12]}… that the hub states",
            f"{digest.hexdigest()[:12]}…",
        )
        raise DataError(explain(where, rule, got, "it was removed from the cache: try again"))
