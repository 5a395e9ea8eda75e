"""Read on in a journal and keep what is worth keeping, exactly once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from autogen_persist.memory.learning import Candidate, Extractor
from autogen_persist.memory.memory import learning_of, name_of
from autogen_persist.memory.rules import rules
from autogen_persist.memory.shelf import Hand, Shelf
from autogen_persist.records import Learning, Message
from autogen_persist.store import Store
from autogen_persist.store.marks import Claim, Marks

BATCH = 200
"""Messages that are read in one transaction."""


class Difference(NamedTuple):
    """What reading a session once more has changed."""

    gone: list[Learning]
    added: list[Learning]
    kept: int


def learn(
    store: Store,
    session_id: str,
    extractor: Extractor = rules,
    *,
    deadline: float | None = None,
) -> int:
    """Extract from the unread messages of a session; return how many learnings are new.

    The buffer is not a list we keep: it is the journal after the mark. Learnings and mark
    are committed together, so a crash repeats a batch and adds nothing twice. Where another
    process is at it, nothing is done. After `deadline` (monotonic) no batch is begun.
    """
    shelf, marks = Shelf(store), Marks(store)
    namespace = shelf.learnings.namespace_of(session_id)
    claim = marks.claim(session_id, name_of(extractor))
    if claim is None:
        return 0
    added = 0
    try:
        while deadline is None or time.monotonic() < deadline:
            head = store.head(session_id).seq
            if claim.seq >= head:
                break
            found = _Batch(store, claim, head, extractor)
            with shelf.open(namespace) as hand:
                if not marks.move(hand.connection, claim, found.end):
                    break  # our claim ran out, and another process has read on
                added += found.put(hand)
            claim = claim._replace(seq=found.end)
    finally:
        marks.release(claim)
    return added


def learn_all(store: Store, extractor: Extractor = rules) -> int:
    """`learn` for every session that has unread messages."""
    behind = Marks(store).behind(name_of(extractor))
    return sum(learn(store, session_id, extractor) for session_id, _ in behind)


def learn_again(store: Store, session_id: str, extractor: Extractor = rules) -> Difference | None:
    """Read a whole session once more, and replace what the same extractor learnt from it alone.

    None if another process reads the session at the moment.
    """
    shelf, marks = Shelf(store), Marks(store)
    namespace = shelf.learnings.namespace_of(session_id)
    name = name_of(extractor)
    claim = marks.claim(session_id, name)
    if claim is None:
        return None
    try:
        end = store.head(session_id).seq
        messages = [m for m in store.messages(session_id) if m.seq is not None and m.seq <= end]
        found = [learning_of(one, session_id, extractor) for one in extractor(messages)]
        with shelf.open(namespace) as hand:
            if not marks.move(hand.connection, claim, end):
                return None
            every = shelf.learnings.of(namespace, connection=hand.connection)
            old = [one for one in every if _is_from(one, session_id, name)]
            hand.take_out(old)
            put = [hand.put(one) for one in found]
    finally:
        marks.release(claim)
    return _difference(old, [learning for learning, is_new in put if is_new])


class _Batch:
    """Some unread messages, with a few before them, and what is in them."""

    def __init__(self, store: Store, claim: Claim, head: int, extractor: Any) -> None:
        # Those who agree or object may do so after the mark; what they mean was said before it.
        overlap = int(getattr(extractor, "overlap", 0))
        before = max(claim.seq - overlap, 0)
        size = BATCH + overlap
        messages = store.messages(claim.session_id, after=before, limit=size)
        self._session_id, self._mark, self._extractor = claim.session_id, claim.seq, extractor
        full = len(messages) == size
        last = messages[-1].seq if messages else None
        self.end = last if full and last is not None else max(last or 0, head)
        self._found = list(extractor(messages)) if messages else []
        self._withdrawn = self._no_longer(messages) if overlap else []

    def _no_longer(self, messages: Sequence[Message]) -> list[Candidate]:
        """What was learnt from the last messages before the mark, and does not hold since then."""
        earlier = [m for m in messages if m.seq is not None and m.seq <= self._mark]
        if not earlier:
            return []
        still = {_key(one) for one in self._found}
        return [one for one in self._extractor(earlier) if _key(one) not in still]

    def put(self, hand: Hand) -> int:
        """Write it down; return how many learnings are new."""
        for one in self._withdrawn:
            self._withdraw(hand, one)
        new = [one for one in self._found if any(seq > self._mark for seq in one.evidence)]
        put = [hand.put(learning_of(one, self._session_id, self._extractor)) for one in new]
        return sum(is_new for _, is_new in put)

    def _withdraw(self, hand: Hand, one: Candidate) -> None:
        source = {(self._session_id, seq) for seq in one.evidence}
        for old in hand.near(one.content):
            # Not where others have said the same elsewhere.
            if old.content == one.content and source.issuperset(old.evidence):
                hand.close(old)


def _key(one: Candidate) -> tuple[str, str, int]:
    return one.kind, one.content, one.evidence[0] if one.evidence else 0


def _is_from(learning: Learning, session_id: str, extractor: str) -> bool:
    places = {place for place, _ in learning.evidence}
    return learning.extractor == extractor and places == {session_id}


def _difference(old: list[Learning], new: list[Learning]) -> Difference:
    def key(one: Learning) -> tuple[str, str]:
        return one.kind, one.content

    before, after = set(map(key, old)), set(map(key, new))
    gone = [one for one in old if key(one) not in after]
    added = [one for one in new if key(one) not in before]
    return Difference(gone, added, len(before & after))
