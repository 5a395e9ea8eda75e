"""Scripts to be killed: `scripts.py NAME`, without one word of persistence in them.

MODEL_URL is the model server, TOOL_LOG a file with a line for each tool that ran, STATE the
file that the final state is written to, CHANGE what somebody edited since the last time.
"""

import asyncio
import json
import os
import random
import sys
import time

import autogen
from autogen import AssistantAgent, ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent

from tests.crash.model import AWAY, STUBBORN
from tests.support import kill
from tests.support.model_server import llm_config

URL = os.environ["MODEL_URL"]
CHANGE = os.environ.get("CHANGE", "")
MODEL = llm_config(URL)
NEVER = {"human_input_mode": "NEVER", "code_execution_config": False}
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)


def agent(name, **options):
    settings = {"llm_config": MODEL, "human_input_mode": "NEVER"}
    return AssistantAgent(name, **(settings | options))


def user(**options):
    return UserProxyAgent("user", **(NEVER | options))


def team(*names):
    return [agent(name) for name in names or ("planner", "coder", "tester")]


def group(agents, rounds=6, manager_config=False, **options):
    options = {"speaker_selection_method": "round_robin"} | options
    chat = GroupChat(agents, [], max_round=rounds, **options)
    return GroupChatManager(chat, llm_config=manager_config, silent=True)


def do(line):
    """What a tool does to the world: a line in a file. Its result must hold the line."""
    kill.here("doing")
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(f"{line}\n")
    kill.here("done")
    return line


def state(*agents, results=(), **more):
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
        **more,
    }


def as_text(value):
    """An image by its pixels, for its address is another one each time."""
    return value.tobytes().hex() if hasattr(value, "tobytes") else str(value)


# Groups.


def round_robin():
    said = {
        "prompt": {"system_message": "You are new here."},
        "clock": {"system_message": f"It is {time.time_ns()}."},
        "set": {"system_message": f"Mind {set('abcdefghijklmnop')}."},
    }.get(CHANGE, {})
    second = "builder" if CHANGE == "name" else "coder"
    agents = [agent("planner"), agent(second, **said), agent("tester")]
    manager = group(agents)
    opening = "begin otherwise" if CHANGE == "opening" else "begin"
    return state(*agents, manager, results=[agents[0].initiate_chat(manager, message=opening)])


def auto():
    agents = team()
    manager = group(agents, 5, MODEL, speaker_selection_method="auto", send_introductions=True)
    return state(*agents, manager, results=[agents[0].initiate_chat(manager, message="begin")])


def chance():
    random.seed()  # another one each time
    agents = team("planner", "coder", "tester", "reviewer")
    manager = group(agents, 7, speaker_selection_method="random")
    return state(*agents, manager, results=[agents[0].initiate_chat(manager, message="begin")])


def selector():
    """A function chooses, and now and then leaves it to a method of AutoGen."""
    agents = team()

    def choose(last, chat):
        return "round_robin" if len(chat.messages) % 3 == 0 else agents[-1]

    manager = group(agents, 5, speaker_selection_method=choose)
    return state(*agents, manager, results=[agents[0].initiate_chat(manager, message="begin")])


def manual():
    """A person at the terminal chooses the next speaker."""
    agents = team()
    manager = group(agents, 4, speaker_selection_method="manual")
    return state(*agents, manager, results=[agents[0].initiate_chat(manager, message="begin")])


def nested():
    planner, coder, critic = team("planner", "coder", "critic")
    coder.register_nested_chats(
        [{"recipient": critic, "max_turns": 2, "summary_method": "last_msg"}],
        trigger=lambda sender: sender.name != "critic",
    )
    manager = group([planner, coder], 4)
    return state(planner, coder, critic, manager,
                 results=[planner.initiate_chat(manager, message="begin")])  # fmt: skip


def asynchronous():
    agents = team()
    manager = group(agents)
    result = asyncio.run(agents[0].a_initiate_chat(manager, message="begin"))
    return state(*agents, manager, results=[result])


def streaming():
    """The clients are exchanged: 0.9 has no setting for it that an agent would take."""
    config = llm_config(URL)
    config["config_list"][0]["stream"] = True
    # AutoGen counts with tiktoken, which would fetch its tables from the network.
    autogen.oai.client.count_token = lambda words, model=None: len(str(words))
    agents = team("planner", "coder")
    for each in agents:
        each.client = autogen.OpenAIWrapper(**config)
    manager = group(agents, 4)
    return state(*agents, manager, results=[agents[0].initiate_chat(manager, message="begin")])


# Two agents.


