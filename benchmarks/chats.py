"""Whole chats of AutoGen: what the journal adds to each message.

Scripted agents speak in turn; no model is called and nothing is printed. Each turn has
new agents and a new database.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import redirect_stdout

from autogen import ConversableAgent, GroupChat, GroupChatManager

from autogen_persist import persist
from autogen_persist.opening import new_id
from benchmarks.bench import Bench, interleave, medians, messages, timed
from benchmarks.report import Grid, Report, micros
from benchmarks.rivals import Raw

WORDS = messages(1)[0]["content"]
Turn = Callable[[int], float]


def run(bench: Bench) -> Report:
    report = Report("whole chats")
    length = 100 if bench.quick else 1_000
    for size in (3, 12):
        bench.say(f"whole chats: {size} agents, {length:,} messages, {bench.rounds} rounds")
        costs = medians(interleave(_turns(bench, size, length), bench.rounds))
        report.grids.append(_grid(f"{size} agents, {length:,} messages", costs))
        for durability in ("full", "normal"):
            added = (costs[durability] - costs["bare"]) / costs[f"raw {durability}"]
            report.add(f"{size} agents, {durability}: added / raw append", added, 2.0)
        if "behind" in costs:
            ratio = costs["behind"] / costs["bare"]
            report.add(f"{size} agents, behind, with its drain: chat / bare chat", ratio, 1.5)
    return report


def _turns(bench: Bench, size: int, length: int) -> dict[str, Turn]:
    turns: dict[str, Turn] = {"bare": lambda _: _bare(size, length)}
    for durability in ("full", "normal"):
        turns[f"raw {durability}"] = lambda _, how=durability: _raw(bench, how, length)
        turns[durability] = lambda _, how=durability: _journaled(bench, how, size, length)
    if size == 3:
        turns["behind"] = lambda _: _journaled(bench, "behind", size, length)
    return turns


def _bare(size: int, length: int) -> float:
    first, manager = _group(size, length)
    return _timed_quietly(lambda: _talk(first, manager)) / length


def _journaled(bench: Bench, durability: str, size: int, length: int) -> float:
    first, manager = _group(size, length)
    url = bench.new_folder() / "ours.db"
    session = persist(manager, session_id=new_id(), url=url, durability=durability)

    def talk() -> None:
        _talk(first, manager)
        if durability == "behind":
            session.close()

    seconds = _timed_quietly(talk)
    session.close()
    return seconds / length


def _raw(bench: Bench, durability: str, length: int) -> float:
    raw = Raw(bench.new_folder(), durability)
    append, batch = raw.open(new_id(), []), messages(length)
    seconds = _timed_quietly(lambda: append(batch))
    raw.close()
    return seconds / length


def _group(size: int, length: int) -> tuple[ConversableAgent, GroupChatManager]:
    agents = [
        ConversableAgent(
            f"agent_{n}",
            llm_config=False,
            human_input_mode="NEVER",
            default_auto_reply=WORDS,
            max_consecutive_auto_reply=length,
        )
        for n in range(size)
    ]
    chat = GroupChat(
        agents=agents, messages=[], max_round=length, speaker_selection_method="round_robin"
    )
    return agents[0], GroupChatManager(groupchat=chat, llm_config=False)


def _talk(first: ConversableAgent, manager: GroupChatManager) -> None:
    first.initiate_chat(manager, message=WORDS, silent=True)
    assert len(manager.groupchat.messages) == manager.groupchat.max_round


def _timed_quietly(act: Callable[[], object]) -> float:
    gc.collect()
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        return timed(act)


def _grid(title: str, costs: dict[str, float]) -> Grid:
    rows = [(name, micros(seconds)) for name, seconds in costs.items()]
    return Grid(title="", columns=(title, "per message"), rows=rows)
