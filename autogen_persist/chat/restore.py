"""Put journaled messages back where AutoGen had them.

Each message goes through AutoGen's own methods for its speaker, its listener and, in a
group, everyone who heard it: the installed version shapes its own copies. Nothing is
sent, no hook runs, nobody replies, and nothing is journaled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from autogen_persist.chat.distribution import groupchat_of, put_in_history, silent_agent
from autogen_persist.records import Row
from autogen_persist.store.body import dump


def restore(
    rows: Iterable[Row], agents: Iterable[Any], *, only: Iterable[Any] | None = None
) -> None:
    """Give agents, and the groups of the managers among them, the past that rows tell of.

    Agents are found by name; messages of and to unknown ones (the pair that selects a
    speaker, say) were never in anybody else's history. Who spoke to a group and is not
    here has a stand-in. `only`: what these agents take part in, the others have the rest.
    """
    _Restorer(rows, agents, None if only is None else {agent.name for agent in only}).put_back()


class State:
    """What an agent remembers, to go back to."""

    def __init__(self, agent: Any) -> None:
        self._said = {peer: list(said) for peer, said in agent.chat_messages.items()}
        group = groupchat_of(agent)
        self._group = list(group.messages) if group is not None else None
        self._rest = {name: copy(getattr(agent, name)) for name in _KEPT if hasattr(agent, name)}
        self._context = dict(_context(agent))

    def put_back(self, agent: Any) -> None:
        histories = agent.chat_messages
        histories.clear()
        histories.update({peer: list(said) for peer, said in self._said.items()})
        if self._group is not None:
            groupchat_of(agent).messages[:] = self._group  # type: ignore[union-attr]
        for name, value in self._rest.items():
            setattr(agent, name, copy(value))
        if _context(agent) != self._context:
            _context(agent).clear()
            _context(agent).update(self._context)


def _context(agent: Any) -> dict[str, Any]:
    """The context variables of a pattern; AutoGen 0.2 has none."""
    data = getattr(getattr(agent, "context_variables", None), "data", None)
    return data if data is not None else {}


_COUNTER, _ANSWERS, _LAST = "_consecutive_auto_reply_counter", "_human_input", "_last_speaker"
_KEPT = (_COUNTER, _ANSWERS, _LAST)


def describe(agents: Iterable[Any]) -> dict[str, Any]:
    """What messages do not tell of agents: counters, what people said, context variables."""
    return {agent.name: told for agent in agents if (told := _described(agent))}


def _described(agent: Any) -> dict[str, Any]:
    counters = getattr(agent, _COUNTER, {})
    told = {
        "counters": {peer.name: count for peer, count in counters.items() if count},
        "answers": list(getattr(agent, _ANSWERS, None) or ()),
        "last_speaker": getattr(getattr(agent, _LAST, None), "name", None),
        "context": dict(_context(agent)),
    }
    return {name: value for name, value in told.items() if value and not dump(value)[1]}


class _Turn:
    """What the journal says of a group's message beside its words."""

    def __init__(self) -> None:
        self.introductions: list[Row] = []
        self.changed: dict[str, Any] = {}
        """What the manager made of it, from this listener on."""
        self.unheard: Mapping[str, Any] = {}


