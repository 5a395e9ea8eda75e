"""Learnings by rule: patterns over sentences, no model. Precision before recall.

A sentence is learnt if it has the form of a decision, a preference, a failure, a pattern, a fact
or an open point, is meant as such (no question, guess, quotation, joke), and can be read alone.
A decision that somebody rejects is not learnt; if others agreed to it all the same, it is kept as
a question with the tag "disputed".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from autogen_persist.memory import assent, patterns
from autogen_persist.memory.learning import Candidate, without_recalled
from autogen_persist.memory.likeness import is_covered, same
from autogen_persist.memory.patterns import Form
from autogen_persist.memory.secrets import holds_secret
from autogen_persist.memory.sentences import Sentence, sentences
from autogen_persist.records import Message

SPOKEN = ("text", "restored")
"""The kinds of rows in which agents speak to each other."""
NEAR = 4
"""So many messages later, "agreed" may still mean this one."""
MOST_FROM_ONE = 20
"""A message with more of them is a document, not speech: the first ones are kept."""
FEWEST_WORDS = 4
_LONG_WORD = re.compile(r"\w{4,}")
_VOLUNTEERS = re.compile(r"(?:yes|sure|me\b|i can|i will|i'll|i do|i know|i am|i'm)\b")


class _Turn(NamedTuple):
    """A message and what it says."""

    row: Message
    said: list[Sentence]


@dataclass
class _Found:
    """A candidate while it is not yet known what the others think of it."""

    row: Message
    place: int
    """Which turn it is from."""
    number: int
    """Which sentence of it."""
    form: Form
    content: str
    weighed: bool
    """A reason or an alternative stands beside it, so that it is more than small talk."""
    agreed: list[Message] = field(default_factory=list)
    rejected: bool = False


class Rules:
    """The default extractor."""

    name = "rules"
    version = "1"
    overlap = 3 * NEAR
    """So many messages before the new ones it wants to see: somebody may agree to them."""

    def __call__(
        self, messages: Sequence[Message], injected: Iterable[str] = ()
    ) -> list[Candidate]:
        """What is worth keeping of these messages; `injected` was recalled into them before."""
        turns = [_Turn(m, sentences(without_recalled(m.text))) for m in messages if _is_speech(m)]
        recalled = [s.text for text in injected for s in sentences(text)]
        found = [f for place in range(len(turns)) for f in _read(turns, place)]
        found = [f for f in found if not is_covered(f.content, recalled)]
        _hear_the_others(turns, found)
        return _merged(candidate for f in found if (candidate := _settled(f)))


rules = Rules()


def _is_speech(row: Message) -> bool:
    body = row.body
    machine = any(body.get(key) for key in ("tool_calls", "function_call", "tool_responses"))
    told = body.get("role") in ("system", "tool", "function")
    return row.kind in SPOKEN and not row.internal and not machine and not told


def _read(turns: Sequence[_Turn], place: int) -> list[_Found]:
    """What one message says, before anyone answered."""
    row, said = turns[place]
    if any(patterns.INJECTION.search(s.bare) or patterns.CASTING.search(s.bare) for s in said):
        return []
    ideas = any(patterns.IDEAS.search(text) for s in said for text in (s.bare, f"{s.heading}:"))
    joking = {s.block for s in said if patterns.JOKE.search(s.bare)}
    found: list[_Found] = []
    for number, sentence in enumerate(said):
        if sentence.block in joking or (ideas and sentence.item):
            continue
        form = _form_of(sentence) or _open_call(turns, place, sentence)
        content = _content(said, number, found) if form else ""
        if form and content and not holds_secret(content):
            weighed = patterns.REASON.search(content.lower()) or patterns.ALTERNATIVE.search(
                sentence.bare
            )
            found.append(_Found(row, place, number, form, content, bool(weighed)))
        if len(found) == MOST_FROM_ONE:
            break
    return found


def _form_of(sentence: Sentence) -> Form | None:
    """The first form that a sentence has, if it is meant as it sounds."""
    if len(sentence.bare.split()) < FEWEST_WORDS:
        return None
    listed = _listed(sentence)
    if listed:
        return listed
    for form in patterns.FORMS:
        match = form.pattern.search(sentence.bare)
        if match and _is_meant(sentence, form, match.end()):
            return form
    return None


def _listed(sentence: Sentence) -> Form | None:
    """What a list item is by its heading or by its box to tick."""
    if not sentence.item or patterns.GUESS.search(sentence.bare):
        return None
    if sentence.box == " ":
        return Form("question", patterns.CALL, 0.6)
    for kind, heading in patterns.HEADINGS.items():
        asks = sentence.bare.endswith("?")
        if heading.match(sentence.heading) and (kind == "question" or not asks):
            return Form(kind, heading, 0.7)
    return None


def _is_meant(sentence: Sentence, form: Form, end: int) -> bool:
    """Whether it is no question, guess, condition, hearsay, or one idea in a list of ideas."""
    bare = sentence.bare
    if bare.endswith("?"):
        return form.kind == "question" and ":" in bare
    if sentence.box == "x" or patterns.FIELD.match(bare):
        return False
    reason = patterns.REASON.search(bare)
    # A reason may well be a conjecture ("because Flask would be slow"); what it supports may not.
    head = bare[: max(reason.start(), end)] if reason else bare
    guessed = patterns.GUESS.search(head) or patterns.HEARSAY.search(head)
    if guessed and form.kind != "question":
        return False
    if form.kind not in ("question", "failure") and patterns.CONDITION.match(bare):
        return False
    return not sentence.item or (form.in_lists and (not form.needs or reason is not None))


def _open_call(turns: Sequence[_Turn], place: int, sentence: Sentence) -> Form | None:
    """A question to everybody that nobody took up; with no message after it, we cannot know."""
    if not sentence.bare.endswith("?") or not patterns.CALL.search(sentence.bare):
        return None
    me = turns[place].row.speaker
    later = [t for t in turns[place + 1 : place + 1 + NEAR] if t.row.speaker != me]
    if not later or any(_answers(turn.said, sentence) for turn in later):
        return None
    return Form("question", patterns.CALL, 0.6)


def _answers(said: Sequence[Sentence], question: Sentence) -> bool:
    asked = set(_LONG_WORD.findall(question.text.lower()))
    return any(
        _VOLUNTEERS.match(s.bare) or len(asked & set(_LONG_WORD.findall(s.text.lower()))) >= 2
        for s in said
    )


def _content(said: Sequence[Sentence], number: int, found: Sequence[_Found]) -> str:
    """The sentence with the neighbours it leans on."""
    sentence = said[number]
    words = [sentence.text]
    before = said[number - 1] if number else None
    after = said[number + 1] if number + 1 < len(said) else None
    taken = bool(found) and found[-1].number == number - 1
    leans = patterns.LEANS.match(sentence.bare) and not taken
    if leans and before and before.block == sentence.block and not before.bare.endswith("?"):
        words.insert(0, before.text)
    if after and after.block == sentence.block and patterns.GOES_ON.match(after.bare):
        words.append(after.text)
    content = patterns.CLEARING.sub("", " ".join(words))
    return content[:1].upper() + content[1:]


def _hear_the_others(turns: Sequence[_Turn], found: Sequence[_Found]) -> None:
    """Note for each candidate who agreed, and whether it was rejected or taken back."""
    for place, turn in enumerate(turns):
        stance = assent.stance(turn.said)
        meant = _meant(turns, found, place, stance) if stance else None
        for one in found:
            if one.place != meant:
                continue
            if stance == "agrees" and one.form.kind != "question":
                one.agreed.append(turn.row)
            elif stance != "agrees" and one.form.kind == "decision":
                one.rejected = True


def _meant(turns: Sequence[_Turn], found: Sequence[_Found], place: int, stance: str) -> int | None:
    """The turn that an answer refers to: the last one that said something, not too long ago."""
    row, said = turns[place]
    near = [f for f in found if place - NEAR <= f.place < place]
    if stance == "takes back":
        near = [f for f in near if f.row.speaker == row.speaker]
        return near[-1].place if near else None
    near = [f for f in near if f.row.speaker != row.speaker]
    name = assent.agrees_with(said)
    if name in {turn.row.speaker.lower() for turn in turns}:
        near = [f for f in near if f.row.speaker.lower() == name]
    elif _is_between(turns[place - 1], near, place, said):
        return None
    return near[-1].place if near else None


def _is_between(last: _Turn, near: Sequence[_Found], place: int, said: Sequence[Sentence]) -> bool:
    """Whether the message before it is what it answers: an objection, or a question."""
    if not near or near[-1].place == place - 1 or not last.said:
        return False
    asked = last.said[-1].bare.endswith("?") and assent.is_bare_yes(said)
    return asked or assent.stance(last.said) == "rejects"


def _settled(found: _Found) -> Candidate | None:
    """What is left of it after everybody was heard."""
    others = tuple(dict.fromkeys(row.speaker for row in found.agreed))
    backed = {
        "": True,
        "reason": found.weighed,
        "weight": found.weighed or bool(others),
        "consent": found.weighed and bool(others),
    }
    if not backed[found.form.needs] or (found.rejected and not others):
        return None
    rows = (found.row, *found.agreed)
    names = tuple(dict.fromkeys(name.lower() for name in patterns.NAME.findall(found.content)))
    confidence = found.form.confidence + 0.05 * found.weighed + 0.1 * len(others)
    return Candidate(
        kind="question" if found.rejected else found.form.kind,
        content=found.content,
        said_by=found.row.speaker,
        confirmed_by=others,
        evidence=tuple(dict.fromkeys(row.seq for row in rows if row.seq is not None)),
        confidence=0.4 if found.rejected else round(min(0.95, confidence), 2),
        tags=("disputed", *names[:4]) if found.rejected else names[:5],
    )


def _merged(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Each thing once: who says it again confirms it."""
    kept: list[Candidate] = []
    for new in candidates:
        for n, old in enumerate(kept):
            if old.kind == new.kind and same(old.content, new.content):
                kept[n] = _confirmed(old, new)
                break
        else:
            kept.append(new)
    return kept


def _confirmed(old: Candidate, new: Candidate) -> Candidate:
    others = (*old.confirmed_by, new.said_by, *new.confirmed_by)
    return old._replace(
        confirmed_by=tuple(dict.fromkeys(name for name in others if name != old.said_by)),
        evidence=tuple(dict.fromkeys((*old.evidence, *new.evidence))),
        confidence=max(old.confidence, new.confidence),
    )
