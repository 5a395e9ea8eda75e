"""Kill it anywhere, run it again: it ends as if it had never been killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from autogen_persist import Store
from tests.support import chains
from tests.support.model_server import ModelServer, digest, tool_call

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "tests" / "crash" / "scripts.py"


def answer(request):
    """A model that chooses speakers, calls tools and writes code where it is asked to."""
    words = json.dumps(request["messages"])
    mark = digest(request)
    if "select the next role" in words:
        return ("coder", "tester", "planner")[len(request["messages"]) % 3]
    if request.get("tools") and words.count('"role": "tool"') < 2:
        paid = words.count('"role": "tool"')
        return {"tool_calls": [tool_call("pay", call_id=f"call_{paid}", amount=paid + 1)]}
    if "write code" in words:
        return f"```python\nprint({len(request['messages'])})\n```\n{mark}"
    return None


class World:
    """A place to run a script in: a database, a model, a log of tools."""

    def __init__(self, folder: Path, url: str, name: str, server: ModelServer) -> None:
        self.url, self.name, self.server = url, name, server
        self.folder = folder
        (folder / "work").mkdir(parents=True)
        self.log = folder / "tools.log"
        self.log.touch()

    def run(self, kill: str = "", change: str = "", options: Sequence[str] = ()) -> int:
        given = {
            "CHANGE": change,
            "MODEL_URL": self.server.url, "TOOL_LOG": str(self.log), "KILL": kill,
            "STATE": str(self.folder / "state.json"), "WORK": str(self.folder / "work"),
            "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "1",
        }  # fmt: skip
        command = [sys.executable, "-m", "autogen_persist.cli", "run", "--url", self.url]
        done = subprocess.run(
            [*command, *options, "--session", "s", str(SCRIPT), self.name],
            env=os.environ | given, cwd=self.folder, input="yes\n" * 9,
            capture_output=True, text=True,
        )  # fmt: skip
        self.output = done.stdout + done.stderr
        return done.returncode

    @property
    def state(self):
        return json.loads((self.folder / "state.json").read_text())


NAMES = ["round_robin", "auto", "tools", "nested", "sequential", "asynchronous", "two_questions",
         "code", "people"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_kill_at_any_row_is_not_felt(tmp_path, name):
    """Killed before or after each row, and run again: same state, no call and no tool twice."""
    with ModelServer(answer) as server:
        calm = World(tmp_path / "calm", f"sqlite:///{tmp_path}/calm.db", name, server)
        assert calm.run() == 0, calm.output
        with Store.open(calm.url) as store:
            rows = store.head("s").pos
        calls, paid = server.count, calm.log.read_text()
        step = int(os.environ.get("CRASH_STEP", "9"))
        for n, row in enumerate(range(2, rows, step)):
            before = server.count
            world = World(tmp_path / f"k{row}", f"sqlite:///{tmp_path}/k{row}.db", name, server)
            when = ("before", "after")[n % 2]
            assert world.run(kill=f"{when}:{row}") == -9, world.output
            assert world.run() == 0, world.output
            assert world.state == calm.state, (when, row)
            assert server.count - before - calls in (0, 1), (when, row)
            if when == "after":
                assert world.log.read_text() == paid
            with Store.open(world.url) as store:
                assert chains.first_bad_row(store, "s") is None


def test_chance_is_journaled(tmp_path, url):
    """A random choice falls the same way again, on every backend."""
    with ModelServer(answer) as server:
        world = World(tmp_path / "w", url, "chance", server)
        assert world.run(kill="after:14") == -9
        with Store.open(url) as store:
            before = [row.speaker for row in store.messages("s")]
        assert world.run() == 0, world.output
        with Store.open(url) as store:
            assert [row.speaker for row in store.messages("s")][: len(before)] == before


def test_it_may_be_killed_again_and_again(tmp_path, url):
    """Three kills, the last two while it resumes: the same end, each call paid once."""
    with ModelServer(answer) as server:
        calm = World(tmp_path / "calm", f"sqlite:///{tmp_path}/calm.db", "tools", server)
        assert calm.run() == 0, calm.output
        calls = server.count
        world = World(tmp_path / "w", url, "tools", server)
        for kill in ("after:9", "before:4", "after:3"):
            assert world.run(kill=kill) == -9, world.output
        assert world.run() == 0, world.output
        assert world.state == calm.state
        assert world.log.read_text() == calm.log.read_text()
        assert server.count - calls - calls <= 3


@pytest.mark.parametrize("change", ["prompt", "opening"])
def test_a_changed_script_is_found_out_before_it_costs_anything(tmp_path, change):
    """An edited prompt or opening: an error that says where, and not one call more."""
    with ModelServer(answer) as server:
        url = f"sqlite:///{tmp_path}/a.db"
        world = World(tmp_path / "w", url, "round_robin", server)
        assert world.run(kill="after:12") == -9
        before = server.count
        assert world.run(change=change) == 1
        assert server.count == before
        assert "Divergence" in world.output
        assert "run 1" in world.output


def test_a_completed_script_is_not_run_again_by_accident(tmp_path, sqlite_url):
    """The second start says that it is complete; --again runs it once more."""
    with ModelServer(answer) as server:
        world = World(tmp_path / "w", sqlite_url, "round_robin", server)
        assert world.run() == 0
        calls = server.count
        assert world.run() == 0
        assert "is complete" in world.output
        assert server.count == calls
        assert world.run(options=["--again"]) == 0, world.output
        assert server.count == 2 * calls
