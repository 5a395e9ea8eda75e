"""Four processes, each with a session of its own, in one database."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from autogen_persist.opening import new_id
from benchmarks.bench import Bench, messages, rotated
from benchmarks.report import Grid, Report
from benchmarks.rivals import Ours, Raw, RawPostgres

PROCESSES = 4
Makers = dict[str, Callable[[], Any]]
Turn = tuple[str, int, float, float, str | None]
"""Who, in which round, from when, to when, and what went wrong."""


def run(bench: Bench) -> Report:
    report = Report(f"{PROCESSES} processes, one database")
    folder, url = bench.new_folder(), bench.new_database()
    sqlite = {
        "raw": partial(Raw, folder, "full"),
        "ours": partial(Ours, folder / "ours.db", "full"),
    }
    postgres = {"raw": partial(RawPostgres, url), "ours": partial(Ours, url, "full")}
    rows = [_race(bench, report, "SQLite", sqlite), _race(bench, report, "PostgreSQL", postgres)]
    columns = ("messages per second", "raw", "ours")
    report.grids.append(Grid(title="", columns=columns, rows=rows))
    return report


def _race(bench: Bench, report: Report, name: str, makers: Makers) -> tuple[str, ...]:
    rounds, count = (3, 50) if bench.quick else (21, 500)
    bench.say(f"processes, {name}: {rounds} rounds of {PROCESSES} × {count} messages")
    for make in makers.values():  # the tables are there before the race begins
        rival = make()
        rival.open(new_id(), [])
        rival.close()
    turns = _run_all(makers, rounds, count)
    raw, ours = _lengths(turns, "raw"), _lengths(turns, "ours")
    ratio = statistics.median(raw) / statistics.median(ours)
    report.add(f"{name}: throughput, ours / raw", ratio, 0.85, at_least=True)
    errors = [error for who, *_, error in turns if who == "ours" and error]
    for error in errors:
        bench.say(error)
    report.add(f"{name}: errors", len(errors), 0, unit="errors")
    rates = (PROCESSES * count / statistics.median(lengths) for lengths in (raw, ours))
    return (name, *(f"{rate:,.0f}" for rate in rates))


def _run_all(makers: Makers, rounds: int, count: int) -> list[Turn]:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(PROCESSES, context) as pool:
        gate = manager.Barrier(PROCESSES)
        work = [pool.submit(_work, makers, rounds, count, gate) for _ in range(PROCESSES)]
        return [turn for each in work for turn in each.result()]


def _work(makers: Makers, rounds: int, count: int, gate: Any) -> list[Turn]:
    """Append in step with the other processes."""
    rivals = {name: make() for name, make in makers.items()}
    appends = {name: rival.open(new_id(), messages(1)) for name, rival in rivals.items()}
    batch, turns = messages(count), []
    for n in range(rounds):
        for name in rotated(list(appends), n):
            gate.wait(timeout=120)
            turns.append((name, n, *_try(partial(appends[name], batch))))
    for rival in rivals.values():
        rival.close()
    return turns


def _try(act: Callable[[], None]) -> tuple[float, float, str | None]:
    begin, error = time.perf_counter(), None
    try:
        act()
    except Exception as caught:
        error = repr(caught)
    return begin, time.perf_counter(), error


def _lengths(turns: list[Turn], who: str) -> list[float]:
    """Of each round, from the first process that began to the last that ended."""
    rounds = defaultdict(list)
    for name, n, begin, end, _ in turns:
        if name == who:
            rounds[n].append((begin, end))
    return [
        max(end for _, end in spans) - min(begin for begin, _ in spans)
        for _, spans in sorted(rounds.items())
    ]
