"""What the crash tests share: a process to fork children from, and how much is tried."""

from __future__ import annotations

import functools
import os

import pytest

from autogen_persist import Store
from tests.crash.children import Nursery
from tests.crash.trials import Calm, World


@pytest.fixture(scope="session")
def nursery():
    """Children of the AutoGen that the tests run with."""
    with Nursery() as opened:
        yield opened


@pytest.fixture(scope="session")
def calm(nursery, tmp_path_factory):
    """A function that says how a scenario ends when nobody kills it, on whatever backend."""

    @functools.cache
    def play(scenario: str) -> Calm:
        folder = tmp_path_factory.mktemp("calm")
        with World(folder / "w", f"sqlite:///{folder}/calm.db", scenario, nursery) as world:
            return Calm.of(world)

    return play


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def shared_url(request, tmp_path_factory):
    """A database on each backend for all trials, each of which is a session of its own."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('shared')}/journal.db"
    server = request.getfixturevalue("postgres")
    server.psql("CREATE DATABASE trials;")
    Store.open(server.get_uri("trials"), upgrade=True).close()
    return server.get_uri("trials")


@pytest.fixture(scope="session")
def sample():
    """How many kill points are tried of each scenario, by backend; CRASH=all tries every one."""
    everything = os.environ.get("CRASH") == "all"
    return {"sqlite": None, "postgresql": None} if everything else {"sqlite": 3, "postgresql": 1}
