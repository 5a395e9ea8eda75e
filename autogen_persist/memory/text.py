"""From text to the words that are indexed and asked for, the same on every backend."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from autogen_persist.memory.stem import stem

VERSION = 1
"""Of the words: an index that was made with others is made anew."""
LONGEST_TEXT = 200_000
"""Characters of one message that are indexed."""
LONGEST_WORD = 40
"""Characters; a hash or a base64 line is found by its beginning."""

# Of no use for finding anything: half of all messages have them.
_STOP_TEXT = """
    a about above after again all also am an and any are arent as at be because been before
    being below between both but by can cannot cant could couldnt did didnt do does doesnt doing
    dont down during each few for from further get got had hadnt has hasnt have havent having he
    her here hers herself hes hey hi him himself his how i id if ill im in into is isnt it its
    itself ive just let lets like me more most my myself no nor not now of off oh ok okay on
    once one only or other our ours out over own really same she shes should shouldnt so some
    such than that thats the their theirs them then there theres these they theyre theyve this
    those through to too under until up us very was wasnt we well were werent weve what whats
    when where which while who whom why will with wont would wouldnt yeah yes you your youre
    yours youve
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())

_MARKS = "".join(chr(c) for c in range(0x483, 0x1B00) if unicodedata.category(chr(c))[0] == "M")
"""Vowel signs and the like: a part of the word in the scripts of India, in Arabic, in Hebrew."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that are written without spaces, or inflected by endings: Thai to Hangul."""
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]['’{_MARKS}]*)+")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_ACCENTS = re.compile("[\u0300-\u036f]")

_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_TIME = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|since|recently|morning|evening|week|"
    rf"weekend|month|year|{_DAYS}|{_MONTHS}|\d{{4}}|\d+ (?:day|week|month|year)s?|"
    rf"\d{{1,2}}:\d{{2}})\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:when|how long ago|(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
)
_NAMES_OF_MONTHS = _MONTHS.split("|")
_NAMES_OF_DAYS = _DAYS.split("|")


def words(text: str) -> list[str]:
    """What a text is found by: stems, without stop words; of scripts without spaces, bigrams."""
    return list(_split(text[:LONGEST_TEXT], whole=False))


def asked(query: str) -> list[str]:
    """The different words of a question, in order."""
    return list(dict.fromkeys(_split(query[:LONGEST_TEXT], whole=True)))


def date_words(at: datetime) -> list[str]:
    """What a message is found by when somebody asks for 'Monday' or 'May 2023'."""
    day, month = _NAMES_OF_DAYS[at.weekday()], _NAMES_OF_MONTHS[at.month - 1]
    return [str(at.day), stem(month), str(at.year), stem(day)]


def tells_time(text: str) -> bool:
    """Whether a message says when something is or was."""
    return _TIME.search(text) is not None


def asks_when(query: str) -> bool:
    """Whether a question wants to know a time."""
    return _WHEN.search(query) is not None


def is_question(text: str) -> bool:
    """Whether a message ends by asking: the next one may well be the answer."""
    return any(mark in text[-60:] for mark in "?？؟")


def _split(text: str, *, whole: bool) -> Iterator[str]:
    if text.isascii():
        yield from _english(_ASCII_WORD.findall(text.lower()))
        return
    for word in _WORD.findall(_folded(text)):
        if _IS_UNSPACED.match(word):
            yield from _bigrams(word, whole=whole)
        else:
            yield from _english([word.replace("’", "'").strip("'")])


def _english(found: list[str]) -> Iterator[str]:
    for word in found:
        plain = word.removesuffix("'s").replace("'", "")
        if plain not in STOP_WORDS:
            # Other languages have no endings that this would cut, or endings worth cutting.
            yield stem(plain[:LONGEST_WORD]) if plain.isascii() else plain[:LONGEST_WORD]


def _bigrams(run: str, *, whole: bool) -> Iterator[str]:
    """Pairs of neighbours; each character alone is indexed too, so that one can be asked for."""
    if not whole or len(run) == 1:
        yield from run
    yield from (run[n : n + 2] for n in range(len(run) - 1))


def _folded(text: str) -> str:
    """Small letters without accents, full-width letters as plain ones."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", apart))
