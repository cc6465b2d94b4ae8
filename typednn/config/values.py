"""Values as TOML writes them."""

import datetime
import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex, cast

from typednn.errors import ArgumentError, explain


def written(value: object) -> str:
    """``value`` as TOML: numbers, strings, lists and inline tables of them; `ArgumentError` for what TOML has no form
    for.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case float():
            return repr(float(value))
        case SupportsIndex():
            return str(operator.index(value))
        case datetime.date() | datetime.time():
            return value.isoformat()
        case list() | tuple():
            return f"[{', '.join(map(written, cast('Sequence[object]', value)))}]"
        case Mapping():
            pairs = [
                f"{key_written(str(key))} = {written(part)}"
                for key, part in cast("Mapping[Any, object]", value).items()
            ]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
        case _:
            rule, cure = (
                "a value is a number, a string, or a list of them",
                "pass such a value, or build the model in code",
            )
            raise ArgumentError(explain("dumps", rule, repr(value), cure))


def key_written(key: str) -> str:
    """A key, quoted where it must be."""
    bare = key.isascii() and key.replace("-", "_").replace("_", "a").isalnum()
    return key if bare else written(key)
