"""A person who is not there: the process ends, the question waits, the answer comes by command."""

from __future__ import annotations

import getpass
import shlex

import pytest

from autogen_persist import Store
from autogen_persist.opening import open_session
from tests.support import chains
from tests.support.model_server import ModelServer
from tests.support.shell import command, python, script

PARK = ("--human-input", "park")
PEOPLE = """
import os
from tests.support.model_server import llm_config
user = UserProxyAgent("user", human_input_mode="ALWAYS", code_execution_config=False)
helper = ConversableAgent("helper", llm_config=llm_config(os.environ["MODEL_URL"]),
                          human_input_mode="NEVER")
result = user.initiate_chat(helper, message="hello", max_turns=3)
print("END", result.chat_history, result.human_input)
"""
QUESTION = 'print("GOT", repr(input("Which colour? ")))\n'


def run(url, *words, **options):
    return command("run", "--session", "s", "--url", url, *words, **options)


def answer(url, *words):
    return command("answer", "s", *words, "--url", url)


def rows(url, kind):
    with Store.open(url) as store:
        assert chains.first_bad_row(store, "s") is None
        return [row for row in store.rows("s") if row.kind == kind]


def test_a_parked_chat_goes_on_as_if_somebody_had_been_there(tmp_path, url):
    """Answered by command, twice: the same result, and no model call more."""
    name = script(PEOPLE)
    with ModelServer() as server:
        model = {"MODEL_URL": server.url}
        there = run(tmp_path / "calm.db", name, input="first\nsecond\n", **model)
        calls = server.count
        for text in ("first", "second"):
            parked = run(url, *PARK, name, **model)
            assert parked.returncode == 75, parked.stderr
            assert answer(url, text).returncode == 0
        done = run(url, *PARK, name, **model)
    assert done.returncode == 0, done.stderr
    assert done.stdout.partition("END")[2] == there.stdout.partition("END")[2] != ""
    assert server.count == 2 * calls


def test_the_question_is_journaled_before_the_process_ends(url):
    """The intent with its prompt, no receipt, and a run that was interrupted."""
    assert run(url, *PARK, script(PEOPLE), MODEL_URL=_nobody()).returncode == 1
    with ModelServer() as server:
        assert run(url, *PARK, "team.py", MODEL_URL=server.url).returncode == 75
    (asked,) = rows(url, "human")
    assert asked.type == "intent"
    assert asked.speaker == "user"
    assert "Provide feedback to helper" in asked.body["prompt"]
    assert rows(url, "run_ended")[-1].body["error"] == "Parked"


def _nobody():
    with ModelServer() as server:
        return server.url


def test_what_to_type_is_said_and_works(tmp_path):
    """Session, question, and two lines that can be copied as they are."""
    name = script(QUESTION + "print(sys.argv)\n", "my team.py")
    parked = run("my chats.db", *PARK, name, "a b", "--flag")
    assert "Session s waits for an answer to: Which colour?" in parked.stderr
    lines = dict(line.split(": ", 1) for line in parked.stderr.splitlines() if ": " in line)
    first, second = shlex.split(lines["answer"]), shlex.split(lines["then"].strip())
    assert first == ["autogen-persist", "answer", "s", "--url", "my chats.db", "your answer"]
    assert command(*first[1:]).returncode == 0
    assert command(*second[1:]).stdout == f"GOT 'your answer'\n['{name}', 'a b', '--flag']\n"


def test_an_answer_says_who_gave_it(url):
    """By whom and when is in the journal."""
    run(url, *PARK, script(QUESTION))
    answer(url, "blue")
    asked, given = rows(url, "human")
    assert (given.type, given.body["answer"], given.body["by"]) == (
        "receipt", "blue", getpass.getuser(),
    )  # fmt: skip
    assert (given.body["digest"], given.body["n"]) == (asked.body["digest"], asked.body["n"])


def test_without_a_text_the_open_questions_are_shown(sqlite_url):
    """Nothing is written, and the session need not be free."""
    run(sqlite_url, *PARK, script(QUESTION))
    with open_session("s", url=sqlite_url):
        shown = answer(sqlite_url)
    assert (shown.returncode, "Which colour?" in shown.stdout) == (0, True)
    assert len(rows(sqlite_url, "human")) == 1


def test_a_question_asked_again_is_one_question(sqlite_url):
    """Resumed before there is an answer it parks once more; one answer is enough."""
    name = script(QUESTION)
    for _ in range(2):
        assert run(sqlite_url, *PARK, name).returncode == 75
    assert answer(sqlite_url).stdout.count("Which colour?") == 1
    assert answer(sqlite_url, "blue").returncode == 0
    assert "waits for no answer" in answer(sqlite_url, "red").stderr
    assert run(sqlite_url, *PARK, name).stdout == "GOT 'blue'\n"


def test_somebody_at_the_terminal_may_answer_instead(sqlite_url):
    """Without the option, the resumed script asks."""
    name = script(QUESTION)
    run(sqlite_url, *PARK, name)
    assert run(sqlite_url, name, input="green\n").stdout.endswith("GOT 'green'\n")


