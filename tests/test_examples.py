"""Every example runs, offline, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
LAST_LINES = {
    "01_one_line.py": [
        "6 reviewer | Reads well.",
        "now try: autogen-persist show stats --url one_line.db",
    ],
    "02_persistent_classes.py": [
        "agent-tester:",
        "  1 user | How is the build?",
        "  2 tester | All green.",
        "build:",
        "  1 tester | The build is red: parse() fails.",
        "  2 coder | Fixed in parse().",
        "  3 tester | All green.",
        "  4 coder | Fixed in parse().",
    ],
    "03_instrument.py": [
        "run 1: planner to coder | What is new?",
        "run 1: coder to planner | The importer is faster by half.",
        "run 2: planner to reviewer | And the review?",
        "run 2: reviewer to planner | Two comments, both small.",
    ],
    "04_store_only.py": [
        "3 UTC [b'a,b\\n']",
        "2 agent | Which format did you choose?",
        "3 customer | CSV",
        "support-17 holds 3 messages",
    ],
    "05_two_agents_async.py": [
        "3 reviewer | Then I have no more wishes.",
        "4 coder | Renamed it to `retry_after`.",
        "ended: max_turns",
    ],
    "06_resume.py": [
        "session resume-me is finished: 8 messages",
        "7 model calls in all",
    ],
}


@pytest.mark.parametrize("name", LAST_LINES)
def test_the_example_prints_what_it_promises(name, tmp_path):
    """As a person would start it, and it writes nowhere but here."""
    line = [sys.executable, FOLDER / name]
    quick = os.environ | {"THINKING": "0"}
    done = subprocess.run(line, cwd=tmp_path, env=quick, capture_output=True, text=True, check=True)
    expected = LAST_LINES[name]
    assert done.stdout.splitlines()[-len(expected) :] == expected


def test_every_example_is_run():
    """A new file in the folder needs its lines here."""
    assert sorted(path.name for path in FOLDER.glob("*.py")) == sorted(LAST_LINES)
