"""The model that the other tests talk to."""

from __future__ import annotations

import openai
import pytest

from tests.support.model_server import MODEL, ModelServer, digest, tool_call

ASKED = [{"role": "user", "content": "two plus two"}]


@pytest.fixture
def client():
    """A function that opens OpenAI's own client on a server."""
    with openai.OpenAI(api_key="none", base_url="http://127.0.0.1") as opened:
        yield lambda server: opened.with_options(base_url=server.url).chat.completions


def test_its_answer_carries_a_digest_of_what_it_was_asked(client):
    """One other byte in the context is another answer."""
    with ModelServer() as server:
        said = client(server).create(model=MODEL, messages=ASKED)
        other = client(server).create(model=MODEL, messages=[{**ASKED[0], "content": "two"}])

    assert said.choices[0].message.content == f"asked {digest(server.requests[0])}"
    assert said.choices[0].message.content != other.choices[0].message.content


def test_it_streams_the_same_words(client):
    """A streamed answer adds up to the whole one."""
    with ModelServer() as server:
        whole = client(server).create(model=MODEL, messages=ASKED)
        chunks = client(server).create(model=MODEL, messages=ASKED, stream=True)
        words = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)

    assert words == whole.choices[0].message.content


def test_a_script_makes_it_call_tools(client):
    """What the script returns is the assistant's message."""
    call = {"tool_calls": [tool_call("add", a=2, b=2)]}
    with ModelServer(lambda request: call) as server:
        said = client(server).create(model=MODEL, messages=ASKED)

    assert said.choices[0].message.tool_calls[0].function.arguments == '{"a": 2, "b": 2}'
    assert server.count == 1
