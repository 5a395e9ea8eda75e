"""The store: sessions and their journals in a SQL database."""

from __future__ import annotations

import difflib
import os
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from autogen_persist.errors import (
    BadArgument,
    BadUrl,
    JournalUnavailable,
    NoSuchSession,
    NotJournalable,
)
from autogen_persist.records import Draft, Message, Row, SessionRecord
from autogen_persist.store import body as bodies
from autogen_persist.store import lease as leases
from autogen_persist.store import schema
from autogen_persist.store.chain import Head, genesis
from autogen_persist.store.engine import open_engine, resolve, shown
from autogen_persist.store.journal import Journal
from autogen_persist.store.lease import Lease
from autogen_persist.store.tables import sessions
from autogen_persist.store.write import PostgresWriter, SqliteWriter

PATIENCE = 10.0
"""Seconds for which a failing database is tried again before the chat is stopped."""
_ROW = (
    "SELECT pos, seq, run, chat, type, kind, speaker, listener, audience, internal, "
    "micros, body, digest FROM persist_journal WHERE session_id = {0} AND pos > {0}"
)


class Store:
    """A durable, ordered journal of many sessions; safe for threads, processes and forks.

    A method that returns has committed. A method that raises has changed nothing.
    """

    def __init__(self, engine: Engine, *, owned: bool, patience: float) -> None:
        self.engine = engine
        self.url = shown(engine.url)
        self._owned = owned
        self._patience = patience
        dbapi: Any = engine.dialect.dbapi
        self._driver_error: type[Exception] = dbapi.Error
        self._sqlite = engine.dialect.name == "sqlite"
        self._mark = "?" if self._sqlite else "%s"
        self._writers: dict[str, SqliteWriter | PostgresWriter] = {}
        self._journals: dict[tuple[str, str], Journal] = {}
        self._lock = threading.Lock()
        _open_stores.add(self)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | URL | Engine | None = None,
        *,
        upgrade: bool | None = None,
        patience: float = PATIENCE,
    ) -> Store:
        """Open a database by URL, path or engine.

        A fresh SQLite file is created and upgraded; an existing database and every
        PostgreSQL only with `upgrade=True`. A caller's engine stays the caller's: it is
        neither changed nor disposed of.
        """
        owned = not isinstance(url, Engine)
        if not isinstance(patience, (int, float)) or patience < 0:
            raise BadArgument("patience", patience, "a number of seconds, 0 or more")
        engine = url if isinstance(url, Engine) else open_engine(resolve(url), patience)
        _check_engine(engine)
        store = cls(engine, owned=owned, patience=patience)
        try:
            store._prepare(upgrade)
        except BaseException as error:
            store.close()
            why = store.why_not(error)
            if why is None:
                raise
            raise JournalUnavailable(url=store.url, why=why, unwritten=0) from error
        return store

    def _prepare(self, upgrade: bool | None) -> None:
        if upgrade is None:
            upgrade = self._sqlite and schema.current(self.engine) is None
        if upgrade:
            schema.upgrade(self.engine)
        schema.check(self.engine)

    def create(self, session_id: str, *, namespace: str = "default") -> None:
        """Begin a session; do nothing where it exists."""
        _check_id("session_id", session_id)
        _check_id("namespace", namespace)
        now = time.time_ns() // 1000
        row = {
            "id": session_id,
            "namespace": namespace,
            "created_micros": now,
            "updated_micros": now,
            "digest": genesis(session_id).digest,
        }
        with self._connect() as connection:
            if connection.execute(select(sessions.c.id).filter_by(id=session_id)).first():
                return
            try:
                connection.execute(insert(sessions).values(**row))
                connection.commit()
            except IntegrityError:
                connection.rollback()  # another process was faster

    def journal(self, session_id: str, *, durability: str = "full") -> Journal:
        """The open end of a session, one object for all threads of this process."""
        with self._lock:
            key = (session_id, "normal" if durability == "normal" else "full")
            if key not in self._journals:
                self._journals[key] = Journal(
                    session_id,
                    self._writer(key[1]),
                    read_head=lambda lease: self._head(session_id, lease),
                    why_not=self.why_not,
                    url=self.url,
                    patience=self._patience,
                )
            return self._journals[key]

    def forget_journal(self, session_id: str) -> None:
        """Nobody writes this session any more."""
        with self._lock:
            for key in [key for key in self._journals if key[0] == session_id]:
                del self._journals[key]

    def append(
        self,
        session_id: str,
        speaker: str,
        body: Mapping[str, Any],
        *,
        listener: str = "",
        kind: str = "text",
        strict: bool = True,
    ) -> Message:
        """Write one message and give it the next number; begins the session if need be."""
        content, problems = bodies.dump(dict(body))
        if problems and strict:
            raise NotJournalable(problems)
        self.create(session_id)
        draft = Draft(
            run=0, chat="", type="message", kind=kind, speaker=speaker, listener=listener,
            audience="peer", internal=False, micros=time.time_ns() // 1000, content=content,
        )  # fmt: skip
        own = self.journal(session_id)
        with own.lock:
            head = own.append([draft])
        loaded = bodies.load(content)
        return Row(session_id, head.pos, head.seq, *draft[:-1], loaded, head.digest)

    def own(self, session_id: str) -> Lease:
        """Become the one writer of a session, or raise SessionBusy."""
        with self._connect() as connection:
            lease = leases.take(connection, session_id)
            connection.commit()
            return lease

    def keep(self, lease: Lease) -> bool:
        """Renew a lease; False if it was lost."""
        with self._connect() as connection:
            kept = leases.renew(connection, lease)
            connection.commit()
            return kept

    def disown(self, lease: Lease) -> None:
        """Leave a session to whoever comes next."""
        with self._connect() as connection:
            leases.release(connection, lease)
            connection.commit()

    def owner(self, session_id: str) -> dict[str, Any] | None:
        """Host and pid of the live process that writes a session; None if there is none."""
        with self._connect() as connection:
            return leases.holder(connection, session_id)

    def head(self, session_id: str) -> Head:
        """Where the journal of a session ends."""
        found = self._session_row(session_id)
        return Head(found[0], found[1], found[2], bytes(found[3]), found[4])

    def _head(self, session_id: str, lease: Lease | None) -> Head:
        """The same, for somebody who wants to write."""
        found = self._session_row(session_id)
        leases.check(lease, session_id, found[4], found[5], found[6])
        return Head(found[0], found[1], found[2], bytes(found[3]), found[4])

    def _session_row(self, session_id: str) -> Any:
        s = sessions.c
        columns = (s.pos, s.seq, s.run, s.digest, s.lease_token, s.owner, s.lease_until_micros)
        with self._connect() as connection:
            found = connection.execute(select(*columns).where(s.id == session_id)).first()
        if found is None:
            raise self._no_such(session_id)
        return found

    def messages(
        self, session_id: str, *, after: int = 0, limit: int | None = None
    ) -> list[Message]:
        """The messages of a session with a number above `after`, in order.

        Those that were rewound are not among them; `rows` has them all.
        """
        # No index on seq: a message's pos is never below its seq, so the scan can begin there.
        where = " AND type = 'message' AND seq > {0}"
        values = [after, after]
        for rewound in self.events(session_id, kind="rewound"):
            where += " AND NOT (pos > {0} AND pos < {0})"
            values += [int(rewound.body["to"]), rewound.pos]
        return self._rows(session_id, where + " ORDER BY pos", values, limit)

    def rows(self, session_id: str, *, after: int = 0, limit: int | None = None) -> list[Row]:
        """All rows of a session from position `after` on, in order."""
        return self._rows(session_id, " ORDER BY pos", [after], limit)

    def events(self, session_id: str, *, kind: str | None = None) -> list[Row]:
        """What happened beside the messages: runs begun and ended, histories cleared."""
        where = " AND type = 'event'" + (" AND kind = {0}" if kind else "") + " ORDER BY pos"
        return self._rows(session_id, where, [0, *([kind] if kind else [])], None)

    def sessions(self) -> list[SessionRecord]:
        """All sessions, the one that moved last first."""
        s = sessions.c
        columns = (s.id, s.namespace, s.created_micros, s.updated_micros, s.pos, s.seq, s.run)
        query = select(*columns).order_by(s.updated_micros.desc(), s.id)
        with self._connect() as connection:
            return [SessionRecord(*row) for row in connection.execute(query)]

    def _rows(self, session_id: str, where: str, values: list[Any], limit: int | None) -> list[Row]:
        query = (_ROW + where).format(self._mark)
        if limit is not None:
            query += f" LIMIT {int(limit)}"
        with self._connect() as connection:
            cursor: Any = connection.connection.cursor()
            cursor.execute(query, (session_id, *values))
            load = bodies.load
            found = [
                Row._make((session_id, *meta, bool(internal), micros,
                           {} if text is None else load(text), digest))
                for *meta, internal, micros, text, digest in cursor
            ]  # fmt: skip
            cursor.close()
        if not found:
            self.head(session_id)  # tells an empty session from a wrong id
        return found

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        try:
            with self.engine.connect() as connection:
                yield connection
        except (SQLAlchemyError, self._driver_error) as error:
            why = self.why_not(error) or ""
            raise JournalUnavailable(url=self.url, why=why, unwritten=0) from error

    def _writer(self, durability: str) -> SqliteWriter | PostgresWriter:
        if durability not in self._writers:
            self._writers[durability] = (
                SqliteWriter(self.engine, durability=durability, patience=self._patience)
                if self._sqlite
                else PostgresWriter(self.engine, patience=self._patience)
            )
        return self._writers[durability]

    def why_not(self, error: BaseException) -> str | None:
        """Why the database failed, in a line; None if it was not the database."""
        if isinstance(error, JournalUnavailable):
            return error.why
        if not isinstance(error, (self._driver_error, SQLAlchemyError)):
            return None
        origin = error.orig if isinstance(error, DBAPIError) else error
        text = str(origin).strip().splitlines()[0] if str(origin).strip() else repr(origin)
        return f"{type(origin).__name__}: {text}"

    def _no_such(self, session_id: str) -> NoSuchSession:
        ids = [session.id for session in self.sessions()]
        nearest = difflib.get_close_matches(session_id, ids)
        return NoSuchSession(session_id=session_id, nearest=nearest, url=self.url)

    def close(self) -> None:
        """Let go of the database. Everything acknowledged is in it."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
        self._journals.clear()
        if self._owned:
            self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget(self) -> None:
        """In a forked child: nothing of the parent's connections is used or closed."""
        self._lock = threading.Lock()
        self.engine.dispose(close=False)
        for writer in self._writers.values():
            writer.forget()
        for own in self._journals.values():
            own.forget()


def _check_id(name: str, value: object) -> None:
    good = isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()
    if not good:
        raise BadArgument(name, value, "1 to 200 printable characters")


def _check_engine(engine: Engine) -> None:
    if engine.dialect.name == "sqlite" and engine.url.database in (None, "", ":memory:"):
        raise BadUrl(url=shown(engine.url), why="a database in memory forgets, and is not shared")


_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _after_fork() -> None:
    for store in list(_open_stores):
        store._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
