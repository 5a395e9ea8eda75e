"""What a model was asked is known again by a digest, which is cheap for a history that grows."""

from __future__ import annotations

import copy

import pytest

from autogen_persist.chat.world import _request_digest


class Client:
    """Only somebody to remember the last request of."""


def grow(messages):
    messages.append({"role": "user", "content": "more"})


def edit_in_place(messages):
    messages[1]["content"] = "other words"


def edit_parts(messages):
    messages[2] = {**messages[2], "content": [{"type": "text", "text": "a picture"}]}


def shorten(messages):
    del messages[2:]


def forget_the_first(messages):
    del messages[0]


def say_nothing(messages):
    del messages[1]["content"]


def start_anew(messages):
    messages[:] = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    "change",
    [grow, edit_in_place, edit_parts, shorten, forget_the_first, say_nothing, start_anew],
)
def test_the_digest_depends_on_nothing_but_the_messages(change):
    """Whatever a client was asked before, and however the history changed since."""
    client = Client()
    messages = [{"role": "user", "content": f"number {n}"} for n in range(4)]
    before = _request_digest(client, {"messages": messages})

    change(messages)
    after = _request_digest(client, {"messages": messages})

    assert after != before
    assert after == _request_digest(Client(), {"messages": copy.deepcopy(messages)})
