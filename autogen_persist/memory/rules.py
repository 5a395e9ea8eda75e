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

from autogen_persist.memory import assent
from autogen_persist.memory.learning import Candidate, without_recalled
from autogen_persist.memory.likeness import is_covered, same
from autogen_persist.memory.secrets import holds_secret
from autogen_persist.memory.sentences import Sentence, sentences
from autogen_persist.records import Message

SPOKEN = ("text", "restored")
"""The kinds of rows in which agents speak to each other."""
NEAR = 4
"""So many messages later, "agreed" may still mean this one."""
MOST_FROM_ONE = 20
"""A message with more of them is a document, not speech: the first ones are kept."""


class _Rule(NamedTuple):
    kind: str
    pattern: re.Pattern[str]
    confidence: float
    firm: bool = True
    """A rule that is not firm needs a reason, an alternative or a yes from somebody else."""
    alone: bool = True
    """Whether it also holds for an item of a list, where people collect ideas."""


def _rule(kind: str, pattern: str, confidence: float, firm: bool = True, alone: bool = True) -> _Rule:
    return _Rule(kind, re.compile(pattern), confidence, firm, alone)


_WE = r"(?:we|i|the team|the board|both of us)"
_ADVERB = r"(?: (?:all|both|just|now|also|finally|therefore|jointly|already|then|thus|have|clearly))*"
_VAGUE = r"(?! *(?:it|this|that|these|those|them|so|the following|both|nothing|anything)\b)"
_STAY = r"(?:use|go with|go for|stick (?:with|to)|stay with|stay on|keep|adopt|switch to|move to|drop|pick|choose)"
_STAYING = r"(?:using|going with|going for|sticking (?:with|to)|staying with|keeping|adopting|switching to|moving to|dropping|choosing|picking)"
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th|\.)? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w* \d|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:the )?end of|q[1-4]\b|tomorrow|next (?:week|month|year))"
)
_THING = (
    r"(?:deadline|due date|budget|(?:tech )?stack|team|company|project|product|client|customer|database"
    r"|cluster|production|repo(?:sitory)?|main branch|license|licence|schedule|release|launch|target (?:audience|group)"
    r"|audience|users|time ?zone|languages?|quota|limit|contract|policy|office|servers?|infrastructure|api)"
)

