"""`learn`, `learnings` and `recall`: what the chats have taught."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.progress import track
from rich.text import Text

from autogen_persist.cli.database import Json, Url, opened
from autogen_persist.cli.terminal import clean, err, one_line, out, print_json, tell
from autogen_persist.errors import PersistError
from autogen_persist.memory.learn import learn as learn_from
from autogen_persist.memory.learn import learn_again
from autogen_persist.memory.memory import Memory
from autogen_persist.memory.recalled import Remembered
from autogen_persist.memory.rules import rules
from autogen_persist.records import Learning
from autogen_persist.store import Store
from autogen_persist.store.marks import Marks

Namespace = Annotated[str, typer.Option("--namespace", help="Whose learnings.")]


def learn(
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only this session.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All sessions with unread messages.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Read from the beginning, replace what was learnt before, show the difference.",
        ),
    ] = False,
    url: Url = None,
) -> None:
    """Learn from what was said and not read yet. Chats do it themselves; this is for cron."""
    if (session is None) != every:
        raise PersistError("Which session? Give --session ID, or --all for every one of them.")
    with opened(url) as store:
        names = [session] if session else _names(store, again)
        # The bar is for people; a pipe and cron get the result alone.
        bar = track(names, "learning", console=err, disable=not sys.stderr.isatty())
        if again:
            for name in bar:
                _read_again(store, name)
            return
        added = sum(learn_from(store, name) for name in bar)
    tell(f"{_count(added, 'new learning')} from {_count(len(names), 'session')}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _names(store: Store, again: bool) -> list[str]:
    if again:
        return [record.id for record in store.sessions()]
    return [name for name, _ in Marks(store).behind(rules.name)]


def _read_again(store: Store, name: str) -> None:
    changed = learn_again(store, name)
    if changed is None:
        tell(f"session {name} is being read by another process")
        return
    for sign, style, learnings in (("-", "red", changed.gone), ("+", "green", changed.added)):
        for one in learnings:
            _print(f"{sign} {one.kind}: {one_line(one.content)}", style)
    gone, added = len(changed.gone), len(changed.added)
    tell(f"session {name}: {changed.kept} the same, {gone} gone, {added} added")


def learnings(
    namespace: Namespace = "default",
    history: Annotated[
        bool, typer.Option("--history", help="Also what no longer holds, and what replaced it.")
    ] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List what was learnt, the oldest first."""
    with opened(url) as store, Memory(namespace, url=store) as memory:
        found = memory.learnings(history=history)
    for one in found:
        if as_json:
            print_json(_document(one))
        else:
            _print(_line(one), "" if one.is_open else "dim")
    if not found and not as_json:
        err.print(f"Nothing was learnt in namespace {namespace} of {store.url}.", soft_wrap=True)


def recall(
    query: Annotated[str, typer.Argument(help="A question, or some words.")],
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 5,
    messages: Annotated[
        bool, typer.Option("--messages", help="Search what was said, too.")
    ] = False,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Find what is remembered about a question. Exit code 1: nothing."""
    sources = ("learnings", "messages") if messages else ("learnings",)
    with opened(url) as store, Memory(namespace, url=store) as memory:
        found = memory.recall(query, limit=limit, sources=sources)
    if found.problem:
        raise PersistError(f"The index of namespace {namespace} is broken: {found.problem}.")
    for hit in found:
        if as_json:
            print_json(_hit(hit))
        else:
            _print(f"{hit.score:.2f}  {hit.kind}: {one_line(hit.text)}{_source(hit)}")
    if not found:
        err.print(f"Nothing about this in namespace {namespace} of {store.url}.", soft_wrap=True)
        raise typer.Exit(1)


def _line(one: Learning) -> str:
    notes = [one.said_by, *(f"agreed: {name}" for name in one.confirmed_by)]
    notes += [f"{place} #{seq}" for place, seq in one.evidence]
    if one.times_confirmed:
        notes.append(f"confirmed {one.times_confirmed}×")
    if one.disputed:
        notes.append("disputed")
    if one.valid_to is not None:
        by = f", see {one.superseded_by}" if one.superseded_by else ""
        notes.append(f"held until {one.valid_to:%Y-%m-%d}{by}")
    told = f" ({', '.join(note for note in notes if note)})" if any(notes) else ""
    return f"{one.id:>4}  {one.kind}: {one_line(one.content)}{told}"


def _source(hit: Remembered) -> str:
    notes = [hit.said_by, *(f"{place} #{seq}" for place, seq in hit.evidence)]
    told = ", ".join(note for note in notes if note)
    return f" ({told})" if told else ""


def _document(one: Learning) -> dict[str, Any]:
    times = {name: getattr(one, name) for name in ("created", "valid_from", "valid_to")}
    fields = {k: v for k, v in one._asdict().items() if not k.endswith("_micros")}
    return fields | {name: at and at.isoformat() for name, at in times.items()}


def _hit(hit: Remembered) -> dict[str, Any]:
    document = {"score": round(hit.score, 4), "id": hit.id, "kind": hit.kind, "text": hit.text}
    return document | {
        "said_by": hit.said_by, "at": hit.at.isoformat(), "evidence": hit.evidence,
    }  # fmt: skip


def _print(text: str, style: str = "") -> None:
    out.print(Text(clean(text), style=style), soft_wrap=True)