def sequential():
    asker, one, two = user(), agent("one"), agent("two")
    summed_up = {"max_turns": 2, "summary_method": "reflection_with_llm"}
    results = asker.initiate_chats(
        [
            {"recipient": one, "message": "first", **summed_up},
            {"recipient": two, "message": "second", "max_turns": 2, "summary_method": "last_msg"},
        ]
    )
    return state(asker, one, two, results=results)


def two_questions():
    asker, helper = user(), agent("helper", max_consecutive_auto_reply=2)
    first = asker.initiate_chat(helper, message="one?", max_turns=2)
    second = asker.initiate_chat(helper, message="two?", max_turns=2, clear_history=False)
    return state(asker, helper, results=[first, second])


def reply_limit():
    """Two agents that would go on for ever, but for their limits."""
    one, two = (agent(name, max_consecutive_auto_reply=2) for name in ("one", "two"))
    return state(one, two, results=[one.initiate_chat(two, message="begin")])


def people():
    asker, helper = user(human_input_mode="ALWAYS"), agent("helper")
    return state(asker, helper, results=[asker.initiate_chat(helper, message="hi", max_turns=3)])


def multimodal():
    """Words and a picture, to an agent that knows nothing of pictures."""
    asker, helper = user(), agent("helper")
    result = asker.initiate_chat(helper, message={"content": picture()}, max_turns=2)
    return state(asker, helper, results=[result])


def by_name():
    """An agent that gives its client its name and not itself, as the one for pictures does."""

    def ask(self, messages):
        said = self.client.create(messages=messages, agent=self.name)
        return True, self.client.extract_text_or_completion_object(said)[0]

    def reply(self, messages, sender, config):
        return ask(self, messages)

    async def a_reply(self, messages, sender, config):
        return await asyncio.get_running_loop().run_in_executor(None, ask, self, messages)

    asker, helper = user(), agent("helper")
    helper.register_reply([autogen.Agent, None], reply)
    helper.register_reply([autogen.Agent, None], a_reply, ignore_async_in_sync_chat=True)
    first = asker.initiate_chat(helper, message="hi", max_turns=2)
    second = asyncio.run(asker.a_initiate_chat(helper, message="ho", max_turns=2))
    return state(asker, helper, results=[first, second])


def pictures():
    """AutoGen's own agent for pictures."""
    from autogen.agentchat.contrib.multimodal_conversable_agent import MultimodalConversableAgent

    asker = user()
    looker = MultimodalConversableAgent("looker", llm_config=MODEL, human_input_mode="NEVER")
    said = f"What is this? <img {PIXEL}>"
    return state(asker, looker, results=[asker.initiate_chat(looker, message=said, max_turns=2)])


def picture():
    return [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": PIXEL}},
    ]


def run():
    """run() talks in a thread of its own; the events are its output."""
    one, two = agent("one"), agent("two")
    response = one.run(recipient=two, message="begin", max_turns=2)
    response.process()
    return state(one, two, said=list(response.messages), summary=response.summary)


def run_alone():
    """run() without a partner makes one that executes tools."""
    coder = agent("coder")

    def pay(amount: int) -> str:
        """Pay a bill."""
        return do(f"paid {amount}")

    response = coder.run(message="use pay", tools=autogen.tools.tool(name="pay")(pay), max_turns=3)
    assert [event.type for event in response.events][-1] == "run_completion"
    return state(coder, said=list(response.messages), summary=response.summary)


# Tools, code and failures.


def tools():
    payer, coder = user(), agent("coder", max_consecutive_auto_reply=4)

    def pay(amount: int) -> str:
        line = do(f"paid {amount}")
        return f"{line}, and more" if CHANGE == "result" else line

    about = "Pay any bill." if CHANGE == "schema" else "Pay a bill."
    autogen.register_function(pay, caller=coder, executor=payer, description=about)
    result = payer.initiate_chat(coder, message="use pay twice", max_turns=4)
    return state(payer, coder, results=[result])


def async_tools():
    """Two calls in one message, awaited together."""
    payer, coder = user(), agent("coder", max_consecutive_auto_reply=4)

    async def pay(amount: int) -> str:
        await asyncio.sleep(0)
        return do(f"paid {amount}")

    autogen.register_function(pay, caller=coder, executor=payer, description="Pay a bill.")
    chat = payer.a_initiate_chat(coder, message="pay both at once", max_turns=3)
    return state(payer, coder, results=[asyncio.run(chat)])


def failing_tool():
    """A tool that raises: AutoGen tells the model, which tries again."""
    payer, coder = user(), agent("coder", max_consecutive_auto_reply=4)

    def pay(amount: int) -> str:
        line = do(f"tried {amount}")
        if amount == 1:
            raise ValueError(line)
        return line

    autogen.register_function(pay, caller=coder, executor=payer, description="Pay a bill.")
    result = payer.initiate_chat(coder, message="use pay twice", max_turns=4)
    return state(payer, coder, results=[result])


