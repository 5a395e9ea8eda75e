"""The digest chain: each row's digest covers the one before it.

digest = H(previous digest, H(salt, body), metadata)

The body hangs in the chain by its salted hash alone, so it can be redacted later and
the chain still holds. The metadata is text, each field behind its length, the same on
every backend.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

SIZE = 32
SALT = 16


class Head(NamedTuple):
    """Where a session's journal ends."""

    pos: int
    seq: int
    run: int
    digest: bytes
    token: int = 0
    """The fencing token of the lease under which the next row is written."""


def genesis(session_id: str) -> Head:
    """Before the first row. The id is in it, so that a row cannot move to another session."""
    name = session_id.encode("utf-8", "surrogatepass")
    return Head(0, 0, 0, blake2b(name, digest_size=SIZE, person=b"autogen-persist").digest())


def seal(salt: bytes, content: bytes) -> bytes:
    return blake2b(content, digest_size=SIZE, salt=salt).digest()


def link(previous: bytes, sealed: bytes, metadata: tuple[object, ...]) -> bytes:
    text = "".join([f"{len(field)}:{field}" for field in map(str, metadata)])
    return blake2b(previous + sealed + text.encode(), digest_size=SIZE).digest()
