"""One trial: a script is killed at a given point and run again until it ends.

A kill point is a word such as `before:7`; `a+b` kills a second time, while it resumes.

    before:7 after:7    around the seventh row that the process writes
    asked:3 streamed:3  when the model has got its third request, or sent half of an answer
    doing:2 done:2      in the second tool, before and after it does something
    instant:5           at some moment, import included; 5 is the seed
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autogen_persist import Store
from autogen_persist.records import Row
from tests.crash.children import ROOT, Job, Nursery
from tests.crash.model import Model
from tests.support import chains
from tests.support.model_server import ModelServer

SCRIPT = ROOT / "tests" / "crash" / "scripts.py"
PATTERNS = "autogen.agentchat.group"
SCENARIOS = {
    **dict.fromkeys((
        "round_robin", "auto", "selector", "manual", "nested", "asynchronous", "streaming",
        "sequential", "two_questions", "reply_limit", "people", "multimodal", "by_name", "tools",
        "async_tools", "failing_tool", "failing_model", "caught", "code",
    )),
    "pictures": "PIL",
    **dict.fromkeys(("run", "run_alone", "handoffs", "async_handoffs", "auto_pattern"), PATTERNS),
}  # fmt: skip
"""Each with the module that it needs; AutoGen 0.2 has no run() and no patterns."""
ANSWERS = {"manual": "2\n", "people": "yes\n"}
"""What a person says; always the same, since a resumed script reads from the beginning."""
INSTANTS = 6
"""Random moments that are tried of each scenario."""


def available(nursery: Nursery) -> list[str]:
    """The scenarios that can be played in an environment."""
    return [name for name, needs in SCENARIOS.items() if needs not in nursery.lacks]


class World:
    """A place to run a script in: a session of a database, a model, a log of tools."""

    def __init__(
        self, folder: Path, url: str, scenario: str, nursery: Nursery, session: str = "s"
    ) -> None:
        self.folder, self.url, self.scenario, self.session = folder, url, scenario, session
        self._nursery = nursery
        (folder / "work").mkdir(parents=True)
        (folder / "input").write_text(ANSWERS.get(scenario, "yes\n") * 9)
        self.log = folder / "tools.log"
        self.log.touch()
        self.server = ModelServer(Model(), watch=self._watch)
        self._pid, self._point = 0, ""

    def __enter__(self) -> World:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.__exit__()

    def run(self, kill: str = "", *, options: Sequence[str] = (), fresh: bool = False,
            **env: str) -> int:  # fmt: skip
        """Run the script, to its end or to its kill; return the exit code."""
        where, _, number = kill.partition(":")
        given = {
            "MODEL_URL": self.server.url, "TOOL_LOG": str(self.log), "KILL": kill,
            "STATE": str(self.folder / "state.json"), "WORK": str(self.folder / "work"), **env,
        }  # fmt: skip
        args = ["run", "--url", self.url, *options, "--session", self.session]
        job = Job(args=[*args, str(SCRIPT), self.scenario], env=given, folder=str(self.folder))
        # The server counts on, the child begins anew.
        self._point = f"{where}:{int(number) + self.server.count}" if number else ""
        if where == "instant":
            chance = random.Random(f"{self.scenario} {number}")
            # A little longer than it takes, for the moment may also come too late.
            return self._nursery.fresh(job, seconds=chance.uniform(0, self._nursery.seconds * 1.5))
        return self._nursery.fresh(job) if fresh else self._nursery.fork(job, self._started)

    def _started(self, pid: int) -> None:
        self._pid = pid

    def _watch(self, what: str, number: int) -> None:
        if self._point == f"{what}:{number}":
            os.kill(self._pid, signal.SIGKILL)

    @property
    def state(self) -> str:
        return (self.folder / "state.json").read_text()

    @property
    def tools(self) -> list[str]:
        return self.log.read_text().splitlines()

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text()

    def rows(self) -> list[Row]:
        with Store.open(self.url) as store:
            known = any(found.id == self.session for found in store.sessions())
            return store.rows(self.session) if known else []

    def is_sound(self) -> bool:
        with Store.open(self.url) as store:
            return chains.first_bad_row(store, self.session) is None


@dataclass(frozen=True, kw_only=True)
class Calm:
    """How a script ends that nobody kills."""

    state: str
    rows: int
    requests: int
    calls: int
    streams: bool
    tools: list[str]

    @classmethod
    def of(cls, world: World) -> Calm:
        code = world.run()
        assert code == 0, world.output
        requests = world.server.requests
        return cls(
            state=world.state, rows=len(world.rows()), requests=len(requests),
            calls=world.server.calls, streams=any(r.get("stream") for r in requests),
            tools=world.tools,
        )  # fmt: skip

    def points(self) -> list[str]:
        """Every point at which the script can be killed."""
        inside = sum(not line.startswith("ran") for line in self.tools)  # code is not our tool
        numbers = {
            "before": self.rows, "after": self.rows, "asked": self.requests,
            "streamed": self.requests if self.streams else 0, "doing": inside, "done": inside,
            "instant": INSTANTS,
        }  # fmt: skip
        points = [f"{place}:{n}" for place, most in numbers.items() for n in range(1, most + 1)]
        again = itertools.cycle(("before:1", "after:1", "before:2", "after:2", "asked:1"))
        twice = [f"{p}+{next(again)}" for p in points[: self.rows - 4 : 2]]
        return points + twice


def spread(points: list[str], seed: str) -> list[str]:
    """In such an order that the first few hold something of every kind."""
    kinds: dict[str, list[str]] = {}
    for point in points:
        kind = "twice" if "+" in point else point.partition(":")[0]
        kinds.setdefault(kind, []).append(point)
    chance = random.Random(seed)
    groups = list(kinds.values())
    for group in (groups, *groups):
        chance.shuffle(group)
    rounds = itertools.zip_longest(*groups)
    return [point for each in rounds for point in each if point is not None]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a trial."""

    point: str
    exact: bool
    extra: int
    """Model calls beyond those of a calm run."""
    repeated: list[str]
    """Tools whose result was journaled and that ran again."""
    problem: str = ""

    @property
    def ok(self) -> bool:
        kills = self.point.count("+") + 1
        return self.exact and 0 <= self.extra <= kills and not self.repeated


