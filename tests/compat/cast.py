"""Actors for the scenarios, the same in every distribution, and what to compare."""

from __future__ import annotations

import inspect
from typing import Any

import autogen
import pytest
from autogen import ConversableAgent, GroupChat, GroupChatManager

HAS_RUN = hasattr(ConversableAgent, "run")
HAS_ASYNC_SEND_HOOK = "a_process_message_before_send" in inspect.getsource(ConversableAgent)
SEND_HOOKS = ("process_message_before_send",) + (
    ("a_process_message_before_send",) if HAS_ASYNC_SEND_HOOK else ()
)

needs_run = pytest.mark.skipif(not HAS_RUN, reason="AutoGen 0.2 has no run()")
needs_patterns = pytest.mark.skipif(
    not hasattr(autogen.agentchat, "initiate_group_chat"), reason="AutoGen 0.2 has no patterns"
)


def actor(name: str, *lines: Any, kind: type = ConversableAgent, **options: Any) -> Any:
    """An agent that says its lines, one per reply, and then what number its reply has."""
    settings = {"llm_config": False, "human_input_mode": "NEVER", "code_execution_config": False}
    made = kind(name, **{**settings, **options})
    script = iter(lines)
    replies = iter(range(1, 1_000_000))

    def speak(recipient: Any, messages: Any = None, sender: Any = None, config: Any = None) -> Any:
        number = next(replies)
        return True, next(script, f"{name} says {number}")

    # At the end of the list: termination, people, tools, code and nested chats come first.
    made.register_reply([autogen.Agent, None], speak, position=len(made._reply_func_list))
    return made


def cast(count: int = 3) -> list[Any]:
    """Some actors: alpha, bravo, charlie…"""
    return [actor(name) for name in ("alpha", "bravo", "charlie", "delta", "echo")[:count]]


def group(agents: list[Any], *, manager: Any = None, **options: Any) -> GroupChatManager:
    """A manager over a round-robin group, unless told otherwise."""
    settings = {"messages": [], "max_round": 5, "speaker_selection_method": "round_robin"}
    chat = GroupChat(agents=agents, **{**settings, **options})
    return GroupChatManager(groupchat=chat, **{"llm_config": False, **(manager or {})})


def words(content: Any) -> str:
    """Content as AutoGen's group list has it: text, with '' or 'None' for nothing."""
    if isinstance(content, list):
        return "".join(part.get("text", "<image>") for part in content)
    return "" if content in (None, "None") else content


def transcript(manager: Any) -> list[tuple[str, str]]:
    """Who said what, by AutoGen's own list."""
    return [(m["name"], words(m["content"])) for m in manager.groupchat.messages]


def journaled(session: Any, listener: str | None = None) -> list[tuple[str, str]]:
    """Who said what, by the journal: without introductions and chatter."""
    return [
        (row.speaker, words(row.body.get("content")))
        for row in session.messages()
        if row.kind != "introduction" and not row.internal and listener in (None, row.listener)
    ]


def assert_same(session: Any, manager: Any) -> None:
    """The journal is the group's list, each message once, numbered without a gap."""
    assert journaled(session) == transcript(manager)
    assert_gapless(session)


def assert_gapless(session: Any) -> None:
    assert [row.seq for row in session.messages()] == list(range(1, len(session.messages()) + 1))
    assert [row.pos for row in session.rows()] == list(range(1, len(session.rows()) + 1))


def histories(*agents: Any) -> dict[str, dict[str, list[Any]]]:
    """Every agent's chat_messages by names; an empty list is only a key that was read."""
    return {
        agent.name: {peer.name: list(said) for peer, said in agent.chat_messages.items() if said}
        for agent in agents
    }


def endings(session: Any) -> list[str]:
    """Why each run ended."""
    return [event.body["reason"] for event in session.events(kind="run_ended")]
