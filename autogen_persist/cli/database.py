"""From `--url` to a database: what is missing is an error, not created."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

from autogen_persist.errors import JournalUnavailable, NoSuchDatabase, PersistError
from autogen_persist.store import Store, schema
from autogen_persist.store.engine import open_engine, resolve
from autogen_persist.store.store import PATIENCE

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="A database URL or the path of a SQLite file. "
        "Default: AUTOGEN_PERSIST_URL, else autogen_persist.db in this folder.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document per line.")]


@contextmanager
def opened(url: str | None) -> Iterator[Store]:
    """A journal to read, at the schema of this release."""
    with connected(url) as store:
        schema.check(store.engine)
        yield store


@contextmanager
def connected(url: str | None, *, create: bool = False) -> Iterator[Store]:
    """A database at any schema. The driver's errors become ours."""
    address = resolve(url)
    if not create:
        _must_exist(address.database if address.get_backend_name() == "sqlite" else None)
    store = Store(open_engine(address), owned=True, patience=PATIENCE)
    try:
        yield store
    except Exception as error:
        why = store.why_not(error)
        if why is None or isinstance(error, PersistError):
            raise
        raise JournalUnavailable(url=store.url, why=why, unwritten=0) from error
    finally:
        store.close()


def _must_exist(database: str | None) -> None:
    # SQLite makes an empty file of every name it is asked to read.
    if database is not None and not _path(database).is_file():
        raise NoSuchDatabase(str(_path(database)))


def _path(database: str) -> Path:
    if database.startswith("file:"):
        return Path(unquote(urlsplit(database).path))
    return Path(database)
