"""TinyStories: short stories for small language models, in shards.

    data00.json               the stories to validate on
    data01.json … data10.json to train on, those that are there, one at least

A shard is a list of objects, each with its text under "story". The stories of shard n are shuffled by Python's
``Random(1337 + n)``. Each is ``<|endoftext|>`` and the tokens of its text, without the blanks around it. Source: Eldan
and Li 2023, "TinyStories: How Small Can Language Models Be and Still Speak Coherent English?"; the order as in llm.c.
"""

import json
import random
import re
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from typednn.arrays import IntArray1
from typednn.data.tokenizer import half_at
from typednn.data.vocabulary import END, Vocabulary, token_of
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import as_object, opened, path_of

SEED: Final = 1337
SHARDS: Final = 10  # to train on
_NAME = re.compile(r"data([0-9]{2})\.json")


def shards_in(folder: Path) -> dict[int, Path]:
    """The files of shards 0 to 10 in a folder, by number."""
    named = [(_NAME.fullmatch(path.name), path) for path in sorted(folder.glob("data*.json"))]
    return {int(match[1]): path for match, path in named if match and int(match[1]) <= SHARDS}


def read_tiny_stories(
    folder: str | Path, vocabulary: Vocabulary, *, limit: int | None = None
) -> tuple[IntArray1, IntArray1]:
    """The tokens to train on, and those to validate on, int32; a `DataError` names the shard, and the story.

    ``limit`` is how many bytes a shard may take. An `ArgumentError` where the vocabulary has no ``<|endoftext|>``.
    """
    end, place = token_of(vocabulary, END), path_of("read_tiny_stories", folder)
    if end is None:
        cure = "--set vocabulary=gpt2, or a folder with such a one"
        raise ArgumentError(
            explain(str(place), f"stories begin with {END}", "a vocabulary without it", cure), "vocabulary"
        )
    shards = shards_in(place)
    if 0 not in shards or len(shards) < 2:
        rule = "must hold data00.json, to validate on, and one of data01.json to data10.json"
        raise DataError(explain(str(place), rule, ", ".join(path.name for path in shards.values()) or "none of these"))
    parts = {number: _tokens(path, number, vocabulary, end, limit) for number, path in shards.items()}
    held = parts.pop(0)
    return np.concatenate([*parts.values()]), held


def _tokens(path: Path, number: int, vocabulary: Vocabulary, end: int, limit: int | None) -> IntArray1:
    """Of one shard."""
    stories = _stories(path, limit)
    random.Random(SEED + number).shuffle(stories)
    first = np.array([end], np.int32)
    tokens: IntArray1 = np.concatenate(
        [array for story in stories for array in (first, vocabulary.encode(story.strip()))]
    )
    return tokens.astype(np.int32, copy=False)


def _stories(path: Path, limit: int | None) -> list[str]:
    with opened("read_tiny_stories", path, limit) as file:
        content = bytes(file.exactly(file.stream, file.size))
    try:
        listed: Any = json.loads(content)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not listed:
        raise DataError(explain(str(path), "must be a list of stories in JSON, of one at least", "something else"))
    stories: list[str] = []
    for place, each in enumerate(cast("list[object]", listed)):
        table = as_object(each)
        story: object = None if table is None else table.get("story")
        if not isinstance(story, str):
            raise DataError(explain(f"{path}, story {place}", 'must be an object with a text under "story"', "none"))
        half = half_at(story)
        if half is not None:
            got = f"half of a surrogate pair at {half}"
            raise DataError(explain(f"{path}, story {place}", "must be whole Unicode characters", got))
        stories.append(story)
    return stories
