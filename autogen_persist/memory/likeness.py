"""Whether two learnings say the same, or the opposite, by their words alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


SAME = 0.8
"""The share of words two sentences have in common, from which on they say the same."""

_WORD = re.compile(r"[\w+#]+(?:[.'-][\w+#]+)*")
_STOP = _set_of(
    "a an the and or but of to in on at by for from with as is are was were be been it its this"
    " that these those we our us i my me you your they their he she his her so then than also just"
    " very have has had do does did will shall would can could should there here all any some"
    " because since due let's we'll we've we're i'm i've i'd it's ok okay please"
)
_NO = _set_of(
    "not no never nor without avoid stop don't doesn't didn't won't isn't aren't can't cannot"
)
_CHOICE = _set_of(
    "use uses used using choose chose chosen choosing pick picked decide decided go going went"
    " switch switched move moved migrate migrated adopt adopted stick keep kept prefer always now"
    " longer stay run runs drop dropped replace replaced rather instead over settled agreed"
    " decision"
)
_FAMILIES = [
    _set_of(names)
    for names in (
        "flask fastapi django express rails spring laravel starlette tornado nestjs aiohttp sanic",
        "postgresql postgres mysql mariadb sqlite mongodb oracle dynamodb cassandra cockroachdb",
        "react vue angular svelte preact",
        "aws azure gcp heroku hetzner",
        "npm yarn pnpm bun",
        "pip poetry uv pdm pipenv conda",
        "tabs spaces",
        "rest graphql grpc soap",
        "kafka rabbitmq nats sqs",
        "docker podman",
        "jenkins circleci travis",
        "pytest unittest nose",
        "mocha jest vitest",
        "pandas polars",
        "pytorch tensorflow jax keras",
        "git mercurial svn",
        "celery rq dramatiq",
        "python typescript javascript java kotlin rust go ruby php c# c++ scala",
    )
]
"""Things of which a team usually has one at a time."""
_SWITCHED = re.compile(
    r"\b(?:switch|mov|migrat|chang)(?:ed|ing|e|es)?\b|\bnow\b|\bno longer\b|\breplac|\binstead\b"
    r"|\bdrop"
)
_AGAINST = re.compile(
    r"\b(?:over|instead of|rather than|and not|but not|not|no longer(?: use)?|and drop"
    r"|replac(?:es|ed|ing)|never(?: use)?|avoid|from)\b"
)
_FOR = re.compile(
    r"\b(?:always(?: use)?|uses?|using|chose|choos(?:e|ing)|picked|decided (?:on|for|to use)"
    r"|go(?:ing)? (?:with|for)|switched to|moved to|migrated to|to|prefer|adopt(?:ed)?"
    r"|stick (?:with|to)|stay with)\b"
)
_ENDS = re.compile(
    r"\b(?:because|since|so that|due to|for|in|as|when|if|with|on)\b|[,;:.] |[.!]$"
    rf"|{_AGAINST.pattern}|{_FOR.pattern}"
)
_IS = re.compile(r"^(?:the |our |my )?(.{2,80}?) (?:is|are|was|will be) (.+)$")


def same(a: str, b: str) -> bool:
    """Whether one of them is enough: nearly the same words, numbers and meaning."""
    first, second = _words(a), _words(b)
    if not first or not second or _numbers(first) != _numbers(second):
        return False
    if _is_negative(a) != _is_negative(b) or contradicts(a, b):
        return False
    return len(first & second) / len(first | second) >= SAME


def is_covered(text: str, texts: Iterable[str]) -> bool:
    """Whether nearly all words of a text occur in one of the others: it was recalled, not said."""
    words = _words(text)
    return bool(words) and any(len(words & _words(t)) / len(words) >= SAME for t in texts)


def contradicts(new: str, old: str) -> bool | None:
    """Whether the new sentence takes the place of the old one; None if that is not clear.

    Clear is: the other choice of the same two, another value of the same thing, always and
    never of the same thing, a switch away from something of the same family.
    """
    for judge in (_by_choice, _by_value, _by_negation, _by_family):
        verdict = judge(new.lower(), old.lower())
        if verdict is not False:
            return verdict
    return False


class _Choice(NamedTuple):
    chosen: frozenset[str]
    dropped: frozenset[str]
    scope: frozenset[str]


def _choice(text: str) -> _Choice:
    """What a sentence speaks for, what against, and what is left: where that holds."""
    against = _after(_AGAINST, text)
    chosen = _after(_FOR, text) - against
    return _Choice(chosen, against, _words(text) - chosen - against - _CHOICE - _NO)


def _after(marker: re.Pattern[str], text: str) -> frozenset[str]:
    """The words right after a marker, up to where something else begins."""
    found: set[str] = set()
    for match in marker.finditer(text):
        rest = text[match.end() :]
        end = _ENDS.search(rest)
        found |= _words(rest[: end.start()] if end else rest) - _CHOICE - _NO
    return frozenset(found)


def _by_choice(new: str, old: str) -> bool | None:
    now, then = _choice(new), _choice(old)
    crossed = (now.chosen & then.dropped) or (now.dropped & then.chosen)
    if not crossed or now.chosen & then.chosen:
        return False
    scopes_meet = not now.scope or not then.scope or now.scope & then.scope
    return True if scopes_meet else None


def _by_value(new: str, old: str) -> bool | None:
    now, then = _IS.match(new), _IS.match(old)
    if not now or not then or _words(now[1]) != _words(then[1]) or not _words(now[1]):
        return False
    if _is_negative(now[2]) != _is_negative(then[2]):
        return False
    values = _words(now[2]), _words(then[2])
    if values[0] <= values[1] or values[1] <= values[0]:
        return False
    if _numbers(values[0]) and _numbers(values[1]):
        return _numbers(values[0]) != _numbers(values[1])
    return None if values[0] & values[1] else True


def _by_negation(new: str, old: str) -> bool | None:
    if _is_negative(new) == _is_negative(old):
        return False
    now, then = (_words(text) - _NO - _CHOICE for text in (new, old))
    if not now or not then:
        return False
    share = len(now & then) / len(now | then)
    return True if share >= SAME else None if share >= 0.5 else False


def _by_family(new: str, old: str) -> bool | None:
    now, then = _choice(new).chosen, _choice(old).chosen
    rivals = any((now & f) and (then & f) and not (now & then & f) for f in _FAMILIES)
    if not rivals:
        return False
    return True if _SWITCHED.search(new) else None


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _STOP


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(c.isdigit() for c in word))


def _is_negative(text: str) -> bool:
    return bool(_NO & set(_WORD.findall(text.lower())))