def attempt(world: World, calm: Calm, point: str) -> Outcome:
    """Kill it there, run it to its end, and compare."""
    codes: list[int] = []
    repeated: list[str] = []
    for kill in [*point.split("+"), ""]:
        finished, before = _finished(world), len(world.tools)
        codes.append(world.run(kill))
        repeated += [line for line in world.tools[before:] if line in finished]
    problem = _problem(world, calm, point, codes)
    return Outcome(
        point=point, exact=not problem, extra=world.server.calls - calm.calls,
        repeated=repeated, problem=problem,
    )  # fmt: skip


def _finished(world: World) -> set[str]:
    """The lines of the log whose tool has a receipt: each tool's result holds its line."""
    rows = [row for row in world.rows() if row.type == "receipt" and row.kind in ("tool", "code")]
    results = [json.dumps(row.body, default=str) for row in rows]
    return {line for line in world.tools if any(line in text for text in results)}


def _problem(world: World, calm: Calm, point: str, codes: list[int]) -> str:
    """What is not as it should be; nothing if all is well."""
    *killed, last = codes
    if any(code != -signal.SIGKILL for code in killed) and "instant" not in point:
        return f"was not killed: exit codes {codes}"
    if last != 0:
        return f"exit code {last}: {world.output[-1500:]}"
    if world.state != calm.state:
        return f"another state: {_difference(calm.state, world.state)}"
    return "" if world.is_sound() else "the chain of digests is broken"


def _difference(one: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
              min(len(one), len(other)))  # fmt: skip
    return f"…{one[max(0, at - 80) : at + 80]}… became …{other[max(0, at - 80) : at + 80]}…"
