"""`learn`, `learnings` and `recall` at the command line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from autogen_persist import Memory, Store
from autogen_persist.cli.main import app
from tests.support import shell

CHOICE = "We chose FastAPI over Flask because of async support."


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def chats(url):
    """Two sessions in a namespace, unread."""
    with Store.open(url) as store:
        for name, text in (
            ("first", CHOICE),
            ("second", "We deploy with Helm. Agreed: no Fridays."),
        ):
            store.create(name, namespace="team")
            store.append(name, "coder", {"content": text})
    return url


def test_learn_reads_one_session_or_all(chats):
    """It says how much it learnt; the second time nothing is new."""
    one = run("learn", "--session", "first", "--url", chats)
    listed = run("learnings", "--namespace", "team", "--url", chats)
    every = run("learn", "--all", "--url", chats)
    again = run("learn", "--all", "--url", chats)

    assert "1 new learning from 1 session\n" in one.stderr
    assert f"decision: {CHOICE} (coder, first #1)" in listed.stdout
    assert "from 1 session\n" in every.stderr
    assert "0 new learnings from 0 sessions" in again.stderr


def test_learn_wants_to_know_what_to_read(chats):
    for words in ([], ["--session", "first", "--all"]):
        result = run("learn", *words, "--url", chats)
        assert (result.exit_code, "--all" in result.stderr) == (2, True)


def test_a_wrong_session_is_an_error(chats):
    result = run("learn", "--session", "frist", "--url", chats)

    assert result.exit_code == 2
    assert "first" in result.stderr


def test_reading_again_shows_the_difference(chats):
    """A learning that the rules do not find any more is shown with a minus."""
    run("learn", "--session", "first", "--url", chats)
    with Store.open(chats) as store, store.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE persist_learnings SET content = 'Old words', version = '0'"
        )

    result = run("learn", "--session", "first", "--again", "--url", chats)

    assert result.stdout.splitlines() == ["- decision: Old words", f"+ decision: {CHOICE}"]
    assert "0 the same, 1 gone, 1 added" in result.stderr


def test_the_history_shows_what_replaced_what(url):
    with Memory("team", url=url) as memory:
        old = memory.remember(CHOICE, kind="decision")
        new = memory.remember("We switched from FastAPI to Flask", kind="decision")

    now = run("learnings", "--namespace", "team", "--url", url)
    history = run("learnings", "--namespace", "team", "--history", "--url", url)
    document = json.loads(run("learnings", "--namespace", "team", "--json", "--url", url).stdout)

    assert "chose" not in now.stdout
    assert f"see {new}" in history.stdout.splitlines()[0]
    assert (document["id"], document["kind"], document["valid_to"]) == (new, "decision", None)
    assert old != new


def test_recall_prints_hits_with_scores_and_sources(chats):
    run("learn", "--all", "--url", chats)

    found = run("recall", "web framework", "--namespace", "team", "--limit", 1, "--url", chats)
    as_json = run("recall", "FastAPI", "--namespace", "team", "--json", "--url", chats)
    nothing = run("recall", "gardening", "--namespace", "team", "--url", chats)

    assert found.stdout.endswith(f"decision: {CHOICE} (coder, first #1)\n")
    assert json.loads(as_json.stdout)["evidence"] == [["first", 1]]
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "Nothing about this" in nothing.stderr


def test_a_script_that_is_run_is_learnt_from(sqlite_url):
    """`run --namespace` learns at the end of the script; `--extract-every 0` does not."""
    name = shell.script(
        f"""
coder = scripted("coder", {CHOICE!r})
clerk = scripted("clerk", "Noted.", max_consecutive_auto_reply=1)
clerk.initiate_chat(coder, message="What do we use?", max_turns=1, silent=True)
"""
    )
    for namespace, every in (("team", 10), ("other", 0)):
        done = shell.command(
            "run", "--session", namespace, "--namespace", namespace, "--extract-every", every,
            "--url", sqlite_url, name,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    with Memory("team", url=sqlite_url) as memory:
        assert [one.content for one in memory.learnings()] == [CHOICE]
    with Memory("other", url=sqlite_url) as memory:
        assert memory.learnings() == []
