"""How long a question takes in one namespace of a database that has a hundred of them."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from autogen_persist import Store
from autogen_persist.memory.recall import Search
from autogen_persist.store.engine import resolve
from autogen_persist.store.write import COLUMNS
from benchmarks.bench import Bench, timed
from benchmarks.report import Grid, Report

NAMESPACE = 10_000
"""Messages in a namespace."""
SESSION = 500
QUESTIONS = 300
SPEAKERS = ("planner", "coder", "tester", "reviewer", "writer")
LIMITS = {"sqlite": 10.0, "postgresql": 30.0}
SESSION_COLUMNS = ("id", "namespace", "created_micros", "updated_micros", "pos", "seq", "digest")


def run(bench: Bench, size: int) -> Report:
    report = Report(f"A question in {NAMESPACE:,} messages of {size:,}")
    rows = []
    for backend in LIMITS:
        bench.say(f"{backend}: writing {size:,} messages")
        url = _sqlite(bench) if backend == "sqlite" else bench.new_database()
        _fill(url, size)
        with Store.open(url) as store:
            bench.say(f"{backend}: indexing")
            indexing = timed(lambda: _index(store, size))
            bench.say(f"{backend}: asking")
            taken = sorted(_ask(store, size))
        median, p95 = statistics.median(taken), taken[int(0.95 * len(taken))]
        report.add(f"median, {backend}", median * 1e3, LIMITS[backend], unit="ms")
        rate = f"{size / indexing:,.0f}"
        rows.append((backend, f"{median * 1e3:.2f}", f"{p95 * 1e3:.2f}", rate, _index_size(url)))
    columns = ("backend", "median ms", "p95 ms", "messages indexed per s", "index MB")
    report.grids.append(Grid(title="", columns=columns, rows=rows))
    return report


class _Words:
    """Made-up words, as common and as rare as the content words of English."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        parts = ["".join(pair) for pair in itertools.product("bdfgklmnprtvz", "aou")]
        self._all = ["".join(three) for three in itertools.product(parts, repeat=3)][:30_000]
        random.Random(1).shuffle(self._all)
        weights = (1 / (rank + 20) for rank in range(len(self._all)))
        self._weights = list(itertools.accumulate(weights))

    def take(self, count: int) -> list[str]:
        return self._random.choices(self._all, cum_weights=self._weights, k=count)

    def message(self) -> str:
        """Twelve content words between as many that are none."""
        return " ".join(f"the {word}" for word in self.take(12)) + "."

    def question(self) -> str:
        speaker = self._random.choice(SPEAKERS)
        return f"When did the {speaker} say that {' and '.join(self.take(4))}?"


def _sessions(size: int) -> Iterator[tuple[Any, ...]]:
    for start in range(0, size, SESSION):
        rows = min(SESSION, size - start)
        name = f"session-{start // SESSION}"
        yield name, f"space-{start // NAMESPACE}", 1, 1, rows, rows, bytes(32)


def _rows(size: int) -> Iterator[tuple[Any, ...]]:
    words = _Words(7)
    for n in range(size):
        place, speaker = n % SESSION + 1, SPEAKERS[n % len(SPEAKERS)]
        micros = 1_700_000_000_000_000 + n * 60_000_000
        body = json.dumps({"content": words.message(), "name": speaker})
        yield (
            f"session-{n // SESSION}", place, place, 1, "", "message", "text", speaker, "manager",
            "group", False, micros, body, bytes(16), None, bytes(32),
        )  # fmt: skip


def _fill(url: str, size: int) -> None:
    """In bulk, with blanks for digests: what is measured comes later."""
    tables = (("persist_sessions", SESSION_COLUMNS, _sessions(size)),
              ("persist_journal", COLUMNS, _rows(size)))  # fmt: skip
    if resolve(url).get_backend_name() == "sqlite":
        Store.open(url).close()
        db = sqlite3.connect(resolve(url).database or "")
        for table, columns, rows in tables:
            marks = ", ".join("?" * len(columns))
            db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
        db.commit()
        db.close()
        return
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for table, columns, rows in tables:
            with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)


def _spaces(size: int) -> list[str]:
    return [f"space-{n}" for n in range(max(size // NAMESPACE, 1))]


def _index(store: Store, size: int) -> None:
    search = Search(store)
    for space in _spaces(size):
        search.catch_up(space)


def _ask(store: Store, size: int) -> Iterator[float]:
    """Now in this namespace, now in that: nothing is in the cache only because it was asked for."""
    search, words = Search(store), _Words(8)
    spaces = itertools.cycle(random.Random(9).sample(_spaces(size), len(_spaces(size))))
    for _ in range(20):
        search.recall(next(spaces), words.question())
    for _ in range(QUESTIONS):
        space, question = next(spaces), words.question()
        yield timed(lambda: search.recall(space, question, limit=10))  # noqa: B023


def _index_size(url: str) -> str:
    names = ("persist_postings", "persist_entries", "persist_books", "persist_spaces")
    if resolve(url).get_backend_name() == "sqlite":
        db = sqlite3.connect(resolve(url).database or "")
        marks = ", ".join("?" * len(names))
        try:
            query = f"SELECT sum(pgsize) FROM dbstat WHERE name IN ({marks})"
            (total,) = db.execute(query, names).fetchone()
        except sqlite3.OperationalError:  # dbstat is not compiled in everywhere
            return "?"
        finally:
            db.close()
    else:
        with psycopg.connect(url) as connection:
            query = "SELECT sum(pg_total_relation_size(n::regclass)) FROM unnest(%s::text[]) n"
            (total,) = connection.execute(query, (list(names),)).fetchone() or (0,)
    return f"{int(total) / 1e6:,.0f}"


def _sqlite(bench: Bench) -> str:
    return f"sqlite:///{Path(bench.new_folder()) / 'recall.db'}"
