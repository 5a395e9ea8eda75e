"""The model that the scripts talk to: what it answers depends on nothing but what it is asked.

But for one thing: a model that is away is there again when it is asked once more.
"""

from __future__ import annotations

import json

from tests.support.model_server import Refused, digest, tool_call

STUBBORN = "refuse me"
AWAY = "gpt-4o-mini-away"


class Model:
    """Chooses speakers, calls tools and writes code where it is asked to."""

    def __init__(self) -> None:
        self._away_for: set[str] = set()

    def __call__(self, request):
        words = json.dumps(request["messages"])
        if STUBBORN in words:
            raise Refused(500)
        if request["model"] == AWAY:
            self._be_away_once(digest(request))
        if "select the next role" in words or "select the next speaker" in words.lower():
            return ("coder", "tester", "planner")[len(request["messages"]) % 3]
        if request.get("tools"):
            return _use_tool(request, words)
        if "write code" in words:
            return _write_code(request)
        return None

    def _be_away_once(self, asked):
        if asked not in self._away_for:
            self._away_for.add(asked)
            raise Refused((500, 429)[len(self._away_for) % 2])


def _use_tool(request, words):
    """The first tool that is offered, twice in all; two at once where that is asked for."""
    name = min(tool["function"]["name"] for tool in request["tools"])
    used = words.count(f'"name": "{name}"')
    if used >= 2:
        return None
    numbers = (1, 2) if "both at once" in words and not used else (used + 1,)
    hands_over = name.startswith("transfer")
    given = [{} if hands_over else {"amount": n} for n in numbers]
    return {"tool_calls": [tool_call(name, f"{name}_{used}_{n}", **g) for n, g in enumerate(given)]}


def _write_code(request):
    """Code that leaves a line in the log of tools, and says so."""
    line = f"ran {len(request['messages'])}"
    program = f"import os\nopen(os.environ['TOOL_LOG'], 'a').write('{line}\\n')\nprint('{line}')"
    return f"```python\n{program}\n```\n{digest(request)}"
