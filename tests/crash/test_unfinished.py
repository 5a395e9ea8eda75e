"""Killed in the middle of a tool: what each policy and each mark makes of it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autogen_persist import Store
from tests.support import chains

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "tests" / "crash" / "unfinished_scripts.py"


class World:
    """A place to run the program in: a database and a log of tools."""

    def __init__(self, folder: Path, url: str, mark: str = "none") -> None:
        self.url, self.mark, self.folder = url, mark, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "tools.log"
        self.log.touch()

    def run(self, policy: str = "", *, die: str = "", kill: str = "", typed: str | None = None):
        """The exit code; with `typed`, of a program at a terminal where somebody types this."""
        given = {
            "URL": self.url, "POLICY": policy, "DIE": die, "KILL": kill,
            "TOOL_LOG": str(self.log), "STATE": str(self.folder / "state.json"),
            "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "1",
        }  # fmt: skip
        person, terminal = pty.openpty()
        if typed is not None:
            os.write(person, typed.encode())
        done = subprocess.run(
            [sys.executable, str(SCRIPT), self.mark],
            env=os.environ | given, cwd=self.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL if typed is None else terminal,
        )  # fmt: skip
        os.close(person)
        os.close(terminal)
        self.output = done.stdout + done.stderr
        return done.returncode

    @property
    def paid(self) -> list[str]:
        """The payments that were made, without their keys."""
        return [line.partition(" key")[0] for line in self.log.read_text().splitlines()]

    @property
    def keys(self) -> list[str]:
        return [line.partition(" key ")[2] for line in self.log.read_text().splitlines()]

    @property
    def state(self):
        return json.loads((self.folder / "state.json").read_text())

    @property
    def results(self) -> list[str]:
        """What the assistant was told of its tools."""
        told = (m["tool_responses"] for m in self.state["said"] if m.get("tool_responses"))
        return [responses[0]["content"] for responses in told]

    def rows(self):
        with Store.open(self.url) as store:
            assert chains.first_bad_row(store, "s") is None
            return store.rows("s")


@pytest.fixture
def killed(tmp_path, url):
    """A program that was killed in its second payment, after the money was gone."""
    return killed_in(tmp_path, url)


def killed_in(folder: Path, url: str, mark: str = "none") -> World:
    world = World(folder, url, mark)
    assert world.run(die="pay 2") == -9, world.output
    assert world.paid == ["pay 1", "pay 2"]
    return world


@pytest.mark.parametrize("policy", ["", "retry"])
def test_retry_runs_it_again_and_says_so(killed, policy):
    """The default: the chat comes to its end, with a warning and an event."""
    assert killed.run(policy) == 0, killed.output

    assert killed.paid == ["pay 1", "pay 2", "pay 2"]
    assert "'pay' of user was begun" in killed.output
    assert [row.kind for row in killed.rows()].count("retried") == 1


def test_fail_stops_before_anything_is_done(killed):
    """The error says what to type, and the same program goes on with another policy."""
    assert killed.run("fail") == 1

    assert killed.paid == ["pay 1", "pay 2"]
    assert "UnfinishedTool" in killed.output
    assert "unfinished_tool='retry'" in killed.output
    assert killed.run("retry") == 0, killed.output
    assert killed.paid == ["pay 1", "pay 2", "pay 2"]


def test_skip_tells_the_model(killed):
    """The tool is not run; the outcome is said to be unknown."""
    assert killed.run("skip") == 0, killed.output

    assert killed.paid == ["pay 1", "pay 2"]
    assert "interrupted" in killed.results[1]


@pytest.mark.parametrize("policy", ["skip", "retry"])
def test_a_decision_holds_for_later_resumes(killed, policy):
    """Killed again after it, under another policy: it is not decided anew."""
    before = len(killed.rows())
    assert killed.run(policy, kill="after:4") == -9, killed.output
    decided = killed.rows()[before:]
    assert [row.type for row in decided if row.kind == "tool"][-1] == "receipt"
    paid = killed.paid

    assert killed.run("fail") == 0, killed.output
    assert killed.paid == paid


@pytest.mark.parametrize(
    ("typed", "code", "payments"),
    [("a\n", 0, 3), ("what?\nskip\n", 0, 2), ("f\n", 1, 2), ("\x04", 1, 2)],
    ids=["again", "skip", "fail", "end of input"],
)
def test_ask_lets_somebody_decide(tmp_path, sqlite_url, typed, code, payments):
    """At the terminal: tool, agent, time and arguments are shown, three answers are taken."""
    world = killed_in(tmp_path, sqlite_url)

    assert world.run("ask", typed=typed) == code, world.output

    assert len(world.paid) == payments
    assert re.search(r"'pay' of user was begun at \d{4}-.*UTC", world.output)
    assert '{"amount": 2}' in world.output


def test_ask_without_a_terminal_fails(tmp_path, sqlite_url):
    """Nobody is there to decide."""
    world = killed_in(tmp_path, sqlite_url)

    assert world.run("ask") == 1
    assert "UnfinishedTool" in world.output
    assert world.paid == ["pay 1", "pay 2"]


def tool_rows(folder: Path) -> list[int]:
    """Which rows of an undisturbed program are intent and receipt of its two payments."""
    calm = World(folder / "calm", f"sqlite:///{folder}/calm.db")
    assert calm.run() == 0, calm.output
    return [row.pos for row in calm.rows() if row.kind == "tool"]


def test_a_tool_marked_once_never_runs_twice(tmp_path):
    """Killed before and after each row of a tool: it ends, or is an error; no second run."""
    errors = 0
    for pos in tool_rows(tmp_path)[2:]:
        for when in ("before", "after"):
            name = f"{when}{pos}"
            world = World(tmp_path / name, f"sqlite:///{tmp_path}/{name}.db", "once")
            assert world.run(kill=f"{when}:{pos}") == -9, world.output
            if world.run() != 0:
                assert "UnfinishedTool" in world.output
                errors += 1
                assert world.run("skip") == 0, world.output
            assert len(world.paid) == len(set(world.paid)), name
    assert errors == 2  # after the intent, and before the receipt


@pytest.mark.parametrize("mark", ["idempotent", "rerun"])
def test_a_tool_that_may_run_again_does_so_silently(tmp_path, url, mark):
    """No question, no warning, whatever the policy."""
    world = killed_in(tmp_path, url, mark)

    assert world.run("fail") == 0, world.output

    assert world.results[1].startswith("paid 2")
    assert "was begun" not in world.output


def test_a_tool_marked_rerun_has_its_state_again(tmp_path, url):
    """The ledger in the process is as if nobody had killed it; without the mark it is not."""
    marked = killed_in(tmp_path / "marked", url, "rerun")
    assert marked.run() == 0, marked.output
    bare = killed_in(tmp_path / "bare", f"sqlite:///{tmp_path}/bare.db")
    assert bare.run() == 0, bare.output

    assert marked.state["ledger"] == [1, 2]
    assert marked.results[1] == "paid 2, total 3"
    assert bare.state["ledger"] == [2]


def test_a_retried_tool_has_the_same_key(killed):
    """In another process, and on every backend."""
    assert killed.run() == 0, killed.output

    first, second, again = killed.keys
    assert second == again
    assert first != second


def test_a_clock_that_is_wrapped_stands_still(killed):
    """In the opening and in the replies: the resumed program says what it said."""
    before = [row.body for row in killed.rows() if row.type == "message"]

    assert killed.run() == 0, killed.output

    after = [row.body for row in killed.rows() if row.type == "message"]
    assert after[: len(before)] == before
    assert len(before) >= 3
    times = [row for row in killed.rows() if row.kind == "user" and row.type == "receipt"]
    assert [row.run for row in times] == [0, 1, 1, 1]
