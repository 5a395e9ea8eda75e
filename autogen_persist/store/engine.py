"""From an address to an engine: defaults, pragmas, and no password in any text."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from autogen_persist.errors import BadUrl, ExtraMissing

DEFAULT_URL = "sqlite:///autogen_persist.db"
BUSY_MS = 30_000
"""How long SQLite waits for another process's transaction before it says 'locked'."""


def resolve(url: str | os.PathLike[str] | URL | None) -> URL:
    """The database meant: a URL or a path, else AUTOGEN_PERSIST_URL, else a file right here."""
    given = url or os.environ.get("AUTOGEN_PERSIST_URL") or DEFAULT_URL
    if isinstance(given, URL):
        return _checked(given)
    try:
        address = os.fspath(given)
    except TypeError as error:
        raise BadUrl(url=repr(given), why="it is neither text nor a path") from error
    if isinstance(address, bytes):
        address = os.fsdecode(address)
    if "://" not in address:
        # Not parsed as a URL: a path may hold '?' and '%'.
        return _checked(URL.create("sqlite", database=address))
    try:
        return _checked(make_url(address))
    except (ArgumentError, ValueError) as error:
        # The text may hold a password and did not parse, so none of it can be shown.
        scheme = address.partition("://")[0]
        raise BadUrl(url=f"{scheme}://…", why="it is not a database URL") from error


def _checked(url: URL) -> URL:
    backend = url.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise BadUrl(url=shown(url), why="only the driver of the standard library is used")
    if backend != "sqlite":
        raise BadUrl(url=shown(url), why=f"{backend} is neither SQLite nor PostgreSQL")
    if not url.database or url.database == ":memory:":
        raise BadUrl(url=shown(url), why="a database in memory forgets when the process ends")
    if not url.database.startswith("file:"):
        # An absolute path names the same file after os.chdir, and in every error.
        url = url.set(database=str(Path(url.database).expanduser().absolute()))
    return url


def shown(url: URL) -> str:
    """The address as it may be printed: the driver and the password are nobody's business."""
    query = {k: ("***" if "pass" in k.lower() else v) for k, v in url.query.items()}
    url = url.set(drivername=url.get_backend_name(), query=query)
    return url.render_as_string(hide_password=True)


def command(verb: str, *words: str, url: str) -> str:
    """A line to type again; `url` as `shown`, where no password can be taken from."""
    line = ["autogen-persist", verb, *words]
    if _is_default(url):
        return shlex.join(line)
    if "***" in url:
        return f"AUTOGEN_PERSIST_URL=… {shlex.join(line)}"
    place = 3 if words and not words[0].startswith("-") else 2  # behind the session, if it is named
    return shlex.join([*line[:place], "--url", _short(url), *line[place:]])


def _is_default(url: str) -> bool:
    try:
        return shown(resolve(None)) == url
    except BadUrl:
        return False


def _short(url: str) -> str:
    """A file by its path, from here if it is below."""
    path = url.removeprefix("sqlite:///")
    if path == url or path.startswith("file:") or "?" in path:
        return url
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else path


def open_engine(url: URL, patience: float = BUSY_MS / 1000) -> Engine:
    """An engine in autocommit: every transaction is opened in so many words."""
    try:
        if url.get_backend_name() == "sqlite":
            engine = create_engine(url, isolation_level="AUTOCOMMIT", pool_size=4, max_overflow=16)
            busy = min(int(patience * 1000), BUSY_MS)
            event.listen(engine, "connect", lambda raw, _: set_pragmas(raw, busy))
            return engine
        return create_engine(url, isolation_level="AUTOCOMMIT", pool_pre_ping=True)
    except (ImportError, NoSuchModuleError) as error:
        raise ExtraMissing(package="psycopg", extra="postgres", what="PostgreSQL") from error


def set_pragmas(connection: Any, busy_ms: int) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={busy_ms}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
