"""The tables. `migrations/` makes them; a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
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

# The search index. All of it can be made anew from the journal.

Index("persist_sessions_of", sessions.c.namespace)

_number = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers only INTEGER by itself

spaces = Table(
    "persist_spaces",
    metadata,
    Column("number", _number, primary_key=True),
    Column("source", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    # Of the words: with others, the old index cannot be asked.
    Column("version", Integer, nullable=False),
    UniqueConstraint("source", "namespace", "version", name="persist_space"),
)
"""What is searched together: the messages, or the learnings, of a namespace."""

books = Table(
    "persist_books",
    metadata,
    Column("number", _number, primary_key=True),
    Column("space", BigInteger, nullable=False),
    # The session that is indexed here; of other sources, what their writers choose.
    Column("name", Text, nullable=False),
    # The mark: up to where the journal has been read.
    Column("pos", BigInteger, nullable=False, server_default=text("0")),
    # The number of the next entry, and how many words there are in all of them.
    Column("next", BigInteger, nullable=False, server_default=text("0")),
    Column("words", BigInteger, nullable=False, server_default=text("0")),
    UniqueConstraint("space", "name", name="persist_book"),
)
"""The index of one session."""

entries = Table(
    "persist_entries",
    metadata,
    # The number of the book and the place in it, see store/postings.py.
    Column("address", BigInteger, primary_key=True, autoincrement=False),
    Column("pos", BigInteger, nullable=False),
    Column("seq", BigInteger),
    Column("speaker", Text, nullable=False),
    Column("micros", BigInteger, nullable=False),
    Column("words", Integer, nullable=False),
    # Messages with no long pause between them have the same number.
    Column("sitting", Integer, nullable=False),
    Column("tells_time", Boolean, nullable=False),
)
"""One indexed message."""

postings = Table(
    "persist_postings",
    metadata,
    Column("space", BigInteger, primary_key=True, autoincrement=False),
    Column("word", Text, primary_key=True),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    # Which entries of the block have the word, see store/postings.py.
    Column("data", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""Where each word is. The namespace comes first: others cost a query nothing."""

# What was learnt.

learnings = Table(
    "persist_learnings",
    metadata,
    Column("id", _number, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("said_by", Text, nullable=False),
    # Lists and objects are JSON text, as bodies are.
    Column("confirmed_by", Text, nullable=False),
    Column("agent", Text),
    Column("session_id", Text),
    Column("tags", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("created_micros", BigInteger, nullable=False),
    Column("valid_from_micros", BigInteger, nullable=False),
    Column("valid_to_micros", BigInteger),
    Column("superseded_by", BigInteger),
    Column("disputed", Boolean, nullable=False, server_default=false()),
    Column("times_confirmed", Integer, nullable=False, server_default=text("0")),
    Column("times_recalled", Integer, nullable=False, server_default=text("0")),
    Column("extractor", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    # A number that was forgotten is not given to another one.
    sqlite_autoincrement=True,
)
Index("persist_learnings_of", learnings.c.namespace, learnings.c.id)

marks = Table(
    "persist_marks",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("extractor", Text, primary_key=True),
    # Up to this message the extractor has read the session.
    Column("seq", BigInteger, nullable=False, server_default=text("0")),
    # Who reads on at the moment, and until when nobody else does.
    Column("claimed_by", Text),
    Column("claimed_until_micros", BigInteger),
)
"""How far each session was read by what learns from it."""

kv = Table(
    "persist_kv",
    metadata,
    Column("namespace", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("updated_micros", BigInteger, nullable=False),
    Column("expires_micros", BigInteger),
)
"""Values by name, beside what was learnt."""
