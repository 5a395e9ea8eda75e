"""Hear each message once, as it is delivered.

A send hook hears what its agent sends; `receive` hears what no hook could: a direct
call, or a sender that is not ours. A group's message is heard when its speaker sends
it to the manager; the manager's copies for the other members are the same message.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

from autogen_persist.chat import seats
from autogen_persist.chat.distribution import (
    ASYNC_SEND_HOOK,
    SEND_HOOK,
    groupchat_of,
    hooks_of,
)
from autogen_persist.chat.seats import Here, Run, Turn, here
from autogen_persist.records import text_of
from autogen_persist.session import Session
from autogen_persist.store import body as bodies

_heard: ContextVar[tuple[tuple[Any, Any], ...]] = ContextVar("autogen_persist_heard", default=())
"""The pairs between whom a hook heard a message that AutoGen has yet to deliver."""


class _Latest(threading.local):
    """The turn that a group of this thread is in."""

    turn: Turn | None = None


_latest = _Latest()


def on_send(sender: Any, message: Any, recipient: Any, silent: bool) -> Any:
    """The `process_message_before_send` hook."""
    if _is_last(on_send, sender.hook_lists[SEND_HOOK]):
        _hear_and_note(sender, message, recipient)
    return message


async def on_a_send(sender: Any, message: Any, recipient: Any, silent: bool) -> Any:
    """The `a_process_message_before_send` hook."""
    if _is_last(on_a_send, sender.hook_lists[ASYNC_SEND_HOOK]):
        _hear_and_note(sender, message, recipient)
    return message


seats._hooks.update({SEND_HOOK: on_send, ASYNC_SEND_HOOK: on_a_send})


def on_receive(sender: Any, message: Any, recipient: Any) -> None:
    """Before an agent takes a message in."""
    waiting = _heard.get()
    if waiting:
        others = _others(waiting, sender, recipient)
        if len(others) < len(waiting):
            _heard.set(others)
            return
    turn = _latest.turn
    if turn is not None and turn.same is message and id(recipient) in turn.waiting:
        # The common case, once for each member of a group: nothing changed on the way.
        turn.waiting.discard(id(recipient))
        return
    was_heard = _hear(sender, message, recipient)
    if was_heard and on_send in hooks_of(sender).get(SEND_HOOK, ()):
        note("unsent", {}, sender, recipient)


def _is_last(hook: Any, hooks: list[Any]) -> bool:
    """Whether other people's hooks have all run.

    One that was registered after us has not. Then we go to the end of the list, which
    AutoGen is iterating over, and are called again there.
    """
    if hooks[-1] is not hook:
        hooks.append(hook)
        return False
    if hooks.index(hook) != len(hooks) - 1:
        hooks.remove(hook)
    return True


def _hear_and_note(sender: Any, message: Any, recipient: Any) -> None:
    _hear(sender, message, recipient)
    if _is_deliverable(as_dict(message)):
        _heard.set((*_others(_heard.get(), sender, recipient), (sender, recipient)))


def _others(pairs: tuple[tuple[Any, Any], ...], sender: Any, recipient: Any) -> Any:
    if not pairs or (len(pairs) == 1 and pairs[0][0] is sender and pairs[0][1] is recipient):
        return ()  # the common case
    return tuple(pair for pair in pairs if pair[0] is not sender or pair[1] is not recipient)


def as_dict(message: Any) -> Any:
    """A message in the form that AutoGen makes of it; None where it would raise."""
    if isinstance(message, dict):
        return message
    if isinstance(message, str):
        return {"content": message}
    try:
        return dict(message)
    except (TypeError, ValueError):
        return None


def _hear(sender: Any, message: Any, recipient: Any) -> bool:
    """Journal a message that is new; return whether it was."""
    if sender is None or recipient is None:
        return False  # AutoGen says what it thinks of that
    group = groupchat_of(sender)
    if group is not None and _is_passed_on(sender, group, message, recipient):
        return False
    run = seats.run_of(sender, recipient)
    sessions = seats.sessions_of(run, sender, recipient)
    body = as_dict(message)
    if not sessions or not _is_deliverable(body):
        return False  # nobody's business, or AutoGen is about to raise
    place, other = seats.seat(sender), seats.seat(recipient)
    if place.resuming or other.resuming:
        return False  # `resumed` holds what AutoGen's resume() sends again
    introduces = group is not None and _is_introduction(group, message)
    if introduces and _said_already(sender, body, recipient):
        return False
    to_group = groupchat_of(recipient)
    if to_group is not None and other.turn is not None:
        end_turn(recipient)
    changed = place.turn is not None and place.turn.changed is message
    to_many = to_group is not None or introduces or changed
    now = _here(run)
    if now is not None:
        now.said[sender.name] = now.said.get(sender.name, 0) + 1
    kind = "introduction" if introduces else kind_of(body)
    chat = now.chat if now else ""
    with _guard(run):
        for session, number in sessions.items():
            if _is_journaled(session, run, chat, sender, recipient, kind, body):
                continue
            session.message(
                body,
                speaker=sender.name,
                listener=recipient.name,
                audience="group" if to_many else "peer",
                kind=kind,
                run=number,
                chat=chat,
                internal=now.internal if now else False,
            )
    if to_group is not None:
        other.turn = _latest.turn = Turn(sender, recipient, to_group)
    return True


def _guard(run: Run | None) -> AbstractContextManager[None]:
    return run.guarded() if run is not None else nullcontext()


def _is_journaled(
    session: Session, run: Run | None, chat: str, sender: Any, recipient: Any, kind: str,
    body: Mapping[str, Any],
) -> bool:  # fmt: skip
    """Whether a script that runs again says what its journal has; raises Divergence if not."""
    past = run.pasts.get(session) if run else None
    if past is None:
        return False
    return past.hear(chat, sender.name, recipient.name, kind, bodies.dump(body)[0])


def _here(run: Run | None) -> Here | None:
    now = here.get()
    return now if now is not None and now.run is run else None


def _is_introduction(group: Any, message: Any) -> bool:
    return isinstance(message, str) and message.startswith(group.DEFAULT_INTRO_MSG)


def _is_passed_on(manager: Any, group: Any, message: Any, listener: Any) -> bool:
    """Whether the manager hands on what the group has heard already.

    What its hooks or guardrails changed on the way is a message of its own: it is journaled
    with its first listener, and holds for the next ones until it changes again.
    """
    messages = group.messages
    unchanged = bool(messages) and (message is messages[-1] or message == messages[-1])
    turn = seats.seat(manager).turn
    if turn is None or id(listener) not in turn.waiting or _is_introduction(group, message):
        return unchanged and any(listener is agent for agent in group.agents)
    turn.waiting.discard(id(listener))
    if turn.changed is None and unchanged:
        turn.same = message
        return True
    if turn.changed == message:
        return True
    turn.same, turn.changed = None, message
    return False


def end_turn(manager: Any) -> None:
    """Journal who was left out, where a group's message did not get to everyone.

    An async chat does not pass on the message that ends it, and a send without a reply
    reaches the manager alone.
    """
    place = seats.seat(manager)
    turn, place.turn, _latest.turn = place.turn, None, None
    if turn is None or not turn.waiting:
        return
    group = groupchat_of(manager)
    assert group is not None
    kept = manager.chat_messages.get(turn.speaker)
    said = bool(kept and group.messages and group.messages[-1] is kept[-1])
    names = [agent.name for agent in group.agents if id(agent) in turn.waiting]
    note("unheard", {"agents": names, "in_group": said}, manager, turn.speaker)


def _is_deliverable(body: Any) -> bool:
    """Whether AutoGen takes this for a message."""
    if not isinstance(body, (dict, Mapping)):
        return False
    if body.get("content") is not None:
        return True
    return body.get("function_call") is not None or body.get("tool_calls") is not None


def _said_already(manager: Any, body: Mapping[str, Any], listener: Any) -> bool:
    """An introduction goes to each member in turn: one message, many listeners."""
    place = seats.seat(manager)
    said, listeners = place.said or (None, set())
    again = said == body and id(listener) not in listeners
    if not again:
        place.said = (dict(body), listeners := set())
    listeners.add(id(listener))
    return again


def kind_of(body: Mapping[str, Any]) -> str:
    """What a message is, by its shape."""
    if body.get("tool_calls"):
        return "tool_call"
    if body.get("function_call"):
        return "function_call"
    if body.get("role") == "tool" or body.get("tool_responses"):
        return "tool_result"
    if body.get("role") == "function":
        return "function_result"
    return "text"


def on_resume(manager: Any, past: list[Any]) -> None:
    """Before AutoGen's resume(): what it is given is journaled unless it is there already.

    The last message is not sent by resume() but opens the chat that follows.
    """
    note("resumed", {"messages": len(past)}, manager, manager)
    for session in seats.sessions_of(seats.run_of(manager, manager), manager, manager):
        known = Counter((row.speaker, row.text) for row in session.messages())
        for message in past[:-1]:
            name = str(message.get("name") or manager.name)
            words = (name, text_of(message))
            known[words] -= 1
            if known[words] < 0 and _is_deliverable(message):
                session.message(dict(message), speaker=name, listener=manager.name,
                                audience="group", kind="restored")  # fmt: skip


def on_clear(agent: Any, peer: Any, preserve: int | None) -> None:
    """Before an agent forgets: worth a line only where there is something to forget."""
    histories = agent.chat_messages
    lost = histories.get(peer) if peer is not None else any(histories.values())
    if lost:
        body = {"preserve": preserve, "peer": getattr(peer, "name", None)}
        note("clear_history", body, agent, peer or agent)


def note(kind: str, body: Mapping[str, Any], agent: Any, other: Any) -> None:
    """Journal an event in the sessions of a pair of agents."""
    run = seats.run_of(agent, other)
    now = _here(run)
    chat = now.chat if now else ""
    with _guard(run):
        for session, number in seats.sessions_of(run, agent, other).items():
            if not _is_journaled(session, run, chat, agent, other, kind, body):
                session.event(kind, body, speaker=agent.name, listener=other.name, run=number,
                              chat=chat)  # fmt: skip
