"""Learnings in the database. What becomes of a new one is decided elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from autogen_persist.records import Learning
from autogen_persist.store.store import Store
from autogen_persist.store.tables import learnings, sessions
from autogen_persist.store.transaction import writing

_COLUMNS = [learnings.c[name] for name in Learning._fields]
_AS_JSON = ("confirmed_by", "tags", "evidence", "metadata")
_AT_ONCE = 500


class Learnings:
    """The learnings of a database, in all namespaces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @contextmanager
    def writing(self, namespace: str) -> Iterator[Connection]:
        """A transaction; nobody else changes the namespace meanwhile."""
        with writing(self._store, f"learnings {namespace}") as connection:
            yield connection

    # In a transaction.

    def add(self, connection: Connection, new: Learning) -> Learning:
        """Store it, and give it its number."""
        values = _values(new)
        del values["id"]
        made = connection.execute(insert(learnings).values(**values).returning(learnings.c.id))
        return new._replace(id=made.scalar_one())

    def change(self, connection: Connection, changed: Learning) -> None:
        values = _values(changed)
        # Counted by readers, who wait for no transaction.
        del values["id"], values["times_recalled"]
        mine = learnings.c.id == changed.id
        connection.execute(update(learnings).where(mine).values(**values))

    def remove(self, connection: Connection, ids: Iterable[int]) -> None:
        """Take them out, and whatever points to them."""
        gone = list(ids)
        points = learnings.c.superseded_by.in_(gone)
        connection.execute(update(learnings).where(points).values(superseded_by=None))
        connection.execute(delete(learnings).where(learnings.c.id.in_(gone)))

    # Reading.

    def of(
        self, namespace: str, *, closed: bool = True, connection: Connection | None = None
    ) -> list[Learning]:
        """All learnings of a namespace in the order they were made."""
        query = select(*_COLUMNS).where(learnings.c.namespace == namespace)
        if not closed:
            query = query.where(learnings.c.valid_to_micros.is_(None))
        return self._read(query.order_by(learnings.c.id), connection)

    def by_id(
        self, ids: Iterable[int], connection: Connection | None = None
    ) -> dict[int, Learning]:
        wanted = list(ids)
        found: list[Learning] = []
        for start in range(0, len(wanted), _AT_ONCE):
            part = learnings.c.id.in_(wanted[start : start + _AT_ONCE])
            found += self._read(select(*_COLUMNS).where(part), connection)
        return {learning.id: learning for learning in found}

    def count(self, namespace: str) -> int:
        query = select(func.count()).where(learnings.c.namespace == namespace)
        with self._store._connect() as connection:
            return int(connection.execute(query).scalar_one())

    def note_recalled(self, ids: Iterable[int]) -> None:
        """Count that they were recalled once more."""
        more = learnings.c.times_recalled + 1
        # In order, so that two who recall the same ones do not wait for each other.
        for number in sorted(ids):
            with self._store._connect() as connection:
                mine = learnings.c.id == number
                connection.execute(update(learnings).where(mine).values(times_recalled=more))
                connection.commit()

    def namespace_of(self, session_id: str) -> str:
        """Where the learnings of a session belong."""
        self._store.head(session_id)  # a wrong id is an error
        query = select(sessions.c.namespace).where(sessions.c.id == session_id)
        with self._store._connect() as connection:
            return str(connection.execute(query).scalar_one())

    def _read(self, query: Any, connection: Connection | None) -> list[Learning]:
        if connection is not None:
            return [_learning(row) for row in connection.execute(query)]
        with self._store._connect() as own:
            return [_learning(row) for row in own.execute(query)]


def _values(learning: Learning) -> dict[str, Any]:
    values = learning._asdict()
    return values | {name: json.dumps(values[name]) for name in _AS_JSON}


def _learning(row: Any) -> Learning:
    values = dict(zip(Learning._fields, row, strict=True))
    values |= {name: json.loads(values[name]) for name in _AS_JSON}
    values |= {name: tuple(values[name]) for name in ("confirmed_by", "tags")}
    values["evidence"] = tuple((session, seq) for session, seq in values["evidence"])
    return Learning(**values)
