"""An open session: the handle that `persist` returns, and the door that listeners write to."""

from __future__ import annotations

import atexit
import logging
import os
import re
import secrets
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from autogen_persist.errors import (
    BadArgument,
    JournalUnavailable,
    NotJournalable,
    SessionBusy,
    SessionClosed,
    SessionConflict,
)
from autogen_persist.records import Draft, Message, Row
from autogen_persist.store import Store
from autogen_persist.store import body as bodies
from autogen_persist.store.engine import resolve, shown
from autogen_persist.store.lease import SECONDS, Lease
from autogen_persist.store.store import PATIENCE
from autogen_persist.store.tail import Tail

log = logging.getLogger("autogen_persist")

DURABILITIES = ("full", "normal", "behind")
ON_ERROR = ("stop", "continue")
DEFAULTS = ("full", "stop", False, "default")
_SECRET_NAME = r"(?:key|token|secret|passw(?:or)?d|pwd|credential)[\w-]*"  # noqa: S105
_SECRET = re.compile(rf"(?i)({_SECRET_NAME}[=:])\S+|(?<=://)[^\s@]+@")
_SECRET_FLAG = re.compile(rf"(?i)^-.*{_SECRET_NAME}$")


class Session:
    """One named journal, open for writing in this process.

    Close it, or use it as a context manager; at exit it is closed anyway.
    """

    def __init__(
        self,
        session_id: str,
        store: Store | None,
        *,
        durability: str = "full",
        on_error: str = "stop",
        strict: bool = False,
        namespace: str = "default",
        wait: float = 0,
        on_close: Callable[[Session], None] | None = None,
    ) -> None:
        self.id = session_id
        self.options = (durability, on_error, strict, namespace)
        self.closed = False
        self._strict = strict
        self._store = store
        self._tail: Tail | None = None
        self._write: Callable[[Draft], object] = _discard
        self.on_close = on_close
        self.on_closing: Callable[[Session], None] | None = None
        """Called first of all, while rows can still be written."""
        self._runs, self._counting = 0, threading.Lock()
        self.finished = threading.Event()
        if store is None:
            return
        store.create(session_id, namespace=namespace)
        self._lease = _own(store, session_id, wait)
        self._runs = store.head(session_id).run
        self._pid = os.getpid()
        self._journal = store.journal(session_id, durability=durability)
        self._journal.lease = self._lease
        if durability == "behind" or on_error == "continue":
            self._tail = Tail(
                self._journal, behind=durability == "behind", forgiving=on_error == "continue"
            )
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
            with _registry_lock:
                for key in [key for key, session in _registry.items() if session is self]:
                    del _registry[key]
                if self._store:
                    _release(self._store)
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

    def same(self, url: Any, options: tuple[object, ...]) -> Session:
        """This session, unless somebody asks for it elsewhere or with other promises."""
        if url is not None and self._store and not isinstance(url, Store):
            asked: Any = url.url if hasattr(url, "dialect") else resolve(url)
            if asked != self._store.engine.url:
                raise SessionConflict(
                    target=f"session {self.id!r}", has=self.url, wanted=shown(asked)
                )
        differs = [b for a, b, usual in zip(self.options, options, DEFAULTS, strict=True)
                   if b not in (a, usual)]  # fmt: skip
        if differs:
            raise BadArgument("options", options, f"{self.options}, with which it is open already")
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

    def effect(
        self, type: str, kind: str, body: Mapping[str, Any], *, agent: str, run: int, chat: str
    ) -> None:
        """Journal the intent or the receipt of an effect.

        Only what a model said may wait for a group commit: a tool that has run, or a
        person who has answered, is never forgotten.
        """
        content, _ = bodies.dump(body)
        self._write(
            Draft(run, chat, type, kind, _name(agent), "", "", False,
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
        if self._strict:
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


def open_session(
    session_id: str | None = None,
    *,
    url: Any = None,
    durability: str = "full",
    on_error: str = "stop",
    strict: bool = False,
    namespace: str = "default",
    upgrade: bool | None = None,
    patience: float = PATIENCE,
    wait: float = 0,
    process: Mapping[str, Any] | None = None,
) -> Session:
    """The session of this id in this database; the same object while it is open."""
    if durability not in DURABILITIES:
        raise BadArgument("durability", durability, " or ".join(map(repr, DURABILITIES)))
    if on_error not in ON_ERROR:
        raise BadArgument("on_error", on_error, " or ".join(map(repr, ON_ERROR)))
    given, session_id = session_id, new_id() if session_id is None else session_id
    if is_off():
        return Session(session_id, None)
    address = url if isinstance(url, Store) else _address(url)
    options = (durability, on_error, strict, namespace)
    closing = _registry.get((address, session_id))
    if closing is not None and closing.closed:
        closing.finished.wait(timeout=60)  # another thread is just letting go of it
    with _registry_lock:
        session = _registry.get((address, session_id))
        if session is None or session.closed:
            store = _acquire(address, url, upgrade, patience)
            try:
                session = Session(session_id, store, durability=durability, on_error=on_error,
                                  strict=strict, namespace=namespace, wait=wait)  # fmt: skip
            except BaseException:
                _release(store)
                raise
            try:
                session.event("process", {**_process(), **(process or {})})
                session.flush()
            except BaseException:
                session.close()
                raise
            _registry[(address, session_id)] = session
            _start_heartbeat()
            note = "session %s in %s" if given else "new session %s in %s"
            log.info(note, session_id, session.url)
        elif session.options != options:
            raise BadArgument(
                "options", options, f"{session.options}, with which {session_id!r} is open already"
            )
    return session


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


def is_off() -> bool:
    """AUTOGEN_PERSIST=off turns everything off without an edit."""
    return os.environ.get("AUTOGEN_PERSIST", "").lower() in ("off", "0", "false", "no")


def new_id() -> str:
    """A UUIDv7: sorts by the time it was made."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF000 << 64) | 0x7000 << 64
    value = value & ~(0xC000 << 48) | 0x8000 << 48
    return str(uuid.UUID(int=value))


def _name(name: str) -> str:
    """A name that every database takes: no NUL, no lone surrogate."""
    if name.isprintable():
        return name
    return name.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def _process() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "argv": _harmless(sys.argv),
        "python": sys.version.split()[0],
        "hashseed": os.environ.get("PYTHONHASHSEED"),
    }


def _harmless(words: list[str]) -> list[str]:
    """A command line without what must not be written down."""
    after_flag = [False, *(bool(_SECRET_FLAG.match(word)) for word in words)]
    masked = (_SECRET.sub(lambda m: f"{m[1] or ''}***", word) for word in words)
    return [
        "***" if hidden and not word.startswith("-") else word
        for word, hidden in zip(masked, after_flag, strict=False)
    ]


def _discard(_draft: Draft) -> None:
    """AUTOGEN_PERSIST=off."""


# One store per database and one session per id, shared by all who ask for them.

_registry: dict[tuple[Any, str], Session] = {}
_registry_lock = threading.RLock()
_stores: dict[Any, tuple[Store, int]] = {}


def _address(url: Any) -> Any:
    return url if hasattr(url, "dialect") else resolve(url).render_as_string(hide_password=False)


def _acquire(address: Any, url: Any, upgrade: bool | None, patience: float) -> Store:
    if isinstance(url, Store):
        return url
    store, users = _stores.get(address) or (
        Store.open(url, upgrade=upgrade, patience=patience), 0,
    )  # fmt: skip
    _stores[address] = (store, users + 1)
    return store


def _release(store: Store) -> None:
    with _registry_lock:
        for address, (held, users) in list(_stores.items()):
            if held is store:
                if users == 1:
                    del _stores[address]
                    store.close()
                else:
                    _stores[address] = (store, users - 1)


_heart: threading.Thread | None = None


def _start_heartbeat() -> None:
    global _heart
    if _heart is None or not _heart.is_alive():
        _heart = threading.Thread(target=_beat, name="autogen-persist leases", daemon=True)
        _heart.start()


def _beat() -> None:
    """Renew all leases of this process, several times before they could expire."""
    while _registry:
        time.sleep(SECONDS / 4)
        for session in list(_registry.values()):
            try:
                session.keep_lease()
            except Exception as error:  # noqa: BLE001 - the other sessions need their lease, too
                log.warning("session %r: its lease could not be renewed: %s", session.id, error)


@atexit.register
def close_all() -> None:
    """Close every open session; what cannot be written is logged."""
    for session in list(_registry.values()):
        try:
            session.close()
        except Exception as error:  # noqa: BLE001 - the other sessions still have to be closed
            log.error("session %r: %s", session.id, error)


def _after_fork() -> None:
    global _registry_lock
    _registry_lock = threading.RLock()
    for session in _registry.values():
        session._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
