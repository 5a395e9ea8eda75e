"""Group chats: the journal is what the group said, whoever chose the speakers."""

from __future__ import annotations

import asyncio
import io
import random

import autogen
import pytest

from autogen_persist import persist
from tests.compat.cast import actor, assert_gapless, assert_same, cast, group, journaled, transcript
from tests.support.model_server import ModelServer, llm_config


def test_round_robin_is_journaled_message_by_message(sqlite_url):
    """Five rounds of three agents are five rows in the group's order."""
    alpha, bravo, charlie = cast()
    manager = group([alpha, bravo, charlie])
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert [name for name, _ in journaled(session)] == [
        "alpha",
        "bravo",
        "charlie",
        "alpha",
        "bravo",
    ]
    assert_same(session, manager)


def test_ten_listeners_make_one_row(sqlite_url):
    """With 10 agents and 100 messages there are 100 rows."""
    agents = [actor(f"agent{n}") for n in range(10)]
    manager = group(agents, max_round=100)
    session = persist(manager, session_id="s", url=sqlite_url)

    agents[0].initiate_chat(manager, message="begin")

    assert len(session.messages()) == 100
    assert_same(session, manager)


def test_random_speakers_are_journaled(sqlite_url):
    """Whoever chance chooses is in the journal."""
    random.seed(7)
    alpha, *others = cast()
    manager = group([alpha, *others], speaker_selection_method="random", max_round=8)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert len(session.messages()) == 8
    assert_same(session, manager)


def test_a_function_that_selects_is_journaled(sqlite_url):
    """A custom selection function chooses, the journal follows."""
    alpha, bravo, charlie = cast()
    manager = group(
        [alpha, bravo, charlie],
        speaker_selection_method=lambda last, chat: charlie if last is alpha else alpha,
    )
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert [name for name, _ in journaled(session)] == [
        "alpha",
        "charlie",
        "alpha",
        "charlie",
        "alpha",
    ]
    assert_same(session, manager)


def test_manual_selection_is_journaled(sqlite_url, monkeypatch):
    """A person at the terminal chooses the speakers."""
    monkeypatch.setattr("sys.stdin", io.StringIO("2\n3\n1\n2\n"))
    alpha, bravo, charlie = cast()
    manager = group([alpha, bravo, charlie], speaker_selection_method="manual")
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert [name for name, _ in journaled(session)] == [
        "alpha",
        "bravo",
        "charlie",
        "alpha",
        "bravo",
    ]
    assert_same(session, manager)


def test_allowed_transitions_are_journaled(sqlite_url):
    """A graph of allowed speakers shows in the journal."""
    alpha, bravo, charlie = cast()
    manager = group(
        [alpha, bravo, charlie],
        allowed_or_disallowed_speaker_transitions={alpha: [charlie], charlie: [alpha], bravo: []},
        speaker_transitions_type="allowed",
    )
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert [name for name, _ in journaled(session)] == [
        "alpha",
        "charlie",
        "alpha",
        "charlie",
        "alpha",
    ]
    assert_same(session, manager)


def selector(request):
    """Chooses bravo, and alpha after bravo."""
    spoken = [m for m in request["messages"] if m.get("name") in ("alpha", "bravo")]
    return "alpha" if spoken and spoken[-1]["name"] == "bravo" else "bravo"


def test_the_chatter_of_auto_selection_is_journaled_as_internal(sqlite_url):
    """Each choice by a model is in the journal, marked, and not in the group's words."""
    with ModelServer(selector) as server:
        alpha, bravo = cast(2)
        manager = group(
            [alpha, bravo],
            speaker_selection_method="auto",
            max_round=3,
            manager={"llm_config": llm_config(server)},
        )
        session = persist(manager, session_id="s", url=sqlite_url)
        alpha.initiate_chat(manager, message="begin")

    chatter = [row for row in session.messages() if row.internal]
    assert {row.speaker for row in chatter} == {"checking_agent", "speaker_selection_agent"}
    assert "bravo" in [row.text for row in chatter]
    assert_same(session, manager)


def test_chatter_belongs_to_the_run_of_its_group(sqlite_url):
    """Selection chats do not begin runs of their own."""
    with ModelServer(selector) as server:
        alpha, bravo = cast(2)
        options = {
            "speaker_selection_method": "auto",
            "manager": {"llm_config": llm_config(server)},
        }
        manager = group([alpha, bravo], max_round=3, **options)
        session = persist(manager, session_id="s", url=sqlite_url)
        alpha.initiate_chat(manager, message="begin")

    assert {row.run for row in session.messages()} == {1}


def test_a_selection_that_is_asked_again_is_journaled_whole(sqlite_url):
    """A model that first names nobody, then somebody: both answers are in the journal."""
    answers = iter(["nobody at all", "bravo"])
    with ModelServer(lambda request: next(answers)) as server:
        alpha, bravo, charlie = cast()
        manager = group(
            [alpha, bravo, charlie],
            speaker_selection_method="auto",
            max_round=2,
            manager={"llm_config": llm_config(server)},
        )
        session = persist(manager, session_id="s", url=sqlite_url)
        alpha.initiate_chat(manager, message="begin")

    said = [row.text for row in session.messages() if row.speaker == "speaker_selection_agent"]
    assert said[:2] == ["nobody at all", "bravo"]


def test_an_introduction_is_one_row(sqlite_url):
    """Introductions go to each member, and into the journal once."""
    alpha, bravo, charlie = cast()
    manager = group([alpha, bravo, charlie], send_introductions=True)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert [row.speaker for row in session.messages() if row.kind == "introduction"] == [
        manager.name
    ]
    assert_same(session, manager)


