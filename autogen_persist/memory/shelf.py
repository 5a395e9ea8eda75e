"""Where learnings are kept: each thing once, the older closed by what contradicts it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from autogen_persist.memory import recall, text
from autogen_persist.memory.likeness import contradicts, same
from autogen_persist.memory.topics import topics
from autogen_persist.records import Learning
from autogen_persist.store import Store
from autogen_persist.store.entries import Entry, NewEntry
from autogen_persist.store.learnings import Learnings
from autogen_persist.store.search import Index

OPEN, CLOSED = "open", "closed"
"""The two books of a namespace in the index: what holds, and what does no longer."""
NEAREST = 30
"""So many learnings are compared with a new one."""
CAN_CLASH = ("decision", "preference", "fact", "pattern")
STRONGER, STRONGEST = 0.05, 0.99


class Shelf:
    """The learnings of a database and their index, which change together."""

    def __init__(self, store: Store) -> None:
        self.learnings = Learnings(store)
        self._index = Index(store, "learnings", text.VERSION)

    @contextmanager
    def open(self, namespace: str) -> Iterator[Hand]:
        """A transaction in which learnings are put, closed and taken out."""
        with self.learnings.writing(namespace) as connection:
            yield Hand(self, namespace, connection)

    def find(
        self,
        namespace: str,
        query: str,
        *,
        closed: bool = False,
        keep: Callable[[Entry], bool] | None = None,
    ) -> list[tuple[float, int]]:
        """Scores and numbers of the learnings that fit a question, the best first."""
        book = None if closed else OPEN
        ranked = recall.find(self._index, namespace, query, book=book, keep=keep, context=False)
        return [(score, entry.pos) for score, entry in ranked]

    def problem(self, namespace: str) -> str | None:
        """Why the index cannot be trusted; None if it can."""
        space, _, _ = self._index.size(namespace)
        stored = self.learnings.count(namespace)
        indexed, sample = (0, []) if space is None else self._index.sample(space)
        if stored != indexed:
            return f"{stored} learnings are stored and {indexed} of them indexed"
        known = self.learnings.by_id(entry.pos for entry in sample)
        for entry in sample:
            learning = known.get(entry.pos)
            if learning is None:
                return f"learning {entry.pos} is indexed and not stored"
            words = sorted(text.words(learning.content))
            if words and space is not None and not self._index.postings(space, words):
                return f"learning {entry.pos} is not found by its words"
        return None

    def rebuild(self, namespace: str) -> None:
        """Make the index anew from what is stored."""
        self._index.rebuild(namespace)
        with self.learnings.writing(namespace) as connection:
            for learning in self.learnings.of(namespace, connection=connection):
                book = OPEN if learning.is_open else CLOSED
                self._index.put(namespace, book, [_entry(learning)], connection=connection)


class Hand:
    """Changes to the learnings of one namespace, within one transaction."""

    def __init__(self, shelf: Shelf, namespace: str, connection: Any) -> None:
        self.connection = connection
        self._shelf, self._namespace = shelf, namespace
        self._learnings, self._index = shelf.learnings, shelf._index
        self._changed: dict[int, Learning] = {}
        """As they are in this transaction: the index, read from outside, does not know yet."""

    def put(self, new: Learning) -> tuple[Learning, bool]:
        """Store a learning, or strengthen the one that says the same; whether it is new."""
        near = [old for old in self.near(new.content) if old.agent == new.agent]
        for old in near:
            if _same_thing(old, new):
                return self._confirm(old, new), False
        verdicts = [(old, _clash(new, old)) for old in near]
        unclear = [old for old, verdict in verdicts if verdict is None]
        new = self._add(new._replace(disputed=new.disputed or bool(unclear)))
        for old, verdict in verdicts:
            if verdict:
                self.close(old, superseded_by=new.id)
        for old in unclear:
            self._change(old._replace(disputed=True))
        return new, True

    def near(self, content: str) -> list[Learning]:
        """The open learnings that have most words in common with a text."""
        ranked = self._shelf.find(self._namespace, content) if content.strip() else []
        found = [number for _, number in ranked[:NEAREST] if number not in self._changed]
        stored = self._learnings.by_id(found, self.connection)
        return [
            learning
            for learning in (*self._changed.values(), *(stored[n] for n in found if n in stored))
            if learning.is_open
        ]

    def close(self, old: Learning, *, superseded_by: int | None = None) -> None:
        """It held until now. Nothing is deleted."""
        now = time.time_ns() // 1000
        old = old._replace(valid_to_micros=now, superseded_by=superseded_by)
        self._change(old)
        self._put(OPEN, gone=[old.id])
        self._put(CLOSED, [_entry(old)])

    def take_out(self, learnings: Iterable[Learning]) -> None:
        """Forget them for good."""
        gone = [learning.id for learning in learnings]
        if gone:
            self._learnings.remove(self.connection, gone)
            self._put(OPEN, gone=gone)
            self._put(CLOSED, gone=gone)
        for number in gone:
            self._changed.pop(number, None)

    def _add(self, new: Learning) -> Learning:
        now = time.time_ns() // 1000
        since = new.valid_from_micros or now
        new = new._replace(created_micros=now, valid_from_micros=since, namespace=self._namespace)
        new = self._learnings.add(self.connection, new)
        self._changed[new.id] = new
        self._put(OPEN, [_entry(new)])
        return new

    def _confirm(self, old: Learning, new: Learning) -> Learning:
        """Said again, it is stronger; the same message read twice changes nothing."""
        seen = set(old.evidence)
        if new.evidence and seen.issuperset(new.evidence):
            return old
        others = (*old.confirmed_by, new.said_by, *new.confirmed_by)
        confirmed = dict.fromkeys(name for name in others if name and name != old.said_by)
        changed = old._replace(
            confirmed_by=tuple(confirmed),
            evidence=tuple(dict.fromkeys((*old.evidence, *new.evidence))),
            tags=tuple(dict.fromkeys((*old.tags, *new.tags))),
            metadata={**old.metadata, **new.metadata},
            times_confirmed=old.times_confirmed + 1,
            confidence=min(STRONGEST, round(max(old.confidence, new.confidence) + STRONGER, 2)),
        )
        self._change(changed)
        if changed.tags != old.tags:
            self._put(OPEN, [_entry(changed)], gone=[old.id])
        return changed

    def _change(self, learning: Learning) -> None:
        self._learnings.change(self.connection, learning)
        self._changed[learning.id] = learning

    def _put(self, book: str, new: Iterable[NewEntry] = (), gone: Iterable[int] = ()) -> None:
        entries = list(new)
        self._index.put(self._namespace, book, entries, gone=gone, connection=self.connection)


def _same_thing(old: Learning, new: Learning) -> bool:
    """A fact is what something is called that was remembered without a kind."""
    kinds = {old.kind, new.kind}
    alike = len(kinds) == 1 or ("fact" in kinds and "question" not in kinds)
    return alike and (old.content == new.content or same(old.content, new.content))


def _clash(new: Learning, old: Learning) -> bool | None:
    """Whether the new one takes the old one's place; None if that is not clear."""
    if new.kind not in CAN_CLASH or old.kind not in CAN_CLASH:
        return False
    if new.kind == old.kind == "preference" and new.said_by != old.said_by:
        return False  # tastes may differ
    return contradicts(new.content, old.content)


def _entry(learning: Learning) -> NewEntry:
    times = Counter(text.words(" ".join((learning.content, *learning.tags))))
    about = text.words(f"{learning.said_by} {topics(learning.kind, learning.content)}")
    aside = frozenset((*about, *text.date_words(learning.created)))
    return NewEntry(
        learning.id, None, learning.said_by, learning.created_micros,
        learning.id % 2**31,  # each its own sitting: they do not speak for one another
        text.tells_time(learning.content), False, times, aside,
    )  # fmt: skip
