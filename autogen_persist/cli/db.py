"""`db`: the schema of the database."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from rich.text import Text

from autogen_persist.cli.database import Url, connected
from autogen_persist.cli.terminal import complain, one_line, out
from autogen_persist.errors import SchemaOutOfDate
from autogen_persist.store import schema

db = typer.Typer(no_args_is_help=True, help="See and upgrade the schema of the database.")


@db.command(epilog="Example: autogen-persist db upgrade --url postgresql://user@host/chats")
def upgrade(url: Url = None) -> None:
    """Bring the database to the schema of this release; make the SQLite file if need be."""
    with connected(url, create=True) as store:
        before = schema.current(store.engine)
        schema.upgrade(store.engine)
        after = schema.current(store.engine)
    moved = f"upgraded from {before or 'none'} to {after}"
    _say(f"{store.url}: {moved if before != after else f'already at {after}'}")


@db.command(epilog="Example: autogen-persist db current --url chats.db")
def current(url: Url = None) -> None:
    """Print the version of the schema, or 'none'."""
    with connected(url) as store:
        _say(schema.current(store.engine) or "none")


@db.command(epilog="Example: autogen-persist db check && python chat.py")
def check(url: Url = None) -> None:
    """Exit 0 if the schema is current and the tables are as this release expects them, else 1."""
    with connected(url) as store:
        try:
            schema.check(store.engine)
        except SchemaOutOfDate as error:
            complain(str(error))
            raise typer.Exit(1) from error
        changes = [line for change in schema.differences(store.engine) for line in _lines(change)]
    if changes:
        complain(
            f"{store.url} is at schema {schema.wanted()}, but its tables were changed by other "
            f"hands: {'; '.join(changes)} would repair them. Undo the change or restore a backup."
        )
        raise typer.Exit(1)
    _say(f"{store.url}: schema {schema.wanted()} is current, and the tables agree with it")


def _lines(change: object) -> Iterator[str]:
    """Alembic's way to say what is missing, in words: 'add_column persist_journal.salt'."""
    if isinstance(change, list):
        for part in change:
            yield from _lines(part)
    elif isinstance(change, tuple):
        verb, *rest = change
        names = [getattr(part, "name", part) for part in rest]
        yield f"{verb} {'.'.join(name for name in names if isinstance(name, str))}"


def _say(text: str) -> None:
    out.print(Text(one_line(text)), soft_wrap=True)
