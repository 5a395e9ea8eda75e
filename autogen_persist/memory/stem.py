"""Porter's stemmer: 'painting', 'painted' and 'paints' are one word.

M. F. Porter, "An algorithm for suffix stripping" (1980), with the two departures that
everybody makes: 'bli' and 'logi' in step 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_CONSONANT, _VOWEL = "[^aeiou]", "[aeiouy]"
_C, _V = f"{_CONSONANT}[^aeiouy]*", f"{_VOWEL}[aeiou]*"
_M0 = re.compile(f"^(?:{_C})?{_V}{_C}")
"""At least one vowel followed by a consonant."""
_M1 = re.compile(f"^(?:{_C})?(?:{_V}{_C}){{2}}")
_M_IS_1 = re.compile(f"^(?:{_C})?{_V}{_C}(?:{_V})?$")
_HAS_VOWEL = re.compile(f"^(?:{_C})?{_VOWEL}")
_CVC = re.compile(f"^{_C}{_VOWEL}[^aeiouwxy]$")
_DOUBLE = re.compile(r"([^aeioulsz])\1$")

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def _ends_in(suffixes: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(suffixes, key=len, reverse=True)
    return re.compile(f"^(.+?)({'|'.join(longest_first)})$")


_ENDS_2, _ENDS_3, _ENDS_4 = map(_ends_in, (_STEP_2, _STEP_3, _STEP_4))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of an English word in small letters."""
    if len(word) < 3:
        return word
    # A y at the beginning is a consonant; as a capital it is no vowel to the patterns.
    if word[0] == "y":
        word = f"Y{word[1:]}"
    for step in (_plural, _past, _final_y, _double_suffix, _full, _suffix, _final_e):
        word = step(word)
    return word.lower()


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _M0.match(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            rest = word.removesuffix(suffix)
            return _tidied(rest) if _HAS_VOWEL.match(rest) else word
    return word


def _tidied(word: str) -> str:
    """'hopp' is 'hop' again, and 'hop' of 'hoping' is 'hope'."""
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    if _DOUBLE.search(word):
        return word[:-1]
    return f"{word}e" if _CVC.match(word) else word


def _final_y(word: str) -> str:
    return f"{word[:-1]}i" if word.endswith("y") and _HAS_VOWEL.match(word[:-1]) else word


def _double_suffix(word: str) -> str:
    found = _ENDS_2.match(word)
    return found[1] + _STEP_2[found[2]] if found and _M0.match(found[1]) else word


def _full(word: str) -> str:
    found = _ENDS_3.match(word)
    return found[1] + _STEP_3[found[2]] if found and _M0.match(found[1]) else word


def _suffix(word: str) -> str:
    if word.endswith(("sion", "tion")):
        return word[:-3] if _M1.match(word[:-3]) else word
    found = _ENDS_4.match(word)
    return found[1] if found and _M1.match(found[1]) else word


def _final_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _M1.match(rest) or (_M_IS_1.match(rest) and not _CVC.match(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _M1.match(word) else word
