"""What users may import: a list that changes only on purpose."""

import inspect

import autogen_persist
from autogen_persist.options import DEFAULTS

NAMES = {
    "AgentsChanged", "AutoGenNotFound", "BadArgument", "BadUrl", "Divergence", "ExtraMissing",
    "JournalUnavailable", "Learning", "LeaseLost", "Memory", "Message", "NoSuchDatabase",
    "NoSuchSession", "NotJournalable", "NothingToResume", "OutsideTool", "PersistError",
    "PersistentAgent", "PersistentGroupChat", "PersistentMixin", "ReplayedError", "Row",
    "SchemaOutOfDate", "Session", "SessionBusy", "SessionClosed", "SessionConflict", "Store",
    "ToolRefused", "UnfinishedTool", "idempotency_key", "idempotent", "instrument", "once",
    "persist", "rerun", "uninstrument",
}  # fmt: skip


def test_the_public_names_are_these():
    """A new public name, or one that is gone, is a decision and not an accident."""
    assert set(autogen_persist.__all__) == NAMES


def test_every_public_name_exists_and_is_documented():
    """Each can be imported and says what it is for."""
    for name in NAMES:
        assert inspect.getdoc(getattr(autogen_persist, name)), name


def test_every_error_is_one_of_ours():
    """`except PersistError` catches all of them."""
    from autogen_persist import errors

    raised = [e for e in vars(errors).values() if inspect.isclass(e) and issubclass(e, Exception)]
    assert all(issubclass(error, errors.PersistError) for error in raised)


def test_the_options_of_persist_are_these():
    """The front door's signature is frozen, too."""
    named = list(inspect.signature(autogen_persist.persist).parameters)
    assert named == ["target", "session_id", "url", "options"]
    assert list(DEFAULTS) == [
        "durability", "on_error", "strict", "namespace", "on_divergence", "on_mismatch",
        "unfinished_tool", "human_input", "extract_every", "upgrade", "patience", "wait",
    ]  # fmt: skip
    assert list(inspect.signature(autogen_persist.instrument).parameters) == named[1:]
