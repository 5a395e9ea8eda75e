"""Which sessions are open in this process, and how one is opened."""

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
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autogen_persist.memory.schedule import Pupil
from autogen_persist.options import Options, complete
from autogen_persist.options import is_off as is_off
from autogen_persist.session import Session
from autogen_persist.store import Store
from autogen_persist.store.engine import resolve
from autogen_persist.store.lease import SECONDS

if TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger("autogen_persist")

_SECRET_NAME = r"(?:key|token|secret|passw(?:or)?d|pwd|credential)[\w-]*"  # noqa: S105
_SECRET = re.compile(rf"(?i)({_SECRET_NAME}[=:])\S+|(?<=://)[^\s@]+@")
_SECRET_FLAG = re.compile(rf"(?i)^-.*{_SECRET_NAME}$")


def open_session(
    session_id: str | None = None,
    *,
    url: Any = None,
    process: Mapping[str, Any] | None = None,
    **given: Unpack[Options],
) -> Session:
    """The session of this id in this database; the same object while it is open."""
    options = complete(given)
    named, session_id = session_id, new_id() if session_id is None else session_id
    if is_off():
        return Session(session_id, None)
    address = url if isinstance(url, Store) else _address(url)
    closing = _registry.get((address, session_id))
    if closing is not None and closing.closed:
        closing.finished.wait(timeout=60)  # another thread is just letting go of it
    with _registry_lock:
        known = _registry.get((address, session_id))
        if known is not None and not known.closed:
            return known.same(None, given)
        session = _begin(session_id, url, address, options, process or {})
    note = "session %s in %s" if named else "new session %s in %s"
    log.info(note, session_id, session.url)
    return session


def _begin(
    session_id: str, url: Any, address: Any, options: Options, process: Mapping[str, Any]
) -> Session:
    store = _acquire(address, url, options)
    try:
        pupil = Pupil(store, session_id) if options["extract_every"] else None
        session = Session(
            session_id, store, options=options, let_go=lambda s: _let_go(s, store, pupil)
        )
    except BaseException:
        _release(store)
        raise
    if pupil is not None:
        session.wake, pupil.said = pupil.wake, lambda: session.said
    try:
        session.event("process", {**_process(), **process})
        session.flush()
    except BaseException:
        session.close()
        raise
    _registry[(address, session_id)] = session
    _start_heartbeat()
    return session


def new_id() -> str:
    """A UUIDv7: sorts by the time it was made."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF000 << 64) | 0x7000 << 64
    value = value & ~(0xC000 << 48) | 0x8000 << 48
    return str(uuid.UUID(int=value))


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


# One store per database and one session per id, shared by all who ask for them.

_registry: dict[tuple[Any, str], Session] = {}
_registry_lock = threading.RLock()
_stores: dict[Any, tuple[Store, int]] = {}


def _address(url: Any) -> Any:
    return url if hasattr(url, "dialect") else resolve(url).render_as_string(hide_password=False)


def _let_go(session: Session, store: Store, pupil: Pupil | None) -> None:
    if pupil is not None:
        pupil.finish()
    with _registry_lock:
        for key in [key for key, known in _registry.items() if known is session]:
            del _registry[key]
        _release(store)


def _acquire(address: Any, url: Any, options: Options) -> Store:
    if isinstance(url, Store):
        return url
    store, users = _stores.get(address) or (
        Store.open(url, upgrade=options["upgrade"], patience=options["patience"]), 0,
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
