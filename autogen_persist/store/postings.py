"""Where words are, packed: four bytes for each message that has a word.

An entry's address is the number of its book and its place there, so that the neighbours
of a message are the addresses beside its own. A block is 128 addresses in a row; what is
known of a word in a block is one database row, to which new postings are appended.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

PLACE_BITS = 27
_BLOCK_BITS = 7
_IN_BLOCK = (1 << _BLOCK_BITS) - 1
_FORMAT = struct.Struct("<BBH")


class Posting(NamedTuple):
    """One word in one message."""

    address: int
    asks: bool
    """Whether the message asks something."""
    times: int
    """How often the text has the word; at most 127 are kept."""
    aside: bool
    """Whether the word is in the speaker's name or in the date."""
    words: int
    """How long the message is; at most 65,535 is kept."""


def address_of(book: int, place: int) -> int:
    return book << PLACE_BITS | place


def book_of(address: int) -> int:
    return address >> PLACE_BITS


def place_of(address: int) -> int:
    return address & ((1 << PLACE_BITS) - 1)


def block_of(address: int) -> int:
    return address >> _BLOCK_BITS


def blocks_of(book: int) -> tuple[int, int]:
    """The first and the last block of a book."""
    return block_of(address_of(book, 0)), block_of(address_of(book + 1, 0)) - 1


def pack(posting: Posting) -> bytes:
    address, asks, times, aside, words = posting
    return _FORMAT.pack(
        address & _IN_BLOCK | asks << _BLOCK_BITS, min(times, 127) << 1 | aside, min(words, 65_535)
    )


def count(data: bytes) -> int:
    return len(data) // _FORMAT.size


def unpack(block: int, data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of each Posting. Plain tuples: there are thousands of them in a query."""
    first = block << _BLOCK_BITS
    for place, times, words in _FORMAT.iter_unpack(data):
        yield first + (place & _IN_BLOCK), place >> _BLOCK_BITS, times >> 1, times & 1, words


def without(block: int, data: bytes, gone: set[int]) -> bytes:
    """The postings of a block but for those of some addresses."""
    first, size = block << _BLOCK_BITS, _FORMAT.size
    parts = (data[at : at + size] for at in range(0, len(data), size))
    return b"".join(part for part in parts if first + (part[0] & _IN_BLOCK) not in gone)
