"""What a rank's KV cache holds, and what is told of it."""

from hypothesis import given
from hypothesis import strategies as st

from launcher.sim.blocks import BLOCK, Blocks, Cleared, Removed, Stored, token

TEXTS = st.lists(st.sampled_from(["a", "b", "t7"]), max_size=5 * BLOCK)


def words(count: int, word: str = "a") -> list[str]:
    return [f"{word}{number}" for number in range(count)]


def test_full_blocks_are_stored_once() -> None:
    blocks = Blocks()
    assert blocks.store(words(BLOCK - 1)) == []
    (first,) = blocks.store(words(BLOCK))
    assert isinstance(first, Stored)
    assert (first.parent, len(first.hashes), len(first.tokens)) == (None, 1, BLOCK)
    (more,) = blocks.store(words(3 * BLOCK + 5))
    assert isinstance(more, Stored)
    assert (more.parent, len(more.hashes), len(more.tokens)) == (first.hashes[0], 2, 2 * BLOCK)
    assert blocks.store(words(3 * BLOCK)) == []


def test_a_block_is_known_by_all_that_came_before() -> None:
    blocks = Blocks()
    (one,) = blocks.store([*words(BLOCK, "x"), *words(BLOCK)])
    (other,) = blocks.store([*words(BLOCK, "y"), *words(BLOCK)])
    assert isinstance(one, Stored) and isinstance(other, Stored)
    assert not set(one.hashes) & set(other.hashes)
    assert Blocks().store([*words(BLOCK, "x"), *words(BLOCK)]) == [one]


def test_what_was_longest_not_used_goes_first() -> None:
    blocks = Blocks(capacity=3)
    (kept,) = blocks.store(words(2 * BLOCK, "x"))
    (gone,) = blocks.store(words(BLOCK, "y"))
    assert isinstance(kept, Stored) and isinstance(gone, Stored)
    blocks.store(words(2 * BLOCK, "x"))
    _, removed = blocks.store(words(BLOCK, "z"))
    assert removed == Removed(gone.hashes)
    assert blocks.clear() == [Cleared()]
    assert blocks.store(words(2 * BLOCK, "x")) == [kept]


def test_ids_stay_what_they_are() -> None:
    assert [token("t0"), token("t50256")] == [0, 50256]
    assert token("Wort") == token("Wort") != token("wort")


@given(st.lists(TEXTS, max_size=8), st.integers(1, 6))
def test_who_listens_knows_what_is_there(texts: list[list[str]], capacity: int) -> None:
    """Nothing is stored twice or removed untold, and no more is kept than may be."""
    blocks = Blocks(capacity)
    known: set[int] = set()
    for text in texts:
        for event in blocks.store(text):
            if isinstance(event, Stored):
                assert not known & set(event.hashes)
                assert len(event.tokens) == BLOCK * len(event.hashes)
                known |= set(event.hashes)
            else:
                assert isinstance(event, Removed)
                assert known >= set(event.hashes)
                known -= set(event.hashes)
        assert len(known) <= capacity
