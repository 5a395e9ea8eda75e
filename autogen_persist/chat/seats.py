"""Who belongs to which session.

An agent has a seat in a session because somebody persisted it (`owned`), because its
group was persisted (`member`), or for the length of a run that it takes part in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from autogen_persist.chat.distribution import (
    groupchat_of,
    hooks_of,
    is_manager,
    roster_entry,
)
from autogen_persist.chat.past import PastRun
from autogen_persist.errors import PersistError, ReplayedError
from autogen_persist.session import Session

_CHAT_MARK = "_autogen_persist_session"


class Seat:
    """What we know of one agent."""

    __slots__ = ("here", "member", "owned", "resuming", "run", "said", "turn", "verdict")

    def __init__(self) -> None:
        self.owned: Session | None = None
        self.member: list[Session] = []
        self.run: Run | None = None
        self.here: Here | None = None
        """The chat that it takes part in."""
        self.verdict: Any = None
        """What stands beside its termination check while a run lasts."""
        self.said: tuple[dict[str, Any], set[int]] | None = None
        """Of a manager: what it told its group last, and the members that heard it."""
        self.resuming = False
        """Of a manager: AutoGen's resume() is sending the past again."""
        self.turn: Turn | None = None
        """Of a manager: the message that it was given last."""

    def __copy__(self) -> Seat:
        """A copied agent belongs to the same sessions, and takes part in nothing yet."""
        twin = Seat()
        twin.owned, twin.member = self.owned, list(self.member)
        return twin

    def __deepcopy__(self, _memo: object) -> Seat:
        return self.__copy__()

    def __reduce__(self) -> tuple[type[Seat], tuple[()]]:
        return Seat, ()  # a pickled agent leaves its sessions


class Turn:
    """A group's newest message, on its way from the manager to the other members."""

    __slots__ = ("changed", "manager", "same", "speaker", "waiting")

    def __init__(self, speaker: Any, manager: Any, group: Any) -> None:
        self.speaker, self.manager = speaker, manager
        self.waiting = {id(agent) for agent in group.agents if agent is not speaker}
        """The members that have not heard it yet."""
        self.same: Any = None
        """The message, once a member got it unchanged."""
        self.changed: Any = None
        """What the manager's hooks or guardrails made of it for the last listener."""


