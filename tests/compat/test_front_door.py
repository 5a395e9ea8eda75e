"""The ways in: persist, the Persistent classes, instrument, and off."""

from __future__ import annotations

import asyncio
import copy
import logging
import threading

import autogen
import pytest
from autogen import AssistantAgent, ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent

from autogen_persist import (
    BadArgument,
    PersistentAgent,
    PersistentGroupChat,
    PersistentMixin,
    Session,
    SessionClosed,
    SessionConflict,
    instrument,
    persist,
    uninstrument,
)
from tests.compat.cast import actor, assert_same, cast, group, journaled
from tests.support.model_server import ModelServer, llm_config

QUIET = {"llm_config": False, "human_input_mode": "NEVER", "code_execution_config": False}


def round_robin(agents, kind=GroupChat, **options):
    settings = {"messages": [], "max_round": 4, "speaker_selection_method": "round_robin"}
    return kind(agents=agents, **{**settings, **options})


def test_a_group_is_persisted_before_its_manager(sqlite_url):
    """A GroupChat that gets its manager later."""
    alpha, bravo = cast(2)
    chat = round_robin([alpha, bravo])
    session = persist(chat, session_id="s", url=sqlite_url)
    manager = GroupChatManager(groupchat=chat, llm_config=False)

    alpha.initiate_chat(manager, message="begin")

    assert len(session.messages()) == 4
    assert_same(session, manager)


@pytest.mark.parametrize("what", ["manager", "group", "agent"])
def test_twice_with_the_same_id_is_the_same_session(sqlite_url, what):
    """A notebook cell that is run again."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo])
    target = {"manager": manager, "group": manager.groupchat, "agent": alpha}[what]

    first = persist(target, session_id="s", url=sqlite_url)

    assert persist(target, session_id="s", url=sqlite_url) is first
    assert persist(target) is first


def test_persisting_twice_journals_once(sqlite_url):
    """Running the added line again does not double the rows."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    for _ in range(3):
        session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert_same(session, manager)


def test_a_group_and_its_manager_are_one_target(sqlite_url):
    """Persisting the group, then its manager, is persisting it twice."""
    alpha, bravo = cast(2)
    chat = round_robin([alpha, bravo])
    session = persist(chat, session_id="s", url=sqlite_url)
    manager = GroupChatManager(groupchat=chat, llm_config=False)

    assert persist(manager, session_id="s", url=sqlite_url) is session


