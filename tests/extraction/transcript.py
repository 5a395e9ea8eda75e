"""Transcripts in a small readable format, and how far an extractor agrees with them.

Expect:
- decision, planner: FastAPI, async       kind, speaker, words the content must hold
- decision|preference, planner: Fridays   either kind is right
- ? question, planner: Flask              right if found, no loss if not
- nothing

--- planner                               a message; (tool_call) etc. behind the name is its kind
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from autogen_persist.memory.learning import Candidate
from autogen_persist.records import Row

TRANSCRIPTS = Path(__file__).parent / "transcripts"
_TURN = re.compile(r"^--- (\w+)(?: \((\w+)\))?$", re.MULTILINE)
_EXPECTED = re.compile(r"^- (\? )?([\w|]+), (\w+): (.+)$", re.MULTILINE)


class Expected(NamedTuple):
    kinds: list[str]
    said_by: str
    words: list[str]
    optional: bool

    def fits(self, found: Candidate) -> bool:
        content = found.content.lower()
        right = found.kind in self.kinds and found.said_by == self.said_by
        return right and all(word.lower() in content for word in self.words)


class Transcript(NamedTuple):
    name: str
    expected: list[Expected]
    rows: list[Row]


class Score(NamedTuple):
    right: int
    wrong: list[str]
    missed: list[str]

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + len(self.missed))


def row(speaker: str, text: str, seq: int = 1, kind: str = "text", **body: object) -> Row:
    """A journaled message, as extractors get it."""
    internal = kind == "internal"
    return Row("s", seq, seq, 1, "a>b", "message", "text" if internal else kind, speaker, "manager",
               "group", internal, 0, {"content": text, "name": speaker, **body}, b"")  # fmt: skip


def talk(*turns: tuple[str, str]) -> list[Row]:
    return [row(speaker, text, seq) for seq, (speaker, text) in enumerate(turns, 1)]


def read(path: Path) -> Transcript:
    head, *parts = _TURN.split(path.read_text())
    expected = [
        Expected(kinds.split("|"), who, [w.strip() for w in words.split(",")], bool(optional))
        for optional, kinds, who, words in _EXPECTED.findall(head)
    ]
    assert expected or "- nothing" in head, f"{path.name} says neither what to expect nor 'nothing'"
    turns = zip(parts[0::3], parts[1::3], parts[2::3], strict=True)
    rows = [
        row(who, text.strip(), n, kind or "text") for n, (who, kind, text) in enumerate(turns, 1)
    ]
    return Transcript(path.stem, expected, rows)


def transcripts(folder: str) -> list[Transcript]:
    return [read(path) for path in sorted((TRANSCRIPTS / folder).glob("*.md"))]


def score(pairs: Iterable[tuple[Transcript, list[Candidate]]]) -> Score:
    """One learning fulfils one expectation: a second one that says the same counts as wrong."""
    right, wrong, missed = 0, [], []
    for transcript, found in pairs:
        open_ones = list(transcript.expected)
        for candidate in found:
            fit = next((e for e in open_ones if e.fits(candidate)), None)
            if fit is None:
                wrong.append(
                    f"{transcript.name}: {candidate.kind}, {candidate.said_by}: {candidate.content}"
                )
                continue
            open_ones.remove(fit)
            right += not fit.optional
        missed += [
            f"{transcript.name}: {e.kinds[0]}, {e.said_by}: {e.words}"
            for e in open_ones
            if not e.optional
        ]
    return Score(right, wrong, missed)
