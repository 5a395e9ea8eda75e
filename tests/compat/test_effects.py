"""Tools that fail, are interrupted or marked, and the user's own effects."""

import asyncio
import functools
import inspect
import itertools
import logging
import sqlite3
from contextlib import nullcontext
from typing import Annotated, Any

import autogen
import pytest
from autogen import register_function

from autogen_persist import (
    Divergence,
    NotJournalable,
    OutsideTool,
    Session,
    ToolRefused,
    UnfinishedTool,
    idempotency_key,
    idempotent,
    instrument,
    once,
    persist,
    rerun,
)
from tests.compat.cast import actor, needs_run
from tests.support.model_server import ModelServer, llm_config, tool_call

try:
    from autogen.tools import Depends
    from autogen.tools.dependency_injection import on
except ImportError:
    Depends = None
has_tools = pytest.mark.skipif(Depends is None, reason="AutoGen 0.2 has no Tool")


class Stop(KeyboardInterrupt):
    """The program is interrupted: as with a kill, what was begun has no receipt."""


def calls(*amounts: int) -> list[dict[str, Any]]:
    """What an assistant says to pay these amounts, one message each."""
    return [
        {"content": None, "tool_calls": [tool_call("pay", call_id=f"call_{n}", amount=amount)]}
        for n, amount in enumerate(amounts)
    ]


def pair(pay: Any, *lines: Any) -> tuple[Any, Any]:
    """An executor of the tool `pay`, and an assistant that calls it."""
    executor, assistant = actor("executor"), actor("assistant", *(lines or calls(1)))
    if pay is not None:
        executor.register_function({"pay": pay})
    return executor, assistant


def chat(executor: Any, assistant: Any, turns: int = 3, is_async: bool = False) -> Any:
    given = {"message": "go", "max_turns": turns, "silent": True}
    if is_async:
        return asyncio.run(executor.a_initiate_chat(assistant, **given))
    return executor.initiate_chat(assistant, **given)


def script(url: str, act: Any, **options: Any) -> Any:
    """Run a program as `autogen-persist run` does: not complete until somebody says so."""
    session = instrument(session_id="s", url=url, **options)
    session.on_closing = None
    try:
        return act(session)
    finally:
        session.close()


def rows(url: str, *wanted: str) -> list[Any]:
    """The session's rows of these types or kinds."""
    return script(
        url, lambda s: [r for r in s.rows() if not wanted or {r.type, r.kind} & {*wanted}]
    )


def receipts(url: str, kind: str = "tool") -> list[Any]:
    return [row for row in rows(url, "receipt") if row.kind == kind]


def result_of(executor: Any, assistant: Any) -> list[str]:
    """What the executor told the assistant of its tools."""
    said = executor.chat_messages[assistant]
    return [m["tool_responses"][0]["content"] for m in said if m.get("tool_responses")]


def interrupt_first(fn: Any) -> Any:
    """A tool that is interrupted the first time, after it did its work."""
    times = itertools.count(1)

    def tool(amount: int) -> str:
        answer = fn(amount)
        if next(times) == 1:
            raise Stop
        return answer

    return tool


# Errors inside tools.


def break_inside(catch: bool, is_async: bool = False) -> Any:
    """A tool that starts a chat which its own, strict journal cannot take."""
    inner, other = actor("inner"), actor("other")

    def begin() -> str:
        try:
            inner.initiate_chat(other, message={"content": "x", "odd": object()}, max_turns=1)
        except NotJournalable:
            if not catch:
                raise
        return "all is well"

    def pay(amount: int) -> str:
        return begin()

    async def a_pay(amount: int) -> str:
        return begin()

    return inner, a_pay if is_async else pay


