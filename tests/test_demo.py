"""The demo: a real chat, a real kill, and a journal that has what was heard."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autogen_persist import Store
from autogen_persist.cli import demo, demo_team

TEAM = [sys.executable, "-m", "autogen_persist.cli.demo_team"]


def run_demo(*arguments, **environment):
    line = [sys.executable, "-m", "autogen_persist.cli", "demo", *arguments]
    return subprocess.run(
        line, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def run_and_kill(url, number):
    """Let the team chat until this many messages were heard; return their speakers."""
    with subprocess.Popen(
        [*TEAM, str(number)],
        env=os.environ | {"AUTOGEN_PERSIST_URL": url},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as team:
        heard = [team.stdout.readline().strip() for _ in range(number)]
        team.kill()
    assert team.returncode == -9
    return heard


def journal(url=demo.FILE):
    with Store.open(url, upgrade=False) as store:
        return store.messages("demo")


def test_the_whole_story_is_told():
    """What was heard, what is in the journal, where it is, and what to try next."""
    result = run_demo()
    assert (result.returncode, result.stderr) == (0, "")
    assert "SIGKILL" in result.stdout
    assert "run 1 has no end" in result.stdout
    assert "8 messages were heard before the kill, 8 are in the journal." in result.stdout
    assert str(Path(demo.FILE).absolute()) in result.stdout
    for line in ("show demo --url", "show demo --json --url", "sessions --url"):
        assert f"autogen-persist {line} {demo.FILE}" in result.stdout
    assert "Next speaker" not in result.stdout
    assert '◂ 8 of 10 cases as expected; it accepts "-api" and accepts "api-"' in result.stdout
    assert len(journal()) == 8
    for message in journal():
        assert f"{message.seq:>4} {message.speaker}" in result.stdout


def test_a_second_demo_starts_clean():
    """Only its own file is removed."""
    Path("notes.txt").write_text("mine")
    run_and_kill(demo.FILE, 3)
    assert "8 are in the journal" in run_demo().stdout
    assert len(journal()) == 8
    assert Path("notes.txt").read_text() == "mine"


def test_a_file_that_others_wrote_to_is_not_removed():
    """Its name alone does not make it the demo's."""
    with Store.open(demo.FILE) as store:
        store.append("demo", "somebody", {"content": "precious"})
    result = run_demo()
    assert result.returncode == 2
    assert "--keep" in result.stderr
    assert [message.text for message in journal()] == ["precious"]


def test_a_file_that_was_named_is_never_removed():
    """Not even an earlier demo's."""
    run_and_kill("mine.db", 3)
    result = run_demo("--url", "mine.db")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert len(journal("mine.db")) == 3


def test_keep_adds_to_what_is_there():
    """A second run in the same session, and only that one is shown."""
    run_and_kill("mine.db", 3)
    result = run_demo("--url", "mine.db", "--keep")
    assert "8 messages were heard before the kill, 8 are in the journal." in result.stdout
    assert "   4 planner" in result.stdout
    assert "   1 planner" not in result.stdout
    assert len(journal("mine.db")) == 11


def test_a_reader_that_leaves_the_demo_is_no_error():
    """`demo | head -1` ends quietly."""
    line = [sys.executable, "-m", "autogen_persist.cli", "demo"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        run.stdout.readline()
        run.stdout.close()
        assert run.stderr.read() == ""


def test_the_demo_ignores_what_is_switched_off():
    """AUTOGEN_PERSIST=off is for other chats, and so is AUTOGEN_PERSIST_URL."""
    result = run_demo(AUTOGEN_PERSIST="off", AUTOGEN_PERSIST_URL="sqlite:///other.db")
    assert result.returncode == 0
    assert not Path("other.db").exists()


def test_the_demo_runs_on_postgresql(new_postgres_url):
    """Its address goes through the environment, not through a list of processes."""
    url = new_postgres_url()
    assert "autogen-persist db upgrade" in run_demo("--url", url).stderr

    Store.open(url, upgrade=True).close()
    assert "8 are in the journal" in run_demo("--url", url).stdout
    assert "--keep" in run_demo("--url", url).stderr


def test_without_autogen_the_demo_says_what_to_install(tmp_path):
    """One line, exit code 2."""
    missing = "raise ModuleNotFoundError('No module named autogen', name='autogen')"
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "autogen.py").write_text(missing)
    result = run_demo(PYTHONPATH=str(tmp_path / "hidden"))
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "classic AutoGen API" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("number", [1, 3, 6, 13])
def test_a_kill_leaves_exactly_what_was_heard(number):
    """Wherever it happens: after a text, a tool call, a tool's result."""
    heard = run_and_kill("killed.db", number)
    assert [message.speaker for message in journal("killed.db")] == heard


def test_undisturbed_the_team_comes_to_an_end():
    """The script is whole: approved, and each tool really ran."""
    environment = os.environ | {"AUTOGEN_PERSIST_URL": "whole.db"}
    subprocess.run(TEAM, env=environment, check=True, capture_output=True)
    messages = journal("whole.db")
    assert [message.speaker for message in messages] == [t.speaker for t in demo_team.SCRIPT]
    results = [message.text for message in messages if message.kind == "tool_result"]
    assert [result.split(" cases")[0] for result in results] == ["8 of 10", "9 of 10", "11 of 11"]
    with Store.open("whole.db") as store:
        (end,) = store.events("demo", kind="run_ended")
    assert end.body["reason"] == "terminated"
