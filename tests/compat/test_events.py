"""What happened beside the messages: runs begun and ended, histories cleared."""

from __future__ import annotations

import asyncio

import autogen
import pytest

from autogen_persist import persist
from tests.compat.cast import actor, assert_gapless, cast, endings, group, journaled


def is_done(message):
    return "TERMINATE" in (message.get("content") or "")


def talk(agent, recipient, is_async, **options):
    """One chat, in its sync or async form."""
    if is_async:
        asyncio.run(agent.a_initiate_chat(recipient, **options))
    else:
        agent.initiate_chat(recipient, **options)


both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def test_a_run_begins_with_its_opening_and_its_roster(sqlite_url):
    """The first event of a run says what was asked, and of whom."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    (event,) = session.events(kind="run_started")
    assert event.body["opening"]["message"] == "begin"
    assert [entry["name"] for entry in event.body["roster"]] == ["alpha", "bravo", manager.name]
    assert (event.speaker, event.listener, event.run) == ("alpha", manager.name, 1)


def test_a_run_surrounds_its_messages(sqlite_url):
    """Started before the first message, ended after the last."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    kinds = [row.kind for row in session.rows() if row.run]
    assert kinds == ["run_started", "text", "text", "run_ended"]


def test_the_process_is_journaled_first(sqlite_url):
    """Which AutoGen wrote the rows is the first thing a journal says."""
    session = persist(actor("alpha"), session_id="s", url=sqlite_url)

    first = session.rows()[0]
    assert (first.kind, bool(first.body["autogen"])) == ("process", True)


@both
def test_a_group_that_is_terminated_says_so(sqlite_url, is_async):
    """A message that the manager takes for the end."""
    alpha, bravo = actor("alpha"), actor("bravo", "done. TERMINATE")
    manager = group([alpha, bravo], manager={"is_termination_msg": is_done})
    session = persist(manager, session_id="s", url=sqlite_url)

    talk(alpha, manager, is_async, message="begin")

    assert endings(session) == ["terminated"]
    assert journaled(session)[-1] == ("bravo", "done. TERMINATE")


@both
def test_a_group_at_its_limit_says_so(sqlite_url, is_async):
    """max_round is a reason of its own."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=3)
    session = persist(manager, session_id="s", url=sqlite_url)

    talk(alpha, manager, is_async, message="begin")

    assert endings(session) == ["max_round"]


@both
def test_a_group_without_a_reply_says_so(sqlite_url, is_async):
    """A member that says nothing ends the chat."""
    alpha, bravo = actor("alpha"), actor("bravo", None)
    manager = group([alpha, bravo])
    session = persist(manager, session_id="s", url=sqlite_url)

    talk(alpha, manager, is_async, message="begin")

    assert endings(session) == ["no_reply"]


@both
def test_a_pair_that_is_terminated_says_so(sqlite_url, is_async):
    """The end that one of two agents recognises."""
    alpha = actor("alpha", is_termination_msg=is_done)
    bravo = actor("bravo", "working", "done. TERMINATE")
    session = persist(alpha, session_id="s", url=sqlite_url)

    talk(alpha, bravo, is_async, message="begin")

    assert endings(session) == ["terminated"]


@both
def test_a_pair_at_its_turns_says_so(sqlite_url, is_async):
    """max_turns is a reason of its own."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    talk(alpha, bravo, is_async, message="begin", max_turns=2)

    assert endings(session) == ["max_turns"]


@both
def test_a_pair_at_its_reply_limit_says_so(sqlite_url, is_async):
    """max_consecutive_auto_reply is a reason of its own."""
    alpha, bravo = actor("alpha", max_consecutive_auto_reply=1), actor("bravo")
    session = persist(alpha, session_id="s", url=sqlite_url)

    talk(alpha, bravo, is_async, message="begin")

    assert endings(session) == ["max_auto_reply"]


@both
def test_a_pair_without_a_reply_says_so(sqlite_url, is_async):
    """An agent that says nothing ends the chat."""
    alpha, bravo = actor("alpha"), actor("bravo", "once", None)
    session = persist(alpha, session_id="s", url=sqlite_url)

    talk(alpha, bravo, is_async, message="begin")

    assert endings(session) == ["no_reply"]


def fail_with(error):
    """A reply function that fails."""

    def fail(recipient, messages=None, sender=None, config=None):
        raise error

    return fail


@both
def test_a_failure_is_journaled_and_raised(sqlite_url, is_async):
    """A reply function's exception ends the run and reaches the caller as it was."""
    alpha, bravo = actor("alpha"), actor("bravo")
    bravo.register_reply(autogen.Agent, fail_with(ZeroDivisionError("by zero")))
    session = persist(alpha, session_id="s", url=sqlite_url)

    with pytest.raises(ZeroDivisionError, match="by zero"):
        talk(alpha, bravo, is_async, message="begin")

    (event,) = session.events(kind="run_ended")
    assert event.body == {"reason": "exception", "error": "ZeroDivisionError: by zero"}


@both
def test_an_interruption_is_journaled_and_raised(sqlite_url, is_async):
    """Ctrl-C in the middle of a chat."""
    alpha, bravo = actor("alpha"), actor("bravo")
    bravo.register_reply(autogen.Agent, fail_with(KeyboardInterrupt()))
    manager = group([alpha, bravo])
    session = persist(manager, session_id="s", url=sqlite_url)

    with pytest.raises(KeyboardInterrupt):
        talk(alpha, manager, is_async, message="begin")

    assert endings(session) == ["interrupted"]