def test_the_same_question_twice_has_two_answers(sqlite_url):
    """In the order in which they were given; an empty answer is one."""
    name = script(QUESTION * 2)
    for text in ("", "red"):
        assert run(sqlite_url, *PARK, name).returncode == 75
        assert answer(sqlite_url, text).returncode == 0
    assert run(sqlite_url, *PARK, name).stdout == "GOT ''\nGOT 'red'\n"


def test_an_answer_needs_the_session(sqlite_url):
    """SessionBusy while a process is at it; a wrong id offers the nearest; both write nothing."""
    run(sqlite_url, *PARK, script(QUESTION))
    with open_session("s", url=sqlite_url):
        busy = answer(sqlite_url, "blue")
    assert busy.returncode == 2
    assert "is being written by process" in busy.stderr
    wrong = command("answer", "ss", "blue", "--url", sqlite_url)
    assert (wrong.returncode, "Did you mean s?" in wrong.stderr) == (2, True)
    with Store.open(sqlite_url) as store:
        assert [session.id for session in store.sessions()] == ["s"]
    assert len(rows(sqlite_url, "human")) == 1


def test_one_of_several_questions_can_be_chosen(sqlite_url):
    """By the row that the list shows; a wrong one names the right ones."""
    with open_session("s", url=sqlite_url) as session:
        for n, prompt in enumerate(("one?", "two?")):
            session.write_effect("intent", "human", {"digest": prompt, "n": 1, "prompt": prompt},
                           agent=f"user{n}", run=0, chat="")  # fmt: skip
    assert "in row 2, 3" in answer(sqlite_url, "x", "--question", 9).stderr
    assert answer(sqlite_url, "x", "--question", 3).returncode == 0
    assert answer(sqlite_url).stdout.count("one?") == 1
    assert rows(sqlite_url, "human")[-1].speaker == "user1"


WAYS = {
    "async": """
import asyncio
user = UserProxyAgent("user", human_input_mode="ALWAYS", code_execution_config=False)
result = asyncio.run(user.a_initiate_chat(scripted("helper", "hm"), message="x", max_turns=2))
print("END", result.chat_history[-2]["content"])
""",
    "thread": """
import threading
user = UserProxyAgent("user", human_input_mode="ALWAYS", code_execution_config=False)
ended = threading.Event()
def chat():
    result = user.initiate_chat(scripted("helper", "hm"), message="x", max_turns=2)
    print("END", result.chat_history[-2]["content"])
    ended.set()
threading.Thread(target=chat).start()
ended.wait()
""",
    "manual selection": """
team = [scripted(name, f"{name} here") for name in ("alpha", "bravo", "charlie")]
chat = GroupChat(team, [], max_round=2, speaker_selection_method="manual")
team[0].initiate_chat(GroupChatManager(chat, llm_config=False), message="x")
print("END", chat.messages[-1]["name"])
""",
    "own method": """
class Person(UserProxyAgent):
    def get_human_input(self, prompt, **more):
        return input("Well? ")
user = Person("user", human_input_mode="ALWAYS", code_execution_config=False)
result = user.initiate_chat(scripted("helper", "hm"), message="x", max_turns=2)
print("END", result.chat_history[-2]["content"])
""",
}
REPLIES = {"manual selection": ("3", "charlie")}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_a_person_parks(way, sqlite_url):
    """Asked in an async chat, in a thread, for a speaker, by a method of one's own."""
    text, expected = REPLIES.get(way, ("mine", "mine"))
    name = script(WAYS[way])
    parked = run(sqlite_url, *PARK, name)
    assert (parked.returncode, "END" in parked.stdout) == (75, False), parked.stderr
    assert answer(sqlite_url, text).returncode == 0
    done = run(sqlite_url, *PARK, name)
    assert f"END {expected}" in done.stdout, done.stdout + done.stderr


def test_a_killed_script_does_not_ask_again(sqlite_url):
    """What was typed outside of any chat is answered from the journal, in order."""
    text = QUESTION * 2 + "import os, signal\nif 'die' in sys.argv: os.kill(os.getpid(), 9)\n"
    name = script(text)
    assert run(sqlite_url, name, "die", input="blue\nred\n").returncode == -9
    assert run(sqlite_url, name).stdout.endswith("GOT 'blue'\nGOT 'red'\n")


OWN = """
from autogen_persist import instrument
instrument(session_id="s", url=sys.argv[1], human_input="park")
user = UserProxyAgent("user", human_input_mode="ALWAYS", code_execution_config=False)
result = user.initiate_chat(scripted("helper", "hm"), message="x", max_turns=2)
print("END", result.chat_history[-2]["content"])
"""


def test_a_program_of_ones_own_parks_too(url):
    """`instrument(human_input="park")`: exit code 75, answered by command, started again."""
    name = script(OWN)
    parked = python(name, url)
    assert parked.returncode == 75, parked.stderr
    assert "start the program again" in parked.stderr
    assert rows(url, "completed") == []
    assert answer(url, "mine").returncode == 0
    assert "END mine" in python(name, url).stdout
