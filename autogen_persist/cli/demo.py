"""`demo`: a team is killed in the middle of a chat, and its journal is read by another process."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from autogen_persist.cli.database import opened
from autogen_persist.cli.demo_team import SESSION
from autogen_persist.cli.terminal import out
from autogen_persist.cli.transcript import Colours
from autogen_persist.errors import NoSuchSession, PersistError
from autogen_persist.store import Store
from autogen_persist.store.engine import resolve, shown

FILE = "autogen_persist_demo.db"
KILL_AFTER = 8
"""Messages: the coder is at work on the third version."""


def demo(
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="PATH", help=f"A file of your choice. Default: {FILE}",
                     show_default=False),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Add to what is in the database already.")
    ] = False,
) -> None:  # fmt: skip
    """Watch a team of four agents being killed in mid-chat, and what their journal kept.

    Offline: the agents are scripted, AutoGen, the kill and the journal are real.
    """
    address = url or FILE
    before = _messages(address) if keep else _clean_start(address, own=url is None)
    out.print(Text("A team of four chats, and is killed.", style="bold"))
    heard = _run_and_kill(_environment(address))
    out.print(Text("\nAnother process opens the journal.", style="bold"))
    _show(_environment(address), before)
    found = _messages(address) - before
    _sum_up(address, heard, found)
    if found != heard:
        raise typer.Exit(1)


def _clean_start(address: str, *, own: bool) -> int:
    """Remove the file of an earlier demo. A file that was named by the user is never removed."""
    if _is_new(address):
        return 0
    if not own or not _is_ours(address):
        raise PersistError(
            f"{shown(resolve(address))} is there already, and may hold more than an earlier demo. "
            f"Name a new file with --url, or add to this one with --keep."
        )
    for suffix in ("", "-wal", "-shm"):
        Path(f"{FILE}{suffix}").unlink(missing_ok=True)
    return 0


def _is_new(address: str) -> bool:
    return not _messages(address) if _file(address) is None else _is_missing(address)


def _is_missing(address: str) -> bool:
    file = _file(address)
    return file is not None and not file.exists()


def _file(address: str) -> Path | None:
    url = resolve(address)
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def _is_ours(address: str) -> bool:
    """Whether every session in it was written by the demo's team, and by nobody else."""
    with opened(address) as store:
        return all(_wrote_it(store, session.id) for session in store.sessions())


def _wrote_it(store: Store, session_id: str) -> bool:
    scripts = [row.body.get("argv") or [""] for row in store.events(session_id, kind="process")]
    return bool(scripts) and all(Path(argv[0]).stem == "demo_team" for argv in scripts)


def _messages(address: str) -> int:
    """How many messages the demo's session holds."""
    if _is_missing(address):
        return 0
    with opened(address) as store:
        try:
            return store.head(SESSION).seq
        except NoSuchSession:
            return 0


def _environment(address: str) -> dict[str, str]:
    # The address may hold a password, which must not be seen in a list of processes.
    kept = {name: value for name, value in os.environ.items() if name != "AUTOGEN_PERSIST"}
    return kept | {"AUTOGEN_PERSIST_URL": address}


def _run_and_kill(environment: dict[str, str]) -> int:
    """Let the team chat until KILL_AFTER messages were heard, then SIGKILL; return how many."""
    command = [sys.executable, "-m", "autogen_persist.cli.demo_team", str(KILL_AFTER)]
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(  # noqa: S603 - our own module
        command, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
    ) as team:  # fmt: skip
        try:
            heard = _follow(team)
        finally:
            team.kill()
        if heard < KILL_AFTER:
            team.wait()
            errors.seek(0)
            raise PersistError(_last_line(errors.read()) or "The team ended before the kill.")
    out.print(Text("SIGKILL", style="bold red"))
    return heard


def _follow(team: subprocess.Popen[str]) -> int:
    """Print each speaker once its message was heard."""
    colours, heard = Colours(), 0
    assert team.stdout is not None
    for line in team.stdout:
        heard += 1
        speaker = line.strip()
        out.print(Text(speaker, style=colours[speaker]), end=" ")
        if heard == KILL_AFTER:
            break
    return heard


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _show(environment: dict[str, str], after: int) -> None:
    sys.stdout.flush()
    command = [sys.executable, "-m", "autogen_persist.cli", "show", SESSION, "--after", str(after)]
    shown = subprocess.run(command, env=environment, check=False)  # noqa: S603 - our own module
    if shown.returncode:  # it has said why, or the reader of the pipe has gone
        raise typer.Exit(shown.returncode)


def _sum_up(address: str, heard: int, found: int) -> None:
    same = found == heard
    verdict = f"{heard} messages were heard before the kill, {found} are in the journal."
    out.print(Text(f"\n{verdict}", style="bold green" if same else "bold red"))
    _fact("database", _place(address))
    for index, arguments in enumerate((f"show {SESSION}", f"show {SESSION} --json", "sessions")):
        _fact("now try" if index == 0 else "", f"{_command()} {arguments} --url {_name(address)}")


def _fact(label: str, text: Any) -> None:
    out.print(Text.assemble((f"{label:<10}", "dim"), text), soft_wrap=True)


def _place(address: str) -> str:
    return str(_file(address) or shown(resolve(address)))


def _name(address: str) -> str:
    """The address as it can be typed again, without a password."""
    return shlex.quote(shown(resolve(address)) if "://" in address else address)


def _command() -> str:
    """How this command was called, if it is not found by its name alone."""
    on_path = shutil.which("autogen-persist") is not None
    called_so = Path(sys.argv[0]).stem == "autogen-persist"
    return sys.argv[0] if called_so and not on_path else "autogen-persist"
