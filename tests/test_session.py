"""The handle that persist returns."""

from __future__ import annotations

import copy
import logging
import os
import subprocess
import sys
import uuid

import pytest

from autogen_persist import BadArgument, BadUrl, SessionClosed, SessionConflict, Store, persist
from autogen_persist.opening import new_id, open_session
from tests.support.teams import group, scripted, texts


def say(session, text: str) -> None:
    session.message({"content": text}, speaker="a", listener="b", audience="peer", kind="text")


def test_a_new_id_is_a_uuid_that_sorts_by_time():
    """Ids made later come later in a sorted list."""
    made = [new_id() for _ in range(3)]

    assert {uuid.UUID(name).version for name in made} == {7}
    assert [name[:13] for name in made] == sorted(name[:13] for name in made)


def test_a_made_up_id_is_in_the_log(sqlite_url, caplog):
    """Whoever gave no id finds the one that was made up."""
    caplog.set_level(logging.INFO, "autogen_persist")
    session = open_session(url=sqlite_url)

    assert f"new session {session.id}" in caplog.text


def test_the_same_id_and_database_is_the_same_session(sqlite_url):
    """Two who ask for one session share it."""
    assert open_session("s", url=sqlite_url) is open_session("s", url=sqlite_url)


def test_a_session_cannot_be_opened_with_other_options(sqlite_url):
    """A promise that is given once is not quietly weakened."""
    open_session("s", url=sqlite_url)

    with pytest.raises(BadArgument, match="is open already"):
        open_session("s", url=sqlite_url, durability="behind")


@pytest.mark.parametrize(
    ("option", "value"), [("durability", "fast"), ("on_error", "ignore"), ("session_id", "a\nb")]
)
def test_a_wrong_option_is_named(sqlite_url, option, value):
    """The error says which argument, what it was, and what was expected."""
    with pytest.raises(BadArgument, match=option):
        open_session(**{"url": sqlite_url, option: value})


@pytest.mark.parametrize(
    "url", ["mysql://me:hunter2@host/db", "sqlite://", "://", "nonsense://me:hunter2@x/y"]
)
def test_a_wrong_url_is_an_error_without_its_password(url):
    """What cannot hold a journal is refused, and nothing secret is shown."""
    with pytest.raises(BadUrl) as caught:
        open_session("s", url=url)

    assert "hunter2" not in str(caught.value)


def test_the_default_database_is_a_file_right_here(tmp_path):
    """No URL, no variable: autogen_persist.db in the working directory."""
    open_session("s").close()

    assert (tmp_path / "autogen_persist.db").exists()


def test_the_environment_names_the_database(tmp_path, monkeypatch):
    """AUTOGEN_PERSIST_URL is used where no url is given."""
    monkeypatch.setenv("AUTOGEN_PERSIST_URL", str(tmp_path / "mine.db"))
    open_session("s").close()

    assert (tmp_path / "mine.db").exists()


def test_a_closed_session_refuses_to_write_and_to_read(sqlite_url):
    """Using it after close() is an error that says how to open it again."""
    session = open_session("s", url=sqlite_url)
    session.close()

    with pytest.raises(SessionClosed, match="persist"):
        session.messages()
    with pytest.raises(SessionClosed):
        say(session, "late")


def test_closing_twice_is_fine(sqlite_url):
    """close() and the context manager may both be used."""
    with open_session("s", url=sqlite_url) as session:
        session.close()

    assert session.closed


def test_a_session_opened_again_goes_on_counting(url):
    """The next process, or the next cell, continues the numbers."""
    with open_session("s", url=url) as session:
        say(session, "one")
    with open_session("s", url=url) as session:
        say(session, "two")
        assert [row.seq for row in session.messages()] == [1, 2]


