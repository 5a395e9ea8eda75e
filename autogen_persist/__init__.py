"""Persistence for AutoGen group chats: every message journaled, once, durably."""

from typing import TYPE_CHECKING, Any

from autogen_persist.chat.marks import idempotency_key as idempotency_key
from autogen_persist.chat.marks import idempotent as idempotent
from autogen_persist.chat.marks import once as once
from autogen_persist.chat.marks import rerun as rerun
from autogen_persist.errors import AgentsChanged as AgentsChanged
from autogen_persist.errors import AutoGenNotFound as AutoGenNotFound
from autogen_persist.errors import BadArgument as BadArgument
from autogen_persist.errors import BadUrl as BadUrl
from autogen_persist.errors import Divergence as Divergence
from autogen_persist.errors import ExtraMissing as ExtraMissing
from autogen_persist.errors import JournalUnavailable as JournalUnavailable
from autogen_persist.errors import LeaseLost as LeaseLost
from autogen_persist.errors import NoSuchDatabase as NoSuchDatabase
from autogen_persist.errors import NoSuchSession as NoSuchSession
from autogen_persist.errors import NothingToResume as NothingToResume
from autogen_persist.errors import NotJournalable as NotJournalable
from autogen_persist.errors import OutsideTool as OutsideTool
from autogen_persist.errors import PersistError as PersistError
from autogen_persist.errors import ReplayedError as ReplayedError
from autogen_persist.errors import SchemaOutOfDate as SchemaOutOfDate
from autogen_persist.errors import SessionBusy as SessionBusy
from autogen_persist.errors import SessionClosed as SessionClosed
from autogen_persist.errors import SessionConflict as SessionConflict
from autogen_persist.errors import ToolRefused as ToolRefused
from autogen_persist.errors import UnfinishedTool as UnfinishedTool
from autogen_persist.memory.memory import Memory as Memory
from autogen_persist.persist import instrument as instrument
from autogen_persist.persist import persist as persist
from autogen_persist.persist import uninstrument as uninstrument
from autogen_persist.records import Learning as Learning
from autogen_persist.records import Message as Message
from autogen_persist.records import Row as Row
from autogen_persist.session import Session as Session
from autogen_persist.store import Store as Store

if TYPE_CHECKING:
    from autogen_persist.chat.persistent import PersistentAgent as PersistentAgent
    from autogen_persist.chat.persistent import PersistentGroupChat as PersistentGroupChat
    from autogen_persist.chat.persistent import PersistentMixin as PersistentMixin

__version__ = "0.1.0"
_NEED_AUTOGEN = ("PersistentAgent", "PersistentGroupChat", "PersistentMixin")
__all__ = [
    "AgentsChanged",
    "AutoGenNotFound",
    "BadArgument",
    "BadUrl",
    "Divergence",
    "ExtraMissing",
    "JournalUnavailable",
    "Learning",
    "LeaseLost",
    "Memory",
    "Message",
    "NoSuchDatabase",
    "NoSuchSession",
    "NotJournalable",
    "NothingToResume",
    "OutsideTool",
    "PersistError",
    "PersistentAgent",
    "PersistentGroupChat",
    "PersistentMixin",
    "ReplayedError",
    "Row",
    "SchemaOutOfDate",
    "Session",
    "SessionBusy",
    "SessionClosed",
    "SessionConflict",
    "Store",
    "ToolRefused",
    "UnfinishedTool",
    "idempotency_key",
    "idempotent",
    "instrument",
    "once",
    "persist",
    "rerun",
    "uninstrument",
]


def __getattr__(name: str) -> Any:
    # Classes that inherit from AutoGen's can only be made where AutoGen is installed.
    if name in _NEED_AUTOGEN:
        from autogen_persist.chat import persistent

        return getattr(persistent, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