@pytest.mark.parametrize("what", ["manager", "group", "agent"])
def test_another_id_is_a_conflict(sqlite_url, what):
    """A target writes to one session; the error names both."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo])
    target = {"manager": manager, "group": manager.groupchat, "agent": alpha}[what]
    persist(target, session_id="one", url=sqlite_url)

    with pytest.raises(SessionConflict, match=r"'one'.*'two'"):
        persist(target, session_id="two", url=sqlite_url)


def test_after_closing_another_id_is_welcome(sqlite_url):
    """What was let go can be persisted elsewhere."""
    alpha, bravo = cast(2)
    persist(alpha, session_id="one", url=sqlite_url).close()
    session = persist(alpha, session_id="two", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    assert len(session.messages()) == 2


def test_a_session_goes_on_after_it_was_closed(sqlite_url):
    """Opened again, it numbers on."""
    for _ in range(2):
        alpha, bravo = cast(2)
        with persist(alpha, session_id="s", url=sqlite_url) as session:
            alpha.initiate_chat(bravo, message="begin", max_turns=1)
            numbers = [(row.seq, row.run) for row in session.messages()]

    assert numbers == [(1, 1), (2, 1), (3, 2), (4, 2)]


def test_a_closed_session_says_so(sqlite_url):
    """Its handle reads no more, and says how to open it again."""
    session = persist(actor("alpha"), session_id="s", url=sqlite_url)
    session.close()

    with pytest.raises(SessionClosed, match="session_id='s'"):
        session.messages()


def test_only_agents_and_groups_can_be_persisted(sqlite_url):
    """Anything else is an argument outside its range."""
    with pytest.raises(BadArgument, match="a GroupChatManager, a GroupChat or a Conversable"):
        persist("alpha", url=sqlite_url)


def test_without_an_id_a_new_sortable_one_is_made(sqlite_url, caplog):
    """It is in the log, and later ones sort behind it."""
    with caplog.at_level(logging.INFO, "autogen_persist"):
        ids = [persist(agent, url=sqlite_url).id for agent in cast(3)]

    assert len(set(ids)) == 3
    assert [i[:13] for i in ids] == sorted(i[:13] for i in ids)
    assert ids[0] in caplog.text


def test_the_address_comes_from_the_environment(tmp_path, monkeypatch):
    """AUTOGEN_PERSIST_URL, where no url is given."""
    monkeypatch.setenv("AUTOGEN_PERSIST_URL", f"sqlite:///{tmp_path}/from_environment.db")

    persist(actor("alpha"), session_id="s")

    assert (tmp_path / "from_environment.db").exists()


def test_the_default_address_is_in_the_working_directory(tmp_path):
    """autogen_persist.db, where nothing is said."""
    persist(actor("alpha"), session_id="s")

    assert (tmp_path / "autogen_persist.db").exists()


def test_a_persistent_group_is_a_drop_in(sqlite_url):
    """PersistentGroupChat takes what GroupChat takes, and has its session."""
    alpha, bravo = cast(2)
    chat = round_robin([alpha, bravo], PersistentGroupChat, session_id="s", url=sqlite_url)
    manager = GroupChatManager(groupchat=chat, llm_config=False)

    alpha.initiate_chat(manager, message="begin")

    assert isinstance(chat.session, Session)
    assert_same(chat.session, manager)


def test_a_persistent_group_needs_no_messages(sqlite_url):
    """In 0.2 AutoGen demands `messages`; ours begins with none."""
    chat = PersistentGroupChat(agents=cast(2), session_id="s", url=sqlite_url)

    assert chat.messages == []


def test_a_persistent_agent_finds_itself_again(sqlite_url):
    """Without an id its session is named after it."""
    assistant = actor("assistant", kind=PersistentAgent, url=sqlite_url)

    actor("bravo").initiate_chat(assistant, message="begin", max_turns=1)

    assert assistant.session.id == "agent-assistant"
    assert journaled(assistant.session) == [("bravo", "begin"), ("assistant", "assistant says 1")]


class Coder(PersistentMixin, AssistantAgent):
    """A persisted assistant."""


class Boss(PersistentMixin, UserProxyAgent):
    """A persisted user proxy."""


def test_the_mixin_persists_other_agent_classes(sqlite_url):
    """AssistantAgent and UserProxyAgent users, in one session."""
    with ModelServer() as server:
        coder = Coder("coder", session_id="s", url=sqlite_url, llm_config=llm_config(server))
        boss = Boss(
            "boss",
            session_id="s",
            url=sqlite_url,
            human_input_mode="NEVER",
            code_execution_config=False,
        )
        boss.initiate_chat(coder, message="begin", max_turns=2)

    assert coder.session is boss.session
    assert [row.speaker for row in coder.session.messages()] == ["boss", "coder"] * 2


def test_two_persistent_agents_with_their_own_sessions_both_hear(sqlite_url):
    """A chat between two sessions is in both."""
    ann, ben = (actor(name, kind=PersistentAgent, url=sqlite_url) for name in ("ann", "ben"))

    ann.initiate_chat(ben, message="begin", max_turns=1)

    assert journaled(ann.session) == journaled(ben.session)
    assert len(ann.session.messages()) == 2


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_message_without_a_sender_is_a_persons(sqlite_url, is_async):
    """agent.receive("…"): as if a person had spoken, who gets an answer."""
    helper = actor("helper", kind=PersistentAgent, url=sqlite_url)

    if is_async:
        asyncio.run(helper.a_receive("what now?"))
    else:
        helper.receive("what now?")

    assert journaled(helper.session) == [("user", "what now?"), ("helper", "helper says 1")]


def test_the_person_is_the_same_each_time(sqlite_url):
    """A second question is asked in the first one's context."""
    with ModelServer() as server:
        helper = Coder("helper", url=sqlite_url, llm_config=llm_config(server))
        helper.receive("first")
        helper.receive("second")

    said = [m["content"] for m in server.requests[1]["messages"]]
    assert said[1:] == ["first", helper.session.messages()[1].text, "second"]


