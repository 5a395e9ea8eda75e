"""Any message comes back equal, on every backend."""

from __future__ import annotations

import datetime
import enum
import math
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from autogen_persist.store import body as bodies

text = st.text(alphabet=st.characters(), max_size=30)  # NUL and lone surrogates included
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
beyond_json = st.recursive(
    st.binary(max_size=20) | st.floats(allow_nan=False) | st.integers() | text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | text | st.sampled_from(sorted(bodies.TAGS)), inner)
    ),
    max_leaves=8,
)


class Point(BaseModel):
    x: int
    data: bytes = b""
    inner: Point | None = None


class Special(Point):
    why: str = ""


class Dated(BaseModel):
    when: datetime.date


class Unserialisable(BaseModel):
    act: Callable[..., object]


class Colour(str, enum.Enum):
    RED = "red"


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(message=st.dictionaries(text, plain, max_size=5))
def test_any_json_message_survives_the_database(store, message):
    """What JSON can say, the journal gives back equal."""
    said = store.append("s", "coder", message)

    assert store.messages("s", after=said.seq - 1)[0].body == message


@given(value=plain | beyond_json)
def test_dump_and_load_are_the_identity(value):
    """Bytes, tuples, other keys and our own tags come back equal too, without a complaint."""
    content, problems = bodies.dump(value)

    assert bodies.load(content) == value
    assert problems == []


@pytest.mark.parametrize(
    "value",
    [
        Point(x=1),
        Point(x=2, data=b"\0", inner=Point(x=3)),
        Point(x=4, inner=Special(x=5, why="a subclass inside")),
        Dated(when=datetime.date(2026, 1, 2)),
    ],
)
def test_a_pydantic_model_comes_back_equal(value):
    """A model is itself again where its class is loaded."""
    assert bodies.load(bodies.dump({"m": value})[0]) == {"m": value}


def test_a_model_of_an_unknown_class_stays_readable():
    """A journal never imports code: an unknown class is shown by name and fields."""
    stored = b'{"$model":["no.such.module:Thing",{"x":1}]}'

    assert bodies.load(stored) == {"$model": ["no.such.module:Thing", {"x": 1}]}


def test_infinities_and_nan_are_kept():
    """Numbers that JSON lacks have a form of their own."""
    back = bodies.load(bodies.dump([math.inf, -math.inf, math.nan])[0])

    assert back[:2] == [math.inf, -math.inf]
    assert math.isnan(back[2])


def test_an_enum_of_text_is_its_text():
    """A str that is also an enum comes back as the equal str."""
    assert bodies.load(bodies.dump({"c": Colour.RED})[0]) == {"c": "red"}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"content": print}, "message['content'] is a builtins.builtin_function_or_method"),
        ({"a": [1, {"b": object()}]}, "message['a'][1]['b'] is a builtins.object"),
    ],
)
def test_what_cannot_be_held_is_named_by_its_path(value, path):
    """The complaint says where in the message the value is and what it is."""
    assert bodies.dump(value)[1] == [path]


def test_a_value_that_contains_itself_is_journaled_as_text():
    """A cycle is no reason to lose a message."""
    loop: dict = {}
    loop["self"] = loop
    content, problems = bodies.dump(loop)

    assert list(bodies.load(content)["self"]) == ["$opaque"]
    assert problems == ["message['self'] (RecursionError)"]


@pytest.mark.parametrize("bad", [10**6000, Unserialisable(act=print)], ids=["digits", "model"])
def test_one_bad_value_does_not_take_the_others_along(bad):
    """The words of a message are kept, whatever else is in it, and the path is named."""
    content, problems = bodies.dump({"content": "hello", "extra": bad})

    assert bodies.load(content)["content"] == "hello"
    assert "message['extra']" in problems[0]


def test_three_hundred_levels_are_no_problem():
    """Deep JSON comes back equal."""
    deep: object = "end"
    for _ in range(300):
        deep = {"in": [deep]}

    assert bodies.load(bodies.dump(deep)[0]) == deep


@pytest.mark.parametrize(
    "stored",
    [
        b'{"content":{"$opaque":["builtins.function","<f>"]}}',
        b'{"m":{"$model":["no.such:Thing",{"x":{"$bytes":"aGk="}}]}}',
    ],
)
def test_what_was_loaded_dumps_as_it_was(stored):
    """Reading a journal and writing it again gives the same bytes."""
    assert bodies.dump(bodies.load(stored)) == (stored, [])