_RULES = (
    # open points by label
    _rule("question", r"(?:todo|to[- ]do|action items?|follow[- ]up|open (?:question|issue|point|item)s?|unresolved|still (?:open|unresolved)|tbd|pending)\b[^:]{0,30}: *\S", 0.75),
    _rule("question", r"one (?:thing|question|point|issue) (?:remains|is still|is) open\b", 0.7),
    # decisions
    _rule("decision", r"(?:so |then |ok(?:ay)?,? |and )*(?:the |our |my |final )*(?:decision|decided|agreed|resolved|settled|approved|resolution|conclusion)\b[^:?]{0,40}: *" + _VAGUE + r"\S", 0.8),
    _rule("decision", r"for the record\b[:,]? *\S", 0.75),
    _rule("decision", rf"\b{_WE}(?:'ve)?{_ADVERB} (?:decided|agreed|opted|settled|resolved)(?: to| on| for| that| upon| against| not)+" + _VAGUE, 0.8),
    _rule("decision", rf"\b{_WE}(?:'ve)?{_ADVERB} (?:chose|chosen|rejected|ruled out|discarded|standardi[sz]ed on|switched (?:from|to)|migrated (?:from|to)|settled on)\b" + _VAGUE, 0.75),
    _rule("decision", rf"\b(?:we're|we are|i'm|i am){_ADVERB} {_STAYING}\b" + _VAGUE, 0.7),
    _rule("decision", rf"\b(?:we'll|we will|we shall|we're going to|we are going to|i'll){_ADVERB} {_STAY}\b" + _VAGUE, 0.65, firm=False),
    _rule("decision", rf"(?:^|[,:;] |\b(?:then|so|therefore|case|now) ){_WE}{_ADVERB} (?:{_STAY})\b" + _VAGUE, 0.65, firm=False),
    _rule("decision", r"\b(?:we'll|we will|we shall)(?: not)?(?: \w+ly)? (?!see|need|have|be|get back|meet|look|try|also|now|then|first|start|continue)\w+" + _VAGUE, 0.6, firm=False),
    _rule("decision", rf"\blet's(?: all| just)? (?:not )?(?:{_STAY}|do|avoid|settle on|lock in|limit|roll back|postpone|skip|stop|replace|exclude|include)\b" + _VAGUE, 0.65, firm=False),
    _rule("decision", r"(?:ok(?:ay)?,? |so |then |well,? |alright,? )*[\w.+#'-]+(?: [\w.+#'-]+){0,3} it is\b(?=[,.:;!]| with| then|$)", 0.65, firm=False),
    _rule("decision", r"(?:ok(?:ay)?,? |so |well,? )*then it(?:'s| is)(?: going to be)? ", 0.65, firm=False),
    _rule("decision", r"\b(?:from now on|going forward|henceforth|as of (?:today|now|next))\b", 0.75),
    _rule("decision", r"\b(?:i(?:'d| would)? (?:suggest|propose|recommend)|my (?:suggestion|proposal|recommendation) (?:is|would be)|we should)\b", 0.5, firm=False, alone=False),
    # failures
    _rule("failure", r"\b(?:the|a|our|my|its?) (?:root cause|cause|bug|culprit|mistake|underlying (?:problem|issue)|real problem)(?: here| of \S+(?: \S+){0,5})? (?:was|is|turned out|came from|lay in)\b(?! (?:fixed|solved|resolved|gone|unknown|unclear|not ))", 0.7),
    _rule("failure", r"\b(?:the |our |my )(?:problem|issue|error)(?: here)? (?:was|turned out|came from)\b(?! (?:fixed|solved|resolved|gone|not ))", 0.65),
    _rule("failure", r"\b(?:fail(?:ed|s)|crash(?:ed|es)|broke|breaks|broken|hung|hangs|collapsed|timed out|times out|went wrong|goes wrong|(?:was|were|got) (?:rejected|lost|blocked|corrupted)|stopped working|leaked|overflow(?:ed|s)|deadlock(?:ed|s))\b.{0,120}?\b(?:because|since|due to|when|whenever|as soon as|if|unless|after|until)\b", 0.7),
    _rule("failure", r"\b(?:doesn't|does not|didn't|did not|won't|don't|do not) (?:work|compile|scale|start|build|match)\b.{0,120}?\b(?:because|since|due to|when|whenever|as soon as|if|unless|with|on)\b", 0.7),
    _rule("failure", r"\b(?:was|were|is|are) caused by\b|\bled to (?:a |an |the )?(?:crash|outage|failure|data loss|error|bug|delay)", 0.65),
    _rule("failure", r"(?:lessons? learn(?:ed|t)|post-?mortem)\b[^:]{0,30}: *\S", 0.7),
    # patterns that work
    _rule("pattern", r"\bwhat (?:finally |really |actually |also )?(?:worked|helped|works|helps|fixed it|did it|did the trick)(?: \w+){0,5}? (?:was|is|were)\b", 0.75),
    _rule("pattern", r"\bthe (?:trick|workaround|fix|remedy)(?: that worked| here)? (?:is|was)\b(?! (?:in|on|not|ready|done|deployed|merged))", 0.75),
    _rule("pattern", r"\bthe (?:key|solution|secret|best way)(?: here| to [^,.]{3,60})? (?:is|was) to\b", 0.65, alone=False),
    _rule("pattern", r"\bworked (?:best|well|great|perfectly|like a charm|wonders|much better|really well)\b|\bdid (?:wonders|the trick)\b", 0.65),
    _rule("pattern", r"\bturned out\b.{0,60}\b(?:faster|better|easier|cheaper|simpler|more reliable|enough|best)\b", 0.65),
    _rule("pattern", r"\b(?:fixed|solved|avoided) (?:it|this|that|the [\w -]{2,40}) by \w+ing\b|\bsaved us\b", 0.65),
    _rule("failure", r"\bturned out (?:that|to)\b", 0.6),
    # preferences
    _rule("preference", r"(?:^|\b(?:and|but|also|that|;|,) )(?:please,? )?i(?:'d| would)?(?: much| strongly| generally| usually| also| really| personally| still)? (?:prefer|rather)\b(?! not to say)", 0.75),
    _rule("preference", r"\b(?:i'd|i would) (?:much )?rather\b", 0.75),
    _rule("preference", r"\b(?:the |our )(?:client|customer|user|boss|board|team|owner|reviewer)s? (?:prefers?|insists? on|hates?|dislikes?|(?:really )?wants?)\b|\bwe (?:strongly |generally |usually )?prefer\b", 0.7),
    _rule("preference", r"(?:^|[,;:] |\band )i (?:hate|dislike|can't stand|always|never|don't like|do not like|don't want|do not want)\b(?! (?:to|know|knew|said|thought|it|that|this)\b)", 0.65),
    _rule("preference", r"(?:^|[,;:] |\b(?:and|but|also) )(?:please,? )(?:always|never|avoid|don't ever)\b(?! mind)", 0.75, alone=False),
    _rule("preference", r"(?:^|[;:] |, (?=never))(?:and |but |also )?(?:always|never)\b(?! (?:mind|before|again|been|make sure|remember|hesitate|give up|forget))", 0.7, alone=False),
    _rule("preference", r"(?:^|[,;:] |\b(?:and|but|also) )please (?:don't|do not)\b(?! (?:worry|hesitate|forget|be |reply|share))", 0.7, alone=False),
    _rule("preference", r"(?:and |but |also )?no [\w-]+(?: [\w'-]+){0,8},? please\b", 0.65, alone=False),
    _rule("preference", r"(?:please )?avoid \w+", 0.6, alone=False),
    _rule("preference", r"\b(?:must|should|has to|have to) (?:always|never)\b", 0.65, alone=False),
    # open points
    _rule("question", r"\b(?:we|i|someone|somebody)(?:'ll| also| will)? still (?:need|needs|have|has) to\b|\bwe also still (?:need|have) to\b", 0.7),
    _rule("question", r"\b(?:we|i|someone|somebody) (?:also )?(?:need|needs|have|has) to (?:decide|clarify|find out|figure out|agree on|confirm whether)\b", 0.65),
    _rule("question", r"\b(?:we're|we are|i'm|i am) (?:still )?waiting for\b|\b(?:is|are|remains?) (?:still )?(?:unclear|undecided|unresolved|unanswered)\b|\bstill (?:open|missing|unclear)\b|\bwe don't know (?:yet )?(?:whether|how|who|when|if)\b", 0.65),
    # facts
    _rule("fact", r"(?:fyi|for (?:your )?(?:information|reference)|note that|please note|keep in mind|bear in mind|reminder|just so you know|be aware)\b[:,]? *(?:that )?\w+ \w+", 0.65),
    _rule("fact", rf"(?:^|[,;:] |\band |\bas )(?:the|our|my|this) (?:[\w-]+ )?{_THING}(?: (?:for|of|in|at) [\w' -]{{2,40}}?)? (?:is|are|has|have|uses?|runs? on|consists? of|follows|ends?|starts?|must|requires?|expires?)\b(?! (?:ready|done|up|down|not|now|clear|great|good|fine|nice|here|empty|working|running|been|a good|a great)\b)", 0.65),
    _rule("fact", r"\b(?:is|are) (?:responsible for|in charge of|the owners? of|our contact for)\b|^(?:the )?[\w-]+(?: [\w-]+){0,2} (?:owns|maintains|is owned by|reports to) (?:the|our|all|every)\b", 0.7),
    _rule("fact", r"\b(?:i'm|i am|my \w+ is) (?:allergic|vegetarian|vegan|based in|located in|colou?r-?blind|left-handed|a native)\b|\bi (?:live|work) (?:in|at|for|as)\b|\bmy (?:time ?zone|budget|team|company|boss|birthday|address|phone|native language) (?:is|are|has)\b", 0.7),
    _rule("fact", rf"\b(?:must|has to|have to|needs? to|(?:is|are) due|due)\b.{{0,80}}\b(?:by|on|before|until|no later than)\b (?:the )?{_DATE}", 0.65),
    _rule("fact", r"\bwe (?:currently|already) (?:use|run|host|have)\b|\bour [\w-]+(?: [\w-]+)? (?:uses|runs on|is written in|is hosted|is built|consists of|has) ", 0.65),
    _rule("fact", r"\b(?:is|are) only (?:available|open|allowed|supported|possible|valid)\b|\b(?:is|are) limited to\b", 0.6),
)  # fmt: skip

