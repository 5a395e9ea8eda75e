"""What is in a journal, as values. They know neither SQL nor AutoGen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Body = Mapping[str, Any]


class Row(NamedTuple):
    """One line of a journal: a message or an event.

    A NamedTuple, because twenty thousand of them are made when a chat is read back.
    """

    session_id: str
    pos: int
    """1, 2, 3… over all rows of a session, without a gap: the order of the digest chain."""
    seq: int | None
    """1, 2, 3… over its messages, without a gap: what people cite. None for other rows."""
    run: int
    """Which top-level chat of the session this belongs to; 0 outside of any."""
    chat: str
    """Which conversation within the run, as 'initiator>recipient', '#2' when it is the second."""
    type: str
    """'message', 'event', or of an effect 'intent' and 'receipt'."""
    kind: str
    """Of a message: text, tool_call, tool_result, function_call, function_result, introduction,
    restored. Of an event: process, run_started, run_ended, clear_history, clear_group, resumed,
    unheard (a group's message did not get to everyone), unsent (a direct receive: the sender
    did not file it), retried (a tool without a result was run again)."""
    speaker: str
    listener: str
    """Whom it was said to: the manager of a group, or a single agent."""
    audience: str
    """'group' or 'peer'; empty for events."""
    internal: bool
    """Chatter of AutoGen's own machinery (speaker selection), which a transcript may hide."""
    micros: int
    """Microseconds since 1970 in UTC; see `at`."""
    body: Body
    """The AutoGen message as it was delivered, so that restoring is the identity."""
    digest: bytes
    """Chains this row to the one before it."""

    @property
    def at(self) -> datetime:
        """When it was journaled, in UTC, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.micros)

    @property
    def text(self) -> str:
        """The words of the message; '' where it has none."""
        return text_of(self.body)


def text_of(body: Body) -> str:
    """The words of a message, of a list of parts the texts."""
    content = body.get("content")
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    return content if isinstance(content, str) else ""


def visible(rows: Iterable[Row]) -> list[Row]:
    """Rows without those that a later one rewound: they are kept, and no longer hold."""
    seen: list[Row] = []
    for row in rows:
        if row.kind == "rewound":
            while seen and seen[-1].pos > row.body["to"]:
                seen.pop()
        seen.append(row)
    return seen


def since_end(rows: Iterable[Row]) -> list[Row]:
    """What was journaled after a program last came to its end, or was given up."""
    since: list[Row] = []
    for row in rows:
        since.append(row)
        if row.kind == "completed":
            since.clear()
        elif row.kind == "abandoned":
            since = [each for each in since if each.run not in row.body["runs"]]
    return since


def status_of(events: Iterable[Row]) -> str:
    """How a session stands that nobody is working on: by its last run."""
    runs: dict[int, str] = {}
    broken = {"exception": "failed", "interrupted": "interrupted"}
    for row in visible(events):
        if row.kind == "run_started":
            runs[row.run] = "interrupted"
        elif row.kind == "run_ended":
            runs[row.run] = broken.get(str(row.body.get("reason")), "finished")
    return runs[max(runs)] if runs else "new"


Message = Row
"""A row whose `seq` is a number: what `session.messages()` lists."""


class Draft(NamedTuple):
    """A row before it has its place: what a listener hands to the journal."""

    run: int
    chat: str
    type: str
    kind: str
    speaker: str
    listener: str
    audience: str
    internal: bool
    micros: int
    content: bytes
    """The body as JSON text in UTF-8."""


class Learning(NamedTuple):
    """Something that was learnt, with the words it came from. It is closed, never rewritten."""

    id: int
    """0 as long as it is not stored."""
    namespace: str
    kind: str
    """decision, preference, fact, pattern, failure or question."""
    content: str
    said_by: str = ""
    confirmed_by: tuple[str, ...] = ()
    agent: str | None = None
    """Whose own it is; None if it is for everybody in the namespace."""
    session_id: str | None = None
    """In which session alone it holds; None for all of them."""
    tags: tuple[str, ...] = ()
    confidence: float = 0.5
    evidence: tuple[tuple[str, int], ...] = ()
    """The messages it was read from: session and number."""
    created_micros: int = 0
    valid_from_micros: int = 0
    valid_to_micros: int | None = None
    """Since when it no longer holds; None while it does."""
    superseded_by: int | None = None
    disputed: bool = False
    """Another one may contradict it, and nobody said which of them holds."""
    times_confirmed: int = 0
    times_recalled: int = 0
    extractor: str = ""
    """What read it; '' if somebody asked to remember it."""
    version: str = ""
    metadata: Mapping[str, Any] = {}

    @property
    def created(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.created_micros)

    @property
    def valid_from(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.valid_from_micros)

    @property
    def valid_to(self) -> datetime | None:
        if self.valid_to_micros is None:
            return None
        return _EPOCH + timedelta(microseconds=self.valid_to_micros)

    @property
    def is_open(self) -> bool:
        """Whether it still holds."""
        return self.valid_to_micros is None


class SessionRecord(NamedTuple):
    """One session, as the list of sessions shows it."""

    id: str
    namespace: str
    created_micros: int
    updated_micros: int
    rows: int
    messages: int
    runs: int

    @property
    def created(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.created_micros)

    @property
    def updated(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.updated_micros)
