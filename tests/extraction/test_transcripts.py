"""The rules on whole chats: what they keep, and where they keep silent."""

from __future__ import annotations

import pytest

from autogen_persist.memory.rules import rules

from .transcript import score, transcripts

SEEN, UNSEEN = transcripts("seen"), transcripts("unseen")


def named(transcript):
    return transcript.name


@pytest.mark.parametrize("transcript", SEEN, ids=named)
def test_the_rules_read_what_they_were_written_for(transcript):
    """All that was expected and nothing else, on the transcripts the rules were developed with."""
    result = score([(transcript, rules(transcript.rows))])
    assert (result.wrong, result.missed) == ([], [])


def test_nine_of_ten_learnings_from_unknown_chats_are_worth_keeping():
    """Precision on transcripts that the rules were not written for. Do not tune to them."""
    result = score((t, rules(t.rows)) for t in UNSEEN)
    assert result.precision >= 0.9, result.wrong


def test_most_of_what_unknown_chats_say_is_found():
    """Recall on the same."""
    result = score((t, rules(t.rows)) for t in UNSEEN)
    assert result.recall >= 0.6, result.missed


def test_there_are_enough_transcripts_and_enough_silent_ones():
    """At least ten to develop on, ten held out, and silence in several of both."""
    for some in (SEEN, UNSEEN):
        assert len(some) >= 10
        assert sum(not t.expected for t in some) >= 3


@pytest.mark.parametrize("transcript", SEEN + UNSEEN, ids=named)
def test_evidence_leads_to_the_words(transcript):
    """The first message of the evidence is the speaker's own, and holds the learning's words."""
    rows = {row.seq: row for row in transcript.rows}
    for candidate in rules(transcript.rows):
        said = rows[candidate.evidence[0]]
        assert said.speaker == candidate.said_by
        last = candidate.content.split()[-1].strip(".!`")
        assert last.lower() in said.text.lower()
        assert {rows[n].speaker for n in candidate.evidence[1:]} <= set(candidate.confirmed_by)
        assert 0 < candidate.confidence < 1


@pytest.mark.parametrize("transcript", SEEN + UNSEEN, ids=named)
def test_a_second_reading_is_the_same(transcript):
    """A batch that is read again after a crash gives the same candidates."""
    assert rules(transcript.rows) == rules(transcript.rows)
