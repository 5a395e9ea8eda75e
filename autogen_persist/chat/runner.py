"""Run an unedited script with persistence attached, as plain `python` would run it."""

from __future__ import annotations

import builtins
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from autogen_persist.chat import own, seam, world
from autogen_persist.chat.replay import Replay
from autogen_persist.chat.runs import histories
from autogen_persist.chat.seats import here
from autogen_persist.errors import Divergence
from autogen_persist.session import Session


def run_script(session: Session, script: str, args: Sequence[str], *, module: bool) -> int:
    """Execute a script or module as `__main__`; return its exit code.

    An end with code 0 is journaled as the session's completion. Everything else is an
    interruption: run again, it goes on from there.
    """
    sys.argv = [script, *args]
    with _input_journaled(session):
        code = _execute(lambda: _start(script, module), script)
    session.on_closing = None  # only an exit code of 0 completes the session
    if code == 0 and not session.closed:
        session.event("completed", {"exit": 0})
    session.close()
    if code == -signal.SIGINT:  # die as python does when it is interrupted
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return code


def replay_script(
    replay: Replay, script: str, args: Sequence[str], *, module: bool
) -> tuple[int, Divergence | None]:
    """Execute a script with its journal as the whole world; return its exit code, and where
    the two part, if they do."""
    raised: list[Divergence] = []

    def start() -> None:
        try:
            _start(script, module)
        except Divergence as error:
            raised.append(error)

    sys.argv = [script, *args]
    os.environ["AUTOGEN_PERSIST"] = "off"  # a session that the script opens writes nothing, too
    seam.instrument_with(replay)
    histories[replay].past = replay.past
    replay.on_closing = None
    with _input_journaled(replay):
        code = _execute(start, script)
    replay.close()
    return code, replay.difference(raised[0] if raised else None)


@contextmanager
def _input_journaled(session: Session) -> Iterator[None]:
    """Let `input()` be an effect: of the chat it is called in, else of the script itself."""
    if session not in histories:  # AUTOGEN_PERSIST=off
        yield
        return
    original: Any = builtins.input

    def ask(prompt: object = "", /) -> str:
        token = here.set(here.get() or own.outside(session))
        try:
            return str(world.read_input(original, prompt))
        finally:
            here.reset(token)

    builtins.input = ask
    try:
        yield
    finally:
        builtins.input = original


def _start(script: str, module: bool) -> None:
    if module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(script).resolve().parent))
        runpy.run_path(script, run_name="__main__")


def _execute(start: Callable[[], None], script: str) -> int:
    try:
        start()
    except SystemExit as error:
        return _exit_code(error)
    except BaseException as error:  # noqa: BLE001 - shown as python shows it
        trace = _without_ours(error.__traceback__, script)
        traceback.print_exception(type(error), error, trace)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def _without_ours(trace: TracebackType | None, script: str) -> TracebackType | None:
    """From the script's own first frame on: the frames that run it are nobody's business."""
    found = trace
    while found is not None:
        name = found.tb_frame.f_code.co_filename
        if "runpy" not in name and name != __file__:
            return found
        found = found.tb_next
    return trace
