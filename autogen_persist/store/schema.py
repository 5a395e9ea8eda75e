"""Schema versions: what the database has, what this release needs, and the way between."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from autogen_persist.errors import SchemaOutOfDate
from autogen_persist.store.engine import shown
from autogen_persist.store.tables import metadata

VERSION_TABLE = "autogen_persist_version"
"""Not Alembic's default name: the database may belong to an application with migrations."""


def migrations() -> Path:
    """Where the migrations are: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def wanted() -> str:
    """The version this release reads and writes."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def current(engine: Engine) -> str | None:
    """The version the database is at; None if it holds no journal."""
    with engine.connect() as connection:
        return _context(connection).get_current_revision()


def check(engine: Engine) -> None:
    """Raise SchemaOutOfDate unless database and release agree."""
    found, need = current(engine), wanted()
    if found != need:
        newer = found is not None and found not in _known()
        raise SchemaOutOfDate(found=found, wanted=need, url=shown(engine.url), newer=newer)


def upgrade(engine: Engine, to: str = "head") -> None:
    """Bring the database to a version, in one transaction; do nothing where it is there."""
    found = current(engine)
    if found is not None and found not in _known():
        check(engine)
    with _transaction(engine) as connection:
        command.upgrade(_config(connection), to)


def downgrade(engine: Engine, to: str) -> None:
    """Go back to an older version ('base' removes the journal)."""
    with _transaction(engine) as connection:
        command.downgrade(_config(connection), to)


def differences(engine: Engine) -> list[object]:
    """What the tables in the database have that the models have not, and the reverse."""
    with engine.connect() as connection:
        return list(compare_metadata(_context(connection), metadata))


def _context(connection: Connection) -> MigrationContext:
    ours = set(metadata.tables)
    options = {
        "version_table": VERSION_TABLE,
        "include_name": lambda name, kind, _: kind != "table" or name in ours,
    }
    return MigrationContext.configure(connection, opts=options)


def _known() -> set[str]:
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


class _transaction:
    """One writer migrates; the others wait, look again, and find nothing to do."""

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.connect()
        self._postgres = engine.dialect.name == "postgresql"

    def __enter__(self) -> Connection:
        if self._postgres:
            self._connection = self._connection.execution_options(isolation_level="READ COMMITTED")
            self._connection.begin()
            # The two keys are arbitrary; they only have to be the same in every process.
            self._connection.exec_driver_sql("SELECT pg_advisory_xact_lock(4711, 42)")
        else:
            self._connection.exec_driver_sql("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        with self._connection as connection:
            if self._postgres:
                (connection.rollback if kind else connection.commit)()
            else:
                connection.exec_driver_sql("ROLLBACK" if kind else "COMMIT")
