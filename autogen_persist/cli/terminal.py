"""How things are printed: nothing that was journaled can steer the terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import Any

from rich.console import Console
from rich.text import Text

# Markup, emoji codes and highlighting are off: a message is printed as it was said.
out = Console(markup=False, emoji=False, highlight=False)
err = Console(markup=False, emoji=False, highlight=False, stderr=True)
pipe = Console(markup=False, emoji=False, highlight=False, width=10_000)
"""In place of `out` for tables that nobody sees in a terminal: every cell stays whole."""

_COLOURING = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
_LINE_ENDS = re.compile("\r\n|[\r\x85\u2028\u2029]")
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SAFE: dict[int, str] = (
    # A picture in place of a control character: what was there can be seen and does nothing.
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), "\ufffd")
    | dict.fromkeys(_BIDI, "")
)


def clean(text: str) -> str:
    """The text without anything that moves a cursor, hides words or turns their direction."""
    return _LINE_ENDS.sub("\n", _COLOURING.sub("", text)).translate(_SAFE)


def one_line(text: str, most: int | None = None) -> str:
    """Clean, in a single line, and cut where it gets longer than `most`."""
    line = " ".join(clean(text).split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def complain(text: str) -> None:
    err.print(Text(one_line(text), style="red"), soft_wrap=True)


def tell(text: str) -> None:
    """A line for the person at the terminal; standard output is the script's."""
    print(text, file=sys.stderr, flush=True)


def print_json(document: Mapping[str, Any]) -> None:
    """One line. In ASCII, so that neither a lone surrogate nor an escape gets through."""
    print(json.dumps(document))


def hang_up() -> None:
    """The reader of a pipe has gone: what is still buffered goes nowhere, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def forgive_encoding() -> None:
    """A terminal that is not UTF-8 shows escapes where it lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
