"""What can be found again, on every backend: the index follows the journal, exactly once."""

from __future__ import annotations

import itertools
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest

from autogen_persist import BadArgument, NoSuchSession, Store
from autogen_persist.memory import recall as recalls
from autogen_persist.memory.recall import Search, find
from autogen_persist.records import Draft
from autogen_persist.store.entries import NewEntry
from autogen_persist.store.postings import address_of, unpack
from autogen_persist.store.search import Index, _Ask
from tests.support import child

MAY = datetime(2024, 5, 6, 12, tzinfo=timezone.utc)


def say(store, *texts, session="s", speaker="coder", namespace="default", at=MAY, **columns):
    """Messages, a minute apart."""
    store.create(session, namespace=namespace)
    micros = int(at.timestamp() * 1e6)
    store.journal(session).append(
        [
            Draft(
                0, "", "message", "text", speaker, "manager", "group", False,
                micros + n * 60_000_000, json.dumps({"content": text}).encode(),
            )._replace(**columns)
            for n, text in enumerate(texts)
        ]
    )  # fmt: skip


def rewind(store, to, session="s"):
    body = json.dumps({"to": to}).encode()
    event = Draft(0, "", "event", "rewound", "", "", "", False, 1, body)
    store.journal(session).append([event])


def texts(hits):
    return [hit.text for hit in hits]


def execute(store, statement):
    with store.engine.begin() as connection:
        connection.exec_driver_sql(statement)


def contents(store):
    """All that the index knows, by session and row, whatever numbers it gave them."""
    with store.engine.connect() as connection:
        query = connection.exec_driver_sql
        books = dict(query("SELECT number, name FROM persist_books").all())
        rows = query("SELECT address, pos, words, sitting FROM persist_entries").all()
        entries = {
            address: (books[number], address - address_of(number, 0), *rest)
            for address, *rest in rows
            for number in books
            if address_of(number, 0) <= address < address_of(number + 1, 0)
        }
        found = query("SELECT word, block, data FROM persist_postings").all()
        marks = query("SELECT name, pos, next, words FROM persist_books").all()
    postings = [
        (word, entries[address], *rest)
        for word, block, data in found
        for address, *rest in unpack(block, bytes(data))
    ]
    return sorted(entries.values()), sorted(postings), sorted(map(tuple, marks))


@pytest.fixture
def search(store):
    return Search(store)


def test_a_message_is_found_by_its_words(store, search):
    """The hit says what was said, by whom, when, and where it is in the journal."""
    say(store, "We paint the garden fence.", "Lunch is at noon.", "The bridge is closed.")

    hit = search.recall("default", "which bridge was closing?", limit=1)[0]

    assert hit[:6] == ("s", 3, 3, "coder", "The bridge is closed.", MAY + timedelta(minutes=2))
    assert hit.score > 0


def test_an_append_does_not_index(store):
    """A chat never waits for the index."""
    say(store, "The bridge is closed.")

    assert contents(store) == ([], [], [])


def test_what_was_just_said_is_found(store, search):
    """A recall begins by reading on in the journal."""
    say(store, "The bridge is closed.")
    search.recall("default", "bridge")
    say(store, "The tunnel is open.")

    assert "The tunnel is open." in texts(search.recall("default", "tunnel"))


def test_another_process_finds_it(url):
    """The index is in the database, and so is the mark."""
    with Store.open(url, upgrade=True) as writer:
        say(writer, "The bridge is closed.")
        Search(writer).catch_up("default")
        with Store.open(url) as reader:
            assert Search(reader).catch_up("default") == 0
            assert texts(Search(reader).recall("default", "bridge")) == ["The bridge is closed."]


def test_namespaces_are_apart(store, search):
    """What one team said, another does not find."""
    say(store, "The bridge is closed.", session="a", namespace="north")
    say(store, "The bridge is open.", session="b", namespace="south")

    assert texts(search.recall("south", "bridge")) == ["The bridge is open."]
    assert search.recall("nowhere", "bridge") == []


def test_an_answer_is_found_by_the_question_before_it(store, search):
    """A message is found by its neighbours, too, and the answer to a question before others."""
    say(store, "Which framework do we take?", "FastAPI.", "Fine.", "Lunch?", "Later.", "Bye.")

    found = texts(search.recall("default", "which framework"))

    assert found[:2] == ["Which framework do we take?", "FastAPI."]
    assert "Bye." not in found


