"""`run` and `replay`: an unedited script, journaled, resumed, and compared with its journal."""

from __future__ import annotations

import difflib
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.text import Text
from typer.core import TyperCommand

from autogen_persist.cli.database import Url, opened
from autogen_persist.cli.fold import folded
from autogen_persist.cli.terminal import clean, err, tell
from autogen_persist.errors import Divergence, PersistError
from autogen_persist.opening import new_id
from autogen_persist.options import is_off
from autogen_persist.persist import instrument
from autogen_persist.records import Row
from autogen_persist.session import Session
from autogen_persist.store.engine import command

_SEED = "PYTHONHASHSEED"
Script = Annotated[str, typer.Argument(help="The script, or with -m the module.")]
Args = Annotated[list[str] | None, typer.Argument(help="Its own arguments.")]
Module = Annotated[bool, typer.Option("-m", help="SCRIPT is a module.")]


def run(
    script: Script,
    args: Args = None,
    session: Annotated[str | None, typer.Option("--session", help="The session's id.")] = None,
    module: Module = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run a completed script once more.")
    ] = False,
    replaying: Annotated[
        bool, typer.Option("--replay", help="Compare the script with its journal; see `replay`.")
    ] = False,
    human_input: Annotated[
        Literal["ask", "park"],
        typer.Option(
            "--human-input",
            help="Where a person is asked: ask at the terminal, or park: end with exit code 75 "
            "until `autogen-persist answer` was called.",
        ),
    ] = "ask",
    unfinished_tool: Annotated[
        Literal["retry", "ask", "fail", "skip"],
        typer.Option(
            "--unfinished-tool",
            help="A tool that was interrupted: retry it, ask you, fail, or skip it and tell the "
            "model that its outcome is unknown.",
        ),
    ] = "retry",
    on_divergence: Annotated[
        Literal["error", "live"],
        typer.Option(
            "--on-divergence",
            help="Where the script leaves its journal: stop with an error, or go on live and hide "
            "the rest of the journal.",
        ),
    ] = "error",
    namespace: Annotated[
        str, typer.Option("--namespace", help="Where what is learnt can be recalled.")
    ] = "default",
    extract_every: Annotated[
        int,
        typer.Option("--extract-every", min=0, help="Learn after so many messages; 0: never."),
    ] = 0,
    wait: Annotated[float, typer.Option("--wait", help="Seconds to wait for its owner.")] = 0,
    url: Url = None,
) -> None:
    """Run an unedited script with every message and every effect journaled.

    Interrupted, it is run again with the same command and goes on where it was.
    """
    _must_be_there(script, module)
    if replaying:
        _replay(session, script, args or [], module, url)
    name = new_id() if session is None else session
    if _SEED not in os.environ:
        _start_again_with_seed(_seed(name), [] if session is not None else ["--session", name])
    journal = instrument(
        session_id=name, url=url, wait=wait, human_input=human_input,
        unfinished_tool=unfinished_tool, on_divergence=on_divergence, namespace=namespace,
        extract_every=extract_every,
    )  # fmt: skip
    words = ["-m", script, *(args or [])] if module else [script, *(args or [])]
    if _is_complete(journal.rows()) and not again:
        journal.close()
        tell(f"Session {name} is complete. {_how_to_go_on(journal, words)}")
        raise typer.Exit(0)
    asking = ["--human-input", "park"] if human_input == "park" else []
    asking += ["--namespace", namespace] if namespace != "default" else []
    asking += ["--extract-every", str(extract_every)] if extract_every else []
    raise typer.Exit(_run(journal, asking, words, module))


def _run(journal: Session, asking: list[str], words: list[str], module: bool) -> int:
    from autogen_persist.chat import park
    from autogen_persist.chat.runner import run_script

    resume = command("run", "--session", journal.id, *asking, *words, url=journal.url)
    park.resume = resume
    if not is_off():
        tell(f"session {journal.id} in {journal.url}")
        tell(f"resume: {resume}")
    script, *args = words[1:] if module else words
    with folded(journal):
        code = run_script(journal, script, args, module=module)
    if code == 0 and not is_off():
        tell(f"Session {journal.id} is complete. {_how_to_go_on(journal, words)}")
    return code


