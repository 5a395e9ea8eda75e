"""`sessions` and `show`: what is in the journal."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from autogen_persist.cli.database import Json, Url, opened
from autogen_persist.cli.terminal import clean, err, out, pipe, print_json
from autogen_persist.cli.transcript import print_transcript
from autogen_persist.records import Row, SessionRecord, visible
from autogen_persist.store import Store
from autogen_persist.store import body as bodies

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def sessions(url: Url = None, as_json: Json = False) -> None:
    """List the sessions, the one that was active last first."""
    with opened(url) as store:
        found = store.sessions()
    if as_json:
        for session in found:
            print_json(_session_document(session))
    elif found:
        (out if out.is_terminal else pipe).print(_table(found))
    else:
        err.print(f"{store.url} holds no session yet.", soft_wrap=True)


def show(
    session: Annotated[str, typer.Argument(help="The id of the session.")],
    url: Url = None,
    as_json: Json = False,
    internal: Annotated[
        bool, typer.Option("--internal", help="Also what AutoGen says to choose a speaker.")
    ] = False,
    after: Annotated[
        int, typer.Option("--after", metavar="SEQ", min=0, help="Only what follows this message.")
    ] = 0,
) -> None:
    """Print the transcript of a session: messages, and where its runs began and ended."""
    with opened(url) as store:
        rows = _rows(store, session, after)
    if as_json:
        for row in rows:
            if internal or not row.internal:
                print_json(_row_document(row))
    else:
        print_transcript(out, rows, internal=internal)


def _rows(store: Store, session_id: str, after: int) -> list[Row]:
    if after == 0:
        return visible(store.rows(session_id))
    found = store.messages(session_id, after=after - 1, limit=1)
    return visible(store.rows(session_id, after=found[0].pos)) if found else []


def _row_document(row: Row) -> dict[str, Any]:
    # The stored form of a body is JSON for every value; the loaded one need not be.
    content, _ = bodies.dump(row.body)
    names = ("seq", "pos", "run", "chat", "kind", "speaker", "listener", "audience", "internal")
    document = {name: getattr(row, name) for name in names}
    return document | {"at": row.at.isoformat(), "body": json.loads(content)}


def _session_document(session: SessionRecord) -> dict[str, Any]:
    names = ("id", "namespace", "messages", "runs", "rows")
    document = {name: getattr(session, name) for name in names}
    times = {"created": session.created.isoformat(), "updated": session.updated.isoformat()}
    return document | times


def _table(found: list[SessionRecord]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("session", overflow="fold", style="cyan")
    table.add_column("messages", justify="right", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    table.add_column("created", no_wrap=True)
    table.add_column("last activity", no_wrap=True)
    for session in found:
        table.add_row(
            Text(clean(session.id)),
            f"{session.messages:,}",
            str(session.runs),
            f"{session.created:%Y-%m-%d}",
            _ago(session.updated_micros / 1e6),
        )
    return table


def _ago(moment: float) -> str:
    seconds = int(time.time() - moment)
    for length, unit in _UNITS:
        if seconds >= length:
            number = seconds // length
            return f"{number} {unit}{'s' if number != 1 else ''} ago"
    return "now"