_UNDER = {
    "decision": re.compile(r"(?:key |final |our )?(?:decisions?|decided|agreed|agreements?)\b"),
    "question": re.compile(r"(?:open (?:questions?|issues?|points?|items?)|to-?dos?|action items?)\b"),
    "failure": re.compile(r"(?:lessons? learn(?:ed|t)|what (?:went wrong|did(?:n't| not) work))\b"),
    "pattern": re.compile(r"what (?:worked|went well)\b"),
    "preference": re.compile(r"(?:our )?(?:preferences|house rules|ground rules)\b"),
}
"""What a heading makes of the items below it."""
_WHO = re.compile(r"\b(?:who (?:will|is going to|can|could|takes|writes|owns)|does (?:any|some)(?:one|body) know|can (?:any|some)(?:one|body))\b")

_REASON = re.compile(
    r"\b(?:because|so that|due to|owing to|given that|otherwise)\b"
    r"|\bsince\b(?! (?:\d|then\b|yesterday|last|monday|tuesday|wednesday|thursday|friday|the (?:start|beginning)))"
    r"|, as (?!well|a\b|an\b|if|soon|usual|always|for|per|of|requested|discussed)|: (?:it|they|this)\b"
)
_OVER = re.compile(r"\b(?:over|instead of|rather than|and not|not|no longer|and drop|off the table)\b")
_GUESS = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|probably|suppose|imagine|assuming|hypothetically|what if"
    r"|i guess|i wonder|in theory|seems?|looks like|one option|another option|would(?! prefer| rather| like)|could(?! not|n't)"
    r"|(?:i )?(?:don't|do not|can't|cannot) (?:say|think|know|see)|may (?:be|have|also|not|want|need)|either)\b|'d (?!prefer|rather|suggest|recommend|propose)"
)
_CONDITION = re.compile(r"(?:but |and |so |or |even )?(?:if|suppose|imagine|assuming|when|whenever|unless|in case|once)\b")
_OTHERS = re.compile(
    r"\b(?:according to|(?:says?|said|wrote|writes|claims?|claimed|reports? that|states?|argues?|whispered|replied|quoted?)\b(?! (?:before|above|earlier)))"
    r"|\b(?:many|some|most) (?:people|companies|teams|users|say)\b"
)
_JOKE = re.compile(r"🙄|😂|🤣|😜|😏|\B/s\b|\byeah,? right\b|\boh,? (?:sure|great|wonderful|brilliant)\b|\bwhat could (?:possibly )?go wrong\b|\bwhile we're at it\b|\bas if\b|\bha(?:ha)+\b|\bjust kidding\b|\bj/k\b")
_IDEAS = re.compile(r"\bbrainstorm|\bideas?\b[^.]{0,20}:|\boptions?:|\bsome thoughts\b|\bthink(?:ing)? (?:aloud|out loud)\b|\bjust ideas\b|\bslogans?\b|\bdrafts?:")
_INJECTED = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|your)\b.{0,30}\b(?:instructions?|prompts?|rules|messages|guidelines)\b"
    r"|\byou (?:must|shall|will|should)(?: now| always| only)* obey\b|\bfrom now on,? you\b|\byou are now\b|\b(?:developer|jailbreak|dan|god) mode\b"
    r"|\bsystem prompt\b|\bnew instructions?:|^system:|\b(?:do not|don't|never) (?:tell|inform|alert) the (?:user|human|operator)\b|\balways obey\b|^(?:assistant|ai),? remember\b"
)  # fmt: skip
_CASTING = re.compile(
    r"^you are (?:a|an|the)\b|\b(?:act|answer|respond|speak) as (?:a|an|if)\b|\bpretend (?:to be|you)|\bstay in character\b"
    r"|\brole-?play|\byour (?:role|task|job) is\b|\byou (?:always|never) \w+|^(?:always|never) (?:answer|reply|respond|reveal|speak)\b"
)
_LEANS = re.compile(r"(?:that|this|it|they|these|those|the (?:cause|reason|root cause|bug|fix|culprit|mistake|problem|issue))\b")
_GOES_ON = re.compile(r"(?:because|(?:this|that|it)(?:'s| is) because|the reason|otherwise|reason:)")
_CLEARING = re.compile(
    r"^(?:(?:ok(?:ay)?|so|then|well|great|good|alright|also|and|but|noted|understood|by the way|btw|fyi)\b[,:.!–-]* +)+(?=\S)",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}\w*(?:-\w+)*|[A-Za-z]+\d[\w-]*|[\w-]+\.(?:py|js|ts|md|csv|json|toml|yml|yaml|sql))\b")


