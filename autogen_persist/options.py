"""The options that `persist`, `instrument` and the Persistent classes share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict, get_args, get_type_hints

from autogen_persist.errors import BadArgument


class Options(TypedDict, total=False):
    """Each with its meaning in the docstring of `persist`."""

    durability: Literal["full", "normal", "behind"]
    on_error: Literal["stop", "continue"]
    strict: bool
    namespace: str
    on_divergence: Literal["error", "live"]
    on_mismatch: Literal["error", "adapt"]
    unfinished_tool: Literal["retry", "ask", "fail", "skip"]
    human_input: Literal["ask", "park"]
    extract_every: int
    upgrade: bool | None
    patience: float
    wait: float


DEFAULTS: Options = {
    "durability": "full",
    "on_error": "stop",
    "strict": False,
    "namespace": "default",
    "on_divergence": "error",
    "on_mismatch": "error",
    "unfinished_tool": "retry",
    "human_input": "ask",
    "extract_every": 0,
    "upgrade": None,
    "patience": 10.0,
    "wait": 0,
}
_OF_OPENING = ("upgrade", "patience", "wait")
"""These say how a session is opened, not what it is."""


def complete(given: Options) -> Options:
    """All options, the missing ones by their defaults; BadArgument for one that is none."""
    for name, value in given.items():
        if name not in DEFAULTS:
            raise BadArgument("option", name, " or ".join(map(repr, DEFAULTS)))
        choices = _choices().get(name)
        if choices and value not in choices:
            raise BadArgument(name, value, " or ".join(map(repr, choices)))
        if name in ("patience", "wait") and not _is_duration(value):
            raise BadArgument(name, value, "a number of seconds, 0 or more")
    every = given.get("extract_every", 0)
    if not isinstance(every, int) or every < 0:
        raise BadArgument("extract_every", every, "a number of messages, or 0 to learn nothing")
    return {**DEFAULTS, **given}


def differing(given: Options, has: Options) -> dict[str, Any]:
    """What somebody asks for that a session was not opened with."""
    held: Mapping[str, Any] = has
    return {
        name: value
        for name, value in given.items()
        if name not in _OF_OPENING and value != held.get(name)
    }


def is_off() -> bool:
    """AUTOGEN_PERSIST=off turns everything off without an edit."""
    return os.environ.get("AUTOGEN_PERSIST", "").lower() in ("off", "0", "false", "no")


def _is_duration(value: object) -> bool:
    return isinstance(value, (int, float)) and value >= 0


def _choices() -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(Options)
    return {name: get_args(hint) for name, hint in hints.items() if "Literal" in str(hint)}