@pytest.mark.parametrize("catch", [False, True], ids=["raised", "caught"])
@pytest.mark.parametrize(
    ("async_tool", "async_chat"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_a_persistence_error_inside_a_tool_stops_the_chat(
    sqlite_url, catch, async_tool, async_chat
):
    """AutoGen makes a result of every exception in a tool; not of ours, and no receipt is kept."""
    inner, pay = break_inside(catch, async_tool)
    executor, assistant = pair(pay)
    session = persist(executor, session_id="s", url=sqlite_url)
    persist(inner, session_id="inner", url=sqlite_url, strict=True)

    with pytest.raises(NotJournalable):
        chat(executor, assistant, is_async=async_chat)

    assert [row.type for row in session.rows() if row.kind == "tool"] == ["intent"]
    assert [row.kind for row in session.messages()] == ["text", "tool_call"]
    assert session.events(kind="run_ended") == []


def test_the_next_chat_is_not_stopped(sqlite_url):
    """The error stops the run that it happened in, nothing after it."""
    inner, pay = break_inside(catch=False)
    executor, assistant = pair(pay, *calls(1), "hello")
    session = persist(executor, session_id="s", url=sqlite_url)
    persist(inner, session_id="inner", url=sqlite_url, strict=True)
    with pytest.raises(NotJournalable):
        chat(executor, assistant)

    executor.initiate_chat(assistant, message="again", max_turns=1, silent=True)

    assert [row.text for row in session.messages()][-2:] == ["again", "hello"]


def test_other_errors_inside_a_tool_are_its_result(sqlite_url):
    """As AutoGen has it: the model is told, the chat goes on."""

    def pay(amount: int) -> str:
        raise ValueError("no money")

    executor, assistant = pair(pay)
    session = persist(executor, session_id="s", url=sqlite_url)

    chat(executor, assistant)

    assert "no money" in result_of(executor, assistant)[0]
    assert [row.type for row in session.rows() if row.kind == "tool"] == ["intent", "receipt"]


def test_a_divergence_in_a_chat_of_new_agents_stops_the_tools_chat(sqlite_url):
    """Also where the tool builds the agents of its chat, which is a run of its own."""
    words = iter(["first", "changed"])

    def act(session: Session) -> None:
        def pay(amount: int) -> str:
            actor("alpha").initiate_chat(
                actor("bravo"), message=next(words), max_turns=1, silent=True
            )
            raise Stop

        chat(*pair(pay))

    with pytest.raises(Stop):
        script(sqlite_url, act)
    with pytest.raises(Divergence, match="changed"):
        script(sqlite_url, act)

    assert receipts(sqlite_url) == []


def test_a_divergence_in_a_summary_stops_the_chat(sqlite_url):
    """From 0.9 on AutoGen makes an empty summary of every exception."""
    prompts = iter(["sum up", "sum up otherwise"])

    def act(session: Session) -> None:
        alpha = actor("alpha")
        bravo = autogen.AssistantAgent("bravo", llm_config=llm_config(server))
        result = alpha.initiate_chat(
            bravo, message="go", max_turns=1, silent=True, summary_method="reflection_with_llm",
            summary_args={"summary_prompt": next(prompts)},
        )  # fmt: skip
        assert result.summary
        raise Stop

    with ModelServer() as server:
        with pytest.raises(Stop):
            script(sqlite_url, act)
        with pytest.raises(Divergence):
            script(sqlite_url, act)
        assert server.count == 2


@needs_run
def test_a_persistence_error_in_a_run_reaches_whoever_processes_it(sqlite_url):
    """`run()` works in a thread; its error is raised by `process()`."""
    inner, pay = break_inside(catch=True)
    executor, assistant = pair(pay)
    persist(executor, session_id="s", url=sqlite_url)
    persist(inner, session_id="inner", url=sqlite_url, strict=True)

    with pytest.raises(NotJournalable):
        executor.run(assistant, message="go", max_turns=3, silent=True).process()


# A tool that was begun in an earlier process and has no receipt.


def paying(paid: list[int], is_async: bool = False, mark: Any = lambda tool: tool) -> Any:
    """A program whose tool is interrupted the first time."""
    pay = mark(interrupt_first(lambda amount: paid.append(amount) or f"paid {amount}"))
    made = []

    def act(session: Session) -> Any:
        tool = mark(as_async(pay)) if is_async else pay
        made[:] = pair(tool)
        chat(*made, is_async=is_async)
        return result_of(*made)

    return act


def as_async(tool: Any) -> Any:
    async def a_tool(amount: int) -> str:
        return tool(amount)

    return a_tool


@pytest.mark.parametrize("is_async", [False, True])
def test_an_unfinished_tool_is_run_again_with_a_warning(sqlite_url, is_async, caplog):
    """unfinished_tool='retry', the default: the log and the journal say so."""
    paid: list[int] = []
    act = paying(paid, is_async)
    with pytest.raises(KeyboardInterrupt):
        script(sqlite_url, act)

    with caplog.at_level(logging.WARNING, "autogen_persist"):
        assert script(sqlite_url, act) == ["paid 1"]

    assert paid == [1, 1]
    assert "'pay' of executor was begun" in caplog.text
    (event,) = rows(sqlite_url, "retried")
    assert (event.speaker, event.body["tool"], event.run) == ("executor", "pay", 1)


def test_what_was_retried_is_replayed(sqlite_url):
    """The third run finds one result, compares no administrative event, and goes on."""
    paid: list[int] = []
    act = paying(paid)
    with pytest.raises(Stop):
        script(sqlite_url, act)
    script(sqlite_url, act)

    assert script(sqlite_url, act) == ["paid 1"]
    assert paid == [1, 1]


def test_a_retried_tool_leaves_nothing_unfinished(sqlite_url):
    """The same call later in the chat is a new one, not the interrupted one again."""
    paid: list[int] = []
    pay = interrupt_first(lambda amount: paid.append(amount) or "paid")

    def act(turns: int) -> Any:
        return lambda session: chat(*pair(pay, *calls(1, 1, 1)), turns=turns)

    with pytest.raises(Stop):
        script(sqlite_url, act(2))
    script(sqlite_url, act(3))
    assert paid == [1, 1, 1]
    script(sqlite_url, act(4), unfinished_tool="fail")

    assert paid == [1, 1, 1, 1]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_unfinished_tool_may_be_an_error(sqlite_url, is_async):
    """unfinished_tool='fail' names tool, agent, run and remedy; nothing is run or written."""
    paid: list[int] = []
    act = paying(paid, is_async)
    with pytest.raises(KeyboardInterrupt):
        script(sqlite_url, act)

    with pytest.raises(UnfinishedTool) as caught:
        script(sqlite_url, act, unfinished_tool="fail")

    assert paid == [1]
    for words in ("'pay'", "executor", "run 1", "session 's'", "unfinished_tool='retry'", "UTC"):
        assert words in str(caught.value)
    assert receipts(sqlite_url) == []
    assert script(sqlite_url, act, unfinished_tool="retry") == ["paid 1"]


def test_nobody_to_ask_is_as_fail(sqlite_url):
    """unfinished_tool='ask' without a terminal does not guess."""
    act = paying([])
    with pytest.raises(Stop):
        script(sqlite_url, act)

    with pytest.raises(UnfinishedTool):
        script(sqlite_url, act, unfinished_tool="ask")


@pytest.mark.parametrize("is_async", [False, True])
def test_an_unfinished_tool_may_be_skipped(sqlite_url, is_async):
    """unfinished_tool='skip': the model is told that the outcome is unknown, also by a replay."""
    paid: list[int] = []
    act = paying(paid, is_async)
    with pytest.raises(KeyboardInterrupt):
        script(sqlite_url, act)

    (told,) = script(sqlite_url, act, unfinished_tool="skip")

    assert "interrupted" in told
    assert script(sqlite_url, act) == [told]
    assert paid == [1]
    (receipt,) = receipts(sqlite_url)
    assert receipt.body["skipped"] is True


# Marks.


@pytest.mark.parametrize("policy", ["retry", "fail"])
def test_a_tool_marked_once_is_not_run_again(sqlite_url, policy):
    """Whatever the session would do with others: the error says why, and offers no retry."""
    paid: list[int] = []
    act = paying(paid, mark=once)
    with pytest.raises(Stop):
        script(sqlite_url, act)

    with pytest.raises(UnfinishedTool, match="@once") as caught:
        script(sqlite_url, act, unfinished_tool=policy)

    assert paid == [1]
    assert "'retry'" not in str(caught.value)
    assert "interrupted" in script(sqlite_url, act, unfinished_tool="skip")[0]


def test_a_tool_marked_idempotent_is_run_again_without_a_word(sqlite_url, caplog):
    """Also where the session would fail."""
    paid: list[int] = []
    act = paying(paid, mark=idempotent)
    with pytest.raises(Stop):
        script(sqlite_url, act)

    with caplog.at_level(logging.WARNING, "autogen_persist"):
        assert script(sqlite_url, act, unfinished_tool="fail") == ["paid 1"]

    assert paid == [1, 1]
    assert [r for r in caplog.records if r.name == "autogen_persist"] == []


def test_a_tool_marked_rerun_rebuilds_its_state(sqlite_url):
    """It runs again when its chat is replayed, and writes nothing."""

    def act(session: Session) -> list[int]:
        ledger: list[int] = []

        @rerun
        def pay(amount: int) -> str:
            ledger.append(amount)
            return f"total {sum(ledger)}"

        chat(*pair(pay, *calls(1, 2)), turns=3)
        return ledger

    script(sqlite_url, act)
    before = rows(sqlite_url, "receipt", "intent", "message")

    assert script(sqlite_url, act) == [1, 2]
    assert rows(sqlite_url, "receipt", "intent", "message") == before


def test_a_rerun_with_another_result_is_a_divergence(sqlite_url):
    """The error names the tool and both results; the journal stays as it was."""
    numbers = itertools.count(1)

    @rerun
    def pay(amount: int) -> str:
        return f"receipt no. {next(numbers)}"

    def act(session: Session) -> None:
        chat(*pair(pay))

    script(sqlite_url, act)

    with pytest.raises(Divergence) as caught:
        script(sqlite_url, act)

    for words in ("'pay'", "executor", "receipt no. 1", "receipt no. 2", "@rerun"):
        assert words in str(caught.value)
    assert len(receipts(sqlite_url)) == 1


def test_a_tool_has_one_mark():
    """Two that contradict each other are an error at once."""
    with pytest.raises(ValueError, match="@once"):
        rerun(once(lambda: None))


def by_register_function(tool, executor, caller):
    register_function(tool, caller=caller, executor=executor, name="pay", description="pays")


def by_decorators(tool, executor, caller):
    executor.register_for_execution(name="pay")(
        caller.register_for_llm(name="pay", description="pays")(tool)
    )


def by_decorator_for_execution(tool, executor, caller):
    executor.register_for_execution(name="pay")(tool)


def by_map(tool, executor, caller):
    executor.register_function({"pay": tool})


def by_constructor(tool, executor, caller):
    executor._function_map.update(
        autogen.ConversableAgent("x", llm_config=False, function_map={"pay": tool})._function_map
    )


def by_partial(tool, executor, caller):
    executor.register_function({"pay": functools.partial(tool)})


def by_tool_object(tool, executor, caller):
    made = autogen.tools.Tool(name="pay", description="pays", func_or_tool=tool)
    made.register_for_execution(executor)


def by_tool_in_map(tool, executor, caller):
    executor.register_function(
        {"pay": autogen.tools.Tool(name="pay", description="pays", func_or_tool=tool)}
    )


WAYS = [by_register_function, by_decorators, by_decorator_for_execution, by_map, by_constructor,
        by_partial]  # fmt: skip
TOOL_WAYS = [pytest.param(way, marks=has_tools) for way in (by_tool_object, by_tool_in_map)]


def assert_marked_once(url: str, register: Any, is_async: bool = False) -> None:
    def act(session: Session) -> None:
        executor, assistant = pair(None)
        caller = actor("caller", llm_config=llm_config("http://127.0.0.1:9/v1"))
        register(executor, caller)
        chat(executor, assistant, is_async=is_async)

    with pytest.raises(KeyboardInterrupt):
        script(url, act)
    with pytest.raises(UnfinishedTool, match="@once"):
        script(url, act)


@pytest.mark.parametrize("way", [*WAYS, *TOOL_WAYS])
def test_a_mark_survives_registration(sqlite_url, way):
    """Through every way in which AutoGen takes a tool."""

    @once
    def pay(amount: int) -> str:
        raise Stop

    assert list(inspect.signature(pay).parameters) == ["amount"]
    assert_marked_once(sqlite_url, functools.partial(way, pay))


@pytest.mark.parametrize(
    "way", [by_register_function, by_decorator_for_execution, by_map, *TOOL_WAYS[:1]]
)
def test_a_mark_on_an_async_tool_survives_registration(sqlite_url, way):
    """The function stays a coroutine function."""

    @once
    async def pay(amount: int) -> str:
        raise Stop

    assert inspect.iscoroutinefunction(pay)
    assert_marked_once(sqlite_url, functools.partial(way, pay), is_async=True)


def test_a_mark_on_a_method_survives_registration(sqlite_url):
    """Bound to its object, as AutoGen calls it."""

    class Bank:
        @once
        def pay(self, amount: int) -> str:
            raise Stop

    assert_marked_once(sqlite_url, functools.partial(by_map, Bank().pay))


def test_a_mark_may_stand_above_the_registration(sqlite_url):
    """The order of the decorators does not matter."""

    def register(executor: Any, caller: Any) -> None:
        @once
        @executor.register_for_execution()
        @caller.register_for_llm(description="pays")
        def pay(amount: Annotated[int, "how much"]) -> str:
            raise Stop

    assert_marked_once(sqlite_url, register)


@has_tools
def test_a_mark_survives_dependency_injection(sqlite_url):
    """A parameter that AutoGen fills in is no obstacle."""

    def register(executor: Any, caller: Any) -> None:
        @executor.register_for_execution()
        @caller.register_for_llm(description="pays")
        @once
        def pay(amount: int, account: Annotated[str, Depends(on("savings"))]) -> str:
            assert account == "savings"
            raise Stop

    assert_marked_once(sqlite_url, register)


@pytest.mark.parametrize(("mark", "runs"), [(once, 0), (lambda tool: tool, 1)])
def test_once_is_refused_while_the_database_is_away(tmp_path, mark, runs):
    """on_error='continue' would forget that it ran; other tools run."""
    paid: list[int] = []
    executor, assistant = pair(mark(lambda amount: paid.append(amount) or "paid"))
    persist(executor, session_id="s", url=tmp_path / "a.db", on_error="continue", patience=0)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ToolRefused, match="'pay' of executor") if runs == 0 else nullcontext():
        chat(executor, assistant)
    other.execute("ROLLBACK")
    other.close()

    assert len(paid) == runs


def test_a_refused_tool_was_not_begun(tmp_path):
    """When the database is back, the chat resumes and the tool runs, once."""
    paid: list[int] = []
    pay = once(lambda amount: paid.append(amount) or "paid")
    url = f"sqlite:///{tmp_path}/a.db"
    away = iter([True, False])

    def act(session: Session) -> None:
        other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
        if next(away):
            other.execute("BEGIN IMMEDIATE")
        try:
            chat(*pair(pay))
        finally:
            other.close()

    with pytest.raises(ToolRefused):
        script(url, act, on_error="continue", patience=0)
    script(url, act)

    assert paid == [1]


# Idempotency keys.


@pytest.mark.parametrize("is_async", [False, True])
def test_a_retried_call_has_the_same_key(sqlite_url, is_async):
    """And every other call another one, also with the same arguments."""
    keys: list[str] = []
    pay = interrupt_first(lambda amount: keys.append(idempotency_key()) or "paid")

    def act(session: Session) -> None:
        tool = as_async(pay) if is_async else pay
        chat(*pair(tool, *calls(1, 1, 2)), turns=4, is_async=is_async)

    with pytest.raises(KeyboardInterrupt):
        script(sqlite_url, act)
    script(sqlite_url, act)

    first, again, *others = keys
    assert first == again
    assert len({first, *others}) == 3
    assert len(first) == 32
    assert int(first, 16)


def test_keys_of_two_sessions_differ(sqlite_url):
    """The same chat elsewhere is another call."""
    keys = []
    for name in ("one", "two"):
        executor, assistant = pair(lambda amount: keys.append(idempotency_key()) or "paid")
        with persist(executor, session_id=name, url=sqlite_url):
            chat(executor, assistant)

    assert keys[0] != keys[1]


def test_an_async_tool_in_a_sync_chat_has_a_key(sqlite_url):
    """0.14 runs it in a thread of its own."""
    keys: list[str] = []

    async def pay(amount: int) -> str:
        await asyncio.sleep(0)
        keys.append(idempotency_key())
        return "paid"

    executor, assistant = pair(pay)
    persist(executor, session_id="s", url=sqlite_url)

    chat(executor, assistant)

    assert len(keys) == 1


def test_there_is_no_key_outside_of_a_tool(monkeypatch):
    """A clear error; with AUTOGEN_PERSIST=off a tool gets one that is new each time."""
    with pytest.raises(OutsideTool, match="tool"):
        idempotency_key()

    monkeypatch.setenv("AUTOGEN_PERSIST", "off")
    assert idempotency_key() != idempotency_key()


# The user's own effects.


def test_an_effect_in_a_chat_is_answered_from_the_journal(sqlite_url):
    """A clock in a prompt stands still for the part that is replayed."""
    ticks = itertools.count(1)

    def act(session: Session) -> list[str]:
        now = session.effect(lambda: next(ticks))
        alpha, bravo = actor("alpha"), actor("bravo")
        bravo.register_reply(
            [autogen.Agent, None],
            lambda me, messages=None, sender=None, config=None: (True, f"it is {now()}"),
            position=0,
        )
        alpha.initiate_chat(bravo, message="when?", max_turns=2, silent=True)
        return [m["content"] for m in alpha.chat_messages[bravo] if m["name"] == "bravo"]

    assert script(sqlite_url, act) == ["it is 1", "it is 2"]
    assert script(sqlite_url, act) == ["it is 1", "it is 2"]
    assert next(ticks) == 3
    assert [row.run for row in receipts(sqlite_url, "user")] == [1, 1]


def test_an_effect_outside_of_chats_is_answered_too(sqlite_url):
    """Before and between the chats of a program, in its order; it belongs to run 0."""
    ticks = itertools.count(1)

    def act(session: Session, more: int = 0) -> list[int]:
        now = session.effect(lambda: next(ticks))
        times = [now()]
        actor("alpha").initiate_chat(
            actor("bravo"), message=f"it is {times[0]}", max_turns=1, silent=True
        )
        return times + [now() for _ in range(1 + more)]

    assert script(sqlite_url, act) == [1, 2]
    assert script(sqlite_url, act) == [1, 2]
    assert script(sqlite_url, functools.partial(act, more=1)) == [1, 2, 3]
    assert {row.run for row in receipts(sqlite_url, "user")} == {0}


def test_a_completed_program_begins_anew(sqlite_url):
    """After its end, effects outside of chats are live again."""
    ticks = itertools.count(1)

    def act(session: Session) -> int:
        ticked = session.effect(lambda: next(ticks))()
        session.event("completed", {})
        return ticked

    assert [script(sqlite_url, act), script(sqlite_url, act)] == [1, 2]


def test_an_effect_is_known_by_function_and_arguments(sqlite_url):
    """Another argument is another effect: a changed program is found out."""
    asked: list[str] = []

    def act(word: str, session: Session) -> str:
        @session.effect
        def fetch(word: str, *, times: int = 1) -> str:
            """Fetches."""
            asked.append(word)
            return word * times

        assert (fetch.__name__, fetch.__doc__) == ("fetch", "Fetches.")
        return fetch(word, times=2)

    script(sqlite_url, functools.partial(act, "a"))
    assert script(sqlite_url, functools.partial(act, "a")) == "aa"
    with pytest.raises(Divergence, match="fetch"):
        script(sqlite_url, functools.partial(act, "b"))

    assert asked == ["a"]


def test_an_async_effect_is_answered_from_the_journal(sqlite_url):
    """The wrapped function is awaited as before."""
    ticks = itertools.count(1)

    def act(session: Session) -> int:
        @session.effect
        async def now() -> int:
            await asyncio.sleep(0)
            return next(ticks)

        assert inspect.iscoroutinefunction(now)
        return asyncio.run(now())

    assert [script(sqlite_url, act), script(sqlite_url, act)] == [1, 1]


@pytest.mark.parametrize("value", [(1, 2), b"\x00\xff", {1: "a"}, None, float("inf"), "ü\0"])
def test_values_come_back_equal(sqlite_url, value):
    """What JSON lacks has a form of its own."""
    values = iter([value])

    def act(session: Session) -> Any:
        return session.effect(lambda: next(values))()

    assert script(sqlite_url, act) == value
    assert script(sqlite_url, act) == value


def test_a_failed_effect_fails_again_if_the_program_went_on(sqlite_url):
    """A caught failure is part of the past."""
    tries = itertools.count(1)

    def act(session: Session) -> list[Any]:
        @session.effect
        def fetch() -> int:
            if next(tries) == 1:
                raise TimeoutError("too slow")
            return 1

        try:
            fetch()
        except TimeoutError as error:
            return [str(error), fetch()]
        return []

    assert script(sqlite_url, act) == ["too slow", 1]
    assert script(sqlite_url, act) == ["too slow", 1]


def test_a_value_that_cannot_be_given_again_is_refused(sqlite_url):
    """Its type and text would do for a transcript, not for a resume."""
    session = instrument(session_id="s", url=sqlite_url)
    bad, good = session.effect(lambda: object()), session.effect(lambda: 1)

    with pytest.raises(NotJournalable, match=r"effect .*lambda.* holds .*object"):
        bad()

    assert good() == 1


def test_what_a_tool_asks_is_part_of_the_tool(sqlite_url):
    """Replayed, the tool is answered as a whole; the chat goes on live after it."""
    ticks = itertools.count(1)
    paid: list[str] = []

    def act(turns: int, session: Session) -> list[str]:
        now = session.effect(lambda: next(ticks))

        def pay(amount: int) -> str:
            paid.append(f"{amount} at {now()}")
            return paid[-1]

        made = pair(pay, *calls(5, 6))
        chat(*made, turns=turns)
        return result_of(*made)

    script(sqlite_url, functools.partial(act, 2))
    assert script(sqlite_url, functools.partial(act, 3)) == ["5 at 1", "6 at 2"]
    assert paid == ["5 at 1", "6 at 2"]


def test_an_interrupted_tool_keeps_what_it_had_asked(sqlite_url):
    """Run again, it gets the answers that it had."""
    ticks = itertools.count(1)
    seen: list[int] = []

    def act(session: Session) -> None:
        now = session.effect(lambda: next(ticks))
        chat(*pair(tool(now)))

    def tool(now: Any) -> Any:
        def pay(amount: int) -> str:
            seen.append(now())
            if len(seen) == 1:
                raise Stop
            return "paid"

        return pay

    with pytest.raises(Stop):
        script(sqlite_url, act)
    script(sqlite_url, act)

    assert seen == [1, 1]


def test_an_async_tool_asks_within_its_chat(sqlite_url):
    """0.14 runs it in a thread without our context; its effects find their run all the same."""

    def act(session: Session) -> None:
        now = session.effect(lambda: 1)

        async def pay(amount: int) -> str:
            return f"paid at {now()}"

        chat(*pair(pay))

    script(sqlite_url, act)

    assert [row.run for row in receipts(sqlite_url, "user")] == [1]


def test_under_persist_an_effect_is_journaled_in_its_chat(sqlite_url):
    """`session.effect` works with every way in; after close() it is the bare function."""
    executor, assistant = pair(lambda amount: f"paid at {now()}")
    session = persist(executor, session_id="s", url=sqlite_url)
    now = session.effect(lambda: 7)
    chat(executor, assistant)

    assert [r.type for r in session.rows() if r.kind == "user"] == ["intent", "receipt"]
    session.close()
    assert now() == 7


def test_off_means_the_bare_function(sqlite_url, monkeypatch):
    """AUTOGEN_PERSIST=off: nothing is wrapped."""
    monkeypatch.setenv("AUTOGEN_PERSIST", "off")

    def tick() -> int:
        return 1

    assert persist(actor("alpha"), session_id="s", url=sqlite_url).effect(tick) is tick