def test_the_process_is_journaled_without_its_secrets(sqlite_url, monkeypatch):
    """Host, pid and arguments are there; a key on the command line is not."""
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "x.py",
            "--api-key=abc",
            "postgresql://me:p/w@host/db",
            "--password",
            "hunter2",
            "--verbose",
        ],
    )
    (event,) = open_session("s", url=sqlite_url).events(kind="process")

    assert event.body["pid"] == os.getpid()
    assert event.body["argv"] == [
        "x.py", "--api-key=***", "postgresql://***host/db", "--password", "***", "--verbose",
    ]  # fmt: skip


def test_a_copied_session_is_the_session(sqlite_url):
    """A deep copy of a chat goes on in the same journal."""
    session = open_session("s", url=sqlite_url)

    assert copy.deepcopy([session]) == [session]


def test_behind_is_all_there_after_flush(url):
    """flush() returns when everything said so far is in the database."""
    session = open_session("s", url=url, durability="behind")
    for n in range(500):
        say(session, str(n))
    session.flush()

    with Store.open(url) as other:
        assert [row.text for row in other.messages("s")] == [str(n) for n in range(500)]


def test_behind_writes_by_itself(url):
    """A message that nothing follows does not wait for ever."""
    session = open_session("s", url=url, durability="behind")
    say(session, "alone")
    with Store.open(url) as other:
        assert any(other.messages("s") for _ in range(20_000))


def test_behind_is_written_at_exit(tmp_path):
    """A program that just ends loses nothing."""
    code = (
        "from autogen_persist.opening import open_session\n"
        "s = open_session('s', url='a.db', durability='behind')\n"
        "for n in range(10):\n"
        "    s.message({}, speaker='a', listener='b', audience='peer', kind='text')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)

    with Store.open(tmp_path / "a.db") as store:
        assert len(store.messages("s")) == 10


def test_a_forked_child_does_not_write_what_waits_in_the_parent(sqlite_url):
    """Each row that waited is written once, by the process that it was said in."""
    session = open_session("s", url=sqlite_url, durability="behind")
    for n in range(20):
        say(session, f"parent {n}")
    child = os.fork()
    if child == 0:
        try:
            say(session, "child")
            session.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    session.flush()

    said = [row.text for row in session.messages()]
    assert sorted(said) == sorted(["child", *(f"parent {n}" for n in range(20))])


def test_a_forked_child_that_ends_leaves_the_lease_to_its_parent(sqlite_url):
    """Only the process that opened a session gives it back."""
    session = open_session("s", url=sqlite_url)
    child = os.fork()
    if child == 0:
        session.close()
        os._exit(0)
    os.waitpid(child, 0)

    with Store.open(sqlite_url) as store:
        assert store.owner("s")["pid"] == os.getpid()


def test_a_target_cannot_be_persisted_again_elsewhere(sqlite_url, tmp_path):
    """The same id with another database or another promise is not quietly ignored."""
    user = scripted("user")
    persist(user, session_id="s", url=sqlite_url)

    with pytest.raises(SessionConflict, match=r"other\.db"):
        persist(user, session_id="s", url=tmp_path / "other.db")
    with pytest.raises(BadArgument, match="open already"):
        persist(user, session_id="s", url=sqlite_url, strict=True)


def test_a_group_belongs_to_the_session_of_its_manager(sqlite_url):
    """A chat whose manager was persisted cannot be given to another session."""
    manager = group(scripted("a"), scripted("b"))
    persist(manager, session_id="one", url=sqlite_url)

    with pytest.raises(SessionConflict):
        persist(manager.groupchat, session_id="two", url=sqlite_url)


def test_a_path_is_not_read_as_a_url(tmp_path):
    """Question marks and percent signs belong to the name of a file."""
    open_session("s", url=tmp_path / "50%?.db").close()

    assert (tmp_path / "50%?.db").exists()


def test_off_writes_nothing(monkeypatch, tmp_path):
    """AUTOGEN_PERSIST=off: no file, no error, and the chat works."""
    monkeypatch.setenv("AUTOGEN_PERSIST", "off")
    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s")
    user.initiate_chat(bot, message="hi", max_turns=1, silent=True)

    assert texts(session) == []
    assert list(tmp_path.iterdir()) == []
