"""Runs `autogen-persist run …` in child processes that can be killed.

Most of a start is the import of AutoGen, so children are forked from a process that has
done it and nothing else. A fresh child is started as a user would start it.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 60
"""Seconds after which a child is said to hang."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One start of the command line."""

    args: list[str]
    env: dict[str, str]
    """Beside what the tests themselves were started with."""
    folder: str
    """Where it runs; `input` is read there, and what it prints goes to `output`."""


class Nursery:
    """One child at a time, of one Python with its distribution of AutoGen."""

    def __init__(self, python: str = sys.executable) -> None:
        self.python = python
        began = time.monotonic()
        self._mother = subprocess.Popen(
            [python, "-m", "tests.crash.children"], cwd=ROOT, env=_environment(python, {}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.lacks: list[str] = json.loads(self._read())
        """What this environment does not have, of what scenarios may need."""
        self.seconds = time.monotonic() - began
        """How long a fresh child takes until it does something."""

    def fork(self, job: Job, started: Callable[[int], None] = lambda pid: None) -> int:
        """Run a job in a fork; return its exit code, negative for a signal.

        started: told the id of the child as soon as there is one.
        """
        assert self._mother.stdin is not None
        self._mother.stdin.write(json.dumps(asdict(job)) + "\n")
        self._mother.stdin.flush()
        started(int(self._read()))
        return int(self._read())

    def fresh(self, job: Job, *, seconds: float = PATIENCE) -> int:
        """Run a job in a process of its own, which is killed when it takes longer than that."""
        folder = Path(job.folder)
        command = [self.python, "-m", "autogen_persist.cli", *job.args]
        with open(folder / "input") as given, open(folder / "output", "w") as said:
            child = subprocess.Popen(
                command, cwd=folder, env=_environment(self.python, job.env), stdin=given,
                stdout=said, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()

    def _read(self) -> str:
        assert self._mother.stdout is not None
        line = self._mother.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.python} cannot load AutoGen; its error is above")
        return line.strip()

    def close(self) -> None:
        self._mother.communicate()

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _environment(python: str, more: Mapping[str, str]) -> dict[str, str]:
    """Ours, with this checkout and its Python in front; an empty value takes a name out."""
    path = os.pathsep.join((str(Path(python).parent), os.environ.get("PATH", os.defpath)))
    fixed = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "1", "PATH": path}
    both = {**os.environ, **fixed, **more}
    return {name: value for name, value in both.items() if value}


def main() -> None:
    """The mother: takes a job per line, prints the pid of its child and then its exit code."""
    _load()
    answers = os.fdopen(os.dup(1), "w")
    print(json.dumps(_lacking()), file=answers, flush=True)
    for line in iter(sys.stdin.readline, ""):
        job = Job(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _become(job)
            return
        print(pid, file=answers, flush=True)
        signal.signal(signal.SIGALRM, lambda *_, pid=pid: os.kill(pid, signal.SIGKILL))
        signal.alarm(PATIENCE)
        _, status = os.waitpid(pid, 0)
        signal.alarm(0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def _lacking() -> list[str]:
    """The modules that some scenarios need and this environment does not have."""
    return [name for name in ("PIL", "autogen.agentchat.group") if find_spec(name) is None]


def _load() -> None:
    """Import what every run imports."""
    for name in _EVERYBODYS:
        import_module(name)
    # OpenAI's client loads the rest of itself when it is used.
    assert import_module("openai").OpenAI(api_key="none").chat.completions


_EVERYBODYS = (
    "alembic.command", "autogen.coding", "psycopg", "autogen_persist.chat.runner",
    "autogen_persist.chat.seam", "autogen_persist.cli.main",
)  # fmt: skip


def _become(job: Job) -> None:
    from tests.support import kill

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(_environment(sys.executable, job.env))
    os.chdir(job.folder)
    for name, numbers, flags in (
        ("input", [0], os.O_RDONLY),
        ("output", [1, 2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        opened = os.open(name, flags)
        for number in numbers:
            os.dup2(opened, number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - until the process ends
    sys.argv = ["autogen-persist", *job.args]
    kill.arm()
    runpy.run_module("autogen_persist.cli", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