class _Restorer:
    """Rows, and the agents they are about."""

    def __init__(
        self, rows: Iterable[Row], agents: Iterable[Any], only: set[str] | None = None
    ) -> None:
        self._rows = list(rows)
        self._only = only
        self._stand_ins: dict[str, Any] = {}
        self._agents: dict[str, Any] = {}
        for agent in agents:
            self._know(agent)
        self._turns: dict[int, _Turn] = {}
        self._unsent: set[int] = set()
        self._told: set[int] = set()
        """Rows of a manager that belong to a group's message before them."""
        self._read_ahead()

    def _know(self, agent: Any) -> None:
        if self._agents.get(agent.name) is agent:
            return
        self._agents[agent.name] = agent
        group = groupchat_of(agent)
        for member in group.agents if group is not None else ():
            self._know(member)

    def _read_ahead(self) -> None:
        last: dict[tuple[str, str], int] = {}
        turns: dict[str, _Turn] = {}
        for row in self._rows:
            if row.kind == "unsent":
                self._unsent.add(last.get((row.speaker, row.listener), 0))
            elif row.kind == "unheard" and row.speaker in turns:
                turns[row.speaker].unheard = row.body
            elif row.type == "message":
                last[row.speaker, row.listener] = row.pos
                if self._group(row.listener) is not None:
                    self._turns[row.pos] = turns[row.listener] = _Turn()
                elif row.audience == "group" and row.speaker in turns:
                    self._told.add(row.pos)
                    _tell(turns[row.speaker], row)

    def _group(self, name: str) -> Any | None:
        return groupchat_of(self._agents.get(name))

    def put_back(self) -> None:
        for row in self._rows:
            if row.type == "message" and row.pos not in self._told:
                self._say(row)
            elif row.kind == "clear_history":
                self._forget(row)
            elif row.kind == "clear_group":
                self._cut(row)
            elif row.kind == "run_ended":
                self._recall(row.body.get("state", {}))

    def _concerns(self, *names: str) -> bool:
        return self._only is None or not self._only.isdisjoint(names)

    def _say(self, row: Row) -> None:
        listener = self._find(row.listener, row.speaker)
        speaker = self._find(row.speaker, row.listener)
        if speaker is None and groupchat_of(listener) is not None:
            speaker = self._stand_in(row.speaker)
        if speaker is None or listener is None or not self._concerns(row.speaker, row.listener):
            return
        turn = self._turns.get(row.pos)
        late = turn is not None and self._only is not None
        if row.pos not in self._unsent:
            _file(speaker, row.body, listener, sending=True)
        if not late:  # the group has it already, from a stand-in
            _file(listener, row.body, speaker, sending=False)
        if turn is not None and not late:
            _pass_on(listener, speaker, turn)

    def _find(self, name: str, peer: str) -> Any | None:
        """An agent by its name; or the person that speaks to a persistent agent."""
        found = self._agents.get(name)
        if found is None and hasattr(self._agents.get(peer), "_person"):
            person = self._agents[peer]._person()
            found = person if person.name == name else None
        return found

    def _stand_in(self, name: str) -> Any:
        if name not in self._stand_ins:
            self._stand_ins[name] = silent_agent(name)
        return self._stand_ins[name]

    def _recall(self, state: Mapping[str, Any]) -> None:
        for name, told in state.items():
            agent = self._agents.get(name)
            if agent is not None and self._concerns(name):
                self._remind(agent, told)

    def _remind(self, agent: Any, told: Mapping[str, Any]) -> None:
        for peer, count in told.get("counters", {}).items():
            found = self._find(peer, agent.name)
            if found is not None:
                getattr(agent, _COUNTER)[found] = count
        if hasattr(agent, _ANSWERS):
            setattr(agent, _ANSWERS, list(told.get("answers", ())))
        last = told.get("last_speaker")
        if last is not None:
            setattr(agent, _LAST, self._find(last, agent.name) or self._stand_in(last))
        if "context" in told and hasattr(agent, "context_variables"):
            agent.context_variables.data.update(told["context"])

    def _forget(self, row: Row) -> None:
        agent = self._agents.get(row.speaker)
        if agent is None or not self._concerns(row.speaker, str(row.body.get("peer"))):
            return
        histories, kept = agent.chat_messages, row.body.get("preserve")
        if row.body.get("peer") is not None:
            peer = self._find(row.body["peer"], row.speaker)
            if peer in histories:
                histories[peer].clear()
        elif not kept:
            histories.clear()
        else:
            _keep_last(histories, kept)

    def _cut(self, row: Row) -> None:
        group = self._group(row.speaker)
        if group is not None:
            del group.messages[: len(group.messages) - (row.body.get("preserve") or 0)]


def _tell(turn: _Turn, row: Row) -> None:
    if row.kind == "introduction":
        turn.introductions.append(row)
    else:
        turn.changed[row.listener] = row.body


def _pass_on(manager: Any, speaker: Any, turn: _Turn) -> None:
    """As `run_chat` does with a message that its manager has received."""
    group = groupchat_of(manager)
    assert group is not None
    message = manager.chat_messages[speaker][-1]  # the group's list holds the same dict
    for row in turn.introductions:
        for agent in group.agents:
            _deliver(manager, row.body, agent)
    if turn.unheard.get("in_group", True):
        group.append(message, speaker)
    missed = turn.unheard.get("agents", ())
    for agent in group.agents:
        if agent is speaker or agent.name in missed:
            continue
        message = turn.changed.get(agent.name, message)
        _deliver(manager, message, agent)


def _deliver(manager: Any, message: Any, agent: Any) -> None:
    _file(manager, message, agent, sending=True)
    _file(agent, message, manager, sending=False)


def _file(agent: Any, message: Any, peer: Any, *, sending: bool) -> None:
    if hasattr(agent, "_append_oai_message"):  # not an agent that keeps its history elsewhere
        put_in_history(agent, message, peer, sending=sending)


def _keep_last(histories: Any, kept: int) -> None:
    """As `clear_history` does, which prints: a tool's result keeps its call."""
    for peer, messages in histories.items():
        if len(messages) < kept:
            return  # here AutoGen raises
        more = 1 if "tool_responses" in messages[-kept] else 0
        histories[peer] = messages[-(kept + more) :]
