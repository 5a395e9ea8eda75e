"""Who appends messages: the raw drivers and our journal; `others` has what others offer.

A rival's `open` returns a session that already holds `past`, as a function that appends
messages to it one by one, each committed before the next.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from autogen_persist.opening import open_session
from autogen_persist.session import Session

Messages = list[dict[str, str]]
Append = Callable[[Messages], None]


class Raw:
    """sqlite3 itself: INSERT and commit, with a key that finds a session in order."""

    name = "raw sqlite3"
    slow = False

    def __init__(self, folder: Path, durability: str) -> None:
        self.db = connect(folder / "raw.db", durability)
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS messages "
            "(session_id TEXT, pos INTEGER, body TEXT, PRIMARY KEY (session_id, pos))"
        )

    def open(self, session_id: str, past: Messages) -> Append:
        numbers = itertools.count(1)
        insert = "INSERT INTO messages VALUES (?, ?, ?)"
        with self.db:
            rows = ((session_id, next(numbers), json.dumps(message)) for message in past)
            self.db.executemany(insert, rows)

        def append(messages: Messages) -> None:
            for message in messages:
                self.db.execute(insert, (session_id, next(numbers), json.dumps(message)))
                self.db.commit()

        return append

    def read(self, session_id: str) -> Messages:
        query = "SELECT body FROM messages WHERE session_id = ? ORDER BY pos"
        return [json.loads(body) for (body,) in self.db.execute(query, (session_id,))]

    def close(self) -> None:
        self.db.close()


class Ours:
    """Our journal, by the door that the listeners of a chat use."""

    name = "autogen-persist"
    slow = False

    def __init__(self, url: str | Path, durability: str) -> None:
        self.url = url
        self._durability = durability
        self._sessions: list[Session] = []

    def open(self, session_id: str, past: Messages) -> Append:
        if past:
            with open_session(session_id, url=self.url, durability="behind", upgrade=True) as early:
                say(early, past)
        session = open_session(session_id, url=self.url, durability=self._durability, upgrade=True)
        self._sessions.append(session)
        return lambda messages: say(session, messages)

    def read(self, session_id: str) -> list[Any]:
        (session,) = (each for each in self._sessions if each.id == session_id)
        return session.messages()

    def close(self) -> None:
        for session in self._sessions:
            session.close()


class RawPostgres:
    """psycopg itself with our statement: head and row in one round trip and one commit.

    The tables are copies of ours; the digests are blanks.
    """

    name = "raw psycopg"
    slow = False
    _append = (
        "WITH head AS (UPDATE raw_sessions SET pos = %s, seq = %s, run = %s, digest = %s, "
        "updated_micros = %s WHERE id = %s AND pos = %s AND lease_token = %s RETURNING id) "
        "INSERT INTO raw_journal (session_id, pos, seq, run, chat, type, kind, speaker, listener, "
        "audience, internal, micros, body, salt, digest) SELECT id, %s::bigint, %s::bigint, "
        "%s::int, %s::text, %s::text, %s::text, %s::text, %s::text, %s::text, %s::bool, "
        "%s::bigint, %s::text, %s::bytea, %s::bytea FROM head"
    )

    def __init__(self, url: str) -> None:
        self.db = psycopg.connect(url, autocommit=True)
        for table in ("sessions", "journal"):
            self.db.execute(
                f"CREATE TABLE IF NOT EXISTS raw_{table} (LIKE persist_{table} INCLUDING ALL)"
            )

    def open(self, session_id: str, past: Messages) -> Append:
        numbers = itertools.count(1)
        self.db.execute(
            "INSERT INTO raw_sessions (id, created_micros, updated_micros, digest) "
            "VALUES (%s, 0, 0, '')",
            (session_id,),
        )

        def append(messages: Messages) -> None:
            for message in messages:
                self._write(session_id, next(numbers), json.dumps(message))

        with self.db.transaction():
            append(past)
        return append

    def _write(self, session_id: str, pos: int, body: str) -> None:
        now, digest, salt = time.time_ns() // 1000, bytes(32), bytes(16)
        head = (pos, pos, 1, digest, now, session_id, pos - 1, 0)
        names = ("user>manager", "message", "text", "coder", "manager", "group")
        self.db.execute(self._append, (*head, pos, pos, 1, *names, False, now, body, salt, digest))

    def read(self, session_id: str) -> Messages:
        query = "SELECT body FROM raw_journal WHERE session_id = %s ORDER BY pos"
        return [json.loads(body) for (body,) in self.db.execute(query, (session_id,))]

    def close(self) -> None:
        self.db.close()


class LeanPostgres(RawPostgres):
    """The least that could be called a journal: three columns, and the number in the head."""

    name = "raw psycopg, three columns"
    _append = (
        "WITH head AS (UPDATE lean_sessions SET pos = %s WHERE id = %s RETURNING id) "
        "INSERT INTO lean_journal SELECT id, %s::bigint, %s::text FROM head"
    )

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.db.execute("CREATE TABLE lean_sessions (id text PRIMARY KEY, pos bigint)")
        self.db.execute(
            "CREATE TABLE lean_journal "
            "(session_id text, pos bigint, body text, PRIMARY KEY (session_id, pos))"
        )

    def open(self, session_id: str, past: Messages) -> Append:
        self.db.execute("INSERT INTO lean_sessions VALUES (%s, 0)", (session_id,))
        return super().open(session_id, past)

    def _write(self, session_id: str, pos: int, body: str) -> None:
        self.db.execute(self._append, (pos, session_id, pos, body))


def connect(path: Path, durability: str, **options: Any) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=30, **options)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={durability}")
    return db


def say(session: Session, messages: Messages) -> None:
    for message in messages:
        session.message(
            message, speaker="coder", listener="manager", audience="group", kind="text",
            run=1, chat="user>manager",
        )  # fmt: skip
