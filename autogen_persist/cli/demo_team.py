"""The demo's team: four scripted agents in a real group chat. No model, no key, no network.

    python -m autogen_persist.cli.demo_team [PAUSE_AFTER]

The speaker of each message is printed once the next agent has heard it. After PAUSE_AFTER
messages the team waits at standard input, as if for a slow model, so that it can be killed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from typing import Any, NamedTuple, TextIO

from autogen_persist.chat.distribution import load
from autogen_persist.errors import PersistError
from autogen_persist.persist import persist

SESSION = "demo"
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


class Team:
    """The four agents and their manager."""

    def __init__(self, told: TextIO, pause_after: int | None) -> None:
        autogen = load()
        self._told, self._pause_after = told, pause_after
        self._agents = {role: self._agent(autogen, role) for role in ROLES}
        chat = autogen.GroupChat(
            agents=list(self._agents.values()),
            messages=[],
            max_round=len(SCRIPT),
            speaker_selection_method=lambda _last, chat: self._next(chat.messages),
        )
        self.manager = autogen.GroupChatManager(
            groupchat=chat,
            llm_config=False,
            is_termination_msg=lambda said: said.get("content") == "APPROVED",
        )

    def chat(self) -> None:
        opener = self._agents[SCRIPT[0].speaker]
        opener.initiate_chat(self.manager, message=message(0), silent=True)
        self._tell(len(SCRIPT))

    def _agent(self, autogen: Any, role: str) -> Any:
        agent = autogen.ConversableAgent(
            role,
            llm_config=False,
            human_input_mode="NEVER",
            function_map={"try_pattern": try_pattern} if role == "tester" else None,
        )
        agent.register_reply([autogen.Agent, None], self._reply, position=0)
        return agent

    def _next(self, messages: list[Any]) -> Any:
        return self._agents[SCRIPT[len(messages)].speaker]

    def _reply(self, _agent: Any, messages: list[Any], *_: Any, **__: Any) -> tuple[bool, Any]:
        """The next line of the script; at a tool's turn AutoGen's own reply runs the tool."""
        number = len(messages)
        self._tell(number)
        if number == self._pause_after:
            sys.stdin.readline()
        scripted = SCRIPT[number].text is not None
        return scripted, message(number) if scripted else None

    def _tell(self, heard: int) -> None:
        print(SCRIPT[heard - 1].speaker, file=self._told, flush=True)


def main(arguments: list[str]) -> int:
    told = sys.stdout
    pause_after = int(arguments[0]) if arguments else None
    try:
        # AutoGen prints what it does, even in silent chats.
        with contextlib.redirect_stdout(io.StringIO()):
            team = Team(told, pause_after)
            with persist(team.manager, session_id=SESSION):
                team.chat()
    except PersistError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
