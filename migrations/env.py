"""Alembic's entry: a connection from the caller, else the database of AUTOGEN_PERSIST_URL."""

from alembic import context

from autogen_persist.store.engine import open_engine, resolve
from autogen_persist.store.schema import VERSION_TABLE
from autogen_persist.store.tables import metadata


def migrate(connection):
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        render_as_batch=True,
        transactional_ddl=False,  # the caller's transaction is around all of it
    )
    context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with open_engine(resolve(None)).connect() as own:
        migrate(own)
