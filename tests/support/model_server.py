"""A model on the loopback that speaks OpenAI's chat completions: the one thing that is imitated.

Its answer carries a digest of everything it was asked, so that one wrong byte in a
context shows in the transcript.

    with ModelServer() as server:
        agent = AssistantAgent("coder", llm_config=llm_config(server))

In a process of its own: `python -m tests.support.model_server`, which prints its address.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
Answer = str | dict[str, Any] | None
MODEL = "gpt-4o-mini"


class Refused(Exception):
    """Raised by a script to answer with this HTTP status; the client is told not to retry."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"the model is away ({status})")


class ModelServer:
    """Answers `POST /v1/chat/completions`, whole or streamed, and keeps what it was asked.

    answer: takes the request and returns the words, a whole assistant message (with
        `tool_calls`, say), or None for the default, `asked <digest>`. May raise Refused.
    watch: told ("asked", n) when request n has arrived and is not answered yet, and
        ("streamed", n) when half of its streamed answer is out.
    """

    def __init__(
        self, answer: Callable[[Request], Answer] | None = None, port: int = 0,
        watch: Callable[[str, int], None] = lambda what, number: None,
    ) -> None:  # fmt: skip
        self.requests: list[Request] = []
        self.refused = 0
        self.watch = watch
        self._answer = answer or (lambda request: None)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.model = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def count(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    @property
    def calls(self) -> int:
        """What would be on the bill: it was asked and did not refuse."""
        return self.count - self.refused

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def note(self, request: Request) -> int:
        """Keep a request; return its number."""
        with self._lock:
            self.requests.append(request)
            number = self.count
        self.watch("asked", number)
        return number

    def reply(self, request: Request) -> dict[str, Any]:
        """The assistant message that answers a request."""
        try:
            said = self._answer(request)
        except Refused:
            with self._lock:
                self.refused += 1
            raise
        if said is None:
            said = f"asked {digest(request)}"
        if isinstance(said, str):
            said = {"content": said}
        return {"role": "assistant", "content": None, **said}


def digest(request: Request) -> str:
    """A short fingerprint of what a model was asked: its messages, tools and functions."""
    asked = {key: request.get(key) for key in ("messages", "tools", "functions")}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def llm_config(server: ModelServer | str, **more: Any) -> dict[str, Any]:
    """What an agent needs to talk to a server, or to the address of one; nothing is cached."""
    url = server if isinstance(server, str) else server.url
    entry = {"model": MODEL, "base_url": url, "api_key": "none", "price": [0.001, 0.002]}
    return {"config_list": [entry], "cache_seed": None, **more}


def tool_call(name: str, call_id: str = "call_1", **arguments: Any) -> dict[str, Any]:
    """One entry of a message's `tool_calls`."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no news."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = self.server.model.note(request)
        try:
            message = self.server.model.reply(request)
        except Exception as error:
            problem = {"message": f"{type(error).__name__}: {error}", "type": "script"}
            status = error.status if isinstance(error, Refused) else 400
            return self._send(status, [json.dumps({"error": problem}).encode()])
        if not request.get("stream"):
            return self._send(200, [json.dumps(_completion(message)).encode()])
        events = list(_events(message))
        middle = len(events) // 2
        halves = [b"".join(events[:middle]), b"".join(events[middle:])]
        between = functools.partial(self.server.model.watch, "streamed", number)
        return self._send(200, halves, kind="text/event-stream", between=between)

    def _send(
        self, status: int, parts: list[bytes], *, kind: str = "application/json",
        between: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(sum(map(len, parts))))
        self.send_header("x-should-retry", "false")  # the client would wait, and ask again
        self.end_headers()
        for n, part in enumerate(parts):
            if n:
                between()
            self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Silent."""


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": _finish(message)}
    return {**_head("chat.completion"), "choices": [choice], "usage": _usage()}


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    """The message as server-sent events: words in pieces, each call in one."""
    words = message.get("content") or ""
    middle = len(words) // 2
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": words[:middle]}]
    if words[middle:]:
        deltas.append({"content": words[middle:]})
    for number, call in enumerate(message.get("tool_calls") or ()):
        deltas.append({"tool_calls": [{"index": number, **call}]})
    if message.get("function_call"):
        deltas.append({"function_call": message["function_call"]})
    head = _head("chat.completion.chunk")
    for delta in deltas:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    last = {"index": 0, "delta": {}, "finish_reason": _finish(message)}
    yield _event({**head, "choices": [last], "usage": _usage()})
    yield b"data: [DONE]\n\n"


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _finish(message: dict[str, Any]) -> str:
    if message.get("tool_calls"):
        return "tool_calls"
    return "function_call" if message.get("function_call") else "stop"


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": int(time.time()), "model": MODEL}


def _usage() -> dict[str, int]:
    return {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def main() -> None:
    """Serve the default answers until standard input ends."""
    with ModelServer(port=int(sys.argv[1]) if sys.argv[1:] else 0) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