def test_sessions_are_no_neighbours(store, search):
    """The last message of one session is no context of the first one of the next."""
    say(store, "The framework is FastAPI.", session="a")
    say(store, "Lunch is at noon.", session="b")

    assert texts(search.recall("default", "framework")) == ["The framework is FastAPI."]


def test_who_said_it_can_be_asked_for(store, search):
    """A question that names the author prefers what the author said, and still finds others."""
    say(store, "The tests are slow.", speaker="coder", session="a")
    say(store, "The tests are slow.", speaker="reviewer", session="b")

    hits = search.recall("default", "What did the reviewer say about slow tests?")

    assert [hit.speaker for hit in hits] == ["reviewer", "coder"]


def test_the_day_can_be_asked_for(store, search):
    """A message is found by its date, which nobody said."""
    say(store, "The release is out.", session="a", at=MAY)
    say(store, "The release is out.", session="b", at=MAY + timedelta(days=40))

    hits = search.recall("default", "Which release was in June 2024?")

    assert hits[0].session_id == "b"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"agent": "tester"}, ["b"]),
        ({"session": "c"}, ["c"]),
        ({"since": MAY + timedelta(days=1)}, ["b", "c"]),
        ({"until": MAY + timedelta(days=1)}, ["a"]),
        ({"since": MAY + timedelta(days=1), "agent": "coder"}, ["c"]),
    ],
)
def test_filters_choose(store, search, filters, found):
    """Who said it, where, and when; what begins at `until` is not included."""
    for day, (session, speaker) in enumerate((("a", "coder"), ("b", "tester"), ("c", "coder"))):
        at = MAY + timedelta(days=day)
        say(store, "The bridge is closed.", session=session, speaker=speaker, at=at)

    hits = search.recall("default", "bridge", **filters)

    assert sorted(hit.session_id for hit in hits) == found


def test_a_filter_does_not_starve(store, search):
    """The one message of an agent is found behind hundreds that fit better."""
    say(store, *["The bridge, the bridge is closed."] * 700, speaker="coder")
    say(store, "A bridge, by the way, was mentioned in the long report.", speaker="tester")

    assert [hit.seq for hit in search.recall("default", "bridge", agent="tester")] == [701]


def test_limit_and_min_score_cut(store, search):
    """Fewer hits, and only good ones."""
    say(store, "The bridge is closed.", session="a")
    say(store, "The road is closed.", session="b")

    assert len(search.recall("default", "closed bridge", limit=1)) == 1
    best, other = search.recall("default", "closed bridge")
    assert best.score > other.score
    assert search.recall("default", "closed bridge", min_score=best.score) == [best]


@pytest.mark.parametrize("query", ["", "  \n", None, 7])
def test_a_question_is_a_text(search, query):
    """An empty question is an error and not an empty answer."""
    with pytest.raises(BadArgument, match="query"):
        search.recall("default", query)


def test_a_wrong_session_is_an_error(store, search):
    """Whoever mistypes an id is told so."""
    with pytest.raises(NoSuchSession):
        search.recall("default", "bridge", session="nope")


@pytest.mark.parametrize("columns", [{"internal": True}, {"kind": "introduction"}])
def test_machinery_is_not_found(store, search, columns):
    """Speaker selection and introductions are no memories."""
    say(store, "The bridge is closed.", **columns)

    assert search.recall("default", "bridge") == []


@pytest.mark.parametrize("indexed_before", [0, 1, 3])
def test_what_was_rewound_is_not_found(store, search, indexed_before):
    """Nor by its neighbours; whether it was indexed or not when the journal was rewound."""
    lines = ["The gate is open.", "The bridge is closed.", "The tunnel is dark."]
    for n, line in enumerate(lines, 1):
        say(store, line)
        if n == indexed_before:
            search.catch_up("default")
    rewind(store, to=1)
    say(store, "The road is long.")

    assert search.recall("default", "bridge tunnel") == []
    assert set(texts(search.recall("default", "gate road"))) == {lines[0], "The road is long."}


