"""How a program ends: only one that ends well has come to its end."""

from __future__ import annotations

import atexit
import builtins
import os
import sys
import threading
from typing import Any, NoReturn

_failed = False


def failed() -> bool:
    """Whether the program fails, or is about to."""
    return _failed or sys.exc_info()[0] is not None


def note_failure() -> None:
    global _failed
    _failed = True


def watch() -> None:
    """Notice an exception that nobody catches, and `sys.exit` with another code than 0.

    At exit Python tells nobody why it ends, and no hook hears of a SystemExit: so a bare
    `raise SystemExit(3)` stays unnoticed.
    """
    if not getattr(sys.excepthook, "watches", False):
        sys.excepthook = _watching(sys.excepthook, lambda *details: note_failure())
    for place, name in ((sys, "exit"), (builtins, "exit"), (builtins, "quit")):
        known = getattr(place, name, None)  # `python -S` has no exit() and quit()
        if known is not None and not getattr(known, "watches", False):
            setattr(place, name, _watching(known, _note_code))


def _watching(original: Any, note: Any) -> Any:
    def watcher(*args: Any) -> Any:
        note(*args)
        return original(*args)

    watcher.watches = True  # type: ignore[attr-defined]
    return watcher


def _note_code(code: object = None) -> None:
    global _failed
    if threading.current_thread() is threading.main_thread():  # elsewhere it ends a thread only
        _failed = code not in (None, 0)


def leave(exit: SystemExit) -> NoReturn:
    """End the process, also from a thread, where Python would end that thread alone."""
    note_failure()
    if threading.current_thread() is threading.main_thread():
        raise exit
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(int(str(exit.code)))
