"""What a journal still has to say, while its script runs again.

A script is a deterministic program around a few effects. Run again, it says the same
and asks the same, until the journal ends; then the world is live. What it says is
compared, what it asks is answered, and nothing of both is written twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from autogen_persist.errors import Divergence
from autogen_persist.records import Row, since_end
from autogen_persist.store import body as bodies

_BROKEN = ("interrupted", "exception")
Key = tuple[str, str, str, int]
"""Kind of effect, agent, digest of the request, and how often it was asked in its run."""
EVENTS = frozenset({"clear_history", "clear_group", "resumed", "unheard", "unsent"})
"""What a chat tells beside its messages."""
_NOT_COMPARED = frozenset({"retried"})
"""Events that a resume itself journals: a script that runs again does not say them."""


def opening_key(sender: str, recipient: str, opening: Mapping[str, Any]) -> tuple[str, str, Any]:
    """By what a top-level chat is known again: who speaks to whom, and what is said first."""
    message = opening.get("message")
    return sender, recipient, message if bodies.is_plain(message) else None


class PastRun:
    """One journaled top-level chat, used up as it is replayed."""

    def __init__(self, started: Row) -> None:
        self.number = started.run
        self.started = started
        self.opening = started.body.get("opening", {})
        self.key = opening_key(started.speaker, started.listener, self.opening)
        self.last_message: Row | None = None
        """The newest of the chat that the run began with."""
        self.roster_now: Callable[[], list[dict[str, Any]]] = list
        self.rewind: Callable[[PastRun, Divergence], None] | None = None
        """Called instead of raising a Divergence; then all is live."""
        self.ended: Row | None = None
        self.said: dict[str, deque[Row]] = defaultdict(deque)
        """By chat: its messages and events."""
        self.answers: dict[Key, deque[Row]] = defaultdict(deque)
        self.open: dict[Key, list[Row]] = defaultdict(list)
        """Effects that were begun and have no receipt: they were in flight."""
        self._unanswered: Counter[str] = Counter()
        self.last, self._is_over = started.pos, False

    def add(self, row: Row) -> None:
        if row.kind in _NOT_COMPARED:
            return
        if row.type == "intent":
            for stale in self.answers.pop(_key(row), ()):  # a failure that was tried again
                self._unanswered[stale.chat] -= 1
            self.open[_key(row)].append(row)
        elif row.type == "receipt":
            self.open.pop(_key(row), None)
            self.answers[_key(row)].append(row)
            self._unanswered[row.chat] += 1
        elif row.kind == "run_ended":
            self._end(row)
            return
        else:
            self.said[row.chat].append(row)
            if row.type == "message" and row.chat == self.started.chat:
                self.last_message = row
        self.last = row.pos

    def _end(self, row: Row) -> None:
        self.ended = row
        said = self.said[row.chat]
        cut_short = row.body.get("reason") in _BROKEN
        self._is_over = not cut_short
        if cut_short and said and said[-1].kind == "unheard":
            said.pop()  # noted because the chat broke off, which it will not do again

    @property
    def is_open(self) -> bool:
        """Whether it broke off."""
        return self.ended is None or self.ended.body.get("reason") in _BROKEN

    def goes_beyond(self, position: int) -> bool:
        return self.last > position

    def ends_like(self, body: Mapping[str, Any]) -> bool:
        """Whether the journal knows this end already."""
        if self.ended is None or (self.is_open and not self._is_over):
            return False
        return bool(self.ended.body.get("reason") == body.get("reason"))

    @property
    def first_left(self) -> int:
        """The position of the first row that was not replayed."""
        left = [*self.said.values(), *self.answers.values(), *self.open.values()]
        return min((row.pos for rows in left for row in rows), default=self.last + 1)

    def _part(self, parted: Divergence) -> None:
        """The script goes another way: an error, or live from here on."""
        if self.rewind is None:
            raise parted
        self.rewind(self, parted)
        for left in (self.said, self.answers, self.open, self._unanswered):
            left.clear()

    def hear(self, chat: str, speaker: str, listener: str, kind: str, content: bytes) -> bool:
        """Whether this is in the journal already. Raises Divergence if something else is."""
        queue = self.said[chat]
        if not queue:
            return False
        expected = queue[0]
        found = (speaker, listener, kind, bodies.load(content))
        if (expected.speaker, expected.listener, expected.kind, expected.body) != found:
            self._part(_other_words(expected, found))
            return False
        queue.popleft()
        return True

    def answer(self, key: Key, chat: str) -> Row | None:
        """The receipt for this request, if there is one left.

        None means live: it was in flight, or the chat has no receipt left. Anything else
        is a changed script, found before it costs something.
        """
        queue = self.answers[key]
        if queue and self._counts(queue[0]):
            receipt = queue.popleft()
            self._unanswered[receipt.chat] -= 1
            return receipt
        if queue:  # a failure, and nothing came after it: try again
            self._unanswered[queue.popleft().chat] -= 1
            return None
        if not self.open[key] and self._unanswered[chat] > 0:
            self._part(self._diverged(key, chat))
        return None

    def is_over(self) -> None:
        """Something came after it: its last failure was caught, and is not tried again."""
        self._is_over = True

    def was_in_flight(self, key: Key) -> Row | None:
        """The intent without a receipt, taken once."""
        return self.open[key].pop(0) if self.open[key] else None

    def _counts(self, receipt: Row) -> bool:
        return self._is_over or "error" not in receipt.body or receipt.pos != self.last

    def _diverged(self, key: Key, chat: str) -> Divergence:
        waiting = [row for queue in self.answers.values() for row in queue if row.chat == chat]
        expected = min(waiting, key=lambda row: row.pos)
        return Divergence(
            where=_place(expected, self._message_after(expected)),
            expected=f"the {_WORDS[expected.kind]} of {expected.speaker} that is journaled there",
            found=f"another {_WORDS[key[0]]} of {key[1]}",
            cause=self._change(key[1])
            or "What it was asked with has changed since: a prompt, a "
            "tool, or a clock or a set in a message.",
        )

    def _message_after(self, row: Row) -> int | None:
        """The number of the message that an effect led to, as people cite it."""
        later = [each.seq for each in self.said[row.chat] if each.seq and each.pos > row.pos]
        before = self.last_message.seq if self.last_message else None
        return later[0] if later else before and before + 1

    def _change(self, name: str) -> str:
        """How an agent differs from the one that was journaled, as far as the roster tells."""
        then = {entry["name"]: entry for entry in self.started.body.get("roster", ())}
        now = {entry["name"]: entry for entry in self.roster_now()}
        if then.keys() != now.keys():
            return f"The agents were {_listed(then)}, and are {_listed(now)}."
        old, new = then.get(name, {}), now.get(name, {})
        changed = [field for field in old if old[field] != new.get(field)]
        told = (f"{f} was {_short(old[f])}, and is {_short(new.get(f))}" for f in changed)
        return f"Of {name}, {'; '.join(told)}." if changed else ""


_NO_CHAT = Row("", 0, None, 0, "", "event", "run_started", "", "", "", False, 0, {}, b"")


class Past:
    """The runs of an interrupted script, in the order in which they began."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.runs: dict[int, PastRun] = {}
        self.outside = PastRun(_NO_CHAT)
        """The effects that happened outside of any chat."""
        for row in rows:
            if row.kind == "run_started" and row.run not in self.runs:
                self.runs[row.run] = PastRun(row)
            elif row.run in self.runs:
                self.runs[row.run].add(row)
            elif row.run == 0 and row.type in ("intent", "receipt"):
                self.outside.add(row)
        self.waiting = list(self.runs.values())
        """Those that have not been replayed yet."""
        for run in self.waiting[:-1]:
            run.is_over()
        if any(run.goes_beyond(self.outside.last) for run in self.waiting):
            self.outside.is_over()

    def __bool__(self) -> bool:
        return bool(self.waiting)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Past:
        """What a program that did not come to its end has to go through again."""
        return cls(since_end(rows))

    def find(self, key: tuple[str, str, Any]) -> PastRun | None:
        """The first run that began like this, if one is left."""
        return next((run for run in self.waiting if run.key == key), None)


