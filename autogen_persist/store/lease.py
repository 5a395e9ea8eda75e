"""One writer per session: a lease with a fencing token and a heartbeat."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, update

from autogen_persist.errors import LeaseLost, SessionBusy
from autogen_persist.store.tables import sessions

SECONDS = 30.0
"""How long a session stays with an owner that is not heard of."""


@dataclass(frozen=True)
class Lease:
    """The right to write a session, as long as the token is the session's own."""

    session_id: str
    token: int


def take(connection: Connection, session_id: str) -> Lease:
    """Own a session, or raise SessionBusy with the name of who does."""
    while True:
        s = sessions.c
        query = select(s.lease_token, s.owner, s.lease_until_micros).where(s.id == session_id)
        token, owner, until = connection.execute(query).one()
        if owner is not None and until > _now() and not _is_gone(json.loads(owner)):
            raise _busy(session_id, json.loads(owner), until)
        mine = {"owner": _me(), "lease_token": token + 1, "lease_until_micros": _until()}
        done = connection.execute(
            update(sessions).where(s.id == session_id, s.lease_token == token).values(**mine)
        )
        if done.rowcount == 1:
            return Lease(session_id, token + 1)


def renew(connection: Connection, lease: Lease) -> bool:
    """Say that the owner lives. False if the session is no longer its own."""
    return _set(connection, lease, {"lease_until_micros": _until()})


def release(connection: Connection, lease: Lease) -> None:
    """Leave a session to whoever comes next."""
    _set(connection, lease, {"owner": None, "lease_until_micros": None})


def holder(connection: Connection, session_id: str) -> dict[str, Any] | None:
    """Who owns a session and is alive."""
    s = sessions.c
    query = select(s.owner, s.lease_until_micros).where(s.id == session_id)
    owner, until = connection.execute(query).one()
    alive = owner is not None and until > _now() and not _is_gone(json.loads(owner))
    return json.loads(owner) if alive else None


def check(lease: Lease | None, session_id: str, token: int, owner: str | None, until: Any) -> None:
    """Raise unless this lease, or nobody at all, owns the session."""
    if lease is not None and lease.token != token:
        other = json.loads(owner) if owner else {"host": "another host", "pid": "?"}
        raise LeaseLost(session_id=session_id, host=other["host"], pid=other["pid"])
    if lease is None and owner is not None:
        other = json.loads(owner)
        mine = json.loads(_me())
        if until > _now() and other != mine and not _is_gone(other):
            raise _busy(session_id, other, until)


def _set(connection: Connection, lease: Lease, values: dict[str, object]) -> bool:
    s = sessions.c
    mine = (s.id == lease.session_id, s.lease_token == lease.token)
    return connection.execute(update(sessions).where(*mine).values(**values)).rowcount == 1


def _busy(session_id: str, owner: dict[str, object], until: int) -> SessionBusy:
    age = (_now() - until) / 1e6 + SECONDS
    return SessionBusy(
        session_id=session_id, host=str(owner["host"]), pid=owner["pid"], seconds=max(age, 0)
    )


def _now() -> int:
    return time.time_ns() // 1000


def _until() -> int:
    return _now() + int(SECONDS * 1e6)


def _me() -> str:
    pid = os.getpid()
    return json.dumps({"host": socket.gethostname(), "pid": pid, "born": _born(pid)})


def _is_gone(owner: dict[str, object]) -> bool:
    """Whether the owner is known to be dead: only on this host can one know."""
    if owner.get("host") != socket.gethostname():
        return False
    pid = int(str(owner["pid"]))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _born(pid) != owner.get("born")  # the number went to another process


def _born(pid: int) -> str | None:
    """When a process was started, where the system tells; a zombie counts as never born."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else rest[18]
