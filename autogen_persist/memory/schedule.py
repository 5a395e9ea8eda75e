"""Learning in the background: the chat only counts, a thread of APScheduler reads."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from autogen_persist.memory.learn import learn
from autogen_persist.memory.learning import Extractor
from autogen_persist.memory.memory import name_of
from autogen_persist.memory.rules import rules
from autogen_persist.store import Store

log = logging.getLogger("autogen_persist")
IDLE = 60.0
"""After so many silent seconds, what is left is read, too."""
LOOK = 15.0
"""So often it is looked whether a chat is silent."""
AT_EXIT = 5.0
"""Seconds for which a session that is closed may be kept waiting."""
PAUSES = (5, 30, 120, 600)
"""Seconds until a failed extraction is tried again."""


class Pupil:
    """Learns from one session while it is open, one batch at a time.

    Nothing is queued that a crash could lose: the mark in the database is the truth.
    """

    def __init__(self, store: Store, session_id: str, extractor: Extractor = rules) -> None:
        self._store, self._session_id, self._extractor = store, session_id, extractor
        self.said: Callable[[], int] = lambda: 0
        """How many messages the session has had in this process."""
        self._read, self._seen, self._seen_at = 0, 0, time.monotonic()
        self._one = threading.Lock()
        self._queued = self._finished = False
        self._failures = 0
        self._pid = os.getpid()
        _pupils.add(self)
        _scheduler()

    def wake(self) -> None:
        """There is something to read; returns at once."""
        if not self._queued and not self._finished and os.getpid() == self._pid:
            self._queued = True
            _soon(self._work)

    def look(self, now: float) -> None:
        """Wake up if the chat has been silent for a while."""
        said = self.said()
        if said != self._seen:
            self._seen, self._seen_at = said, now
        elif said != self._read and now - self._seen_at >= IDLE and not self._failures:
            self.wake()

    def finish(self) -> None:
        """Read what is left, here and now: the session is closed."""
        if self._finished or os.getpid() != self._pid:
            return
        self._finished = True
        _pupils.discard(self)
        if self.said() != self._read:
            self._learn(time.monotonic() + AT_EXIT)

    def _work(self) -> None:
        self._queued = False
        if not self._finished and not self._learn(None):
            pause = PAUSES[min(self._failures, len(PAUSES)) - 1]
            self._queued = True
            _soon(self._work, pause)

    def _learn(self, deadline: float | None) -> bool:
        """Whether all went well; a chat is never told of anything else."""
        if not self._one.acquire(timeout=AT_EXIT):
            return True  # somebody is at it
        try:
            said = self.said()
            learn(self._store, self._session_id, self._extractor, deadline=deadline)
            self._read, self._failures = said, 0
            return True
        except Exception as error:  # noqa: BLE001 - whatever an extractor or a database raises
            self._failures += 1
            if self._failures == 1 and not self._finished:
                self._report(error)
            return False
        finally:
            self._one.release()

    def _report(self, error: Exception) -> None:
        log.warning(
            "session %r: the extractor %s failed and is tried again later: %s: %s",
            self._session_id, name_of(self._extractor), type(error).__name__, error,
        )  # fmt: skip


_pupils: weakref.WeakSet[Pupil] = weakref.WeakSet()
_running: Any = None
_starting = threading.Lock()


def _soon(work: Callable[[], None], seconds: float = 0) -> None:
    when = datetime.now(timezone.utc) + timedelta(seconds=seconds)
    _scheduler().add_job(work, "date", run_date=when, misfire_grace_time=None)


def _scheduler() -> Any:
    """The scheduler of this process. Its jobs are not persisted."""
    global _running
    with _starting:
        if _running is None:
            from apscheduler.executors.pool import ThreadPoolExecutor
            from apscheduler.schedulers.background import BackgroundScheduler

            # What it says when the interpreter ends under it is of no use to anyone.
            quiet = logging.getLogger("autogen_persist.schedule")
            quiet.disabled = True
            _running = BackgroundScheduler(
                executors={"default": ThreadPoolExecutor(1)}, daemon=True, timezone=timezone.utc,
                logger=quiet,
            )  # fmt: skip
            _running.add_job(_look, "interval", seconds=LOOK, coalesce=True)
            _running.start()
        return _running


def _look() -> None:
    for pupil in list(_pupils):
        pupil.look(time.monotonic())


def _after_fork() -> None:
    """The scheduler's thread stayed with the parent."""
    global _running, _starting
    _running, _starting = None, threading.Lock()
    for pupil in list(_pupils):
        pupil._one = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
