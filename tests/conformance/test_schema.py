"""The schema: made, upgraded, taken back, and never guessed."""

from __future__ import annotations

import pytest
from sqlalchemy import inspect

from autogen_persist import SchemaOutOfDate, Store
from autogen_persist.store import schema
from autogen_persist.store.engine import open_engine, resolve


@pytest.fixture
def engine(request, url):
    opened = open_engine(resolve(url))
    schema.upgrade(opened)
    yield opened
    opened.dispose()


def ours(engine) -> set[str]:
    return {name for name in inspect(engine).get_table_names() if name.startswith("persist_")}


def test_models_and_migrations_agree(engine):
    """The tables that the migrations make are the tables that the code expects."""
    assert schema.differences(engine) == []


def test_upgrade_can_be_taken_back(engine):
    """Down to nothing and up again gives the same tables."""
    before = ours(engine)
    schema.downgrade(engine, "base")
    assert ours(engine) == set()

    schema.upgrade(engine)

    assert ours(engine) == before
    assert schema.current(engine) == schema.wanted()


def test_upgrade_twice_changes_nothing(engine):
    """An up-to-date database is left alone."""
    schema.upgrade(engine)

    assert schema.current(engine) == schema.wanted()


def test_a_newer_schema_is_refused(engine, url):
    """A database of a later release is not touched, and the error says what to do."""
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'")

    with pytest.raises(SchemaOutOfDate, match="pip install -U autogen-persist"):
        Store.open(url, upgrade=True)


def test_a_fresh_postgresql_is_not_set_up_by_surprise(new_postgres_url):
    """On a server that others use, tables are made by command only."""
    with pytest.raises(SchemaOutOfDate, match="schema none"):
        Store.open(new_postgres_url())


def test_a_fresh_sqlite_file_is_set_up_on_first_use(sqlite_url):
    """A file that nobody else uses just works."""
    with Store.open(sqlite_url) as store:
        assert store.sessions() == []


def test_other_peoples_tables_are_left_alone(engine):
    """A database that belongs to an application keeps its own tables and migrations."""
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE sessions (id INT)")
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num TEXT)")

    schema.downgrade(engine, "base")
    schema.upgrade(engine)

    assert {"sessions", "alembic_version"} <= set(inspect(engine).get_table_names())
    assert schema.differences(engine) == []