_WORDS = {
    "model": "model call",
    "tool": "tool call",
    "human": "question to a person",
    "code": "code execution",
    "chance": "random choice",
    "user": "effect",
}


def _place(row: Row, message: int | None = None) -> str:
    cited = f"message {message}, " if message else ""
    return f"run {row.run}, chat {row.chat!r}, {cited}row {row.pos} of session {row.session_id!r}"


def _other_words(expected: Row, found: tuple[str, str, str, Any]) -> Divergence:
    speaker, listener, kind, body = found
    is_message = kind not in EVENTS
    return Divergence(
        where=_place(expected, expected.seq),
        expected=f"{expected.speaker} to {expected.listener}: "
        f"{_said(expected.kind, expected.type == 'message', expected.body)}",
        found=f"{speaker} to {listener}: {_said(kind, is_message, body)}",
        cause="The script has changed since, or says what is different each time.",
        words=_apart(expected.body, body),
    )


def other_opening(expected: PastRun, found: tuple[str, str, Any]) -> Divergence:
    said = next(iter(expected.said[expected.started.chat]), None)
    return Divergence(
        where=_place(expected.started, said.seq if said else None),
        expected=f"{expected.key[0]} to {expected.key[1]}: {_short(expected.key[2])}",
        found=f"{found[0]} to {found[1]}: {_short(found[2])}",
        cause="The opening of the chat has changed since, or another chat comes first now.",
    )


def _apart(journaled: Any, said: Any) -> tuple[str, str]:
    """What differs between two messages: their words, else all that they hold."""
    words = _words(journaled), _words(said)
    return words if words[0] != words[1] else (repr(dict(journaled)), repr(said))


def _words(body: Any) -> str:
    text = body.get("content") if isinstance(body, dict) else body
    return text if isinstance(text, str) and text else repr(body)


def _said(kind: str, is_message: bool, body: Any) -> str:
    """A message by its words, an event by its name."""
    return _short(body) if is_message else f"the event {kind.replace('_', ' ')}"


def _short(body: Any) -> str:
    text = _words(body)
    return repr(text if len(text) <= 120 else text[:117] + "…")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _key(row: Row) -> Key:
    return row.kind, row.speaker, str(row.body.get("digest")), int(row.body.get("n", 1))
