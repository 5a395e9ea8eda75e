"""What one more message costs, in short sessions and in long ones.

All sessions of a rival share one database, as they would in production: it has grown and
its WAL has wrapped, so that the length of the session is all that differs.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from autogen_persist.opening import new_id
from benchmarks.bench import Bench, interleave, medians, messages, timed
from benchmarks.others import LangGraph, OpenAISQLAlchemy, OpenAISQLite, WholeFile
from benchmarks.report import Grid, Report, micros, shown
from benchmarks.rivals import LeanPostgres, Ours, Raw, RawPostgres

BATCH = 10
"""Messages in a turn of a rival; those that write everything again add only one."""


def on_sqlite(bench: Bench) -> Report:
    report = Report("append on SQLite")
    for durability, limit in (("full", 1.5), ("normal", 2.5)):
        folder = bench.new_folder()
        kinds = [OpenAISQLAlchemy, LangGraph, WholeFile]
        if durability == "full":
            kinds.insert(0, OpenAISQLite)
        rivals = [Raw(folder, durability), Ours(folder / "ours.db", durability)]
        rivals += [kind(folder, durability) for kind in kinds]
        costs = _compete(bench, rivals, f"append on SQLite, {durability}")
        report.grids.append(_grid(bench, f"durability {durability}, × raw", rivals, costs))
        _bars(bench, report, costs, f"{durability}: ours / raw sqlite3", Raw.name, limit)
        report.add(f"{durability}: {_span(bench)}", _growth(bench, costs), 1.15)
    return report


def on_postgres(bench: Bench) -> Report:
    report = Report("append on PostgreSQL")
    url = bench.new_database()
    rivals = [RawPostgres(url), Ours(url, "full"), LeanPostgres(url)]
    costs = _compete(bench, rivals, "append on PostgreSQL")
    report.grids.append(_grid(bench, "× raw", rivals, costs))
    _bars(bench, report, costs, "ours / raw psycopg", RawPostgres.name, 1.5)
    report.add(_span(bench), _growth(bench, costs), 1.15)
    return report


def _compete(bench: Bench, rivals: list[Any], what: str) -> dict[Any, float]:
    """Seconds for one append, by rival and size of the session."""
    turns = {}
    try:
        for size in bench.sizes:
            bench.say(f"{what}: prepare sessions of {size:,} messages")
            for rival in rivals:
                turns[rival.name, size] = _turn(rival, size, bench.append_rounds)
        bench.say(f"{what}: {bench.append_rounds} rounds")
        return medians(interleave(turns, bench.append_rounds))
    finally:
        for rival in rivals:
            rival.close()


def _turn(rival: Any, size: int, rounds: int) -> Callable[[int], float | None]:
    batch = messages(1 if rival.slow else BATCH)
    per_session = max(1, size // (10 * BATCH))  # a session grows by a tenth at most
    past = messages(size - BATCH * min(rounds, per_session))
    sessions = [rival.open(new_id(), past) for _ in range(ceil(rounds / per_session))]

    def turn(n: int) -> float | None:
        if rival.slow and n % (rounds // 5):
            return None
        append = sessions[n // per_session]
        return timed(lambda: append(batch)) / len(batch)

    return turn


def _grid(bench: Bench, title: str, rivals: list[Any], costs: dict[Any, float]) -> Grid:
    limit = rivals[0].name
    rows = [("one raw append", *(micros(costs[limit, size]) for size in bench.sizes))]
    for rival in rivals:
        ratios = (costs[rival.name, size] / costs[limit, size] for size in bench.sizes)
        rows.append((rival.name, *(shown(ratio, "×") for ratio in ratios)))
    columns = ("session of … messages", *(f"{size:,}" for size in bench.sizes))
    return Grid(title=title, columns=columns, rows=rows)


def _bars(bench: Bench, report: Report, costs: Any, name: str, raw: str, limit: float) -> None:
    for size in bench.sizes:
        ratio = costs[Ours.name, size] / costs[raw, size]
        report.add(f"{name}, {size:,} messages", ratio, limit)


def _span(bench: Bench) -> str:
    return f"ours, {bench.sizes[-1]:,} / {bench.sizes[0]:,} messages"


def _growth(bench: Bench, costs: dict[Any, float]) -> float:
    return costs[Ours.name, bench.sizes[-1]] / costs[Ours.name, bench.sizes[0]]
