"""Who agreed, who objected, who took it back: read from how the next messages begin."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autogen_persist.memory.sentences import Sentence

_FIRST = (
    r"(?:(?:ok(?:ay)?|great|yes|yep|yeah|fine|good|perfect|right|thanks?|thank you|well|hm+)"
    r"[,.!]* )*"
)
_AGREES = re.compile(
    rf"{_FIRST}(?:"
    r"agreed?\b|i(?: fully| totally| completely)? (?:agree|concur|approve|second)\b|seconded"
    r"|\+1|👍|✅|sounds (?:good|great|fine|right|reasonable|like a plan)|looks good|lgtm"
    r"|works for me|(?:that |this )?makes (?:total |perfect )?sense|approved\b|confirmed\b"
    r"|i(?:'m| am) (?:on board|in favou?r|fine with|happy with|ok(?:ay)? with)"
    r"|(?:that's |it's |that is )?(?:fine|ok|okay) (?:with|by|for) me|fair enough"
    r"|(?:good|great|excellent) (?:idea|call|choice|plan|decision|point)"
    r"|let's do (?:it|that|this|so)|(?:i have )?no objections?|absolutely\b(?! not)"
    r"|definitely\b(?! not)|exactly\b|you(?:'re| are) (?:absolutely )?right|yes\b|yep\b)"
)
_REJECTS = re.compile(
    r"(?:(?:sorry|hm+|well|actually|but),? )*(?:"
    r"no(?:[.!;:]|,(?! (?:thanks|thank|problem))|$)|nope\b|-1\b|👎|disagree|rejected\b|veto\b"
    r"|i (?:strongly )?(?:disagree|object|reject|veto)\b|not approved|let's not\b|absolutely not"
    r"|i (?:don't|do not|can't|cannot) (?:agree|approve|support)|i(?:'m| am) (?:strongly )?against"
    r"|(?:that's |that is )?(?:a (?:bad|terrible)|not a good) idea"
    r"|that (?:does not|doesn't|won't|will not|can't|cannot) work"
    r"|i don't think (?:that|this|we|it)\b)"
)
_TAKES_BACK = re.compile(
    r"\bi (?:withdraw|retract)\b|\bi take (?:that|it) back|\bscratch that|\bnever ?mind that"
    r"|\bforget (?:that|it|what i said)|\bi(?:'ve| have)? changed my mind"
)
_BARE = re.compile(r"(?:yes|yep|no)\b(?!,? (?:let's|agreed|i agree))")
_WITH = re.compile(r"\bagree with (?:the )?([\w-]{1,60})")


def stance(said: Sequence[Sentence]) -> str:
    """How a message begins: 'agrees', 'rejects', 'takes back', or ''."""
    opening = said[0].bare if said else ""
    # "Rejected." often comes second: "I agree with the reviewer. Rejected."
    first_two = [sentence.bare for sentence in said[:2]]
    if any(_TAKES_BACK.search(bare) for bare in first_two):
        return "takes back"
    if any(_REJECTS.match(bare) for bare in first_two):
        return "rejects"
    if _AGREES.match(opening) and "but " not in opening and not opening.endswith("?"):
        return "agrees"
    return ""


def is_bare_yes(said: Sequence[Sentence]) -> bool:
    """Whether it may as well be the answer to a question just asked."""
    return bool(said) and _BARE.match(said[0].bare) is not None


def agrees_with(said: Sequence[Sentence]) -> str:
    """Whom a message says to agree with; '' if it names nobody."""
    name = _WITH.search(said[0].bare) if said else None
    return name[1] if name else ""
