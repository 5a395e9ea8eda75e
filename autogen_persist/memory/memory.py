"""Memory: what a team remembers and recalls, in one namespace of a database."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from autogen_persist.errors import BadArgument, JournalUnavailable
from autogen_persist.memory import recall as messages
from autogen_persist.memory import tools
from autogen_persist.memory.given import as_messages
from autogen_persist.memory.learning import KINDS, Candidate
from autogen_persist.memory.recalled import Recalled, Remembered, of_learning, of_message, within
from autogen_persist.memory.rules import rules
from autogen_persist.memory.shelf import Shelf
from autogen_persist.records import Learning
from autogen_persist.store import Store
from autogen_persist.store.entries import Entry
from autogen_persist.store.kv import Values

log = logging.getLogger("autogen_persist")
MOST_BYTES = 1_000_000
SOURCES = ("learnings", "messages")


class Memory:
    """What is remembered in a namespace, by every process on the database.

    Learnings that say the same are one; one that contradicts an older one closes it. Beside
    them there are values by name: `get`, `set`, `update`, `delete`, `keys`.
    """

    def __init__(self, namespace: str = "default", *, url: Any = None) -> None:
        self.namespace = check_namespace(namespace)
        self._owned = not isinstance(url, Store)
        self._store = url if isinstance(url, Store) else Store.open(url)
        self._shelf = Shelf(self._store)
        self._messages = messages.Search(self._store)
        self._values = Values(self._store, namespace)

    def remember(
        self,
        text: str,
        kind: str = "fact",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        agent: str | None = None,
    ) -> int:
        """Keep a sentence; returns its id. One that is known is strengthened instead.

        `agent` makes it that agent's own: only who recalls with this agent finds it.
        """
        content = _text("text", text)
        if kind not in KINDS:
            raise BadArgument("kind", kind, " or ".join(map(repr, KINDS)))
        _json("metadata", dict(metadata or {}))
        new = Learning(
            0, self.namespace, kind, content, said_by=agent or "", agent=agent,
            tags=_names("tags", tags), confidence=0.9, metadata=dict(metadata or {}),
        )  # fmt: skip
        with self._shelf.open(self.namespace) as hand:
            return hand.put(new)[0].id

    def recall(
        self,
        query: str,
        limit: int = 5,
        max_tokens: int | None = None,
        tags: Iterable[str] = (),
        kind: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        min_score: float | None = None,
        sources: Iterable[str] = ("learnings",),
        closed: bool = False,
    ) -> Recalled:
        """What fits a question best; an empty answer says whether there is really nothing.

        tags, kind: only learnings with all these tags, or of this kind.
        agent: also the private learnings of this agent; of the messages, what it said.
        session: only what was read from this session.
        closed: also learnings that no longer hold.
        sources: 'learnings', 'messages' or both.
        """
        messages._check(query, limit)
        wanted = _sources(sources)
        hits: list[Remembered] = []
        if "learnings" in wanted:
            keep = _filter(_names("tags", tags), kind, agent, session, since, until)
            hits += self._learnings(query, closed, keep)
        if "messages" in wanted and not tags and kind in (None, "message"):
            found = self._messages.recall(
                self.namespace, query, limit=limit, agent=agent, session=session,
                since=since, until=until,
            )  # fmt: skip
            hits += map(of_message, found)
        hits = [hit for hit in hits if min_score is None or hit.score >= min_score]
        hits = within(sorted(hits, key=_rank)[:limit], max_tokens)
        self._note(hits)
        return Recalled(hits, problem=None if hits else self._problem(wanted))

    def forget(self, id: int) -> bool:
        """Delete a learning for good; False if there is none of this id."""
        with self._shelf.open(self.namespace) as hand:
            known = self._shelf.learnings.by_id([id], hand.connection).get(id)
            if known is None or known.namespace != self.namespace:
                return False
            hand.take_out([known])
            return True

    def add(self, said: str | Sequence[Mapping[str, Any]]) -> list[Learning]:
        """Learn from a text ('Coder: …' begins what the coder says) or a list of messages.

        Returns the learnings that are new.
        """
        if isinstance(said, str):
            _text("text", said)
        found = rules(as_messages(said))
        with self._shelf.open(self.namespace) as hand:
            put = [hand.put(learning_of(one, "", rules)._replace(evidence=())) for one in found]
        return [learning for learning, is_new in put if is_new]

    def learnings(self, history: bool = False) -> list[Learning]:
        """All learnings, the oldest first; with `history` also those that no longer hold."""
        return self._shelf.learnings.of(self.namespace, closed=history)

    def clear(self) -> None:
        """Forget all learnings and all values of the namespace. The journal stays."""
        with self._shelf.open(self.namespace) as hand:
            every = self._shelf.learnings.of(self.namespace, connection=hand.connection)
            hand.take_out(every)
        self._values.clear()

    def register(self, *, caller: Any, executor: Any) -> None:
        """Give two agents `remember` and `recall` as AutoGen tools."""
        tools.register(self, caller, executor)

    # Values by name.

    def get(self, key: str, default: Any = None) -> Any:
        """The value of this name; `default` if there is none, or it has expired."""
        found = self._values.get(_key(key))
        return default if found is None else json.loads(found)

    def set(self, key: str, value: Any, *, ttl: float | None = None) -> None:
        """Keep any JSON value, for `ttl` seconds if that is given; None deletes it."""
        self.update(key, lambda _: value, ttl=ttl)

    def update(self, key: str, function: Callable[[Any], Any], *, ttl: float | None = None) -> Any:
        """Replace a value by what the function makes of it (of None if there is none).

        No other process comes in between.
        """
        if ttl is not None and (not isinstance(ttl, (int, float)) or ttl <= 0):
            raise BadArgument("ttl", ttl, "a number of seconds above 0")

        def change(old: str | None) -> str | None:
            value = function(None if old is None else json.loads(old))
            return None if value is None else _json("value", value)

        made = self._values.update(_key(key), change, ttl=ttl)
        return None if made is None else json.loads(made)

    def delete(self, key: str) -> bool:
        """Remove a value; False if there was none."""
        there: list[bool] = []

        def gone(old: str | None) -> None:
            there.append(old is not None)

        self._values.update(_key(key), gone)
        return there[-1]

    def keys(self) -> list[str]:
        """The names of all values, sorted."""
        return self._values.keys()

    def close(self) -> None:
        """Let go of the database; a Store that was passed in stays open."""
        if self._owned:
            self._store.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, _memo: object) -> Memory:
        return self  # a copied agent remembers the same

    def __repr__(self) -> str:
        return f"<Memory {self.namespace!r} in {self._store.url}>"

    # Recall.

    def _learnings(
        self, query: str, closed: bool, keep: Callable[[Learning], bool] | None
    ) -> list[Remembered]:
        every: Callable[[Entry], bool] | None = None
        if keep is not None:
            allowed = {one.id for one in self.learnings(history=closed) if keep(one)}
            every = lambda entry: entry.pos in allowed  # noqa: E731
        ranked = self._shelf.find(self.namespace, query, closed=closed, keep=every)
        known = self._shelf.learnings.by_id(number for _, number in ranked)
        found = [of_learning(score, known[n]) for score, n in ranked if n in known]
        return [hit for hit in found if keep or (hit.learning and hit.learning.agent is None)]

    def _note(self, hits: Sequence[Remembered]) -> None:
        try:
            self._shelf.learnings.note_recalled(hit.id for hit in hits if hit.id is not None)
        except JournalUnavailable as error:  # who may only read can recall, too
            log.debug("recalls are not counted: %s", error)

    def _problem(self, sources: Sequence[str]) -> str | None:
        """Why nothing was found, unless there is nothing."""
        found = [self._shelf.problem(self.namespace)] if "learnings" in sources else []
        if "messages" in sources:
            found.append(self._messages.probe(self.namespace).problem)
        return next((problem for problem in found if problem), None)


def learning_of(found: Candidate, session_id: str, extractor: Any) -> Learning:
    """What an extractor found, as a learning that is not stored yet."""
    return Learning(
        0, "", found.kind, found.content, said_by=found.said_by,
        confirmed_by=tuple(found.confirmed_by), tags=tuple(found.tags),
        confidence=found.confidence, disputed="disputed" in found.tags,
        evidence=tuple((session_id, seq) for seq in found.evidence),
        extractor=name_of(extractor), version=str(getattr(extractor, "version", "")),
    )  # fmt: skip


def name_of(extractor: Any) -> str:
    """What the marks and the learnings call it."""
    name = getattr(extractor, "name", None) or getattr(extractor, "__name__", None)
    return str(name or type(extractor).__name__)


def check_namespace(namespace: str) -> str:
    good = isinstance(namespace, str) and 0 < len(namespace) <= 200 and namespace.isprintable()
    if not good or namespace.startswith("_"):
        expected = "1 to 200 printable characters; those that begin with '_' are reserved"
        raise BadArgument("namespace", namespace, expected)
    return namespace


def _filter(
    tags: Sequence[str],
    kind: str | None,
    agent: str | None,
    session: str | None,
    since: datetime | None,
    until: datetime | None,
) -> Callable[[Learning], bool] | None:
    if kind is not None and kind not in (*KINDS, "message"):
        raise BadArgument("kind", kind, " or ".join(map(repr, KINDS)))
    if not tags and (kind, agent, session, since, until) == (None,) * 5:
        return None
    first, end = messages._micros(since), messages._micros(until)
    return lambda one: (
        one.agent in (None, agent)
        and set(tags) <= set(one.tags)
        and kind in (None, one.kind)
        and (session is None or session in {place for place, _ in one.evidence})
        and (first is None or one.created_micros >= first)
        and (end is None or one.created_micros < end)
    )


def _rank(hit: Remembered) -> tuple[float, int, float]:
    """By score; of equals, what was confirmed more often, then what is newer."""
    confirmed = hit.learning.times_confirmed if hit.learning else 0
    return -hit.score, -confirmed, -hit.at.timestamp()


def _sources(sources: Iterable[str]) -> tuple[str, ...]:
    wanted = (sources,) if isinstance(sources, str) else tuple(sources)
    if not wanted or not set(wanted) <= set(SOURCES):
        raise BadArgument("sources", sources, "'learnings', 'messages' or both")
    return wanted


def _text(name: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise BadArgument(name, text, "a text that is not empty")
    size = len(text.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        raise BadArgument(name, f"{text[:20]}…", f"at most {MOST_BYTES:,} bytes, not {size:,}")
    # What no database takes: NUL, and half of a pair of surrogates.
    return text.strip().replace("\0", "").encode("utf-8", "replace").decode()


def _names(name: str, values: Iterable[str]) -> tuple[str, ...]:
    given = (values,) if isinstance(values, str) else tuple(values)
    return tuple(dict.fromkeys(_text(name, value) for value in given))


def _key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= 200 or not key.isprintable():
        raise BadArgument("key", key, "1 to 200 printable characters")
    return key


def _json(name: str, value: Any) -> str:
    try:
        text = json.dumps(value, allow_nan=False)
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        kind = type(value).__name__
        raise BadArgument(name, kind, "a JSON value: what was put in must come out again")
    if len(text) > MOST_BYTES:
        raise BadArgument(name, f"{text[:20]}…", f"at most {MOST_BYTES:,} bytes as JSON")
    return text
