"""Every agent's chat_messages can be rebuilt from the journal, to the byte."""

from __future__ import annotations

import asyncio

import autogen
import pytest
from autogen import ConversableAgent

from autogen_persist import PersistentAgent, persist
from autogen_persist.chat.restore import restore
from tests.compat.cast import actor, cast, group, histories
from tests.support.model_server import ModelServer, llm_config, tool_call


def is_done(message):
    return "TERMINATE" in (message.get("content") or "")


def start(opener, recipient, is_async, **options):
    if is_async:
        asyncio.run(opener.a_initiate_chat(recipient, **options))
    else:
        opener.initiate_chat(recipient, **options)


def same(session, played, fresh):
    """Restore into agents that have no past, and compare everything."""
    rows = session.rows()
    session.close()
    restore(rows, fresh)
    assert histories(*fresh) == histories(*played)
    for old, new in zip(played, fresh, strict=True):
        if isinstance(old, autogen.GroupChatManager):
            assert new.groupchat.messages == old.groupchat.messages


def with_group(agents, **options):
    """Agents and the manager of their group, the manager last."""
    return [*agents, group(agents, **options)]


both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@both
def test_a_group_chat_is_rebuilt(sqlite_url, is_async):
    """Speakers, manager and listeners have what they had."""
    played = with_group(cast(3))
    session = persist(played[-1], session_id="s", url=sqlite_url)
    start(played[0], played[-1], is_async, message="begin")

    same(session, played, with_group(cast(3)))


@both
def test_a_terminated_group_chat_is_rebuilt(sqlite_url, is_async):
    """An async chat does not pass on the message that ends it, a sync one does."""

    def office():
        agents = [actor("alpha"), actor("bravo", "done. TERMINATE"), actor("charlie")]
        return with_group(agents, manager={"is_termination_msg": is_done})

    played = office()
    session = persist(played[-1], session_id="s", url=sqlite_url)
    start(played[0], played[-1], is_async, message="begin")

    same(session, played, office())


@both
def test_introductions_are_rebuilt(sqlite_url, is_async):
    """They come before the message that opened the chat."""
    played = with_group(cast(3), send_introductions=True)
    session = persist(played[-1], session_id="s", url=sqlite_url)
    start(played[0], played[-1], is_async, message="begin")

    same(session, played, with_group(cast(3), send_introductions=True))


def test_an_opener_outside_the_group_is_rebuilt(sqlite_url):
    """Whoever opened the chat is given beside the group."""
    alpha, *members = cast(4)
    played = [alpha, *with_group(members)]
    session = persist(played[-1], session_id="s", url=sqlite_url)
    alpha.initiate_chat(played[-1], message="begin")

    stranger, *others = cast(4)
    same(session, played, [stranger, *with_group(others)])


@both
def test_a_chat_of_two_is_rebuilt(sqlite_url, is_async):
    """Both sides, each in its own shape."""
    played = cast(2)
    session = persist(played[0], session_id="s", url=sqlite_url)
    start(played[0], played[1], is_async, message="begin", max_turns=3)

    same(session, played, cast(2))


def adder(request):
    last = request["messages"][-1]
    if last["role"] == "tool":
        return f"the sum is {last['content']}"
    return {"tool_calls": [tool_call("add", a=2, b=3)]}


def tools(server):
    """An assistant that calls add(), who runs it, and a manager."""
    parameters = {"type": "object", "properties": {"a": {"type": "integer"},
                                                   "b": {"type": "integer"}}}  # fmt: skip
    function = {"name": "add", "description": "adds", "parameters": parameters}
    assistant = autogen.AssistantAgent("assistant", llm_config=llm_config(server))
    assistant.update_tool_signature({"type": "function", "function": function}, is_remove=False)
    executor = ConversableAgent("executor", llm_config=False, human_input_mode="NEVER")
    executor.register_function({"add": lambda a, b: a + b})
    return with_group([executor, assistant], max_round=4)


