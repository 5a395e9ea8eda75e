"""A journal as people read it: who said what, when, and where each run began and ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from autogen_persist.cli.terminal import clean, one_line
from autogen_persist.records import Row

PALETTE = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_cyan",
           "bright_green", "bright_magenta", "bright_yellow", "bright_blue")  # fmt: skip
WIDEST = 100
"""Longer lines are hard to read; only a terminal is wrapped, a pipe gets lines as they are."""
LONGEST_TEXT = 20_000
LONGEST_ARGUMENT = 36
LONGEST_RESULT = 300
INDENT = "     "
_EVENTS = {
    "clear_history": "{speaker} forgot its history",
    "clear_group": "the history of the group was cleared",
    "resumed": "resumed with what was said before",
}


def print_transcript(console: Console, rows: Iterable[Row], *, internal: bool = False) -> None:
    """Print the rows; what AutoGen said to itself is counted and hidden, unless asked for."""
    transcript = Transcript(console)
    hidden = 0
    for row in rows:
        if row.internal and not internal:
            hidden += 1
        elif row.type in ("message", "event"):  # effects are beneath what was said
            transcript.print(row)
    transcript.end(hidden)


class Colours(dict[str, str]):
    """A colour for each speaker, in the order in which they first speak."""

    def __missing__(self, speaker: str) -> str:
        self[speaker] = PALETTE[len(self) % len(PALETTE)]
        return self[speaker]


class Transcript:
    """Prints one row after the other."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = min(console.width, WIDEST)
        self._colours = Colours()
        self._day = ""
        self._open: list[int] = []

    def print(self, row: Row) -> None:
        if row.type == "message":
            self._message(row)
        else:
            self._event(row)

    def end(self, hidden: int) -> None:
        for run in self._open:
            self._rule(f"run {run} has no end: its process was killed, or is still at it", "red")
        if hidden:
            noun = "message" if hidden == 1 else "messages"
            self._line(Text(f"{hidden} internal {noun} hidden; --internal shows them", style="dim"))

    def _message(self, row: Row) -> None:
        colour = self._colours[row.speaker]
        heading = Text().append(f"{row.seq:>4} ", style="dim")
        heading.append(one_line(row.speaker), style=f"bold {colour}")
        if row.audience == "peer" and row.listener:
            heading.append(f" → {one_line(row.listener)}", style="dim")
        if row.internal:
            heading.append(" (internal)", style="dim")
        heading.append(f"  {self._time(row)}", style="dim")
        self._line(heading)
        for paragraph in _paragraphs(row.body):
            self._paragraph(paragraph)

    def _event(self, row: Row) -> None:
        if row.kind == "run_started":
            self._open.append(row.run)
        elif row.kind == "run_ended" and row.run in self._open:
            self._open.remove(row.run)
        self._rule(_headline(row))

    def _time(self, row: Row) -> str:
        day, clock = f"{row.at:%Y-%m-%d}", f"{row.at:%H:%M:%S}"
        if day == self._day:
            return clock
        self._day = day
        return f"{day} {clock} UTC"

    def _paragraph(self, text: Text) -> None:
        text.expand_tabs(4)
        room = self._width - len(INDENT)
        on_terminal = self._console.is_terminal
        lines = text.wrap(self._console, room) if on_terminal else text.split("\n")
        for line in lines:
            line.rstrip()
            self._line(Text(INDENT).append_text(line) if line else line)

    def _rule(self, title: str, style: str = "dim") -> None:
        line = Text(f"── {one_line(title, 200)} ", style=style)
        line.append("─" * max(2, self._width - line.cell_len))
        self._line(line)

    def _line(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)


def _headline(row: Row) -> str:
    body = row.body
    if row.kind == "process":
        shipped = body.get("autogen") or {}
        parts = [f"process {body.get('pid')}", *(f"{name} {shipped[name]}" for name in shipped)]
        return " · ".join(parts)
    if row.kind == "run_started":
        return f"run {row.run} · {row.speaker} → {row.listener}"
    if row.kind == "run_ended":
        error = f" ({body['error']})" if body.get("error") else ""
        return f"run {row.run} ended: {str(body.get('reason')).replace('_', ' ')}{error}"
    known = _EVENTS.get(row.kind)
    return known.format(speaker=row.speaker) if known else row.kind.replace("_", " ")


def _paragraphs(body: Mapping[str, Any]) -> Iterator[Text]:
    results = body.get("tool_responses")
    if isinstance(results, list) and results:
        for result in results:  # their text is the content once more
            yield _result(result.get("content") if isinstance(result, dict) else result)
    elif body.get("role") in ("tool", "function"):
        yield _result(body.get("content"))
    elif words := _words(body.get("content")):
        yield Text(_cut(clean(words)))
    yield from _calls(body)


def _words(content: Any) -> str:
    """What was said; parts that are not text are named in brackets."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "\n".join(map(_part, content))
    return _compact(content)


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else _compact(part)
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'part')}]"


def _calls(body: Mapping[str, Any]) -> Iterator[Text]:
    calls = body.get("tool_calls")
    listed = calls if isinstance(calls, list) else []
    functions = [call.get("function") for call in listed if isinstance(call, dict)]
    for function in (*functions, body.get("function_call")):
        if isinstance(function, dict):
            yield _call(function)


def _call(function: Mapping[str, Any]) -> Text:
    name, arguments = one_line(str(function.get("name"))), function.get("arguments")
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:  # a model wrote it
        given = arguments
    if isinstance(given, dict):
        parts = [f"{one_line(str(k))}={_argument(v)}" for k, v in given.items()]
    else:
        parts = [] if given is None else [_argument(given)]
    return Text.assemble(("▸ ", "dim"), (name, "bold"), f"({', '.join(parts)})")


def _argument(value: Any) -> str:
    return one_line(_compact(value), LONGEST_ARGUMENT)


def _result(content: Any) -> Text:
    return Text.assemble(("◂ ", "dim"), one_line(_words(content), LONGEST_RESULT))


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}…\n({len(text) - LONGEST_TEXT:,} more characters: see --json)"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)
