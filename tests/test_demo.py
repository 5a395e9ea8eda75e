"""The demo: a real chat, a real kill, a real resume, and a model that counts its calls."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from autogen_persist import Store
from autogen_persist.cli import demo, demo_team
from tests.support.shell import command

TEAM = ("-m", demo.MODULE)
PROOF = (
    "10 model calls were needed, 10 were answered, none twice; 1 more was in flight at the kill."
)


def journal(url=demo.FILE, session="demo"):
    with Store.open(url, upgrade=False) as store:
        return store.messages(session)


def run_team(url, **environment):
    return command("run", "--session", "demo", "--url", url, *TEAM, **environment)


@pytest.fixture
def precious():
    """A file of the demo's name, and somebody else's words in it."""
    with Store.open(demo.FILE) as store:
        store.append("demo", "somebody", {"content": "precious"})


def test_the_whole_story_is_told():
    """The work, the kill, the resume, the journal, the proof, where it is, what to try next."""
    result = command("demo")
    assert (result.returncode, result.stderr) == (0, "")
    told = re.split("SIGKILL|What is in the journal", result.stdout)
    assert told[0].endswith("planner: Good find. Coder: put the limit into a lookahead a ")
    assert "from the journal: planner coder tester tester coder tester reviewer \n" in told[1]
    assert "live: planner coder tester reviewer planner coder reviewer \n" in told[1]
    for message in journal():
        assert f"{message.seq:>4} {message.speaker}" in told[2]
    assert PROOF in told[2]
    assert "3 tool calls were needed, 3 were made. 14 messages are in the journal." in told[2]
    assert str(Path(demo.FILE).absolute()) in told[2]


def test_what_it_offers_to_try_works():
    """Each line can be copied as it is."""
    output = command("demo").stdout
    lines = [shlex.split(line) for line in re.findall(r"autogen-persist ((?!run).*)", output)]
    assert [words[0] for words in lines] == ["show", "replay", "sessions"]
    for words in lines:
        result = command(*words)
        assert result.returncode == 0, (words, result.stderr)
    assert "14 messages, all the same" in command(*lines[1]).stderr


def test_a_second_demo_starts_clean():
    """Only its own file is removed."""
    Path("notes.txt").write_text("mine")
    for _ in range(2):
        assert PROOF in command("demo").stdout
    assert len(journal()) == len(demo_team.SCRIPT)
    assert Path("notes.txt").read_text() == "mine"


@pytest.mark.usefixtures("precious")
def test_a_file_that_others_wrote_to_is_not_removed():
    """Its name alone does not make it the demo's."""
    result = command("demo")
    assert result.returncode == 2
    assert "--keep" in result.stderr
    assert [message.text for message in journal()] == ["precious"]


def test_a_file_that_was_named_is_never_removed():
    """Not even an earlier demo's."""
    run_team("mine.db")
    result = command("demo", "--url", "mine.db")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert len(journal("mine.db")) == len(demo_team.SCRIPT)


@pytest.mark.usefixtures("precious")
def test_keep_adds_a_session_to_what_is_there():
    """The session that was there stays as it is."""
    assert PROOF in command("demo", "--keep").stdout
    assert len(journal()) == 1
    assert len(journal(session="demo-2")) == len(demo_team.SCRIPT)


def test_a_reader_that_leaves_the_demo_is_no_error():
    """`demo | head -1` ends quietly."""
    line = [sys.executable, "-m", "autogen_persist.cli", "demo"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        run.stdout.readline()
        run.stdout.close()
        assert run.stderr.read() == ""


def test_the_demo_ignores_what_is_switched_off():
    """AUTOGEN_PERSIST=off is for other chats, and so is AUTOGEN_PERSIST_URL."""
    result = command("demo", AUTOGEN_PERSIST="off", AUTOGEN_PERSIST_URL="sqlite:///other.db")
    assert result.returncode == 0
    assert not Path("other.db").exists()


def test_the_demo_runs_on_postgresql(new_postgres_url):
    """Its address goes through the environment, not through a list of processes."""
    url = new_postgres_url()
    assert "autogen-persist db upgrade" in command("demo", "--url", url).stderr

    Store.open(url, upgrade=True).close()
    assert PROOF in command("demo", "--url", url).stdout
    assert "--keep" in command("demo", "--url", url).stderr


def test_without_autogen_the_demo_says_what_to_install(tmp_path):
    """One line, exit code 2."""
    missing = "raise ModuleNotFoundError('No module named autogen', name='autogen')"
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "autogen.py").write_text(missing)
    path = os.pathsep.join([str(tmp_path / "hidden"), str(Path(demo.__file__).parents[2])])
    result = command("demo", PYTHONPATH=path)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "classic AutoGen API" in result.stderr
    assert "Traceback" not in result.stderr


def test_undisturbed_the_team_comes_to_an_end():
    """The script is whole: approved, each tool really ran, and nothing tells of a demo."""
    result = run_team("whole.db")
    assert "coder (to chat_manager):" in result.stdout
    messages = journal("whole.db")
    assert [message.speaker for message in messages] == [t.speaker for t in demo_team.SCRIPT]
    results = [message.text for message in messages if message.kind == "tool_result"]
    assert [result.split(" cases")[0] for result in results] == ["8 of 10", "9 of 10", "11 of 11"]
    with Store.open("whole.db") as store:
        (end,) = store.events("demo", kind="run_ended")
    assert end.body["reason"] == "terminated"
