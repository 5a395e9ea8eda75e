"""Sessions and their journal."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "persist_sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("namespace", sa.Text, nullable=False, server_default=sa.text("'default'")),
        sa.Column("created_micros", sa.BigInteger, nullable=False),
        sa.Column("updated_micros", sa.BigInteger, nullable=False),
        sa.Column("pos", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("seq", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("run", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("parent_id", sa.Text),
        sa.Column("parent_pos", sa.BigInteger),
        sa.Column("owner", sa.Text),
        sa.Column("lease_token", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("lease_until_micros", sa.BigInteger),
    )
    op.create_table(
        "persist_journal",
        sa.Column("session_id", sa.Text, primary_key=True),
        sa.Column("pos", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger),
        sa.Column("run", sa.Integer, nullable=False),
        sa.Column("chat", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("speaker", sa.Text, nullable=False),
        sa.Column("listener", sa.Text, nullable=False),
        sa.Column("audience", sa.Text, nullable=False),
        sa.Column("internal", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("micros", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("seal", sa.LargeBinary),
        sa.Column("digest", sa.LargeBinary, nullable=False),
    )


def downgrade():
    op.drop_table("persist_journal")
    op.drop_table("persist_sessions")
