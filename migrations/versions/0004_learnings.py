"""What was learnt, how far it was read, and values by name."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade():
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "persist_learnings",
        sa.Column("id", number, primary_key=True),
        sa.Column("namespace", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("said_by", sa.Text, nullable=False),
        sa.Column("confirmed_by", sa.Text, nullable=False),
        sa.Column("agent", sa.Text),
        sa.Column("session_id", sa.Text),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("created_micros", sa.BigInteger, nullable=False),
        sa.Column("valid_from_micros", sa.BigInteger, nullable=False),
        sa.Column("valid_to_micros", sa.BigInteger),
        sa.Column("superseded_by", sa.BigInteger),
        sa.Column("disputed", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("times_confirmed", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("times_recalled", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("extractor", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("persist_learnings_of", "persist_learnings", ["namespace", "id"])
    op.create_table(
        "persist_marks",
        sa.Column("session_id", sa.Text, primary_key=True),
        sa.Column("extractor", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("claimed_by", sa.Text),
        sa.Column("claimed_until_micros", sa.BigInteger),
    )
    op.create_table(
        "persist_kv",
        sa.Column("namespace", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("updated_micros", sa.BigInteger, nullable=False),
        sa.Column("expires_micros", sa.BigInteger),
    )


def downgrade():
    op.drop_table("persist_kv")
    op.drop_table("persist_marks")
    op.drop_index("persist_learnings_of", "persist_learnings")
    op.drop_table("persist_learnings")
