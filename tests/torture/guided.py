"""Coverage-guided fuzzing of one reader by atheris, which must see typednn while it is imported.

python -m tests.torture.guided NAME SECONDS
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["typednn"]):
    from tests.torture.readers import READERS
from typednn.errors import TypednnError


def main(name: str, seconds: str, place: str) -> None:
    reader = READERS[name]
    folder = Path(place)
    path = reader.prepare(folder)
    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "valid").write_bytes(reader.valid())

    def one(content: bytes) -> None:
        path.write_bytes(reader.finish(content))
        with suppress(TypednnError):
            reader.read(path)

    atheris.Setup(
        [sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-print_final_stats=1", str(corpus)], one
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
