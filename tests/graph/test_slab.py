"""The slab against a dictionary: any sequence of insertions, removals and changes."""

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from typednn.graph.slab import NONE, Entry, Slab

WORDS = st.integers(0, NONE)
TAGS = st.integers(0, NONE - 1)


class SlabMachine(RuleBasedStateMachine):
    """X-D3: places are reused, the last that became free first, and there are no gaps."""

    numbers = Bundle("numbers")

    def __init__(self) -> None:
        super().__init__()
        self.slab = Slab()
        self.model: dict[int, list[int]] = {}
        self.free: list[int] = []

    @rule(target=numbers, tag=TAGS, x=WORDS, y=WORDS)
    def insert(self, tag: int, x: int, y: int) -> int:
        number = self.slab.insert(tag, x, y)
        assert number == (self.free.pop() if self.free else len(self.model))
        assert number not in self.model
        self.model[number] = [0, tag, x, y]
        return number

    @precondition(lambda self: self.model)
    @rule(number=numbers)
    def remove(self, number: int) -> None:
        if number in self.model:
            del self.model[number]
            self.free.append(number)
            self.slab.remove(number)

    @rule(number=numbers, tag=TAGS, x=WORDS, y=WORDS)
    def replace(self, number: int, tag: int, x: int, y: int) -> None:
        if number in self.model:
            self.slab.replace(number, tag, x, y)
            self.model[number][1:] = [tag, x, y]

    @rule(number=numbers)
    def retain(self, number: int) -> None:
        if number in self.model:
            self.slab.retain(number)
            self.model[number][0] += 1

    @rule(number=numbers)
    def release(self, number: int) -> None:
        if number in self.model and self.model[number][0]:
            self.model[number][0] -= 1
            assert self.slab.release(number) == self.model[number][0]

    @invariant()
    def holds_what_was_put_in(self) -> None:
        slab = self.slab
        assert list(slab) == sorted(self.model)
        assert len(slab) == len(self.model)
        assert {number: slab[number] for number in slab} == {
            number: Entry(*words) for number, words in self.model.items()
        }
        assert all(slab.tag(number) == words[1] for number, words in self.model.items())

    @invariant()
    def has_no_gaps(self) -> None:
        places = len(self.model) + len(self.free)
        assert self.slab.nbytes == 16 * places
        assert [number in self.slab for number in range(-1, places + 1)] == [
            number in self.model for number in range(-1, places + 1)
        ]


TestSlab = SlabMachine.TestCase


def test_a_removed_place_is_the_next_that_is_handed_out() -> None:
    """X-D3"""
    slab = Slab()
    numbers = [slab.insert(0, 0, 0) for _ in range(5)]
    assert numbers == [0, 1, 2, 3, 4]
    slab.remove(3)
    slab.remove(1)
    assert [slab.insert(0, 0, 0) for _ in range(3)] == [1, 3, 5]


def test_a_place_is_sixteen_bytes() -> None:
    """X-D12"""
    slab = Slab()
    for _ in range(1000):
        slab.insert(1, 2, 3)
    assert slab.nbytes == 16_000
