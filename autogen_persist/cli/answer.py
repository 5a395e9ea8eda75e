"""`answer`: a question that a parked session waits for."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.text import Text

from autogen_persist.cli.database import Url, opened
from autogen_persist.cli.terminal import one_line, out, tell
from autogen_persist.errors import PersistError
from autogen_persist.records import Row, since_end, visible
from autogen_persist.session import Session
from autogen_persist.store.engine import command


def answer(
    session: Annotated[str, typer.Argument(help="The id of the session.")],
    text: Annotated[
        str | None, typer.Argument(help="The answer; without it, the open questions are listed.")
    ] = None,
    question: Annotated[
        int | None,
        typer.Option("--question", metavar="ROW", help="Which question. Default: the oldest."),
    ] = None,
    url: Url = None,
) -> None:
    """Answer the question that a parked session waits for.

    The next run of the script goes on from there. An empty answer is "".
    """
    with opened(url) as store:
        if text is None:
            _list(open_questions(store.rows(session)), session, store.url)
            return
        store.head(session)  # a wrong id is an error, not a new session
        with Session(session, store) as journal:
            asked = _choose(open_questions(journal.rows()), question, session, store.url)
            _write(journal, asked, text)
    tell(f"Answered: {_shown(asked)}\nRun the script again, and it goes on from there.")


def open_questions(rows: Iterable[Row]) -> list[Row]:
    """The questions without an answer, the oldest first; one that was asked again counts once."""
    waiting: dict[Any, Row] = {}
    for row in since_end(visible(rows)):
        if row.kind != "human":
            continue
        key = (row.run, row.speaker, row.body.get("digest"), row.body.get("n"))
        if row.type == "intent":
            waiting.setdefault(key, row)
        else:
            waiting.pop(key, None)
    return list(waiting.values())


def _choose(waiting: list[Row], wanted: int | None, session: str, url: str) -> Row:
    if not waiting:
        raise PersistError(
            f"Session {session!r} waits for no answer. "
            f"`{command('show', session, url=url)}` shows what was said."
        )
    for row in waiting:
        if wanted in (None, row.pos):
            return row
    numbers = ", ".join(str(row.pos) for row in waiting)
    raise PersistError(f"--question {wanted}: the open questions are in row {numbers}.")


def _write(journal: Session, asked: Row, text: str) -> None:
    body = {
        "digest": asked.body.get("digest"), "n": asked.body.get("n"), "answer": text, "by": _me(),
    }  # fmt: skip
    journal.write_effect(
        "receipt", "human", body, agent=asked.speaker, run=asked.run, chat=asked.chat
    )


def _me() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name
        return "unknown"


def _list(waiting: list[Row], session: str, url: str) -> None:
    if not waiting:
        tell(f"Session {session} waits for no answer.")
    for row in waiting:
        when = f"{row.at:%Y-%m-%d %H:%M} UTC"
        out.print(Text.assemble((f"row {row.pos}, {when}  ", "dim"), _shown(row)), soft_wrap=True)
    if waiting:
        tell(f"answer: {command('answer', session, 'your answer', url=url)}")


def _shown(row: Row) -> str:
    words = one_line(str(row.body.get("prompt", "")))
    return f"{one_line(row.speaker)}: {words}" if row.speaker else words
