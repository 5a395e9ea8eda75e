"""Learning from the journal, on every backend: exactly once, whoever dies and whoever helps."""

from __future__ import annotations

import os
import threading

import pytest
from autogen import ConversableAgent, GroupChat, GroupChatManager

from autogen_persist import BadArgument, Memory, Store, persist
from autogen_persist.memory import schedule
from autogen_persist.memory.learn import learn, learn_again, learn_all
from autogen_persist.memory.learning import Candidate
from autogen_persist.memory.rules import rules
from autogen_persist.memory.schedule import Pupil
from autogen_persist.store.marks import Marks
from tests.support import child

CHOICE = "We chose FastAPI over Flask because of async support."
FAILURE = "The deployment failed because the migration was missing."


def say(store, *texts, session="s", speaker="coder", namespace="default"):
    store.create(session, namespace=namespace)
    for text in texts:
        store.append(session, speaker, {"content": text})


def learnt(store, namespace="default"):
    with Memory(namespace, url=store) as memory:
        return [(one.content, one.evidence) for one in memory.learnings()]


class Numbers:
    """An extractor that keeps every message, so that none can be read twice unnoticed."""

    name, version = "numbers", "1"

    def __call__(self, messages):
        return [Candidate("fact", f"{m.text} of {m.session_id}", m.speaker, (), (m.seq,))
                for m in messages]  # fmt: skip


def everything(session, count):
    return [(f"message{n} of {session}", ((session, n),)) for n in range(1, count + 1)]


# Reading on.


def test_a_session_is_learnt_from_once(store):
    """What is said later is read later, and nothing is read twice."""
    say(store, CHOICE, "How was your weekend?")

    assert learn(store, "s") == 1
    assert learn(store, "s") == 0
    say(store, FAILURE)
    assert learn(store, "s") == 1

    assert learnt(store) == [(CHOICE, (("s", 1),)), (FAILURE, (("s", 3),))]


def test_learnings_go_to_the_namespace_of_their_session(store):
    say(store, CHOICE, namespace="auth-team")
    learn(store, "s")

    assert learnt(store) == []
    assert learnt(store, "auth-team") == [(CHOICE, (("s", 1),))]


def test_consent_after_the_mark_confirms(store):
    """Somebody who agrees in the next batch strengthens what was learnt in this one."""
    say(store, CHOICE)
    learn(store, "s")
    say(store, "Agreed, sounds good.", speaker="reviewer")

    assert learn(store, "s") == 0
    with Memory(url=store) as memory:
        (kept,) = memory.learnings()
    assert kept.confirmed_by == ("reviewer",)
    assert kept.evidence == (("s", 1), ("s", 2))


def test_an_objection_after_the_mark_closes(store):
    """What was taken back in the next batch no longer holds; it stays in the history."""
    say(store, CHOICE)
    learn(store, "s")
    say(store, "I disagree, that is a bad idea.", speaker="reviewer")
    learn(store, "s")

    with Memory(url=store) as memory:
        assert memory.learnings() == []
        assert [one.content for one in memory.learnings(history=True)] == [CHOICE]


def test_a_long_backlog_is_read_in_batches(store, monkeypatch):
    """Every message once, over the ends of batches."""
    monkeypatch.setattr("autogen_persist.memory.learn.BATCH", 7)
    say(store, *(f"message{n}" for n in range(1, 31)))

    assert learn(store, "s", Numbers()) == 30
    assert learnt(store) == everything("s", 30)


@pytest.mark.parametrize("place", ["before the mark", "after the mark", "after the learnings"])
def test_a_kill_before_the_commit_adds_nothing_twice(url, place, monkeypatch):
    """The batch is repeated by the next process, which need not wait for the dead one's claim."""
    from autogen_persist.memory import learn as learning
    from autogen_persist.memory.shelf import Hand

    monkeypatch.setattr(learning, "BATCH", 4)
    with Store.open(url, upgrade=True) as store:
        say(store, *(f"message{n}" for n in range(1, 11)))

    def scene():
        passed = []
        move, put = Marks.move, Hand.put

        def die_at(where, message):
            passed.append(where)
            if where == place and len(passed) > 4 and message:
                os._exit(9)

        def moving(self, *args):
            die_at("before the mark", True)
            done = move(self, *args)
            die_at("after the mark", True)
            return done

        def putting(self, new):
            done = put(self, new)
            die_at("after the learnings", "message6" in new.content)
            return done

        Marks.move, Hand.put = moving, putting
        with Store.open(url) as own:
            learn(own, "s", Numbers())

    child._end(scene, lambda: None, expected=9)

    with Store.open(url) as store:
        assert learnt(store) == everything("s", 4)
        assert learn(store, "s", Numbers()) == 6
        assert learnt(store) == everything("s", 10)


def test_two_processes_share_a_backlog(url):
    """Every message of every session is learnt by exactly one of them."""
    with Store.open(url, upgrade=True) as store:
        for n in range(8):
            say(store, "message1", "message2", session=f"s{n}")

    children = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                with Store.open(url) as own:
                    learn_all(own, Numbers())
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]

    assert codes == [0, 0]
    with Store.open(url) as store:
        wanted = [pair for n in range(8) for pair in everything(f"s{n}", 2)]
        assert sorted(learnt(store)) == sorted(wanted)
        with Memory(url=store) as memory:
            assert {one.times_confirmed for one in memory.learnings()} == {0}


