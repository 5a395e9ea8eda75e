"""The search index in the database: which words are where, and up to where it has been read.

It is derived from the journal and never written by an append. Both backends have the same
tables and are asked the same questions; what a hit is worth is computed by the caller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from autogen_persist.records import Row
from autogen_persist.store.entries import Book, Entry, Found, NewEntry, Packed, packed_for
from autogen_persist.store.postings import (
    PLACE_BITS,
    address_of,
    block_of,
    blocks_of,
    place_of,
    without,
)
from autogen_persist.store.store import Store

_UNREAD = (
    " AND pos <= {0} AND (type = 'message' AND NOT internal AND kind <> 'introduction'"
    " OR type = 'event' AND kind = 'rewound') ORDER BY pos"
)
_ENTRY = "address, pos, seq, speaker, micros, words, sitting, tells_time"

SAMPLES = 10


class Index:
    """The words of one source, such as 'messages', in all namespaces of a database."""

    def __init__(self, store: Store, source: str, version: int) -> None:
        self._store = store
        self._source, self._version = source, version
        self._sqlite = store.engine.dialect.name == "sqlite"

    # Reading the journal into the index.

    def behind(self, namespace: str) -> list[Book]:
        """The sessions that have rows after their mark."""
        with self._reading() as ask:
            space = self._space(ask, namespace) or 0
            rows = ask(
                "SELECT b.space, b.number, s.id, b.pos, b.next, b.words, s.pos "
                "FROM persist_sessions s "
                "LEFT JOIN persist_books b ON b.space = ? AND b.name = s.id "
                "WHERE s.namespace = ? AND s.pos > coalesce(b.pos, 0)",
                (space, namespace),
            )
        known = [Book(*row) for row in rows if row[1] is not None]
        new = [(row[2], row[6]) for row in rows if row[1] is None]
        if new:
            with self._writing() as ask:
                space = self._make_space(ask, namespace)
                known += [self._make_book(ask, space, name)._replace(head=h) for name, h in new]
        return known

    def unread(self, book: Book, limit: int) -> list[Row]:
        """Messages after the mark, and where the session was rewound, in order."""
        return self._store._rows(book.name, _UNREAD, [book.pos, book.head], limit)

    def again(self, book: Book) -> Book | None:
        """The same book as it is now; None if it was thrown away."""
        with self._reading() as ask:
            rows = ask(
                "SELECT pos, next, words FROM persist_books WHERE number = ? AND name = ?",
                (book.number, book.name),
            )
        return book._replace(pos=rows[0][0], next=rows[0][1], words=rows[0][2]) if rows else None

    def last_entry(self, book: Book, before: int) -> Entry | None:
        """The last entry of a book up to a row."""
        with self._reading() as ask:
            rows = ask(
                f"SELECT {_ENTRY} FROM persist_entries WHERE address >= ? AND address < ? "  # noqa: S608
                "AND pos <= ? ORDER BY address DESC LIMIT 1",
                (*_addresses_of(book), before),
            )
        return Entry(*rows[0]) if rows else None

    def advance(
        self, book: Book, new: Sequence[NewEntry], *, pos: int, cut: int | None = None
    ) -> Book | None:
        """Add entries and move the mark, both or neither; None if somebody else moved it.

        With `cut`, what is indexed of the rows after that one is removed before.
        """
        ready = packed_for(book, new) if cut is None else None  # before others have to wait
        with self._writing() as ask:
            # First of all, because it makes others wait: of two that read on, one finds it done.
            moved = ask(
                "UPDATE persist_books SET pos = ? WHERE number = ? AND name = ? AND pos = ?",
                (pos, book.number, book.name, book.pos),
            )
            if moved != 1:
                return None
            if cut is not None:
                book = self._cut(ask, book, cut)
            return self._add(ask, book, ready or packed_for(book, new))._replace(pos=pos)

    def put(
        self,
        namespace: str,
        book: str,
        new: Sequence[NewEntry] = (),
        *,
        gone: Iterable[int] = (),
        connection: Connection | None = None,
    ) -> None:
        """Add entries and remove others, by their `pos`, where no journal is read from.

        With a `connection`, as a part of its transaction.
        """
        with self._writing(connection) as ask:
            held = self._make_book(ask, self._make_space(ask, namespace), book)
            left = self._take_out(ask, held, gone)
            held = held._replace(words=left)
            self._add(ask, held, packed_for(held, new))

    def remove(self, session_id: str, positions: Iterable[int]) -> None:
        """Forget some messages of a session, wherever they are indexed."""
        with self._writing() as ask:
            for (space,) in ask(
                "SELECT b.space FROM persist_books b JOIN persist_spaces s ON s.number = b.space "
                "WHERE s.source = ? AND b.name = ?",
                (self._source, session_id),
            ):
                self._take_out(ask, self._make_book(ask, space, session_id), positions)

    def rebuild(self, namespace: str) -> None:
        """Throw the index of a namespace away; it is made anew by reading on."""
        with self._writing() as ask:
            for (space,) in ask(
                "SELECT number FROM persist_spaces WHERE source = ? AND namespace = ?",
                (self._source, namespace),
            ):
                self._drop(ask, space)

    # Asking it.

    def size(self, namespace: str) -> tuple[int | None, int, int]:
        """The number of the space, and how many entries and words there are in it."""
        with self._reading() as ask:
            space = self._space(ask, namespace)
            if space is None:
                return None, 0, 0
            ((entries, words),) = ask(
                "SELECT coalesce(sum(next), 0), coalesce(sum(words), 0) "
                "FROM persist_books WHERE space = ?",
                (space,),
            )
            return space, int(entries), int(words)

    def postings(
        self, space: int, words: Sequence[str], *, book: str | None = None
    ) -> dict[str, list[tuple[int, bytes]]]:
        """Of each word the blocks that have it, with their packed postings."""
        marks = _marks(words)
        query = (
            f"SELECT word, block, data FROM persist_postings "  # noqa: S608
            f"WHERE space = ? AND word IN ({marks})"
        )
        values: tuple[Any, ...] = (space, *words)
        found: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        with self._reading() as ask:
            if book is not None:
                named = "SELECT number FROM persist_books WHERE space = ? AND name = ?"
                numbers = ask(named, (space, book))
                query += " AND block BETWEEN ? AND ?"
                values += blocks_of(numbers[0][0]) if numbers else (0, -1)
            for word, block, data in ask(query, values):
                found[word].append((block, data))
        return found

    def entries(self, addresses: Sequence[int]) -> dict[int, Entry]:
        """What is at these addresses, as far as anything is."""
        marks = _marks(addresses)
        with self._reading() as ask:
            rows = ask(
                f"SELECT {_ENTRY} FROM persist_entries WHERE address IN ({marks})",  # noqa: S608
                tuple(addresses),
            )
        return {row[0]: Entry(*row) for row in rows}

    def messages(self, addresses: Sequence[int]) -> dict[int, Found]:
        """The messages at these addresses, as the journal has them."""
        marks = _marks(addresses)
        with self._reading() as ask:
            rows = ask(
                f"SELECT e.address, j.session_id, j.body FROM persist_entries e "  # noqa: S608
                f"JOIN persist_books b ON b.number = (e.address >> {PLACE_BITS}) "
                f"JOIN persist_journal j ON j.session_id = b.name AND j.pos = e.pos "
                f"WHERE e.address IN ({marks})",
                tuple(addresses),
            )
        return {address: Found(*rest) for address, *rest in rows}

    def sample(self, space: int) -> tuple[int, list[Entry]]:
        """How many entries there are, and the last ones of a few books."""
        books = "SELECT number, next FROM persist_books WHERE space = ?"
        total = 0
        last: list[Entry] = []
        with self._reading() as ask:
            for number, _ in ask(books, (space,)):
                first, end = address_of(number, 0), address_of(number + 1, 0)
                inside = "FROM persist_entries WHERE address >= ? AND address < ?"
                total += ask(f"SELECT count(*) {inside}", (first, end))[0][0]
                if len(last) < SAMPLES:
                    query = f"SELECT {_ENTRY} {inside} ORDER BY address DESC LIMIT 1"
                    last += [Entry(*row) for row in ask(query, (first, end))]
        return total, last

    # One statement each.

    def _space(self, ask: _Ask, namespace: str) -> int | None:
        rows = ask(
            "SELECT number FROM persist_spaces WHERE source = ? AND namespace = ? AND version = ?",
            (self._source, namespace, self._version),
        )
        return int(rows[0][0]) if rows else None

    def _make_space(self, ask: _Ask, namespace: str) -> int:
        known = self._space(ask, namespace)
        if known is not None:
            return known
        for (old,) in ask(
            "SELECT number FROM persist_spaces WHERE source = ? AND namespace = ? AND version < ?",
            (self._source, namespace, self._version),
        ):
            self._drop(ask, old)
        ask(
            "INSERT INTO persist_spaces (source, namespace, version) VALUES (?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            (self._source, namespace, self._version),
        )
        made = self._space(ask, namespace)
        assert made is not None
        return made

    def _make_book(self, ask: _Ask, space: int, name: str) -> Book:
        """A book that nobody else changes before the end of this transaction."""
        ask(
            "INSERT INTO persist_books (space, name) VALUES (?, ?) "
            "ON CONFLICT (space, name) DO UPDATE SET pos = persist_books.pos",
            (space, name),
        )
        (row,) = ask(
            "SELECT space, number, name, pos, next, words, pos FROM persist_books "
            "WHERE space = ? AND name = ?",
            (space, name),
        )
        return Book(*row)

    def _add(self, ask: _Ask, book: Book, packed: Packed) -> Book:
        ask.many(
            f"INSERT INTO persist_entries ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            packed.entries,
        )
        joined = "persist_postings.data || excluded.data"
        # SQLite joins the bytes, and calls the result a text unless told otherwise.
        joined = f"CAST({joined} AS BLOB)" if self._sqlite else joined
        ask.many(
            "INSERT INTO persist_postings (space, word, block, data) VALUES (?, ?, ?, ?) "  # noqa: S608
            f"ON CONFLICT (space, word, block) DO UPDATE SET data = {joined}",
            packed.postings,
        )
        start, words = book.next + len(packed.entries), book.words + packed.words
        ask(
            "UPDATE persist_books SET next = ?, words = ? WHERE number = ?",
            (start, words, book.number),
        )
        return book._replace(next=start, words=words)

    def _cut(self, ask: _Ask, book: Book, pos: int) -> Book:
        """The book without what came after a row."""
        gone = self._entries_after(ask, book, pos)
        self._remove(ask, book, gone)
        start = min([book.next, *(place_of(entry.address) for entry in gone)])
        return book._replace(next=start, words=book.words - sum(entry.words for entry in gone))

    def _take_out(self, ask: _Ask, book: Book, positions: Iterable[int]) -> int:
        """Remove entries by the rows they stand for; return how many words are left."""
        wanted = sorted(set(positions))
        if not wanted:
            return book.words
        marks = _marks(wanted)
        rows = ask(
            f"SELECT {_ENTRY} FROM persist_entries "  # noqa: S608
            f"WHERE address >= ? AND address < ? AND pos IN ({marks})",
            (*_addresses_of(book), *wanted),
        )
        gone = [Entry(*row) for row in rows]
        self._remove(ask, book, gone)
        left = book.words - sum(entry.words for entry in gone)
        ask("UPDATE persist_books SET words = ? WHERE number = ?", (left, book.number))
        return left

    def _entries_after(self, ask: _Ask, book: Book, pos: int) -> list[Entry]:
        rows = ask(
            f"SELECT {_ENTRY} FROM persist_entries "  # noqa: S608
            "WHERE address >= ? AND address < ? AND pos > ?",
            (*_addresses_of(book), pos),
        )
        return [Entry(*row) for row in rows]

    def _remove(self, ask: _Ask, book: Book, gone: Sequence[Entry]) -> None:
        """Take entries out of every row of their blocks.

        The words of a redacted message are no longer known, so the whole space is looked
        through; it is not done often.
        """
        if not gone:
            return
        addresses = {entry.address for entry in gone}
        blocks = sorted(set(map(block_of, addresses)))
        marks = _marks(blocks)
        for word, block, data in ask(
            f"SELECT word, block, data FROM persist_postings "  # noqa: S608
            f"WHERE space = ? AND block IN ({marks})",
            (book.space, *blocks),
        ):
            left = without(block, data, addresses)
            where = "WHERE space = ? AND word = ? AND block = ?"
            if not left:
                ask(f"DELETE FROM persist_postings {where}", (book.space, word, block))  # noqa: S608
            elif left != data:
                change = f"UPDATE persist_postings SET data = ? {where}"  # noqa: S608
                ask(change, (left, book.space, word, block))
        ask.many("DELETE FROM persist_entries WHERE address = ?", [(a,) for a in addresses])

    def _drop(self, ask: _Ask, space: int) -> None:
        for (book,) in ask("SELECT number FROM persist_books WHERE space = ?", (space,)):
            ask(
                "DELETE FROM persist_entries WHERE address >= ? AND address < ?",
                (address_of(book, 0), address_of(book + 1, 0)),
            )
        ask("DELETE FROM persist_postings WHERE space = ?", (space,))
        ask("DELETE FROM persist_books WHERE space = ?", (space,))
        ask("DELETE FROM persist_spaces WHERE number = ?", (space,))

    @contextmanager
    def _reading(self) -> Iterator[_Ask]:
        with self._store._connect() as connection:
            yield _Ask(connection.connection.cursor(), self._sqlite)

    @contextmanager
    def _writing(self, connection: Connection | None = None) -> Iterator[_Ask]:
        """All of it or nothing; SQLite's writers wait for each other here."""
        if connection is not None:
            yield _Ask(connection.connection.cursor(), self._sqlite)
            return
        with self._store._connect() as own:
            if self._sqlite:
                own.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                own = own.execution_options(isolation_level="READ COMMITTED")
                own.begin()
            try:
                yield _Ask(own.connection.cursor(), self._sqlite)
            except BaseException:
                own.connection.rollback()
                raise
            own.connection.commit()


def _marks(values: Sequence[object]) -> str:
    """For IN (…), which must not be empty."""
    return ", ".join("?" * len(values)) or "NULL"


def _addresses_of(book: Book) -> tuple[int, int]:
    """The first one, and the first one after the book."""
    return address_of(book.number, 0), address_of(book.number + 1, 0)


class _Ask:
    """A cursor that takes '?' on both backends, and answers with rows or with their number."""

    def __init__(self, cursor: Any, sqlite: bool) -> None:
        self._cursor, self._sqlite = cursor, sqlite

    def __call__(self, statement: str, values: Sequence[Any]) -> Any:
        self._cursor.execute(self._in_dialect(statement), values)
        return self._cursor.fetchall() if self._cursor.description else self._cursor.rowcount

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._cursor.executemany(self._in_dialect(statement), rows)

    def _in_dialect(self, statement: str) -> str:
        return statement if self._sqlite else statement.replace("?", "%s")
