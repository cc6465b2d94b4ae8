"""Memory that arrays share which are not needed at once."""

from hypothesis import given
from hypothesis import strategies as st

from typednn.engines.memory.pool import ALIGNMENT
from typednn.plans.arena import Lasting, arena_of


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(1, 400)), max_size=12))
def test_what_is_needed_at_once_lies_apart(drawn: list[tuple[int, int, int]]) -> None:
    uses = [Lasting(size, first, first + more) for first, more, size in drawn]
    offsets, total = arena_of(uses)
    assert total % ALIGNMENT == 0
    for place, (offset, use) in enumerate(zip(offsets, uses, strict=True)):
        assert offset % ALIGNMENT == 0
        assert 0 <= offset <= total - use.size
        for other, its in zip(offsets[:place], uses, strict=False):
            at_once = use.first <= its.last and its.first <= use.last
            assert not at_once or offset + use.size <= other or other + its.size <= offset


def test_memory_is_used_again() -> None:
    assert arena_of([Lasting(64, place, place + 1) for place in range(9)])[1] == 2 * 64
