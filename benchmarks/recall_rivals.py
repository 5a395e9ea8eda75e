"""Who recalls: ours on both backends, and what a user would write instead.

A rival is a function from conversations to a search, which takes a question and a number
and returns (conversation, turn), the best first. None where a rival is not installed.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from autogen_persist import Store
from autogen_persist.memory.recall import Search
from autogen_persist.memory.text import STOP_WORDS
from autogen_persist.records import Draft

Conversations = list[dict[str, Any]]
Turn = tuple[str, str]
Find = Callable[[str, int], list[Turn]]


def ours(new_url: Callable[[], str]) -> Callable[[Conversations], Find]:
    """Each conversation is a session of a journal; all of them are in one namespace."""

    def build(conversations: Conversations) -> Find:
        store = Store.open(new_url(), upgrade=True)
        names = {}
        for conversation in conversations:
            session = conversation["id"]
            store.create(session)
            store.journal(session).append([_draft(turn) for turn in conversation["turns"]])
            for seq, turn in enumerate(conversation["turns"], 1):
                names[session, seq] = (session, turn["id"])
        search = Search(store)
        search.catch_up("default")

        def find(question: str, most: int) -> list[Turn]:
            hits = search.recall("default", question, limit=most)
            return [names[hit.session_id, hit.seq] for hit in hits]

        return find

    return build


def _draft(turn: dict[str, Any]) -> Draft:
    at = datetime.fromisoformat(turn["at"])
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    body = json.dumps({"content": turn["text"], "name": turn["speaker"]}).encode()
    return Draft(
        0, "", "message", "text", turn["speaker"], "", "group", False,
        int(at.timestamp() * 1e6), body,
    )  # fmt: skip


def fts5(conversations: Conversations) -> Find:
    """SQLite's full-text search with its English stemmer: the question's words, any of them."""
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE said USING fts5(text, conversation UNINDEXED, turn UNINDEXED, "
        "tokenize = 'porter unicode61')"
    )
    db.executemany(
        "INSERT INTO said VALUES (?, ?, ?)",
        ((t["text"], c["id"], t["id"]) for c in conversations for t in c["turns"]),
    )

    def find(question: str, most: int) -> list[Turn]:
        words = [w for w in re.findall(r"\w+", question.lower()) if w not in STOP_WORDS]
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        return db.execute(
            "SELECT conversation, turn FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?",
            (query, most),
        ).fetchall()

    return find


def chroma() -> Callable[[Conversations], Find] | None:
    """A plain vector store with the model it comes with; it must be installed already."""
    try:
        import chromadb  # type: ignore[import-not-found]
    except ImportError:
        return None

    def build(conversations: Conversations) -> Find:
        client = chromadb.EphemeralClient()
        said = client.get_or_create_collection(f"c{'-'.join(c['id'] for c in conversations)}"[:60])
        for conversation in conversations:
            turns = conversation["turns"]
            said.add(
                ids=[json.dumps([conversation["id"], turn["id"]]) for turn in turns],
                documents=[f"{turn['speaker']}: {turn['text']}" for turn in turns],
            )

        def find(question: str, most: int) -> list[Turn]:
            found = said.query(query_texts=[question], n_results=most)["ids"][0]
            return [tuple(json.loads(each)) for each in found]

        return find

    return build
