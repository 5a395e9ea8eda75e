"""Effects: what a re-run cannot compute. An intent before each, a receipt after it.

`perform` and `a_perform` are the two drivers; the logic is in `Effect`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any

from autogen_persist.chat import seats
from autogen_persist.chat.seats import Here
from autogen_persist.errors import ReplayedError
from autogen_persist.records import Row
from autogen_persist.store import body as bodies

log = logging.getLogger("autogen_persist")

INTERRUPTIONS = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""These leave an effect open: whether it happened is not known."""
covered: ContextVar[bool] = ContextVar("autogen_persist_covered", default=False)
"""True inside an effect whose receipt says it all, such as a person asked through a stream."""

Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How an answer is journaled, and how it is given again."""
_AS_IS: Codec = (lambda value: value, lambda value: value)


class Effect:
    """One request to the world, at one place of a run."""

    def __init__(self, kind: str, agent: str, digest: str, place: Here, codec: Codec) -> None:
        self.key = (kind, agent, digest)
        self._place = place
        self._dump, self._load = codec
        self._began = 0.0
        self.number = place.run.ask(self.key)
        """How often this was asked in the run: the first time is 1."""

    def journaled(self) -> Row | None:
        """The receipt, if the journal has one for us; None means that the world is asked."""
        found = None
        for past in self._place.run.pasts.values():
            found = past.answer(self.key, self._place.chat) or found
        return found

    def warn_if_in_flight(self) -> None:
        """A tool that was begun and never finished is run again: somebody should know."""
        left = [past.was_in_flight(self.key) for past in self._place.run.pasts.values()]
        if self.key[0] == "tool" and any(left):
            intent = next(row for row in left if row)
            log.warning(
                "the tool %r of %s was begun in an earlier process and has no result: it is "
                "run again", intent.body.get("tool"), self.key[1],
            )  # fmt: skip

    def again(self, receipt: Row) -> Any:
        """What the world answered then, or the failure that it was."""
        if "error" in receipt.body:
            raise _revived(receipt.body["error"])
        chats = receipt.body.get("chats")
        if chats:
            self._place.run.chats.update(chats)
        return self._load(receipt.body["answer"])

    def begin(self, about: Mapping[str, Any]) -> None:
        self._began = time.perf_counter()
        self._write("intent", about)

    def end(self, answer: Any, about: Mapping[str, Any]) -> None:
        self._write("receipt", {**about, **self._took(), "answer": self._dump(answer)})

    def fail(self, error: BaseException) -> None:
        if not isinstance(error, INTERRUPTIONS):
            self._write("receipt", {**self._took(), "error": _described(error)})

    def _took(self) -> dict[str, Any]:
        taken: dict[str, Any] = {"seconds": round(time.perf_counter() - self._began, 6)}
        if self.key[0] in ("tool", "user"):
            # A tool may start chats; answered from the journal it will not, yet they count.
            taken["chats"] = dict(self._place.run.chats)
        return taken

    def _write(self, type: str, body: Mapping[str, Any]) -> None:
        kind, agent, digest = self.key
        full = {"digest": digest, "n": self.number, **body}
        run = self._place.run
        for session, number in run.numbers.items():
            if not session.closed:
                session.effect(type, kind, full, agent=agent, run=number, chat=self._place.chat)


def find(
    kind: str, agent: Any, request: Any, codec: Codec = _AS_IS, *, digest: str | None = None
) -> Effect | None:
    """The effect that this request is, or None where nobody keeps a journal of it."""
    place = seats.place_of(agent)
    if place is None or covered.get():
        return None
    name = getattr(agent, "name", "")
    return Effect(kind, name, digest or digest_of(request), place, codec)


def perform(
    effect: Effect | None, live: Callable[[], Any], *, about: Mapping[str, Any] | None = None,
    tell: Callable[[Any], Mapping[str, Any]] | None = None,
    replayed: Callable[[Row], None] | None = None,
) -> Any:  # fmt: skip
    """Answer from the journal, else ask the world and journal what it says."""
    if effect is None:
        return live()
    receipt = effect.journaled()
    if receipt is not None:
        answer = effect.again(receipt)
        if replayed:
            replayed(receipt)
        return answer
    effect.warn_if_in_flight()
    effect.begin(about or {})
    try:
        answer = live()
    except BaseException as error:
        effect.fail(error)
        raise
    effect.end(answer, tell(answer) if tell else {})
    return answer


async def a_perform(
    effect: Effect | None, live: Callable[[], Awaitable[Any]], *,
    about: Mapping[str, Any] | None = None,
    replayed: Callable[[Row], None] | None = None,
) -> Any:  # fmt: skip
    """`perform`, where the world is awaited."""
    if effect is None:
        return await live()
    receipt = effect.journaled()
    if receipt is not None:
        answer = effect.again(receipt)
        if replayed:
            replayed(receipt)
        return answer
    effect.warn_if_in_flight()
    effect.begin(about or {})
    try:
        answer = await live()
    except BaseException as error:
        effect.fail(error)
        raise
    effect.end(answer, {})
    return answer


def digest_of(request: Any) -> str:
    return blake2b(bodies.dump(request)[0], digest_size=16).hexdigest()


def _described(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    args = [arg if isinstance(arg, (str, int, float)) else str(arg) for arg in error.args]
    return {"type": f"{kind.__module__}:{kind.__qualname__}", "args": args, "text": str(error)}


def _revived(error: Mapping[str, Any]) -> BaseException:
    """The failure again, as its own class where that is loaded and takes the same arguments."""
    module, _, name = str(error["type"]).partition(":")
    kind = getattr(sys.modules.get(module), name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        # Without __init__: an HTTP error would want its request and response back.
        revived: Exception = kind.__new__(kind, *error["args"])
        revived.args = tuple(error["args"])
        return revived
    return ReplayedError(f"{error['type']}: {error['text']}")