def failing_model():
    """The first model is away whenever it is asked, the second one answers."""
    config = llm_config(URL)
    config["config_list"] = [{**config["config_list"][0], "model": AWAY}, *config["config_list"]]
    agents = [agent(name, llm_config=config) for name in ("planner", "coder")]
    manager = group(agents, 4)
    return state(*agents, manager, results=[agents[0].initiate_chat(manager, message="begin")])


def caught():
    """A chat whose model fails for good; the script catches it and asks something else."""
    asker, helper = user(), agent("helper")
    failures = []
    for question in ("one?", STUBBORN, "two?"):
        try:
            asker.initiate_chat(helper, message=question, max_turns=2)
        except Exception as error:
            failures.append([type(error).__name__, str(error)])
    return state(asker, helper, failures=failures)


def code():
    from autogen.coding import LocalCommandLineCodeExecutor

    executor = LocalCommandLineCodeExecutor(work_dir=os.environ["WORK"])
    runner = ConversableAgent("runner", llm_config=False, human_input_mode="NEVER",
                              code_execution_config={"executor": executor})  # fmt: skip
    coder = agent("coder")
    return state(
        runner, coder, results=[runner.initiate_chat(coder, message="write code", max_turns=3)]
    )


# Patterns.


def office():
    """A desk hands over to an expert, whose tool says what it found out; then a clerk.

    The expert's tool returns all it knows, the clerk's changes what is known in its place.
    """
    from autogen.agentchat import group as g

    def look_up(amount: int, context_variables: g.ContextVariables) -> g.ReplyResult:
        """Look something up."""
        line = do(f"looked {amount}")
        context_variables["found"] = [*context_variables["found"], line]
        return g.ReplyResult(message=line, context_variables=context_variables)

    def agree(amount: int) -> g.ReplyResult:
        """Sign the papers, and hand over."""
        desk.context_variables["signed"].append(amount)
        desk.context_variables.remove("secret")
        target = g.AgentTarget(desk) if amount == 1 else g.TerminateTarget()
        return g.ReplyResult(message=do(f"signed {amount}"), target=target)

    desk = agent("desk", system_message="You are the desk.")
    expert = agent("expert", system_message="You know.", functions=[look_up])
    clerk = agent("clerk", system_message="You sign.", functions=[agree])
    desk.handoffs.add_llm_condition(
        g.OnCondition(
            target=g.AgentTarget(expert), condition=g.StringLLMCondition("needs an expert")
        )
    )
    done = g.ExpressionContextCondition(g.ContextExpression("len(${found}) >= 2"))
    expert.handoffs.add_context_condition(
        g.OnContextCondition(target=g.AgentTarget(clerk), condition=done)
    )
    expert.handoffs.set_after_work(g.StayTarget())
    clerk.handoffs.set_after_work(g.TerminateTarget())
    known = {"found": [], "signed": [], "secret": 1, "clock": time.monotonic}
    return [desk, expert, clerk], g.ContextVariables(data=known)


def handoffs():
    from autogen.agentchat import initiate_group_chat
    from autogen.agentchat.group.patterns import DefaultPattern

    agents, known = office()
    pattern = DefaultPattern(initial_agent=agents[0], agents=agents, context_variables=known)
    result, context, last = initiate_group_chat(pattern=pattern, messages="begin", max_rounds=20)
    return state(*agents, results=[result], context=context.to_dict(), last=last.name)


def async_handoffs():
    from autogen.agentchat import a_initiate_group_chat
    from autogen.agentchat.group.patterns import DefaultPattern

    agents, known = office()
    pattern = DefaultPattern(initial_agent=agents[0], agents=agents, context_variables=known)
    chat = a_initiate_group_chat(pattern=pattern, messages="begin", max_rounds=20)
    result, context, last = asyncio.run(chat)
    return state(*agents, results=[result], context=context.to_dict(), last=last.name)


def auto_pattern():
    from autogen.agentchat import initiate_group_chat
    from autogen.agentchat.group.patterns import AutoPattern

    agents = team()
    pattern = AutoPattern(initial_agent=agents[0], agents=agents,
                          group_manager_args={"llm_config": MODEL})  # fmt: skip
    result, context, last = initiate_group_chat(pattern=pattern, messages="begin", max_rounds=5)
    return state(*agents, results=[result], context=context.to_dict(), last=last.name)


if __name__ == "__main__":
    final = globals()[sys.argv[1]]()
    with open(os.environ["STATE"], "w") as file:
        json.dump(final, file, default=as_text, sort_keys=True)
