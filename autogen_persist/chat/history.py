"""A session that is opened again: what its agents get back, and what is replayed.

Attaching restores what is finished. The first top-level chat decides the rest: if it
opens like one of the process that was interrupted, that one is replayed from there on;
if not, what was interrupted is closed, put back as far as it came, and continued.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from autogen_persist.chat import seats
from autogen_persist.chat.distribution import groupchat_of
from autogen_persist.chat.past import Past, PastRun, opening_key, other_opening
from autogen_persist.chat.restore import State, restore
from autogen_persist.errors import AgentsChanged, Divergence
from autogen_persist.records import Row, visible
from autogen_persist.session import Session

log = logging.getLogger("autogen_persist")

INTERRUPTED = "The call was interrupted: its outcome is unknown."


class History:
    """What one session knows from earlier processes.

    script: the whole program is run again, so that its first chat has to be the first one
    that is journaled; nothing is restored before that.
    """

    def __init__(self, session: Session, *, script: bool) -> None:
        self._session, self.script = session, script
        self._read()
        self._known: WeakKeyDictionary[Any, State] = WeakKeyDictionary()
        self._met: WeakSet[Any] = WeakSet()
        """Everybody who takes part, also those who keep the history they have."""
        self._taken: list[PastRun] = []
        self._first = True
        self._named: PastRun | None = None
        self.has_past = False
        """Whether the chat that begins now continues what was put back."""

    def _read(self) -> None:
        self._rows = visible(self._session.rows())
        self.past = Past.of(self._rows)
        self._end = self._rows[-1].pos if self._rows else 0
        messages = [row for row in self._rows if row.type == "message"]
        self._names = {name for row in messages for name in (row.speaker, row.listener)}
        """Who has taken part; nobody in a new session."""

    def attach(self, target: Any) -> None:
        """Somebody persisted this agent or manager: it gets back what is finished."""
        self._met.update(agent for agent in (target, *seats.members(target)) if _remembers(agent))
        if self._first and self._names and not self.script:
            self._check_members(target)
            self._put_back([target, *seats.members(target)], self._finished())

    def take(self, sender: Any, recipient: Any, opening: Mapping[str, Any]) -> PastRun | None:
        """The journaled run that a top-level chat is, if it is one again."""
        people = [sender, recipient, *seats.members(sender), *seats.members(recipient)]
        self._met.update(agent for agent in people if _remembers(agent))
        key = opening_key(sender.name, recipient.name, opening)
        run = self._named or self.past.find(key)
        first, self._first = self._first, False
        if run is None and self.past:
            self._part(key, people)
        elif first and self._names:
            self._check_members(recipient)
            since = self._session.rows(after=self._end)  # said before the first chat
            self._rows = visible([*self._rows, *since])
            self._go_back_to(run)
            self._put_back(people, self._rows, lived=run is not None)
        else:
            self._welcome(people)
        self.has_past = first and any(self._is_kept(row) for row in self._rows)
        self._rows, self._named = [], None
        if run is not None:
            self.past.waiting.remove(run)
            self._taken.append(run)
            run.rewind = self._rewind if self._session.options["on_divergence"] == "live" else None
        return run

    def interrupted(self) -> PastRun | None:
        """The run that broke off last."""
        self._read()
        broken = [run for run in self.past.runs.values() if run.is_open]
        return broken[-1] if broken else None

    def resume(self, run: PastRun) -> None:
        """Let the next top-level chat be this one."""
        self._named, self._first = run, True

    def agent(self, name: str, others: Iterable[Any]) -> Any | None:
        return next((a for a in (*others, *self._met) if a.name == name), None)

    def _finished(self) -> list[Row]:
        broken = {run.number for run in self.past.runs.values() if run.is_open}
        return [row for row in self._rows if row.run not in broken]

    def _go_back_to(self, run: PastRun | None) -> None:
        """To where a run began; a script that runs again goes through all of them."""
        if run is None:
            return
        if not self.script or run is self._named:
            self.past.waiting = [each for each in self.past.waiting if each.number >= run.number]
        start = self.past.waiting[0].started.pos
        self._rows = [row for row in self._rows if row.pos < start]
        self._end = start - 1

    def _is_kept(self, row: Row) -> bool:
        return row.type == "message" and any(a.name == row.listener for a in self._known)

    def _put_back(self, people: Iterable[Any], rows: Iterable[Row], *, lived: bool = False) -> None:
        """Give everybody the past that these rows tell of, and nothing else.

        lived: also those who took part earlier in this process, as in a notebook.
        """
        if lived:
            _empty([a for a in people if a not in self._known and seats.has_lived(a)])
        for agent in self._newcomers(people):
            self._known[agent] = State(agent)
        for agent, state in self._known.items():
            state.put_back(agent)
        restore(rows, list(self._known))

    def _welcome(self, people: Iterable[Any]) -> None:
        """Somebody speaks for the first time in this process: what earlier ones knew of it."""
        missing = self._names - {agent.name for agent in self._known}
        new = [agent for agent in self._newcomers(people) if agent.name in missing]
        if new:
            self._known.update({agent: State(agent) for agent in new})
            rows = visible(self._session.rows())
            restore([r for r in rows if r.pos <= self._end], list(self._known), only=new)

    def _newcomers(self, people: Iterable[Any]) -> list[Any]:
        """Who has no past yet. Those who have one in this process keep it."""
        able = dict.fromkeys(agent for agent in people if _remembers(agent))
        new = [agent for agent in able if agent not in self._known]
        return new if all(_is_blank(agent, new) for agent in new) else []

    def _part(self, key: Any, people: list[Any]) -> None:
        """Another chat begins than the one that was interrupted."""
        if self.script and self._session.options["on_divergence"] == "error":
            raise other_opening(self.past.waiting[0], key)
        if self.script:  # on_divergence="live"
            self._session.event("rewound", {"to": self.past.waiting[0].started.pos - 1})
        else:
            self._abandon(people)
        self.past.waiting.clear()
        self._rows = visible(self._session.rows())
        self._put_back(people, self._rows)

    def _abandon(self, people: list[Any]) -> None:
        for run in self.past.waiting:
            if run.is_open:
                self._close(run, people)
        self._session.event("abandoned", {"runs": [run.number for run in self.past.waiting]})

    def _close(self, run: PastRun, people: list[Any]) -> None:
        """A tool call that nobody answered would make every later request invalid."""
        last = run.last_message
        if last is not None and last.kind in ("tool_call", "function_call"):
            speaker, listener = _answerer(last, people)
            self._session.message(
                _no_answer(last), speaker=speaker, listener=listener, audience=last.audience,
                kind=last.kind.replace("call", "result"), run=run.number, chat=last.chat,
            )  # fmt: skip
        self._session.event("run_ended", {"reason": "abandoned"}, speaker=run.key[0],
                            listener=run.key[1], run=run.number, chat=run.started.chat)  # fmt: skip

    def _rewind(self, run: PastRun, parted: Divergence) -> None:
        """on_divergence='live': what the journal has from here on is hidden, and written anew."""
        left = [run.first_left, *(later.started.pos for later in self.past.waiting)]
        position = min(left) - 1
        if any(other is not run and other.goes_beyond(position) for other in self._taken):
            raise parted  # what another chat has replayed would be hidden, too
        log.warning("%s The journal is rewound to row %d, the rest is live.", parted, position)
        self.past.waiting.clear()
        self._session.event("rewound", {"to": position})

    def _check_members(self, manager: Any) -> None:
        """A group's journal belongs to those who are in the group.

        A script that runs again is compared with its journal anyway.
        """
        group = None if self.script else groupchat_of(manager)
        started = [r for r in self._rows if r.kind == "run_started" and "members" in r.body]
        if group is None or not started:
            return
        then, now = set(started[-1].body["members"]), {agent.name for agent in group.agents}
        if started[-1].listener != manager.name:
            then, now = then | {started[-1].listener}, now | {manager.name}
        if then == now:
            return
        changed = AgentsChanged(session_id=self._session.id, missing=then - now, new=now - then)
        if self._session.options["on_mismatch"] == "error":
            raise changed
        log.warning("%s", changed)


def _empty(agents: list[Any]) -> None:
    for agent in agents:
        for peer in agents:
            agent.chat_messages.pop(peer, None)
        group = groupchat_of(agent)
        if group is not None:
            group.messages.clear()


def _remembers(agent: Any) -> bool:
    return hasattr(agent, "_append_oai_message")


def _is_blank(agent: Any, among: list[Any]) -> bool:
    group = groupchat_of(agent)
    said = any(agent.chat_messages.get(peer) for peer in among)
    return not said and not (group is not None and group.messages)


def _answerer(call: Row, people: list[Any]) -> tuple[str, str]:
    """Who answers for a tool, and to whom: the peer, or the member of the group that has it."""
    if call.audience != "group":
        return call.listener, call.speaker
    names = {str(each["function"]["name"]) for each in call.body.get("tool_calls") or ()}
    others = [a for a in people if a.name not in (call.speaker, call.listener)]
    able = [a for a in others if names & set(getattr(a, "function_map", None) or ())]
    return (able or others)[0].name, call.listener


def _no_answer(call: Row) -> dict[str, Any]:
    if call.kind == "function_call":
        name = call.body["function_call"].get("name")
        return {"role": "function", "name": name, "content": INTERRUPTED}
    answers = [
        {"tool_call_id": each.get("id"), "role": "tool", "content": INTERRUPTED}
        for each in call.body["tool_calls"]
    ]
    return {"role": "tool", "tool_responses": answers, "content": INTERRUPTED}
