"""When two learnings are one, and when the new one ends the old one."""

from __future__ import annotations

import pytest

from autogen_persist.memory.likeness import contradicts, same

SAME = [
    ("We chose FastAPI over Flask because of async support.",
     "we chose FastAPI over Flask, because of the async support"),
    ("Never deploy on Fridays.", "Please never deploy on Fridays!"),
    ("The deadline is 14 March.", "Our deadline is 14 March"),
]  # fmt: skip
NOT_SAME = [
    ("The deadline is 14 March.", "The deadline is 21 March."),
    ("Always use tabs in Python files.", "Never use tabs in Python files."),
    ("We chose FastAPI over Flask.", "We chose Flask over FastAPI."),
    ("We use Redis for the cache.", "We use Kafka for the events."),
    ("", ""),
]
CLEAR = [
    ("We switched to FastAPI.", "We use Flask."),
    ("We switched from Redis to Valkey.", "We use Redis for the cache."),
    ("Always use tabs.", "Never use tabs."),
    ("Never use tabs.", "Always use tabs."),
    ("We chose Flask over FastAPI.", "We chose FastAPI over Flask because of async support."),
    ("The deadline is 21 March.", "The deadline is 14 March."),
    ("Our stack is Django.", "Our stack is Rails."),
    ("We do not use feature flags.", "We use feature flags."),
    ("We no longer use Jenkins.", "We use Jenkins for the nightly builds."),
    ("We use uv instead of poetry.", "We decided to use poetry."),
]
UNCLEAR = [
    ("We use Django.", "We use Flask."),
    (
        "Never use exclamation marks in headlines.",
        "Always use exclamation marks in birthday mails.",
    ),
]
NO = [
    ("We switched to FastAPI.", "We use PostgreSQL."),
    ("The budget is 20,000 euros.", "The deadline is 14 March."),
    ("We chose FastAPI over Flask.", "We chose FastAPI over Django."),
    ("Never deploy on Fridays.", "Always write tests."),
    ("The deadline is 14 March at noon.", "The deadline is 14 March."),
    ("We use Flask.", "We use Flask."),
    ("", "We use Flask."),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_nearly_the_same_words_are_the_same_learning(a, b):
    """Case, punctuation and small words do not matter, nor does the order of the two."""
    assert same(a, b)
    assert same(b, a)


@pytest.mark.parametrize(("a", "b"), NOT_SAME)
def test_a_number_a_no_or_a_swap_makes_it_another(a, b):
    """Few words differ, the meaning does."""
    assert not same(a, b)


@pytest.mark.parametrize(("new", "old"), CLEAR)
def test_a_clear_contradiction_is_seen(new, old):
    """The new sentence takes the place of the old one."""
    assert contradicts(new, old) is True


@pytest.mark.parametrize(("new", "old"), UNCLEAR)
def test_what_may_hold_side_by_side_is_disputed(new, old):
    """Two frameworks, or two places: only a person can tell."""
    assert contradicts(new, old) is None


@pytest.mark.parametrize(("new", "old"), NO)
def test_different_things_do_not_contradict(new, old):
    """Nor does a more exact statement, nor the same one."""
    assert contradicts(new, old) is False
