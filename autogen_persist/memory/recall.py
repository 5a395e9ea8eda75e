"""Find again what was said: read on in the journal, ask the index, rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from autogen_persist.errors import BadArgument
from autogen_persist.memory import ranking, text
from autogen_persist.records import Row, text_of
from autogen_persist.store import Store
from autogen_persist.store import body as bodies
from autogen_persist.store.entries import Book, Entry, Found, NewEntry
from autogen_persist.store.search import Index

MOST_WORDS = 100
"""Words of a question that are looked for."""
CHUNK = 500
"""Candidates that are looked up at once."""
BATCH = 500
"""Rows that are indexed in one transaction."""
ROUNDS = 5
"""How often a question is asked again because redacted messages, or their neighbours, came up."""
PAUSE = 3600 * 1_000_000
"""An hour of silence, in microseconds: after that it is another sitting."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Hit(NamedTuple):
    """A message that was found."""

    session_id: str
    pos: int
    seq: int | None
    speaker: str
    text: str
    at: datetime
    score: float
    """About 1 where every word of the question was found; above, where the author was named."""


class Probe(NamedTuple):
    """How the index of a namespace stands."""

    indexed: int
    """Messages that can be found."""
    behind: int
    """Sessions that have rows the index has not seen yet."""
    problem: str | None
    """Why the index cannot be trusted; None if it can."""


