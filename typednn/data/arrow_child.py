"""Parquet and Arrow, read in a process of their own, which `typednn.data.arrow` starts and hears.

    python -P arrow_child.py        imports pyarrow and nothing of typednn

A damaged file can end the process that reads it by a signal, and a small one can unpack to any size. So it is this
process that ends, and whose memory the one that started it limits before it says what to read.

Standard input: a line of JSON, ``{"path"}``; when the columns are told, a second one, the numbers of those that are
wanted.

Standard output: messages, each a line of JSON, whose ``bytes`` follow it. First ``{"ready"}``, when pyarrow is
imported; then the columns: ``{"names", "kinds", "types"}``. Then for some rows at a time ``{"rows"}``, how many are
sure to come, and for each column numbers in float64, NaN where there is none, or a list of words in JSON, null where
there is none. At the end ``{"end"}``; or, at any place, ``{"error"}``, and ``{"memory": true}`` where that was the
limit.
"""

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

ROWS = 1 << 16  # at a time


def _kind(types: Any, kind: Any) -> str:
    """``number``, ``boolean``, ``word``, or nothing where it is something else."""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(kind) or types.is_large_string(kind) or types.is_timestamp(kind) or types.is_date(kind):
        return "word"
    if types.is_boolean(kind):
        return "boolean"
    return "number" if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) else ""


def _opened(pyarrow: Any, stream: Any) -> tuple[Any, Callable[[list[str]], Iterator[Any]]]:
    """The schema of a file, and a function that gives the rows of columns of these names, or of all, some at a time."""
    start = stream.read(6)
    stream.seek(0)
    if start[:4] == b"PAR1":
        stored: Any = import_module("pyarrow.parquet").ParquetFile(stream, page_checksum_verification=True)
        return stored.schema_arrow, lambda names: stored.iter_batches(ROWS, columns=names, use_threads=False)
    source, ipc = pyarrow.PythonFile(stream, mode="r"), import_module("pyarrow.ipc")
    if start == b"ARROW1":
        reader: Any = ipc.open_file(source)
        return reader.schema, lambda names: (reader.get_batch(each) for each in range(reader.num_record_batches))
    batches: Any = ipc.open_stream(source)
    return batches.schema, lambda names: iter(batches)


def _pieces(batches: Any) -> Iterator[tuple[Any, int]]:
    """Some rows at a time, and how many there are from there in what pyarrow holds already."""
    for batch in batches:
        batch.validate(full=True)
        for start in range(0, len(batch), ROWS):
            yield batch.slice(start, ROWS), len(batch) - start


def _words(pyarrow: Any, column: Any) -> list[str | None]:
    """Words; dates as YYYY-MM-DD, in UTC, with their time of day."""
    if pyarrow.types.is_timestamp(column.type) or pyarrow.types.is_date(column.type):
        when = column.cast(pyarrow.timestamp("us"), safe=False).to_pylist()
        return [None if each is None else each.isoformat(" ") for each in when]
    words: list[str | None] = column.to_pylist()
    return words


def _content(pyarrow: Any, kind: str, column: Any) -> bytes:
    if kind == "word":
        return json.dumps(_words(pyarrow, column)).encode()
    numbers = column.cast(pyarrow.uint8()) if kind == "boolean" else column
    content: bytes = numbers.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False).astype("<f8").tobytes()
    return content


def _say(message: dict[str, Any], content: bytes = b"") -> None:
    sys.stdout.buffer.write(json.dumps({**message, "bytes": len(content)}).encode() + b"\n" + content)
    sys.stdout.buffer.flush()


def _read(pyarrow: Any, path: str) -> None:
    with open(path, "rb") as stream:
        schema, batches = _opened(pyarrow, stream)
        kinds = [_kind(pyarrow.types, each) for each in schema.types]
        _say({"names": [*map(str, schema.names)], "kinds": kinds, "types": [str(each)[:80] for each in schema.types]})
        chosen: list[int] = json.loads(sys.stdin.buffer.readline() or "[]")
        wanted = [str(schema.names[number]) for number in chosen]
        for batch, left in _pieces(batches(wanted)) if chosen else ():
            _say({"rows": left})
            for name, number in zip(wanted, chosen, strict=True):
                _say({}, _content(pyarrow, kinds[number], batch.column(name)))


def main() -> None:
    """Read one file."""
    pyarrow: Any = import_module("pyarrow")
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    _say({"ready": True})
    told = json.loads(sys.stdin.buffer.readline())
    try:
        _read(pyarrow, told["path"])
    except BrokenPipeError:  # nobody reads any more
        sys.exit(1)
    except MemoryError:
        _say({"error": "", "memory": True})
    except Exception as error:  # pyarrow raises many kinds of errors for damaged files
        _say({"error": (str(error) or type(error).__name__).splitlines()[0][:200]})
    else:
        _say({"end": True})


if __name__ == "__main__":
    main()
