"""Folders of weights by name: on this machine, or on Hugging Face's hub.

    hf://openai-community/gpt2            the newest files of that repository
    hf://openai-community/gpt2@REVISION   those of a branch, a tag or a commit

Only the files that a GPT-2 needs are downloaded, once, into the cache of `huggingface_hub`, the extra ``hub``; HF_HOME names another cache,
HF_ENDPOINT another server, and with HF_HUB_OFFLINE=1 only the cache is read.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from typednn.errors import DataError, explain, optional
from typednn.files import path_of

SCHEME: Final = "hf://"
FILES: Final = ("config.json", "*.safetensors", "model.safetensors.index.json", "vocab.json", "merges.txt")


def local_folder(where: str, folder: str | Path) -> Path:
    """``folder`` as a path; of ``hf://…`` the folder that it was downloaded to. A `DataError` where the hub has no such repository."""
    text: object = folder
    if not isinstance(text, str) or not text.startswith(SCHEME):
        return path_of(where, folder)
    repository, _, revision = text.removeprefix(SCHEME).partition("@")
    hub: Any = optional("huggingface_hub", where, "hf:// needs the package huggingface_hub", "pip install 'typednn[hub]'")
    errors: Any = import_module("huggingface_hub.errors")
    wrong: Any = (errors.HfHubHTTPError, errors.HFValidationError, errors.LocalEntryNotFoundError, OSError, ValueError)
    try:
        endpoint = os.environ.get("HF_ENDPOINT")
        found = hub.snapshot_download(repository, revision=revision or None, allow_patterns=list(FILES), endpoint=endpoint)
    except wrong as error:
        got = str(error).strip().partition("\n")[0].rstrip(".")[:200] or type(error).__name__
        raise DataError(explain(text, "must be a repository of the hub that can be reached", got)) from None
    return Path(found)
