"""AutoGen behaves exactly as without us: the same chats, bare and persisted, compared."""

from __future__ import annotations

import asyncio
import inspect
import random

import autogen
import pytest
from autogen import ConversableAgent, GroupChat, GroupChatManager

from autogen_persist import instrument, persist, uninstrument
from tests.compat.cast import SEND_HOOKS, actor, cast, group, histories, journaled, transcript
from tests.support.model_server import ModelServer, llm_config, tool_call

HOOKS = (*SEND_HOOKS, "process_last_received_message", "process_all_messages_before_reply")


def is_done(message):
    return "TERMINATE" in (message.get("content") or "")


def watch(agents, calls, mark):
    """Register other people's hooks, which write down each of their calls."""
    for agent in agents:
        for name in HOOKS:
            agent.register_hook(name, recorder(agent.name, name, calls, mark))


def recorder(agent, name, calls, mark):
    def on_send(sender, message, recipient, silent):
        calls.append((mark, agent, name, recipient.name, bool(silent), repr(message)))
        return message

    async def a_on_send(sender, message, recipient, silent):
        return on_send(sender, message, recipient, silent)

    def on_content(content):
        calls.append((mark, agent, name, repr(content)))
        return content

    if name.startswith("a_"):
        return a_on_send
    return on_send if name in SEND_HOOKS else on_content


def start(opener, recipient, is_async, **options):
    if is_async:
        return asyncio.run(opener.a_initiate_chat(recipient, **options))
    return opener.initiate_chat(recipient, **options)


# Each scenario builds its agents and returns them (what is persisted comes last), with
# a function that holds the chat.


def round_robin(server, is_async):
    agents = cast(3)
    manager = group(agents, send_introductions=True)
    return [*agents, manager], lambda: start(agents[0], manager, is_async, message="begin")


def by_chance(server, is_async):
    agents = cast(4)
    manager = group(agents, speaker_selection_method="random", max_round=9)
    return [*agents, manager], lambda: start(agents[0], manager, is_async, message="begin")


def by_model(server, is_async):
    config = llm_config(server)
    agents = [autogen.AssistantAgent(name, llm_config=config) for name in ("ann", "ben", "cat")]
    manager = group(agents, speaker_selection_method="auto", manager={"llm_config": config})
    return [*agents, manager], lambda: start(agents[0], manager, is_async, message="begin")


def terminated(server, is_async):
    agents = [actor("alpha"), actor("bravo", "no", "done. TERMINATE"), actor("charlie")]
    manager = group(agents, max_round=9, manager={"is_termination_msg": is_done})
    return [*agents, manager], lambda: start(agents[0], manager, is_async, message="begin")


def two(server, is_async):
    agents = [actor("alpha", max_consecutive_auto_reply=3), actor("bravo")]
    return agents, lambda: start(agents[0], agents[1], is_async, message="begin")


def tools(server, is_async, double=lambda a: 2 * a):
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}}}
    function = {"name": "double", "description": "doubles", "parameters": parameters}
    assistant = autogen.AssistantAgent("assistant", llm_config=llm_config(server))
    assistant.update_tool_signature({"type": "function", "function": function}, is_remove=False)
    executor = ConversableAgent("executor", llm_config=False, human_input_mode="NEVER")
    executor.register_function({"double": double})
    return [executor, assistant], lambda: start(
        executor, assistant, is_async, message="double 4", max_turns=3
    )


def broken_tools(server, is_async):
    def fail(a):
        raise RuntimeError("out of numbers")

    return tools(server, is_async, fail)


def nested(server, is_async):
    alpha, bravo, charlie, delta = cast(4)
    inner = group([charlie, delta], max_round=3, manager={"name": "inner"})
    queue = [{"recipient": inner, "message": "discuss", "summary_method": "last_msg", "chat_id": 1}]
    bravo.register_nested_chats(queue, trigger=alpha, use_async=is_async)
    return [bravo, charlie, delta, inner, alpha], lambda: start(
        alpha, bravo, is_async, message="begin", max_turns=2
    )


