"""The open end of one session's journal in this process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from autogen_persist.errors import JournalUnavailable
from autogen_persist.records import Draft
from autogen_persist.store.chain import SALT, Head, link, seal
from autogen_persist.store.lease import Lease
from autogen_persist.store.write import Values, Writer

MOST_ROWS = 256
"""Rows in one transaction; PostgreSQL takes at most 65,535 parameters in a statement."""
_HOPELESS = ("readonly", "read-only", "no such table", "malformed", "not a database",
             "does not exist", "is gone")  # fmt: skip
"""What no amount of waiting mends."""


class Journal:
    """Appends to one session, from any thread.

    `append` that returns has committed; one that raises has written nothing of the
    transaction it failed in. The head is kept in memory, and read again whenever
    another process, or a doubt about a lost answer, has made it stale.
    """

    def __init__(
        self,
        session_id: str,
        writer: Writer,
        *,
        read_head: Callable[[Lease | None], Head],
        why_not: Callable[[BaseException], str | None],
        url: str,
        patience: float,
    ) -> None:
        self.session_id = session_id
        self._writer = writer
        self._read_head = read_head
        self._why_not = why_not
        self.url = url
        self._patience = patience
        self.lock = threading.RLock()
        self._head: Head | None = None
        self._done: Sequence[Draft] | None = None
        self._doubt: tuple[Sequence[Draft], set[bytes]] | None = None
        """Rows whose commit was interrupted, and the digests that would show it happened."""
        self.lease: Lease | None = None
        """Held by the session's owner; without one, rows can be written while nobody owns it."""

    def append(self, drafts: Sequence[Draft], *, patience: float | None = None) -> Head:
        """Write rows in order; return the new head. Retries for `patience` seconds."""
        patience = self._patience if patience is None else patience
        with self.lock:
            if len(drafts) <= MOST_ROWS:
                self._append(drafts, patience, len(drafts))
            else:
                for start in range(0, len(drafts), MOST_ROWS):
                    self._append(drafts[start : start + MOST_ROWS], patience, len(drafts) - start)
            return self._known_head()

    def forget(self) -> None:
        """In a forked child: a new lock, and nothing known."""
        self.lock, self._head = threading.RLock(), None
        self._done = self._doubt = None

    def _append(self, drafts: Sequence[Draft], patience: float, unwritten: int) -> None:
        if drafts is self._done:
            return  # the caller was interrupted before it could take note
        deadline = time.monotonic() + patience
        pause, tries = 0.05, 0
        # Where an attempt broke off, its commit may still have happened, or happen late.
        same = self._doubt is not None and self._doubt[0] is drafts
        aims = self._doubt[1] if same and self._doubt is not None else set()
        self._doubt = (drafts, aims)
        while True:
            try:
                old = self._known_head()
                if old.digest in aims:
                    break  # the answer was lost, the commit was not
                rows, aim = self._chained(old, drafts)
                aims.add(aim.digest)
                if self._writer.write(self.session_id, old, aim, rows):
                    self._head = aim
                    break
                self._head = None
                continue
            except BaseException as error:
                self._head = None
                why = self._why_not(error)
                if why is None:
                    raise
                hopeless = any(word in why for word in _HOPELESS)
                tries += 1
                if tries == 1 and not hopeless:
                    continue  # a connection that died while nothing was said
                if hopeless or time.monotonic() + pause > deadline:
                    raise JournalUnavailable(url=self.url, why=why, unwritten=unwritten) from error
            time.sleep(pause)
            pause = min(pause * 2, 2.0)
        self._done, self._doubt = drafts, None

    def _known_head(self) -> Head:
        if self._head is None:
            self._head = self._read_head(self.lease)
        return self._head

    def _chained(self, head: Head, drafts: Sequence[Draft]) -> tuple[list[Values], Head]:
        pos, seq, run, digest, _ = head
        rows = []
        for draft in drafts:
            pos += 1
            number = None
            if draft.type == "message":
                seq += 1
                number = seq
            run = max(run, draft.run)
            meta = draft[:-1]
            salt = os.urandom(SALT)
            digest = link(digest, seal(salt, draft.content), (pos, number, *meta))
            text = draft.content.decode()
            rows.append((self.session_id, pos, number, *meta, text, salt, None, digest))
        return rows, Head(pos, seq, run, digest, head.token)
