"""Checks a session's digest chain from the bare columns."""

from __future__ import annotations

from autogen_persist import Store
from autogen_persist.store.chain import genesis, link, seal

_COLUMNS = "pos, seq, run, chat, type, kind, speaker, listener, audience, internal, micros"


def first_bad_row(store: Store, session_id: str) -> int | None:
    """The position of the first row whose digest does not follow; None if all do."""
    head = store.head(session_id)
    mark = "?" if store.engine.dialect.name == "sqlite" else "%s"
    with store.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            f"SELECT {_COLUMNS}, body, salt, digest FROM persist_journal "
            f"WHERE session_id = {mark} ORDER BY pos",
            (session_id,),
        ).fetchall()
    digest = genesis(session_id).digest
    for number, (*meta, body, salt, found) in enumerate(rows, 1):
        meta[9] = bool(meta[9])
        digest = link(digest, seal(bytes(salt), body.encode()), tuple(meta))
        if meta[0] != number or bytes(found) != digest:
            return number
    return None if (head.pos, head.digest) == (len(rows), digest) else len(rows) + 1
