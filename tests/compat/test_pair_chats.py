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
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.initiate_chat(bob, message="begin", max_turns=3)

    assert len(session.messages()) == 6
    assert journaled(session) == exchange(alice, bob)


def test_persisting_either_side_journals_both(sqlite_url):
    """It does not matter which of the two was persisted."""
    alice, bob = cast(2)
    session = persist(bob, session_id="s", url=sqlite_url)

    alice.initiate_chat(bob, message="begin", max_turns=2)

    assert journaled(session) == exchange(alice, bob)


def test_a_chat_with_a_reply_limit_is_journaled(sqlite_url):
    """A limit on automatic replies ends the chat, and the journal with it."""
    alice = ConversableAgent(
        "alice", llm_config=False, human_input_mode="NEVER", max_consecutive_auto_reply=2,
        default_auto_reply="go on",
    )  # fmt: skip
    bob = actor("bob")
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.initiate_chat(bob, message="begin")

    assert journaled(session) == exchange(alice, bob)
    assert_gapless(session)


def test_a_chat_that_is_terminated_is_journaled(sqlite_url):
    """The message that ends a chat is in the journal."""
    alice = actor("alice", is_termination_msg=lambda m: "TERMINATE" in (m.get("content") or ""))
    bob = actor("bob", "working", "done. TERMINATE")
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.initiate_chat(bob, message="begin", max_turns=5)

    assert journaled(session)[-1][1].endswith("TERMINATE")
    assert journaled(session) == exchange(alice, bob)


def test_rows_of_a_pair_name_both(sqlite_url):
    """A message to one agent is for that peer, in a chat named after the two."""
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.initiate_chat(bob, message="begin", max_turns=1)

    rows = [(r.speaker, r.listener, r.audience, r.chat) for r in session.messages()]
    assert rows == [
        ("alice", "bob", "peer", "alice>bob"),
        ("bob", "alice", "peer", "alice>bob"),
    ]


def test_an_async_chat_of_two_is_journaled(sqlite_url):
    """a_initiate_chat writes what initiate_chat would."""
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    asyncio.run(alice.a_initiate_chat(bob, message="begin", max_turns=3))

    assert len(session.messages()) == 6
    assert journaled(session) == exchange(alice, bob)


def test_chats_in_sequence_are_journaled_in_their_order(sqlite_url):
    """initiate_chats: one chat after the other, carry-over included."""
    alice, bob, carol = cast()
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.initiate_chats(
        [
            {"recipient": bob, "message": "to bob", "max_turns": 1},
            {"recipient": carol, "message": "to carol", "max_turns": 1},
        ]
    )

    assert journaled(session) == exchange(alice, bob) + exchange(alice, carol)
    assert "bob says 1" in journaled(session)[2][1]


def test_async_chats_are_all_journaled(sqlite_url):
    """a_initiate_chats: the second waits for the first, the third for none."""
    alice, bob, carol, dave = cast(4)
    session = persist(alice, session_id="s", url=sqlite_url)
    queue = [
        {"chat_id": 1, "recipient": bob, "message": "to bob", "max_turns": 1},
        {"chat_id": 2, "recipient": carol, "message": "to carol", "max_turns": 2,
         "prerequisites": [1]},
        {"chat_id": 3, "recipient": dave, "message": "to dave", "max_turns": 2,
         "prerequisites": []},
    ]  # fmt: skip

    asyncio.run(alice.a_initiate_chats(queue))

    said = exchange(alice, bob) + exchange(alice, carol) + exchange(alice, dave)
    assert sorted(journaled(session)) == sorted(said)
    assert_gapless(session)


def test_a_nested_chat_is_journaled_in_its_run(sqlite_url):
    """What bob asks carol before he answers is between the question and the answer."""
    alice, bob, carol = cast()
    nested = [{"recipient": carol, "message": "carol, please", "max_turns": 1,
               "summary_method": "last_msg"}]  # fmt: skip
    bob.register_nested_chats(nested, trigger=alice)
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.initiate_chat(bob, message="begin", max_turns=1)

    assert [(r.speaker, r.listener, r.chat) for r in session.messages()] == [
        ("alice", "bob", "alice>bob"),
        ("bob", "carol", "bob>carol"),
        ("carol", "bob", "bob>carol"),
        ("bob", "alice", "alice>bob"),
    ]
    assert {row.run for row in session.messages()} == {1}
    assert journaled(session)[-1] == ("bob", "carol says 1")


