"""The front door: from a chat that AutoGen runs to a journal in a database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from autogen_persist.errors import BadArgument, SessionConflict
from autogen_persist.opening import is_off, open_session
from autogen_persist.options import Options
from autogen_persist.session import Session

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine import URL
    from typing_extensions import Unpack

    from autogen_persist.store import Store

    Address = str | os.PathLike[str] | URL | Engine | Store | None


def persist(
    target: Any,
    *,
    session_id: str | None = None,
    url: Address = None,
    **options: Unpack[Options],
) -> Session:
    """Journal every message of a chat, and bring an interrupted one back where it stopped.

    A session that was open before gives its agents their past back. A chat that opens like
    the one that was interrupted is replayed and goes on; any other message continues the
    conversation with its whole history.

    target: a GroupChatManager, a GroupChat that gets its manager later, or a
        ConversableAgent for chats of two.
    session_id: the journal's name; a new, sortable one is made up without it.
    url: a SQLAlchemy URL, a path, an Engine or a Store; default: AUTOGEN_PERSIST_URL, else
        `autogen_persist.db` in the working directory.
    durability: 'full' commits and syncs each message before anyone hears it, 'normal'
        leaves the sync to the operating system (SQLite), 'behind' commits in groups, and a
        kill can lose the last 64 rows.
    on_error: what a failing database does to the chat: 'stop' it with JournalUnavailable,
        or 'continue' with the messages kept in memory until the database is back.
    strict: raise where JSON cannot hold a value, instead of journaling its type and text.
    namespace: whose learnings these are.
    on_divergence: what happens when a replayed script leaves its journal: 'error' before
        anything is paid, or 'live': the rest of the journal is hidden and written anew.
    on_mismatch: what happens when agents of the group are missing, new or renamed:
        'error', or 'adapt' to go on with those that are there.
    unfinished_tool: a tool that was begun and has no result is run again ('retry'), or a
        person is asked ('ask'), or the chat stops ('fail'), or the model is told that the
        outcome is unknown ('skip').
    human_input: 'ask' at the terminal, or 'park': the process ends with code 75, and
        `autogen-persist answer` answers the question later.
    extract_every: after so many messages, at the end of a run and after a minute of silence,
        what is worth keeping is learnt in the background; 0, the default: never. See `Memory`.
    upgrade: True brings an older schema up to date; a fresh SQLite file is always set up.
    patience: seconds for which a failing database is tried again.
    wait: seconds to wait for another process that writes this session; SessionBusy after that.
    """
    from autogen_persist.chat import seam, seats
    from autogen_persist.chat.distribution import describe, load

    autogen = load()
    is_chat = isinstance(target, autogen.GroupChat)
    if not is_chat and not isinstance(target, autogen.ConversableAgent):
        raise BadArgument(
            "target", type(target).__name__,
            "a GroupChatManager, a GroupChat or a ConversableAgent",
        )  # fmt: skip
    known = seats.owner(target)
    if known is not None and session_id in (None, known.id):
        return known.same(url, options)
    if known is not None:
        name = type(target).__name__ if is_chat else target.name
        raise SessionConflict(target=name, has=known.id, wanted=str(session_id))
    session = open_session(session_id, url=url, process=describe(), **options)
    if is_off():
        return session
    is_new = not seam.is_used(session)
    seam.use(session)
    try:
        (seats.mark if is_chat else seats.sit)(target, session)
        seam.attach(session, target)
    except BaseException:
        if is_new:
            session.close()
        raise
    return session


def instrument(
    *,
    session_id: str | None = None,
    url: Address = None,
    **options: Unpack[Options],
) -> Session:
    """Journal every agent and chat that this process builds from now on, in one session.

    The options are those of `persist`. `uninstrument()` takes it back.
    """
    from autogen_persist.chat import seam
    from autogen_persist.chat.distribution import describe

    process = describe()
    known = seam.instrumented()
    if known is not None and session_id in (None, known.id):
        return known.same(url, options)
    if known is not None:
        raise SessionConflict(target="this process", has=known.id, wanted=str(session_id))
    session = open_session(session_id, url=url, process=process, **options)
    if not is_off():
        seam.instrument_with(session)
    return session


def uninstrument() -> None:
    """Close the session of `instrument()`; agents work on as AutoGen made them."""
    from autogen_persist.chat import seam

    session = seam.instrumented()
    if session is not None:
        session.close()
