"""An open session: the handle that `persist` returns, and the door that listeners write to."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar, cast

from autogen_persist.errors import (
    BadArgument,
    JournalUnavailable,
    NothingToResume,
    NotJournalable,
    SessionBusy,
    SessionClosed,
    SessionConflict,
)
from autogen_persist.options import DEFAULTS, Options, differing
from autogen_persist.records import Draft, Message, Row, status_of
from autogen_persist.store import Store
from autogen_persist.store import body as bodies
from autogen_persist.store.engine import resolve, shown
from autogen_persist.store.lease import Lease
from autogen_persist.store.tail import Tail

log = logging.getLogger("autogen_persist")
F = TypeVar("F", bound=Callable[..., Any])


class Session:
    """One named journal, open for writing in this process.

    Close it, or use it as a context manager; at exit it is closed anyway.
    """

    def __init__(
        self,
        session_id: str,
        store: Store | None,
        *,
        options: Options = DEFAULTS,
        let_go: Callable[[Session], None] = lambda session: None,
    ) -> None:
        self.id = session_id
        self.options = options
        self.closed = False
        self._store = store
        self._tail: Tail | None = None
        self._write: Callable[[Draft], object] = _discard
        self._let_go = let_go
        self.on_close: Callable[[Session], None] | None = None
        self.on_closing: Callable[[Session], None] | None = None
        """Called first of all, while rows can still be written."""
        self.start_again: Callable[[Session, tuple[Any, ...], bool], Any] | None = None
        """How the chats of this session are resumed."""
        self.running = 0
        """How many runs go on in this process."""
        self.last_run: BaseException | str | None = None
        """How the last run in this process ended: by an error, or well; None before the first."""
        self.wrap_effect: Callable[[Session, Any], Any] | None = None
        """How a function becomes an effect; what listens knows in which chat it is called."""
        self.said = 0
        """How many messages were journaled in this process."""
        self.wake: Callable[[], None] = _rest
        """Called after every so many messages and at the end of a run; must return at once."""
        self._every = options["extract_every"]
        self._runs, self._counting = 0, threading.Lock()
        self.finished = threading.Event()
        if store is None:
            return
        durability, forgiving = options["durability"], options["on_error"] == "continue"
        store.create(session_id, namespace=options["namespace"])
        self._lease = _own(store, session_id, options["wait"])
        self._runs = store.head(session_id).run
        self._pid = os.getpid()
        self._journal = store.journal(session_id, durability=durability)
        self._journal.lease = self._lease
        if durability == "behind" or forgiving:
            self._tail = Tail(self._journal, behind=durability == "behind", forgiving=forgiving)
            self._write = self._tail.write
        else:
            self._write = lambda draft: self._journal.append((draft,))

    @property
    def url(self) -> str:
        """Where the journal is, without its password."""
        return self._store.url if self._store else "off"

    def messages(self, *, after: int = 0, limit: int | None = None) -> list[Message]:
        """The messages so far, in order; those after number `after`."""
        return self._reading().messages(self.id, after=after, limit=limit) if self._store else []

    def rows(self, *, after: int = 0, limit: int | None = None) -> list[Row]:
        """Messages and events so far, in order."""
        return self._reading().rows(self.id, after=after, limit=limit) if self._store else []

    def events(self, *, kind: str | None = None) -> list[Row]:
        """What happened beside the messages, in order."""
        return self._reading().events(self.id, kind=kind) if self._store else []

    @property
    def status(self) -> str:
        """'new', 'running', 'interrupted', 'finished' or 'failed'."""
        return "running" if self.running else status_of(self.events())

    def resume(self, *agents: Any) -> Any:
        """Finish the run that was interrupted, without a new message.

        Returns what its `initiate_chat` returns. Agents that the session does not know
        yet, such as the peer of a persisted agent, are passed in.
        """
        return self._start_again(agents, is_async=False)

    async def a_resume(self, *agents: Any) -> Any:
        """`resume`, for a run of `a_initiate_chat`."""
        return await self._start_again(agents, is_async=True)

    def _start_again(self, agents: tuple[Any, ...], *, is_async: bool) -> Any:
        if self.closed:
            raise SessionClosed(self.id)
        if self.start_again is None:
            raise NothingToResume(self.id, "persistence is off.")
        return self.start_again(self, agents, is_async)

    def effect(self, function: F) -> F:
        """Wrap what a re-run cannot compute: a clock, a uuid, a request to a service.

        Each call is journaled, and answered from the journal when a script is resumed:
        `now = session.effect(time.time)`, or `@session.effect` above a function of your own,
        also an async one. Returns what JSON, bytes, tuples and pydantic models can hold.
        """
        wrapped: F = self.wrap_effect(self, function) if self.wrap_effect else function
        return wrapped

    @property
    def away(self) -> bool:
        """With on_error='continue': whether the database is away and rows wait in memory."""
        return self._tail is not None and self._tail.away

    def flush(self) -> None:
        """Return when everything said so far is in the database."""
        if self._tail:
            self._tail.flush()

    def close(self) -> None:
        """Write what waits and let the agents go; they work on, unjournaled."""
        if self.closed:
            return
        if self.on_closing and os.getpid() == self._pid:
            closing, self.on_closing = self.on_closing, None
            try:
                closing(self)
            except JournalUnavailable as error:
                log.error("session %r: %s", self.id, error)
        self.closed = True
        self._write = self._refuse
        try:
            if self._tail:
                self._tail.close()
        finally:
            if self.on_close:
                self.on_close(self)
            if self._store:
                self._disown()
                self._store.forget_journal(self.id)
            self._let_go(self)
            self.finished.set()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session {self.id!r} in {self.url}{' (closed)' if self.closed else ''}>"

    def __deepcopy__(self, _memo: object) -> Session:
        return self  # a copied agent or chat goes on in the same session

    def __copy__(self) -> Session:
        return self

    def same(self, url: Any, given: Options) -> Session:
        """This session, unless somebody asks for it elsewhere or with other promises."""
        if url is not None and self._store and not isinstance(url, Store):
            asked: Any = url.url if hasattr(url, "dialect") else resolve(url)
            if asked != self._store.engine.url:
                raise SessionConflict(
                    target=f"session {self.id!r}", has=self.url, wanted=shown(asked)
                )
        for name, value in differing(given, self.options).items():
            opened = cast(Mapping[str, Any], self.options)[name]
            raise BadArgument(name, value, f"{opened!r}, with which {self.id!r} is open already")
        return self

    # What listeners call.

    def message(
        self,
        body: Mapping[str, Any],
        *,
        speaker: str,
        listener: str,
        audience: str,
        kind: str,
        run: int = 0,
        chat: str = "",
        internal: bool = False,
    ) -> None:
        """Journal one message; when this returns it is as durable as was asked for."""
        content, problems = bodies.dump(body)
        if problems:
            self._complain(problems, speaker)
        self._write(
            Draft(run, _name(chat), "message", kind, _name(speaker), _name(listener), audience,
                  internal, time.time_ns() // 1000, content)
        )  # fmt: skip
        self.said += 1
        if self._every and self.said % self._every == 0:
            self.wake()

    def event(
        self, kind: str, body: Mapping[str, Any], *, speaker: str = "", listener: str = "",
        run: int = 0, chat: str = "",
    ) -> None:  # fmt: skip
        """Journal that something happened."""
        content, _ = bodies.dump(body)
        self._write(
            Draft(run, _name(chat), "event", kind, _name(speaker), _name(listener), "",
                  False, time.time_ns() // 1000, content)
        )  # fmt: skip
        if kind == "run_ended":
            self.wake()

    def write_effect(
        self, type: str, kind: str, body: Mapping[str, Any], *, agent: str, run: int, chat: str
    ) -> None:
        """Journal the intent or the receipt of an effect.

        Only what a model said may wait for a group commit: a tool that has run, or a
        person who has answered, is never forgotten.
        """
        content, _ = bodies.dump(body)
        self._write(
            Draft(run, _name(chat), type, kind, _name(agent), "", "", False,
                  time.time_ns() // 1000, content)
        )  # fmt: skip
        if kind != "model":
            self.flush()

    def next_run(self) -> int:
        """A number for a new top-level chat."""
        with self._counting:
            if self._store is not None:
                with suppress(JournalUnavailable):  # then our own count has to do
                    self._runs = max(self._runs, self._store.head(self.id).run)
            self._runs += 1
            return self._runs

    def keep_lease(self) -> None:
        """The heartbeat: a session whose process lives is not taken over."""
        if self._store and not self.closed:
            try:
                if not self._store.keep(self._lease):
                    log.error("session %r was taken over by another process", self.id)
            except JournalUnavailable as error:
                log.warning("session %r: its lease could not be renewed: %s", self.id, error)

    def _disown(self) -> None:
        assert self._store is not None
        if os.getpid() != self._pid:
            return  # a forked child ends, its parent goes on
        try:
            self._store.disown(self._lease)
        except JournalUnavailable as error:
            log.warning("session %r: its lease runs out by itself: %s", self.id, error)

    def _complain(self, problems: list[str], speaker: str) -> None:
        if self.options["strict"]:
            raise NotJournalable(problems)
        log.warning(
            "session %r: a message of %s holds what JSON cannot, journaled as type and text: %s",
            self.id, speaker, "; ".join(problems),
        )  # fmt: skip

    def _reading(self) -> Store:
        assert self._store is not None
        if self.closed:
            raise SessionClosed(self.id)
        self.flush()
        return self._store

    def _refuse(self, _draft: Draft) -> None:
        raise SessionClosed(self.id)

    def _forget(self) -> None:
        self._counting = threading.Lock()
        if self._tail:
            self._tail.forget()


def _own(store: Store, session_id: str, wait: float) -> Lease:
    """Take the session, if need be when its owner is done."""
    deadline = time.monotonic() + wait
    while True:
        try:
            return store.own(session_id)
        except SessionBusy:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def _name(name: str) -> str:
    """A name that every database takes: no NUL, no lone surrogate."""
    if name.isprintable():
        return name
    return name.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def _rest() -> None:
    """Nobody learns from this session."""


def _discard(_draft: Draft) -> None:
    """AUTOGEN_PERSIST=off."""