@both
def test_tool_calls_and_results_are_rebuilt(sqlite_url, is_async):
    """Calls without words, results with their ids."""
    with ModelServer(adder) as server:
        played, fresh = tools(server), tools(server)
        session = persist(played[-1], session_id="s", url=sqlite_url)
        start(played[0], played[-1], is_async, message="2 + 3?")

    assert [row.kind for row in session.messages()][1:3] == ["tool_call", "tool_result"]
    same(session, played, fresh)


def test_tool_calls_of_two_are_rebuilt(sqlite_url):
    """The same without a group."""
    with ModelServer(adder) as server:
        played, fresh = tools(server)[:2], tools(server)[:2]
        session = persist(played[0], session_id="s", url=sqlite_url)
        played[0].initiate_chat(played[1], message="2 + 3?", max_turns=2)

    same(session, played, fresh)


def test_functions_of_the_old_kind_are_rebuilt(sqlite_url):
    """A function's result keeps the function's name."""

    def office():
        call = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
        caller = actor("caller", {"content": "", "function_call": call}, "thanks")
        executor = ConversableAgent("executor", llm_config=False, human_input_mode="NEVER",
                                    function_map={"add": lambda a, b: a + b})  # fmt: skip
        return with_group([executor, caller], max_round=4)

    played = office()
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message="2 + 3?")

    same(session, played, office())


def nest(use_async=False):
    """bravo asks a group of charlie and delta before he answers alpha."""
    alpha, bravo, charlie, delta = cast(4)
    inner = group([charlie, delta], max_round=3, manager={"name": "inner"})
    queue = [{"recipient": inner, "message": "discuss", "chat_id": 1}]
    bravo.register_nested_chats(queue, trigger=alpha, use_async=use_async)
    return [alpha, bravo, charlie, delta, inner]


@both
def test_nested_chats_are_rebuilt(sqlite_url, is_async):
    """A group inside an agent, twice over: the second chat clears the first."""
    played = nest(is_async)
    session = persist(played[0], session_id="s", url=sqlite_url)
    start(played[0], played[1], is_async, message="begin", max_turns=2)

    same(session, played, nest(is_async))


def selector(request):
    spoken = [m for m in request["messages"] if m.get("name") in ("alpha", "bravo")]
    return "alpha" if spoken and spoken[-1]["name"] == "bravo" else "bravo"


@both
def test_a_chat_with_auto_selection_is_rebuilt(sqlite_url, is_async):
    """What selected the speakers was in nobody's history."""
    with ModelServer(selector) as server:
        options = {
            "speaker_selection_method": "auto",
            "manager": {"llm_config": llm_config(server)},
        }
        played, fresh = with_group(cast(2), **options), with_group(cast(2), **options)
        session = persist(played[-1], session_id="s", url=sqlite_url)
        start(played[0], played[-1], is_async, message="begin")

    assert any(row.internal for row in session.messages())
    same(session, played, fresh)


def test_a_second_chat_that_clears_the_first_is_rebuilt(sqlite_url):
    """initiate_chat's default: only the second chat is left."""
    played = with_group(cast(3))
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message="first")
    played[1].initiate_chat(played[-1], message="second")

    same(session, played, with_group(cast(3)))


def test_a_second_chat_that_goes_on_is_rebuilt(sqlite_url):
    """clear_history=False: both chats are there."""
    played = with_group(cast(3))
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message="first")
    played[1].initiate_chat(played[-1], message="second", clear_history=False)

    same(session, played, with_group(cast(3)))


@pytest.mark.parametrize("words", ["CLEAR HISTORY", "CLEAR HISTORY 1", "CLEAR HISTORY charlie"])
def test_the_words_clear_history_are_honoured(sqlite_url, words):
    """All, all but one, or one agent's."""

    def office():
        agents = [
            actor("alpha"),
            actor("charlie"),
            actor("bravo", {"content": f"now {words} go on"}),
        ]
        return with_group(agents, enable_clear_history=True)

    played = office()
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message="begin")

    assert session.events(kind="clear_history")
    same(session, played, office())