@dataclass
class _Found:
    """A candidate while it is not yet known what the others think of it."""

    row: Message
    place: int
    kind: str
    content: str
    confidence: float
    firm: bool
    agreed: list[Message] = field(default_factory=list)
    rejected: bool = False


@dataclass
class _Turn:
    row: Message
    said: list[Sentence]


class Rules:
    """The default extractor. `injected` are texts that were recalled into these chats."""

    name = "rules"
    version = "1"

    def __call__(
        self, messages: Sequence[Message], injected: Iterable[str] = ()
    ) -> list[Candidate]:
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
    turn = turns[place]
    if any(_INJECTED.search(s.bare) or _CASTING.search(s.bare) for s in turn.said):
        return []
    ideas = any(_IDEAS.search(s.bare) for s in turn.said)
    joking = {s.block for s in turn.said if _JOKE.search(s.bare)}
    found = []
    for number, sentence in enumerate(turn.said):
        if sentence.block in joking or (ideas and sentence.item) or len(found) >= MOST_FROM_ONE:
            continue
        rule = _rule_for(sentence)
        if rule is None and _is_unanswered(turns, place, sentence):
            rule = _Rule("question", _WHO, 0.6)
        content = _content(turn.said, number, rule) if rule else ""
        if rule and content and not holds_secret(content):
            firm = rule.firm or _is_weighed(sentence, rule)
            bonus = 0.05 if _REASON.search(sentence.bare) else 0.0
            found.append(
                _Found(turn.row, place, rule.kind, content, rule.confidence + bonus, firm)
            )
    return found