def test_a_nested_chat_of_a_group_member_is_journaled(sqlite_url):
    """A member that consults somebody outside the group."""
    alice, bob, carol = cast()
    nested = [{"recipient": carol, "message": "carol, please", "max_turns": 1}]
    manager = group([alice, bob], max_round=3)
    bob.register_nested_chats(nested, trigger=manager)
    session = persist(manager, session_id="s", url=sqlite_url)

    alice.initiate_chat(manager, message="begin")

    listeners = [row.listener for row in session.messages()]
    assert listeners == [manager.name, "carol", "bob", manager.name, manager.name]


def test_a_nested_group_chat_is_journaled(sqlite_url):
    """A whole group inside one agent: outer and inner messages, each once."""
    alice, bob, carol, dave = cast(4)
    inner = group([carol, dave], max_round=3, manager={"name": "inner"})
    bob.register_nested_chats([{"recipient": inner, "message": "discuss"}], trigger=alice)
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.initiate_chat(bob, message="begin", max_turns=1)

    inside = [(m["name"], m["content"]) for m in inner.groupchat.messages]
    assert journaled(session, listener="inner") == inside
    assert [row.speaker for row in session.messages()] == ["alice", "bob", "carol", "dave", "bob"]


def test_an_async_nested_chat_is_journaled(sqlite_url):
    """The async twin of a nested chat."""
    alice, bob, carol = cast()
    nested = [{"recipient": carol, "message": "carol, please", "max_turns": 1, "chat_id": 1}]
    bob.register_nested_chats(nested, trigger=alice, use_async=True)
    session = persist(alice, session_id="s", url=sqlite_url)

    asyncio.run(alice.a_initiate_chat(bob, message="begin", max_turns=1))

    assert [row.speaker for row in session.messages()] == ["alice", "bob", "carol", "bob"]


@needs_run
def test_run_is_journaled_from_its_thread(sqlite_url):
    """run() talks in a thread of its own."""
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.run(bob, message="begin", max_turns=2).process()

    assert journaled(session) == exchange(alice, bob)
    assert endings(session) == ["max_turns"]


@needs_run
def test_run_of_a_group_is_journaled(sqlite_url):
    """run() on a manager writes what initiate_chat would."""
    alice, bob = cast(2)
    manager = group([alice, bob], max_round=4)
    session = persist(manager, session_id="s", url=sqlite_url)

    alice.run(manager, message="begin").process()

    assert len(session.messages()) == 4


@needs_run
def test_a_run_is_journaled(sqlite_url):
    """a_run() talks in a task of its own."""
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    async def talk():
        response = await alice.a_run(bob, message="begin", max_turns=2)
        await response.process()

    asyncio.run(talk())

    assert journaled(session) == exchange(alice, bob)
    assert endings(session) == ["max_turns"]


@needs_run
def test_run_without_a_recipient_is_journaled(sqlite_url):
    """run() of a single agent, with the executor that AutoGen makes for it."""
    alice = actor("alice")
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.run(message="begin", max_turns=1).process()

    assert journaled(session) == [("user", "begin"), ("alice", "alice says 1")]


@pytest.mark.parametrize("direct", ["receive", "a_receive"])
def test_a_direct_receive_is_journaled(sqlite_url, direct):
    """No hook sees it, the journal does."""
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    done = getattr(alice, direct)("out of the blue", bob, request_reply=False)
    if asyncio.iscoroutine(done):
        asyncio.run(done)

    assert [(r.speaker, r.listener, r.text) for r in session.messages()] == [
        ("bob", "alice", "out of the blue")
    ]


def test_a_direct_send_is_journaled_once(sqlite_url):
    """send() outside of any chat."""
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    alice.send("psst", bob, request_reply=False)

    assert journaled(session) == [("alice", "psst")]


def test_a_message_from_outside_the_group_is_journaled(sqlite_url):
    """Somebody who is in no session writes to a member."""
    alice, bob, stranger = cast()
    manager = group([alice, bob])
    session = persist(manager, session_id="s", url=sqlite_url)

    stranger.send("from outside", alice, request_reply=False)

    assert journaled(session) == [("carol", "from outside")]


def test_the_same_words_twice_are_two_rows(sqlite_url):
    """Rows are told apart by being said, not by what they say."""
    alice, bob = cast(2)
    session = persist(alice, session_id="s", url=sqlite_url)

    for _ in range(2):
        alice.send("again", bob, request_reply=False)
        bob.receive("again", alice, request_reply=False)

    assert len(session.messages()) == 4
