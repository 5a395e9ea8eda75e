"""Finish an interrupted run without a new message: open it again as it was opened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autogen_persist.chat.past import PastRun
from autogen_persist.chat.runs import histories
from autogen_persist.errors import NothingToResume
from autogen_persist.session import Session


def start_again(session: Session, agents: Iterable[Any], is_async: bool) -> Any:
    """What the interrupted chat returns in the end; of an async one, its coroutine."""
    history = histories.get(session)
    run = history.interrupted() if history else None
    if history is None or run is None:
        why = f"it is {session.status}, and no run broke off. A new message continues it."
        raise NothingToResume(session.id, why)
    _check(session, run, is_async)
    sender, recipient = (history.agent(name, agents) for name in run.key[:2])
    method = str(run.started.body["method"])
    if recipient is not None and method in ("receive", "a_receive"):
        history.resume(run)
        return getattr(recipient, method)(run.opening["message"])
    if sender is None or recipient is None:
        name = run.key[0] if sender is None else run.key[1]
        raise NothingToResume(session.id, f"it needs the agent {name!r}; pass it to resume().")
    history.resume(run)
    return getattr(sender, method)(recipient, **run.opening)


def _check(session: Session, run: PastRun, is_async: bool) -> None:
    missing = run.started.body.get("not_plain")
    if missing:
        why = (
            f"its chat was opened with a {missing[0]} that JSON cannot hold. Run the script again."
        )
        raise NothingToResume(session.id, why)
    if str(run.started.body.get("method")).startswith("a_") is not is_async:
        other = "resume()" if is_async else "a_resume()"
        raise NothingToResume(session.id, f"its chat is of the other kind; use {other}.")
