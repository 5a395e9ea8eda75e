"""Effects: what a re-run cannot compute. An intent before each, a receipt after it.

`perform` and `a_perform` are the two drivers; the logic is in `Effect`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any

from autogen_persist.chat import seats
from autogen_persist.chat.past import Key
from autogen_persist.chat.seats import Here, here
from autogen_persist.errors import PersistError, ReplayedError
from autogen_persist.records import Row
from autogen_persist.session import Session
from autogen_persist.store import body as bodies

INTERRUPTIONS = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""These leave an effect open: whether it happened is not known."""
covered: ContextVar[bool] = ContextVar("autogen_persist_covered", default=False)
"""True inside an effect whose receipt says it all, such as a person asked through a stream."""

Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How an answer is journaled, and how it is given again."""
AS_IS: Codec = (lambda value: value, lambda value: value)
About = Mapping[str, Any]


class Effect:
    """One request to the world, at one place of a run."""

    def __init__(self, kind: str, agent: str, digest: str, place: Here, codec: Codec) -> None:
        self.place = place
        if place.inside:
            digest = digest_of([place.inside, digest])
        self.number = place.run.ask(kind, agent, digest)
        """How often this was asked in the run: the first time is 1."""
        self.key: Key = (kind, agent, digest, self.number)
        self.dump, self.load = codec
        self.live = False
        """Whether the world is asked."""
        self.answer: Any = None
        self._began = time.perf_counter()

    @contextmanager
    def asking(
        self, about: About, tell: Callable[[Any], About] | None,
        replayed: Callable[[Row], None] | None,
    ) -> Iterator[Effect]:  # fmt: skip
        """With `answer` from the journal; or with `live`, and then the answer is journaled."""
        with self.place.run.guarded():
            receipt = self._journaled()
            if receipt is not None:
                yield from self._again(receipt, replayed)
            elif self._settled():
                yield self
            else:
                yield from self._ask(about, tell)

    def _journaled(self) -> Row | None:
        found = None
        for past in self.place.run.pasts.values():
            found = past.answer(self.key, self.place.chat) or found
        return found

    def _again(self, receipt: Row, replayed: Callable[[Row], None] | None) -> Iterator[Effect]:
        """What the world answered then, or the failure that it was."""
        if "error" in receipt.body:
            raise _revived(receipt.body["error"])
        chats = receipt.body.get("chats")
        if chats:
            self.place.run.chats.update(chats)
        self.answer = self.load(receipt.body["answer"])
        if replayed:
            replayed(receipt)
        yield self

    def _settled(self) -> bool:
        """Whether there is an answer though the world is not asked."""
        self._unfinished()  # a model or a person is simply asked again
        return False

    def _unfinished(self) -> dict[Session, Row]:
        """Where an earlier process began this and did not come to its end."""
        pasts = self.place.run.pasts.items()
        found = ((session, past.was_in_flight(self.key)) for session, past in pasts)
        return {session: intent for session, intent in found if intent is not None}

    def _ask(self, about: About, tell: Callable[[Any], About] | None) -> Iterator[Effect]:
        self.live = True
        self._began = time.perf_counter()
        self.write("intent", about)
        try:
            with self._inside():
                yield self
        except (*INTERRUPTIONS, PersistError):
            raise
        except BaseException as error:
            self.write("receipt", {**self._took(), "error": described(error)})
            raise
        self.place.run.check()
        self.end(tell(self.answer) if tell else {})

    def _inside(self) -> AbstractContextManager[None]:
        """Around the live call: what it asks in turn is part of its own receipt."""
        return setting(covered, True)

    def end(self, about: About) -> None:
        self.write("receipt", {**about, **self._took(), "answer": self.dump(self.answer)})

    def _took(self) -> dict[str, Any]:
        return {"seconds": round(time.perf_counter() - self._began, 6)}

    def write(self, type: str, body: About) -> None:
        kind, agent, digest, number = self.key
        full = {"digest": digest, "n": number, **body}
        for session, run in self.place.run.numbers.items():
            if not session.closed:
                session.write_effect(type, kind, full, agent=agent, run=run, chat=self.place.chat)


class Outer(Effect):
    """An effect in which there may be others: a tool, or what a user wrapped.

    Those have a place and a count of their own. Where this one is answered from the journal
    nobody asks for them; where it was interrupted, the ones that it came to are not made again.
    """

    name = ""

    def _inside(self) -> AbstractContextManager[None]:
        _, _, digest, number = self.key
        again = f"#{number}" if number > 1 else ""
        chat = f"{self.place.chat}/{self.name}:{digest[:6]}{again}"
        inside = Here(self.place.run, chat, self.place.internal, f"{digest}{again}")
        return setting(here, inside)

    def _took(self) -> dict[str, Any]:
        # It may start chats; answered from the journal it will not, yet they count.
        return {**super()._took(), "chats": dict(self.place.run.chats)}


def find(
    kind: str, agent: Any, request: Any, codec: Codec = AS_IS, *, digest: str | None = None
) -> Effect | None:
    """The effect that this request is, or None where nobody keeps a journal of it."""
    place = find_place(agent)
    if place is None:
        return None
    name = getattr(agent, "name", "")
    return Effect(kind, name, digest or digest_of(request), place, codec)


def find_place(agent: Any) -> Here | None:
    """Where an effect of this agent is journaled, if it is."""
    return None if covered.get() else seats.place_of(agent)


def perform(
    effect: Effect | None, live: Callable[[], Any], *, about: About | None = None,
    tell: Callable[[Any], About] | None = None,
    replayed: Callable[[Row], None] | None = None,
) -> Any:  # fmt: skip
    """Answer from the journal, else ask the world and journal what it says."""
    if effect is None:
        return live()
    with effect.asking(about or {}, tell, replayed) as asked:
        if asked.live:
            asked.answer = live()
    return effect.answer


async def a_perform(
    effect: Effect | None, live: Callable[[], Awaitable[Any]], *, about: About | None = None,
    tell: Callable[[Any], About] | None = None,
    replayed: Callable[[Row], None] | None = None,
) -> Any:  # fmt: skip
    """`perform`, where the world is awaited."""
    if effect is None:
        return await live()
    with effect.asking(about or {}, tell, replayed) as asked:
        if asked.live:
            asked.answer = await live()
    return effect.answer


@contextmanager
def setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def digest_of(request: Any) -> str:
    return blake2b(bodies.dump(request)[0], digest_size=16).hexdigest()


def described(error: BaseException) -> dict[str, Any]:
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
