"""A session that is opened again: restored, replayed or continued."""

from __future__ import annotations

import asyncio
import os

import autogen
import pytest
from autogen import ConversableAgent

from autogen_persist import PersistentAgent, PersistentGroupChat, Store, errors, persist
from autogen_persist.opening import close_all
from tests.compat.cast import actor, cast, endings, group, histories, needs_run
from tests.support.child import killed, played
from tests.support.model_server import ModelServer, llm_config, tool_call


def thinker(name, server, **options):
    """An agent whose every answer tells what it was asked."""
    settings = {"human_input_mode": "NEVER", "code_execution_config": False}
    return ConversableAgent(name, llm_config=llm_config(server), **{**settings, **options})


def office(server, **options):
    """A group of three that think, and its manager."""
    team = [thinker(name, server) for name in ("alpha", "bravo", "charlie")]
    return [*team, group(team, **options)]


def memory(agents):
    """Everything that an agent has when a chat is over."""
    managers = [a for a in agents if isinstance(a, autogen.GroupChatManager)]
    return {
        "histories": histories(*agents),
        "groups": [manager.groupchat.messages for manager in managers],
        "last": [getattr(manager.last_speaker, "name", None) for manager in managers],
        "counters": {
            a.name: {p.name: n for p, n in a._consecutive_auto_reply_counter.items() if n}
            for a in agents
        },
    }


# What is finished is restored at once.


def test_a_finished_group_chat_is_there_again(url):
    """Attached in another process, everybody has what they had."""

    def scene():
        agents = cast(3)
        manager = group(agents)
        session = persist(manager, session_id="s", url=url)
        agents[0].initiate_chat(manager, message="begin")
        return session, [*agents, manager]

    played(lambda: scene()[0].close())
    team = cast(3)
    fresh = [*team, group(team)]
    session = persist(fresh[-1], session_id="s", url=url)

    assert session.status == "finished"
    assert [m["content"] for m in fresh[-1].groupchat.messages][:2] == ["begin", "bravo says 1"]
    session.close()
    _, lived = scene_on_new_database(url, scene)
    assert memory(fresh) == memory(lived)


