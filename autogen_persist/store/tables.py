"""The tables. `migrations/` makes them; a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    false,
    text,
)

metadata = MetaData()

sessions = Table(
    "persist_sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("namespace", Text, nullable=False, server_default=text("'default'")),
    Column("created_micros", BigInteger, nullable=False),
    Column("updated_micros", BigInteger, nullable=False),
    # The head of the chain: what the next row builds on, and the proof that none was cut off.
    Column("pos", BigInteger, nullable=False, server_default=text("0")),
    Column("seq", BigInteger, nullable=False, server_default=text("0")),
    Column("run", Integer, nullable=False, server_default=text("0")),
    Column("digest", LargeBinary, nullable=False),
    # A fork reads through its parent up to parent_pos.
    Column("parent_id", Text),
    Column("parent_pos", BigInteger),
    # One writer at a time: who holds the session, until when, and the fencing token.
    Column("owner", Text),
    Column("lease_token", BigInteger, nullable=False, server_default=text("0")),
    Column("lease_until_micros", BigInteger),
)

journal = Table(
    "persist_journal",
    metadata,
    # No global sequence: a cluster can shard by session.
    Column("session_id", Text, primary_key=True),
    Column("pos", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger),
    Column("run", Integer, nullable=False),
    Column("chat", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("speaker", Text, nullable=False),
    Column("listener", Text, nullable=False),
    Column("audience", Text, nullable=False),
    Column("internal", Boolean, nullable=False, server_default=false()),
    Column("micros", BigInteger, nullable=False),
    # JSON text: PostgreSQL's JSONB would refuse NUL and lone surrogates. None once redacted.
    Column("body", Text),
    Column("salt", LargeBinary),
    # H(salt, body), kept in place of both when they are redacted.
    Column("seal", LargeBinary),
    Column("digest", LargeBinary, nullable=False),
)

_is_event = journal.c.type == text("'event'")
Index(
    "persist_events", journal.c.session_id, journal.c.pos,
    sqlite_where=_is_event, postgresql_where=_is_event,
)  # fmt: skip
"""The few events of a long session. A message is not in it, so that it costs an append nothing."""