def test_rewinding_leaves_the_index_that_reading_at_once_makes(store, search):
    """Removing is as good as never having indexed."""
    for n in range(300):
        say(store, f"Number {n} of the bridge.")
        if n % 70 == 0:
            search.catch_up("default")
    rewind(store, to=100)
    say(store, "The road is long.", "And dark.")
    search.catch_up("default")

    step_by_step = contents(store)
    search.rebuild("default")

    assert contents(store) == step_by_step


def test_what_is_redacted_is_not_found(store, search):
    """A message without its words is taken out when it would be found."""
    say(store, "The password is swordfish.", "Thank you.")
    search.catch_up("default")
    execute(store, "UPDATE persist_journal SET body = NULL WHERE pos = 1")

    assert search.recall("default", "swordfish") == []
    assert not [posting for posting in contents(store)[1] if posting[0] == "swordfish"]


def test_what_is_forgotten_leaves_no_word(store, search):
    """Who redacts a message takes it out of the index at once."""
    say(store, "The password is swordfish.", "Thank you kindly.")
    search.catch_up("default")
    search.forget("s", [1])

    entries, postings, _ = contents(store)
    assert [entry[2] for entry in entries] == [2]
    assert {posting[1][2] for posting in postings} == {2}


def test_threads_that_catch_up_at_once_index_once(url):
    """Of several that read the same backlog, each batch is written by one."""
    with Store.open(url, upgrade=True) as one, Store.open(url) as two:
        say(one, *[f"Number {n} of the bridge." for n in range(1_300)])
        start = threading.Barrier(4)

        def catch_up(store):
            start.wait()
            return Search(store).catch_up("default")

        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(catch_up, (one, two, one, two)))

        assert sum(done) == 1_300
        together = contents(one)
        Search(one).rebuild("default")
        assert contents(one) == together


def test_it_catches_up_while_others_write(url):
    """Rows that come while the index is read on are indexed later, none of them twice."""
    with Store.open(url, upgrade=True) as writer, Store.open(url) as reader:
        say(writer, "The first bridge.")
        ready = threading.Barrier(2)

        def write():
            ready.wait()
            for n in range(100):
                say(writer, f"Bridge {n}.")

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            ready.wait()
            done = 0
            while not writing.done():
                done += Search(reader).catch_up("default")
        done += Search(reader).catch_up("default")

        assert done == 101
        at_once = contents(reader)
        Search(reader).rebuild("default")
        assert contents(reader) == at_once


def test_a_kill_between_any_two_statements_repeats_and_adds_nothing(store, search, monkeypatch):
    """Index and mark are one transaction: whoever comes next finds all of it, or none."""
    monkeypatch.setattr(recalls, "BATCH", 3)
    say(store, *[f"Number {n} of the bridge." for n in range(5)])
    rewind(store, to=4)
    say(store, "The road is long.", "The road is dark.")
    search.catch_up("default")
    whole = contents(store)

    for statement in itertools.count(1):
        search._index.rebuild("default")
        ended = _dies_at(statement, lambda: Search(store).catch_up("default"))
        search.catch_up("default")
        assert contents(store) == whole, f"killed at statement {statement}"
        if not ended:
            break

    assert statement > 20  # it did die on the way


def _dies_at(statement, scene):
    """Whether a child that dies at a statement came to it."""
    left = itertools.count(statement, -1)

    def die(original):
        def ask(self, *arguments):
            if next(left) == 1:
                os._exit(9)
            return original(self, *arguments)

        return ask

    pid = os.fork()
    if pid == 0:
        _Ask.__call__, _Ask.many = die(_Ask.__call__), die(_Ask.many)
        try:
            scene()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


def test_two_processes_share_a_backlog(store, search):
    """A child and its parent read the same sessions, and nothing is there twice."""
    for n in range(6):
        say(store, *[f"Bridge {k} of {n}." for k in range(300)], session=f"s{n}")
    pid = os.fork()
    if pid == 0:
        try:
            Search(store).catch_up("default")
            os._exit(0)
        finally:
            os._exit(1)
    search.catch_up("default")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    shared = contents(store)
    search.rebuild("default")
    assert contents(store) == shared
    assert search.probe("default").indexed == 1_800


