"""Kinds of messages: tools, functions, code, people, images, and what JSON cannot hold."""

from __future__ import annotations

import asyncio
import logging

import autogen
import pytest
from autogen import ConversableAgent

from autogen_persist import NotJournalable, persist
from tests.compat.cast import actor, assert_gapless, assert_same, cast, group, journaled
from tests.support.model_server import ModelServer, llm_config, tool_call

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}


def adder(request):
    """Calls add(2, 3), then says what came of it."""
    last = request["messages"][-1]
    if last["role"] in ("tool", "function"):
        return f"the sum is {last['content']}"
    return {"tool_calls": [tool_call("add", a=2, b=3)]}


def add(a: int, b: int) -> str:
    return str(a + b)


async def a_add(a: int, b: int) -> str:
    return str(a + b)


def with_tool(server, tool):
    """An assistant that may call `add`, and an executor that runs it."""
    schema = {"type": "function",
              "function": {"name": "add", "description": "adds", "parameters": SCHEMA}}  # fmt: skip
    assistant = autogen.AssistantAgent("assistant", llm_config=llm_config(server))
    assistant.update_tool_signature(schema, is_remove=False)
    executor = ConversableAgent("executor", llm_config=False, human_input_mode="NEVER")
    executor.register_function({"add": tool})
    return assistant, executor


def test_a_tool_call_and_its_result_are_journaled(sqlite_url):
    """The call with its arguments, the result with its id."""
    with ModelServer(adder) as server:
        assistant, executor = with_tool(server, add)
        session = persist(assistant, session_id="s", url=sqlite_url)
        executor.initiate_chat(assistant, message="2 + 3?", max_turns=2)

    question, call, result, answer = session.messages()
    assert [r.kind for r in (question, call, result, answer)] == [
        "text", "tool_call", "tool_result", "text",
    ]  # fmt: skip
    assert call.body["tool_calls"][0]["function"] == {
        "name": "add", "arguments": '{"a": 2, "b": 3}',
    }  # fmt: skip
    assert result.body["tool_responses"][0]["content"] == "5"
    assert result.body["tool_responses"][0]["tool_call_id"] == "call_1"
    assert answer.text == "the sum is 5"


def test_a_tool_call_without_words_has_none(sqlite_url):
    """The row holds the message as delivered: content None, not AutoGen's '' or 'None'."""
    with ModelServer(adder) as server:
        assistant, executor = with_tool(server, add)
        manager = group([executor, assistant], max_round=2)
        session = persist(manager, session_id="s", url=sqlite_url)
        executor.initiate_chat(manager, message="2 + 3?")

    assert session.messages()[1].body["content"] is None


@pytest.mark.parametrize("tool", [add, a_add])
def test_tools_in_an_async_chat_are_journaled(sqlite_url, tool):
    """Sync and async tools, called from an async chat."""
    with ModelServer(adder) as server:
        assistant, executor = with_tool(server, tool)
        session = persist(assistant, session_id="s", url=sqlite_url)
        asyncio.run(executor.a_initiate_chat(assistant, message="2 + 3?", max_turns=2))

    assert [r.kind for r in session.messages()] == ["text", "tool_call", "tool_result", "text"]
    assert session.messages()[2].body["tool_responses"][0]["content"] == "5"


@pytest.mark.parametrize("is_async", [False, True])
def test_tools_in_a_group_are_journaled(sqlite_url, is_async):
    """Call and result are messages of the group, each once."""
    with ModelServer(adder) as server:
        assistant, executor = with_tool(server, add)
        manager = group([executor, assistant, actor("critic")], max_round=5,
                        speaker_selection_method=after_tool(executor, assistant))  # fmt: skip
        session = persist(manager, session_id="s", url=sqlite_url)
        if is_async:
            asyncio.run(executor.a_initiate_chat(manager, message="2 + 3?"))
        else:
            executor.initiate_chat(manager, message="2 + 3?")

    kinds = [row.kind for row in session.messages()]
    assert kinds[:4] == ["text", "tool_call", "tool_result", "text"]
    assert_same(session, manager)


