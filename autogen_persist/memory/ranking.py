"""What a message is worth as an answer: BM25 over the message and its neighbours, and boosts.

A message is found by its own words, and by those of the messages around it, which are worth
less: people say "yes, in Lisbon" and not what the question was. The neighbours are added up
here, at the time of the query, so the index has each message once, and a message that comes
later, or is taken away, changes nothing that is stored.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autogen_persist.memory.text import asked, asks_when, words
from autogen_persist.store.entries import Entry
from autogen_persist.store.postings import book_of, count, unpack

# Measured on half of LoCoMo, see benchmarks/recall.py, where they stand on a plateau: any of
# them changed by a third costs a point of R@10 at most; only without AUTHOR it is up to three.
SATURATION = 0.9
"""BM25's k1: how soon another occurrence of a word adds nothing."""
LENGTH = 0.3
"""BM25's b: how much less a word in a long message is worth."""
BEFORE, AFTER, CONTEXT = 4, 2, 0.3
"""How many messages before and after belong to a message, and what a word in them is worth."""
ANSWER = 0.8
"""The same for the message right before, if it asks: then this one may be the answer."""
ASIDE = 0.5
"""A word in the speaker's name or in the date."""
AUTHOR = 1.5
"""Factor where the question names the author. Never a filter: the question may be wrong."""
TIME = 1.15
"""Factor where the question asks when, and the message tells a time."""
SITTING = 0.1
"""For messages from the sitting that most of the best come from, in parts of the best score."""
BEST = 50
POOL = 200
"""So many candidates are looked at closely."""
ENOUGH = 20_000
"""Postings of rare words after which common ones only count where rare ones were found."""

Blocks = Sequence[tuple[int, bytes]]


class Size(NamedTuple):
    """Of what is searched in."""

    entries: int
    words: int


def score(
    wanted: Sequence[str], found: Mapping[str, Blocks], size: Size, *, context: bool = True
) -> dict[int, float]:
    """The score of every address that has to do with a word; about 1 where all words fit."""
    frequency = {word: sum(count(data) for _, data in found.get(word, ())) for word in wanted}
    rarity = {word: _rarity(frequency[word], size.entries) for word in wanted}
    best = sum(rarity.values()) * (SATURATION + 1)
    average = max(size.words, 1) / max(size.entries, 1)
    scores: dict[int, float] = defaultdict(float)
    seen = 0
    for word in sorted(wanted, key=lambda word: (frequency[word], word)):
        enough = seen > ENOUGH
        seen += frequency[word]
        weights = _weights(found.get(word, ()), average, context=context and not enough)
        most = rarity[word] * (SATURATION + 1) / best
        for address, weight in weights.items():
            if not enough or address in scores:
                scores[address] += most * weight / (weight + SATURATION)
    return scores


def _rarity(frequency: int, entries: int) -> float:
    """BM25's idf, in the form that is never negative."""
    return math.log(1 + (max(entries - frequency, 0) + 0.5) / (frequency + 0.5))


def _weights(blocks: Blocks, average: float, *, context: bool) -> dict[int, float]:
    """How much of a word there is at and around each address."""
    weights: dict[int, float] = defaultdict(float)
    flat, slope = 1 - LENGTH, LENGTH / average
    for block, data in blocks:
        for address, asks, times, aside, length in unpack(block, data):
            if aside:
                weights[address] += ASIDE
            if not times:
                continue
            weight = times / (flat + slope * length)
            weights[address] += weight
            if context:
                weights[address + 1] += weight * (ANSWER if asks else CONTEXT)
                weight *= CONTEXT
                for near in range(address + 2, address + BEFORE + 1):
                    weights[near] += weight
                for near in range(address - AFTER, address):
                    weights[near] += weight
    return weights


def best_of(scores: Mapping[int, float], most: int | None = None) -> list[int]:
    """The addresses, the best first; of equals, the one said first."""
    if most is None:
        return sorted(scores, key=lambda address: (-scores[address], address))
    return heapq.nsmallest(most, scores, key=lambda address: (-scores[address], address))


def boost(
    query: str, scores: Mapping[int, float], pool: Sequence[Entry]
) -> list[tuple[float, Entry]]:
    """The candidates with their final scores, the best first."""
    if not pool:
        return []
    wanted, when = set(asked(query)), asks_when(query)
    names = {speaker: set(words(speaker)) for speaker in {entry.speaker for entry in pool}}
    authors = {speaker for speaker, name in names.items() if name and name <= wanted}
    best = max(scores[entry.address] for entry in pool)
    leading = pool[:BEST]
    share = Counter((book_of(entry.address), entry.sitting) for entry in leading)

    def final(entry: Entry) -> float:
        result = scores[entry.address]
        if entry.speaker in authors:
            result *= AUTHOR
        if when and entry.tells_time:
            result *= TIME
        sitting = share[book_of(entry.address), entry.sitting] / len(leading)
        return result + SITTING * sitting * best

    ranked = [(final(entry), entry) for entry in pool]
    return sorted(ranked, key=lambda pair: (-pair[0], pair[1].address))
