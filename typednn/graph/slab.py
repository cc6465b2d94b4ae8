"""Slab: nodes side by side in one array, 16 bytes each, with a list of the free places inside it.

A node is four words of 32 bits: how often it is referred to; its tag; and two words that its kind gives a meaning, as a
rule the numbers of its inputs. A node that was removed leaves its place to the next one that is inserted. Both take the
same time whatever the size.
"""

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple, final

NONE: Final = 0xFFFFFFFF  # the number of no node
_FREE: Final = 0xFFFFFFFF  # the tag of a free place, whose third word is the number of the next one


class Entry(NamedTuple):
    """A node's four words."""

    references: int
    tag: int
    x: int
    y: int


@final
class Slab:
    """Numbers stand for nodes: a number is a node's place, from its insertion to its removal."""

    def __init__(self) -> None:
        self._words: array[int] = array("I")
        self._free: int = NONE
        self._length: int = 0

    def insert(self, tag: int, x: int, y: int) -> int:
        """The number of a new node that nothing refers to yet."""
        words, number = self._words, self._free
        self._length += 1
        if number == NONE:
            words.extend((0, tag, x, y))
            return (len(words) >> 2) - 1
        at = number << 2
        self._free = words[at + 2]
        words[at], words[at + 1], words[at + 2], words[at + 3] = 0, tag, x, y
        return number

    def remove(self, number: int) -> None:
        """Forget the node ``number``; its place is the next to be used."""
        at = number << 2
        self._words[at], self._words[at + 1], self._words[at + 2] = 0, _FREE, self._free
        self._free = number
        self._length -= 1

    def replace(self, number: int, tag: int, x: int = NONE, y: int = NONE) -> None:
        """Make the node ``number`` another one; what refers to it still does."""
        at = number << 2
        self._words[at + 1], self._words[at + 2], self._words[at + 3] = tag, x, y

    def retain(self, number: int) -> None:
        """One more reference to ``number``."""
        self._words[number << 2] += 1

    def release(self, number: int) -> int:
        """One reference fewer; how many are left."""
        at = number << 2
        left = self._words[at] - 1
        self._words[at] = left
        return left

    def tag(self, number: int) -> int:
        """The tag of ``number`` alone."""
        return self._words[(number << 2) + 1]

    def words(self, number: int) -> tuple[int, int, int]:
        """The tag and the two words after it: `Slab.__getitem__` without the references and their names."""
        words, at = self._words, number << 2
        return words[at + 1], words[at + 2], words[at + 3]

    def __getitem__(self, number: int) -> Entry:
        at = number << 2
        return Entry(*self._words[at : at + 4])

    def __contains__(self, number: int) -> bool:
        return 0 <= number < len(self._words) >> 2 and self.tag(number) != _FREE

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        """The numbers of all nodes, the smallest first."""
        return (number for number in range(len(self._words) >> 2) if self.tag(number) != _FREE)

    @property
    def nbytes(self) -> int:
        """Bytes of all places, free ones too."""
        return len(self._words) * self._words.itemsize