class Run:
    """One top-level chat, with all the chats inside it.

    A nested chat that somebody persisted under another id is a run of its own in that
    session, and still part of the run around it.
    """

    def __init__(
        self, sessions: Iterable[Session], around: Run | None = None,
        take: Callable[[Session], PastRun | None] = lambda session: None,
    ) -> None:  # fmt: skip
        self.pasts: dict[Session, PastRun] = {}
        """Where this run is a journaled one again: what its journal still has to say."""
        self.own: dict[Session, int] = {}
        for session in sessions:
            past = take(session)
            if past is not None:
                self.pasts[session] = past
                past.roster_now = self.roster
            self.own[session] = past.number if past else session.next_run()
        self.around = around
        self.numbers: dict[Session, int] = {**(around.numbers if around else {}), **self.own}
        self.agents: set[Any] = set()
        self.chats: dict[str, int] = {}
        self.failure: PersistError | None = None
        """What stopped it. AutoGen makes a tool's result of any exception; not of this one."""
        self._asked: Counter[tuple[str, str, str]] = Counter()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Around what we write and compare: a persistence error stops the run for good."""
        self.check()
        try:
            yield
        except PersistError as error:
            self.stop(error)
            raise

    def check(self) -> None:
        """Raise again what somebody has swallowed."""
        if self.failure is not None:
            raise self.failure

    def stop(self, error: PersistError) -> None:
        if self.failure is None and not isinstance(error, ReplayedError):
            self.failure = error

    def ask(self, kind: str, agent: str, digest: str) -> int:
        """Count a request; the first of its kind is number 1."""
        self._asked[kind, agent, digest] += 1
        return self._asked[kind, agent, digest]

    def name_chat(self, sender: Any, recipient: Any) -> str:
        """'user>manager', and 'user>manager#2' for the second one in this run."""
        if self.around:
            return self.around.name_chat(sender, recipient)
        name = f"{sender.name}>{recipient.name}"
        self.chats[name] = self.chats.get(name, 0) + 1
        return name if self.chats[name] == 1 else f"{name}#{self.chats[name]}"

    def admit(self, agent: Any) -> None:
        """Give an agent, and the group it manages, a seat until the run ends."""
        for each in (agent, *members(agent)):
            if each not in self.agents:
                self.agents.add(each)
                _lived.add(each)
                seat(each).run = self
                listen_to(each)

    def end(self) -> None:
        for agent in self.agents:
            if seat(agent).run is self:
                inside = self.around is not None and agent in self.around.agents
                seat(agent).run = self.around if inside else None

    def roster(self) -> list[dict[str, Any]]:
        return sorted(map(roster_entry, self.agents), key=lambda entry: str(entry["name"]))


class Here:
    """Where in a run the running code is: found through a context variable."""

    __slots__ = ("chat", "inside", "internal", "run", "said")

    def __init__(self, run: Run, chat: str, internal: bool, inside: str = "") -> None:
        self.run, self.chat, self.internal = run, chat, internal
        around = here.get()
        self.inside: str = inside or (around.inside if around and around.run is run else "")
        """The call of a tool in which this is, if it is in one: its effects are its own."""
        self.said: dict[str, int] = {}
        """How often each agent spoke in this chat."""


here: ContextVar[Here | None] = ContextVar("autogen_persist_here", default=None)
_SEAT = "_autogen_persist_seat"
_seated: WeakSet[Any] = WeakSet()
_hooks: dict[str, Any] = {}
"""Our hooks by the name of the list they go into; `listen` fills it."""


on_seat: Callable[[Any], None] = lambda agent: None  # noqa: E731
"""Called with each agent that we begin to listen to; `seam` sets it."""


def seat(agent: Any) -> Seat:
    try:
        found: Seat = agent.__dict__[_SEAT]
    except (KeyError, AttributeError):
        found = Seat()
        agent.__dict__[_SEAT] = found
        _seated.add(agent)
    return found


_lived: WeakSet[Any] = WeakSet()


def has_lived(agent: Any) -> bool:
    """Whether it took part in a run of this process."""
    return agent in _lived


def members(agent: Any) -> list[Any]:
    """The agents of the group that this agent manages; none if it manages none."""
    group = groupchat_of(agent)
    return list(group.agents) if group is not None else []


def listen_to(agent: Any) -> None:
    """Register our hooks with an agent, once.

    Not with a manager: what it sends is the group's own message again, once for each
    member, and `receive` sees the little else as cheaply as can be.
    """
    if is_manager(agent):
        return
    on_seat(agent)
    lists = hooks_of(agent)
    for name, hook in _hooks.items():
        if name in lists and hook not in lists[name]:
            agent.register_hook(name, hook)


def listen_no_more() -> None:
    """Take our hooks back, from every agent that still lives."""
    for agent in list(_seated):
        agent.__dict__.pop(_SEAT, None)
        lists = hooks_of(agent)
        for name, hook in _hooks.items():
            while hook in lists.get(name, ()):
                lists[name].remove(hook)
    _seated.clear()


def sit(agent: Any, session: Session) -> None:
    """Somebody persisted this agent, or the group that it manages."""
    seat(agent).owned = session
    listen_to(agent)
    join(members(agent), session)
    group = groupchat_of(agent)
    if group is not None:
        setattr(group, _CHAT_MARK, session)


def join(agents: Iterable[Any], session: Session) -> None:
    """Members of a persisted group, and agents built in an instrumented process."""
    for agent in agents:
        if session not in seat(agent).member:
            seat(agent).member.append(session)
        listen_to(agent)


def mark(chat: Any, session: Session) -> None:
    """A persisted GroupChat whose manager is built later.

    The mark is an attribute because a GroupChat cannot be hashed, and managers copy it.
    """
    setattr(chat, _CHAT_MARK, session)
    join(chat.agents, session)


def owner(target: Any) -> Session | None:
    """The open session that a target was given to, if any."""
    group = groupchat_of(target)
    if group is None and not hooks_of(target):
        return _open(getattr(target, _CHAT_MARK, None))
    of_chat = _open(getattr(group, _CHAT_MARK, None)) if group is not None else None
    return _open(seat(target).owned) or of_chat


def owners(sender: Any, recipient: Any) -> tuple[Session, ...]:
    """Whose chat this is: a group's own session before those of its members."""
    for agent in (recipient, sender):
        if groupchat_of(agent) is not None and (session := owner(agent)):
            return (session,)
    owned = [owner(agent) for agent in (sender, recipient)]
    if not any(owned) and (inside := members(recipient)):
        owned = [owner(agent) for agent in inside]
    if any(owned):
        return _distinct(owned)
    around = [sender, recipient, *members(recipient)]
    return _distinct(session for agent in around for session in seat(agent).member)


def owned(sender: Any, recipient: Any) -> tuple[Session, ...]:
    """The sessions that one of the two was given to by name."""
    return _distinct(owner(agent) for agent in (recipient, sender))


def run_of(sender: Any, recipient: Any) -> Run | None:
    """The run that this pair is in: by the running code, else by the agents.

    Context variables are lost where AutoGen hands work to a thread.
    """
    now = here.get()
    if now is not None and (sender in now.run.agents or recipient in now.run.agents):
        return now.run
    return seat(sender).run or seat(recipient).run


def place_of(agent: Any) -> Here | None:
    """Where an effect of this agent happens; without an agent, where the running code is."""
    now = here.get()
    if now is not None and (agent is None or agent in now.run.agents):
        return now
    return seat(agent).here if agent is not None else None


def sessions_of(run: Run | None, sender: Any, recipient: Any) -> dict[Session, int]:
    """The open sessions that hear this pair, with the number of the run in each."""
    if run is not None:
        still = {session: n for session, n in run.numbers.items() if not session.closed}
        if still:
            return still
    # Also where a session was closed and opened again in the middle of a run.
    return dict.fromkeys(owners(sender, recipient), 0)


def _open(session: Session | None) -> Session | None:
    return session if session is not None and not session.closed else None


def _distinct(sessions: Iterable[Session | None]) -> tuple[Session, ...]:
    return tuple(dict.fromkeys(s for s in sessions if _open(s) is not None))  # type: ignore[misc]
