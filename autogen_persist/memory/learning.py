"""What an extractor gives: candidates for a learning, with the words they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from autogen_persist.records import Message

KINDS = ("decision", "preference", "fact", "pattern", "failure", "question")

FENCE_BEGIN = "<<<autogen-persist recalled memory>>>"
FENCE_END = "<<<end of recalled memory>>>"
"""Recalled text stands between these two in a prompt; what stands there is never learnt again."""


class Candidate(NamedTuple):
    """Something worth keeping, as an extractor read it; what becomes of it is decided elsewhere."""

    kind: str
    """One of KINDS. A question is anything open: a to-do, or a decision that is disputed."""
    content: str
    """A sentence that can be read on its own, in the speaker's words."""
    said_by: str
    confirmed_by: tuple[str, ...] = ()
    """The other agents that agreed in the messages after it."""
    evidence: tuple[int, ...] = ()
    """The numbers (`seq`) of the messages it was said and confirmed in."""
    confidence: float = 0.5
    tags: tuple[str, ...] = ()


Extractor = Callable[[Sequence[Message]], Iterable[Candidate]]
"""Messages in, candidates out. `name` and `version` are read from it where it has them."""


def without_recalled(text: str) -> str:
    """The text without what stands between the fences.

    A fence that lost its other half takes everything on its side with it: better to
    miss a sentence than to learn from our own memory.
    """
    if FENCE_BEGIN not in text and FENCE_END not in text:
        return text
    first, *later = text.split(FENCE_BEGIN)
    kept = [first.rpartition(FENCE_END)[2]]
    kept += [part.rpartition(FENCE_END)[2] for part in later if FENCE_END in part]
    return "\n".join(kept)
