"""`demo`: a team is killed in mid-sentence, started again, and nothing is paid twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple

import typer
from rich.text import Text

from autogen_persist.cli import demo_team
from autogen_persist.cli.database import opened
from autogen_persist.cli.terminal import out
from autogen_persist.cli.transcript import Colours
from autogen_persist.errors import PersistError
from autogen_persist.store import Store
from autogen_persist.store.engine import command, resolve, shown

FILE = "autogen_persist_demo.db"
SESSION = "demo"
MODULE = "autogen_persist.cli.demo_team"
PAUSE = 7
"""The message in the middle of which the team is killed."""
NEEDED = [n for n, turn in enumerate(demo_team.SCRIPT) if n and turn.text is not None]
"""The messages that a model writes: not the opening, and not what a tool returns."""


def demo(
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="PATH", help=f"A file of your choice. Default: {FILE}",
                     show_default=False),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Add a session to what is in the database already.")
    ] = False,
) -> None:  # fmt: skip
    """Watch a team of four agents being killed in mid-sentence, and going on.

    Offline: the model is imitated; AutoGen, the kill and the journal are real.
    """
    address = url or FILE
    name = _free_name(address) if keep else _clean_start(address, own=url is None)
    with tempfile.TemporaryDirectory() as folder:
        show = Show(address, name, Path(folder) / "ledger")
        _headline("A team of four at work. Its model is imitated, everything else is real.")
        _command_line(show.line)
        show.run_and_kill()
        _headline("\nThe same command again.")
        _command_line(show.line)
        show.run()
        _headline("\nWhat is in the journal.")
        _print_transcript(show)
        good = _sum_up(show)
    if not good:
        raise typer.Exit(1)


class Told(NamedTuple):
    """A line that the team tells: what, who, and which words."""

    what: str
    speaker: str = ""
    words: str = ""


class Show:
    """The team in processes of its own, and what it tells of itself."""

    def __init__(self, address: str, name: str, ledger: Path) -> None:
        self.address, self.name, self._ledger = address, name, ledger
        self._words = ["--session", name, "-m", MODULE]
        self.line = command("run", *self._words, url=shown(resolve(address)))
        self._colours = Colours()
        self.in_flight = 0

    @property
    def environment(self) -> dict[str, str]:
        # The address may hold a password, which must not be seen in a list of processes.
        hidden = ("AUTOGEN_PERSIST", "DEMO_PAUSE")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        return kept | {"AUTOGEN_PERSIST_URL": self.address, "DEMO_LEDGER": str(self._ledger)}

    def run_and_kill(self) -> None:
        """Let the team chat until it is in the middle of a sentence, then SIGKILL."""
        for told, team in self._told({"DEMO_PAUSE": str(PAUSE)}):
            if told.what == "said":
                self._print_speaker(told.speaker, live=True)
            elif told.what == "silent":
                out.print(Text(f"\n{told.speaker}: {told.words}", self._colours[told.speaker]),
                          end="", soft_wrap=True)  # fmt: skip
                team.kill()
                out.print(Text(" SIGKILL", style="bold red"))

    def run(self) -> None:
        """Let the team come to its end; tell what it has from its journal from what is new."""
        self.in_flight = self.count["asked"] - self.count["answered"]
        live = False
        out.print(Text("from the journal: ", style="dim"), end="")
        for told, _ in self._told({}):
            if told.what == "said":
                self._print_speaker(told.speaker, live)
            elif told.what == "live" and not live:
                live = True
                out.print(Text("\nlive: ", style="dim"), end="")
        out.print()

    @property
    def count(self) -> Counter[str]:
        """How often the model was asked, how often it answered, how often a tool ran."""
        return Counter(line.split()[0] for line in self._lines())

    def answered(self) -> list[int]:
        return [int(line.split()[1]) for line in self._lines() if line.startswith("answered")]

    def _lines(self) -> list[str]:
        return self._ledger.read_text().splitlines() if self._ledger.exists() else []

    def _print_speaker(self, speaker: str, live: bool) -> None:
        out.print(Text(speaker, style=self._colours[speaker] if live else "dim"), end=" ")

    def _told(self, more: dict[str, str]) -> Iterator[tuple[Told, subprocess.Popen[str]]]:
        line = [sys.executable, "-m", "autogen_persist.cli", "run", *self._words]
        with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(  # noqa: S603 - our own
            line, env=self.environment | more, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        ) as team:  # fmt: skip
            try:
                assert team.stdout is not None
                for words in team.stdout:
                    what, *about = words.rstrip("\n").split("\t")
                    if what in ("said", "live", "silent"):
                        yield Told(what, *about), team
                team.wait()
            finally:
                team.kill()
            if team.returncode not in (0, -signal.SIGKILL):
                raise PersistError(_last_line(errors) or "The team ended before its time.")


def _last_line(file: IO[str]) -> str:
    file.seek(0)
    lines = file.read().strip().splitlines()
    return lines[-1] if lines else ""


# Which file, and which session.


def _clean_start(address: str, *, own: bool) -> str:
    """Remove the file of an earlier demo. A file that was named by the user is never removed."""
    if not _sessions(address):
        return SESSION
    if not own or not _is_ours(address):
        raise PersistError(
            f"{shown(resolve(address))} is there already, and may hold more than an earlier demo. "
            f"Name a new file with --url, or add to this one with --keep."
        )
    for suffix in ("", "-wal", "-shm"):
        Path(f"{FILE}{suffix}").unlink(missing_ok=True)
    return SESSION


def _free_name(address: str) -> str:
    taken = _sessions(address)
    names = (f"{SESSION}-{n}" if n > 1 else SESSION for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _sessions(address: str) -> list[str]:
    file = _file(address)
    if file is not None and not file.exists():
        return []
    with opened(address) as store:
        return [session.id for session in store.sessions()] or ([] if file is None else ["?"])


def _file(address: str) -> Path | None:
    url = resolve(address)
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def _is_ours(address: str) -> bool:
    """Whether every session in it was written by the demo's team, and by nobody else."""
    with opened(address) as store:
        return all(_wrote_it(store, session.id) for session in store.sessions())


