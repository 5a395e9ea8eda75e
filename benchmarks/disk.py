"""Bytes that a message of 1 KB takes on disk, keys and digests included."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

from autogen_persist.opening import new_id
from benchmarks.bench import Bench, messages
from benchmarks.report import Report
from benchmarks.rivals import Ours

LIMIT = 1.5 * 1024


def run(bench: Bench) -> Report:
    report = Report("disk")
    bench.say(f"disk: {bench.many:,} messages on each database")
    path, url = bench.new_folder() / "ours.db", bench.new_database()
    for address in (path, url):
        ours = Ours(address, "full")
        ours.open(new_id(), messages(bench.many))
        ours.close()
    unit = "bytes per message"
    report.add("SQLite", _file(path) / bench.many, LIMIT, unit=unit)
    report.add("PostgreSQL", _relations(url) / bench.many, LIMIT, unit=unit)
    return report


def _file(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.stat().st_size + Path(f"{path}-wal").stat().st_size


def _relations(url: str) -> int:
    tables = ("persist_journal", "persist_sessions")
    with psycopg.connect(url) as db:
        sizes = [db.execute("SELECT pg_total_relation_size(%s)", (name,)) for name in tables]
        return sum(size.fetchone()[0] for size in sizes)
