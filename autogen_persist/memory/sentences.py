"""A chat message cut into sentences: without code, quotations, tables and logs, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_TEXT = 200_000
"""Characters that are read of one message: a longer one is a file, not speech."""
LONGEST = 500
"""Characters of a sentence; longer ones are dropped, which also bounds the work of every rule."""


class Sentence(NamedTuple):
    """One sentence of a message."""

    text: str
    """As it was said, without markup."""
    bare: str
    """In lower case and with quoted words blanked: what the rules look at."""
    block: int
    """The number of its paragraph or list item."""
    item: bool
    heading: str
    """The heading or lead-in above a list item, in lower case."""
    box: str
    """Of a list item with a box to tick: ' ' or 'x'."""


class _Block(NamedTuple):
    lines: list[str]
    item: bool
    heading: str
    box: str


_FENCE = ("```", "~~~")
_DATA = ("[{", '["', "*****")
_ITEM = re.compile(r"\s*(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+(?:\[([ xX])\]\s+)?(.*)")
_HEADING = re.compile(
    r"\s{0,3}(?:#{1,6}\s+(.*)|\*\*([^*]{1,80})\*\*\s*:?\s*|([^.!?:|]{2,50}):\s*)$"
)
_LOG = re.compile(
    r"\W{0,2}\d{4}-\d\d-\d\d[T ]\d\d:|\W?\d\d:\d\d:\d\d|\$ |>>> |\s*File \"|\s+at [\w.$]+\("
    r"|\W?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b|Traceback|[\w.]{0,60}(?:Error|Exception):"
)
_OUTPUT = re.compile(r"\s*(?:exitcode:|code output:|execution output:)", re.IGNORECASE)
_PEM = re.compile(r"-----BEGIN [^-\n]{1,60}-----[^-]{0,20000}(?:-----END [^-\n]{1,60}-----)?")
_LINK = re.compile(r"!?\[([^\]\[\n]{1,200})\]\([^()\s]{1,500}\)")
_EMPHASIS = re.compile(r"\*\*|~~|(?<![\w*])[*_](?=\w)|(?<=[\w.!?])[*_](?![\w*])")
_QUOTED = re.compile(
    r'(?<!\w)"[^"]{1,1000}"(?!\w)|“[^“”]{1,1000}”|«[^«»]{1,1000}»|`[^`]{1,300}`'
    r"|(?<!\w)'[^']{2,300}'(?!\w)"
)
_END = re.compile(r"[.!?…]+[\"'”’)\]»]{0,3}\s+|[。！？]+|\n")
_SHORT = (
    "e.g i.e etc vs cf nr fig dr mr mrs ms prof approx ca rev tab al inc ltd st vol pp ch est dept"
    " resp incl excl para jan feb apr jun jul aug sept oct nov z.b d.h usw bzw"
)
_SHORTENED = frozenset(_SHORT.split())
_SHORT_BEFORE_NUMBER = frozenset(("no", "p", "sec", "art", "min", "max", "mar", "sep", "dec"))


def sentences(text: str) -> list[Sentence]:
    """What a message says, sentence by sentence."""
    found = []
    text = _PEM.sub(" -----BEGIN KEY ", text[:MOST_TEXT].replace("’", "'").replace("\x00", ""))
    for number, block in enumerate(_blocks(text)):
        words = _EMPHASIS.sub("", _LINK.sub(r"\1", _join(block.lines)))
        blanked = _QUOTED.sub(_blank, words)
        for start, end in _spans(blanked):
            said = words[start:end].replace("`", "").strip()
            if 0 < len(said) <= LONGEST:
                bare = blanked[start:end].replace("`", "").strip().lower()
                said = " ".join(said.split())
                found.append(Sentence(said, bare, number, block.item, block.heading, block.box))
    return found


def _blocks(text: str) -> Iterator[_Block]:
    """Paragraphs and list items, without what is not speech."""
    block = _Block([], False, "", "")
    heading, lasting, fenced = "", False, False
    for line in text.splitlines():
        stripped = line.strip()
        fence = stripped.startswith(_FENCE) and stripped.count(stripped[:3]) == 1
        fenced ^= fence
        if _OUTPUT.match(line):
            break
        if fence or fenced or not stripped or _is_foreign(line, stripped, block):
            yield block
            block = _Block([], block.item and not stripped, block.heading, "")
            continue
        title = _HEADING.match(line) if len(line) < 100 else None
        item = _ITEM.match(line) if title is None or not title[1] else None
        if title and not item:
            yield block
            heading, lasting = next(t for t in title.groups() if t).lower(), bool(title[1])
            block = _Block([], False, heading, "")
        elif item:
            yield block
            block = _Block([item[2]], True, heading, (item[1] or "").lower())
        elif block.item and line[:1].isspace():
            block.lines.append(stripped)
        else:
            if block.item or not block.lines:
                yield block
                heading = heading if lasting else ""
                block = _Block([], False, heading, "")
            block.lines.append(stripped)
    yield block


def _is_foreign(line: str, stripped: str, block: _Block) -> bool:
    """Quotations, tables, logs, data, indented code."""
    if stripped[0] in ">|{}" or stripped[:2] in ("[{", '["') or _LOG.match(line):
        return True
    indented = line.startswith(("    ", "\t"))
    return indented and not block.item and not _ITEM.match(line)


def _join(lines: list[str]) -> str:
    """Lines of one paragraph: a wrapped line goes on, a short one was a statement of its own."""
    joined: list[str] = []
    for line in lines:
        if joined:
            before = joined[-1]
            wrapped = line[0].islower() or (len(before) > 60 and before[-1] not in ".!?:")
            joined.append(" " if wrapped else "\n")
        joined.append(line)
    return "".join(joined)


def _blank(quote: re.Match[str]) -> str:
    said = quote[0]
    last = said[-2] if said[-2] in ".!?" else "x"
    return said[0] + "x" * (len(said) - 3) + last + said[-1] if len(said) > 2 else said


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _END.finditer(text):
        if _ends_here(text, end):
            yield start, end.end()
            start = end.end()
    yield start, len(text)


def _ends_here(text: str, end: re.Match[str]) -> bool:
    if end[0][0] not in "." or end[0].startswith(".."):
        return True
    before = text[max(0, end.start() - 15) : end.start()].split()
    word = before[-1].lower().lstrip("([\"'") if before else ""
    if word in _SHORTENED:
        return word == "etc" and text[end.end() : end.end() + 1].isupper()
    if word in _SHORT_BEFORE_NUMBER and text[end.end() : end.end() + 1].isdigit():
        return False
    if not text[end.end() : end.end() + 1].islower():
        return True
    return not end[0].strip(". ") and word.isalpha() and len(word) > 2
