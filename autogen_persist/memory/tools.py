"""`remember` and `recall` as tools of an agent.

Only methods of the agents are called, so AutoGen itself is not needed here.
"""

from typing import TYPE_CHECKING, Annotated, Any

from autogen_persist.errors import BadArgument
from autogen_persist.memory.learning import KINDS
from autogen_persist.memory.secrets import holds_secret

# The annotations are read by AutoGen when a tool is registered, so they are no strings here.
if TYPE_CHECKING:
    from autogen_persist.memory.memory import Memory

_REMEMBER = "Keep a decision, preference, fact, pattern or failure for later conversations."
_RECALL = "Look up what earlier conversations decided, found out, or failed at."


def register(memory: "Memory", caller: Any, executor: Any) -> None:
    """Let `caller` propose the two tools, and `executor` run them."""

    def remember(
        text: Annotated[str, "One sentence that can be understood on its own."],
        kind: Annotated[str, f"One of: {', '.join(KINDS)}."] = "fact",
    ) -> str:
        if holds_secret(text):
            return "Not kept: it looks like a secret."
        try:
            return f"Kept as learning {memory.remember(text, kind=kind)}."
        except BadArgument as error:  # the model can mend it
            return f"Not kept: {error}"

    def recall(query: Annotated[str, "What you want to know."]) -> str:
        try:
            return memory.recall(query, max_tokens=800).text
        except BadArgument as error:
            return f"Not found: {error}"

    for tool, description in ((remember, _REMEMBER), (recall, _RECALL)):
        name = tool.__name__
        caller.register_for_llm(name=name, description=description)(tool)
        executor.register_for_execution(name=name)(tool)
