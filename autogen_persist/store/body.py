"""Message bodies as JSON text that comes back equal.

Plain JSON values are stored as they are. What JSON lacks has a tagged form, a
dict of one key:

    {"$bytes": "aGk="}                      bytes, in base64
    {"$tuple": [1, 2]}                      a tuple
    {"$map": [[1, "a"], [2, "b"]]}          a dict whose keys are not all text, or look like a tag
    {"$float": "nan"}                       nan, inf, -inf
    {"$model": ["module:Class", {…}]}       a pydantic model by its fields; equal again where its
                                            class is loaded (… "json"] if pydantic had to help)
    {"$opaque": ["builtins.function", "…"]} anything else: its type and text, which is all we keep
"""

from __future__ import annotations

import base64
import json
import math
import re
import sys
from typing import Any

TAGS = frozenset({"$bytes", "$tuple", "$map", "$float", "$model", "$opaque"})
OPAQUE_TEXT = 10_000
"""Characters kept of a value that can only be shown."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_scan: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_ascii = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode


class Tagged(dict[str, Any]):
    """A loaded value that stays a tag, because the thing itself is not here; dumps as it was."""


def dump(value: Any) -> tuple[bytes, list[str]]:
    """The JSON text of a value, and a complaint for each part that JSON cannot hold."""
    problems: list[str] = []
    try:
        return to_bytes(value if is_plain(value) else _tagged(value, "message", problems)), problems
    except (RecursionError, ValueError):  # cyclic, endless, or a number of 5,000 digits
        return _dump_in_parts(value)


def _dump_in_parts(value: Any) -> tuple[bytes, list[str]]:
    """Of a message that cannot be held whole, every part that can."""
    if not isinstance(value, dict):
        return to_bytes(_opaque(value)), [f"message is a {_type_name(value)} that JSON cannot hold"]
    kept: dict[str, Any] = {}
    problems: list[str] = []
    for key, item in value.items():
        name, path = str(key), f"message[{key!r}]"
        try:
            kept[name] = _tagged(item, path, problems)
            to_bytes(kept[name])
        except (RecursionError, ValueError) as error:
            kept[name] = _opaque(item)
            problems.append(f"{path} ({type(error).__name__})")
    return to_bytes(kept), problems


def load(text: str | bytes) -> Any:
    """The value that was dumped."""
    if isinstance(text, bytes):
        text = text.decode()
    # We wrote the text: there is no white space around it, and nothing after it.
    value = _scan(text, 0)[0]
    # A tag can only be there if its dollar sign is: most texts need no second walk.
    return _untagged(value) if "$" in text and '{"$' in text else value


def to_bytes(value: Any) -> bytes:
    try:
        return _text(value).encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, but it has an escape
        return _ascii(value).encode()


def is_plain(value: Any) -> bool:
    """Whether json gives this very value back, types included."""
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int:
        return True
    if kind is dict:
        if len(value) == 1 and next(iter(value)) in TAGS:
            return False
        # Not all(…): a generator costs a second frame for each level of depth.
        for key, item in value.items():  # noqa: SIM110
            if type(key) is not str or not is_plain(item):
                return False
        return True
    if kind is list:
        return all(map(is_plain, value))
    return kind is float and math.isfinite(value)


def _tagged(value: Any, path: str, problems: list[str]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, list):
        return [_tagged(item, f"{path}[{n}]", problems) for n, item in enumerate(value)]
    if isinstance(value, Tagged):
        return dict(value)
    if isinstance(value, dict):
        return _tagged_dict(value, path, problems)
    if isinstance(value, tuple):
        return {"$tuple": [_tagged(v, f"{path}[{n}]", problems) for n, v in enumerate(value)]}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    if _model_name(type(value)):
        return _tagged_model(value, path, problems)
    problems.append(f"{path} is a {_type_name(value)}")
    return _opaque(value)


def _tagged_dict(value: dict[Any, Any], path: str, problems: list[str]) -> dict[str, Any]:
    clash = len(value) == 1 and next(iter(value)) in TAGS
    if not clash and all(isinstance(key, str) for key in value):
        return {str.__str__(k): _tagged(v, f"{path}[{k!r}]", problems) for k, v in value.items()}
    pairs = [
        [_tagged(k, f"{path} key", problems), _tagged(v, f"{path}[{k!r}]", problems)]
        for k, v in value.items()
    ]
    return {"$map": pairs}


def _tagged_model(value: Any, path: str, outer: list[str]) -> dict[str, Any]:
    """By its fields, which keeps the classes of models inside; else as pydantic's own JSON."""
    name = _model_name(type(value))
    problems: list[str] = []
    names = [*type(value).model_fields, *(value.model_extra or {})]
    fields = {field: _tagged(getattr(value, field), path, problems) for field in names}
    if not problems:
        return {"$model": [name, fields]}
    try:
        return {"$model": [name, _tagged(value.model_dump(mode="json"), path, []), "json"]}
    except Exception:  # noqa: BLE001 - a field that pydantic cannot serialise, for whatever reason
        outer.extend(problems)
        return {"$model": [name, fields]}


def _opaque(value: Any) -> dict[str, Any]:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a foreign __repr__ may raise anything
        text = f"<repr raised {type(error).__name__}>"
    # Without its address, which is another one in the next process.
    return {"$opaque": [_type_name(value), _ADDRESS.sub("", text)[:OPAQUE_TEXT]]}


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _model_name(kind: type) -> str | None:
    """'module:Class' of a pydantic model, without importing pydantic for those who lack it."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not issubclass(kind, pydantic.BaseModel):
        return None
    return f"{kind.__module__}:{kind.__qualname__}"


def _untagged(value: Any) -> Any:
    if isinstance(value, list):
        return [_untagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, inner),) = value.items()
        if tag in TAGS:
            return _untag(tag, inner)
    return {key: _untagged(item) for key, item in value.items()}


def _untag(tag: str, inner: Any) -> Any:
    if tag == "$bytes":
        return base64.b64decode(inner)
    if tag == "$float":
        return float(inner)
    if tag == "$tuple":
        return tuple(_untagged(item) for item in inner)
    if tag == "$map":
        return {_untagged(key): _untagged(item) for key, item in inner}
    if tag == "$model":
        return revive(*inner) or Tagged({tag: inner})
    return Tagged({tag: inner})


def revive(name: str, fields: Any, form: str = "fields") -> Any:
    """The pydantic model again, if the program has loaded its class; else None.

    Nothing is imported, and fields are set without validators: a journal must not run code.
    """
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and _model_name(found) is not None:
        model: Any = found
        fields = _untagged(fields)
        try:
            if form == "json":
                return model.model_validate(fields)
            return model.model_construct(**fields)
        except (ValueError, TypeError):
            pass  # the class has changed since
    return None
