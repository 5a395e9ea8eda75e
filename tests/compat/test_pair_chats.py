"""Chats of two, in sequence, nested, async and in threads."""

from __future__ import annotations

import asyncio

import pytest
from autogen import ConversableAgent

from autogen_persist import persist
from tests.compat.cast import actor, assert_gapless, cast, endings, group, journaled, needs_run


def exchange(agent, peer):
    """What two agents said to each other, by AutoGen's own list."""
    return [(m["name"], m["content"]) for m in agent.chat_messages[peer]]


def test_a_chat_with_max_turns_is_journaled(sqlite_url):
    """Three turns of two agents are six rows."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=3)

    assert len(session.messages()) == 6
    assert journaled(session) == exchange(alpha, bravo)


def test_persisting_either_side_journals_both(sqlite_url):
    """It does not matter which of the two was persisted."""
    alpha, bravo = cast(2)
    session = persist(bravo, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=2)

    assert journaled(session) == exchange(alpha, bravo)


def test_a_chat_with_a_reply_limit_is_journaled(sqlite_url):
    """A limit on automatic replies ends the chat, and the journal with it."""
    alpha = ConversableAgent(
        "alpha", llm_config=False, human_input_mode="NEVER", max_consecutive_auto_reply=2,
        default_auto_reply="go on",
    )  # fmt: skip
    bravo = actor("bravo")
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin")

    assert journaled(session) == exchange(alpha, bravo)
    assert_gapless(session)


def test_a_chat_that_is_terminated_is_journaled(sqlite_url):
    """The message that ends a chat is in the journal."""
    alpha = actor("alpha", is_termination_msg=lambda m: "TERMINATE" in (m.get("content") or ""))
    bravo = actor("bravo", "working", "done. TERMINATE")
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=5)

    assert journaled(session)[-1][1].endswith("TERMINATE")
    assert journaled(session) == exchange(alpha, bravo)


def test_rows_of_a_pair_name_both(sqlite_url):
    """A message to one agent is for that peer, in a chat named after the two."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    rows = [(r.speaker, r.listener, r.audience, r.chat) for r in session.messages()]
    assert rows == [
        ("alpha", "bravo", "peer", "alpha>bravo"),
        ("bravo", "alpha", "peer", "alpha>bravo"),
    ]


