"""A session as a regression test: its journal is the whole world of its script."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autogen_persist import Store
from autogen_persist.opening import open_session
from tests.support.model_server import ModelServer, tool_call
from tests.support.shell import command, script

CHAT = """
first = scripted("alpha", "I see.")
second = scripted("bravo", "One line.\\nAnother line.")
first.initiate_chat(second, message="Begin", max_turns=2)
"""
MODEL = """
import os
from tests.support.model_server import llm_config
model = {"llm_config": llm_config(os.environ["MODEL_URL"])}
"""
TOOLS = (
    MODEL
    + """
import autogen
user, coder = scripted("user", ""), scripted("coder", "", **model)
critic = scripted("critic", "", **model)

def pay(amount: int) -> str:
    open("paid", "a").write(f"{amount}\\n")
    said = user.initiate_chat(critic, message="May I?", max_turns=1)
    return f"paid {amount}: {said.summary}"

autogen.register_function(pay, caller=coder, executor=user, description="Pay a bill.")
user.initiate_chat(coder, message="Pay, please", max_turns=2)
print("Well?", input())
"""
)


def pay_once(request):
    """A model that calls its tool, if it has one, and then talks."""
    done = any(message["role"] == "tool" for message in request["messages"])
    asked = bool(request.get("tools")) and not done
    return {"tool_calls": [tool_call("pay", amount=7)]} if asked else None


def run(url, *words, **options):
    return command("run", "--session", "s", "--url", url, *words, **options)


def replay(url, *words, **options):
    return command("replay", "s", "--url", url, *words, **options)


def head(url):
    with Store.open(url) as store:
        return store.head("s")


def test_a_replay_needs_nothing_and_changes_nothing(url):
    """No model, no tool, no person, not one row; the script prints what it printed."""
    name = script(TOOLS)
    with ModelServer(pay_once) as server:
        first = run(url, name, input="yes\n", MODEL_URL=server.url)
        assert first.returncode == 0, first.stderr
    before = head(url)
    again = replay(url, name, MODEL_URL=server.url)
    assert again.returncode == 0, again.stderr
    assert "6 messages, all the same" in again.stderr
    assert again.stdout.splitlines()[-1] == first.stdout.splitlines()[-1] == "Well? yes"
    assert Path("paid").read_text() == "7\n"
    assert head(url) == before


def test_run_takes_it_as_an_option(sqlite_url):
    """`run --session s --replay script` is `replay s script`, and a module is found as usual."""
    script(CHAT, "team.py")
    assert "--again" in (done := run(sqlite_url, "-m", "team")).stderr
    assert "--replay" in done.stderr
    assert run(sqlite_url, "--replay", "-m", "team").returncode == 0
    assert command("replay", "s", "-m", "--url", sqlite_url, "team").returncode == 0


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (("Another line", "A new line"), ["- Another line.", "+ A new line."]),
        (('"Begin"', '"Start"'), ["- alpha to bravo: 'Begin'", "+ alpha to bravo: 'Start'"]),
        (("max_turns=2", "max_turns=1"), ["- alpha to bravo: 'I see.'", "+ the end of the script"]),
        (("max_turns=2", "max_turns=3"), ["- nothing more", "+ alpha to bravo: 'I see.'"]),
        (("first.initiate", "0 and first.initiate"), ["- alpha to bravo: 'Begin'"]),
    ],
    ids=["words", "opening", "less", "more", "nothing"],
)
def test_a_changed_script_is_shown_beside_its_journal(change, lines, sqlite_url):
    """Exit code 1; what the journal has after a minus, what the script said after a plus."""
    run(sqlite_url, script(CHAT))
    result = replay(sqlite_url, script(CHAT.replace(*change)))
    assert result.returncode == 1
    for line in lines:
        assert line in result.stderr.splitlines()
    assert "Traceback" not in result.stderr


def test_a_new_question_is_found_before_it_is_asked(sqlite_url):
    """A model call that is not journaled is a difference, and is not made."""
    text = MODEL + CHAT
    with ModelServer() as server:
        run(sqlite_url, script(text), MODEL_URL=server.url)
        changed = text.replace('"I see."', '"I see.", **model')
        result = replay(sqlite_url, script(changed), MODEL_URL=server.url)
        assert (result.returncode, server.count) == (1, 0)
    assert "+ a model call of alpha" in result.stderr


def test_a_difference_that_the_script_swallows_is_found(sqlite_url):
    """`except Exception` around a chat does not make it the same."""
    run(sqlite_url, script(CHAT))
    swallowing = CHAT.replace("first.init", "try:\n    first.init") + "except Exception: pass\n"
    assert replay(sqlite_url, script(swallowing)).returncode == 0
    result = replay(sqlite_url, script(swallowing.replace("One line", "A line")))
    assert result.returncode == 1


def test_an_interrupted_session_is_replayed_to_where_it_stopped(sqlite_url):
    """And that is not a success: there is nothing more to compare with."""
    end = "import os\nif 'die' in sys.argv: os.kill(os.getpid(), 9)\n"
    name = script(CHAT + end + CHAT)
    assert run(sqlite_url, name, "die").returncode == -9
    result = replay(sqlite_url, name)
    assert result.returncode == 1
    assert "4 messages are the same" in result.stderr
    assert "was interrupted here" in result.stderr


def test_of_several_completed_runs_the_last_is_replayed(sqlite_url):
    """Also when one was begun after it."""
    end = "import os\nif 'die' in sys.argv: os.kill(os.getpid(), 9)\n"
    old, new = CHAT + end, CHAT.replace("I see", "Oh") + end
    run(sqlite_url, script(old))
    run(sqlite_url, "--again", script(new))
    run(sqlite_url, "--again", script(old), "die")
    assert replay(sqlite_url, script(old)).returncode == 1
    assert replay(sqlite_url, script(new)).returncode == 0


def test_a_failure_that_was_caught_is_part_of_it(sqlite_url):
    """Also where it was the last that happened."""
    text = (
        MODEL
        + """
