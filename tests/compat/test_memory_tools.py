"""Agents that remember and recall through AutoGen's own tools."""

from __future__ import annotations

import copy
import json

from autogen import ConversableAgent

from autogen_persist import Memory, PersistentAgent


def call(agent, name, **arguments):
    """What the executor answers to a tool call of a model."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant", "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }  # fmt: skip
    _, answer = agent.generate_tool_calls_reply(messages=[message])
    return answer["tool_responses"][0]["content"]


def test_an_agent_remembers_and_recalls(sqlite_url):
    """The caller's model is offered both tools; the executor runs them."""
    config = {"config_list": [{"model": "m", "api_key": "none"}]}
    coder = ConversableAgent("coder", llm_config=config)
    runner = ConversableAgent("runner", llm_config=False, human_input_mode="NEVER")
    with Memory("team", url=sqlite_url) as memory:
        memory.register(caller=coder, executor=runner)

        offered = {tool["function"]["name"] for tool in coder.llm_config["tools"]}
        kept = call(runner, "remember", text="We deploy with Helm", kind="pattern")
        found = call(runner, "recall", query="how do we deploy?")
        refused = call(runner, "remember", text="We deploy with Helm", kind="wisdom")
        secret = call(runner, "remember", text="The password is hunter2hunter2")

        assert offered == {"remember", "recall"}
        assert kept.startswith("Kept as learning")
        assert "We deploy with Helm" in found
        assert "expected 'decision'" in refused
        assert secret.startswith("Not kept")
        assert len(memory.learnings()) == 1


def test_a_persistent_agent_has_a_memory_of_its_own(sqlite_url):
    """In the database of its session, under its name; a copy of the agent has the same."""
    agent = PersistentAgent("coder", llm_config=False, url=sqlite_url)
    agent.memory.remember("The staging server is called atlas")

    assert copy.deepcopy(agent.memory) is agent.memory
    agent.session.close()
    with Memory("autogen-coder", url=sqlite_url) as memory:
        assert len(memory.recall("staging server")) == 1
