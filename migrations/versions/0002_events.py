"""Find the few events of a long session without reading its messages."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade():
    op.create_index(
        "persist_events",
        "persist_journal",
        ["session_id", "pos"],
        sqlite_where=sa.text("type = 'event'"),
        postgresql_where=sa.text("type = 'event'"),
    )


def downgrade():
    op.drop_index("persist_events", "persist_journal")