def _how_to_go_on(journal: Session, words: Sequence[str]) -> str:
    again = command("run", "--session", journal.id, "--again", *words, url=journal.url)
    return f"Once more: {again} (or --replay: compare the script with its journal)"


def _is_complete(rows: Iterable[Row]) -> bool:
    """Whether the script came to its end and nothing was begun after that."""
    told = [r for r in rows if r.kind in ("completed", "run_started") or r.type == "intent"]
    return bool(told) and told[-1].kind == "completed"


# Replay.


class SessionFirst(TyperCommand):
    """`replay SESSION …` is `replay --session SESSION …`: options of ours may follow it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-"):
            args = ["--session", *args]
        return super().parse_args(ctx, args)


def replay(
    script: Script,
    args: Args = None,
    session: Annotated[str | None, typer.Option("--session", hidden=True)] = None,
    module: Module = False,
    url: Url = None,
) -> None:
    """Run a script again with its journal as the whole world: a regression test.

    No model, tool or person is asked, nothing is written, and another process may have the
    session. Exit code 0: the script says what its journal says. 1: it does not, or the
    session was interrupted and the journal ends before the script does.
    """
    _must_be_there(script, module)
    _replay(session, script, args or [], module, url)


def _replay(
    session: str | None, script: str, args: Sequence[str], module: bool, url: str | None
) -> NoReturn:
    if session is None:
        raise PersistError(
            "Which session? `autogen-persist sessions` lists them; the line is "
            "`autogen-persist replay SESSION [-m] SCRIPT`."
        )
    with opened(url) as store:
        rows = store.rows(session)
    if _SEED not in os.environ:
        _start_again_with_seed(_journaled_seed(rows) or _seed(session))

    from autogen_persist.chat.replay import Replay
    from autogen_persist.chat.runner import replay_script

    journal = Replay(session, rows)
    with folded(journal, journal.past):
        code, difference = replay_script(journal, script, args, module=module)
    if difference is not None:
        _show_difference(difference, journal.heard)
    elif code:
        tell(f"The script said what session {session} says, and ended with exit code {code}.")
    else:
        tell(f"Session {session} replayed: {journal.heard} messages, all the same.")
    raise typer.Exit(1 if difference or code else 0)


def _show_difference(difference: Divergence, same: int) -> None:
    """What the journal has, in red; what the script said, in green."""
    noun = "message is" if same == 1 else "messages are"
    _line(f"{same} {noun} the same. Script (+) and journal (-) part at {difference.where}:")
    before, after = _as_lines(difference)
    for line in list(difflib.unified_diff(before, after, lineterm="", n=2))[3:]:
        _line(f"{line[0]} {line[1:]}", {"-": "red", "+": "green"}.get(line[0], "dim"))
    _line(difference.cause)


def _as_lines(difference: Divergence) -> tuple[list[str], list[str]]:
    journaled, said = difference.expected, difference.found
    if difference.words is None:
        return [journaled], [said]
    # Who to whom; the words themselves were shortened there, and follow in full.
    heads = (text.partition(": ")[0] for text in (journaled, said))
    first, second = ([f"{head}:", *words.splitlines()]
                     for head, words in zip(heads, difference.words, strict=True))  # fmt: skip
    return first, second


def _line(text: str, style: str = "") -> None:
    err.print(Text(clean(text), style=style), soft_wrap=True)


# What both need.


def _must_be_there(script: str, module: bool) -> None:
    if not module and not os.path.isfile(script):
        raise PersistError(f"There is no script {script}. Name a file, or a module with -m.")


def _seed(name: str) -> str:
    """Sets come in the same order each time: the seed is made from the session's name."""
    return str(zlib.crc32(name.encode()) or 1)


def _journaled_seed(rows: Iterable[Row]) -> str | None:
    seeds = [row.body.get("hashseed") for row in rows if row.kind == "process"]
    found = seeds[-1] if seeds else None
    return found if isinstance(found, str) and found.isdigit() else None


def _start_again_with_seed(seed: str, more: Sequence[str] = ()) -> None:
    os.environ[_SEED] = seed
    verb, *words = sys.argv[1:]
    line = [sys.executable, "-m", "autogen_persist.cli", verb, *more, *words]
    os.execv(sys.executable, line)  # noqa: S606 - ourselves, with a seed