user, coder = scripted("user", ""), scripted("coder", "", **model)
try:
    user.initiate_chat(coder, message="x", max_turns=1)
except Exception as error:
    print(type(error).__name__)
"""
    )
    with ModelServer(lambda request: 1 / 0) as server:
        first = run(sqlite_url, script(text), MODEL_URL=server.url)
        asked = server.count
        again = replay(sqlite_url, "team.py", MODEL_URL=server.url)
        assert server.count == asked
    assert first.stdout.splitlines()[-1] == again.stdout.splitlines()[-1] == "BadRequestError"
    assert again.returncode == 0, again.stderr


def test_a_failure_that_was_overcome_is_not(sqlite_url):
    """The first process failed, the second went on: the session is that of the second."""
    text = MODEL + 'u, c = scripted("u", ""), scripted("c", "", **model)\n'
    text += 'u.initiate_chat(c, message="x", max_turns=1)\n'
    failing = ["once"]
    with ModelServer(lambda request: failing.pop() and 1 / 0 if failing else None) as server:
        assert run(sqlite_url, script(text), MODEL_URL=server.url).returncode == 1
        assert run(sqlite_url, "team.py", MODEL_URL=server.url).returncode == 0
        result = replay(sqlite_url, "team.py", MODEL_URL=server.url)
    assert result.returncode == 0, result.stderr


def test_another_process_may_have_the_session(sqlite_url):
    """A replay takes no lease."""
    run(sqlite_url, script(CHAT))
    with open_session("s", url=sqlite_url):
        assert replay(sqlite_url, "team.py").returncode == 0


def test_a_copy_that_cannot_be_written_is_enough(tmp_path, sqlite_url):
    """A database that is opened to be read only."""
    run(sqlite_url, script(CHAT))
    shutil.copy(tmp_path / "journal.db", tmp_path / "copy.db")
    address = f"sqlite:///file:{tmp_path}/copy.db?mode=ro&immutable=1&uri=true"
    assert replay(address, "team.py").returncode == 0


@pytest.mark.parametrize(
    "own", ['instrument(session_id="s", url="own.db")', 'persist(first, session_id="s")']
)
def test_a_script_that_opens_its_session_itself_writes_nothing(own, sqlite_url):
    """It gets the replay, or nothing."""
    run(sqlite_url, script(CHAT))
    opening = f"from autogen_persist import instrument, persist\n{own}\nfirst.init"
    result = replay(sqlite_url, script(CHAT.replace("first.init", opening)))
    assert result.returncode == 0, result.stderr
    assert not Path("own.db").exists()
    assert not Path("autogen_persist.db").exists()


def test_what_is_missing_is_said(sqlite_url):
    """The script, the session, or its name."""
    assert "There is no script" in replay(sqlite_url, "none.py").stderr
    assert "There is no file" in replay(sqlite_url, script(CHAT)).stderr
    run(sqlite_url, "team.py")
    wrong = command("replay", "ss", "--url", sqlite_url, "team.py")
    assert (wrong.returncode, "Did you mean s?" in wrong.stderr) == (2, True)
    assert "Which session?" in command("replay", "--url", sqlite_url, "team.py").stderr
