"""A chat that is interrupted and goes on: run it, press Ctrl-C or kill it, run it again.

Without a key: the "model" is a class in this file that thinks for a second and counts its
calls. Run again after an interruption, it is asked only for what is missing.
"""

import os
import time
from pathlib import Path
from types import SimpleNamespace

from autogen import ConversableAgent, GroupChat, GroupChatManager

from autogen_persist import persist

CALLS = Path("resume_calls.txt")
THINKING = float(os.environ.get("THINKING", "1"))


class Thinker:
    """What AutoGen needs of a model client."""

    def __init__(self, config, **_):
        pass

    def create(self, params):
        time.sleep(THINKING)
        with CALLS.open("a") as file:
            file.write("call\n")
        words = f"thought about {len(params['messages'])} messages"
        message = SimpleNamespace(content=words, function_call=None, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], model="thinker")

    def message_retrieval(self, response):
        return [choice.message.content for choice in response.choices]

    def cost(self, response):
        return 0.0

    @staticmethod
    def get_usage(response):
        return {}


def main():
    config = {
        "config_list": [{"model": "thinker", "model_client_cls": "Thinker"}],
        "cache_seed": None,
    }
    team = [
        ConversableAgent(name, llm_config=config, human_input_mode="NEVER")
        for name in ("planner", "coder", "reviewer")
    ]
    for agent in team:
        agent.register_model_client(model_client_cls=Thinker)
    chat = GroupChat(agents=team, messages=[], max_round=8, speaker_selection_method="round_robin")
    manager = GroupChatManager(groupchat=chat, llm_config=False)
    with persist(manager, session_id="resume-me") as session:
        print(f"session {session.id} is {session.status}")
        team[0].initiate_chat(manager, message="Plan a parser for log files")
        print(f"session {session.id} is {session.status}: {len(session.messages())} messages")
    print(f"{len(CALLS.read_text().splitlines())} model calls in all")


if __name__ == "__main__":
    main()
