"""Where every hook is blind: the few methods that are wrapped while a session is open.

They are wrapped on AutoGen's classes, not on objects: a manager runs a copy of its
GroupChat, and agents are built in the middle of a chat. A wrapper that has nothing to
tell calls the original at once.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from autogen_persist.chat import ending, listen, own, seats, world
from autogen_persist.chat.distribution import code_executors, console, load
from autogen_persist.chat.history import History
from autogen_persist.chat.resume import start_again
from autogen_persist.chat.runs import Chat, Unsaid, histories, selecting
from autogen_persist.errors import PersistError
from autogen_persist.session import Session

_lock = threading.Lock()
_originals: list[tuple[type, str, Any]] = []
_users: set[Session] = set()
_instrumented: Session | None = None


def use(session: Session) -> None:
    """Keep the seam in place until this session is closed."""
    with _lock:
        _users.add(session)
        session.on_close = _let_go
        session.on_closing = _complete
        session.start_again = start_again
        session.wrap_effect = own.wrap
        if not _originals:
            _install()
    ending.watch()


def is_used(session: Session) -> bool:
    return session in _users


def attach(session: Session, target: Any) -> None:
    """Give a session's earlier messages back to an agent, or to the manager of a group."""
    if session not in histories:
        histories[session] = History(session, script=False)
    histories[session].attach(target)


def _let_go(session: Session) -> None:
    global _instrumented
    histories.pop(session, None)
    own.forget(session)
    with _lock:
        _users.discard(session)
        if _instrumented is session:
            _instrumented = None
        if not _users:
            while _originals:
                owner, name, original = _originals.pop()
                setattr(owner, name, original)
            seats.listen_no_more()
            world.forget()


def instrumented() -> Session | None:
    """The session that agents join as they are built."""
    return _instrumented


def instrument_with(session: Session) -> None:
    global _instrumented
    use(session)
    if session not in histories:
        histories[session] = History(session, script=True)
    _instrumented = session


def _complete(session: Session) -> None:
    """A program that ends without an error has come to its end: next time it begins anew.

    A script is what ends, whatever it caught. A persisted chat that broke off waits to be
    resumed, also if its program ended well.
    """
    history = histories.get(session)
    if session.running or session.last_run is None or (history and history.past.waiting):
        return
    caught = (
        history is not None and history.script and not isinstance(session.last_run, PersistError)
    )
    if not ending.failed() and (session.last_run == "ended" or caught):
        session.event("completed", {})


def _install() -> None:
    autogen = load()
    agent, manager, group = autogen.ConversableAgent, autogen.GroupChatManager, autogen.GroupChat
    _replace(agent, "receive", _hearing)
    _before(agent, "a_receive", _hear)
    _before(agent, "clear_history", _forget)
    _around(agent, "__init__", _Build)
    _around(manager, "__init__", _Manage)
    _replace(agent, "initiate_chat", _chatting)
    _replace(agent, "a_initiate_chat", _chatting)
    _replace(agent, "run", _running)
    _replace(agent, "a_run", _running)
    _before(manager, "_prepare_chat", _prepare)
    _around(manager, "clear_agents_history", _ClearGroup)
    _around(manager, "resume", _Resume)
    _around(manager, "a_resume", _Resume)
    _around(group, "select_speaker", _Select)
    _around(group, "a_select_speaker", _Select)
    _stand(autogen.OpenAIWrapper, "create", world.create)
    for name in ("execute_function", "a_execute_function", "get_human_input", "a_get_human_input",
                 "execute_code_blocks"):  # fmt: skip
        _stand(agent, name, getattr(world, name))
    _stand(group, "random_select_speaker", world.random_select_speaker)
    for owner, name in code_executors():
        _stand(owner, name, world.run_code_blocks)
    _stand(console(), "input", world.read_line)


def _cover(agent: Any) -> None:
    """An agent class that asks people in its own way is wrapped as AutoGen's is."""
    wrapped = {(owner, name) for owner, name, _ in _originals}
    for kind in type(agent).__mro__:
        if kind is load().ConversableAgent:
            return
        for name in ("get_human_input", "a_get_human_input"):
            if (kind, name) not in wrapped:
                _stand(kind, name, getattr(world, name))


seats.on_seat = _cover


def _stand(owner: type, name: str, around: Callable[..., Any]) -> None:
    """Let `around` decide whether the method is called at all."""

    def wrap(original: Any) -> Any:
        if inspect.iscoroutinefunction(original):

            async def a_wrapper(*args: Any, **kwargs: Any) -> Any:
                return await around(original, *args, **kwargs)

            return a_wrapper

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs)

        return wrapper

    _replace(owner, name, wrap)


def _before(owner: type, name: str, act: Callable[..., None]) -> None:
    """Call `act` with a method's arguments, then the method."""

    def wrap(original: Any) -> Any:
        if inspect.iscoroutinefunction(original):

            async def a_wrapper(*args: Any, **kwargs: Any) -> Any:
                act(*args, **kwargs)
                return await original(*args, **kwargs)

            return a_wrapper

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            act(*args, **kwargs)
            return original(*args, **kwargs)

        return wrapper

    _replace(owner, name, wrap)


