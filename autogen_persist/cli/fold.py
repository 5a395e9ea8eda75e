"""On a terminal, what a script said already is one line; a pipe gets everything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autogen_persist.session import Session


@contextmanager
def folded(journal: Session, past: Any = None) -> Iterator[None]:
    """Print nothing on the terminal while the script only repeats its journal."""
    from autogen_persist.chat.runs import histories

    if past is None and journal in histories:
        past = histories[journal].past
    if past is None or not sys.stdout.isatty():
        yield
        return
    stream, fold = sys.stdout, Fold(sys.stdout, past)
    write = journal._write

    def write_and_unfold(draft: Any) -> object:
        if draft.kind != "run_ended":  # told again at the end of each run
            fold.unfold()
        return write(draft)

    journal._write = write_and_unfold
    sys.stdout = fold
    try:
        yield
    finally:
        sys.stdout = stream
        fold.unfold()


class Fold:
    """Standard output, silent until the journal has nothing more to say."""

    def __init__(self, stream: Any, past: Any) -> None:
        self._stream, self._past = stream, past
        self._all = self._left()
        self._open = not self._all

    def write(self, text: str) -> int:
        if not self._open and not any(self._messages_left()):
            self.unfold()
        if self._open:
            self._stream.write(text)
        return len(text)

    def unfold(self) -> None:
        if not self._open:
            self._open = True
            count = self._all - self._left()
            self._stream.write(f"… {count} messages replayed from the journal\n")

    def _left(self) -> int:
        return sum(1 for _ in self._messages_left())

    def _messages_left(self) -> Iterator[Any]:
        queues = (queue for run in self._past.runs.values() for queue in run.said.values())
        return (row for queue in queues for row in queue if row.type == "message")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