class Search:
    """Recall over the messages of a database, from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index = Index(store, "messages", text.VERSION)

    def recall(
        self,
        namespace: str,
        query: str,
        *,
        limit: int = 10,
        agent: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        min_score: float | None = None,
    ) -> list[Hit]:
        """The messages of a namespace that fit a question best.

        Everything that was committed before the call is searched. `agent` is who said it,
        `since` and `until` when (`until` itself is not included).
        """
        _check(query, limit)
        if session is not None:
            self._store.head(session)  # a wrong id is an error and not an empty answer
        self.catch_up(namespace)
        keep = _filter(agent, _micros(since), _micros(until))
        for _ in range(ROUNDS):
            found = find(self._index, namespace, query, book=session, keep=keep)
            hits, redacted = self._hits(found[:limit])
            if not redacted:
                break
            for session_id, pos in redacted:
                self.forget(session_id, [pos])
        return [hit for hit in hits if min_score is None or hit.score >= min_score]

    def catch_up(self, namespace: str) -> int:
        """Index what was said since the last time; return the number of messages.

        Can be called at any time, by many processes at once: of each batch, the index
        and the mark change together, and only one of them does it.
        """
        return sum(self._read_on(book) for book in self._index.behind(namespace))

    def forget(self, session_id: str, positions: Sequence[int]) -> None:
        """Take messages out of the index, as when they are redacted."""
        self._index.remove(session_id, positions)

    def rebuild(self, namespace: str) -> int:
        """Make the index of a namespace anew; return the number of messages."""
        self._index.rebuild(namespace)
        return self.catch_up(namespace)

    def probe(self, namespace: str) -> Probe:
        """Tell 'there is nothing to be found' from 'the index is broken'."""
        behind = len(self._index.behind(namespace))
        space, _, _ = self._index.size(namespace)
        if space is None:
            return Probe(0, behind, None)
        indexed, sample = self._index.sample(space)
        problem = self._why_not_found(space, sample) if sample else None
        return Probe(indexed, behind, problem)

    def _why_not_found(self, space: int, sample: Sequence[Entry]) -> str | None:
        """Look for messages that are known to be there."""
        messages = self._index.messages([entry.address for entry in sample])
        for entry in sample:
            message = messages.get(entry.address)
            if message is None:
                return f"row {entry.pos} is indexed and not in the journal"
            said = set(text.words(text_of(bodies.load(message.text)))) if message.text else set()
            found = self._index.postings(space, sorted(said)) if said else {}
            scores = ranking.score(sorted(said), found, ranking.Size(1, 1), context=False)
            if said and entry.address not in scores:
                return f"message {entry.seq} of {message.session_id!r} is not found by its words"
        return None

    def _read_on(self, book: Book) -> int:
        """Index a session from its mark to its head."""
        done = 0
        while book.pos < book.head:
            rows = self._index.unread(book, BATCH)
            pos = rows[-1].pos if len(rows) == BATCH else book.head
            said, cut = _standing(rows, book.pos)
            last = self._index.last_entry(book, book.pos if cut is None else cut)
            new = list(_entries(said, last))
            moved = self._index.advance(book, new, pos=pos, cut=cut)
            if moved is None:
                # Another process has read on, and may have read further than we would.
                moved = self._index.again(book)
                if moved is None:
                    break
            else:
                done += len(new)
            book = moved
        return done

    def _hits(
        self, found: Sequence[tuple[float, Entry]]
    ) -> tuple[list[Hit], list[tuple[str, int]]]:
        """The messages themselves, and those that are redacted and should not be here."""
        messages = self._index.messages([entry.address for _, entry in found])
        hits, redacted = [], []
        for score, entry in found:
            message = messages.get(entry.address)
            if message is None:
                continue  # taken out while we were looking
            if message.text is None:
                redacted.append((message.session_id, entry.pos))
            else:
                hits.append(_hit(score, entry, message))
        return hits, redacted


def _hit(score: float, entry: Entry, message: Found) -> Hit:
    said = text_of(bodies.load(message.text or "{}"))
    at = _EPOCH + timedelta(microseconds=entry.micros)
    return Hit(message.session_id, entry.pos, entry.seq, entry.speaker, said, at, score)


def find(
    index: Index,
    namespace: str,
    query: str,
    *,
    book: str | None = None,
    keep: Callable[[Entry], bool] | None = None,
    context: bool = True,
) -> list[tuple[float, Entry]]:
    """Scores and entries that fit a question, the best first; at most `ranking.POOL`.

    `keep` chooses what may be found. Without `context`, neighbours do not count: for
    entries that stand alone.
    """
    space, entries, length = index.size(namespace)
    wanted = text.asked(query)[:MOST_WORDS]
    if space is None or not wanted:
        return []
    found = index.postings(space, wanted, book=book)
    scores = ranking.score(wanted, found, ranking.Size(entries, length), context=context)
    return ranking.boost(query, scores, _pool(index, scores, keep))


def _pool(
    index: Index, scores: Mapping[int, float], keep: Callable[[Entry], bool] | None
) -> list[Entry]:
    """The best candidates that may be found."""
    # Of the addresses, some are beyond the ends of a session, and only have neighbours.
    order = ranking.best_of(scores, None if keep else ranking.POOL + 50)
    pool: list[Entry] = []
    for start in range(0, len(order), CHUNK):
        part = order[start : start + CHUNK]
        entries = index.entries(part)
        there = (entries[address] for address in part if address in entries)
        pool += [entry for entry in there if keep is None or keep(entry)]
        if len(pool) >= ranking.POOL:
            break
    return pool[: ranking.POOL]


def _filter(
    agent: str | None, since: int | None, until: int | None
) -> Callable[[Entry], bool] | None:
    if agent is None and since is None and until is None:
        return None
    return lambda entry: (
        (agent is None or entry.speaker == agent)
        and (since is None or entry.micros >= since)
        and (until is None or entry.micros < until)
    )


def _standing(rows: Sequence[Row], mark: int) -> tuple[list[Row], int | None]:
    """The messages that were not rewound, and how far the rows before the mark are."""
    said: list[Row] = []
    cut = None
    for row in rows:
        if row.type == "message":
            said.append(row)
            continue
        to = int(row.body["to"])
        said = [earlier for earlier in said if earlier.pos <= to]
        if to < mark:
            cut = to if cut is None else min(cut, to)
    return said, cut


def _entries(rows: Sequence[Row], last: Entry | None) -> Iterator[NewEntry]:
    sitting, before = (last.sitting, last.micros) if last else (0, 0)
    for row in rows:
        said = row.text
        times = Counter(text.words(said))
        if not times:
            continue
        if before and row.micros - before > PAUSE:
            sitting += 1
        before = row.micros
        aside = frozenset((*text.words(row.speaker), *text.date_words(row.at)))
        yield NewEntry(
            row.pos, row.seq, row.speaker, row.micros, sitting,
            text.tells_time(said), text.is_question(said), times, aside,
        )  # fmt: skip


def _micros(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.astimezone()  # as everywhere in Python: a time without a zone is local
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _check(query: str, limit: int) -> None:
    if not isinstance(query, str) or not query.strip():
        raise BadArgument("query", query, "a text that is not empty")
    if not isinstance(limit, int) or limit < 1:
        raise BadArgument("limit", limit, "a number, 1 or more")