def test_an_opener_outside_the_group_is_journaled(sqlite_url):
    """Who opens the chat need not be a member."""
    stranger, *members = cast(4)
    manager = group(members)
    session = persist(manager, session_id="s", url=sqlite_url)

    stranger.initiate_chat(manager, message="from outside")

    assert journaled(session)[0] == ("alpha", "from outside")
    assert_same(session, manager)


def test_a_second_chat_goes_on_in_the_journal(sqlite_url):
    """Two chats on one manager are two runs, numbered on."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="first")
    alpha.initiate_chat(manager, message="second", clear_history=False)

    assert [row.run for row in session.messages()] == [1, 1, 2, 2]
    assert_same(session, manager)


def test_rows_say_who_heard_them(sqlite_url):
    """A group's message is said to its manager, for the group."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    heard = {(row.listener, row.audience, row.kind) for row in session.messages()}
    assert heard == {(manager.name, "group", "text")}


def test_a_message_is_journaled_before_anyone_hears_it(sqlite_url):
    """When a listener is asked for its reply, what it replies to is in the database."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    session = persist(manager, session_id="s", url=sqlite_url)
    seen = []
    bravo.register_hook(
        "process_all_messages_before_reply",
        lambda messages: seen.append(session.messages()[-1].text) or messages,
    )

    alpha.initiate_chat(manager, message="begin")

    assert seen == ["begin"]


def test_an_async_group_chat_is_journaled(sqlite_url):
    """a_initiate_chat writes what initiate_chat would."""
    alpha, bravo, charlie = cast()
    manager = group([alpha, bravo, charlie])
    session = persist(manager, session_id="s", url=sqlite_url)

    asyncio.run(alpha.a_initiate_chat(manager, message="begin"))

    assert len(session.messages()) == 5
    assert_same(session, manager)


def test_an_async_auto_selection_is_journaled(sqlite_url):
    """The chatter of a_select_speaker is internal, too."""
    with ModelServer(selector) as server:
        alpha, bravo = cast(2)
        manager = group(
            [alpha, bravo],
            speaker_selection_method="auto",
            max_round=3,
            manager={"llm_config": llm_config(server)},
        )
        session = persist(manager, session_id="s", url=sqlite_url)
        asyncio.run(alpha.a_initiate_chat(manager, message="begin"))

    assert {row.speaker for row in session.messages() if row.internal} == {
        "checking_agent",
        "speaker_selection_agent",
    }
    assert_same(session, manager)


def test_parallel_async_groups_keep_to_their_sessions(sqlite_url):
    """Two groups that talk at once in one event loop do not mix."""
    chats = []
    for name in ("one", "two"):
        agents = [actor(f"{name}_{n}") for n in range(3)]
        manager = group(agents, max_round=10)
        chats.append((agents[0], manager, persist(manager, session_id=name, url=sqlite_url)))

    async def all_at_once():
        await asyncio.gather(*(a.a_initiate_chat(m, message=m.name) for a, m, _ in chats))

    asyncio.run(all_at_once())

    for _, manager, session in chats:
        assert_same(session, manager)


def test_models_that_answer_are_journaled_word_by_word(sqlite_url):
    """What a model said, digest of its context included, is what the row holds."""
    with ModelServer() as server:
        agents = [
            autogen.AssistantAgent(name, llm_config=llm_config(server)) for name in ("ann", "ben")
        ]
        manager = group(agents, max_round=4)
        session = persist(manager, session_id="s", url=sqlite_url)
        agents[0].initiate_chat(manager, message="begin")

    assert [text[:6] for _, text in journaled(session)[1:]] == ["asked "] * 3
    assert_same(session, manager)


@pytest.mark.parametrize("clear", [True, False])
def test_resume_does_not_double_the_journal(sqlite_url, clear):
    """AutoGen's resume() sends the past again; the journal has it already."""
    alpha, bravo, charlie = cast()
    manager = group([alpha, bravo, charlie], max_round=3)
    session = persist(manager, session_id="s", url=sqlite_url)
    alpha.initiate_chat(manager, message="begin")
    past = [dict(message) for message in manager.groupchat.messages]
    if clear:
        manager.groupchat.reset()

    last, message = manager.resume(messages=past)
    last.initiate_chat(manager, message=message, clear_history=False)

    assert len(journaled(session)) == 3 + len(transcript(manager)) - 2
    assert_gapless(session)


def test_what_a_manager_says_to_one_member_is_for_that_member(sqlite_url):
    """A direct word of the manager, the same to two members: two rows for two peers."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo])
    session = persist(manager, session_id="s", url=sqlite_url)

    for member in (alpha, bravo):
        manager.send("a word, please", member, request_reply=False)

    assert [(row.listener, row.audience) for row in session.messages()] == [
        ("alpha", "peer"),
        ("bravo", "peer"),
    ]


def test_what_a_managers_hook_makes_of_a_message_is_one_more_row(sqlite_url):
    """A hook that changes every broadcast: what was said, and what the others heard."""
    alpha, *others = cast(4)
    manager = group([alpha, *others], max_round=2)
    session = persist(manager, session_id="s", url=sqlite_url)
    manager.register_hook(
        "process_message_before_send",
        lambda message, **_: {**message, "content": message["content"] + " (passed on)"},
    )

    alpha.initiate_chat(manager, message="begin")

    assert journaled(session) == [
        ("alpha", "begin"),
        (manager.name, "begin (passed on)"),
        ("bravo", "bravo says 1"),
        (manager.name, "bravo says 1 (passed on)"),
    ]
