"""Drop-in subclasses: persisted by construction."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from autogen_persist.chat.distribution import load, silent_agent
from autogen_persist.chat.runs import Chat
from autogen_persist.memory.memory import Memory
from autogen_persist.options import DEFAULTS
from autogen_persist.persist import persist
from autogen_persist.session import Session

load()  # the clear error, where there is no AutoGen to inherit from

from autogen import ConversableAgent, GroupChat  # noqa: E402


def _split(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Take our options out of AutoGen's."""
    return {name: kwargs.pop(name) for name in ("session_id", "url", *DEFAULTS) if name in kwargs}


class PersistentMixin:
    """Persists whatever agent class stands behind it.

        class Coder(PersistentMixin, AssistantAgent): ...

    Takes the options of `persist` beside those of the agent. Without a session_id the
    session is `agent-<name>`, so that the agent finds itself again after a restart.
    """

    session: Session

    name: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options = _split(kwargs)
        super().__init__(*args, **kwargs)
        if options.get("session_id") is None:
            options["session_id"] = f"agent-{self.name}"
        self.session = persist(self, **options)

    @cached_property
    def memory(self) -> Memory:
        """The agent's own memory, in the database of its session."""
        return Memory(f"autogen-{self.name}", url=self.session._store)

    def receive(
        self, message: Any, sender: Any = None, request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> Any:  # fmt: skip
        """As AutoGen's; without a sender, as if a person had spoken and waits for an answer."""
        hear: Any = super().receive  # type: ignore[misc]
        if sender is not None:
            return hear(message, sender, request_reply, silent)
        with Chat(self._person(), self, {"message": message}, "receive"):
            return hear(message, self._person(), request_reply is not False, silent)

    async def a_receive(
        self, message: Any, sender: Any = None, request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> Any:  # fmt: skip
        hear: Any = super().a_receive  # type: ignore[misc]
        if sender is not None:
            return await hear(message, sender, request_reply, silent)
        with Chat(self._person(), self, {"message": message}, "a_receive"):
            return await hear(message, self._person(), request_reply is not False, silent)

    def _person(self) -> Any:
        """The one who speaks when no sender is given: always the same, and never answers."""
        person = self.__dict__.get("_persistent_person")
        if person is None:
            person = self.__dict__["_persistent_person"] = silent_agent("user")
        return person


class PersistentAgent(PersistentMixin, ConversableAgent):
    """A ConversableAgent whose chats are journaled."""


class PersistentGroupChat(GroupChat):
    """A GroupChat whose messages are journaled, whichever manager runs it.

    Takes everything GroupChat takes, and the options of `persist`.
    """

    session: Session

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options = _split(kwargs)
        if len(args) < 2:
            kwargs.setdefault("messages", [])  # a required field in AutoGen 0.2
        super().__init__(*args, **kwargs)
        self.session = persist(self, **options)
