"""Words and ranks: what is the same word, and what is a better answer."""

from __future__ import annotations

import re
import sqlite3
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autogen_persist.memory import ranking
from autogen_persist.memory.stem import stem
from autogen_persist.memory.text import (
    STOP_WORDS,
    asked,
    asks_when,
    date_words,
    is_question,
    tells_time,
    words,
)
from autogen_persist.store.entries import Entry
from autogen_persist.store.postings import Posting, block_of, count, pack, unpack, without

SIZE = ranking.Size(entries=1_000, words=10_000)


def blocks(*postings):
    """What the index holds of a word."""
    found = {}
    for posting in postings:
        block = block_of(posting.address)
        found[block] = found.get(block, b"") + pack(posting)
    return sorted(found.items())


def at(address, *, times=1, asks=False, aside=False, length=10):
    return Posting(address, asks, times, aside, length)


def entry(address, *, speaker="coder", sitting=0, tells_time=False):
    return Entry(address, address, address, speaker, 0, 10, sitting, tells_time)


# Words.


def test_the_stemmer_is_porters():
    """SQLite has the same algorithm, and agrees on every word of our own prose."""
    texts = Path(__file__).parent.parent.glob("**/*.md")
    prose = " ".join(path.read_text() for path in texts if ".venv" not in path.parts)
    suffixes = ("", "s", "ed", "ing", "ly", "ation", "ational", "iveness", "fulness", "ies", "y",
                "ement", "able", "izer", "logi", "eed", "sses", "ll", "e")  # fmt: skip
    stems = ("hop", "paint", "relat", "condit", "digit", "oper", "feud", "adopt", "control", "yo")
    tried = {*re.findall("[a-z]{3,}", prose.lower()), *(a + b for a in stems for b in suffixes)}
    tried = sorted(word for word in tried if len(word) > 2)
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE said USING fts5(word, tokenize = 'porter ascii')")
    except sqlite3.OperationalError:
        pytest.skip("this SQLite has no FTS5 to compare with")
    db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(said, instance)")
    db.executemany("INSERT INTO said (rowid, word) VALUES (?, ?)", enumerate(tried))

    theirs = {tried[doc]: term for term, doc in db.execute("SELECT term, doc FROM terms")}

    assert len(theirs) > 500
    assert {word: stem(word) for word in theirs} == theirs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The painter's brushes", ["painter", "brush"]),
        ("The painter’s brushes", ["painter", "brush"]),
        ("don't, DON’T", []),
        ("Café, naïve", ["cafe", "naiv"]),
        ("get_user_name", ["user", "name"]),
        ("ＦａｓｔＡＰＩ", ["fastapi"]),
        ("über straße", ["uber", "strass"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("红桥", ["红", "桥", "红桥"]),
        ("用FastAPI吧", ["用", "fastapi", "吧"]),
        ("a\0b \ud800 🙂", ["b"]),
        ("x" * 1000, ["x" * 40]),
        ("", []),
    ],
)
def test_a_text_is_found_by_these_words(text, expected):
    """Stems without accents and stop words; of scripts without spaces, characters and pairs."""
    assert words(text) == expected


def test_a_question_wants_each_word_once_and_pairs_whole():
    """A pair of characters says more than both of them."""
    assert asked("Bridge, bridges, 红桥 and 桥!") == ["bridg", "红桥", "桥"]


@given(st.text(max_size=200))
def test_every_word_of_a_question_is_a_word_of_the_same_text(text):
    """Whoever asks with the words of a message finds it."""
    assert set(asked(text)) <= set(words(text))


@given(st.text(max_size=200))
def test_words_can_be_stored_everywhere(text):
    """Short, in UTF-8, without NUL."""
    for word in words(text):
        assert 0 < len(word.encode()) <= 200
        assert "\0" not in word


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=80))
def test_one_accent_changes_nothing_else(text):
    """Plain ASCII takes a short way, which splits as the long one does."""
    assert words(f"{text} é") == [*words(text), "e"]


def test_stop_words_are_written_as_they_are_compared():
    """In small letters, without apostrophes."""
    assert all(word.isascii() and word.isalpha() and word.islower() for word in STOP_WORDS)


def test_a_date_is_found_by_its_parts():
    """As people ask for it: the day, the month, the year, the weekday."""
    words_of_day = date_words(datetime(2024, 5, 6, tzinfo=timezone.utc))

    assert set(asked("on Monday, 6 May 2024")) == set(words_of_day)


def test_times_are_told_and_asked_for():
    """A question for a time, a message with one, a message that asks."""
    assert asks_when("When did it fail?")
    assert asks_when("In which year was that?")
    assert not asks_when("Who did it?")
    assert tells_time("It failed last week.")
    assert tells_time("At 14:30.")
    assert not tells_time("It failed.")
    assert is_question("Shall we? :)")
    assert is_question("好吗？")
    assert not is_question("Why? " + "Because it is so. " * 10)


# Postings.