def _rule_for(sentence: Sentence) -> _Rule | None:
    """The first rule that a sentence satisfies, if it is meant as it sounds."""
    bare = sentence.bare
    if len(bare.split()) < 4 and not sentence.box:
        return None
    by_heading = _by_heading(sentence)
    if by_heading:
        return by_heading
    for rule in _RULES:
        match = rule.pattern.match(bare) if _at_start(rule) else rule.pattern.search(bare)
        if match and _is_meant(sentence, rule, match):
            return rule
    return None


def _at_start(rule: _Rule) -> bool:
    return not rule.pattern.pattern.startswith(("\\b", "(?:^|"))


def _by_heading(sentence: Sentence) -> _Rule | None:
    if not sentence.item or sentence.box == "x" or _GUESS.search(sentence.bare):
        return None
    if sentence.box:
        return _Rule("question", _WHO, 0.6)
    for kind, pattern in _UNDER.items():
        asks = sentence.bare.endswith("?")
        if pattern.match(sentence.heading) and (kind == "question" or not asks):
            return _Rule(kind, pattern, 0.7)
    return None


def _is_meant(sentence: Sentence, rule: _Rule, match: re.Match[str]) -> bool:
    bare = sentence.bare
    reason = _REASON.search(bare)
    # A reason may well be a conjecture ("because Flask would be slow"); what it supports may not.
    head = bare[: max(reason.start(), match.end())] if reason else bare
    if bare.endswith("?"):
        return rule.kind == "question" and ":" in bare
    if rule.kind != "question" and (_GUESS.search(head) or _OTHERS.search(head)):
        return False
    if rule.kind not in ("question", "failure") and _CONDITION.match(bare):
        return False
    if sentence.item:
        return rule.alone and (rule.firm or reason is not None)
    return True


def _is_weighed(sentence: Sentence, rule: _Rule) -> bool:
    """Whether a reason or an alternative stands beside it, so that it is more than small talk."""
    if not rule.alone:  # a proposal is only as good as the answers to it
        return False
    return bool(_REASON.search(sentence.bare) or _OVER.search(sentence.bare))


