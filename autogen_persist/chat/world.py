"""Where a chat touches the world, and how each answer is journaled and given again.

Each function stands around one method of AutoGen: `original` is the method, the rest are
its arguments.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from operator import itemgetter
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from autogen_persist.chat import seats
from autogen_persist.chat.effects import a_perform, covered, digest_of, find, perform
from autogen_persist.chat.park import park_if_wanted
from autogen_persist.chat.tools import a_execute_function as a_execute_function
from autogen_persist.chat.tools import execute_function as execute_function
from autogen_persist.records import Row
from autogen_persist.store import body as bodies

_EXTRAS = ("cost", "config_id", "pass_filter")
_RETRIEVAL = "message_retrieval_function"

# Models.


def create(original: Any, wrapper: Any, **config: Any) -> Any:
    """OpenAIWrapper.create: one effect, whichever client of the list answers in the end."""
    agent = _asker(config.get("agent"))
    if seats.place_of(agent) is None or covered.get():
        return original(wrapper, **config)
    codec = (
        lambda response: _dump_response(response, wrapper),
        lambda answer: _load_response(answer, wrapper),
    )
    effect = find("model", agent, None, codec, digest=_request_digest(wrapper, config))
    before: Any = None

    def ask() -> Any:
        nonlocal before
        before = copy.deepcopy(wrapper.actual_usage_summary)
        return original(wrapper, **config)

    return perform(
        effect,
        ask,
        tell=lambda response: _bill(wrapper, response, before),
        replayed=lambda receipt: _charge(wrapper, receipt.body),
    )


def _asker(agent: Any) -> Any:
    """Who asks: some agents, such as the one for pictures, tell their client only their name."""
    if not isinstance(agent, str):
        return agent
    now = seats.here.get()
    # An async chat asks in another thread, where nothing says which run this is.
    among = now.run.agents if now else [a for a in list(seats._seated) if seats.seat(a).here]
    return next((each for each in among if each.name == agent), None)


_digests: dict[int, tuple[Any, Any, bytes]] = {}
"""By the id of a message: the message, its content, and its digest."""
_MOST_DIGESTS = 200_000


_front: WeakKeyDictionary[Any, tuple[list[Any], list[Any], Any]] = WeakKeyDictionary()
"""By client: the messages of its last request, their contents, and the state of their digest."""
_content = itemgetter("content")


def forget() -> None:
    """No session is open any more: let the messages go."""
    _digests.clear()
    _front.clear()


def _request_digest(wrapper: Any, config: Mapping[str, Any]) -> str:
    """Of messages, tools and response format; not of keys, addresses or settings.

    Requests hold the whole history, so each message is digested once: it is known again
    by being the same object with the same content.
    """
    state = _digest_messages(wrapper, config.get("messages") or [config.get("prompt")])
    settings = _settings(wrapper, config)
    state.update(bodies.dump(settings)[0])
    return str(state.hexdigest())


def _digest_messages(wrapper: Any, messages: list[Any]) -> Any:
    """The state of a digest over all messages, from where the last request ended if it can.

    A loop over 5,000 messages for each of 5,000 calls would take longer than the chat.
    """
    try:
        contents = list(map(_content, messages))
    except (KeyError, TypeError, IndexError):  # not AutoGen's usual dicts
        return _extended(blake2b(digest_size=16), messages)
    before, said, state = _front.get(wrapper) or ([], [], blake2b(digest_size=16))
    count = len(before)
    if messages[:count] != before or contents[:count] != said:
        count, state = 0, blake2b(digest_size=16)
    state = _extended(state.copy(), messages[count:])
    _front[wrapper] = (list(messages), contents, state.copy())
    return state


def _extended(state: Any, messages: list[Any]) -> Any:
    for message in messages:
        state.update(_message_digest(message))
    return state


def _message_digest(message: Any) -> bytes:
    content = message.get("content") if isinstance(message, dict) else message
    known = _digests.get(id(message))
    if known is not None and known[0] is message and known[1] is content:
        return known[2]
    digest = blake2b(bodies.dump(message)[0], digest_size=16).digest()
    if isinstance(message, dict):
        if len(_digests) > _MOST_DIGESTS:
            _digests.clear()
        _digests[id(message)] = (message, content, digest)
    return digest


def _settings(wrapper: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    first = (getattr(wrapper, "_config_list", None) or [{}])[0]
    tools = config.get("tools") or first.get("tools") or []
    wanted = config.get("response_format") or first.get("response_format")
    return {
        "tools": sorted(digest_of(tool) for tool in tools),
        "functions": config.get("functions") or first.get("functions"),
        "format": getattr(wanted, "__qualname__", wanted),
    }


def _dump_response(response: Any, wrapper: Any) -> dict[str, Any]:
    """The response by its fields; of a custom client's own kind only what agents take from it."""
    kept = {name: getattr(response, name, None) for name in _EXTRAS}
    kind = type(response)
    if hasattr(kind, "model_construct"):
        names = {*kind.model_fields, *(response.model_extra or {})} - {*_EXTRAS, _RETRIEVAL}
        fields = {name: getattr(response, name) for name in sorted(names)}
        if not bodies.dump(fields)[1]:
            shape = f"{kind.__module__}:{kind.__qualname__}"
            return {
                **kept,
                "shape": shape,
                "fields": fields,
                "legacy": hasattr(response, _RETRIEVAL),
            }
    return {**kept, "texts": wrapper.extract_text_or_completion_object(response)}