def failing(server, is_async):
    agents = cast(3)

    def fail(recipient, messages=None, sender=None, config=None):
        raise ZeroDivisionError("by zero")

    agents[2].register_reply(autogen.Agent, fail)
    manager = group(agents)
    return [*agents, manager], lambda: start(agents[0], manager, is_async, message="begin")


def in_sequence(server, is_async):
    alpha, bravo, charlie = cast(3)
    queue = [{"recipient": peer, "message": "hi", "max_turns": 1, "chat_id": number}
             for number, peer in enumerate((bravo, charlie))]  # fmt: skip
    if is_async:
        return [bravo, charlie, alpha], lambda: asyncio.run(alpha.a_initiate_chats(queue))
    return [bravo, charlie, alpha], lambda: alpha.initiate_chats(queue)


def answer(request):
    """Chooses ben, calls double() once, and gives a digest of its context otherwise."""
    text = str(request["messages"])
    if "Read the above conversation" in text:
        return "ben"
    if request.get("tools") and request["messages"][-1]["role"] != "tool":
        return {"tool_calls": [tool_call("double", a=4)]}
    return None


def result_of(chat):
    """What the caller of a chat gets: its results, or its exception."""
    try:
        found = chat()
    except Exception as error:
        return type(error), str(error)
    results = found if isinstance(found, list) else list((found or {}).values()) if isinstance(
        found, dict) else [found]  # fmt: skip
    return [(r.chat_history, r.summary, r.cost, r.human_input) for r in results]


def everything(scenario, is_async, join):
    """All that can be seen of a scenario from outside."""
    random.seed(11)
    calls = []
    with ModelServer(answer) as server:
        agents, chat = scenario(server, is_async)
        watch(agents, calls, "before")
        join(agents[-1])
        watch(agents, calls, "after")
        return {
            "result": result_of(chat),
            "histories": histories(*agents),
            "groups": [transcript(a) for a in agents if isinstance(a, GroupChatManager)],
            "hooks": calls,
            "requests": server.requests,
        }


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    "scenario",
    [
        round_robin,
        by_chance,
        by_model,
        terminated,
        two,
        tools,
        broken_tools,
        nested,
        failing,
        in_sequence,
    ],
)
def test_a_persisted_chat_is_the_bare_one(sqlite_url, scenario, is_async):
    """Results, histories, groups, model requests and other people's hooks: all the same."""
    bare = everything(scenario, is_async, lambda target: None)

    journaled_one = everything(
        scenario, is_async, lambda target: persist(target, session_id="s", url=sqlite_url)
    )

    assert journaled_one == bare
    assert bare["hooks"]


def test_an_instrumented_chat_is_the_bare_one(sqlite_url):
    """The same with every agent attached as it is built."""
    bare = everything(nested, False, lambda target: None)
    session = instrument(session_id="s", url=sqlite_url)

    assert everything(nested, False, lambda target: None) == bare
    assert session.messages()


def shout(sender, message, recipient, silent):
    if isinstance(message, str):
        return message + "!"
    return message


async def a_shout(sender, message, recipient, silent):
    return shout(sender, message, recipient, silent)


def register(agent, hook, a_hook):
    for name in SEND_HOOKS:
        agent.register_hook(name, a_hook if name.startswith("a_") else hook)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("when", ["before", "after", "both"])
def test_a_row_is_the_message_after_all_hooks(sqlite_url, when, is_async):
    """Hooks that rewrite, registered before or after us, have had their say."""
    alpha, bravo = cast(2)
    if when != "after":
        register(bravo, shout, a_shout)
    session = persist(bravo, session_id="s", url=sqlite_url)
    if when != "before":
        register(bravo, *(shout_more() if when == "both" else (shout, a_shout)))

    start(alpha, bravo, is_async, message="begin", max_turns=2)

    heard = [m["content"] for m in alpha.chat_messages[bravo]]
    assert [text for _, text in journaled(session)] == heard
    assert heard[1] == "bravo says 1" + ("!!" if when == "both" else "!")


