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
├── NotJournalable           JSON cannot hold a value that it must
├── BadArgument              an argument has a value outside its range
├── SessionBusy              another process writes this session
├── LeaseLost                this process wrote it until another one took over
├── AgentsChanged            the group is not the one whose journal this is
├── NothingToResume          no run of the session was interrupted
├── Divergence               the script no longer says what its journal says
├── UnfinishedTool           a tool was interrupted, and nobody said what to do
├── ToolRefused              an @once tool while its start cannot be journaled
├── OutsideTool              idempotency_key() where no journaled tool runs
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
    """strict=True and a message, or any effect of the user's, holds a value that JSON cannot."""

    def __init__(self, problems: Sequence[str], *, effect: str | None = None) -> None:
        kinds = "text, numbers, lists, tuples, dicts, bytes or pydantic models"
        what, remedy = (
            (f"What the effect {effect} returned", f"Return {kinds}: it has to be given again")
            if effect
            else ("The message", f"Send {kinds}, or use strict=False to journal it as text")
        )
        super().__init__(f"{what} holds what JSON cannot: {'; '.join(problems)}. {remedy}.")


class SessionBusy(PersistError):
    """A session has one writer at a time, and another process is it."""

    def __init__(self, *, session_id: str, host: str, pid: object, seconds: float) -> None:
        super().__init__(
            f"Session {session_id!r} is being written by process {pid} on {host}, which was last "
            f"heard of {seconds:.0f} s ago. Wait until it ends (wait=60 does, --wait 60 on the "
            f"command line), or use another session id."
        )


class LeaseLost(PersistError):
    """This process owned the session, was away for too long, and another one took over."""

    def __init__(self, *, session_id: str, host: str, pid: object) -> None:
        super().__init__(
            f"Session {session_id!r} was taken over by process {pid} on {host}; this process can "
            f"not write to it any more. What it wrote before is safe. Stop here; the other "
            f"process goes on from the last row."
        )


class AgentsChanged(PersistError):
    """Agents are found again by their names, and some are missing, new or renamed."""

    def __init__(self, *, session_id: str, missing: set[str], new: set[str]) -> None:
        self.missing, self.new = sorted(missing), sorted(new)
        told = [f"{', '.join(names)} {what}" for names, what in
                ((self.missing, "missing now"), (self.new, "new")) if names]  # fmt: skip
        super().__init__(
            f"The group is not the one whose journal session {session_id!r} is: "
            f"{'; '.join(told)}. Give the agents their names back, choose another session_id, or "
            f"pass on_mismatch='adapt' to go on with the agents there are."
        )


class NothingToResume(PersistError):
    """`resume()` finishes an interrupted run, and there is none, or not from here."""

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(f"Session {session_id!r} cannot be resumed from here: {why}")


class Divergence(PersistError):
    """The script does not say or ask what its journal holds at this point.

    Raised before anything is paid or done.
    """

    def __init__(
        self, *, where: str, expected: str, found: str, cause: str,
        done: str = "Nothing was called.",
        words: tuple[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.where, self.expected, self.found, self.cause = where, expected, found, cause
        self.words = words
        """Of a message: what the journal has and what was said, uncut."""
        super().__init__(
            f"The script has left its journal at {where}: expected {expected}, found {found}. "
            f"{cause} {done} Undo the change and run it again, use another session, or pass "
            f"on_divergence='live' to hide the rest of the journal and go on with live calls."
        )


class UnfinishedTool(PersistError):
    """A tool was begun in an earlier process and has no result: it may have done its work."""

    def __init__(
        self, *, tool: str, agent: str, session_id: str, run: int, digest: str, began: str,
        once: bool,
    ) -> None:  # fmt: skip
        self.tool, self.agent = tool, agent
        why = "It is marked @once, so it is not run again. " if once else ""
        retry = "" if once else "'retry' (it is run again), "
        super().__init__(
            f"The tool {tool!r} of {agent} was begun at {began} in run {run} of session "
            f"{session_id!r} (arguments {digest[:12]}) and has no result: the process was "
            f"interrupted, and whether the tool did its work is not known. {why}Look whether it "
            f"did, then start again with unfinished_tool={retry}'skip' (the model is told that "
            f"the outcome is unknown) or 'ask' (you decide at the terminal)."
        )


class ToolRefused(PersistError):
    """A tool that must not run twice, while the database is away: its start would be forgotten."""

    def __init__(self, *, tool: str, agent: str, url: str) -> None:
        super().__init__(
            f"The tool {tool!r} of {agent} is marked @once and was not run: {url} is away, so that "
            f"nobody would know that it has run. Repair the database and start again."
        )


class OutsideTool(PersistError):
    """There is no call to which an idempotency key could belong."""

    def __init__(self) -> None:
        super().__init__(
            "idempotency_key() was called where no journaled tool runs. Call it in the tool "
            "itself, before it hands work to a thread, and persist the agent that executes it."
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
