"""Where a top-level chat begins, and why it ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from autogen_persist.chat import listen, seats
from autogen_persist.chat.distribution import groupchat_of
from autogen_persist.chat.history import History
from autogen_persist.chat.past import PastRun
from autogen_persist.chat.restore import describe
from autogen_persist.chat.seats import Here, Run, here
from autogen_persist.errors import JournalUnavailable, PersistError
from autogen_persist.session import Session
from autogen_persist.store import body as bodies

log = logging.getLogger("autogen_persist")
selecting: ContextVar[bool] = ContextVar("autogen_persist_selecting", default=False)
"""True while a group chooses its next speaker: what is said then is internal."""
_INTERRUPTIONS = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)


histories: WeakKeyDictionary[Session, History] = WeakKeyDictionary()
"""By session: what earlier processes left."""


class Unsaid(int):
    """AutoGen's default for `clear_history`, passed on by `run()` as if somebody had said it."""


class Chat:
    """Around one `initiate_chat`: begins a run, or is part of the one that runs.

    Where no session listens it does nothing at all.
    """

    def __init__(
        self, sender: Any, recipient: Any, opening: Mapping[str, Any], method: str
    ) -> None:
        self._sender, self._recipient, self._opening = sender, recipient, opening
        self._method = method
        self._begun: Run | None = None
        self._token: Any = None
        self._keep: bool | None = None
        """Whether what was restored survives AutoGen's default of clearing it."""
        self._verdicts: list[_Verdict] = []

    def __enter__(self) -> Chat:
        try:
            run = self._find_run()
            if run is not None:
                self._enter(run)
        except PersistError as error:
            _stop_around(error)
            raise
        return self

    def _enter(self, run: Run) -> None:
        run.admit(self._sender)
        run.admit(self._recipient)
        now = Here(run, run.name_chat(self._sender, self._recipient), selecting.get())
        self._token, self._here = here.set(now), now
        people = {self._sender, self._recipient, *seats.members(self._recipient)}
        self._were = {agent: seats.seat(agent).here for agent in people}
        for agent in people:
            seats.seat(agent).here = now
        if self._begun:
            self._verdicts = [_Verdict.beside(a) for a in (self._sender, self._recipient)]
            for session in self._begun.own:
                session.running += 1
            try:
                self._note("run_started", self._start())
            except BaseException:
                self._leave()
                raise

    def sparing(self, kwargs: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
        """The arguments for AutoGen, whose default would clear what was just restored."""
        said = args or "clear_history" in kwargs
        return kwargs if said or not self._keep else {**kwargs, "clear_history": False}

    def _start(self) -> dict[str, Any]:
        """What is needed to begin this run again, and to say who took part."""
        started: dict[str, Any]
        opening = {"clear_history": not self._keep, **self._opening}
        plain = {name: value for name, value in opening.items() if bodies.is_plain(value)}
        assert self._begun is not None
        started = {"method": self._method, "opening": plain, "roster": self._begun.roster()}
        if plain.keys() != opening.keys():
            started["not_plain"] = sorted(opening.keys() - plain.keys())
        group = groupchat_of(self._recipient)
        if group is not None:
            started["members"] = [agent.name for agent in group.agents]
        return started

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if self._token is None:
            return
        terminated = any(verdict.last for verdict in self._verdicts)
        swallowed = self._swallowed(error)
        error = swallowed or error
        if self._begun:
            for session in self._begun.own:
                session.last_run = error or "ended"
        try:
            self._journal_end(error, terminated)
        except JournalUnavailable as failure:
            if error is None:
                error = failure
                raise
            log.error("the end of a run could not be journaled: %s", failure)
        finally:
            self._leave()
            _stop_around(error)
        if swallowed is not None:
            raise swallowed

    def _swallowed(self, error: BaseException | None) -> PersistError | None:
        """What stopped the run, where AutoGen has made something else of it."""
        if isinstance(error, (PersistError, *_INTERRUPTIONS)):
            return None
        return self._here.run.failure

    def _journal_end(self, error: BaseException | None, terminated: bool) -> None:
        if isinstance(error, PersistError):
            return  # the database would not take this either, and waiting twice helps nobody
        if groupchat_of(self._recipient) is not None:
            listen.end_turn(self._recipient)
        if self._begun:
            state = describe(self._begun.agents)
            told = {"state": state} if state else {}
            self._note("run_ended", {**self._ending(error, terminated), **told})
            for session in self._begun.own:
                if not session.closed:
                    session.flush()

    def _leave(self) -> None:
        """Leave nothing of ours behind."""
        here.reset(self._token)
        for agent, was in self._were.items():
            seats.seat(agent).here = was
        if self._begun:
            for session in self._begun.own:
                session.running -= 1
            for verdict in self._verdicts:
                verdict.end()
            self._begun.end()

    def _find_run(self) -> Run | None:
        now = here.get()
        pair = (self._sender, self._recipient)
        if None in pair:
            return None  # AutoGen says what it thinks of that
        if now is not None and selecting.get():
            return now.run
        if now is not None and not now.run.agents.isdisjoint(pair):
            others = [s for s in seats.owned(*pair) if s not in now.run.numbers]
            self._begun = Run(others, around=now.run) if others else None
            return self._begun or now.run
        sessions = seats.owners(*pair)
        if sessions:
            self._begun = Run(sessions, take=self._take_past)
            return self._begun
        return now.run if now is not None else seats.run_of(*pair)

    def _take_past(self, session: Session) -> PastRun | None:
        """The journaled run that this one is, in a script that runs again."""
        history = histories.get(session)
        if history is None:
            return None
        run = history.take(self._sender, self._recipient, self._opening)
        keep = not run.opening.get("clear_history", True) if run else history.has_past
        self._keep = self._keep or keep
        return run

    def _note(self, kind: str, body: Mapping[str, Any]) -> None:
        assert self._begun is not None
        for session, number in self._begun.own.items():
            past = self._begun.pasts.get(session)
            known = past is not None and (kind == "run_started" or past.ends_like(body))
            if not session.closed and not known:
                session.event(kind, body, speaker=self._sender.name,
                              listener=self._recipient.name, run=number,
                              chat=self._here.chat)  # fmt: skip

    def _ending(self, error: BaseException | None, terminated: bool) -> dict[str, Any]:
        if isinstance(error, _INTERRUPTIONS):
            return {"reason": "interrupted", "error": type(error).__name__}
        if error is not None:
            return {"reason": "exception", "error": f"{type(error).__name__}: {error}"[:500]}
        return {"reason": "terminated" if terminated else self._limit() or "no_reply"}

    def _limit(self) -> str | None:
        """The limit that ended the chat, if one did."""
        group = groupchat_of(self._recipient)
        if group is not None:
            rounds = sum(n for name, n in self._here.said.items() if name != self._recipient.name)
            return "max_round" if rounds >= group.max_round else None
        turns = self._opening.get("max_turns")
        if isinstance(turns, int) and self._here.said.get(self._sender.name, 0) >= turns:
            return "max_turns"
        said = self._here.said
        opener = _at_limit(self._sender, self._recipient, said.get(self._sender.name, 1) - 1)
        answerer = _at_limit(self._recipient, self._sender, said.get(self._recipient.name, 0))
        return "max_auto_reply" if opener or answerer else None


def _stop_around(error: BaseException | None) -> None:
    """A persistence error in a chat stops the run whose tool began that chat."""
    around = here.get()
    if around is not None and isinstance(error, PersistError):
        around.run.stop(error)


def _at_limit(agent: Any, peer: Any, replies: int) -> bool:
    """Whether an agent used up its automatic replies: then AutoGen sets its counter to 0."""
    try:
        limit = agent._max_consecutive_auto_reply_dict[peer]
        reset = agent._consecutive_auto_reply_counter[peer] == 0
        automatic = agent.human_input_mode == "NEVER"
    except (AttributeError, KeyError):  # an agent that counts otherwise
        return False
    # Up to 0.13 an async chat counts each reply twice.
    return bool(automatic and reset and replies >= (limit // 2 if _in_event_loop() else limit))


def _in_event_loop() -> bool:
    return asyncio._get_running_loop() is not None


class _Verdict:
    """Remembers what an agent's termination check said last.

    Asking it again could have side effects, so we stand beside it while runs last; chats
    at the same time share one.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._check = getattr(agent, "_is_termination_msg", None)
        self._users = 0
        self.last = False
        if self._check is not None:
            agent._is_termination_msg = self._ask

    @classmethod
    def beside(cls, agent: Any) -> _Verdict:
        place = seats.seat(agent)
        if place.verdict is None:
            place.verdict = cls(agent)
        place.verdict._users += 1
        found: _Verdict = place.verdict
        return found

    def _ask(self, message: Any) -> Any:
        assert self._check is not None
        answer = self._check(message)
        self.last = bool(answer)
        return answer

    def end(self) -> None:
        self._users -= 1
        if self._users:
            return
        seats.seat(self._agent).verdict = None
        # Somebody may have set another check in the meantime; that one stays.
        if getattr(self._agent, "_is_termination_msg", None) == self._ask:
            self._agent._is_termination_msg = self._check
