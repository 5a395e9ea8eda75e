"""How well and how fast recall finds things: `python -m benchmarks.recall --data FILE`.

R@k is the share of the turns with the evidence that are among the first k. 'conv' is one
database per conversation, 'pooled' all conversations in one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import recall_data, recall_rivals, recall_speed
from benchmarks.bench import Bench, timed
from benchmarks.recall_rivals import Conversations, Find
from benchmarks.report import Grid, Report

KS = (1, 5, 10, 20)
BARS = {"conv": (76.0, 59.0), "pooled": (75.0, 57.0)}
"""R@10 and MRR, in percent."""


def main() -> int:
    options = _options()
    console = Console(width=max(100, Console().width))
    folder = Path(tempfile.mkdtemp(prefix="ap-recall-", dir=options.folder))
    bench = Bench(folder, quick=False)
    reports = []
    try:
        if options.data and options.data.is_file():
            reports.append(quality(bench, recall_data.load(options.data)))
            reports[-1].print(console)
        else:
            print(recall_data.HOW_TO_GET, file=sys.stderr)
        if options.size:
            reports.append(recall_speed.run(bench, options.size))
            reports[-1].print(console)
    finally:
        bench.close()
    missed = [bar for report in reports for bar in report.bars if not bar.ok]
    return 1 if missed or not reports else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("--data", type=Path, help="LoCoMo; without it, only speed is measured")
    parser.add_argument(
        "--size", type=int, default=1_000_000, help="messages in the database; 0: no speed"
    )
    parser.add_argument("--folder", type=Path, help="where the databases go")
    return parser.parse_args()


def quality(bench: Bench, conversations: Conversations) -> Report:
    report = Report("Recall: share of the evidence that is found")
    rivals: dict[str, Callable[[Conversations], Find] | None] = {
        "ours, SQLite": recall_rivals.ours(lambda: f"sqlite:///{bench.new_folder() / 'j.db'}"),
        "ours, PostgreSQL": recall_rivals.ours(bench.new_database),
        "FTS5 alone": recall_rivals.fts5,
        "chromadb": recall_rivals.chroma(),
    }
    rows: list[tuple[str, ...]] = []
    for name, build in rivals.items():
        for scope, (least, least_rank) in BARS.items():
            if build is None:
                rows.append((name, scope, "not installed", *[""] * (len(KS) + 2)))
                continue
            bench.say(f"{name}, {scope}")
            groups = [[c] for c in conversations] if scope == "conv" else [conversations]
            found, wrong, taken = score(build, groups)
            if name.startswith("ours"):
                report.add(f"R@10, {name}, {scope}", found[KS.index(10)], least, unit="%",
                           at_least=True)  # fmt: skip
                report.add(f"MRR, {name}, {scope}", found[-1], least_rank, unit="%", at_least=True)
            speed = f"{statistics.median(taken) * 1e3:.2f}"
            rows.append((name, scope, *(f"{v:.1f}" for v in found), f"{wrong[2]:.1f}", speed))
    columns = ("", "scope", *(f"R@{k}" for k in KS), "MRR", "R@10 adversarial", "median ms")
    report.grids.append(Grid(title="", columns=columns, rows=rows))
    return report


def score(build: Callable[[Conversations], Find], groups: list[Conversations]) -> Any:
    """R@k for each k and MRR, in percent: of honest questions, of adversarial ones; seconds."""
    rows: dict[bool, list[list[float]]] = {False: [], True: []}
    taken = []
    for group in groups:
        find = build(group)
        for conversation in group:
            for question in conversation["questions"]:
                wanted = {(conversation["id"], turn) for turn in question["evidence"]}
                found: list[Any] = []
                taken.append(timed(lambda: found.extend(find(question["question"], max(KS)))))  # noqa: B023
                rank = next((n for n, hit in enumerate(found, 1) if hit in wanted), 0)
                shares = [len(wanted & set(found[:k])) / len(wanted) for k in KS]
                adversarial = question["category"] == recall_data.ADVERSARIAL
                rows[adversarial].append([*shares, 1 / rank if rank else 0.0])
    honest, wrong = (
        [100 * statistics.mean(column) for column in zip(*rows[kind], strict=True)]
        or [0.0] * (len(KS) + 1)
        for kind in (False, True)
    )
    return honest, wrong, taken


if __name__ == "__main__":
    sys.exit(main())
