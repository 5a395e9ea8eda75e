"""Run the sections, print ratios, exit 1 if a bar is missed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks import append, chats, disk, processes, replay, restore
from benchmarks.bench import Bench, timed
from benchmarks.report import Report, micros

SECTIONS = {
    "append": append.on_sqlite,
    "append-postgres": append.on_postgres,
    "restore": restore.run,
    "disk": disk.run,
    "processes": processes.run,
    "chats": chats.run,
    "replay": replay.run,
}


def main() -> int:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="ap-bench-", dir=options.folder))
    bench = Bench(folder, quick=options.quick)
    console = Console(width=max(100, Console().width))
    try:
        machine = _machine(folder)
        console.print(machine)
        reports = [_run(bench, console, name) for name in options.only or SECTIONS]
    finally:
        bench.close()
    if options.json:
        found = {"machine": machine, "sections": [report.as_json() for report in reports]}
        options.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return _verdict(console, reports)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test of half a minute")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there, too")
    parser.add_argument("--folder", type=Path, help="the disk to measure; default: temporary files")
    return parser.parse_args()


def _run(bench: Bench, console: Console, name: str) -> Report:
    report = SECTIONS[name](bench)
    report.print(console)
    return report


def _verdict(console: Console, reports: list[Report]) -> int:
    bars = [(report.title, bar) for report in reports for bar in report.bars]
    missed = [(title, bar) for title, bar in bars if not bar.ok]
    console.rule()
    console.print(f"{len(bars) - len(missed)} of {len(bars)} bars cleared", style="bold")
    for title, bar in missed:
        console.print(f"[bold red]MISSED[/] {title}: {bar.name}")
    return 1 if missed else 0


def _machine(folder: Path) -> str:
    parts = (
        f"{os.cpu_count()} × {_processor()}",
        f"{platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        f"one fsync: {micros(_fsync(folder))}",
    )
    return " · ".join(parts)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _fsync(folder: Path) -> float:
    with (folder / "fsync").open("wb", buffering=0) as file:

        def write() -> None:
            file.write(bytes(4096))
            os.fsync(file.fileno())

        return statistics.median(timed(write) for _ in range(50))