def _around(owner: type, name: str, context: Callable[..., Any]) -> None:
    """Call a method inside the context manager that `context` makes of its arguments."""

    def wrap(original: Any) -> Any:
        if inspect.iscoroutinefunction(original):

            async def a_wrapper(*args: Any, **kwargs: Any) -> Any:
                with context(*args, **kwargs):
                    return await original(*args, **kwargs)

            return a_wrapper

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with context(*args, **kwargs):
                return original(*args, **kwargs)

        return wrapper

    _replace(owner, name, wrap)


def _replace(owner: type, name: str, wrap: Callable[[Any], Any]) -> None:
    original = owner.__dict__.get(name)
    if original is not None:
        _originals.append((owner, name, original))
        setattr(owner, name, functools.wraps(original)(wrap(original)))


# What stands before each method: the parameters are the method's own.


def _hear(self: Any, message: Any, sender: Any, *_: Any, **__: Any) -> None:
    listen.on_receive(sender, message, self)


def _hearing(original: Any) -> Any:
    """`_before(…, _hear)` without packing the arguments: each listener of each message is here."""

    def receive(self: Any, message: Any, sender: Any, *args: Any, **kwargs: Any) -> Any:
        listen.on_receive(sender, message, self)
        return original(self, message, sender, *args, **kwargs)

    return receive


def _forget(
    self: Any, recipient: Any = None, nr_messages_to_preserve: int | None = None, **_: Any
) -> None:
    listen.on_clear(self, recipient, nr_messages_to_preserve)


def _prepare(self: Any, recipient: Any, clear_history: bool, *_: Any, **__: Any) -> None:
    if clear_history and self.groupchat.messages:
        listen.note("clear_group", {"preserve": 0}, self, recipient)


# What stands around each method.


_CHAT = ("clear_history", "silent", "cache", "max_turns", "summary_method", "summary_args",
         "message")  # fmt: skip
"""The parameters of `initiate_chat` after the recipient, in their order."""


def _chatting(original: Any) -> Any:
    """Around `initiate_chat`: a run, and a default of `clear_history` that spares the restored."""

    def begin(sender: Any, recipient: Any, args: Any, kwargs: Any) -> Chat:
        if isinstance(kwargs.get("clear_history"), Unsaid):
            del kwargs["clear_history"]
        opening = dict(zip(_CHAT, args, strict=False)) | kwargs
        return Chat(sender, recipient, opening, original.__name__)

    if inspect.iscoroutinefunction(original):

        async def a_wrapper(self: Any, recipient: Any = None, *args: Any, **kwargs: Any) -> Any:
            with begin(self, recipient, args, kwargs) as chat:
                return await original(self, recipient, *args, **chat.sparing(kwargs, args))

        return a_wrapper

    def wrapper(self: Any, recipient: Any = None, *args: Any, **kwargs: Any) -> Any:
        with begin(self, recipient, args, kwargs) as chat:
            return original(self, recipient, *args, **chat.sparing(kwargs, args))

    return wrapper


def _running(original: Any) -> Any:
    """`run()` hands AutoGen's default of `clear_history` on as if somebody had asked for it."""

    def told(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return kwargs if args else {"clear_history": Unsaid(True), **kwargs}

    if inspect.iscoroutinefunction(original):

        async def a_wrapper(self: Any, recipient: Any = None, *args: Any, **kwargs: Any) -> Any:
            return await original(self, recipient, *args, **told(args, kwargs))

        return a_wrapper

    def wrapper(self: Any, recipient: Any = None, *args: Any, **kwargs: Any) -> Any:
        return original(self, recipient, *args, **told(args, kwargs))

    return wrapper


class _Build:
    """A new agent joins the session of an instrumented process."""

    def __init__(self, agent: Any, *_: Any, **__: Any) -> None:
        self._agent = agent

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and _instrumented is not None:
            seats.join([self._agent], _instrumented)


class _Manage:
    """A persisted GroupChat gets its manager: now its past can be put back."""

    def __init__(self, manager: Any, *_: Any, **__: Any) -> None:
        self._manager = manager

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, *_: Any) -> None:
        session = seats.owner(self._manager) if kind is None else None
        if session is not None and session in histories:
            histories[session].attach(self._manager)


class _Select:
    """What a group says to choose its next speaker is internal."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = selecting.set(True)

    def __exit__(self, *_: Any) -> None:
        selecting.reset(self._token)


class _ClearGroup:
    """'CLEAR HISTORY' in a reply: the group's own list is cut as well."""

    def __init__(self, manager: Any, reply: Any, groupchat: Any) -> None:
        self._manager, self._group = manager, groupchat
        self._before = len(groupchat.messages)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: Any) -> None:
        kept = len(self._group.messages)
        if kept != self._before:
            listen.note("clear_group", {"preserve": kept}, self._manager, self._manager)


class _Resume:
    """AutoGen's resume() sends the past again: it is noted once, not message by message."""

    def __init__(self, manager: Any, messages: Any, *_: Any, **__: Any) -> None:
        self._manager, self._messages = manager, messages

    def __enter__(self) -> None:
        past = self._messages
        if isinstance(past, str):
            try:
                past = self._manager.messages_from_string(past)
            except Exception:  # noqa: BLE001 - AutoGen raises its own, in a moment
                past = []
        listen.on_resume(self._manager, list(past))
        seats.seat(self._manager).resuming = True

    def __exit__(self, *_: Any) -> None:
        seats.seat(self._manager).resuming = False
