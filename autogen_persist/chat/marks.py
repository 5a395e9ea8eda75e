"""What the author of a tool says of it, and what a running tool may ask of us.

A mark is an attribute of the function, which stays what it is. AutoGen wraps tools in
layers that differ between distributions; the mark is looked for through all of them.
"""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from autogen_persist.errors import BadArgument, OutsideTool
from autogen_persist.options import is_off

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "_autogen_persist_tool"
_LAYERS = ("__wrapped__", "_origin", "func", "__func__")
_MOST_LAYERS = 32

current_key: ContextVar[str | None] = ContextVar("autogen_persist_key", default=None)
"""The idempotency key of the tool that runs."""


def once(tool: F) -> F:
    """Mark a tool that must not run twice: if it was interrupted, it is not run again.

    The resumed chat stops with UnfinishedTool, unless unfinished_tool is 'skip' or 'ask'.
    """
    return _mark(tool, "once")


def idempotent(tool: F) -> F:
    """Mark a tool that may run twice: if it was interrupted, it is run again without a word."""
    return _mark(tool, "idempotent")


def rerun(tool: F) -> F:
    """Mark a tool with state in the process: it runs again whenever its chat is replayed.

    So its list or its file is rebuilt. Its result must be the one in the journal, else
    Divergence is raised.
    """
    return _mark(tool, "rerun")


def idempotency_key() -> str:
    """In a tool: a text for this call, the same when it is run again after an interruption.

    Every other call has another one. Give it to a service that does a thing once per key.
    """
    key = current_key.get()
    if key is not None:
        return key
    if is_off():
        return uuid.uuid4().hex  # nothing is journaled, so nothing is run again
    raise OutsideTool


def mark_of(tool: Any) -> str | None:
    """'once', 'idempotent', 'rerun' or None, through all that a tool may be wrapped in."""
    for _ in range(_MOST_LAYERS):
        if tool is None:
            return None
        mark = getattr(tool, _MARK, None)
        if isinstance(mark, str):
            return mark
        tool = _inner(tool)
    return None


def _inner(tool: Any) -> Any:
    for name in _LAYERS:
        inner = getattr(tool, name, None)
        if inner is not None:
            return inner
    called = vars(type(tool)).get("__call__")  # an object that can be called
    return called if inspect.isfunction(called) else None


def _mark(tool: F, mark: str) -> F:
    holder = _holder(tool)
    name = getattr(tool, "__name__", None) or repr(tool)
    known = mark_of(holder)
    if known not in (None, mark):
        raise BadArgument("mark", f"@{mark}", f"one mark for each tool, and {name} is @{known}")
    try:
        setattr(holder, _MARK, mark)
    except (AttributeError, TypeError):
        raise BadArgument("tool", name, "a function or method of your own") from None
    return tool


def _holder(tool: Any) -> Any:
    """What AutoGen keeps of a tool: a method's function, a Tool's function."""
    holder = getattr(tool, "__func__", tool)
    if inspect.isfunction(holder) or isinstance(holder, functools.partial):
        return holder
    inner = getattr(holder, "func", None)
    return inner if inspect.isfunction(inner) else holder
