"""`run`: an unedited script, journaled, and resumed where it was interrupted."""

from __future__ import annotations

import os
import sys
import zlib
from typing import Annotated

import typer

from autogen_persist.cli.database import Url
from autogen_persist.cli.terminal import tell
from autogen_persist.errors import PersistError
from autogen_persist.opening import new_id
from autogen_persist.persist import instrument
from autogen_persist.session import Session

_SEED = "PYTHONHASHSEED"


def run(
    script: Annotated[str, typer.Argument(help="The script, or with -m the module.")],
    args: Annotated[list[str] | None, typer.Argument(help="Its own arguments.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="The session's id.")] = None,
    module: Annotated[bool, typer.Option("-m", help="SCRIPT is a module.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run a completed script once more.")
    ] = False,
    wait: Annotated[float, typer.Option("--wait", help="Seconds to wait for its owner.")] = 0,
    url: Url = None,
) -> None:
    """Run an unedited script with every message and every effect journaled."""
    from autogen_persist.chat.runner import run_script

    if not module and not os.path.isfile(script):
        raise PersistError(f"There is no script {script}. Name a file, or a module with -m.")
    name = session or new_id()
    if _SEED not in os.environ:
        _start_again_with_seed(name, session is None)
    opened = instrument(session_id=name, url=url, wait=wait)
    opened.on_closing = None  # only an exit code of 0 completes the session
    if _is_complete(opened) and not again:
        opened.close()
        tell(f"Session {name} is complete. Add --again to run the script once more.")
        raise typer.Exit(0)
    tell(f"session {name} in {opened.url}")
    tell(f"resume: autogen-persist run --session {name} {script}")
    raise typer.Exit(run_script(opened, script, args or [], module=module))


def _is_complete(session: Session) -> bool:
    """Whether the script came to its end and no run was begun after that."""
    kinds = [row.kind for row in session.events() if row.kind in ("completed", "run_started")]
    return bool(kinds) and kinds[-1] == "completed"


def _start_again_with_seed(name: str, new: bool) -> None:
    """Sets come in the same order each time: the seed is made from the session's name."""
    os.environ[_SEED] = str(zlib.crc32(name.encode()) or 1)
    words = sys.argv[1:]
    if new:
        words = [words[0], "--session", name, *words[1:]]
    os.execv(  # noqa: S606 - ourselves, with a seed
        sys.executable, [sys.executable, "-m", "autogen_persist.cli", *words]
    )