def after_tool(executor, assistant):
    """The executor answers a call, the assistant everything else, then the critic."""

    def select(last, chat):
        if "tool_calls" in chat.messages[-1]:
            return executor
        return assistant if last is executor else chat.agent_by_name("critic")

    return select


def test_a_failing_tool_is_journaled(sqlite_url):
    """AutoGen makes an error message of a tool's exception; that is what the row holds."""

    def broken(a: int, b: int) -> str:
        raise RuntimeError("out of numbers")

    with ModelServer(adder) as server:
        assistant, executor = with_tool(server, broken)
        session = persist(assistant, session_id="s", url=sqlite_url)
        executor.initiate_chat(assistant, message="2 + 3?", max_turns=2)

    assert "out of numbers" in session.messages()[2].body["tool_responses"][0]["content"]


def test_functions_of_the_old_kind_are_journaled(sqlite_url):
    """`function_call` and its result, before there were tools."""
    call = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    caller = actor("caller", {"content": "", "function_call": call}, "thanks")
    executor = ConversableAgent(
        "executor", llm_config=False, human_input_mode="NEVER", function_map={"add": add}
    )
    session = persist(caller, session_id="s", url=sqlite_url)

    executor.initiate_chat(caller, message="2 + 3?", max_turns=2)

    _, asked, result, _ = session.messages()
    assert (asked.kind, asked.body["function_call"]) == ("function_call", call)
    assert (result.kind, result.text, result.body["name"]) == ("function_result", "5", "add")


def test_functions_in_a_group_are_journaled(sqlite_url):
    """A function's result keeps the function's name, and the row its speaker's."""
    call = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    caller = actor("caller", {"content": "", "function_call": call}, "thanks")
    executor = ConversableAgent(
        "executor", llm_config=False, human_input_mode="NEVER", function_map={"add": add}
    )
    manager = group([executor, caller], max_round=4)
    session = persist(manager, session_id="s", url=sqlite_url)

    executor.initiate_chat(manager, message="2 + 3?")

    speakers = [row.speaker for row in session.messages()]
    assert speakers == ["executor", "caller", "executor", "caller"]
    assert [row.text for row in session.messages()] == [
        m["content"] for m in manager.groupchat.messages
    ]


CODE = "```python\nprint(6 * 7)\n```"


def test_the_output_of_code_is_journaled(sqlite_url, tmp_path):
    """Code runs on this machine; what it printed is a message."""
    coder = actor("coder", CODE)
    runner = ConversableAgent(
        "runner", llm_config=False, human_input_mode="NEVER",
        code_execution_config={"work_dir": str(tmp_path), "use_docker": False},
    )  # fmt: skip
    session = persist(coder, session_id="s", url=sqlite_url)

    runner.initiate_chat(coder, message="six times seven?", max_turns=2)

    assert journaled(session)[1] == ("coder", CODE)
    assert "42" in journaled(session)[2][1]


def test_the_output_of_an_executor_is_journaled(sqlite_url, tmp_path):
    """The same with a LocalCommandLineCodeExecutor, in a group."""
    executor = autogen.coding.LocalCommandLineCodeExecutor(
        work_dir=tmp_path, virtual_env_context=None
    )
    coder = actor("coder", CODE)
    runner = ConversableAgent(
        "runner", llm_config=False, human_input_mode="NEVER",
        code_execution_config={"executor": executor},
    )  # fmt: skip
    manager = group([runner, coder], max_round=3)
    session = persist(manager, session_id="s", url=sqlite_url)

    runner.initiate_chat(manager, message="six times seven?")

    assert "42" in journaled(session)[2][1]
    assert_same(session, manager)


