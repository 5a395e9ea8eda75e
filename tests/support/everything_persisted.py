"""A pytest plugin that persists every agent of somebody else's test suite.

    pytest -p tests.support.everything_persisted path/to/autogen/test/agentchat

Their tests must pass as they do without it. The journal is in AUTOGEN_PERSIST_URL.
"""

from autogen_persist import instrument, uninstrument


def pytest_configure(config):
    instrument(session_id="suite")


def pytest_unconfigure(config):
    uninstrument()
