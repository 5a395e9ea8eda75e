"""Values by name in the database, as JSON text."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from autogen_persist.store.store import Store
from autogen_persist.store.tables import kv
from autogen_persist.store.transaction import writing


class Values:
    """The values of one namespace, shared by every process on the database."""

    def __init__(self, store: Store, namespace: str) -> None:
        self._store, self._namespace = store, namespace

    def get(self, key: str) -> str | None:
        with self._store._connect() as connection:
            return self._get(connection, key)

    def keys(self) -> list[str]:
        query = select(kv.c.key).where(kv.c.namespace == self._namespace, _alive())
        with self._store._connect() as connection:
            return sorted(connection.execute(query).scalars())

    def update(
        self, key: str, change: Callable[[str | None], str | None], *, ttl: float | None = None
    ) -> str | None:
        """Put in what `change` makes of the value; None deletes. Nobody comes in between."""
        with writing(self._store, f"kv {self._namespace} {key}") as connection:
            value = change(self._get(connection, key))
            if value is None:
                connection.execute(delete(kv).where(*self._is(key)))
            else:
                self._set(connection, key, value, ttl)
            return value

    def clear(self) -> None:
        with self._store._connect() as connection:
            connection.execute(delete(kv).where(kv.c.namespace == self._namespace))
            connection.commit()

    def _get(self, connection: Connection, key: str) -> str | None:
        query = select(kv.c.value).where(*self._is(key), _alive())
        return connection.execute(query).scalar_one_or_none()

    def _set(self, connection: Connection, key: str, value: str, ttl: float | None) -> None:
        expires = None if ttl is None else _now() + int(ttl * 1_000_000)
        row = {"value": value, "updated_micros": _now(), "expires_micros": expires}
        kind: Any = sqlite if connection.dialect.name == "sqlite" else postgresql
        new = kind.insert(kv).values(namespace=self._namespace, key=key, **row)
        connection.execute(new.on_conflict_do_update(index_elements=["namespace", "key"], set_=row))

    def _is(self, key: str) -> tuple[Any, ...]:
        return kv.c.namespace == self._namespace, kv.c.key == key


def _alive() -> Any:
    return or_(kv.c.expires_micros.is_(None), kv.c.expires_micros > _now())


def _now() -> int:
    return time.time_ns() // 1000
