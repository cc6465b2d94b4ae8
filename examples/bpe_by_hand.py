"""Byte-pair encoding on a page, merge by merge. python -m examples.bpe_by_hand [FOLDER WITH vocab.json AND merges.txt]

Text is cut into chunks, each chunk into bytes. The neighbours that merge first are those whose merge was learnt first;
all their places merge, from left to right, until no neighbours are known. Without a folder the vocabulary is learnt
from a few words.
"""

import re
import sys
from itertools import pairwise

from typednn.data import Tokenizer, read_tokenizer, train_tokenizer
from typednn.data.tokenizer import BYTES
from typednn.errors import TypednnError

CHUNKS = re.compile(rb"'s|'t|'re|'ve|'m|'ll|'d| ?[a-zA-Z]+| ?[0-9]+| ?[^\s\w]+|\s+(?!\S)|\s+")
WORDS = "the cat sat on the mat and the rat sat on the hat that the cat had"


def merged(parts: list[str], pair: tuple[str, str]) -> list[str]:
    """All places of ``pair`` in ``parts`` merged, from left to right."""
    out: list[str] = []
    place = 0
    while place < len(parts):
        found = (*parts[place : place + 2],) == pair
        out.append("".join(pair) if found else parts[place])
        place += 2 if found else 1
    return out


def encode(tokenizer: Tokenizer, text: str, *, say: bool = False) -> list[int]:
    """The tokens of ``text``; ``say`` prints each merge."""
    rank = {pair: place for place, pair in enumerate(tokenizer.merges)}
    tokens: list[int] = []
    for chunk in CHUNKS.findall(text.encode()):
        parts = [BYTES[byte] for byte in chunk]
        while known := [pair for pair in pairwise(parts) if pair in rank]:
            first = min(known, key=rank.__getitem__)
            parts = merged(parts, first)
            if say:
                print(f"  {' + '.join(first):16} rank {rank[first]:6,}   {' '.join(parts)}")
        tokens += [tokenizer.vocab[part] for part in parts]
        if say:
            print(f"{' '.join(parts):20} -> {[tokenizer.vocab[part] for part in parts]}")
    return tokens


def main(arguments: list[str]) -> int:
    """Encode a sentence by hand, and compare with the library."""
    try:
        known = read_tokenizer(arguments[0]) if arguments else train_tokenizer([WORDS], 300)
    except TypednnError as error:
        print(error, file=sys.stderr)
        return 1
    text = "GPT2 was created by OpenAI" if arguments else "the cat that sat"
    tokenizer = Tokenizer(known.vocab, known.merges, "seed")
    tokens = encode(tokenizer, text, say=True)
    assert tokens == tokenizer.encode(text).tolist()
    print(f"{text!r} is {tokens}, and the library agrees")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
