"""The forms that sentences have which are worth keeping, and those that only look like it.

Every pattern reads one sentence in lower case with quoted words blanked (`Sentence.bare`), at most
500 characters long, and repeats nothing without a bound: that keeps the work linear.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Form(NamedTuple):
    """A form of sentence, and how far it is to be believed."""

    kind: str
    pattern: re.Pattern[str]
    confidence: float
    needs: str = ""
    """What must come with it. 'reason': a reason or an alternative. 'weight': that, or a yes from
    somebody else. 'consent': that, and a yes."""
    in_lists: bool = True
    """Whether it also counts in a list, where people collect ideas and steps."""


def _forms(
    kind: str, *patterns: str, confidence: float, needs: str = "", in_lists: bool = True
) -> list[Form]:
    return [Form(kind, re.compile(p), confidence, needs, in_lists) for p in patterns]


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_OPENING = r"^(?:(?:ok(?:ay)?|so|then|and|but|also|well|alright|now),? )*"
_CLAUSE = r"(?:^|[,;:] |\b(?:and|but|also|so|then|therefore|case|now|that) )"
_TEAM = r"\b(?:we|the team|the board|both of us)"
_ADVERB = (
    r"(?: (?:all|both|just|now|also|finally|therefore|jointly|already|then|thus|have|clearly))*"
)
# "Let's go with that" cannot be read on its own.
_CLEAR = r"\b(?! *(?:it|this|that|these|those|them|so|the following|both|nothing|anything)\b)"
_TAKE = (
    r"(?:use|go with|go for|stick (?:with|to)|stay (?:with|on)|keep(?! \w+ing\b)|adopt|switch to"
    r"|move to|drop|pick|choose)"
)
_TAKING = (
    r"(?:using|going with|sticking (?:with|to)|staying (?:with|on)|keeping|adopting|switching to"
    r"|moving to|dropping|choosing|picking)"
)
_OTHER_VERBS = (
    r"(?:do|avoid|settle on|lock in|limit|roll back|postpone|skip|stop|replace|exclude|include)"
)
_WILL = r"\b(?:we'll|we will|we shall|we're going to|we are going to)"
_ORDINARY = (
    r"(?:see|need|have|be|get back|meet|look|try|also|now|then|first|start|continue|do|keep \w+ing"
    r"|proceed|begin|evaluate|compare)\b"
)
_CHOSEN = (
    r"(?:chose|chosen|rejected|ruled out|discarded|standardi[sz]ed on|switched (?:from|to)"
    r"|migrated (?:from|to)|settled on)"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w{0,6}"
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}|{_MONTH} \d"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:the )?end of|q[1-4]\b|tomorrow"
    r"|next (?:week|month|year))"
)
_THING = (
    r"(?:deadline|due date|budget|(?:tech )?stack|team|company|project|product|client|customer"
    r"|database|cluster|production|repo(?:sitory)?|main branch|licen[cs]e|schedule|release|launch"
    r"|target (?:audience|group)|audience|users|time ?zone|languages?|quota|limit|contract|policy"
    r"|office|servers?|infrastructure|api)"
)
# "The team is great", "the server is down", "the project has been started" tell nothing to keep.
_PASSING = (
    r"(?! (?:ready|done|up|down|not|now|clear|great|good|fine|nice|here|empty|working|running"
    r"|been|like|so|very|super|really|a (?:good|great)|\w+(?:ed|en))\b)"
)
# "Never push to main", but neither "never saw it coming" nor "always happy to help".
_IMPERATIVE = (
    r"(?:always|never)\b(?! (?:mind|before|again|been|make sure|remember|hesitate|give up|forget"
    r"|here|there|up|in|on|a|an|the|so|too|good|great|nice|happy|glad|fun|easy|ready|open|had|saw"
    r"|knew|thought)\b)(?! (?!(?:need|feed|seed|embed|exceed|proceed|bring)\b)\w+(?:ing|ed)\b)"
)
_WHY_OR_WHEN = r"\b.{0,120}?\b(?:because|since|due to|when|whenever|as soon as|if|unless"
_NO_MORE = r"\b(?! (?:fixed|solved|resolved|gone|unknown|unclear|not )\b)"

LABELS = [
    *_forms(
        "question",
        r"^(?:todo|to[- ]do|action items?|follow[- ]up|open (?:question|issue|point|item)s?"
        r"|(?:still )?unresolved|still open|tbd|pending)\b[^:]{0,30}: *\S",
        confidence=0.75,
    ),
    *_forms(
        "question",
        r"^one (?:thing|question|point|issue) (?:remains|is still|is) open\b",
        confidence=0.7,
    ),
    *_forms(
        "decision",
        _OPENING + r"(?:the |our |my |final )*(?:decision|decided|agreed|resolved|settled|approved"
        r"|resolution|conclusion)\b[^:?]{0,40}: *" + _CLEAR + r"\S",
        confidence=0.8,
    ),
    *_forms("decision", _OPENING + r"for the record\b[:,]? *\S", confidence=0.75),
    *_forms(
        "failure", r"^(?:lessons? learn(?:ed|t)|post-?mortem)\b[^:]{0,30}: *\S", confidence=0.7
    ),
]
DECISIONS = [
    *_forms(
        "decision",
        r"\bi(?:'d| would)? (?:suggest|propose|recommend)\b",
        r"\bmy (?:suggestion|proposal|recommendation) (?:is|would be)\b|\bwe should\b",
        confidence=0.5,
        needs="consent",
        in_lists=False,
    ),
    *_forms(
        "decision",
        rf"{_TEAM}(?:'ve)?{_ADVERB} (?:decided|agreed|opted|settled|resolved)"
        r"(?: to| on| for| that| upon| against| not)+" + _CLEAR,
        rf"{_TEAM}(?:'ve)?{_ADVERB} {_CHOSEN}" + _CLEAR,
        rf"\b(?:we're|we are){_ADVERB} (?:{_TAKING}|going for)" + _CLEAR,
        r"\b(?:from now on|going forward|henceforth|as of (?:today|now|next))\b",
        confidence=0.75,
    ),
    *_forms(
        "decision",
        rf"\bi(?:'ve)?{_ADVERB} (?:decided|opted|{_CHOSEN})(?: to| on| for| that| against| not)*"
        + _CLEAR,
        rf"\b(?:i'm|i am){_ADVERB} {_TAKING}" + _CLEAR,
        confidence=0.65,
        needs="reason",
    ),
    *_forms(
        "decision",
        rf"{_WILL}{_ADVERB} {_TAKE}" + _CLEAR,
        rf"{_CLAUSE}(?:we|the team){_ADVERB} {_TAKE}" + _CLEAR,
        rf"{_WILL}(?: not)?(?: \w+ly)? (?!{_ORDINARY})\w+" + _CLEAR,
        rf"\blet's(?: all| just)? (?:not )?(?:{_TAKE}|{_OTHER_VERBS})" + _CLEAR,
        _OPENING + r"[\w.+#'-]+(?: [\w.+#'-]+){0,3} it is\b(?=[,.:;!]| with| then|$)",
        _OPENING + r"(?<=then )it(?:'s| is)(?: going to be)? ",
        confidence=0.65,
        needs="weight",
    ),
]
FAILURES = [
    *_forms(
        "failure",
        r"\b(?:the|a|our|my|its?) (?:root cause|cause|bug|culprit|mistake"
        r"|underlying (?:problem|issue)|real problem)(?: here| of \S+(?: \S+){0,5})?"
        r" (?:was|is|turned out|came from|lay in)" + _NO_MORE,
        r"\b(?:the |our |my )(?:problem|issue|error)(?: here)? (?:was|turned out|came from)"
        + _NO_MORE,
        r"\b(?:fail(?:ed|s)|crash(?:ed|es)|broke|(?<!take )(?<!taking )(?<!the )breaks|broken|hung"
        r"|hangs|collapsed|timed out|times out|went wrong|goes wrong|stopped working|leaked"
        r"|(?:was|were|got) (?:rejected|lost|blocked|corrupted)|overflow(?:ed|s)"
        r"|deadlock(?:ed|s))" + _WHY_OR_WHEN + r"|after|until)\b",
        r"\b(?:doesn't|does not|didn't|did not|won't|don't|do not)"
        r" (?:work|compile|scale|start|build|match)" + _WHY_OR_WHEN + r"|with|on)\b",
        confidence=0.7,
    ),
    *_forms(
        "failure",
        r"\b(?:was|were|is|are) caused by\b",
        r"\bled to (?:a |an |the )?(?:crash|outage|failure|data loss|error|bug|delay)",
        confidence=0.65,
    ),
]
WORKING = [
    *_forms(
        "pattern",
        r"\bwhat (?:finally |really |actually |also )?(?:worked|helped|works|helps|fixed it|did it"
        r"|did the trick)(?: \w+){0,5}? (?:was|is|were)\b",
        r"\bthe (?:trick|workaround|fix|remedy)(?: that worked| here)? (?:is|was)\b"
        r"(?! (?:in|on|not|ready|done|deployed|merged))",
        confidence=0.75,
    ),
    *_forms(
        "pattern",
        r"\bworked (?:best|well|great|perfectly|like a charm|wonders)\b",
        r"\bworked (?:much|really) (?:better|well)\b",
        r"\bdid (?:wonders|the trick)\b|\bsaved us\b",
        r"\bturned out\b.{0,60}\b(?:faster|better|easier|cheaper|simpler|more reliable|enough)\b",
        r"\b(?:fixed|solved|avoided) (?:it|this|that|the [\w -]{2,40}) by \w+ing\b",
        confidence=0.65,
    ),
    *_forms(
        "pattern",
        r"\bthe (?:key|solution|secret|best way)(?: here| to [^,.]{3,60})? (?:is|was) to\b",
        confidence=0.65,
        in_lists=False,
    ),
    *_forms(
        "failure",
        r"\bturned out (?:that|to)\b"
        r"(?!.{0,30}\b(?:success|great|good|well|fine|amazing|perfect|right|correct))",
        confidence=0.6,
    ),
]
PREFERENCES = [
    *_forms(
        "preference",
        rf"{_CLAUSE}i(?:'d| would)?(?: (?:much|strongly|generally|usually|also|really|personally"
        r"|still))? (?:prefer|rather)\b(?! not to say)",
        r"\b(?:the |our )(?:client|customer|user|boss|board|team|owner|reviewer)s?"
        r" (?:prefers?|insists? on|hates?|dislikes?|(?:really )?wants?)\b",
        r"\bwe (?:strongly |generally |usually )?prefer\b",
        rf"{_CLAUSE}i (?:hate|dislike|can't stand|don't like|do not like|don't want|do not want)\b"
        r"(?! (?:to|it|that|this|not)\b)",
        rf"{_CLAUSE}i {_IMPERATIVE}(?! (?:know|said|want)\b)",
        confidence=0.7,
    ),
    *_forms(
        "preference",
        rf"{_CLAUSE}please,? (?:always|never|avoid|don't ever)\b(?! mind)",
        rf"(?:^|[;:] |, (?=never))(?:and |but |also )?{_IMPERATIVE}",
        rf"{_CLAUSE}please (?:don't|do not)\b(?! (?:worry|hesitate|forget|be |reply|share))",
        r"^(?:and |but |also )?no [\w-]+(?: [\w'-]+){0,8},? please\b",
        r"^(?:please )?avoid \w+",
        r"\b(?:must|should|has to|have to) (?:always|never)\b",
        confidence=0.7,
        in_lists=False,
    ),
]
OPEN_POINTS = _forms(
    "question",
    r"\b(?:we|i|someone|somebody)(?:'ll| also| will)? still (?:need|needs|have|has) to\b(?! do\b)",
    r"\b(?:we|i|someone|somebody) (?:also )?(?:need|needs|have|has) to"
    r" (?:decide|clarify|find out|figure out|agree on|confirm whether)\b",
    r"\b(?:we're|we are|i'm|i am) (?:still )?waiting for\b",
    r"\b(?:is|are|remains?) (?:still )?(?:unclear|undecided|unresolved|unanswered)\b",
    r"\bstill (?:open|missing|unclear)\b",
    r"\bwe don't know (?:yet )?(?:whether|how|who|when|if)\b",
    confidence=0.65,
)
FACTS = _forms(
    "fact",
    r"^(?:fyi|for (?:your )?(?:information|reference)|note that|please note|keep in mind"
    r"|bear in mind|reminder|just so you know|be aware)\b[:,]? *(?:that )?\w+ \w+",
    rf"(?:^|[,;:] |\band |\bas )(?:the|our|my|this) (?:[\w-]+ )?{_THING}"
    r"(?: (?:for|of|in|at) [\w' -]{2,40}?)? (?:is|are|has|have|uses?|runs? on|consists? of|follows"
    r"|ends?|starts?|must|requires?|expires?)\b" + _PASSING,
    r"\b(?:is|are)(?: now)? (?:responsible for|in charge of|the owners? of|our contact for)\b",
    r"^(?:the )?[\w-]+(?: [\w-]+){0,2} (?:owns|maintains|is owned by|reports to)"
    r" (?:the|our|all|every)\b",
    r"\b(?:i'm|i am|my \w+ is) (?:allergic|vegetarian|vegan|based in|located in|colou?r-?blind"
    r"|left-handed|a native)\b",
    r"\bi (?:live|work) (?:in|at|for|as)\b",
    r"\bmy (?:time ?zone|budget|team|company|boss|birthday|address|phone|native language)"
    r" (?:is|are)\b" + _PASSING,
    r"\b(?:must|has to|have to|needs? to|(?:is|are) due|due)\b.{0,80}"
    rf"\b(?:by|on|before|until|no later than)\b (?:the )?{_DATE}",
    r"\bwe (?:currently|already) (?:use|run|host)\b",
    r"\bour [\w-]+(?: [\w-]+)? (?:uses|runs on|is written in|is hosted|is built|consists of) ",
    r"\bour [\w-]+(?: [\w-]+)? has (?:an? |no |only |\d|two|three|four|five|six|ten)",
    r"\b(?:is|are) only (?:available|open|allowed|supported|possible|valid)\b",
    r"\b(?:is|are) limited to\b",
    confidence=0.65,
)
FORMS = [*LABELS, *DECISIONS, *FAILURES, *WORKING, *PREFERENCES, *OPEN_POINTS, *FACTS]
"""In this order: the first that fits says what a sentence is."""

HEADINGS = {
    "decision": re.compile(r"(?:key |final |our )?(?:decisions?|decided|agreed|agreements?)\b"),
    "question": re.compile(
        r"(?:open (?:questions?|issues?|points?|items?)|to-?dos?|action items?)\b"
    ),
    "failure": re.compile(r"(?:lessons? learn(?:ed|t)|what (?:went wrong|did(?:n't| not) work))\b"),
    "pattern": re.compile(r"what (?:worked|went well)\b"),
    "preference": re.compile(r"(?:our )?(?:preferences|house rules|ground rules)\b"),
}
"""What a heading makes of the list below it."""
CALL = _any(
    r"\bwho (?:will|is going to|can|could|takes|writes|owns)\b",
    r"\bdoes (?:any|some)(?:one|body) know\b|\bcan (?:any|some)(?:one|body)\b",
)
"""A question to everybody: open, unless somebody takes it up."""

REASON = _any(
    r"\b(?:because|so that|due to|owing to|given that|otherwise)\b",
    r"\bsince\b(?! (?:\d|then\b|yesterday|last|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|the (?:start|beginning)))",
    r", as (?!well|a\b|an\b|if|soon|usual|always|for|per|of|requested|discussed)",
    r": (?:it|they|this)\b",
)
ALTERNATIVE = re.compile(
    r"\b(?:over|instead of|rather than|and not|not|no longer|and drop|off the table)\b"
)
GUESS = _any(
    r"\b(?:might|maybe|perhaps|possibly|probably|suppose|imagine|assuming|hypothetically|what if"
    r"|i guess|i wonder|in theory|seems?|looks like|one option|another option|either)\b",
    r"\bwould\b(?! (?:prefer|rather|like|suggest|recommend|propose))|\bcould\b(?! not)",
    r"'d (?!prefer|rather|suggest|recommend|propose|much rather)",
    r"\b(?:don't|do not|can't|cannot) (?:say|think|know|see)\b",
    r"\bmay (?:be|have|also|not|want|need)\b",
)
CONDITION = re.compile(
    r"(?:but |and |so |or |even )?"
    r"(?:if|suppose|imagine|assuming|when|whenever|unless|in case|once)\b"
)
FIELD = re.compile(
    r"(?:status|description|owner|title|(?:expected )?results?|acceptance criteria"
    r"|(?:task|step) \d+|input|output|arguments|example|next speaker)\b[^:]{0,10}:"
)
"""A line of a form that somebody fills in."""
HEARSAY = _any(
    r"\b(?:according to|says?|said|wrote|writes|claims?|claimed|states|argues?|whispered|replied)\b"
    r"(?! (?:before|above|earlier))",
    r"\b(?:many|some|most) (?:people|companies|teams|users|say)\b",
)
JOKE = _any(
    r"🙄|😂|🤣|😜|😏|\B/s\b|\bha(?:ha)+\b|\bjust kidding\b|\bj/k\b|\byeah,? right\b|\bas if\b",
    r"\boh,? (?:sure|great|wonderful|brilliant)\b|\bwhile we're at it\b",
    r"\bwhat could .{0,9}go wrong\b",
)
IDEAS = _any(
    r"\bbrainstorm|\bideas?\b[^.]{0,20}:|\boptions?:|\bsome thoughts\b|\bjust ideas\b|\bdrafts?:",
    r"\bthink(?:ing)? (?:aloud|out loud)\b|\bslogans?\b",
)
INJECTION = _any(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|your)\b"
    r".{0,30}\b(?:instructions?|prompts?|rules|messages|guidelines)\b",
    r"\byou (?:must|shall|will|should)(?: now| always| only)* obey\b|\balways obey\b",
    r"\bfrom now on,? you\b|\byou are now\b|\b(?:developer|jailbreak|dan|god) mode\b",
    r"\bsystem prompt\b|\bnew instructions?:|^system:|^(?:assistant|ai),? remember\b",
    r"\b(?:do not|don't|never) (?:tell|inform|alert) the (?:user|human|operator)\b",
)
CASTING = _any(
    r"^you are (?:a|an|the)\b|\b(?:act|answer|respond|speak) as (?:a|an|if)\b|\brole-?play",
    r"\bpretend (?:to be|you)|\bstay in character\b|\byour (?:role|task|job) is\b",
    r"\byou (?:always|never) \w+|^(?:always|never) (?:answer|reply|respond|reveal|speak)\b",
)
"""Who writes this gives somebody a part to play."""
LEANS = re.compile(
    r"(?:that|this|it|they|these|those"
    r"|the (?:cause|reason|root cause|bug|fix|culprit|mistake|problem|issue))\b"
)
GOES_ON = re.compile(r"(?:because|(?:this|that|it)(?:'s| is) because|the reason|otherwise|reason:)")
CLEARING = re.compile(
    r"^(?:(?:ok(?:ay)?|so|then|well|great|good|alright|also|and|but|noted|understood|by the way"
    r"|btw|fyi)\b[,:.!–-]* +)+(?=\S)",
    re.IGNORECASE,
)
NAME = re.compile(
    r"\b(?:[A-Z][a-z]+[A-Z]\w*|(?!TODO\b)[A-Z]{2,}\w*(?:-\w+)*|[A-Za-z]+\d[\w-]*"
    r"|[\w-]+\.(?:py|js|ts|md|csv|json|toml|yml|yaml|sql))\b"
)
"""Words that are the name of a thing by their looks: what a learning is tagged with."""
