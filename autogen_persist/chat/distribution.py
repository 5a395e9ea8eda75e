"""Every difference between the distributions that ship `import autogen`, in one place."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any
from weakref import WeakKeyDictionary

from autogen_persist.errors import AutoGenNotFound

NAMES = ("pyautogen", "autogen", "ag2", "autogen-agentchat")
SEND_HOOK = "process_message_before_send"
ASYNC_SEND_HOOK = "a_process_message_before_send"
"""Only in autogen-agentchat 0.2.36 to 0.2.40, where async chats do not call the other one."""
INSTALL = "pip install 'autogen-persist[pyautogen]'"


def installed() -> dict[str, str]:
    """Which of the distributions are installed, and in which version."""
    found = {}
    for name in NAMES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def load() -> Any:
    """The module `autogen` with the classic API, or AutoGenNotFound."""
    try:
        module = importlib.import_module("autogen")
    except ModuleNotFoundError as error:
        if error.name != "autogen":  # AutoGen is there and misses a package of its own
            raise
        module = None
    needed = ("ConversableAgent", "GroupChat", "GroupChatManager")
    if module is None or not all(hasattr(module, name) for name in needed):
        raise _not_found()
    return module


def _not_found() -> AutoGenNotFound:
    found = installed()
    if not found:
        return AutoGenNotFound(found="no distribution of it", command=INSTALL)
    text = " and ".join(f"{name} {version}" for name, version in found.items())
    # The newer packages lack the module and would shadow it again: they have to go first.
    return AutoGenNotFound(
        found=f"{text}, without the classic module",
        command=f"pip uninstall -y {' '.join(found)} && {INSTALL}",
    )


def describe() -> dict[str, Any]:
    """What the journal says of the AutoGen that wrote it."""
    return {"autogen": installed(), "autogen_version": getattr(load(), "__version__", None)}


def hooks_of(agent: Any) -> dict[str, list[Any]]:
    """The agent's hook lists; empty for agents that have none."""
    return getattr(agent, "hook_lists", {})


def groupchat_of(agent: Any) -> Any | None:
    """The group that this agent manages, if it manages one."""
    return agent.groupchat if is_manager(agent) else None


def is_manager(agent: Any) -> bool:
    """Whether an agent is a GroupChatManager.

    AutoGen's agents are protocols, for which isinstance() costs a microsecond each time.
    """
    kind = type(agent)
    known = _managers.get(kind)
    if known is None:
        known = _managers[kind] = issubclass(kind, load().GroupChatManager)
    return known


_managers: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def put_in_history(agent: Any, message: Any, peer: Any, *, sending: bool) -> None:
    """Let an agent file a message by its own method, in its version's shape."""
    append = agent._append_oai_message
    role = "assistant" if sending else "user"
    parameters = inspect.signature(append).parameters
    given: dict[str, Any] = {"message": message, "conversation_id": peer, "role": role}
    if "is_sending" in parameters:
        given["is_sending"] = sending
    if "name" in parameters:
        given["name"] = (agent if sending else peer).name
    append(**given)


def silent_agent(name: str) -> Any:
    """Somebody who has a name and never answers."""
    return load().ConversableAgent(
        name, llm_config=False, human_input_mode="NEVER", max_consecutive_auto_reply=0,
        code_execution_config=False,
    )  # fmt: skip


def roster_entry(agent: Any) -> dict[str, Any]:
    """An agent as an auditor wants to see it; never its keys."""
    config = getattr(agent, "llm_config", None)
    return {
        "name": agent.name,
        "class": f"{type(agent).__module__}.{type(agent).__qualname__}",
        "system_message": getattr(agent, "system_message", None),
        "models": _models(config),
        "tools": _tools(config),
    }


def _models(config: Any) -> list[str]:
    if not config:
        return []
    entries = _get(config, "config_list") or [config]
    models = (_get(entry, "model") for entry in entries)
    return [model for model in models if isinstance(model, str)]


def _tools(config: Any) -> list[Any]:
    return list(_get(config, "tools") or []) + list(_get(config, "functions") or [])


def _get(config: Any, key: str) -> Any:
    """From a dict in 0.2, from an LLMConfig object later."""
    if isinstance(config, Mapping):
        return config.get(key)
    return getattr(config, key, None)


def code_executors() -> list[tuple[type, str]]:
    """The classes that run code in this distribution, and the method that does."""
    coding = importlib.import_module("autogen.coding")
    kinds = [kind for kind in vars(coding).values() if inspect.isclass(kind)]
    name = "execute_code_blocks"
    return [(k, name) for k in kinds if inspect.isfunction(k.__dict__.get(name))]


def console() -> type:
    """The stream through which a person is asked at the terminal."""
    kind: type = importlib.import_module("autogen.io").IOConsole
    return kind