def test_a_receive_with_a_sender_is_autogens_own(sqlite_url):
    """Nothing else changes for agents that name who speaks."""
    helper, bravo = actor("helper", kind=PersistentAgent, url=sqlite_url), actor("bravo")

    helper.receive("hello", bravo, request_reply=False)

    assert journaled(helper.session) == [("bravo", "hello")]


def test_instrument_journals_what_is_built_from_then_on(sqlite_url):
    """No edit: agents and groups join as they are made."""
    session = instrument(session_id="s", url=sqlite_url)
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=3)

    alpha.initiate_chat(manager, message="begin")

    assert_same(session, manager)


def test_instrument_twice_is_the_same_session(sqlite_url):
    """Another id is a conflict."""
    session = instrument(session_id="s", url=sqlite_url)

    assert instrument(session_id="s", url=sqlite_url) is session
    with pytest.raises(SessionConflict):
        instrument(session_id="other", url=sqlite_url)


def test_what_was_built_before_instrument_is_not_journaled(sqlite_url):
    """From then on, and not before."""
    alpha, bravo = cast(2)
    session = instrument(session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    assert session.messages() == []


def test_uninstrument_ends_the_journal(sqlite_url):
    """What was attached talks on, unjournaled; what comes is not attached."""
    session = instrument(session_id="s", url=sqlite_url)
    alpha, bravo = cast(2)
    alpha.initiate_chat(bravo, message="heard", max_turns=1)
    uninstrument()

    alpha.initiate_chat(bravo, message="unheard", max_turns=1)

    assert session.closed
    with persist(actor("charlie"), session_id="s", url=sqlite_url) as again:
        assert [text for _, text in journaled(again)] == ["heard", "bravo says 1"]


def test_an_own_session_comes_before_instruments(sqlite_url):
    """A chat that was persisted by name does not also go to the process's session."""
    everything = instrument(session_id="all", url=sqlite_url)
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    own = persist(manager, session_id="own", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    assert (len(own.messages()), len(everything.messages())) == (2, 0)


@pytest.mark.parametrize("value", ["off", "OFF", "0"])
def test_off_turns_everything_off(monkeypatch, tmp_path, value):
    """AUTOGEN_PERSIST=off: the same lines, no file, no row."""
    monkeypatch.setenv("AUTOGEN_PERSIST", value)
    alpha = actor("alpha", kind=PersistentAgent)
    bravo = actor("bravo")
    manager = group([alpha, bravo], max_round=2)
    sessions = [persist(manager, session_id="s"), instrument(), alpha.session]

    alpha.initiate_chat(manager, message="begin")

    assert len(manager.groupchat.messages) == 2
    assert [session.messages() for session in sessions] == [[], [], []]
    assert list(tmp_path.glob("*.db")) == []


def test_groups_in_one_process_write_their_own_sessions(sqlite_url):
    """Several managers at once do not mix."""
    chats = []
    for name in ("red", "blue", "green"):
        agents = [actor(f"{name}_{n}") for n in range(3)]
        manager = group(agents)
        chats.append((agents, manager, persist(manager, session_id=name, url=sqlite_url)))

    for agents, manager, _ in chats:
        agents[0].initiate_chat(manager, message=agents[0].name)

    for _, manager, session in chats:
        assert_same(session, manager)


def test_an_agent_in_two_groups_is_journaled_where_it_speaks(sqlite_url):
    """A shared member's words go to the group it says them in."""
    shared, bravo, charlie = cast(3)
    red, blue = group([shared, bravo]), group([shared, charlie])
    sessions = [
        persist(red, session_id="red", url=sqlite_url),
        persist(blue, session_id="blue", url=sqlite_url),
    ]

    shared.initiate_chat(red, message="to red")
    shared.initiate_chat(blue, message="to blue")

    for manager, session in zip((red, blue), sessions, strict=True):
        assert_same(session, manager)


def test_sessions_may_lie_in_two_databases(tmp_path):
    """Each chat in the database that it was given."""
    found = []
    for name in ("one", "two"):
        alpha, bravo = cast(2)
        session = persist(alpha, session_id="s", url=f"sqlite:///{tmp_path}/{name}.db")
        alpha.initiate_chat(bravo, message=name, max_turns=1)
        found.append(session.messages()[0].text)

    assert found == ["one", "two"]


def test_a_group_nested_in_another_session_is_in_both(sqlite_url):
    """A persisted group inside a persisted chat has its own journal, and is part of the other."""
    alpha, bravo, charlie, delta = cast(4)
    inner = group([charlie, delta], max_round=2, manager={"name": "inner"})
    bravo.register_nested_chats([{"recipient": inner, "message": "discuss"}], trigger=alpha)
    outside = persist(alpha, session_id="outside", url=sqlite_url)
    inside = persist(inner, session_id="inside", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=2)

    assert [row.speaker for row in outside.messages()] == ["alpha", "bravo", "charlie", "bravo"] * 2
    assert [row.speaker for row in inside.messages()] == ["bravo", "charlie"] * 2
    assert [event.run for event in inside.events(kind="run_ended")] == [1, 2]
    assert [event.run for event in outside.events(kind="run_ended")] == [1]


def test_after_a_nested_session_a_thread_still_speaks_in_the_outer_one(sqlite_url):
    """Threads have no context: who was in both runs is in the outer one again."""
    alpha, bravo, charlie, delta, echo = cast(5)
    inner = group([charlie, delta], max_round=2, manager={"name": "inner"})
    bravo.register_nested_chats([{"recipient": inner, "message": "discuss"}], trigger=alpha)

    def aside(recipient, messages=None, sender=None, config=None):
        thread = threading.Thread(target=bravo.send, args=("aside", echo, False))
        thread.start()
        thread.join()
        return False, None

    alpha.register_reply(autogen.Agent, aside)
    outside = persist(alpha, session_id="outside", url=sqlite_url)
    persist(inner, session_id="inside", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=2)

    assert [row.run for row in outside.messages() if row.text == "aside"] == [1]


def test_a_copied_agent_goes_on_in_the_session(sqlite_url):
    """AutoGen's teachable and captain agents copy their members."""
    helper = PersistentAgent("helper", url=sqlite_url, **QUIET, default_auto_reply="yes")

    twin = copy.copy(helper)

    assert twin.session is helper.session


def test_a_user_proxy_and_an_assistant_are_journaled_as_they_are(sqlite_url):
    """AutoGen's own classes, one persist() line, a model that answers."""
    with ModelServer() as server:
        assistant = AssistantAgent("assistant", llm_config=llm_config(server))
        user = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False,
                              max_consecutive_auto_reply=1)  # fmt: skip
        session = persist(user, session_id="s", url=sqlite_url)
        result = user.initiate_chat(assistant, message="begin")

    assert [m["content"] for m in result.chat_history] == [row.text for row in session.messages()]


def test_the_classes_are_autogens(sqlite_url):
    """Drop-in: what checks for AutoGen's classes finds them."""
    assert issubclass(PersistentAgent, ConversableAgent)
    assert issubclass(PersistentGroupChat, autogen.GroupChat)