@given(
    st.lists(
        st.builds(Posting, st.integers(0, 127), st.booleans(), st.integers(0, 127), st.booleans(),
                  st.integers(0, 65_535)),
        max_size=20,
    ),
    st.sets(st.integers(0, 127)),
)  # fmt: skip
def test_postings_come_back(postings, gone):
    """Packing loses nothing, and taking some out leaves the others."""
    moved = [posting._replace(address=posting.address + (5 << 7)) for posting in postings]
    data = b"".join(map(pack, moved))

    assert count(data) == len(moved)
    assert [Posting(*fields) for fields in unpack(5, data)] == moved
    addresses = {number + (5 << 7) for number in gone}
    left = [Posting(*fields) for fields in unpack(5, without(5, data, addresses))]
    assert left == [posting for posting in moved if posting.address not in addresses]


def test_what_is_too_large_is_cut():
    """A message of a million words is long, and that is all one needs to know."""
    (found,) = unpack(0, pack(Posting(3, True, 500, False, 1_000_000)))

    assert found == (3, 1, 127, 0, 65_535)


# Ranks.


def test_a_rare_word_is_worth_more():
    """Of two words, the one that few messages have decides."""
    common = blocks(*(at(address) for address in range(100, 600, 10)))
    found = {"common": common, "rare": blocks(at(800))}

    scores = ranking.score(["common", "rare"], found, SIZE)

    assert scores[800] > scores[100]


def test_a_word_in_a_short_message_is_worth_more():
    """In a long one it may be there by accident."""
    scores = ranking.score(["w"], {"w": blocks(at(100, length=5), at(200, length=500))}, SIZE)

    assert scores[100] > scores[200]


def test_the_same_word_again_adds_less_and_less():
    """Ten times a word is no ten times better answer."""
    found = {"w": blocks(at(100, times=1), at(200, times=2), at(300, times=100))}

    scores = ranking.score(["w"], found, SIZE)

    assert scores[100] < scores[200] < scores[300] < 2 * scores[200]


def test_neighbours_share_a_word():
    """Four messages after and two before the one that has it; the next most, if it was asked."""
    scores = ranking.score(["w"], {"w": blocks(at(100))}, SIZE)
    asks = ranking.score(["w"], {"w": blocks(at(100, asks=True))}, SIZE)

    assert set(scores) == {98, 99, 100, 101, 102, 103, 104}
    assert scores[100] > scores[101] == scores[99]
    assert asks[100] > asks[101] > asks[102]


def test_without_context_there_are_no_neighbours():
    """For what stands alone."""
    scores = ranking.score(["w"], {"w": blocks(at(100))}, SIZE, context=False)

    assert set(scores) == {100}


def test_a_name_or_a_date_is_no_context():
    """Who spoke before is not who speaks now."""
    scores = ranking.score(["w"], {"w": blocks(at(100, times=0, aside=True))}, SIZE)

    assert set(scores) == {100}


def test_a_word_that_nobody_said_lowers_the_score():
    """So that min_score can tell a good answer from the best of bad ones."""
    found = {"w": blocks(at(100))}

    assert (
        ranking.score(["w", "unknown"], found, SIZE)[100] < ranking.score(["w"], found, SIZE)[100]
    )


@given(st.dictionaries(st.sampled_from("abcde"), st.lists(st.integers(10, 500), max_size=30)))
def test_scores_are_between_nothing_and_all(places):
    """Before boosts, 1 is a message that has every word beyond measure."""
    found = {word: blocks(*(at(address) for address in set(all_))) for word, all_ in places.items()}

    scores = ranking.score(list("abcde"), found, SIZE)

    assert all(0 < score <= 1 for score in scores.values())


def test_very_common_words_count_only_where_rare_ones_are(monkeypatch):
    """A question in a huge namespace is not slow because of one word in it."""
    monkeypatch.setattr(ranking, "ENOUGH", 1)
    found = {"rare": blocks(at(100), at(300)), "common": blocks(*map(at, range(100, 250)))}

    scores = ranking.score(["common", "rare"], found, SIZE)

    assert 200 not in scores
    assert scores[100] > scores[300]


def test_the_author_who_is_named_comes_first():
    """Only if the whole name is in the question."""
    pool = [entry(1, speaker="code_reviewer"), entry(2, speaker="tester")]
    scores = {1: 0.5, 2: 0.5}

    def order(query):
        return [found.address for _, found in ranking.boost(query, scores, pool)]

    assert order("what did the tester say?") == [2, 1]
    assert order("what did the code reviewer say?") == [1, 2]
    assert order("is the code fine?") == [1, 2]
    assert ranking.boost("is the code fine?", scores, pool)[0][0] < 0.75


def test_a_time_comes_first_where_one_is_asked_for():
    """And not otherwise."""
    pool = [entry(1), entry(2, tells_time=True)]

    assert ranking.boost("when?", {1: 0.5, 2: 0.5}, pool)[0][1].address == 2
    assert ranking.boost("who?", {1: 0.5, 2: 0.5}, pool)[0][1].address == 1


def test_the_sitting_of_most_breaks_ties():
    """Where much was found there is more to find."""
    pool = [entry(1), entry(2, sitting=1), entry(3, sitting=1)]

    ranked = ranking.boost("who?", {1: 0.5, 2: 0.5, 3: 0.5}, pool)

    assert [found.address for _, found in ranked] == [2, 3, 1]


def test_nothing_found_is_nothing():
    """No candidates, no hits."""
    assert ranking.boost("who?", {}, []) == []
