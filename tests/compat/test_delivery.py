"""One row for each message, however it is delivered."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest
from autogen import ConversableAgent

from autogen_persist import JournalUnavailable, persist
from tests.support.teams import group, scripted, texts


class Slow(ConversableAgent):
    """An agent that tells a screen first, as agents with a page to show do."""

    async def a_receive(self, message, sender, request_reply=None, silent=False):
        for _ in range(3):
            await asyncio.sleep(0)  # lets the other chat run
        await super().a_receive(message, sender, request_reply, silent)


class Gossip(ConversableAgent):
    """An agent that passes a note before it takes a message in."""

    friend: ConversableAgent

    def receive(self, message, sender, request_reply=None, silent=False):
        self.send("psst", self.friend, request_reply=False)
        super().receive(message, sender, request_reply, silent)


def quiet(kind, name):
    return kind(name, llm_config=False, human_input_mode="NEVER", default_auto_reply=f"{name}!")


def test_chats_at_the_same_time_do_not_mix_up_their_messages(sqlite_url):
    """Two async chats whose agents wait in between: each message once."""
    pairs = [(scripted(f"user{n}"), quiet(Slow, f"bot{n}")) for n in range(2)]
    sessions = [persist(u, session_id=u.name, url=sqlite_url) for u, _ in pairs]

    async def both():
        await asyncio.gather(*(u.a_initiate_chat(b, message="hi", max_turns=2, silent=True)
                               for u, b in pairs))  # fmt: skip

    asyncio.run(both())

    for session, (user, bot) in zip(sessions, pairs, strict=True):
        assert texts(session) == [m["content"] for m in user.chat_messages[bot]]


def test_an_agent_may_speak_before_it_listens(sqlite_url):
    """A message sent inside receive() does not make the first one count twice."""
    user, gossip = scripted("user"), quiet(Gossip, "gossip")
    gossip.friend = scripted("friend")
    session = persist(gossip, session_id="s", url=sqlite_url)
    user.send("hello", gossip, request_reply=False)

    assert sorted(texts(session)) == ["hello", "psst"]


def test_whatever_autogen_takes_for_a_message_is_journaled(sqlite_url):
    """AutoGen makes a dict of what can be one, a model's own message object, say."""
    from openai.types.chat import ChatCompletionMessage

    user, bot = scripted("user"), scripted("bot")
    session = persist(user, session_id="s", url=sqlite_url)
    user.send(
        ChatCompletionMessage(role="assistant", content="an object"), bot, request_reply=False
    )

    assert texts(session) == ["an object"]
    assert bot.chat_messages[user][0]["content"] == "an object"


def test_a_report_to_somebody_outside_is_a_message(sqlite_url):
    """The manager tells an outsider what the group said last."""
    team = [scripted("a"), scripted("b")]
    manager, boss = group(*team, rounds=2), scripted("boss")
    session = persist(manager, session_id="s", url=sqlite_url)
    team[0].initiate_chat(manager, message="go", silent=True)
    manager.send(manager.groupchat.messages[-1], boss, request_reply=False)

    assert [(m.speaker, m.listener) for m in session.messages()][-1] == ("chat_manager", "boss")


def test_a_chat_that_could_not_begin_leaves_nothing_behind(tmp_path):
    """After a failure at the very start the next chat is a run as any other."""
    team = [scripted("a"), scripted("b")]
    manager = group(*team, rounds=2)
    check = manager._is_termination_msg
    session = persist(manager, session_id="s", url=tmp_path / "a.db", patience=0)
    lock = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalUnavailable):
        team[0].initiate_chat(manager, message="go", silent=True)
    lock.execute("ROLLBACK")
    lock.close()
    assert manager._is_termination_msg is check

    team[0].initiate_chat(manager, message="go", silent=True)

    kinds = [event.kind for event in session.events()]
    assert kinds == ["process", "run_started", "run_ended"]


def test_chats_that_share_an_agent_leave_its_termination_check_alone(sqlite_url):
    """However their ends overlap, the agent has its own check again."""
    user = scripted("user")
    bots = [quiet(Slow, f"bot{n}") for n in range(4)]
    check = user._is_termination_msg
    persist(user, session_id="s", url=sqlite_url)

    async def all_of_them():
        await asyncio.gather(*(user.a_initiate_chat(b, message="hi", max_turns=n + 1, silent=True)
                               for n, b in enumerate(bots)))  # fmt: skip

    asyncio.run(all_of_them())

    assert user._is_termination_msg is check


def test_a_session_opened_again_in_the_middle_of_a_chat_hears_the_rest(sqlite_url):
    """close() and persist() in a reply: what follows is in the journal."""
    agents: list[ConversableAgent] = []

    def reopen(messages):
        if len(messages) == 1:
            persist(manager, session_id="s", url=sqlite_url).close()
            persist(manager, session_id="s", url=sqlite_url)
        return "b"

    agents += [scripted("a"), scripted("b", reopen)]
    manager = group(*agents, rounds=5)
    persist(manager, session_id="s", url=sqlite_url)
    agents[0].initiate_chat(manager, message="go", silent=True)

    said = texts(persist(manager, session_id="s", url=sqlite_url))
    assert said == [m["content"] for m in manager.groupchat.messages]


def test_autogens_own_errors_stay(sqlite_url):
    """A message to nobody fails as it does without us."""
    user = scripted("user")
    with pytest.raises(AttributeError):
        user.send("x", None)
    persist(user, session_id="s", url=sqlite_url)

    with pytest.raises(AttributeError):
        user.send("x", None)
