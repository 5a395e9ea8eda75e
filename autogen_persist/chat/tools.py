"""Tools: how their results are journaled, and what becomes of one that was interrupted.

`execute_function` and its async twin stand around AutoGen's methods of these names.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autogen_persist.chat import seats
from autogen_persist.chat.effects import (
    Effect,
    Outer,
    a_perform,
    described,
    digest_of,
    find_place,
    perform,
    setting,
)
from autogen_persist.chat.marks import current_key, mark_of
from autogen_persist.chat.seats import Here
from autogen_persist.errors import Divergence, ToolRefused, UnfinishedTool
from autogen_persist.records import Row
from autogen_persist.session import Session
from autogen_persist.store import body as bodies

log = logging.getLogger("autogen_persist")

_MOST_CAREFUL_FIRST = ("fail", "ask", "skip", "retry")
_UNKNOWN = (
    "The process was interrupted while this tool ran. Whether it did its work is not known, "
    "and it was not run again."
)


def execute_function(original: Any, agent: Any, func_call: Any, *args: Any, **kwargs: Any) -> Any:
    tool = _find(agent, func_call)
    return perform(
        tool,
        lambda: original(agent, func_call, *args, **kwargs),
        about={"tool": tool.name} if tool else None,
    )


async def a_execute_function(
    original: Any, agent: Any, func_call: Any, *args: Any, **kwargs: Any
) -> Any:
    tool = _find(agent, func_call)
    return await a_perform(
        tool,
        lambda: original(agent, func_call, *args, **kwargs),
        about={"tool": tool.name} if tool else None,
    )


def _find(agent: Any, func_call: Any) -> Tool | None:
    place = find_place(agent)
    return Tool(agent, func_call, place) if place is not None else None


class Tool(Outer):
    """One call of a tool."""

    def __init__(self, agent: Any, func_call: Any, place: Here) -> None:
        self.name = str(func_call.get("name", ""))
        self._arguments = func_call.get("arguments")
        request = {"name": func_call.get("name"), "arguments": self._arguments}
        before = _known(agent)
        codec = (
            lambda result: {**_dump(agent, result), **_learnt(agent, before)},
            lambda answer: _load(agent, answer),
        )
        super().__init__("tool", agent.name, digest_of(request), place, codec)
        self._mark = mark_of(getattr(agent, "_function_map", {}).get(self.name))

    def _again(self, receipt: Row, replayed: Callable[[Row], None] | None) -> Iterator[Effect]:
        if self._mark != "rerun":
            yield from super()._again(receipt, replayed)
            return
        self.live = True
        with self._inside():
            yield self
        self.place.run.check()
        found = bodies.load(bodies.dump(self.dump(self.answer))[0])
        if found != receipt.body["answer"]:
            raise self._other_result(receipt, found)

    def _settled(self) -> bool:
        begun = self._unfinished()
        if begun:
            decision = self._decide(begun)
            if decision == "fail":
                raise self._is_unfinished(*next(iter(begun.items())))
            if decision == "skip":
                unknown = {"name": self.name, "role": "function", "content": _UNKNOWN}
                self.answer = False, unknown
                self.end({"skipped": True})
                return True
            self._note_retry(begun)
        return False

    @contextmanager
    def _inside(self) -> Iterator[None]:
        if self._mark == "once":
            self._refuse_if_forgotten()
        with super()._inside(), setting(current_key, self._idempotency_key()):
            yield

    def _idempotency_key(self) -> str:
        runs = sorted((session.id, number) for session, number in self.place.run.numbers.items())
        return digest_of([runs, self.key])

    def _refuse_if_forgotten(self) -> None:
        """on_error='continue' keeps rows in memory: a kill would forget that the tool ran."""
        for session in self.place.run.numbers:
            if session.away:
                refused = ToolRefused(tool=self.name, agent=self.key[1], url=session.url)
                self.write("receipt", {**self._took(), "error": described(refused)})
                raise refused

    # What becomes of a tool that was begun in an earlier process and has no result.

    def _decide(self, begun: Mapping[Session, Row]) -> str:
        if self._mark in ("idempotent", "rerun"):
            return "retry"
        wished = {session.options["unfinished_tool"] for session in begun}
        policy = next(each for each in _MOST_CAREFUL_FIRST if each in wished)
        intent = next(iter(begun.values()))
        if policy == "ask":
            return self._ask_somebody(intent)
        if policy == "retry" and self._mark == "once":
            return "fail"
        if policy == "retry":
            log.warning(
                "the tool %r of %s was begun at %s and has no result: it is run again. Mark it "
                "@idempotent if it may be, @once if not, or set unfinished_tool.",
                self.name, self.key[1], _time(intent),
            )  # fmt: skip
        return policy

    def _ask_somebody(self, intent: Row) -> str:
        if not (sys.stdin and sys.stdin.isatty()):
            return "fail"
        print(
            f"\nThe tool {self.name!r} of {self.key[1]} was begun at {_time(intent)} and has no "
            f"result: it may have done its work.\nIts arguments: {_short(self._arguments)}",
            file=sys.stderr,
        )
        question = "Run it [a]gain, [s]kip it (the model is told that this is unknown) or [f]ail? "
        while True:
            print(question, end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            answers = {"a": "retry", "s": "skip", "f": "fail", "": "fail" if not line else ""}
            decision = answers.get(line.strip().lower()[:1])
            if decision:
                return decision

    def _note_retry(self, begun: Mapping[Session, Row]) -> None:
        for session, intent in begun.items():
            body = {"tool": self.name, "digest": self.key[2], "n": self.number,
                    "begun": intent.pos}  # fmt: skip
            session.event("retried", body, speaker=self.key[1], run=intent.run, chat=intent.chat)

    def _is_unfinished(self, session: Session, intent: Row) -> UnfinishedTool:
        return UnfinishedTool(
            tool=self.name, agent=self.key[1], session_id=session.id, run=intent.run,
            digest=self.key[2], began=_time(intent), once=self._mark == "once",
        )  # fmt: skip

    def _other_result(self, receipt: Row, found: Mapping[str, Any]) -> Divergence:
        return Divergence(
            where=f"run {receipt.run}, chat {receipt.chat!r}, row {receipt.pos} of session "
            f"{receipt.session_id!r}",
            expected=f"the result {_result(receipt.body['answer'])} of the tool {self.name!r} of "
            f"{self.key[1]}",
            found=_result(found),
            cause="It is marked @rerun, so it runs again during a replay and must return the same.",
            done="Nothing else was called.",
        )


def _time(row: Row) -> str:
    return f"{row.at:%Y-%m-%d %H:%M:%S} UTC"


def _result(answer: Mapping[str, Any]) -> str:
    content = answer["response"].get("content")
    return _short(content) + (
        f" with context {_short(answer['context'])}" if "context" in answer else ""
    )


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return repr(text if len(text) <= 120 else text[:117] + "…")


# How a result is journaled.


def _dump(agent: Any, result: Any) -> dict[str, Any]:
    """What the tool returned.

    AutoGen makes text of what it does not know, so text is all that is kept of such things.
    """
    success, response = result
    content = response.get("content")
    kept = dict(response)
    if hasattr(content, "chat_messages"):  # a handoff to an agent
        kept["content"] = {"agent": content.name}
        return {"success": success, "response": kept, "is_agent": True}
    kept["content"] = _without_repetition(agent, content)
    if bodies.dump(kept["content"])[1]:
        kept["content"] = str(content)
    return {"success": success, "response": kept}


def _without_repetition(agent: Any, content: Any) -> Any:
    """A ReplyResult with the context variables that it changes.

    Tools return all they know, and an object that JSON cannot hold would cost us the target.
    """
    variables: Any = getattr(content, "context_variables", None)
    if not getattr(variables, "data", None):
        return content
    known = _known(agent)
    new = {k: v for k, v in variables.data.items() if bodies.dump(v)[0] != known.get(k)}
    return content.model_copy(update={"context_variables": type(variables)(data=new)})


def _context(agent: Any) -> dict[str, Any]:
    """The context variables, which all agents of a pattern share; AutoGen 0.2 has none."""
    return getattr(getattr(agent, "context_variables", None), "data", None) or {}


def _known(agent: Any) -> dict[str, bytes]:
    """As text, for a tool may change a list in its place."""
    return {name: bodies.dump(value)[0] for name, value in _context(agent).items()}


def _learnt(agent: Any, before: Mapping[str, bytes]) -> dict[str, Any]:
    """What a tool did to the context variables.

    Only that: what it left alone the script makes again, also where JSON cannot hold it.
    """
    context, after = _context(agent), _known(agent)
    changed = [name for name, text in after.items() if before.get(name) != text]
    gone = [name for name in before if name not in after]
    told: dict[str, Any] = {"context": {name: context[name] for name in changed}} if changed else {}
    return {**told, "forgotten": gone} if gone else told


def _load(agent: Any, answer: Mapping[str, Any]) -> Any:
    response = dict(answer["response"])
    if answer.get("is_agent"):
        name = response["content"]["agent"]
        place = seats.place_of(agent)
        among = place.run.agents if place else ()
        response["content"] = next(a for a in among if a.name == name)
    if "context" in answer:
        agent.context_variables.data.update(answer["context"])
    for name in answer.get("forgotten", ()):
        agent.context_variables.data.pop(name, None)
    return answer["success"], response
