"""A model on the loopback that speaks OpenAI's chat completions: the one thing that is imitated.

Its answer carries a digest of everything it was asked, so that one wrong byte in a
context shows in the transcript.

    with ModelServer() as server:
        agent = AssistantAgent("coder", llm_config=llm_config(server))

In a process of its own: `python -m tests.support.model_server`, which prints its address.
"""

from __future__ import annotations

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


class ModelServer:
    """Answers `POST /v1/chat/completions`, whole or streamed, and keeps what it was asked.

    answer: takes the request and returns the words, a whole assistant message (with
        `tool_calls`, say), or None for the default, `asked <digest>`.
    """

    def __init__(self, answer: Callable[[Request], Answer] | None = None, port: int = 0) -> None:
        self.requests: list[Request] = []
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

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, request: Request) -> dict[str, Any]:
        """The assistant message that answers a request."""
        with self._lock:
            self.requests.append(request)
        said = self._answer(request)
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            message = self.server.model.reply(request)
        except Exception as error:
            problem = {"message": f"{type(error).__name__}: {error}", "type": "script"}
            return self._send(400, "application/json", json.dumps({"error": problem}).encode())
        if request.get("stream"):
            body = b"".join(_events(message))
            return self._send(200, "text/event-stream", body)
        return self._send(200, "application/json", json.dumps(_completion(message)).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

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
