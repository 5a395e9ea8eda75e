"""Rivals that a user might pick instead of a journal."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from agents import SQLiteSession
from agents.extensions.memory import SQLAlchemySession
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.rivals import Append, Messages, connect


class OpenAISQLite:
    """openai-agents' SQLiteSession; it cannot be told its durability, which is full."""

    name = "openai-agents SQLiteSession"
    slow = False

    def __init__(self, folder: Path, durability: str) -> None:
        self._path = folder / "openai.db"
        self._loop = asyncio.new_event_loop()
        self._sessions: list[Any] = []

    def open(self, session_id: str, past: Messages) -> Append:
        session = self._session(session_id)
        self._sessions.append(session)
        self._loop.run_until_complete(session.add_items(past))

        async def append(messages: Messages) -> None:
            for message in messages:
                await session.add_items([message])

        return lambda messages: self._loop.run_until_complete(append(messages))

    def _session(self, session_id: str) -> Any:
        return SQLiteSession(session_id, self._path)

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


class OpenAISQLAlchemy(OpenAISQLite):
    """openai-agents' SQLAlchemySession on aiosqlite."""

    name = "openai-agents SQLAlchemySession"

    def __init__(self, folder: Path, durability: str) -> None:
        super().__init__(folder, durability)
        self._engine = create_async_engine(f"sqlite+aiosqlite:///{folder}/alchemy.db")

        @event.listens_for(self._engine.sync_engine, "connect")
        def _set_durability(connection: Any, _record: object) -> None:
            connection.execute(f"PRAGMA synchronous={durability}")

    def _session(self, session_id: str) -> Any:
        return SQLAlchemySession(session_id, engine=self._engine, create_tables=True)

    def close(self) -> None:
        self._loop.run_until_complete(self._engine.dispose())
        self._loop.close()


class LangGraph:
    """langgraph-checkpoint-sqlite: a checkpoint with the list of messages after each."""

    name = "langgraph-checkpoint-sqlite"
    slow = True

    def __init__(self, folder: Path, durability: str) -> None:
        self._db = connect(folder / "langgraph.db", durability, check_same_thread=False)
        self._saver = SqliteSaver(self._db)

    def open(self, session_id: str, past: Messages) -> Append:
        history = list(past)
        config: Any = {"configurable": {"thread_id": session_id, "checkpoint_ns": ""}}

        def append(messages: Messages) -> None:
            nonlocal config
            for message in messages:
                history.append(message)
                checkpoint = empty_checkpoint() | {"channel_values": {"messages": history}}
                config = self._saver.put(config, checkpoint, {"source": "loop"}, {})

        return append

    def close(self) -> None:
        self._db.close()


class WholeFile:
    """The list of messages, written again as one JSON file after each."""

    name = "rewrite the list as JSON"
    slow = True

    def __init__(self, folder: Path, durability: str) -> None:
        self._folder = folder
        self._sync = durability == "full"

    def open(self, session_id: str, past: Messages) -> Append:
        history, path = list(past), self._folder / f"{session_id}.json"

        def append(messages: Messages) -> None:
            for message in messages:
                history.append(message)
                self._write(path, json.dumps(history))

        return append

    def _write(self, path: Path, text: str) -> None:
        with path.with_suffix(".new").open("w") as file:
            file.write(text)
            if self._sync:
                file.flush()
                os.fsync(file.fileno())
        path.with_suffix(".new").replace(path)

    def close(self) -> None: ...
