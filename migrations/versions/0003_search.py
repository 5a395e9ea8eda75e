"""A search index of the messages."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade():
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_index("persist_sessions_of", "persist_sessions", ["namespace"])
    op.create_table(
        "persist_spaces",
        sa.Column("number", number, primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("namespace", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint("source", "namespace", "version", name="persist_space"),
    )
    op.create_table(
        "persist_books",
        sa.Column("number", number, primary_key=True),
        sa.Column("space", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("pos", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("next", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("words", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.UniqueConstraint("space", "name", name="persist_book"),
    )
    op.create_table(
        "persist_entries",
        sa.Column("address", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("pos", sa.BigInteger, nullable=False),
        sa.Column("seq", sa.BigInteger),
        sa.Column("speaker", sa.Text, nullable=False),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("words", sa.Integer, nullable=False),
        sa.Column("sitting", sa.Integer, nullable=False),
        sa.Column("tells_time", sa.Boolean, nullable=False),
    )
    op.create_table(
        "persist_postings",
        sa.Column("space", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("word", sa.Text, primary_key=True),
        sa.Column("block", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade():
    for table in ("postings", "entries", "books", "spaces"):
        op.drop_table(f"persist_{table}")
    op.drop_index("persist_sessions_of", "persist_sessions")