class Person(ConversableAgent):
    """Somebody at the keyboard."""

    def __init__(self, *answers, **options):
        super().__init__("person", llm_config=False, human_input_mode="ALWAYS", **options)
        self._answers = iter(answers)

    def get_human_input(self, prompt, **_):
        return next(self._answers)

    async def a_get_human_input(self, prompt, **_):
        return next(self._answers)


def test_what_a_person_types_is_journaled(sqlite_url):
    """Human input is a message like any other."""
    person, bravo = Person("more, please", "exit"), actor("bravo")
    session = persist(bravo, session_id="s", url=sqlite_url)

    person.initiate_chat(bravo, message="hello")

    assert [name for name, _ in journaled(session)] == ["person", "bravo", "person", "bravo"]
    assert journaled(session)[2][1] == "more, please"


def test_what_a_person_types_in_an_async_group_is_journaled(sqlite_url):
    """The async twin of human input, in a group."""
    person, bravo = Person("more, please"), actor("bravo")
    manager = group([person, bravo], max_round=3)
    session = persist(manager, session_id="s", url=sqlite_url)

    asyncio.run(person.a_initiate_chat(manager, message="hello"))

    assert journaled(session)[2] == ("person", "more, please")
    assert_same(session, manager)


PARTS = [
    {"type": "text", "text": "what is this?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
]


def test_a_list_of_parts_comes_back_equal(sqlite_url):
    """A multimodal message is journaled as its parts, before AutoGen flattens them."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message={"content": PARTS})

    assert session.messages()[0].body["content"] == PARTS
    assert_gapless(session)


def test_any_text_comes_back_equal(sqlite_url):
    """NUL, lone surrogates, emoji and a megabyte, through a real chat."""
    text = "\0 \ud800 🦊 " + "x" * 1_000_000
    alpha, bravo = actor("alpha"), actor("bravo", text)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="say something odd", max_turns=1, silent=True)

    assert session.messages()[1].body["content"] == text


def test_extra_keys_of_a_message_are_journaled(sqlite_url):
    """The row is the whole message, not the fields that AutoGen keeps."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.send({"content": "hi", "weight": 0.5, "context": {"deep": [1, None]}}, bravo,
               request_reply=False)  # fmt: skip

    body = session.messages()[0].body
    assert (body["weight"], body["context"]) == (0.5, {"deep": [1, None]})


def words_of(context):
    return f"hello {context['who']}"


def test_a_callable_content_is_journaled_as_type_and_text(sqlite_url, caplog):
    """The chat goes on, and a warning names the path inside the message."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    with caplog.at_level(logging.WARNING, "autogen_persist"):
        alpha.send({"content": words_of, "context": {"who": "bravo"}}, bravo,
                   request_reply=False, silent=True)  # fmt: skip

    kind, text = session.messages()[0].body["content"]["$opaque"]
    assert (kind, "words_of" in text) == ("builtins.function", True)
    assert "message['content']" in caplog.text


def test_strict_raises_where_json_cannot_hold_a_value(sqlite_url):
    """strict=True: the error names the path, and nothing is delivered."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url, strict=True)

    with pytest.raises(NotJournalable, match=r"message\['content'\]"):
        alpha.send({"content": words_of, "context": {"who": "bravo"}}, bravo, request_reply=False)

    assert not alpha.chat_messages[bravo]
    assert not bravo.chat_messages[alpha]
    assert session.messages() == []


def test_a_message_that_autogen_refuses_is_not_journaled(sqlite_url):
    """AutoGen raises for a message without content; nobody heard it."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    with pytest.raises(ValueError, match="valid ChatCompletion message"):
        alpha.send({"weight": 1}, bravo)

    assert session.messages() == []


def test_an_agent_may_have_any_name(sqlite_url):
    """Names with spaces and other letters are kept."""
    alpha, bravo = actor("Ålice Ünïcode"), actor("böb 🦊")
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="hi", max_turns=1)

    assert [row.speaker for row in session.messages()] == ["Ålice Ünïcode", "böb 🦊"]
