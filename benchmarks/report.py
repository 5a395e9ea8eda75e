"""What a section found: tables to read and bars to clear."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A limit that was promised, and what was measured."""

    name: str
    value: float
    limit: float
    unit: str = "×"
    at_least: bool = False

    @property
    def ok(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def cells(self) -> tuple[str, str, str, str]:
        sense = "≥" if self.at_least else "≤"
        verdict = "[green]ok[/]" if self.ok else "[bold red]MISSED[/]"
        limit = f"{sense} {shown(self.limit, self.unit)}"
        return self.name, shown(self.value, self.unit), limit, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table without limits."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass(slots=True)
class Report:
    """All that one section prints."""

    title: str
    grids: list[Grid] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)

    def add(self, name: str, value: float, limit: float, **how: Any) -> None:
        self.bars.append(Bar(name=name, value=value, limit=limit, **how))

    def print(self, console: Console) -> None:
        console.rule(f"[bold]{self.title}")
        for grid in self.grids:
            console.print(_table(grid.columns, grid.rows, grid.title))
        if self.bars:
            columns = ("bar", "measured", "limit", "")
            console.print(_table(columns, [bar.cells() for bar in self.bars]))

    def as_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "grids": [{"title": g.title, "columns": g.columns, "rows": g.rows} for g in self.grids],
            "bars": [
                {"name": b.name, "value": b.value, "unit": b.unit, "limit": b.limit, "ok": b.ok}
                for b in self.bars
            ],
        }


def shown(value: float, unit: str) -> str:
    if unit == "×":
        return f"{value:.2f} ×" if value < 100 else f"{value:,.0f} ×"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def micros(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]], title: str = "") -> Table:
    table = Table(title=title or None, title_justify="left")
    for n, column in enumerate(columns):
        table.add_column(column, justify="right" if n else "left")
    for row in rows:
        table.add_row(*row)
    return table
