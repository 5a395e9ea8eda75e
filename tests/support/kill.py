"""Kills this process at a chosen place: KILL='before:7', 'after:7', 'doing:2' or 'done:2'.

Before or after the seventh row is written, or in the second tool: before it has done
anything, or after that and before it returns.
"""

import os
import signal
from collections import Counter

from autogen_persist.store.journal import Journal

_passed: Counter[str] = Counter()


def arm() -> None:
    """Wrap the append; without a row in KILL nothing happens."""
    original = Journal.append

    def append(self, drafts, **options):
        here("before")
        result = original(self, drafts, **options)
        here("after")
        return result

    if os.environ.get("KILL", "").startswith(("before:", "after:")):
        Journal.append = append


def here(place: str) -> None:
    """Where the process dies, if this is the place and the time."""
    _passed[place] += 1
    if os.environ.get("KILL") == f"{place}:{_passed[place]}":
        os.kill(os.getpid(), signal.SIGKILL)