def _wrote_it(store: Store, session_id: str) -> bool:
    lines = [row.body.get("argv") or [] for row in store.events(session_id, kind="process")]
    return bool(lines) and all(MODULE in words for words in lines)


# What is said about it.


def _headline(text: str) -> None:
    out.print(Text(text, style="bold"))


def _command_line(line: str) -> None:
    out.print(Text(f"$ {line}", style="dim"), soft_wrap=True)


def _print_transcript(show: Show) -> None:
    sys.stdout.flush()
    line = [sys.executable, "-m", "autogen_persist.cli", "show", show.name]
    printed = subprocess.run(line, env=show.environment, check=False)  # noqa: S603 - our own module
    if printed.returncode:  # it has said why, or the reader of the pipe has gone
        raise typer.Exit(printed.returncode)


def _sum_up(show: Show) -> bool:
    """The proof: each model call that was needed was answered once, and each tool ran once."""
    with opened(show.address) as store:
        messages = store.head(show.name).seq
    answered, tools = show.answered(), show.count["ran"]
    needed = sum(turn.text is None for turn in demo_team.SCRIPT)
    good = (sorted(answered), tools, messages) == (NEEDED, needed, len(demo_team.SCRIPT))
    twice = len(answered) - len(set(answered)) or "none"
    verdict = (
        f"{len(NEEDED)} model calls were needed, {len(answered)} were answered, {twice} twice; "
        f"{show.in_flight} more was in flight at the kill.\n"
        f"{needed} tool calls were needed, {tools} were made. "
        f"{messages} messages are in the journal."
    )
    out.print(Text(f"\n{verdict}", style="bold green" if good else "bold red"), soft_wrap=True)
    place = shown(resolve(show.address))
    _fact("database", str(_file(show.address) or place))
    lines = (("show", show.name), ("replay", show.name, "-m", MODULE), ("sessions",))
    for index, words in enumerate(lines):
        _fact("now try" if index == 0 else "", _command(command(*words, url=place)))
    return good


def _fact(label: str, text: Any) -> None:
    out.print(Text.assemble((f"{label:<10}", "dim"), text), soft_wrap=True)


def _command(line: str) -> str:
    """As it has to be called, if it is not found by its name alone."""
    on_path = shutil.which("autogen-persist") is not None
    called_so = Path(sys.argv[0]).stem == "autogen-persist"
    return line.replace("autogen-persist", sys.argv[0], 1) if called_so and not on_path else line
