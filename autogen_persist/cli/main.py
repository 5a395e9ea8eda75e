"""The command `autogen-persist`. Each group of commands has a module beside this one."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import autogen_persist
from autogen_persist.cli.answer import answer
from autogen_persist.cli.db import db
from autogen_persist.cli.demo import demo
from autogen_persist.cli.import_ import import_
from autogen_persist.cli.journal import sessions, show
from autogen_persist.cli.memory import learn, learnings, recall
from autogen_persist.cli.run import SessionFirst, replay, run
from autogen_persist.cli.terminal import complain, forgive_encoding, hang_up
from autogen_persist.errors import PersistError


class Commands(TyperGroup):
    """Our errors are for people: one line and exit code 2, a traceback only on request."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe can still be answered
            return result
        except PersistError as error:
            if os.environ.get("AUTOGEN_PERSIST_DEBUG", "") not in ("", "0"):
                raise
            complain(str(error))
            raise typer.Exit(2) from error
        except BrokenPipeError as error:  # `| head` has seen enough
            hang_up()
            raise typer.Exit(1) from error


# Without Typer's pretty tracebacks: they print local variables, passwords among them.
app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)
app.add_typer(db, name="db")
app.command(epilog="Example: autogen-persist sessions --url chats.db")(sessions)
app.command(epilog="Example: autogen-persist show auth-api --after 40 | less -R")(show)
app.command(epilog="Example: autogen-persist demo")(demo)
app.command(
    "import", epilog="Example: autogen-persist import old.jsonl --session old --namespace auth-team"
)(import_)
app.command(
    epilog="Example: autogen-persist run --session auth-api team.py",
    context_settings={"allow_interspersed_args": False},
)(run)
app.command(
    cls=SessionFirst,
    epilog="Example: autogen-persist replay auth-api team.py",
    options_metavar="SESSION [OPTIONS]",
    context_settings={"allow_interspersed_args": False},
)(replay)
app.command(epilog="Example: autogen-persist answer auth-api 'yes, deploy it'")(answer)
app.command(epilog="Example: autogen-persist learn --all --url chats.db")(learn)
app.command(epilog="Example: autogen-persist learnings --namespace auth-team --history")(learnings)
app.command(epilog="Example: autogen-persist recall 'which database do we use?' --limit 3")(recall)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"autogen-persist {autogen_persist.__version__}")
        raise typer.Exit


@app.callback(epilog="Example: autogen-persist demo")
def start(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Run and resume AutoGen chats, and read their journals."""
    forgive_encoding()