def shout_more():
    """Another pair of the same hooks: AutoGen refuses the same function twice."""

    async def a_more(**given):
        return shout(**given)

    return (lambda **given: shout(**given)), a_more


def test_other_peoples_hooks_keep_their_order(sqlite_url):
    """Ours is among them, theirs are as they were registered."""
    alpha, bravo = cast(2)
    before, after = (lambda **given: given["message"]), (lambda **given: given["message"])
    alpha.register_hook("process_message_before_send", before)
    persist(alpha, session_id="s", url=sqlite_url)
    alpha.register_hook("process_message_before_send", after)

    alpha.initiate_chat(bravo, message="begin", max_turns=2)

    theirs = [h for h in alpha.hook_lists["process_message_before_send"] if h in (before, after)]
    assert theirs == [before, after]


def test_a_hook_that_raises_is_heard_by_the_caller(sqlite_url):
    """Its exception is AutoGen's business, and nothing was said."""

    def refuse(**_):
        raise PermissionError("not today")

    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)
    alpha.register_hook("process_message_before_send", refuse)

    with pytest.raises(PermissionError, match="not today"):
        alpha.initiate_chat(bravo, message="begin", max_turns=1)

    assert session.messages() == []


def test_termination_checks_are_given_back(sqlite_url):
    """We listen to them for the length of a run, no longer."""
    alpha, bravo = actor("alpha", is_termination_msg=is_done), actor("bravo")
    persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    assert alpha._is_termination_msg is is_done


def methods():
    """Every attribute of AutoGen's three classes."""
    classes = (ConversableAgent, GroupChat, GroupChatManager)
    return [(kind.__name__, name, value) for kind in classes for name, value in vars(kind).items()]


def test_closing_gives_the_classes_back(sqlite_url):
    """After the last session is closed AutoGen's methods are AutoGen's."""
    before = methods()
    first = persist(actor("alpha"), session_id="1", url=sqlite_url)
    second = persist(actor("bravo"), session_id="2", url=sqlite_url)
    first.close()
    assert methods() != before

    second.close()

    assert methods() == before


def test_uninstrument_gives_the_classes_back(sqlite_url):
    """The same for a whole process."""
    before = methods()
    instrument(session_id="s", url=sqlite_url)
    assert methods() != before

    uninstrument()

    assert methods() == before


def test_signatures_stay_what_they_are(sqlite_url):
    """Whoever inspects a method finds AutoGen's own parameters, and coroutines are coroutines."""

    def shapes():
        return {
            (kind, name): (inspect.signature(value), inspect.iscoroutinefunction(value))
            for kind, name, value in methods()
            if inspect.isfunction(value)
        }

    before = shapes()
    persist(actor("alpha"), session_id="s", url=sqlite_url)

    assert shapes() == before


def test_after_closing_a_chat_goes_on_unjournaled(sqlite_url):
    """Agents of a closed session talk as before, and no one writes."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)
    session.close()

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    assert len(alpha.chat_messages[bravo]) == 2
    assert persist(bravo, session_id="s", url=sqlite_url).messages() == []


def test_closing_in_the_middle_of_a_chat_lets_it_finish(sqlite_url):
    """The chat goes on, the journal ends where it was closed."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    def close(messages):
        session.close()
        return messages

    bravo.register_hook("process_all_messages_before_reply", close)

    alpha.initiate_chat(bravo, message="begin", max_turns=2)

    assert len(alpha.chat_messages[bravo]) == 4
    again = persist(actor("charlie"), session_id="s", url=sqlite_url)
    assert journaled(again) == [("alpha", "begin")]


class Editor(ConversableAgent):
    """A subclass that changes what it is told before AutoGen files it."""

    def receive(self, message, sender, request_reply=None, silent=False):
        super().receive(f"edited: {message}", sender, request_reply, silent)


def test_a_subclass_that_changes_what_it_receives_makes_one_row(sqlite_url):
    """One message was sent, one is journaled: as it was sent."""
    alpha, editor = actor("alpha"), actor("editor", kind=Editor)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(editor, message="begin", max_turns=1)

    assert [text for _, text in journaled(session)] == ["begin", "editor says 1"]
