"""A process that ends before its time: a forked child in which a scene is played."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from autogen_persist.store.journal import Journal


def killed(scene: Callable[[], Any], *, after_rows: int) -> None:
    """Play a scene in a child that dies, without a word, after some rows."""
    _end(scene, lambda: _die_after(after_rows), expected=9)


def played(scene: Callable[[], Any]) -> None:
    """Play a scene in a child that comes to its end."""
    _end(scene, lambda: None, expected=0)


def _end(scene: Callable[[], Any], arm: Callable[[], None], expected: int) -> None:
    child = os.fork()
    if child == 0:
        try:
            arm()
            scene()
            os._exit(0)
        except BaseException:  # the child must not run the parent's tests
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == expected


def _die_after(rows: int) -> None:
    original, left = Journal.append, [rows]

    def append(self: Journal, drafts: Any, **options: Any) -> Any:
        result = original(self, drafts, **options)
        left[0] -= len(drafts)
        if left[0] <= 0:
            os._exit(9)
        return result

    Journal.append = append  # type: ignore[method-assign]
