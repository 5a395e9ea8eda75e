"""What is in the search index, as values, and how it becomes rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from autogen_persist.store.postings import Posting, address_of, block_of, pack


class Book(NamedTuple):
    """The index of one session, and where it ends."""

    space: int
    number: int
    name: str
    """The id of the session."""
    pos: int
    """The mark: up to this row the session is indexed."""
    next: int
    """The place of the next entry."""
    words: int
    head: int
    """The last row of the session when this was read."""


class Entry(NamedTuple):
    """A message as the index knows it."""

    address: int
    pos: int
    seq: int | None
    speaker: str
    micros: int
    words: int
    """How many words it has, of those that are indexed."""
    sitting: int
    """Messages with no long pause between them have the same number."""
    tells_time: bool


class NewEntry(NamedTuple):
    """A message before it has an address."""

    pos: int
    seq: int | None
    speaker: str
    micros: int
    sitting: int
    tells_time: bool
    asks: bool
    times: Mapping[str, int]
    """Each word of the text, and how often it is there."""
    aside: frozenset[str]
    """The words of the speaker's name and of the date."""


class Found(NamedTuple):
    """The message behind an entry."""

    session_id: str
    text: str | None
    """As JSON; None once it is redacted."""


class Packed(NamedTuple):
    """Entries as rows of the tables."""

    entries: list[tuple[Any, ...]]
    postings: list[tuple[Any, ...]]
    words: int


def packed_for(book: Book, new: Sequence[NewEntry]) -> Packed:
    entries: list[tuple[Any, ...]] = []
    parts: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    total = 0
    for place, entry in enumerate(new, book.next):
        address, times, aside = address_of(book.number, place), entry.times, entry.aside
        words = sum(times.values())
        total += words
        entries.append((address, *entry[:4], words, entry.sitting, entry.tells_time))
        for word in times.keys() | aside:
            posting = Posting(address, entry.asks, times.get(word, 0), word in aside, words)
            parts[word, block_of(address)].append(pack(posting))
    # In the order of the key, so that no two writers lock each other out.
    rows = [(book.space, *key, b"".join(data)) for key, data in sorted(parts.items())]
    return Packed(entries, rows, total)
