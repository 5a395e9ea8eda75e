"""SIGKILL at any moment: what was heard is in the journal."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autogen_persist import Store
from autogen_persist.store.tail import WINDOW
from tests.support import chains

SCRIPT = Path(__file__).parent.parent / "support" / "endless_chat.py"
SEEDS = range(10 if os.environ.get("CRASH") == "all" else 2)


def heard_before_kill(url: str, durability: str, lines: int) -> int:
    """Run the chat, kill it after some lines, and return the last number that was heard."""
    command = [sys.executable, str(SCRIPT), url, "s", durability]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        last = 0
        for _ in range(lines):
            last = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        for line in child.stdout:  # what was said between our decision and the signal
            last = int(line) if line.endswith("\n") else last
    return last


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("durability", ["full", "normal"])
def test_every_message_that_was_heard_is_journaled(url, durability, seed):
    """A kill at a random commit loses nothing that anyone heard, and leaves no gap."""
    heard = heard_before_kill(url, durability, random.Random(seed).randrange(1, 60))

    with Store.open(url) as store:
        texts = [row.text for row in store.messages("s")]
        assert chains.first_bad_row(store, "s") is None
    assert texts == [str(n) for n in range(1, len(texts) + 1)]
    assert len(texts) >= heard


@pytest.mark.parametrize("seed", SEEDS)
def test_behind_loses_no_more_than_its_window(url, seed):
    """A kill costs at most the last 64 rows of a journal written behind, never one in between."""
    heard = heard_before_kill(url, "behind", random.Random(seed).randrange(100, 1500))

    with Store.open(url) as store:
        texts = [row.text for row in store.messages("s")]
    assert texts == [str(n) for n in range(1, len(texts) + 1)]
    assert heard - len(texts) <= WINDOW