def _is_unanswered(turns: Sequence[_Turn], place: int, sentence: Sentence) -> bool:
    """A call for somebody that nobody answers; with no message after it, we cannot know."""
    if not sentence.bare.endswith("?") or not _WHO.search(sentence.bare):
        return False
    later = [t for t in turns[place + 1 : place + 1 + NEAR] if t.row.speaker != turns[place].row.speaker]
    return bool(later) and not any(_answers(turn.said, sentence) for turn in later)


def _answers(said: Sequence[Sentence], question: Sentence) -> bool:
    asked = {word for word in re.findall(r"\w{4,}", question.text.lower())}
    for sentence in said:
        if re.match(r"(?:yes|sure|me\b|i can|i will|i'll|i do|i know|i am|i'm)", sentence.bare):
            return True
        if len(asked & set(re.findall(r"\w{4,}", sentence.text.lower()))) >= 2:
            return True
    return False


def _content(said: Sequence[Sentence], number: int, rule: _Rule) -> str:
    """The sentence with the neighbour it leans on; '' if it cannot be understood without more."""
    sentence = said[number]
    words = [_CLEARING.sub("", sentence.text)]
    before = said[number - 1] if number else None
    after = said[number + 1] if number + 1 < len(said) else None
    if _LEANS.match(sentence.bare):
        if before and before.block == sentence.block and not before.bare.endswith("?"):
            words.insert(0, _CLEARING.sub("", before.text))
        elif not _REASON.search(sentence.bare) and rule.kind != "failure" and rule.kind != "pattern":
            return ""
    if after and after.block == sentence.block and _GOES_ON.match(after.bare):
        words.append(after.text)
    content = " ".join(words)
    return content[:1].upper() + content[1:]


def _hear_the_others(turns: Sequence[_Turn], found: list[_Found]) -> None:
    """Note for each candidate who agreed and whether it was rejected or taken back."""
    for place, turn in enumerate(turns):
        stance = assent.stance(turn.said)
        if not stance:
            continue
        target = _target(turns, found, place, stance)
        for one in found:
            if one.place != target:
                continue
            if stance == "agrees" and one.kind != "question":
                one.agreed.append(turn.row)
            elif stance != "agrees" and one.kind == "decision":
                one.rejected = True


def _target(turns: Sequence[_Turn], found: list[_Found], place: int, stance: str) -> int:
    """The message that an answer refers to; -1 if there is none."""
    me, said = turns[place].row.speaker, turns[place].said
    last = turns[place - 1] if place else None
    if last and last.row.speaker != me and stance == "agrees":
        if assent.stance(last.said) == "rejects" and not assent.agrees_with(said):
            return -1  # agreed with whom?
    named = assent.agrees_with(said)
    known = {turn.row.speaker.lower() for turn in turns}
    for one in reversed(found):
        speaker = one.row.speaker
        if not place - NEAR <= one.place < place or (speaker == me) != (stance == "takes back"):
            continue
        if named in known and speaker.lower() != named:
            return -1
        asked = last is not None and one.place != place - 1 and _asks(last) and last.row.speaker != me
        return -1 if asked and assent.is_bare_yes(said) else one.place
    return -1


def _asks(turn: _Turn) -> bool:
    return bool(turn.said) and turn.said[-1].bare.endswith("?")


def _settled(found: _Found) -> Candidate | None:
    names = tuple(dict.fromkeys(row.speaker for row in found.agreed))
    if found.rejected and not names:
        return None
    if not found.firm and not names:
        return None
    evidence = (found.row, *found.agreed)
    numbers = tuple(dict.fromkeys(row.seq for row in evidence if row.seq is not None))
    names_of_things = dict.fromkeys(name.lower() for name in _NAME.findall(found.content))
    candidate = Candidate(
        kind=found.kind,
        content=found.content,
        said_by=found.row.speaker,
        confirmed_by=names,
        evidence=numbers,
        confidence=round(min(0.95, found.confidence + 0.1 * len(names)), 2),
        tags=tuple(names_of_things)[:5],
    )
    if found.rejected:
        tags = ("disputed", *candidate.tags)
        return candidate._replace(kind="question", confidence=0.4, tags=tags)
    return candidate


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
