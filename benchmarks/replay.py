"""Coming back: an interrupted chat, replayed up to its first live model call.

The model answers at once, inside the process, so that nothing is measured but AutoGen's
own work and ours. A bare chat does the same work without a journal.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from autogen import AssistantAgent, GroupChat, GroupChatManager

from autogen_persist import instrument, uninstrument
from benchmarks.bench import Bench, interleave, medians, messages, timed
from benchmarks.report import Grid, Report

logging.getLogger("autogen.oai.client").setLevel(logging.WARNING)  # it announces our client
SESSION = "replayed"
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": 0.0, "model": "-"}


def run(bench: Bench) -> Report:
    short, long = (100, 500) if bench.quick else (1_000, 5_000)
    report = Report(f"replay {long:,} messages")
    rounds = min(bench.rounds, 5)
    journals = {}
    for length in (short, long):
        bench.say(f"replay: a chat of {length:,} messages, killed at its last")
        journals[length] = _interrupted(bench, length)
    bench.say(f"replay: {rounds} rounds")
    turns: dict[Any, Callable[[int], float]] = {}
    for length, journal in journals.items():
        turns["bare", length] = lambda _, n=length: _bare(n)
        turns["replayed", length] = lambda _, n=length, file=journal: _replayed(bench, file, n)
    taken = medians(interleave(turns, rounds))
    bench.say("replay: memory")
    peaks = {length: _peak(bench, journal, length) for length, journal in journals.items()}
    report.grids.append(_grid(taken, peaks))
    times = {how: taken[how, long] / taken[how, short] for how in ("bare", "replayed")}
    growth = f"{long:,} / {short:,} messages"
    report.grids.append(_growth(growth, times, peaks[long] / peaks[short]))
    report.add("replayed / bare chat", taken["replayed", long] / taken["bare", long], 2.0)
    # AutoGen gives each call the whole history, so the bare chat is not linear, either.
    report.add(f"growth of time, {growth}: replayed / bare", times["replayed"] / times["bare"], 1.3)
    report.add(f"peak memory, {growth}", peaks[long] / peaks[short], 6.5)
    return report


def _grid(taken: dict[Any, float], peaks: dict[int, float]) -> Grid:
    rows = [
        (
            f"{length:,}",
            f"{taken['bare', length]:.2f} s",
            f"{taken['replayed', length]:.2f} s",
            f"{peak / 1e6:.1f} MB",
        )
        for length, peak in peaks.items()
    ]
    columns = ("messages", "bare chat", "replayed to the first live call", "peak memory of that")
    return Grid(title="", columns=columns, rows=rows)


def _growth(title: str, times: dict[str, float], memory: float) -> Grid:
    """Beside the bare chat: AutoGen gives each call the whole history, so its time grows, too."""
    row = (title, f"{times['bare']:.1f} ×", f"{times['replayed']:.1f} ×", f"{memory:.1f} ×")
    return Grid(title="", columns=("growth", "bare chat", "replayed", "peak memory"), rows=[row])


class Instant:
    """A model inside the process; asked for the last message, it does `at_last` instead."""

    def __init__(self, config: Any, asked: list[int], last: int, at_last: Any) -> None:
        self._asked, self._last, self._at_last = asked, last, at_last

    def create(self, params: Any) -> Any:
        self._asked[0] += 1
        if len(params["messages"]) > self._last:
            self._at_last()
        words = _words(len(params["messages"]))
        choice = SimpleNamespace(message=SimpleNamespace(content=words, function_call=None))
        return SimpleNamespace(choices=[choice], model="-")

    def message_retrieval(self, response: Any) -> list[str]:
        return [choice.message.content for choice in response.choices]

    def cost(self, response: Any) -> float:
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return dict(USAGE)


_TEXTS = [message["content"] for message in messages(256)]


def _words(number: int) -> str:
    return f"{number} {_TEXTS[number % 256]}"


class Arrived(BaseException):
    """The journal has come to its end: the model is asked."""


def _talk(length: int, at_last: Callable[[], object]) -> int:
    """Hold the chat up to its last message; return how often the model was asked."""
    asked = [0]
    entry = {"model": "instant", "model_client_cls": "Instant"}
    agents = []
    for name in ("planner", "coder", "tester"):
        agent = AssistantAgent(name, llm_config={"config_list": [entry], "cache_seed": None},
                               max_consecutive_auto_reply=length)  # fmt: skip
        agent.register_model_client(Instant, asked=asked, last=length - 1, at_last=at_last)
        agents.append(agent)
    chat = GroupChat(agents, [], max_round=length, speaker_selection_method="round_robin")
    manager = GroupChatManager(chat, llm_config=False, silent=True)
    with suppress(Arrived):
        agents[0].initiate_chat(manager, message="begin", silent=True)
    assert len(chat.messages) == length - 1
    return asked[0]


def _arrive() -> None:
    raise Arrived


def _bare(length: int) -> float:
    gc.collect()
    return timed(lambda: _talk(length, _arrive))


def _replayed(bench: Bench, journal: Path, length: int) -> float:
    copied = bench.new_folder() / "journal.db"
    shutil.copy(journal, copied)
    gc.collect()
    seconds = timed(lambda: _replay(copied, length))
    uninstrument()
    return seconds


def _replay(journal: Path, length: int) -> None:
    instrument(session_id=SESSION, url=journal)
    assert _talk(length, _arrive) == 1, "the journal did not answer"


def _interrupted(bench: Bench, length: int) -> Path:
    """The journal of a chat that was killed when it asked for its last message."""
    journal = bench.new_folder() / "journal.db"
    done = _in_child("kill", journal, length)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with closing(sqlite3.connect(journal)) as connection:  # one file, to be copied
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return journal


def _peak(bench: Bench, journal: Path, length: int) -> float:
    """Bytes, in a process of its own: the largest sum of what Python had allocated."""
    copied = bench.new_folder() / "journal.db"
    shutil.copy(journal, copied)
    done = _in_child("measure", copied, length)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1])


def _in_child(what: str, journal: Path, length: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.replay", what, str(journal), str(length)]
    return subprocess.run(command, capture_output=True, text=True)


def main(what: str, journal: str, length: str) -> None:
    """`kill` holds the chat and dies in it; `measure` replays it and prints the peak memory."""
    if what == "kill":
        instrument(session_id=SESSION, url=journal, durability="normal")
        _talk(int(length), lambda: os.kill(os.getpid(), signal.SIGKILL))
    tracemalloc.start()
    _replay(Path(journal), int(length))
    print(tracemalloc.get_traced_memory()[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