def test_a_direct_clear_is_honoured(sqlite_url):
    """clear_history by hand: first all but the last two messages, then those with one peer."""
    played = cast(3)
    session = persist(played[0], session_id="s", url=sqlite_url)
    for peer in played[1:]:
        played[0].initiate_chat(peer, message="begin", max_turns=2)
    played[0].clear_history(nr_messages_to_preserve=2)
    played[0].clear_history(played[1])

    same(session, played, cast(3))


def test_a_message_that_only_the_manager_heard_is_rebuilt(sqlite_url):
    """A send without a reply reaches the manager and not the group."""
    played = with_group(cast(3))
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[1].send("by the way", played[-1], request_reply=False)
    played[0].initiate_chat(played[-1], message="begin", clear_history=False)

    same(session, played, with_group(cast(3)))


def test_a_direct_receive_is_rebuilt(sqlite_url):
    """Who never sent it does not have it."""
    played = cast(2)
    session = persist(played[0], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[1], message="begin", max_turns=1)
    played[0].receive("out of the blue", played[1], request_reply=False)

    same(session, played, cast(2))


def test_a_question_without_a_sender_is_rebuilt(sqlite_url):
    """The person that a persistent agent talks to is found again."""
    played = actor("helper", kind=PersistentAgent, session_id="s", url=sqlite_url)
    played.receive("what now?")
    session = played.session

    fresh = PersistentAgent("helper", session_id="other", url=sqlite_url, llm_config=False)
    same(session, [played], [fresh])


def test_what_a_managers_hook_changes_is_rebuilt(sqlite_url):
    """Each listener has what it was told, the group what was said."""

    def whisper(sender, message, recipient, silent):
        if recipient.name != "bravo":
            return message
        return {**message, "content": message["content"] + " (for bravo)"}

    played = with_group(cast(4))
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[-1].register_hook("process_message_before_send", whisper)
    played[0].initiate_chat(played[-1], message="begin")

    assert any("for bravo" in m["content"] for m in played[1].chat_messages[played[-1]])
    same(session, played, with_group(cast(4)))


def test_lists_of_parts_are_rebuilt(sqlite_url):
    """A multimodal message in each of its shapes."""
    parts = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    played = with_group(cast(2), max_round=2)
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message={"content": parts})

    same(session, played, with_group(cast(2), max_round=2))


def test_the_group_and_its_manager_share_each_message(sqlite_url):
    """As in AutoGen, the group's dicts are the manager's own."""
    played = with_group(cast(2))
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message="begin")
    fresh = with_group(cast(2))

    restore(session.rows(), fresh)

    manager = fresh[-1]
    assert manager.groupchat.messages[0] is manager.chat_messages[fresh[0]][0]


def test_restoring_runs_no_hooks_and_writes_no_rows(sqlite_url):
    """The past is put back, not lived again."""
    played = with_group(cast(2), enable_clear_history=True)
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message="first")
    played[0].initiate_chat(played[-1], message="second")
    rows = session.rows()
    fresh = with_group(cast(2))
    other = persist(fresh[-1], session_id="other", url=sqlite_url)
    before = len(other.rows())
    calls = []
    for agent in fresh:
        agent.register_hook(
            "process_message_before_send", lambda **given: calls.append(given) or given["message"]
        )

    restore(rows, fresh)

    assert (calls, len(other.rows())) == ([], before)


def test_a_chat_goes_on_where_it_was(sqlite_url):
    """After a restore the next chat sees the whole past."""
    played = with_group(cast(2), max_round=2)
    session = persist(played[-1], session_id="s", url=sqlite_url)
    played[0].initiate_chat(played[-1], message="first")
    fresh = with_group(cast(2), max_round=2)
    restore(session.rows(), fresh)

    for agents in (played, fresh):
        agents[0].initiate_chat(agents[-1], message="second", clear_history=False)

    assert [m["content"] for m in fresh[-1].groupchat.messages] == [
        "first", "bravo says 1", "second", "bravo says 1",
    ]  # fmt: skip
