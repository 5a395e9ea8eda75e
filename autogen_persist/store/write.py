"""The append itself, as close to the driver as it gets.

Each dialect commits some rows and the session's new head in one transaction, or
nothing at all. SQL is written out here because the ORM's and Core's share of an
append is larger than SQLite's own.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol

from sqlalchemy import Engine
from sqlalchemy.dialects import postgresql

from autogen_persist.store.chain import Head
from autogen_persist.store.tables import journal

COLUMNS = tuple(column.name for column in journal.columns)
_NAMES = ", ".join(COLUMNS)
_HEAD = "pos = {0}, seq = {0}, run = {0}, digest = {0}, updated_micros = {0}"
_MOVE = (
    f"UPDATE persist_sessions SET {_HEAD} WHERE id = {{0}} AND pos = {{0}} AND lease_token = {{0}}"  # noqa: S608
)
_SQLITE_MOVE = _MOVE.format("?")
_SQLITE_INSERT = (
    f"INSERT INTO persist_journal ({_NAMES}) "  # noqa: S608
    f"VALUES ({', '.join('?' * len(COLUMNS))})"
)

LONGEST_WAIT = 5.0
"""Seconds that SQLite itself waits for a lock, before we count it as one failed try."""

Values = tuple[Any, ...]


class Writer(Protocol):
    """Moves a session's head and writes the rows in between, both or neither."""

    def write(self, session_id: str, old: Head, new: Head, rows: Sequence[Values]) -> bool:
        """Commit. False if head or lease are no longer those of `old`: somebody else came."""

    def close(self) -> None: ...


class SqliteWriter:
    """One held connection: SQLite has a single writer at a time anyway."""

    def __init__(self, engine: Engine, *, durability: str, patience: float) -> None:
        self._engine = engine
        self._busy_ms = int(min(patience, LONGEST_WAIT) * 1000)
        self._synchronous = "NORMAL" if durability == "normal" else "FULL"
        self._lock = threading.Lock()
        self._held: Any = None
        path = engine.url.database or ""
        self._path = None if path.startswith("file:") else path
        self._inode = 0

    def write(self, session_id: str, old: Head, new: Head, rows: Sequence[Values]) -> bool:
        with self._lock:
            cursor = self._cursor()
            execute = cursor.execute
            move = (*new[:4], rows[-1][11], session_id, old.pos, old.token)
            try:
                self._check_file()
                execute("BEGIN IMMEDIATE")
                execute(_SQLITE_MOVE, move)
                if cursor.rowcount != 1:
                    execute("ROLLBACK")
                    return False
                for row in rows:
                    execute(_SQLITE_INSERT, row)
                execute("COMMIT")
            except BaseException:
                self._drop()
                raise
            return True

    def _check_file(self) -> None:
        """A deleted file still takes rows, and nobody will ever see them."""
        if self._path is None:
            return
        try:
            same = os.stat(self._path).st_ino == self._inode
        except FileNotFoundError:
            same = False
        if not same:
            raise sqlite3.OperationalError(f"the file {self._path} is gone or was replaced")

    def _cursor(self) -> Any:
        if self._held is None:
            if self._path is not None:
                if not os.path.exists(self._path):
                    raise sqlite3.OperationalError(f"the file {self._path} is gone")
                self._inode = os.stat(self._path).st_ino
            pooled = self._engine.raw_connection()
            held: Any = pooled.driver_connection
            pooled.detach()  # never goes back to the pool: a caller's engine keeps its settings
            held.isolation_level = None
            held.execute(f"PRAGMA synchronous={self._synchronous}")
            held.execute(f"PRAGMA busy_timeout={self._busy_ms}")
            self._held, self._held_cursor = held, held.cursor()
        return self._held_cursor

    def _drop(self) -> None:
        """After any failure, KeyboardInterrupt included: roll back by closing."""
        held, self._held = self._held, None
        if held is not None:
            with suppress(Exception):
                held.close()

    def close(self) -> None:
        with self._lock:
            self._drop()

    def forget(self) -> None:
        """In a forked child: the connection is the parent's, so it is neither used nor closed."""
        if self._held is not None:
            _inherited.append(self._held)
        self._held, self._lock = None, threading.Lock()


_inherited: list[Any] = []


class PostgresWriter:
    """One statement, one round trip: the head moves and the rows follow, or neither.

    Connections are held, one for each thread that writes at the same time: a ping before
    each append would double its cost, and a connection that died is retried anyway.
    """

    def __init__(self, engine: Engine, *, patience: float) -> None:
        self._engine = engine
        self._wait_ms = max(int(min(patience, LONGEST_WAIT) * 1000), 1)
        self._free: list[Any] = []

    def write(self, session_id: str, old: Head, new: Head, rows: Sequence[Values]) -> bool:
        move = (*new[:4], rows[-1][11], session_id, old.pos, old.token)
        values = [value for row in rows for value in row]
        connection = self._take()
        try:
            cursor = connection.execute(_postgres_append(len(rows)), (*move, *values))
        except BaseException:
            with suppress(Exception):
                connection.close()
            self.close()  # where one connection broke, the others did too
            raise
        self._free.append(connection)
        return bool(cursor.rowcount == len(rows))

    def _take(self) -> Any:
        try:
            return self._free.pop()
        except IndexError:
            pooled = self._engine.raw_connection()
            connection: Any = pooled.driver_connection
            pooled.detach()  # never goes back to the pool: a caller's engine keeps its settings
            connection.autocommit = True
            # Somebody else's lock is a failed try, as it is with SQLite.
            connection.execute(f"SET lock_timeout = {self._wait_ms}")
            return connection

    def close(self) -> None:
        free, self._free = self._free, []
        for connection in free:
            with suppress(Exception):
                connection.close()

    def forget(self) -> None:
        """In a forked child: see SqliteWriter."""
        _inherited.extend(self._free)
        self._free = []


@lru_cache(maxsize=256)
def _postgres_append(rows: int) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    typed = ", ".join(f"%s::{column.type.compile(dialect)}" for column in journal.columns)
    values = ", ".join([f"({typed})"] * rows)
    return (
        f"WITH head AS ({_MOVE.format('%s')} RETURNING id), "  # noqa: S608
        f"added ({_NAMES}) AS (VALUES {values}) "
        f"INSERT INTO persist_journal ({_NAMES}) SELECT added.* FROM added, head"
    )
