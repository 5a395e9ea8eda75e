"""Kill it anywhere, run it again: it ends as if it had never been killed."""

from __future__ import annotations

import pytest

from tests.crash.trials import SCENARIOS, World, attempt, available, spread


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_any_point_is_not_felt(tmp_path, shared_url, nursery, calm, sample, scenario):
    """Same state, byte for byte; no call beyond the one in flight, no finished tool twice."""
    if scenario not in available(nursery):
        pytest.skip(f"this AutoGen has no {SCENARIOS[scenario]}")
    expected, backend = calm(scenario), shared_url.partition(":")[0]

    outcomes = []
    for point in spread(expected.points(), f"{scenario} {backend}")[: sample[backend]]:
        name = f"{scenario} {point}"
        with World(tmp_path / point, shared_url, scenario, nursery, session=name) as world:
            outcomes.append(attempt(world, expected, point))

    assert [outcome for outcome in outcomes if not outcome.ok] == []


@pytest.mark.parametrize("kill", ["after:6", "before:11", "asked:4"])
def test_chance_is_journaled(tmp_path, shared_url, nursery, kill):
    """A random choice falls the same way again, on every backend."""
    with World(tmp_path / "w", shared_url, "chance", nursery, session=f"chance {kill}") as world:
        assert world.run(kill) == -9
        before = speakers(world)
        assert world.run() == 0, world.output
        assert speakers(world)[: len(before)] == before


def speakers(world):
    return [row.speaker for row in world.rows() if row.type == "message"]


def test_it_may_be_killed_again_and_again(tmp_path, shared_url, nursery, calm):
    """Four kills, three of them while it resumes: the same end, each finished tool once."""
    with World(tmp_path / "w", shared_url, "tools", nursery, session="again") as world:
        outcome = attempt(world, calm("tools"), "after:9+before:1+after:3+doing:1")

    assert outcome.ok, outcome


def test_a_completed_script_is_not_run_again_by_accident(tmp_path, sqlite_url, nursery):
    """The second start says that it is complete; --again runs it once more."""
    with World(tmp_path / "w", sqlite_url, "round_robin", nursery) as world:
        assert world.run() == 0
        calls = world.server.calls
        assert world.run() == 0
        assert "is complete" in world.output
        assert world.server.calls == calls
        assert world.run(options=["--again"]) == 0, world.output
        assert world.server.calls == 2 * calls
