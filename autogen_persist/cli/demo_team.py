"""The demo's script: four agents in a real group chat, without one word of persistence in it.

    autogen-persist run --session demo -m autogen_persist.cli.demo_team

Their model is imitated, through AutoGen's interface for custom models: no key, no network.
With DEMO_LEDGER it adds a line to that file whenever it is asked and whenever it has answered,
and tells on standard output what goes on; with DEMO_PAUSE it falls silent at that message, in
mid-sentence, until it is killed.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

from autogen_persist.chat.distribution import load

ROLES = ("planner", "coder", "tester", "reviewer")
GOOD = ["api", "my-app", "x", "2fa", "a" * 63]
BAD = ["", "My App", "-api", "api-", "a" * 64]


class Turn(NamedTuple):
    """What an agent says; a tool's result where nothing is scripted."""

    speaker: str
    text: str | None = None
    tries: str | None = None
    """A pattern to call the tool with."""
    refuse: list[str] = BAD


SCRIPT = (
    Turn("planner", "Project names become subdomains, so a name has to be a valid DNS label. "
         "Plan: the coder writes one pattern, the tester tries it on cases, "
         "the reviewer looks for what the cases miss."),
    Turn("coder", "First version: letters, digits and hyphens, at most 63 of them.",
         r"^[a-z0-9-]{1,63}$"),
    Turn("tester"),
    Turn("tester", "DNS refuses a hyphen at either end, and the pattern lets both through."),
    Turn("coder", "Second version: the first and the last character are no hyphens.",
         r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"),
    Turn("tester"),
    Turn("reviewer", "The rewrite lost the limit of 63. And one that no case covers: in Python "
         "`$` also matches before a final newline, so \"api\\n\" would pass."),
    Turn("planner", "Good find. Coder: put the limit into a lookahead and end with \\Z. "
         "Tester: the newline becomes a case."),
    Turn("coder", "Third version, with both.",
         r"^(?=.{1,63}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z", [*BAD, "api\n"]),
    Turn("tester"),
    Turn("reviewer", "It holds. One question is left: DNS ignores case, so what is \"Api\"?"),
    Turn("planner", "The same name as \"api\": we lower it first, then check, then store."),
    Turn("coder", "Agreed, `name.lower()` goes before the match, and the docstring says why."),
    Turn("reviewer", "APPROVED"),
)  # fmt: skip


def try_pattern(pattern: str, accept: list[str], refuse: list[str]) -> str:
    """The tool: try a pattern on names that it should accept and names that it should refuse."""
    _enter("ran a tool")
    wrong = [f"refuses {_short(name)}" for name in accept if not re.match(pattern, name)]
    wrong += [f"accepts {_short(name)}" for name in refuse if re.match(pattern, name)]
    cases = len(accept) + len(refuse)
    verdict = f"{cases - len(wrong)} of {cases} cases as expected"
    return f"{verdict}; it {' and '.join(wrong)}" if wrong else verdict


def _short(name: str) -> str:
    return json.dumps(name) if len(name) < 10 else f"{json.dumps(name[0])} x {len(name)}"


def message(number: int) -> dict[str, Any]:
    """The scripted message of a turn, in AutoGen's shape."""
    turn = SCRIPT[number]
    if turn.tries is None:
        return {"content": turn.text}
    arguments = {"pattern": turn.tries, "accept": GOOD, "refuse": turn.refuse}
    function = {"name": "try_pattern", "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"content": turn.text, "tool_calls": [call]}


class ScriptedModel:
    """A model that knows its lines. AutoGen finds it by `model_client_cls`."""

    def __init__(self, _config: Any, **_: Any) -> None: ...

    def create(self, params: dict[str, Any]) -> Any:
        number = sum(said["role"] != "system" for said in params["messages"])
        _enter(f"asked {number}")
        if number == int(os.environ.get("DEMO_PAUSE", -1)):
            words = str(SCRIPT[number].text)
            _tell("silent", SCRIPT[number].speaker, words[: len(words) // 2])
            sys.stdin.readline()
        _enter(f"answered {number}")
        _tell("live")
        return SimpleNamespace(id=f"call-{number}", model="scripted", choices=[message(number)])

    def message_retrieval(self, response: Any) -> list[Any]:
        return [said if "tool_calls" in said else said["content"] for said in response.choices]

    def cost(self, _response: Any) -> float:
        return 0.0

    @staticmethod
    def get_usage(_response: Any) -> dict[str, Any]:
        return {}


class Team:
    """The four agents and their manager."""

    def __init__(self) -> None:
        autogen = load()
        self._agents = {role: self._agent(autogen, role) for role in ROLES}
        chat = autogen.GroupChat(
            agents=list(self._agents.values()),
            messages=[],
            max_round=len(SCRIPT),
            speaker_selection_method=lambda _last, chat: self._next(chat.messages),
        )
        self._manager = autogen.GroupChatManager(
            groupchat=chat,
            llm_config=False,
            is_termination_msg=lambda said: said.get("content") == "APPROVED",
        )

    def chat(self) -> None:
        opener = self._agents[SCRIPT[0].speaker]
        opener.initiate_chat(self._manager, message=message(0))
        _tell("said", SCRIPT[-1].speaker)

    def _agent(self, autogen: Any, role: str) -> Any:
        entry = {"model": "scripted", "model_client_cls": "ScriptedModel"}
        agent = autogen.ConversableAgent(
            role,
            system_message=f"You are the {role} of a small team.",
            llm_config={"config_list": [entry], "cache_seed": None},
            human_input_mode="NEVER",
            function_map={"try_pattern": try_pattern} if role == "tester" else None,
        )
        agent.register_model_client(model_client_cls=ScriptedModel)
        agent.register_reply([autogen.Agent, None], self._listen, position=0)
        return agent

    def _next(self, messages: list[Any]) -> Any:
        return self._agents[SCRIPT[len(messages)].speaker]

    def _listen(self, _agent: Any, messages: list[Any], *_: Any, **__: Any) -> tuple[bool, Any]:
        """Tell what was heard; the reply itself comes from AutoGen's tools or from the model."""
        _tell("said", SCRIPT[len(messages) - 1].speaker)
        return False, None


LEDGER = os.environ.get("DEMO_LEDGER")
_stage = sys.stdout


def _enter(line: str) -> None:
    if LEDGER:
        with open(LEDGER, "a") as ledger:
            ledger.write(f"{line}\n")


def _tell(*words: str) -> None:
    if LEDGER:
        print(*words, sep="\t", file=_stage, flush=True)


def main() -> None:
    # At INFO it says of each agent that its model is not registered yet.
    logging.getLogger("autogen.oai.client").setLevel(logging.WARNING)
    # AutoGen prints what it does; whoever keeps a ledger is told in short.
    with contextlib.redirect_stdout(io.StringIO()) if LEDGER else contextlib.nullcontext():
        Team().chat()


if __name__ == "__main__":
    main()