def test_an_async_chat_of_two_is_journaled(sqlite_url):
    """a_initiate_chat writes what initiate_chat would."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    asyncio.run(alpha.a_initiate_chat(bravo, message="begin", max_turns=3))

    assert len(session.messages()) == 6
    assert journaled(session) == exchange(alpha, bravo)


def test_chats_in_sequence_are_journaled_in_their_order(sqlite_url):
    """initiate_chats: one chat after the other, carry-over included."""
    alpha, bravo, charlie = cast()
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chats(
        [
            {"recipient": bravo, "message": "to bravo", "max_turns": 1},
            {"recipient": charlie, "message": "to charlie", "max_turns": 1},
        ]
    )

    assert journaled(session) == exchange(alpha, bravo) + exchange(alpha, charlie)
    assert "bravo says 1" in journaled(session)[2][1]


def test_async_chats_are_all_journaled(sqlite_url):
    """a_initiate_chats: the second waits for the first, the third for none."""
    alpha, bravo, charlie, delta = cast(4)
    session = persist(alpha, session_id="s", url=sqlite_url)
    queue = [
        {"chat_id": 1, "recipient": bravo, "message": "to bravo", "max_turns": 1},
        {"chat_id": 2, "recipient": charlie, "message": "to charlie", "max_turns": 2,
         "prerequisites": [1]},
        {"chat_id": 3, "recipient": delta, "message": "to delta", "max_turns": 2,
         "prerequisites": []},
    ]  # fmt: skip

    asyncio.run(alpha.a_initiate_chats(queue))

    said = exchange(alpha, bravo) + exchange(alpha, charlie) + exchange(alpha, delta)
    assert sorted(journaled(session)) == sorted(said)
    assert_gapless(session)


def test_a_nested_chat_is_journaled_in_its_run(sqlite_url):
    """What bravo asks charlie before he answers is between the question and the answer."""
    alpha, bravo, charlie = cast()
    nested = [{"recipient": charlie, "message": "charlie, please", "max_turns": 1,
               "summary_method": "last_msg"}]  # fmt: skip
    bravo.register_nested_chats(nested, trigger=alpha)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    assert [(r.speaker, r.listener, r.chat) for r in session.messages()] == [
        ("alpha", "bravo", "alpha>bravo"),
        ("bravo", "charlie", "bravo>charlie"),
        ("charlie", "bravo", "bravo>charlie"),
        ("bravo", "alpha", "alpha>bravo"),
    ]
    assert {row.run for row in session.messages()} == {1}
    assert journaled(session)[-1] == ("bravo", "charlie says 1")


def test_a_nested_chat_of_a_group_member_is_journaled(sqlite_url):
    """A member that consults somebody outside the group."""
    alpha, bravo, charlie = cast()
    nested = [{"recipient": charlie, "message": "charlie, please", "max_turns": 1}]
    manager = group([alpha, bravo], max_round=3)
    bravo.register_nested_chats(nested, trigger=manager)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    listeners = [row.listener for row in session.messages()]
    assert listeners == [manager.name, "charlie", "bravo", manager.name, manager.name]


def test_a_nested_group_chat_is_journaled(sqlite_url):
    """A whole group inside one agent: outer and inner messages, each once."""
    alpha, bravo, charlie, delta = cast(4)
    inner = group([charlie, delta], max_round=3, manager={"name": "inner"})
    bravo.register_nested_chats([{"recipient": inner, "message": "discuss"}], trigger=alpha)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    inside = [(m["name"], m["content"]) for m in inner.groupchat.messages]
    assert journaled(session, listener="inner") == inside
    assert [row.speaker for row in session.messages()] == [
        "alpha",
        "bravo",
        "charlie",
        "delta",
        "bravo",
    ]


def test_an_async_nested_chat_is_journaled(sqlite_url):
    """The async twin of a nested chat."""
    alpha, bravo, charlie = cast()
    nested = [{"recipient": charlie, "message": "charlie, please", "max_turns": 1, "chat_id": 1}]
    bravo.register_nested_chats(nested, trigger=alpha, use_async=True)
    session = persist(alpha, session_id="s", url=sqlite_url)

    asyncio.run(alpha.a_initiate_chat(bravo, message="begin", max_turns=1))

    assert [row.speaker for row in session.messages()] == ["alpha", "bravo", "charlie", "bravo"]


@needs_run
def test_run_is_journaled_from_its_thread(sqlite_url):
    """run() talks in a thread of its own."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.run(bravo, message="begin", max_turns=2).process()

    assert journaled(session) == exchange(alpha, bravo)
    assert endings(session) == ["max_turns"]


@needs_run
def test_run_of_a_group_is_journaled(sqlite_url):
    """run() on a manager writes what initiate_chat would."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=4)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.run(manager, message="begin").process()

    assert len(session.messages()) == 4


@needs_run
def test_a_run_is_journaled(sqlite_url):
    """a_run() talks in a task of its own."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    async def talk():
        response = await alpha.a_run(bravo, message="begin", max_turns=2)
        await response.process()

    asyncio.run(talk())

    assert journaled(session) == exchange(alpha, bravo)
    assert endings(session) == ["max_turns"]


@needs_run
def test_run_without_a_recipient_is_journaled(sqlite_url):
    """run() of a single agent, with the executor that AutoGen makes for it."""
    alpha = actor("alpha")
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.run(message="begin", max_turns=1).process()

    assert journaled(session) == [("user", "begin"), ("alpha", "alpha says 1")]


@pytest.mark.parametrize("direct", ["receive", "a_receive"])
def test_a_direct_receive_is_journaled(sqlite_url, direct):
    """No hook sees it, the journal does."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    done = getattr(alpha, direct)("out of the blue", bravo, request_reply=False)
    if asyncio.iscoroutine(done):
        asyncio.run(done)

    assert [(r.speaker, r.listener, r.text) for r in session.messages()] == [
        ("bravo", "alpha", "out of the blue")
    ]


def test_a_direct_send_is_journaled_once(sqlite_url):
    """send() outside of any chat."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.send("psst", bravo, request_reply=False)

    assert journaled(session) == [("alpha", "psst")]


def test_a_message_from_outside_the_group_is_journaled(sqlite_url):
    """Somebody who is in no session writes to a member."""
    alpha, bravo, stranger = cast()
    manager = group([alpha, bravo])
    session = persist(manager, session_id="s", url=sqlite_url)

    stranger.send("from outside", alpha, request_reply=False)

    assert journaled(session) == [("charlie", "from outside")]


def test_the_same_words_twice_are_two_rows(sqlite_url):
    """Rows are told apart by being said, not by what they say."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    for _ in range(2):
        alpha.send("again", bravo, request_reply=False)
        bravo.receive("again", alpha, request_reply=False)

    assert len(session.messages()) == 4
