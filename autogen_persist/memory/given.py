"""Text or messages that somebody brings, as rows that an extractor can read."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from autogen_persist.errors import BadArgument
from autogen_persist.records import Message, Row

_SPEAKER = re.compile(r"^\s*([^\W\d][\w .'-]{0,40}?)(?: \(to [^)]+\))?: +(?=\S)")
_NOT_NAMES = ("note", "decision", "agreed", "todo", "warning", "error", "example", "http", "https")


def as_messages(said: str | Sequence[Mapping[str, Any]]) -> list[Message]:
    """One row for each message, numbered from 1."""
    if isinstance(said, str):
        return [_row(n, name, {"content": text}) for n, (name, text) in enumerate(_turns(said), 1)]
    rows = []
    for number, message in enumerate(said, 1):
        if not isinstance(message, Mapping):
            raise BadArgument("messages", type(message).__name__, "a text, or a list of messages")
        speaker = message.get("name") or message.get("role") or ""
        rows.append(_row(number, str(speaker), message))
    return rows


def _turns(text: str) -> list[tuple[str, str]]:
    """Who says what, where lines begin with a name; else all of it, by nobody."""
    turns: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        found = _SPEAKER.match(line)
        if found and found[1].lower() not in _NOT_NAMES:
            turns.append((found[1], [line[found.end() :]]))
        elif turns:
            turns[-1][1].append(line)
        else:
            turns.append(("", [line]))
    return [(name, "\n".join(lines)) for name, lines in turns]


def _row(number: int, speaker: str, body: Mapping[str, Any]) -> Message:
    return Row(
        "", number, number, 0, "", "message", "text", speaker, "", "group", False,
        time.time_ns() // 1000, body, b"",
    )  # fmt: skip