def scene_on_new_database(url, scene):
    """The same scene, where nothing was before it."""
    with Store.open(url) as store, store.engine.begin() as connection:
        for table in ("persist_journal", "persist_sessions"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    return scene()


def test_a_persistent_group_gets_its_past_with_its_manager(sqlite_url):
    """A GroupChat has nobody to remember for before its manager is built."""

    def build():
        team = cast(3)
        settings = {"max_round": 4, "speaker_selection_method": "round_robin"}
        chat = PersistentGroupChat(team, session_id="s", url=sqlite_url, **settings)
        return team, autogen.GroupChatManager(groupchat=chat, llm_config=False), chat.session

    def scene():
        team, manager, session = build()
        team[0].initiate_chat(manager, message="begin")
        session.close()

    played(scene)
    _, manager, _ = build()

    assert len(manager.groupchat.messages) == 4


def test_a_persistent_agent_finds_itself_again(sqlite_url):
    """What a person told it yesterday is in its history today."""

    def answer(agent, **_):
        return True, f"I know {sum(len(m) for m in agent.chat_messages.values())}"

    def build():
        agent = PersistentAgent("helper", url=sqlite_url, llm_config=False,
                                human_input_mode="NEVER")  # fmt: skip
        agent.register_reply(
            [autogen.Agent, None],
            lambda recipient, messages=None, sender=None, config=None: answer(recipient),
            position=1,
        )
        return agent

    def scene():
        agent = build()
        agent.receive("remember me")
        agent.session.close()

    played(scene)
    agent = build()
    agent.receive("and now?")

    (history,) = agent.chat_messages.values()
    assert [m["content"] for m in history] == ["remember me", "I know 1", "and now?", "I know 3"]


def test_a_new_message_continues_a_finished_conversation(sqlite_url):
    """The first chat keeps what was restored; the next one clears, as AutoGen does."""

    def build():
        user, helper = cast(2)
        return user, helper, persist(helper, session_id="s", url=sqlite_url)

    def scene():
        user, helper, session = build()
        user.initiate_chat(helper, message="one", max_turns=1)
        session.close()

    played(scene)
    user, helper, _ = build()
    user.initiate_chat(helper, message="two", max_turns=1)
    assert [m["content"] for m in helper.chat_messages[user]] == [
        "one", "bravo says 1", "two", "bravo says 1",
    ]  # fmt: skip
    user.initiate_chat(helper, message="three", max_turns=1)
    assert [m["content"] for m in helper.chat_messages[user]] == ["three", "bravo says 2"]


def test_an_explicit_clear_history_clears(sqlite_url):
    """Who asks for an empty history gets one, and the journal says so."""

    def build():
        user, helper = cast(2)
        return user, helper, persist(helper, session_id="s", url=sqlite_url)

    def scene():
        user, helper, session = build()
        user.initiate_chat(helper, message="one", max_turns=1)
        session.close()

    played(scene)
    user, helper, session = build()
    user.initiate_chat(helper, message="two", max_turns=1, clear_history=True)

    assert [m["content"] for m in helper.chat_messages[user]] == ["two", "bravo says 1"]
    assert session.events(kind="clear_history")


def test_agents_that_have_a_history_keep_it(sqlite_url):
    """A session closed and opened again in one process: nothing is doubled."""
    alpha, bravo = cast(2)
    persist(alpha, session_id="s", url=sqlite_url).close()
    session = persist(alpha, session_id="s", url=sqlite_url)
    alpha.initiate_chat(bravo, message="one", max_turns=1)
    session.close()

    persist(alpha, session_id="s", url=sqlite_url)

    assert len(alpha.chat_messages[bravo]) == 2


def test_counters_come_back(sqlite_url):
    """An agent near its limit of automatic replies is near it tomorrow."""

    def build():
        team = [actor(name, max_consecutive_auto_reply=9) for name in ("alpha", "bravo")]
        manager = group(team, max_round=4)
        return team, manager, persist(manager, session_id="s", url=sqlite_url)

    def scene():
        team, manager, session = build()
        team[0].initiate_chat(manager, message="begin")
        counts = [agent._consecutive_auto_reply_counter[manager] for agent in team]
        assert any(counts)
        session.event("test", {"counts": counts})
        session.close()

    played(scene)
    team, manager, session = build()

    (event,) = session.events(kind="test")
    assert [a._consecutive_auto_reply_counter[manager] for a in team] == event.body["counts"]


# What was interrupted goes on.


@pytest.mark.parametrize("rows", [4, 8, 11])
def test_a_script_that_is_started_again_goes_on_where_it_was(url, rows):
    """Killed anywhere and run again: the same end, and no call paid twice."""
    with ModelServer() as server:

        def scene(name):
            agents = office(server)
            with persist(agents[-1], session_id=name, url=url):
                agents[0].initiate_chat(agents[-1], message="begin")
            return memory(agents)

        calm = scene("calm")
        calls = server.count
        killed(lambda: scene("s"), after_rows=rows)

        assert scene("s") == calm
        assert server.count - 2 * calls <= 1


def test_several_chats_are_replayed_in_their_order(sqlite_url):
    """The first one is finished, the second one broke off: the script goes through both."""
    with ModelServer() as server:

        def scene(name):
            alpha, bravo = thinker("alpha", server), thinker("bravo", server)
            with persist(bravo, session_id=name, url=sqlite_url):
                alpha.initiate_chat(bravo, message="one", max_turns=2)
                alpha.initiate_chat(bravo, message="two", max_turns=2)
            return memory([alpha, bravo])

        calm = scene("calm")
        calls = server.count
        killed(lambda: scene("s"), after_rows=20)

        assert scene("s") == calm
        assert server.count - 2 * calls <= 1


@pytest.mark.parametrize("rows", [9, 14])
def test_a_later_chat_with_new_agents_is_replayed(sqlite_url, rows):
    """Who is new in the second chat has no part in what is about to be replayed."""
    with ModelServer() as server:

        def scene(name):
            team = [thinker(n, server) for n in ("alpha", "bravo", "charlie")]
            with persist(team[0], session_id=name, url=sqlite_url):
                team[0].initiate_chat(team[1], message="one", max_turns=1)
                team[0].initiate_chat(team[2], message="two", max_turns=2, clear_history=False)
            return memory(team)

        calm = scene("calm")
        calls = server.count
        killed(lambda: scene("s"), after_rows=rows)

        assert scene("s") == calm
        assert server.count - 2 * calls <= 1


def test_looking_at_an_interrupted_session_does_not_end_it(sqlite_url):
    """A process that only asks for the status leaves everything to the one that goes on."""
    with ModelServer() as server:

        def scene(name):
            agents = office(server)
            with persist(agents[-1], session_id=name, url=sqlite_url):
                agents[0].initiate_chat(agents[-1], message="begin")
            return memory(agents)

        calm = scene("calm")
        calls = server.count
        killed(lambda: scene("s"), after_rows=8)
        played(lambda: persist(office(server)[-1], session_id="s", url=sqlite_url).close())

        assert scene("s") == calm
        assert server.count - 2 * calls <= 1


def test_a_chat_that_failed_in_this_process_can_be_resumed(sqlite_url):
    """As in a notebook: the exception was caught, the agents are the same, nothing is doubled."""
    fails = [True]

    def answer(request):
        if len(request["messages"]) > 3 and fails[0]:
            raise ZeroDivisionError

    with ModelServer(answer) as server:
        agents = office(server)
        session = persist(agents[-1], session_id="s", url=sqlite_url)
        with pytest.raises(Exception, match="ZeroDivisionError"):
            agents[0].initiate_chat(agents[-1], message="begin")
        assert session.status == "failed"
        fails[0] = False
        calls = server.count
        session.resume()

        assert session.status == "finished"
        assert len(agents[-1].groupchat.messages) == 5
        assert server.count - calls == 2
        assert len(session.messages()) == 5


def test_a_session_that_could_not_be_attached_is_closed(sqlite_url):
    """The advice of the error works at once: on_mismatch='adapt'."""

    def begin(*names, **options):
        agents = [actor(name) for name in names]
        manager = group(agents)
        with persist(manager, session_id="s", url=sqlite_url, **options):
            agents[0].initiate_chat(manager, message="begin")

    played(lambda: begin("alpha", "bravo"))
    with pytest.raises(errors.AgentsChanged):
        begin("alpha", "charlie")
    begin("alpha", "charlie", on_mismatch="adapt")


def test_a_failure_that_was_caught_stays_caught(sqlite_url):
    """The first chat failed and the script went on: run again, it fails the same way, unpaid."""
    with ModelServer(
        lambda request: 1 / 0 if "fail" in str(request["messages"]) else None
    ) as server:

        def scene():
            alpha, bravo = thinker("alpha", server), thinker("bravo", server)
            with persist(bravo, session_id="s", url=sqlite_url) as session:
                with pytest.raises(Exception, match="ZeroDivisionError"):
                    alpha.initiate_chat(bravo, message="fail", max_turns=1)
                alpha.initiate_chat(bravo, message="go on", max_turns=3)
                return endings(session)

        killed(scene, after_rows=12)
        calls = server.count
        ends = scene()

        assert ends == ["exception", "max_turns"]
        assert server.count - calls <= 4


def test_an_async_chat_goes_on_as_well(sqlite_url):
    """`a_initiate_chat` is replayed like its twin."""
    with ModelServer() as server:

        def scene(name):
            agents = office(server)
            with persist(agents[-1], session_id=name, url=sqlite_url):
                asyncio.run(agents[0].a_initiate_chat(agents[-1], message="begin"))
            return memory(agents)

        calm = scene("calm")
        calls = server.count
        killed(lambda: scene("s"), after_rows=9)

        assert scene("s") == calm
        assert server.count - 2 * calls <= 1


def test_resume_needs_no_new_message(url):
    """`session.resume()` finishes what was interrupted."""
    with ModelServer() as server:

        def begin(name):
            agents = office(server)
            session = persist(agents[-1], session_id=name, url=url)
            agents[0].initiate_chat(agents[-1], message="begin")
            return agents, session

        agents, session = begin("calm")
        calm, calls = memory(agents), server.count
        session.close()
        killed(lambda: begin("s"), after_rows=8)
        agents = office(server)
        with persist(agents[-1], session_id="s", url=url) as session:
            assert session.status == "interrupted"
            result = session.resume()
            assert session.status == "finished"

        assert memory(agents) == calm
        assert result.chat_history == agents[0].chat_messages[agents[-1]]
        assert server.count - 2 * calls <= 1


def test_a_message_from_nobody_is_a_run_as_well(sqlite_url):
    """`agent.receive("…")` is answered from the journal when its script is started again."""
    with ModelServer() as server:

        def scene():
            agent = PersistentAgent("helper", url=sqlite_url, llm_config=llm_config(server),
                                    human_input_mode="NEVER")  # fmt: skip
            for question in ("one", "two", "three"):
                agent.receive(question)
            agent.session.close()
            return histories(agent)

        killed(scene, after_rows=13)
        calls = server.count
        once = scene()

        assert len(once["helper"]["user"]) == 6
        assert server.count - calls + 2 == 3


def test_an_agent_who_comes_later_gets_its_past(sqlite_url):
    """The peer of a second chat is not known before; then it has what it had."""

    def scene(first, second):
        alpha, bravo, charlie = cast(3)
        session = persist(alpha, session_id="s", url=sqlite_url)
        alpha.initiate_chat(bravo, message=first, max_turns=1)
        alpha.initiate_chat(charlie, message=second, max_turns=1, clear_history=False)
        session.close()
        return alpha.chat_messages[charlie]

    played(lambda: scene("one", "two"))
    said = scene("three", "four")

    assert [m["content"] for m in said] == ["two", "charlie says 1", "four", "charlie says 1"]


@needs_run
def test_the_default_of_run_spares_the_past(sqlite_url):
    """`run()` passes clear_history=True on by itself: nobody asked for that."""

    def scene(message):
        alpha, bravo = cast(2)
        session = persist(alpha, session_id="s", url=sqlite_url)
        response = alpha.run(bravo, message=message, max_turns=1)
        response.process()
        session.close()
        return alpha.chat_messages[bravo]

    played(lambda: scene("one"))

    assert [m["content"] for m in scene("two")][::2] == ["one", "two"]


def test_an_agent_that_asks_people_in_its_own_way_is_answered_again(sqlite_url):
    """A subclass with its own get_human_input, as user interfaces have: it is asked once."""
    asked = []

    class Desk(ConversableAgent):
        def get_human_input(self, prompt, **_):
            asked.append(prompt)
            return f"answer {len(asked)}"

    def scene():
        desk = Desk("desk", llm_config=False, human_input_mode="ALWAYS")
        with persist(desk, session_id="s", url=sqlite_url):
            actor("alpha").initiate_chat(desk, message="well?", max_turns=2)

    killed(scene, after_rows=7)
    scene()

    assert len(asked) == 1


def test_resume_has_an_async_twin(sqlite_url):
    """`await session.a_resume()`, for chats that were async."""
    with ModelServer() as server:

        def begin():
            agents = office(server)
            session = persist(agents[-1], session_id="s", url=sqlite_url)
            asyncio.run(agents[0].a_initiate_chat(agents[-1], message="begin"))
            return session

        killed(begin, after_rows=8)
        agents = office(server)
        with persist(agents[-1], session_id="s", url=sqlite_url) as session:
            with pytest.raises(errors.NothingToResume, match="a_resume"):
                session.resume()
            asyncio.run(session.a_resume())

            assert session.status == "finished"


def test_resume_says_why_it_cannot(sqlite_url):
    """Nothing was interrupted, or somebody is missing."""
    alpha, bravo = cast(2)
    with persist(alpha, session_id="s", url=sqlite_url) as session:
        assert session.status == "new"
        with pytest.raises(errors.NothingToResume, match="it is new"):
            session.resume()

    killed(lambda: persist(bravo, session_id="t", url=sqlite_url)
           and alpha.initiate_chat(bravo, message="begin", max_turns=2), after_rows=3)  # fmt: skip
    with persist(bravo, session_id="t", url=sqlite_url) as session:
        with pytest.raises(errors.NothingToResume, match="alpha"):
            session.resume()
        session.resume(alpha)
        assert session.status == "finished"


def test_a_failed_run_says_so(sqlite_url):
    """`status` tells an exception from an end."""
    alpha, bravo = cast(2)
    bravo.register_reply(autogen.Agent, lambda *_, **__: 1 / 0)
    session = persist(alpha, session_id="s", url=sqlite_url)
    with pytest.raises(ZeroDivisionError):
        alpha.initiate_chat(bravo, message="begin")

    assert session.status == "failed"


def test_another_opening_continues_what_was_interrupted(sqlite_url):
    """The run is closed as abandoned, its messages are there, and the new message comes after."""
    with ModelServer() as server:

        def begin(message):
            agents = office(server)
            session = persist(agents[-1], session_id="s", url=sqlite_url)
            agents[0].initiate_chat(agents[-1], message=message)
            return agents, session

        killed(lambda: begin("begin"), after_rows=8)
        agents, session = begin("something else")

        said = [m["content"] for m in agents[-1].groupchat.messages]
        assert said[0] == "begin"
        assert "something else" in said[2:]
        assert endings(session) == ["abandoned", "max_round"]


def test_a_tool_call_without_an_answer_gets_one(sqlite_url):
    """A model would refuse a history in which a call is left open."""

    def answer(request):
        call = {"tool_calls": [tool_call("pay", call_id="c1", amount=1)]}
        return call if len(request["messages"]) < 3 else None

    with ModelServer(answer) as server:

        def begin(message, last):
            user = actor("user")
            helper = thinker("helper", server)
            session = persist(helper, session_id="s", url=sqlite_url)
            user.register_function({"pay": lambda amount: last()})
            user.initiate_chat(helper, message=message, max_turns=2)
            return user, helper, session

        killed(lambda: begin("pay", lambda: os._exit(9)), after_rows=1_000)
        user, helper, _ = begin("never mind", lambda: "paid")

        roles = [m["role"] for m in helper.chat_messages[user]]
        assert roles[:4] == ["user", "assistant", "tool", "user"]
        assert "unknown" in helper.chat_messages[user][2]["content"]


def test_a_changed_group_is_an_error(sqlite_url):
    """Agents are known by their names: one more, one less or another name is told."""

    def begin(names, **options):
        agents = [actor(name) for name in names]
        manager = group(agents)
        session = persist(manager, session_id="s", url=sqlite_url, **options)
        agents[0].initiate_chat(manager, message="begin")
        return manager, session

    played(lambda: begin(("alpha", "bravo", "charlie"))[1].close())
    with pytest.raises(errors.AgentsChanged, match="charlie missing now; delta new"):
        begin(("alpha", "bravo", "delta"))

    manager, _ = begin(("alpha", "bravo", "delta"), on_mismatch="adapt")
    names = [m["name"] for m in manager.groupchat.messages]
    assert names[:3] == ["alpha", "bravo", "charlie"]
    assert "delta" in names[5:]


def test_a_changed_prompt_may_go_on_live(sqlite_url):
    """on_divergence='live': the journal is rewound, the rest is asked again."""
    with ModelServer() as server:

        def begin(prompt, **options):
            agents = office(server)
            agents[1].update_system_message(prompt)
            session = persist(agents[-1], session_id="s", url=sqlite_url, **options)
            agents[0].initiate_chat(agents[-1], message="begin")
            return agents[-1], session

        killed(lambda: begin("You are old."), after_rows=12)
        calls = server.count
        with pytest.raises(errors.Divergence, match=r"'You are old\.', and is 'You are new\.'"):
            begin("You are new.")
        assert server.count == calls
        close_all()
        manager, session = begin("You are new.", on_divergence="live")

        said = [m["content"] for m in manager.groupchat.messages]
        assert [row.text for row in session.messages() if not row.internal] == said
        assert server.count == calls + 4
