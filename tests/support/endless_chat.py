"""A chat that goes on until it is killed: `endless_chat.py URL SESSION DURABILITY`.

Prints a line for every message that somebody has heard, so that the one who kills it
knows what was acknowledged.
"""

import sys

from autogen import ConversableAgent, GroupChat, GroupChatManager

from autogen_persist import persist


def speak(recipient, messages, sender, config):
    """Say what was heard last, then answer with the next number."""
    heard = messages[-1]["content"]
    sys.__stdout__.write(f"{heard}\n")
    sys.__stdout__.flush()
    return True, str(int(heard) + 1)


def main(url: str, session_id: str, durability: str) -> None:
    agents = [ConversableAgent(name, llm_config=False) for name in ("planner", "coder", "tester")]
    for agent in agents:
        agent.register_reply([ConversableAgent, None], speak)
    chat = GroupChat(agents, [], max_round=10**9, speaker_selection_method="round_robin")
    manager = GroupChatManager(chat, llm_config=False, silent=True)
    persist(manager, session_id=session_id, url=url, durability=durability)
    agents[0].initiate_chat(manager, message="1", silent=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
