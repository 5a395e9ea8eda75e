"""Scripts to be killed: `scripts.py NAME`, without one word of persistence in them.

MODEL_URL is the model server, TOOL_LOG a file with a line for each tool that ran, STATE the
file that the final state is written to.
"""

import asyncio
import json
import os
import random
import sys

import autogen
from autogen import AssistantAgent, ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent

from tests.support import kill
from tests.support.model_server import llm_config

MODEL = llm_config(os.environ["MODEL_URL"])
NEVER = {"human_input_mode": "NEVER", "code_execution_config": False}


def agent(name, **options):
    return AssistantAgent(name, llm_config=MODEL, **({"human_input_mode": "NEVER"} | options))


def group(agents, rounds=6, manager_config=False, **options):
    options = {"speaker_selection_method": "round_robin"} | options
    chat = GroupChat(agents, [], max_round=rounds, **options)
    return GroupChatManager(chat, llm_config=manager_config, silent=True)


def log_tool(line):
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(f"{line}\n")


def state(*agents, results=()):
    """Everything that must be the same, byte for byte."""
    return {
        "results": [[r.chat_history, r.summary, r.cost, r.human_input] for r in results],
        "agents": {
            a.name: {
                "messages": {p.name: m for p, m in a.chat_messages.items()},
                "counters": {p.name: n for p, n in a._consecutive_auto_reply_counter.items()},
                "usage": a.client.total_usage_summary if getattr(a, "client", None) else None,
                "group": a.groupchat.messages if isinstance(a, GroupChatManager) else None,
            }
            for a in agents
        },
    }


def round_robin():
    changed = os.environ.get("CHANGE")
    said = {"system_message": "You are new here."} if changed == "prompt" else {}
    team = [agent("planner"), agent("coder", **said), agent("tester")]
    manager = group(team)
    opening = "begin otherwise" if changed == "opening" else "begin"
    return state(*team, manager, results=[team[0].initiate_chat(manager, message=opening)])


def auto():
    team = [agent(n) for n in ("planner", "coder", "tester")]
    manager = group(team, 5, MODEL, speaker_selection_method="auto", send_introductions=True)
    return state(*team, manager, results=[team[0].initiate_chat(manager, message="begin")])


def chance():
    random.seed()  # another one each time
    team = [agent(n) for n in ("planner", "coder", "tester", "reviewer")]
    manager = group(team, 7, speaker_selection_method="random")
    return state(*team, manager, results=[team[0].initiate_chat(manager, message="begin")])


def tools():
    user, coder = UserProxyAgent("user", **NEVER), agent("coder", max_consecutive_auto_reply=4)

    def pay(amount: int) -> str:
        log_tool(f"pay {amount}")
        return f"paid {amount}"

    autogen.register_function(pay, caller=coder, executor=user, description="Pay a bill.")
    result = user.initiate_chat(coder, message="use pay twice", max_turns=4)
    return state(user, coder, results=[result])


def nested():
    planner, coder, critic = agent("planner"), agent("coder"), agent("critic")
    coder.register_nested_chats(
        [{"recipient": critic, "max_turns": 2, "summary_method": "last_msg"}],
        trigger=lambda sender: sender.name != "critic",
    )
    manager = group([planner, coder], 4)
    return state(planner, coder, critic, manager,
                 results=[planner.initiate_chat(manager, message="begin")])  # fmt: skip


def sequential():
    user, one, two = UserProxyAgent("user", **NEVER), agent("one"), agent("two")
    summed_up = {"max_turns": 2, "summary_method": "reflection_with_llm"}
    results = user.initiate_chats(
        [
            {"recipient": one, "message": "first", **summed_up},
            {"recipient": two, "message": "second", "max_turns": 2, "summary_method": "last_msg"},
        ]
    )
    return state(user, one, two, results=results)


def asynchronous():
    team = [agent(n) for n in ("planner", "coder", "tester")]
    manager = group(team)
    result = asyncio.run(team[0].a_initiate_chat(manager, message="begin"))
    return state(*team, manager, results=[result])


def two_questions():
    user, helper = UserProxyAgent("user", **NEVER), agent("helper", max_consecutive_auto_reply=2)
    first = user.initiate_chat(helper, message="one?", max_turns=2)
    second = user.initiate_chat(helper, message="two?", max_turns=2, clear_history=False)
    return state(user, helper, results=[first, second])


def people():
    user = UserProxyAgent("user", human_input_mode="ALWAYS", code_execution_config=False)
    helper = agent("helper")
    return state(user, helper, results=[user.initiate_chat(helper, message="hello", max_turns=3)])


def code():
    from autogen.coding import LocalCommandLineCodeExecutor

    executor = LocalCommandLineCodeExecutor(work_dir=os.environ["WORK"])
    runner = ConversableAgent("runner", llm_config=False, human_input_mode="NEVER",
                              code_execution_config={"executor": executor})  # fmt: skip
    coder = agent("coder")
    return state(
        runner, coder, results=[runner.initiate_chat(coder, message="write code", max_turns=3)]
    )


if __name__ == "__main__":
    kill.arm()
    final = globals()[sys.argv[1]]()
    with open(os.environ["STATE"], "w") as file:
        json.dump(final, file, default=str, sort_keys=True)
