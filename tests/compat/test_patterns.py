"""Group patterns of AutoGen 0.9 and later: handoffs, context variables, internal agents."""

from __future__ import annotations

import asyncio

import autogen
import pytest
from autogen import ConversableAgent

from autogen_persist import PersistentAgent, instrument
from tests.compat.cast import assert_gapless, endings, needs_patterns, words
from tests.support.model_server import ModelServer, llm_config, tool_call

pytestmark = needs_patterns


def triage(request):
    """The first agent hands off by a tool, the second uses a tool with context, then ends."""
    system = request["messages"][0]["content"]
    tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
    if "desk" in system:
        return {"tool_calls": [tool_call(tools[0], "call_desk")]}
    if request["messages"][-1]["role"] == "tool":
        return "solved it"
    return {"tool_calls": [tool_call("look_up", "call_look", key="invoice")]}


def office(server, make):
    """A desk that hands everything to an expert, who has a tool."""
    from autogen.agentchat.group import (
        AgentTarget,
        ContextVariables,
        OnCondition,
        ReplyResult,
        StringLLMCondition,
        TerminateTarget,
    )
    from autogen.agentchat.group.patterns import DefaultPattern

    def look_up(key: str, context_variables: ContextVariables) -> ReplyResult:
        """Look something up."""
        context_variables["asked"] = key
        return ReplyResult(message=f"{key}: in the drawer", context_variables=context_variables)

    look_up.__annotations__ = {
        "key": str, "context_variables": ContextVariables, "return": ReplyResult,
    }  # fmt: skip
    config = llm_config(server)
    desk = make("desk", system_message="You are the desk.", llm_config=config)
    expert = make("expert", system_message="You know.", llm_config=config, functions=[look_up])
    desk.handoffs.add_llm_condition(
        OnCondition(target=AgentTarget(expert), condition=StringLLMCondition("needs an expert"))
    )
    expert.handoffs.set_after_work(TerminateTarget())
    user = make("person", human_input_mode="NEVER", llm_config=False)
    return DefaultPattern(
        initial_agent=desk, agents=[desk, expert], user_agent=user,
        context_variables=ContextVariables(data={"asked": None}),
    )  # fmt: skip


def said(result):
    return [(m["name"], words(m["content"])) for m in result.chat_history]


def rows(session):
    """Speakers and words; AutoGen takes the name off its temporary user in the result."""
    return [(r.speaker, words(r.body.get("content"))) for r in session.messages() if not r.internal]


def hold(pattern, is_async, **options):
    """One group chat, in its sync or async form."""
    from autogen.agentchat import a_initiate_group_chat, initiate_group_chat

    if is_async:
        return asyncio.run(a_initiate_group_chat(pattern=pattern, **options))
    return initiate_group_chat(pattern=pattern, **options)


both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@both
def test_handoffs_and_context_are_journaled_under_instrument(sqlite_url, is_async):
    """Every message of a pattern, the internal tool executor's included, in one run."""
    session = instrument(session_id="s", url=sqlite_url)
    with ModelServer(triage) as server:
        pattern = office(server, ConversableAgent)
        result, context, last = hold(pattern, is_async, messages="where is it?", max_rounds=8)

    assert (context["asked"], last.name) == ("invoice", "expert")
    assert rows(session) == said(result)
    assert [row.kind for row in session.messages()] == [
        "text", "tool_call", "tool_result", "tool_call", "tool_result", "text",
    ]  # fmt: skip
    assert {row.run for row in session.messages()} == {1}
    assert_gapless(session)


@both
def test_persistent_agents_journal_their_pattern(sqlite_url, is_async):
    """Members that are persisted by construction make the pattern's chat theirs."""
    made = []

    def make(name, **options):
        made.append(PersistentAgent(name, session_id="s", url=sqlite_url, **options))
        return made[-1]

    with ModelServer(triage) as server:
        pattern = office(server, make)
        result, _, _ = hold(pattern, is_async, messages="where is it?", max_rounds=8)

    session = made[0].session
    assert rows(session) == said(result)
    assert_gapless(session)


def test_a_round_robin_pattern_is_journaled(sqlite_url):
    """RoundRobinPattern: in turn, each once."""
    from autogen.agentchat.group.patterns import RoundRobinPattern

    session = instrument(session_id="s", url=sqlite_url)
    with ModelServer() as server:
        config = llm_config(server)
        agents = [ConversableAgent(name, llm_config=config) for name in ("ann", "ben", "cat")]
        pattern = RoundRobinPattern(initial_agent=agents[0], agents=agents)
        result, _, _ = hold(pattern, False, messages="begin", max_rounds=5)

    assert [row.speaker for row in session.messages()][1:] == ["ann", "ben", "cat", "ann"]
    assert [text for _, text in rows(session)] == contents(result)
    assert endings(session) == ["max_round"]


def contents(result):
    return [words(message["content"]) for message in result.chat_history]


def test_an_auto_pattern_is_journaled_with_its_chatter(sqlite_url):
    """AutoPattern: the manager's model chooses, and its choices are internal."""
    from autogen.agentchat.group.patterns import AutoPattern

    def choose(request):
        chooses = "Read the above conversation" in str(request["messages"])
        return "ben" if chooses else None

    session = instrument(session_id="s", url=sqlite_url)
    with ModelServer(choose) as server:
        config = llm_config(server)
        agents = [ConversableAgent(name, llm_config=config) for name in ("ann", "ben")]
        pattern = AutoPattern(
            initial_agent=agents[0], agents=agents, group_manager_args={"llm_config": config}
        )
        result, _, _ = hold(pattern, False, messages="begin", max_rounds=4)

    assert [text for _, text in rows(session)] == contents(result)
    assert "ben" in [row.text for row in session.messages() if row.internal]
    assert_gapless(session)


def test_a_pattern_that_begins_with_a_history_does_not_double_it(sqlite_url):
    """Several opening messages go through resume(): each is one row."""
    from autogen.agentchat.group.patterns import RoundRobinPattern

    session = instrument(session_id="s", url=sqlite_url)
    with ModelServer() as server:
        config = llm_config(server)
        agents = [ConversableAgent(name, llm_config=config) for name in ("ann", "ben")]
        pattern = RoundRobinPattern(initial_agent=agents[0], agents=agents)
        past = [
            {"content": "first", "name": "ann", "role": "user"},
            {"content": "second", "name": "ben", "role": "user"},
        ]
        result, _, _ = hold(pattern, False, messages=past, max_rounds=3)

    assert [text for _, text in rows(session)] == contents(result)
    assert rows(session)[:2] == [("ann", "first"), ("ben", "second")]
    assert_gapless(session)


if hasattr(autogen.agentchat, "run_group_chat"):  # not in 0.9, which has the other patterns

    def test_run_group_chat_is_journaled_from_its_thread(sqlite_url):
        """run_group_chat() talks in a thread of its own."""
        from autogen.agentchat import run_group_chat
        from autogen.agentchat.group.patterns import RoundRobinPattern

        session = instrument(session_id="s", url=sqlite_url)
        with ModelServer() as server:
            config = llm_config(server)
            agents = [ConversableAgent(name, llm_config=config) for name in ("ann", "ben")]
            pattern = RoundRobinPattern(initial_agent=agents[0], agents=agents)
            response = run_group_chat(pattern=pattern, messages="begin", max_rounds=4)
            response.process()

        assert [row.speaker for row in session.messages()][1:] == ["ann", "ben", "ann"]
