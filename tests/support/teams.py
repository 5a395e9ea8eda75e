"""Small scripted teams of real agents: no model, no key."""

from __future__ import annotations

from typing import Any

from autogen import ConversableAgent, GroupChat, GroupChatManager


def scripted(name: str, reply: Any = None, **options: Any) -> ConversableAgent:
    """An agent that always says the same, or what `reply(messages)` returns."""
    options = {"llm_config": False, "human_input_mode": "NEVER"} | options
    if not callable(reply):
        return ConversableAgent(name, default_auto_reply=reply or f"{name} says hi", **options)
    agent = ConversableAgent(name, **options)
    agent.register_reply(
        [ConversableAgent, None], lambda _self, messages, sender, config: (True, reply(messages))
    )
    return agent


def group(*agents: ConversableAgent, rounds: int = 6, **options: Any) -> GroupChatManager:
    """A round-robin group of these agents, and its silent manager."""
    options = {"speaker_selection_method": "round_robin"} | options
    chat = GroupChat(list(agents), [], max_round=rounds, **options)
    return GroupChatManager(chat, llm_config=False, silent=True)


def texts(session: Any) -> list[str]:
    return [row.text for row in session.messages()]
