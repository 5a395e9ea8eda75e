"""Which ends of a program complete its session, and which leave it to be resumed."""

from __future__ import annotations

import pytest

from autogen_persist import Store
from tests.support.shell import python, script

HEAD = """
from autogen_persist import instrument
instrument(session_id="s", url="own.db")
scripted("alpha", "hm").initiate_chat(scripted("bravo", "hm"), message="x", max_turns=1)
"""
GOOD = {
    "its last line": "",
    "sys.exit()": "sys.exit()",
    "sys.exit(0)": "sys.exit(0)",
    "a caught exit": "try:\n    sys.exit(3)\nexcept SystemExit:\n    sys.exit(0)",
    "an exit of a thread": "import threading\nthreading.Thread(target=sys.exit, args=(3,)).start()",
}
BAD = {
    "sys.exit(3)": "sys.exit(3)",
    "sys.exit('why')": "sys.exit('why')",
    "an exception": "1 / 0",
    "Ctrl-C": "import signal\nsignal.raise_signal(signal.SIGINT)",
}


def is_completed(ending):
    python(script(HEAD + ending))
    with Store.open("own.db") as store:
        return bool(store.events("s", kind="completed"))


@pytest.mark.parametrize("ending", GOOD)
def test_a_program_that_ends_well_is_complete(ending):
    """Started once more it begins anew."""
    assert is_completed(GOOD[ending])


@pytest.mark.parametrize("ending", BAD)
def test_every_other_end_is_an_interruption(ending):
    """Started once more it goes on: a code that is not 0 is one of them."""
    assert not is_completed(BAD[ending])
