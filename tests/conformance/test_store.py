"""What every backend promises, verb by verb."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine

from autogen_persist import BadArgument, NoSuchSession, NotJournalable, Store
from autogen_persist.records import Draft
from tests.support import chains


def draft(text: str = "x", *, run: int = 0, type: str = "message") -> Draft:
    content = b'{"content":"' + text.encode() + b'"}'
    return Draft(run, "", type, "text", "coder", "manager", "group", False, 1, content)


def test_messages_are_numbered_from_one(store):
    """The first message of a session is number 1, the next 2."""
    numbers = [store.append("s", "coder", {"content": str(n)}).seq for n in range(3)]

    assert numbers == [1, 2, 3]


def test_append_returns_what_can_be_read(store):
    """What append returns is what messages lists."""
    said = store.append("s", "coder", {"content": "hi", "tool_calls": [{"id": "1"}]})

    assert store.messages("s") == [said]


def test_events_have_a_position_and_no_number(store):
    """pos counts every row, seq only messages."""
    store.create("s")
    store.journal("s").append([draft(), draft(type="event"), draft()])

    assert [(row.pos, row.seq) for row in store.rows("s")] == [(1, 1), (2, None), (3, 2)]


def test_messages_can_be_read_in_pages(store):
    """after= and limit= walk through a session without a hole."""
    store.create("s")
    store.journal("s").append(
        [draft(str(n), type=t) for n in range(10) for t in ("event", "message")]
    )

    first = store.messages("s", limit=4)
    rest = store.messages("s", after=first[-1].seq)

    assert [row.seq for row in first + rest] == list(range(1, 11))


def test_sessions_do_not_see_each_other(store):
    """Each session has its own numbers and its own messages."""
    store.append("a", "coder", {"content": "in a"})
    store.append("b", "coder", {"content": "in b"})

    assert [(row.seq, row.text) for row in store.messages("b")] == [(1, "in b")]


def test_sessions_are_listed_with_the_last_one_that_moved_first(store):
    """The list of sessions begins with the newest activity."""
    for name in ("a", "b", "a"):
        store.append(name, "coder", {"content": "x"})

    assert [(s.id, s.messages) for s in store.sessions()] == [("a", 2), ("b", 1)]


def test_many_writers_leave_no_gap(store):
    """Eight threads that append at once still count 1..80, each number once."""
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda n: store.append("s", "coder", {"content": str(n)}), range(80)))

    assert sorted(row.seq for row in said) == list(range(1, 81))
    assert [row.seq for row in store.messages("s")] == list(range(1, 81))


def test_two_stores_on_one_session_leave_no_gap(url):
    """Two owners of connections, as two processes would be, take turns without a loss."""
    with Store.open(url, upgrade=True) as one, Store.open(url) as two:
        start = threading.Barrier(2)

        def write(store: Store, name: str) -> None:
            start.wait()
            for n in range(25):
                store.append("s", name, {"content": str(n)})

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write, (one, two), ("one", "two")))

        assert [row.seq for row in one.messages("s")] == list(range(1, 51))


def test_rows_of_one_append_stand_or_fall_together(store):
    """A batch whose last row the database refuses leaves nothing behind."""
    store.create("s")
    bad = draft()._replace(kind=None)  # the column is NOT NULL

    with pytest.raises(Exception, match=r"(?i)null"):
        store.journal("s").append([draft(), bad], patience=0)

    assert store.rows("s") == []


def test_a_journal_works_on_after_a_failure(store):
    """The row after a refused one gets the number that was not used."""
    store.create("s")
    with pytest.raises(Exception, match=r"(?i)null"):
        store.journal("s").append([draft()._replace(kind=None)], patience=0)

    store.journal("s").append([draft()])

    assert [row.pos for row in store.rows("s")] == [1]


def test_a_large_batch_is_written_whole(store):
    """More rows than one transaction takes are split and all written, in order."""
    store.create("s")
    store.journal("s").append([draft(str(n)) for n in range(700)])

    assert [row.text for row in store.messages("s")] == [str(n) for n in range(700)]


def test_each_row_is_chained_to_the_one_before(store):
    """The digest of a row can be computed from the digest before it, its salt and its columns."""
    for text in ("one", "two"):
        store.append("s", "coder", {"content": text})

    assert chains.first_bad_row(store, "s") is None


def test_a_changed_word_breaks_the_chain(store):
    """Who edits a row in the database is found out."""
    for text in ("one", "two", "three"):
        store.append("s", "coder", {"content": text})
    with store.engine.begin() as connection:
        connection.exec_driver_sql(
            """UPDATE persist_journal SET body = '{"content":"TWO"}' WHERE pos = 2"""
        )

    assert chains.first_bad_row(store, "s") == 2


def test_an_unknown_session_names_the_nearest(store):
    """A wrong id is an error that offers the ones that exist."""
    store.append("auth-api", "coder", {"content": "x"})

    with pytest.raises(NoSuchSession, match="Did you mean auth-api"):
        store.messages("auth-apl")


@pytest.mark.parametrize("name", ["", "a" * 201, "a\0b", "two\nlines", 7])
def test_a_session_id_is_one_short_line(store, name):
    """An id that could not be typed again is refused."""
    with pytest.raises(BadArgument, match="session_id"):
        store.append(name, "coder", {"content": "x"})


def test_a_value_json_cannot_hold_is_refused_by_default(store):
    """Without AutoGen in between, the caller is told where the value is, and nothing is written."""
    with pytest.raises(NotJournalable, match=r"message\['content'\] is a builtins.object"):
        store.append("s", "coder", {"content": object()})

    assert store.sessions() == []


def test_five_megabytes_come_back_equal(store):
    """Size is no limit."""
    text = "0123456789abcdef" * (5 * 65536)
    store.append("s", "coder", {"content": text})

    assert store.messages("s")[0].body == {"content": text}


def test_the_callers_engine_stays_the_callers(url):
    """A store on an engine of somebody else neither disposes of it nor changes its connections."""
    Store.open(url, upgrade=True).close()
    address = url.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(address, pool_size=1, max_overflow=1)
    with engine.connect() as mine:
        pool = engine.pool
        with Store.open(engine) as store:
            store.append("s", "coder", {"content": "x"})
        with mine.begin():
            assert mine.exec_driver_sql("SELECT count(*) FROM persist_journal").scalar() == 1
    assert engine.pool is pool
    engine.dispose()


def test_a_forked_child_writes_on_connections_of_its_own(store):
    """After os.fork both processes write, and no row is lost or torn."""
    store.append("s", "parent", {"content": "before"})
    child = os.fork()
    if child == 0:
        try:
            for _ in range(10):
                store.append("s", "child", {"content": "x"})
        finally:
            os._exit(0)
    for _ in range(10):
        store.append("s", "parent", {"content": "x"})
    os.waitpid(child, 0)

    rows = store.messages("s")
    assert [row.seq for row in rows] == list(range(1, 22))
    assert [row.speaker for row in rows].count("child") == 10
