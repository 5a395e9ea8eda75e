"""Reading a long session back: rows into dicts, and nothing else, is the limit."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from autogen_persist.opening import new_id
from benchmarks.bench import Bench, interleave, medians, messages, timed
from benchmarks.report import Grid, Report
from benchmarks.rivals import Ours, Raw, RawPostgres


def run(bench: Bench) -> Report:
    report = Report(f"restore {bench.many:,} messages")
    folder, url = bench.new_folder(), bench.new_database()
    on_sqlite = _compare(bench, Raw(folder, "full"), Ours(folder / "ours.db", "full"))
    on_postgres = _compare(bench, RawPostgres(url), Ours(url, "full"))
    report.add("SQLite: ours / raw sqlite3", on_sqlite[1] / on_sqlite[0], 1.5)
    report.add("PostgreSQL: ours / raw psycopg", on_postgres[1] / on_postgres[0], 1.5)
    rows = [
        (name, *(f"{seconds * 1e3:,.0f} ms" for seconds in taken))
        for name, taken in (("SQLite", on_sqlite), ("PostgreSQL", on_postgres))
    ]
    report.grids.append(Grid(title="", columns=("", "raw", "ours"), rows=rows))
    return report


def _compare(bench: Bench, raw: Any, ours: Any) -> tuple[float, float]:
    bench.say(f"restore, {raw.name}: prepare")
    session_id, past = new_id(), messages(bench.many)
    for rival in (raw, ours):
        rival.open(session_id, past)
    assert [message.body for message in ours.read(session_id)] == raw.read(session_id) == past
    turns = {rival: _turn(lambda rival=rival: rival.read(session_id)) for rival in (raw, ours)}
    bench.say(f"restore, {raw.name}: {bench.rounds} rounds")
    taken = medians(interleave(turns, bench.rounds))
    raw.close()
    ours.close()
    return taken[raw], taken[ours]


def _turn(read: Callable[[], object]) -> Callable[[int], float]:
    def turn(_: int) -> float:
        gc.collect()  # what the others left behind is not ours to collect
        return timed(read)

    return turn
