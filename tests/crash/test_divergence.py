"""A script that is not what it was is found out before it calls or does anything."""

from __future__ import annotations

import pytest

from tests.crash.trials import World


@pytest.fixture
def world(tmp_path, sqlite_url, nursery):
    """A function that opens a scenario and kills it late in its life."""
    opened = []

    def begin(scenario: str, kill: str, **env: str) -> World:
        made = World(tmp_path / "w", sqlite_url, scenario, nursery).__enter__()
        opened.append(made)
        assert made.run(kill, **env) == -9, made.output
        return made

    yield begin
    for made in opened:
        made.__exit__()


def assert_found_out(world: World, **env: str) -> None:
    """It stops with exit code 1, says in which run, has cost nothing and written nothing."""
    calls, tools, rows = world.server.count, world.tools, world.rows()

    assert world.run(**env) == 1, world.output

    assert (world.server.count, world.tools) == (calls, tools)
    assert "Divergence" in world.output
    assert "run 1" in world.output
    assert [r for r in world.rows()[len(rows) :] if r.kind != "process"] == []


@pytest.mark.parametrize("change", ["prompt", "clock"])
def test_an_edited_prompt_or_a_clock_in_it(world, change):
    """The first model call that reads it is not made."""
    assert_found_out(world("round_robin", "after:12"), CHANGE=change)


def test_a_set_in_a_prompt_under_another_hash_seed(world):
    """The order of a set is another one with another PYTHONHASHSEED."""
    begun = world("round_robin", "after:12", CHANGE="set", PYTHONHASHSEED="1")

    assert_found_out(begun, CHANGE="set", PYTHONHASHSEED="2", fresh=True)


def test_run_gives_a_session_its_own_hash_seed(world):
    """Without PYTHONHASHSEED a set has the same order each time the session is run."""
    begun = world("round_robin", "asked:4", CHANGE="set", PYTHONHASHSEED="")

    assert begun.run(CHANGE="set", PYTHONHASHSEED="") == 0, begun.output
    assert begun.server.calls == 5 + 1  # the one that was in flight


def test_an_edited_opening(world):
    """Another first message: nobody hears it."""
    assert_found_out(world("round_robin", "after:12"), CHANGE="opening")


def test_a_renamed_agent(world):
    """The one who speaks next has another name: the model is not asked in its name."""
    assert_found_out(world("round_robin", "after:12"), CHANGE="name")


def test_a_tool_whose_schema_changed(world):
    """What a model was told about its tools is part of what it was asked."""
    assert_found_out(world("tools", "after:12"), CHANGE="schema")


def test_a_tool_that_would_return_something_else_now(world):
    """A tool with a receipt is not run, so what it would say does not matter."""
    begun = world("tools", "after:10")
    assert begun.tools == ["paid 1"]

    assert begun.run(CHANGE="result") == 0, begun.output
    assert begun.tools == ["paid 1", "paid 2"]
    assert "paid 1, and more" not in begun.state
    assert "paid 2, and more" in begun.state


@pytest.mark.parametrize(
    ("scenario", "change", "chat", "message"),
    [
        ("round_robin", "prompt", "planner>chat_manager", 2),
        ("round_robin", "opening", "planner>chat_manager", 1),
        ("round_robin", "name", "planner>chat_manager", 2),
        ("tools", "schema", "user>coder", 2),
    ],
)
def test_the_error_names_chat_and_message(world, scenario, change, chat, message):
    """Whoever reads it finds the place in the transcript: by chat, and by the message's number."""
    begun = world(scenario, "after:12")

    assert begun.run(CHANGE=change) == 1

    assert f"chat '{chat}'" in begun.output
    assert f"message {message}" in begun.output
