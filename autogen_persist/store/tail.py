"""Rows on their way into the journal, when the chat does not wait for each commit."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from urllib.parse import quote

from autogen_persist.errors import JournalUnavailable, LeaseLost, PersistError
from autogen_persist.records import Draft
from autogen_persist.store.journal import MOST_ROWS, Journal

log = logging.getLogger("autogen_persist")

WINDOW = 64
"""durability='behind': the most rows that a kill can lose."""
LINGER = 0.02
"""…and the seconds for which one of them waits for company, twice that at the most."""
MOST_WAITING = 10_000
"""on_error='continue': the most rows kept in memory while the database is away."""
PROBE = 1.0
"""Seconds between two looks for a database that is away."""


class Tail:
    """A bounded queue in front of a journal, in the order of arrival.

    `behind` groups rows into one commit: a background thread writes what has waited for
    LINGER, and the chat's own thread writes when WINDOW rows wait. So the window is a
    bound, even beside Python that never lets another thread run.
    `forgiving` keeps rows in memory while the database is away, and says so.
    """

    def __init__(self, journal: Journal, *, behind: bool, forgiving: bool) -> None:
        self._journal = journal
        self._behind = behind
        self._forgiving = forgiving
        self._reset()

    def _reset(self) -> None:
        self._waiting: list[Draft] = []
        self._batch: list[Draft] | None = None
        self._closing = False
        self._written = 0
        self._writing = threading.RLock()
        self._arrived = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: PersistError | None = None

    forget = _reset
    """In a forked child: what waits is the parent's to write."""

    @property
    def away(self) -> bool:
        """Whether the database failed and rows are kept in memory."""
        return self._failure is not None

    def write(self, draft: Draft) -> None:
        if self._failure is not None:
            self._refuse_or_retry()
        self._waiting.append(draft)
        if self._failure is None and (not self._behind or len(self._waiting) >= WINDOW):
            try:
                self.flush()
            except PersistError:
                self._take_back(draft)
                raise
        elif not self._arrived.is_set():
            self._start()
            self._arrived.set()

    def _take_back(self, draft: Draft) -> None:
        """A message that could not be journaled is heard by nobody, so nobody said it."""
        for rows in (self._waiting, self._batch):
            if rows and rows[-1] is draft:
                rows.pop()  # in place: the journal knows an interrupted batch by its identity

    def flush(self, *, patience: float | None = None) -> None:
        """Write all that waits. Raises if it cannot be written and nobody forgives that."""
        if patience is None and self.away:
            patience = 0  # it is known to be away: once more, without waiting for it
        with self._writing:
            late = 0
            while self._waiting or self._batch:
                # An interrupted batch is offered again as the same object: the journal knows
                # whether it was committed.
                batch = self._batch = self._batch or self._waiting[:MOST_ROWS]
                try:
                    self._journal.append(batch, patience=patience)
                except JournalUnavailable as error:
                    self._lost_touch(error)
                    return
                except LeaseLost as error:
                    self._failure = error
                    raise
                if self._waiting and self._waiting[0] is batch[0]:
                    del self._waiting[: len(batch)]
                self._batch = None
                self._written += len(batch)
                late += len(batch)
            if self._failure is not None and late:
                self._failure = None
                log.warning("%s: the database is back, %d rows written late", self._name, late)

    def close(self) -> None:
        """Write what waits; what cannot be written goes to a file, and the log says where."""
        self._closing = True
        self._stop.set()
        self._arrived.set()
        try:
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join(timeout=60)
            self.flush()
        finally:
            if self._waiting:
                self._save()

    @property
    def _name(self) -> str:
        return f"session {self._journal.session_id!r}"

    def _refuse_or_retry(self) -> None:
        """While the database is away: a new try, or a place in the queue while there is one."""
        assert self._failure is not None
        if isinstance(self._failure, LeaseLost):
            raise self._failure
        if not self._forgiving:
            self.flush(patience=0)
            self._failure = None
            return
        if len(self._waiting) >= MOST_WAITING:
            raise JournalUnavailable(
                url=self._journal.url,
                why=f"away for so long that {MOST_WAITING} rows wait in memory",
                unwritten=len(self._waiting),
            )

    def _lost_touch(self, error: JournalUnavailable) -> None:
        first, self._failure = self._failure is None, error
        if not self._forgiving:
            raise error
        if first:
            log.error("%s: %s The chat goes on; rows wait in memory.", self._name, error)
        self._start()
        self._arrived.set()

    def _start(self) -> None:
        if self._closing:
            return
        if self._thread is None or not self._thread.is_alive():
            self._stop.clear()
            name = f"autogen-persist {self._journal.session_id}"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._arrived.wait()
            written = self._written
            self._stop.wait(PROBE if self.away else LINGER)
            if self._written != written and not self._stop.is_set():
                continue  # the chat's own thread is at it: do not get in its way
            self._arrived.clear()
            try:
                self.flush(patience=0 if self.away else None)
            except PersistError:
                return  # kept in _failure: the next write raises it in the chat's thread
            if self._waiting:
                self._arrived.set()

    def _save(self) -> None:
        name = quote(self._journal.session_id, safe=" ")[:150]
        path = Path(f"autogen-persist-unwritten-{name}.jsonl").absolute()
        with path.open("a", encoding="utf-8") as file:
            for draft in self._waiting:
                row = draft._asdict() | {"content": None, "body": json.loads(draft.content)}
                del row["content"]
                file.write(json.dumps(row) + "\n")
        log.error("%s: %d rows could not be written; they are in %s", self._name,
                  len(self._waiting), path)  # fmt: skip
        self._waiting.clear()
