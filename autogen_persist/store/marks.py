"""How far a session was read by what learns from it, and who reads on."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from autogen_persist.store import lease
from autogen_persist.store.store import Store
from autogen_persist.store.tables import marks, sessions

SECONDS = 300
"""How long a claim lasts whose owner is not known to be dead; a model call must fit in."""


class Claim(NamedTuple):
    """The right to read a session on, and from where."""

    session_id: str
    extractor: str
    seq: int
    owner: str


class Marks:
    """The marks of a database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(self, session_id: str, extractor: str) -> Claim | None:
        """Become the one who reads a session; None if another process or thread does."""
        m, owner = marks.c, f"{secrets.token_hex(4)} {lease._me()}"
        mine = (m.session_id == session_id, m.extractor == extractor)
        with self._store._connect() as connection:
            kind: Any = sqlite if connection.dialect.name == "sqlite" else postgresql
            row = {"session_id": session_id, "extractor": extractor}
            connection.execute(kind.insert(marks).values(**row).on_conflict_do_nothing())
            held = connection.execute(select(m.claimed_by).where(*mine)).scalar_one()
            free = or_(m.claimed_by.is_(None), m.claimed_until_micros < _now())
            if held is not None and _is_dead(held):
                free = or_(free, m.claimed_by == held)
            # Where somebody else claims it in this moment, we need not wait for that.
            row_of = select(m.session_id).where(*mine, free).with_for_update(skip_locked=True)
            until = _now() + SECONDS * 1_000_000
            done = connection.execute(
                update(marks)
                .where(*mine, free, m.session_id.in_(row_of))
                .values(claimed_by=owner, claimed_until_micros=until)
                .returning(m.seq)
            ).first()
            connection.commit()
        return Claim(session_id, extractor, int(done[0]), owner) if done else None

    def move(self, connection: Connection, claim: Claim, seq: int) -> bool:
        """Set the mark, in a transaction; False if somebody else has claimed the session."""
        values = {"seq": seq, "claimed_until_micros": _now() + SECONDS * 1_000_000}
        done = connection.execute(
            update(marks).where(*_same(claim), marks.c.seq == claim.seq).values(**values)
        )
        return done.rowcount == 1

    def release(self, claim: Claim) -> None:
        with self._store._connect() as connection:
            values = {"claimed_by": None, "claimed_until_micros": None}
            connection.execute(update(marks).where(*_same(claim)).values(**values))
            connection.commit()

    def behind(self, extractor: str) -> list[tuple[str, int]]:
        """The sessions with unread messages, and how many there are; the oldest first."""
        s, m = sessions.c, marks.c
        unread = s.seq - func.coalesce(m.seq, 0)
        both = sessions.outerjoin(marks, and_(m.session_id == s.id, m.extractor == extractor))
        query = select(s.id, unread).select_from(both).where(unread > 0)
        with self._store._connect() as connection:
            rows = connection.execute(query.order_by(s.created_micros, s.id)).all()
        return [(str(name), int(count)) for name, count in rows]


def _same(claim: Claim) -> tuple[Any, ...]:
    m = marks.c
    return (
        m.session_id == claim.session_id,
        m.extractor == claim.extractor,
        m.claimed_by == claim.owner,
    )


def _is_dead(owner: str) -> bool:
    return lease._is_gone(json.loads(owner.partition(" ")[2]))


def _now() -> int:
    return time.time_ns() // 1000
