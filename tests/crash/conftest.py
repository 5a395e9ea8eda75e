"""What the crash tests share: a process to fork children from, and how much is tried."""

from __future__ import annotations

import os

import pytest

from tests.crash.children import Nursery


@pytest.fixture(scope="session")
def nursery():
    """Children of the AutoGen that the tests run with."""
    with Nursery() as opened:
        yield opened


@pytest.fixture(scope="session")
def sample():
    """How many kill points are tried of each scenario, by backend; CRASH=all tries every one."""
    everything = os.environ.get("CRASH") == "all"
    return {"sqlite": None, "postgresql": None} if everything else {"sqlite": 5, "postgresql": 2}
