"""What is never learnt: text that holds, or points to, a key, a token or a password."""

from __future__ import annotations

import re

_KNOWN = (
    r"sk-[\w-]{16,}",
    r"(?:ghp|gho|ghu|ghs|ghr|glpat|github_pat|xox[abposr]|hf|npm|pypi|dop_v1|shpat|SG)[_.-][\w.-]{10,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}",
    r"AIza[\w-]{30,}",
    r"[sr]k_(?:live|test)_\w{10,}",
    r"eyJ[\w-]{8,}\.[\w-]{8,}",  # a JSON web token
    r"-----BEGIN [A-Z ]{0,40}(?:KEY|CERTIFICATE)",
    r"ssh-(?:rsa|ed25519) \S{20,}",
)
_IN_URL = r"\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@]{0,100}:[^\s/@]{1,200}@"
_NAMES = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?"
    r"|(?:access|auth|bearer|refresh|api)[ _-]?token|token|private key|credentials?|pin(?: code)?)"
)
# "The password is hashed" tells nothing; "the API key lives in …" tells where to take it.
_TOLD = (
    rf"\b{_NAMES}\b[^.\n]{{0,40}}?(?:=|:|\b(?:is|are|lives?|stored|kept|found)\b)\s*"
    r"(?!\w{2,20}ed\b|not\b|too\b|required|optional|wrong|missing|invalid)\S"
)
_BEARER = r"\b(?:bearer|basic) [\w+/=-]{16,}"
_SECRET = re.compile("|".join(_KNOWN))
_SPOKEN = re.compile("|".join((_IN_URL, _TOLD, _BEARER)), re.IGNORECASE)
_LONG_WORD = re.compile(r"[\w+=-]{24,}")


def holds_secret(text: str) -> bool:
    """Whether the text holds something that must not be kept, as far as patterns can tell."""
    if _SECRET.search(text) or _SPOKEN.search(text):
        return True
    return any(_looks_random(word) for word in _LONG_WORD.findall(text))


def _looks_random(word: str) -> bool:
    """A long word of mixed case with several digits among the letters: no name looks like that."""
    digits = sum(c.isdigit() for c in word)
    return digits >= 3 and any(c.islower() for c in word) and any(c.isupper() for c in word)
