"""`import`: old conversations into a journal, so that they can be recalled."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from autogen_persist.cli.database import Url
from autogen_persist.cli.terminal import err, one_line, tell
from autogen_persist.errors import PersistError
from autogen_persist.memory.recall import Search
from autogen_persist.records import Draft, SessionRecord
from autogen_persist.store import Store
from autogen_persist.store import body as bodies
from autogen_persist.store.journal import MOST_ROWS

LONG = 2_000
"""Messages from which on a progress bar is worth its place."""


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, metavar="FILE.jsonl",
            help='Lines: {"role": "user", "name": "coder", "content": "…", "at": "2024-05-06"}.',
        ),
    ],
    session: Annotated[str, typer.Option("--session", help="The id of the session.")],
    namespace: Annotated[
        str, typer.Option("--namespace", help="Where it can be recalled.")
    ] = "default",
    append: Annotated[
        bool, typer.Option("--append", help="Add to a session that exists.")
    ] = False,
    url: Url = None,
) -> None:  # fmt: skip
    """Read messages from a file, one JSON object per line, into a session.

    Every line is checked before the first is written. An import that was interrupted is
    finished by the same command.
    """
    content = file.read_bytes()
    drafts = list(_checked(content, str(file)))
    with Store.open(url) as store:
        begun = _begun(store, session, namespace, content)
        if begun is None and not append:
            _must_be_new(store, session)
        store.create(session, namespace=namespace)
        written = _write(store, session, drafts, _receipt(content, drafts), begun)
        Search(store).catch_up(namespace)
    tell(f"{written:,} messages in session {session}, namespace {namespace}, of {store.url}")


def _checked(content: bytes, name: str) -> Iterator[Draft]:
    """The messages of all lines, or an error that names the first bad one."""
    now = time.time_ns() // 1000
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise _bad(name, number, "it is not UTF-8") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _draft(json.loads(line), now)
            except (ValueError, RecursionError) as error:
                raise _bad(name, number, str(error)) from error


def _draft(said: Any, now: int) -> Draft:
    if not isinstance(said, dict):
        raise ValueError("it is not a JSON object")
    body = {key: value for key, value in said.items() if key != "at"}
    if not isinstance(body.get("content"), (str, list)):
        raise ValueError('its "content" is not a text')
    speaker = body.get("name") or body.get("role")
    if not isinstance(speaker, str) or not speaker.isprintable():
        raise ValueError('it has neither a "name" nor a "role" that could be shown')
    micros = _micros(said.get("at"), now)
    text, _ = bodies.dump(body)
    return Draft(0, "", "message", "text", speaker, "", "group", False, micros, text)


def _micros(at: Any, now: int) -> int:
    if at is None:
        return now
    try:
        if isinstance(at, (int, float)) and not isinstance(at, bool):
            moment = datetime.fromtimestamp(at, timezone.utc)
        else:
            moment = datetime.fromisoformat(at.strip().replace("Z", "+00:00"))
    except (ValueError, OverflowError, OSError, AttributeError) as error:
        raise ValueError('its "at" is neither an ISO time nor seconds since 1970') from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _bad(name: str, number: int, why: str) -> PersistError:
    return PersistError(
        f"Line {number} of {name} is no message: {one_line(why, 200)}. Nothing was imported. "
        f'Expected an object such as {{"role": "user", "name": "coder", "content": "text", '
        f'"at": "2024-05-06T12:00:00Z"}}; correct the line and run the command again.'
    )


def _receipt(content: bytes, drafts: list[Draft]) -> Draft:
    """Written before the messages: it tells how many there will be, and of which file."""
    body, _ = bodies.dump({"sha256": _digest(content), "messages": len(drafts)})
    now = time.time_ns() // 1000
    return Draft(0, "", "event", "imported", "", "", "", False, now, body)


def _begun(store: Store, session: str, namespace: str, content: bytes) -> int | None:
    """How many messages an interrupted import of this very file has written; else None."""
    record = _record(store.sessions(), session)
    if record is None:
        return None
    if record.namespace != namespace:
        raise PersistError(
            f"Session {session!r} is in namespace {record.namespace!r} and stays there. Use "
            f"--namespace '{record.namespace}', or another --session."
        )
    receipts = store.events(session, kind="imported")
    if not receipts or receipts[-1].body.get("sha256") != _digest(content):
        return None
    written = len(store.rows(session, after=receipts[-1].pos))
    return written if written < int(receipts[-1].body["messages"]) else None


def _must_be_new(store: Store, session: str) -> None:
    record = _record(store.sessions(), session)
    if record is not None and record.rows:
        raise PersistError(
            f"{store.url} has a session {session!r} already, with {record.messages} messages. "
            f"Add --append to add to it, or use another --session."
        )


def _record(sessions: Iterable[SessionRecord], session: str) -> SessionRecord | None:
    return next((record for record in sessions if record.id == session), None)


def _write(
    store: Store, session: str, drafts: list[Draft], receipt: Draft, begun: int | None
) -> int:
    """Write what is not there yet, as the session's one writer; return how many were."""
    lease = store.own(session)
    journal = store.journal(session)
    journal.lease = lease
    try:
        if begun is None:
            journal.append([receipt])
        left = drafts[begun or 0 :]
        with Progress(
            console=err, transient=True, disable=len(left) < LONG or not err.is_terminal
        ) as bar:
            task = bar.add_task("importing", total=len(left))
            for start in range(0, len(left), MOST_ROWS):
                journal.append(left[start : start + MOST_ROWS])
                store.keep(lease)
                bar.advance(task, MOST_ROWS)
    finally:
        store.disown(lease)
    return len(left)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
