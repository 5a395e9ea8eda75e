"""Every error that autogen-persist raises.

PersistError
├── AutoGenNotFound          no classic AutoGen in this environment
├── BadUrl                   the database address cannot be used
├── NoSuchDatabase           there is no file to read
├── ExtraMissing             an optional package is not installed
├── SchemaOutOfDate          the database was written by another release
├── SessionConflict          the target already belongs to another session
├── SessionClosed            the session was closed
├── NoSuchSession            nothing is journaled under this id
├── NotJournalable           strict=True and JSON cannot hold a value
├── BadArgument              an argument has a value outside its range
├── SessionBusy              another process writes this session
├── LeaseLost                this process wrote it until another one took over
├── Divergence               the script no longer says what its journal says
├── ReplayedError            a journaled failure whose own class is not loaded
└── JournalUnavailable       the database did not take the message
"""

from __future__ import annotations

from collections.abc import Sequence


class PersistError(Exception):
    """The root: `except PersistError` catches all of ours and nothing else."""


class AutoGenNotFound(PersistError):
    """No distribution of the classic AutoGen API can be imported."""

    def __init__(self, *, found: str, command: str) -> None:
        self.found = found
        super().__init__(
            f"This needs the classic AutoGen API (`import autogen` with ConversableAgent and "
            f"GroupChat); found {found}. Run `{command}`, then start again."
        )


class BadUrl(PersistError):
    """The database address cannot be used."""

    def __init__(self, *, url: str, why: str) -> None:
        super().__init__(
            f"{url!r} cannot hold a journal: {why}. Expected a path such as 'chats.db', "
            f"'sqlite:///chats.db', or 'postgresql://user@host/database'."
        )


class NoSuchDatabase(PersistError):
    """There is no file to read; one is made only by writing to it."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"There is no file {path}. Name another with --url, or run "
            f"`autogen-persist db upgrade --url '{path}'` to make it."
        )


class ExtraMissing(PersistError):
    """An optional package is not installed."""

    def __init__(self, *, package: str, extra: str, what: str) -> None:
        super().__init__(
            f"{what} needs the package {package}, which is not installed. "
            f"Run `pip install 'autogen-persist[{extra}]'`, then start again."
        )


class SchemaOutOfDate(PersistError):
    """The database was written by an older or newer release, or holds no journal yet."""

    def __init__(self, *, found: str | None, wanted: str, url: str, newer: bool = False) -> None:
        self.found, self.wanted = found, wanted
        remedy = (
            "It was written by a newer release: run `pip install -U autogen-persist`, then "
            if newer
            else f"Run `autogen-persist db upgrade --url '{url}'`, then "
        )
        super().__init__(
            f"{url} is at schema {found or 'none'}, this release needs {wanted}. "
            f"{remedy}start again."
        )


class SessionConflict(PersistError):
    """The target already belongs to another session."""

    def __init__(self, *, target: str, has: str, wanted: str) -> None:
        super().__init__(
            f"{target} already writes to session {has!r}, so it cannot also write to {wanted!r}. "
            f"Call close() on the first session, or build a new chat for the second."
        )


class SessionClosed(PersistError):
    """The session was closed."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"Session {session_id!r} is closed. Call persist(target, session_id={session_id!r}) "
            f"to open it again."
        )


class NoSuchSession(PersistError):
    """Nothing is journaled under this id."""

    def __init__(self, *, session_id: str, nearest: Sequence[str], url: str) -> None:
        hint = f"Did you mean {', '.join(nearest)}? " if nearest else ""
        super().__init__(
            f"{url} holds no session {session_id!r}. {hint}"
            f"`autogen-persist sessions --url '{url}'` lists what is there."
        )


class NotJournalable(PersistError):
    """strict=True, and a message holds a value that JSON cannot."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            f"The message holds what JSON cannot: {'; '.join(problems)}. Send text, numbers, "
            f"lists, dicts, bytes or pydantic models, or use strict=False to journal it as text."
        )


class SessionBusy(PersistError):
    """A session has one writer at a time, and another process is it."""

    def __init__(self, *, session_id: str, host: str, pid: object, seconds: float) -> None:
        super().__init__(
            f"Session {session_id!r} is being written by process {pid} on {host}, which was last "
            f"heard of {seconds:.0f} s ago. Wait until it ends (wait=60 does), or use another "
            f"session id."
        )


class LeaseLost(PersistError):
    """This process owned the session, was away for too long, and another one took over."""

    def __init__(self, *, session_id: str, host: str, pid: object) -> None:
        super().__init__(
            f"Session {session_id!r} was taken over by process {pid} on {host}; this process can "
            f"not write to it any more. What it wrote before is safe. Stop here; the other "
            f"process goes on from the last row."
        )


class Divergence(PersistError):
    """The script does not say or ask what its journal holds at this point.

    Raised before anything is paid or done.
    """

    def __init__(
        self, *, where: str, expected: str, found: str, cause: str,
        words: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.where, self.expected, self.found, self.cause = where, expected, found, cause
        self.words = words
        """Of a message: what the journal has and what was said, uncut."""
        super().__init__(
            f"The script has left its journal at {where}: expected {expected}, found {found}. "
            f"{cause} Nothing was called. Undo the change and run it again, or use "
            f"another session."
        )


class ReplayedError(PersistError):
    """A journaled failure whose own class is not loaded."""


class BadArgument(PersistError, ValueError):
    """An argument has a value outside its range."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"{name}={value!r}: expected {expected}.")


class JournalUnavailable(PersistError):
    """The database cannot be reached or did not take a row, after all retries."""

    def __init__(self, *, url: str, why: str, unwritten: int) -> None:
        self.why, self.unwritten = why, unwritten
        super().__init__(
            f"{url} did not take {unwritten} row{'s' if unwritten != 1 else ''}: {why}. "
            f"What was acknowledged before is safe. Repair the database and start again, or use "
            f"persist(..., on_error='continue') to let chats go on while it is away."
            if unwritten
            else f"{url} cannot be used: {why}. Check that the path or the server is there and "
            f"that you may write to it, then start again."
        )