def test_a_cancelled_task_is_an_interruption(sqlite_url):
    """An async chat that is cancelled while an agent thinks."""
    alpha, bravo = actor("alpha"), actor("bravo")
    thinking = asyncio.Event()

    async def think(recipient, messages=None, sender=None, config=None):
        thinking.set()
        await asyncio.Event().wait()

    bravo.register_reply(autogen.Agent, think)
    session = persist(alpha, session_id="s", url=sqlite_url)

    async def cancel():
        task = asyncio.create_task(alpha.a_initiate_chat(bravo, message="begin"))
        await thinking.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())

    assert endings(session) == ["interrupted"]


def test_after_a_failure_the_next_chat_is_journaled(sqlite_url):
    """A failed run leaves nothing behind that would stop the next."""
    alpha, bravo = actor("alpha"), actor("bravo")
    failures = iter([ZeroDivisionError("once")])

    def fail_once(recipient, messages=None, sender=None, config=None):
        for error in failures:
            raise error
        return False, None

    bravo.register_reply(autogen.Agent, fail_once)
    session = persist(alpha, session_id="s", url=sqlite_url)
    with pytest.raises(ZeroDivisionError):
        alpha.initiate_chat(bravo, message="first", max_turns=1)

    alpha.initiate_chat(bravo, message="second", max_turns=1)

    assert [(row.run, row.text) for row in session.messages()] == [
        (1, "first"), (2, "second"), (2, "bravo says 1"),
    ]  # fmt: skip


def test_forgetting_a_peer_is_journaled(sqlite_url):
    """clear_history(peer) names whom it forgets."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)
    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    alpha.clear_history(bravo)

    (event,) = session.events(kind="clear_history")
    assert (event.speaker, event.body["peer"]) == ("alpha", "bravo")


def test_forgetting_all_but_some_is_journaled(sqlite_url):
    """clear_history(nr_messages_to_preserve=…) says how many are kept."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)
    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    alpha.clear_history(nr_messages_to_preserve=1)

    (event,) = session.events(kind="clear_history")
    assert (event.body["peer"], event.body["preserve"]) == (None, 1)


def test_forgetting_nothing_is_not_journaled(sqlite_url):
    """initiate_chat clears an empty history each time; that is no event."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    alpha.initiate_chat(bravo, message="begin", max_turns=1)

    assert session.events(kind="clear_history") == []


def test_a_second_chat_journals_what_it_clears(sqlite_url):
    """initiate_chat's default forgets the first chat, of the group and of its members."""
    alpha, bravo = cast(2)
    manager = group([alpha, bravo], max_round=2)
    session = persist(manager, session_id="s", url=sqlite_url)
    alpha.initiate_chat(manager, message="first")

    alpha.initiate_chat(manager, message="second")

    cleared = {event.speaker for event in session.events(kind="clear_history")}
    assert cleared == {"alpha", "bravo", manager.name}
    assert len(session.events(kind="clear_group")) == 1
    assert [text for _, text in journaled(session)][::2] == ["first", "second"]


@pytest.mark.parametrize(
    ("words", "kept"), [("CLEAR HISTORY", 0), ("clear history 1", 1)], ids=["all", "but_one"]
)
def test_the_words_clear_history_are_journaled(sqlite_url, words, kept):
    """What the words cut from the group's list is an event; the rows stay."""
    alpha, bravo = actor("alpha"), actor("bravo", {"content": f"now {words} and go on"})
    manager = group([alpha, actor("charlie"), bravo], max_round=4, enable_clear_history=True)
    session = persist(manager, session_id="s", url=sqlite_url)

    alpha.initiate_chat(manager, message="begin")

    (event,) = session.events(kind="clear_group")
    assert (event.speaker, event.body["preserve"]) == (manager.name, kept)
    assert journaled(session)[2] == ("bravo", "now and go on")
    assert len(session.messages()) == 4
    assert_gapless(session)


def test_a_message_that_did_not_reach_the_group_says_so(sqlite_url):
    """An async chat does not pass on the message that ends it: the event names who missed it."""
    agents = [actor("alpha"), actor("bravo", "done. TERMINATE"), actor("charlie")]
    manager = group(agents, manager={"is_termination_msg": is_done})
    session = persist(manager, session_id="s", url=sqlite_url)

    talk(agents[0], manager, True, message="begin")

    (event,) = session.events(kind="unheard")
    assert event.body == {"agents": ["alpha", "charlie"], "in_group": True}


def test_a_message_that_everyone_heard_needs_no_event(sqlite_url):
    """A sync chat passes on every message, the last one included."""
    agents = cast(3)
    manager = group(agents)
    session = persist(manager, session_id="s", url=sqlite_url)

    talk(agents[0], manager, False, message="begin")

    assert session.events(kind="unheard") == []


def test_a_message_that_was_received_and_never_sent_says_so(sqlite_url):
    """A direct receive from a persisted agent: its history does not have the message."""
    alpha, bravo = cast(2)
    session = persist(alpha, session_id="s", url=sqlite_url)

    bravo.receive("out of the blue", alpha, request_reply=False)

    (event,) = session.events(kind="unsent")
    assert (event.speaker, event.listener) == ("alpha", "bravo")
