"""Run an unedited script with persistence attached, as plain `python` would run it."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from autogen_persist.session import Session


def run_script(session: Session, script: str, args: Sequence[str], *, module: bool) -> int:
    """Execute a script or module as `__main__`; return its exit code.

    An end with code 0 is journaled as the session's completion. Everything else is an
    interruption: run again, it goes on from there.
    """
    sys.argv = [script, *args]
    code = _execute(script, module)
    if code == 0:
        session.event("completed", {"exit": 0})
    session.close()
    if code == -signal.SIGINT:  # die as python does when it is interrupted
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return code


def _execute(script: str, module: bool) -> int:
    try:
        if module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(script).resolve().parent))
            runpy.run_path(script, run_name="__main__")
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
