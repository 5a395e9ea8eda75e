"""Where a sentence begins and ends in what models write."""

from __future__ import annotations

import pytest

from autogen_persist.memory.sentences import LONGEST, sentences

WHOLE = [
    "We run Python 3.11 on Debian 12.4 now.",
    "Some editors, e.g. vim, i.e. the good ones, work.",
    "See https://example.com/a.b/c?d=1.2 for the file db.py and more.",
    "Board rev. B has approx. 40 parts, cf. Fig. 3.",
    "It costs 1,200.50 euros vs. 900 before.",
    "Compare Smith et al. (2019) for that.",
    "It is no. 7 in the list.",
    "Use the `a. B` operator here.",
    'He said "Stop. Go. Wait." to us.',
]


@pytest.mark.parametrize("text", WHOLE)
def test_a_dot_within_a_sentence_does_not_end_it(text):
    """Versions, abbreviations, addresses, file names, amounts, quotations."""
    (found,) = sentences(text)
    assert found.text == text.replace("`", "")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One thing. Two things! Three? Yes.", 4),
        ("we use flask. please never push.", 2),
        ("It is done (really.) Then go.", 2),
        ("Great 🎉 We won. 🎉 Next one.", 2),
        ("我们决定了。因为很好！", 2),
        ("- one\n- two\n  goes on\n1. three", 3),
        ("A short line\nAnother short line", 2),
        ("This line is long enough to have been wrapped by somebody's editor\nand goes on.", 1),
        ("# Title\nText.", 1),
        ("Before.\n```\ncode. Code.\n```\nAfter.", 2),
        ("The answer is no. We go on.", 2),
        ("", 0),
    ],
)
def test_sentences_are_counted_as_a_reader_would(text, parts):
    """Punctuation, emoji, Chinese, lists, wrapped lines, headings, code."""
    assert len(sentences(text)) == parts


def test_a_sentence_that_is_too_long_is_dropped():
    """It is data or a document, and it would cost time."""
    assert sentences("a" * (LONGEST + 1)) == []
    assert len(sentences("word " * 20)) == 1


def test_quoted_words_are_blanked_for_the_rules_only():
    """The content keeps them: 'I prefer "will" over "shall"' would be nothing without."""
    (found,) = sentences('I prefer "will" over “shall”.')
    assert found.text == 'I prefer "will" over “shall”.'
    assert "will" not in found.bare
    assert "shall" not in found.bare
