"""A transaction of many statements: all of them or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, func, select

from autogen_persist.store.store import Store


@contextmanager
def writing(store: Store, lock: str) -> Iterator[Connection]:
    """A connection whose changes are committed at the end, or undone by an error.

    Of those who name the same lock, one at a time is in here. SQLite has one writer anyway.
    """
    with store._connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection = connection.execution_options(isolation_level="READ COMMITTED")
            connection.begin()
            key = func.hashtextextended(lock, 0)
            connection.execute(select(func.pg_advisory_xact_lock(key)))
        try:
            yield connection
        except BaseException:
            connection.connection.rollback()
            raise
        connection.connection.commit()
