"""The user's own effects: a clock, a uuid, a request; whatever `session.effect` wraps."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from autogen_persist.chat.effects import Outer, a_perform, covered, digest_of, perform
from autogen_persist.chat.runs import histories
from autogen_persist.chat.seats import Here, Run, here
from autogen_persist.errors import NotJournalable, PersistError
from autogen_persist.session import Session
from autogen_persist.store import body as bodies


def wrap(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with each of its calls journaled."""
    name = _name(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        effect = _find(session, name, args, kwargs)
        return perform(effect, lambda: function(*args, **kwargs), about={"function": name})

    @functools.wraps(function)
    async def a_call(*args: Any, **kwargs: Any) -> Any:
        effect = _find(session, name, args, kwargs)
        return await a_perform(effect, lambda: function(*args, **kwargs), about={"function": name})

    return a_call if _is_async(function) else call


class Own(Outer):
    """One call of a wrapped function."""

    def __init__(self, name: str, digest: str, place: Here) -> None:
        self.name = name
        super().__init__("user", name, digest, place, (self._held, lambda answer: answer))

    def _held(self, value: Any) -> Any:
        """Text would do for a transcript, not for giving the value again."""
        problems = bodies.dump(value)[1]
        if problems:
            raise NotJournalable(problems, effect=self.name)
        return value


def _find(session: Session, name: str, args: Any, kwargs: Any) -> Own | None:
    if session.closed or covered.get():
        return None
    digest = digest_of({"function": name, "args": list(args), "kwargs": kwargs})
    return Own(name, digest, _place(session))


def _place(session: Session) -> Here:
    now = here.get()
    return now if now is not None and session in now.run.numbers else outside(session)


def outside(session: Session) -> Here:
    """The place of what a program does outside of its chats."""
    if session not in _outside:
        _outside[session] = Here(_Outside(session), "", False)
    return _outside[session]


def forget(session: Session) -> None:
    """The session is closed."""
    _outside.pop(session, None)


class _Outside(Run):
    """Where a script is before, between and after its chats: run 0 of the session."""

    def __init__(self, session: Session) -> None:
        super().__init__(())
        self.own = self.numbers = {session: 0}
        history = histories.get(session)
        if history is not None and history.script:  # it is run again from its beginning
            self.pasts[session] = history.past.outside

    def stop(self, error: PersistError) -> None:
        """There is no chat to be stopped."""


_outside: WeakKeyDictionary[Session, Here] = WeakKeyDictionary()


def _name(function: Any) -> str:
    """'module.function': what the journal calls it, the same in every process."""
    while isinstance(function, functools.partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _is_async(function: Any) -> bool:
    called = vars(type(function)).get("__call__")  # of an object that can be called
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