def test_both_backends_give_the_same_scores(sqlite_url, new_postgres_url):
    """Moving to PostgreSQL changes no answer."""
    lines = ["Who painted the bridge?", "The tester did, last May.", "When is lunch?", "At noon.",
             "我们选择了红色的桥", "The bridge is red and the road is long."]  # fmt: skip
    found = []
    for url in (sqlite_url, new_postgres_url()):
        with Store.open(url, upgrade=True) as store:
            say(store, *lines)
            questions = ("when was the bridge painted", "red road", "红色", "tester")
            found.append([Search(store).recall("default", query) for query in questions])

    assert found[0] == found[1]
    assert all(found[0])


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("我们选择了红色的桥", "红色"),
        ("東京タワーへ行きました", "東京"),
        ("다리가 닫혔습니다", "다리"),
        ("Мост закрыт до вторника", "МОСТ"),
        ("हिन्दी में लिखा", "हिन्दी"),
        ("Der Schlüssel liegt im Café", "schlussel"),
        ("the café is closed", "cafe\u0301"),
        ("桥", "桥"),
        ("call get_user_name() first", "get_user_name"),
    ],
)
def test_other_languages_are_found(store, search, said, query):
    """Unicode letters are words, and scripts without spaces are found by parts."""
    say(store, "Something else entirely.", session="a")
    say(store, said, session="b")

    assert texts(search.recall("default", query)) == [said]


@pytest.mark.parametrize("text", ["", "🙂 …", "a\0b bridge", "\ud800 bridge", "bridge " * 300_000])
def test_nothing_that_can_be_said_breaks_the_index(store, search, text):
    """No words, no text, a lone surrogate, a NUL, two megabytes."""
    say(store, text, "The gate is open.")

    assert texts(search.recall("default", "gate"))[0] == "The gate is open."


def test_a_probe_tells_empty_from_broken(store, search):
    """Nothing found is an answer only if the index is whole."""
    assert search.probe("default") == (0, 0, None)
    say(store, "The bridge is closed.")
    assert search.probe("default") == (0, 1, None)
    search.catch_up("default")
    assert search.probe("default") == (1, 0, None)

    execute(store, "DELETE FROM persist_postings")

    assert search.recall("default", "bridge") == []
    assert "message 1 of 's'" in search.probe("default").problem


def test_a_broken_index_can_be_made_anew(store, search):
    """Everything is in the journal."""
    say(store, "The bridge is closed.")
    search.catch_up("default")
    execute(store, "DELETE FROM persist_postings")

    assert search.rebuild("default") == 1
    assert texts(search.recall("default", "bridge")) == ["The bridge is closed."]
    assert search.probe("default").problem is None


def test_an_index_of_other_words_is_replaced(store, search):
    """A release that splits words in another way makes its own index, and drops the old one."""
    say(store, "The bridge is closed.")
    search.catch_up("default")

    Index(store, "messages", version=2).behind("default")

    assert contents(store)[:2] == ([], [])


def test_other_sources_write_in_the_callers_transaction(store):
    """What is rolled back is not indexed; entries are added and removed by their number."""
    index = Index(store, "learnings", version=1)
    first = NewEntry(1, None, "", 1, 0, False, False, {"bridg": 1}, frozenset())
    index.put("default", "all", [first])

    with store.engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        index.put("default", "all", [first._replace(pos=2)], gone=[1], connection=connection)
        connection.exec_driver_sql("ROLLBACK")
    assert [entry.pos for _, entry in find(index, "default", "bridge")] == [1]

    index.put("default", "all", [first._replace(pos=2)], gone=[1])
    assert [entry.pos for _, entry in find(index, "default", "bridge", context=False)] == [2]


def test_sources_are_apart(store, search):
    """A learning is not taken for a message."""
    say(store, "The gate is open.")
    entry = NewEntry(1, None, "", 1, 0, False, False, {"bridg": 1}, frozenset())
    Index(store, "learnings", version=1).put("default", "s", [entry])

    assert search.recall("default", "bridge") == []


def test_a_forked_child_recalls(store, search):
    """After os.fork both sides search on connections of their own."""
    say(store, "The bridge is closed.")
    search.catch_up("default")

    def scene():
        assert texts(search.recall("default", "bridge")) == ["The bridge is closed."]

    child.played(scene)
    scene()
