"""One writer per session, on every backend."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from autogen_persist import LeaseLost, SessionBusy, Store
from autogen_persist.opening import open_session
from autogen_persist.store.tables import sessions
from tests.support import chains

OWNER = (
    "import sys\n"
    "from autogen_persist.opening import open_session\n"
    "s = open_session('s', url=sys.argv[1])\n"
    "s.message({'content': 'mine'}, speaker='a', listener='b', audience='peer', kind='text')\n"
    "print('owned', flush=True)\n"
    "sys.stdin.readline()\n"
)


def say(session, text: str) -> None:
    session.message({"content": text}, speaker="a", listener="b", audience="peer", kind="text")


@pytest.fixture
def owner(url):
    """Another process that writes session 's' until it is told to end."""
    child = subprocess.Popen(
        [sys.executable, "-c", OWNER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "owned\n"
    yield child
    child.kill()
    child.communicate()


def set_owner(store: Store, **changes: object) -> None:
    """Change what the database knows of the owner, as time or another host would."""
    with store.engine.begin() as connection:
        connection.execute(sessions.update().where(sessions.c.id == "s").values(**changes))


def test_a_second_process_is_told_who_writes(url, owner):
    """The error names host, pid and age of the one that was first."""
    with pytest.raises(SessionBusy, match=rf"process {owner.pid} on .* \d+ s ago"):
        open_session("s", url=url)


def test_a_session_is_free_when_its_process_ends(url, owner):
    """After a normal end nobody has to wait."""
    owner.communicate("end\n")

    with open_session("s", url=url) as session:
        say(session, "next")
        assert [row.text for row in session.messages()] == ["mine", "next"]


def test_a_session_is_free_at_once_when_its_process_was_killed(url, owner):
    """On the same host a dead process is known to be dead."""
    owner.send_signal(signal.SIGKILL)
    owner.wait()

    with open_session("s", url=url) as session:
        say(session, "next")
        assert [row.seq for row in session.messages()] == [1, 2]


def test_one_can_wait_for_the_owner(url, owner):
    """wait= takes over as soon as the other process ends."""
    owner.stdin.write("end\n")
    owner.stdin.flush()

    with open_session("s", url=url, wait=60) as session:
        say(session, "next")
        assert session.messages()[-1].text == "next"


def test_an_owner_on_another_host_is_believed_until_its_lease_expires(url):
    """Nobody can see whether a process on another host lives: its time has to run out."""
    open_session("s", url=url).close()
    with Store.open(url) as store:
        far = json.dumps({"host": "elsewhere", "pid": 1, "born": None})
        set_owner(store, owner=far, lease_until_micros=time.time_ns() // 1000 + 10**7)
        with pytest.raises(SessionBusy, match="process 1 on elsewhere"):
            store.own("s")
        set_owner(store, lease_until_micros=time.time_ns() // 1000 - 1)

        assert store.own("s").session_id == "s"


def test_an_owner_that_lost_its_lease_cannot_write_one_more_row(url):
    """A process that slept too long is fenced off, and the chain of the new owner holds."""
    sleeper = open_session("s", url=url)
    say(sleeper, "before")
    with Store.open(url) as store:
        set_owner(store, lease_until_micros=0)
        lease = store.own("s")
        with pytest.raises(LeaseLost, match="taken over by process"):
            say(sleeper, "too late")
        store.disown(lease)
        with pytest.raises(LeaseLost):
            say(sleeper, "still too late")

        assert [row.text for row in store.messages("s")] == ["before"]
        assert chains.first_bad_row(store, "s") is None


def test_a_heartbeat_keeps_the_session(url):
    """A lease that is renewed does not expire."""
    session = open_session("s", url=url)
    with Store.open(url) as store:
        set_owner(store, lease_until_micros=0)
        assert store.owner("s") is None
        session.keep_lease()

        assert store.owner("s")["pid"] > 0


def test_the_store_alone_respects_an_owner(url, owner):
    """A program without a lease does not write into a session that somebody owns."""
    with Store.open(url, patience=0) as store, pytest.raises(SessionBusy):
        store.append("s", "intruder", {"content": "x"})


def test_what_waited_when_the_lease_was_lost_is_in_a_file(url, tmp_path):
    """Rows that were written behind, and came too late, are saved and not mixed in."""
    sleeper = open_session("s", url=url, on_error="continue", durability="behind")
    sleeper.flush()
    with Store.open(url) as store:
        set_owner(store, lease_until_micros=0)
        store.own("s")
        say(sleeper, "too late")
        with pytest.raises(LeaseLost):
            sleeper.close()

        assert store.messages("s") == []
    saved = tmp_path / "autogen-persist-unwritten-s.jsonl"
    assert '"too late"' in saved.read_text()