def test_a_session_that_is_claimed_is_left_alone(store):
    """Whoever comes second does nothing, until the first lets go."""
    say(store, CHOICE)
    claim = Marks(store).claim("s", "rules")

    assert Marks(store).claim("s", "rules") is None
    assert learn(store, "s") == 0
    Marks(store).release(claim)
    assert learn(store, "s") == 1


def test_a_failing_extractor_leaves_mark_and_claim(store):
    """Nothing is written, and the next one can begin at once."""
    say(store, CHOICE)

    def broken(messages):
        raise OSError("no model")

    with pytest.raises(OSError, match="no model"):
        learn(store, "s", broken)

    assert Marks(store).behind("broken") == [("s", 1)]
    assert Marks(store).claim("s", "broken") is not None


def test_reading_again_replaces_what_the_old_version_learnt(store):
    """What both found is kept, the rest is shown as gone and added; other learnings stay."""
    say(store, "message1", "message2")
    learn(store, "s", Numbers())
    with Memory(url=store) as memory:
        memory.remember("The office is in the old harbour")

    class Better(Numbers):
        version = "2"

        def __call__(self, messages):
            first, second = super().__call__(messages)
            return [first, second._replace(content="Quite another thing")]

    changed = learn_again(store, "s", Better())

    assert [one.content for one in changed.gone] == ["message2 of s"]
    assert [one.content for one in changed.added] == ["Quite another thing"]
    assert changed.kept == 1
    with Memory(url=store) as memory:
        versions = {one.content: one.version for one in memory.learnings()}
    assert versions == {
        "The office is in the old harbour": "",
        "message1 of s": "2",
        "Quite another thing": "2",
    }


# In the background of a chat.


def team(url, texts, **options):
    """A coder who says these texts, one after another, in a group with a silent clerk."""
    answers = iter(texts)
    coder = ConversableAgent("coder", llm_config=False, human_input_mode="NEVER")
    coder.register_reply([object, None], lambda *_, **__: (True, next(answers)), position=0)
    coder._reply_func_list[0]["trigger"] = lambda _: True
    clerk = ConversableAgent("clerk", llm_config=False, human_input_mode="NEVER",
                             default_auto_reply="Noted.")  # fmt: skip
    chat = GroupChat(agents=[clerk, coder], messages=[], max_round=2 * len(texts),
                     speaker_selection_method="round_robin")  # fmt: skip
    manager = GroupChatManager(chat, llm_config=False)
    options = {"extract_every": 10, **options}
    return persist(manager, session_id="s", url=url, **options), clerk, manager


def test_a_chat_is_learnt_from_when_its_session_is_closed(url):
    """What is left is read at the end; the journal says nothing of it."""
    session, clerk, manager = team(url, [CHOICE, "Well."], namespace="auth-team")
    clerk.initiate_chat(manager, message="What do we use?", silent=True)
    kinds = {row.kind for row in session.rows()}
    session.close()

    with Store.open(url) as store:
        assert [content for content, _ in learnt(store, "auth-team")] == [CHOICE]
    assert not {kind for kind in kinds if "learn" in kind}


def test_zero_turns_learning_off(url):
    session, clerk, manager = team(url, [CHOICE, "Well."], extract_every=0)
    clerk.initiate_chat(manager, message="What do we use?", silent=True)
    session.close()

    with Store.open(url) as store:
        assert learnt(store) == []


@pytest.mark.parametrize("every", [-1, "ten", None])
def test_extract_every_is_a_number(sqlite_url, every):
    with pytest.raises(BadArgument, match="extract_every"):
        persist(ConversableAgent("a", llm_config=False), url=sqlite_url, extract_every=every)


class Called:
    """An extractor that says when it has run."""

    name, version = "called", "1"

    def __init__(self, failures=0):
        self.failures, self.times, self.ran = failures, 0, threading.Semaphore(0)

    def __call__(self, messages):
        self.times += 1
        try:
            if self.times <= self.failures:
                raise OSError("no model")
            return rules(messages)
        finally:
            self.ran.release()


def test_waking_up_reads_in_the_background(store):
    """`wake` returns, and another thread learns."""
    say(store, CHOICE)
    called = Called()
    pupil = Pupil(store, "s", called)
    pupil.said = lambda: 1
    pupil.wake()

    assert called.ran.acquire(timeout=30)
    pupil.finish()
    assert len(learnt(store)) == 1


def test_a_silent_chat_is_read_after_a_while(store):
    """Not before it has been silent for a minute."""
    say(store, CHOICE)
    called = Called()
    pupil = Pupil(store, "s", called)
    pupil.said = lambda: 1
    pupil.look(1000.0)
    pupil.look(1000.0 + schedule.IDLE - 1)
    assert not pupil._queued

    pupil.look(1000.0 + schedule.IDLE)

    assert called.ran.acquire(timeout=30)
    pupil.finish()


def test_a_failing_extractor_is_tried_again_and_reported_once(store, monkeypatch, caplog):
    """The third try succeeds; one line tells of the first failure."""
    monkeypatch.setattr(schedule, "PAUSES", (0,))
    say(store, CHOICE)
    called = Called(failures=2)
    pupil = Pupil(store, "s", called)
    pupil.said = lambda: 1
    with caplog.at_level("WARNING", logger="autogen_persist"):
        pupil.wake()
        for _ in range(3):
            assert called.ran.acquire(timeout=30)
        pupil.finish()

    assert len(learnt(store)) == 1
    assert [record.message.count("no model") for record in caplog.records] == [1]
