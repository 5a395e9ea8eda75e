"""Keys, tokens and passwords are never learnt."""

from __future__ import annotations

import pytest

from autogen_persist.memory.rules import rules
from autogen_persist.memory.secrets import holds_secret

from .transcript import talk

SECRETS = [
    "sk-proj-a8Fj29fKd02Lsm4Qz81Xb77",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefGHIJ",
    "postgres://app:s3cret@db.internal:5432/prod",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0",
    "Authorization: Bearer abcdefghijklmnop1234",
    "-----BEGIN RSA PRIVATE KEY-----",
    "the password is hunter2",
    "password: correct horse",
    "PASSWORD=abc",
    "the API key lives in the drawer",
    "Zx81kQ0pLm3vT7yR2wB9cD4e",
]
HARMLESS = [
    "We use API keys instead of sessions because the clients are scripts.",
    "Passwords are hashed with argon2.",
    "The token expired because the clock was wrong.",
    "See https://example.com/docs/page?id=12 for more.",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "test_that_a_very_long_function_name_is_fine_v2",
    "The password is required.",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_sentence_with_a_secret_is_dropped(text):
    """Whatever else it says, and also where to find it."""
    assert holds_secret(text)
    assert rules(talk(("coder", f"We decided to use {text} because it is easy."))) == []


@pytest.mark.parametrize("text", HARMLESS)
def test_speaking_of_secrets_is_no_secret(text):
    """A design decision about tokens is worth keeping."""
    assert not holds_secret(text)


def test_the_sentence_beside_a_secret_is_kept():
    """Only the sentence that holds it is dropped."""
    said = talk(("coder", "The password is hunter2. We chose Redis because the team knows it."))
    assert [c.content for c in rules(said)] == ["We chose Redis because the team knows it."]


def test_a_private_key_over_many_lines_leaves_nothing():
    """The lines of a key are not sentences."""
    key = "-----BEGIN PRIVATE KEY-----\nwe decided to use\nbecause MIIE\n-----END PRIVATE KEY-----"
    assert rules(talk(("coder", f"{key}\nBye."))) == []