def _load_response(answer: Mapping[str, Any], wrapper: Any) -> Any:
    if "shape" in answer:
        response = bodies.revive(answer["shape"], dict(answer["fields"]))
        if answer["legacy"]:
            client = wrapper._clients[answer["config_id"] or 0]
            response.message_retrieval_function = client.message_retrieval
    else:
        texts = answer["texts"]
        response = SimpleNamespace(choices=[], message_retrieval_function=lambda _: texts)
    for name in _EXTRAS:
        if answer[name] is not None:
            setattr(response, name, answer[name])
    return response


def _bill(wrapper: Any, response: Any, before: Any) -> dict[str, Any]:
    """Model, tokens and cost, and whether AutoGen's cache had it."""
    client = wrapper._clients[getattr(response, "config_id", None) or 0]
    usage = client.get_usage(response) or {}
    cached = wrapper.actual_usage_summary == before and bool(usage)
    return {"usage": dict(usage), "cached": cached}


def _charge(wrapper: Any, receipt: Mapping[str, Any]) -> None:
    """Count the replayed call as AutoGen counted it, so that summaries agree."""
    usage = receipt.get("usage") or None
    actual = None if receipt.get("cached") else usage
    wrapper._update_usage(actual_usage=actual, total_usage=dict(usage) if usage else None)


# People, code and chance.


def get_human_input(original: Any, agent: Any, prompt: str, *args: Any, **kwargs: Any) -> Any:
    effect = find("human", agent, {"prompt": prompt})

    def ask() -> Any:
        with _one_question(effect, agent, prompt):
            return original(agent, prompt, *args, **kwargs)

    return perform(
        effect,
        ask,
        about={"prompt": prompt},
        replayed=lambda receipt: _note_answer(agent, receipt),
    )


async def a_get_human_input(
    original: Any, agent: Any, prompt: str, *args: Any, **kwargs: Any
) -> Any:
    effect = find("human", agent, {"prompt": prompt})

    async def ask() -> Any:
        with _one_question(effect, agent, prompt):
            return await original(agent, prompt, *args, **kwargs)

    return await a_perform(
        effect,
        ask,
        about={"prompt": prompt},
        replayed=lambda receipt: _note_answer(agent, receipt),
    )


def _note_answer(agent: Any, receipt: Row) -> None:
    """AutoGen keeps a list of what people said, for the chat's result."""
    if isinstance(getattr(agent, "_human_input", None), list):
        agent._human_input.append(receipt.body["answer"])


def read_line(original: Any, stream: Any, prompt: str = "", **kwargs: Any) -> Any:
    """IOStream.input: a person who is asked to choose the next speaker, for one."""
    return _ask(prompt, lambda: original(stream, prompt, **kwargs))


def read_input(original: Any, prompt: Any = "") -> Any:
    """The builtin `input()` of a script, in a chat or outside of any."""
    return _ask(str(prompt), lambda: original(prompt))


def _ask(prompt: str, live: Callable[[], Any]) -> Any:
    effect = find("human", None, {"prompt": prompt})

    def ask() -> Any:
        with _one_question(effect, None, prompt):
            return live()

    return perform(effect, ask, about={"prompt": prompt})


@contextmanager
def _one_question(effect: Any, agent: Any, prompt: str) -> Iterator[None]:
    """Around the way to a person: an agent asks a stream, which asks `input()`."""
    if effect is not None:
        park_if_wanted(seats.place_of(agent), prompt)
    token = covered.set(True)
    try:
        yield
    finally:
        covered.reset(token)


def execute_code_blocks(original: Any, agent: Any, code_blocks: Any) -> Any:
    """The code execution of agents without an executor."""
    effect = find("code", agent, code_blocks, (list, tuple))
    return perform(effect, lambda: original(agent, code_blocks))


def run_code_blocks(original: Any, executor: Any, code_blocks: Any) -> Any:
    """CodeExecutor.execute_code_blocks."""
    request = [{"language": b.language, "code": b.code} for b in code_blocks]
    return perform(find("code", None, request), lambda: original(executor, code_blocks))


def random_select_speaker(original: Any, group: Any, agents: Any = None) -> Any:
    among = group.agents if agents is None else agents

    def named(name: Any) -> Any:
        return next((agent for agent in among if agent.name == name), None)

    codec = (lambda agent: getattr(agent, "name", None), named)
    effect = find("chance", None, [agent.name for agent in among], codec)
    return perform(effect, lambda: original(group, agents))
