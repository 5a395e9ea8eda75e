"""A session that was, for its script to go through again: nothing is asked, nothing written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from autogen_persist.chat.past import _WORDS, Past, PastRun, _place, _short
from autogen_persist.errors import Divergence
from autogen_persist.records import Draft, Message, Row, visible
from autogen_persist.session import Session
from autogen_persist.store import body as bodies


class Replay(Session):
    """A session that answers from its journal and refuses to write."""

    def __init__(self, session_id: str, rows: Iterable[Row]) -> None:
        super().__init__(session_id, None)
        self._rows, self.complete = _last_act(visible(rows))
        self.past = Past.of(self._rows)
        if self.complete:
            for run in self.past.runs.values():
                run.is_over()
        self._write = self._refuse_to_add
        self._first: Divergence | None = None

    def difference(self, raised: Divergence | None) -> Divergence | None:
        """Where script and journal part, if they do; asked when the script has ended.

        What was raised may have been swallowed on its way, so all three are looked at: what
        was raised, what was refused, and what is left over.
        """
        return raised or self._first or next(self._left_over(), None)

    @property
    def heard(self) -> int:
        """How many of the journaled messages were said again."""
        left = sum(row.type == "message" for row in self._unheard())
        return sum(row.type == "message" for row in self._rows) - left

    def same(self, url: Any, given: Any) -> Session:
        return self  # a script that opens its session itself gets this one

    def messages(self, *, after: int = 0, limit: int | None = None) -> list[Message]:
        return [row for row in self._rows if row.seq is not None and row.seq > after][:limit]

    def rows(self, *, after: int = 0, limit: int | None = None) -> list[Row]:
        return [row for row in self._rows if row.pos > after][:limit]

    def events(self, *, kind: str | None = None) -> list[Row]:
        return [row for row in self._rows if row.type == "event" and kind in (None, row.kind)]

    def _refuse_to_add(self, draft: Draft) -> None:
        """Only the end of a run is told again, and has to be the same."""
        body = bodies.load(draft.content)
        run = self.past.runs.get(draft.run)
        if draft.kind == "run_ended":
            if run is None or not _is_same_end(run, body):
                self._first = self._first or self._goes_on(f"run {draft.run} ends: {body}")
            return
        self._first = self._first or self._goes_on(_described(draft.type, draft, body))
        raise self._first

    def _goes_on(self, found: str) -> Divergence:
        why = (
            "The script does more than when it was journaled."
            if self.complete
            else "The session was interrupted here, so there is no more to compare with."
        )
        return Divergence(
            where=f"the end of session {self.id!r}", expected="nothing more", found=found, cause=why
        )

    def _left_over(self) -> Iterator[Divergence]:
        """What the journal has and the script did not say or ask."""
        for row in sorted(self._unheard(), key=lambda row: row.pos):
            yield Divergence(
                where=_place(row),
                expected=_described(row.type, row, row.body),
                found="the end of the script",
                cause="The script does less than when it was journaled.",
            )

    def _unheard(self) -> Iterator[Row]:
        spans = list(_spans(self._rows))
        for run in (self.past.outside, *self.past.runs.values()):
            for queue in (*run.said.values(), *run.answers.values()):
                yield from (row for row in queue if not any(_inside(row, span) for span in spans))


def _last_act(rows: Iterable[Row]) -> tuple[list[Row], bool]:
    """The rows up to the last completion, if there is one; and whether there is."""
    found = list(rows)
    ends = [index for index, row in enumerate(found) if row.kind == "completed"]
    return (found[: ends[-1]], True) if ends else (found, False)


def _is_same_end(run: PastRun, body: Any) -> bool:
    return run.ended is not None and run.ended.body.get("reason") == body.get("reason")


def _described(type: str, row: Row | Draft, body: Any) -> str:
    if type in ("intent", "receipt"):
        return f"a {_WORDS.get(row.kind, row.kind)} of {row.speaker or 'the script'}"
    said = _short(body) if type == "message" else row.kind.replace("_", " ")
    return f"{row.speaker} to {row.listener}: {said}"


Span = tuple[Row, Row]


def _spans(rows: Iterable[Row]) -> Iterator[Span]:
    """Each finished tool. The chats that it held are not held again: its result is known."""
    begun: dict[Any, Row] = {}
    for row in rows:
        key = (row.run, row.kind, row.speaker, row.body.get("digest"), row.body.get("n"))
        if row.type == "intent" and row.kind in ("tool", "user"):
            begun[key] = row
        elif row.type == "receipt" and key in begun:
            yield begun.pop(key), row


def _inside(row: Row, span: Span) -> bool:
    first, last = span
    in_time = row.run == first.run and first.pos < row.pos < last.pos
    return in_time and row.chat != first.chat
