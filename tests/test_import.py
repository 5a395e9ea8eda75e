"""`autogen-persist import`: whole files, once."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone

import pytest
from typer.testing import CliRunner

from autogen_persist import Store
from autogen_persist.cli import import_
from autogen_persist.cli.main import app
from autogen_persist.memory.recall import Search

LINES = (
    {"role": "user", "name": "alpha", "content": "Is the bridge open?",
     "at": "2024-05-06T12:00:00Z"},
    {"role": "assistant", "name": "bravo", "content": "It is closed.", "at": 1715000000},
    {"role": "user", "content": "Ü 桥", "at": "2024-05-07"},
)  # fmt: skip


def run(*arguments):
    return CliRunner().invoke(app, ["import", *map(str, arguments)])


def says(result):
    return " ".join(result.stderr.split())


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in LINES))
    return path


def messages(url, session="old"):
    with Store.open(url) as store:
        return store.messages(session)


def test_lines_become_messages(url, file):
    """Who said what, when; the rest of a line is in the message's body."""
    result = run(file, "--session", "old", "--url", url)

    assert result.exit_code == 0, result.stderr
    assert "3 messages in session old" in says(result)
    rows = messages(url)
    assert [(row.seq, row.speaker, row.text) for row in rows] == [
        (1, "alpha", "Is the bridge open?"), (2, "bravo", "It is closed."), (3, "user", "Ü 桥"),
    ]  # fmt: skip
    assert rows[0].body == {key: LINES[0][key] for key in ("role", "name", "content")}
    assert rows[0].at == datetime(2024, 5, 6, 12, tzinfo=timezone.utc)
    assert rows[2].at == datetime(2024, 5, 7, tzinfo=timezone.utc)


def test_what_was_imported_is_recalled(url, file):
    """In the namespace that was asked for."""
    run(file, "--session", "old", "--namespace", "north", "--url", url)

    with Store.open(url) as store:
        hits = Search(store).recall("north", "which bridge?", limit=1)
    assert hits[0].text == "Is the bridge open?"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{not json", "Expecting property name"),
        ("[1]", "not a JSON object"),
        ('{"role": "user"}', 'its "content" is not a text'),
        ('{"content": "x"}', 'neither a "name" nor a "role"'),
        ('{"role": "a\\nb", "content": "x"}', 'neither a "name" nor a "role"'),
        ('{"role": "user", "content": "x", "at": "soon"}', "ISO time"),
        ('{"role": "user", "content": "x", "at": 1e99}', "ISO time"),
        ('{"role": "user", "content": "x", "at": true}', "ISO time"),
        ("[" * 100_000, "recursion"),
        (b'{"role": "user", "content": "\xff"}', "not UTF-8"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(sqlite_url, file, line, why):
    """All lines are checked before the first is written."""
    with file.open("ab") as end:
        end.write(b"\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n")

    result = run(file, "--session", "old", "--url", sqlite_url)

    assert result.exit_code == 2
    assert f"Line 5 of {file} is no message" in says(result)
    assert why in says(result)
    with Store.open(sqlite_url) as store:
        assert store.sessions() == []


def test_a_session_that_exists_is_left_alone(sqlite_url, file):
    """Unless --append says so."""
    run(file, "--session", "old", "--url", sqlite_url)

    again = run(file, "--session", "old", "--url", sqlite_url)
    assert again.exit_code == 2
    assert "--append" in says(again)
    assert len(messages(sqlite_url)) == 3

    assert run(file, "--session", "old", "--append", "--url", sqlite_url).exit_code == 0
    assert len(messages(sqlite_url)) == 6


def test_a_session_keeps_its_namespace(sqlite_url, file):
    """What is appended under another namespace would not be found there."""
    run(file, "--session", "old", "--url", sqlite_url)

    result = run(file, "--session", "old", "--append", "--namespace", "n", "--url", sqlite_url)

    assert result.exit_code == 2
    assert "is in namespace 'default'" in says(result)


@pytest.mark.parametrize("again", [(), ("--append",)])
def test_an_interrupted_import_is_finished_by_the_same_command(url, tmp_path, monkeypatch, again):
    """A kill between two transactions loses and doubles nothing."""
    monkeypatch.setattr(import_, "MOST_ROWS", 4)
    file = tmp_path / "long.jsonl"
    texts = [f"number {n}" for n in range(10)]
    file.write_text("\n".join(json.dumps({"role": "user", "content": text}) for text in texts))
    line = (file, "--session", "old", "--url", url)
    pid = os.fork()
    if pid == 0:
        from autogen_persist.store.journal import Journal

        original, left = Journal.append, [3]

        def append(self, drafts, **options):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return original(self, drafts, **options)

        Journal.append = append
        run(*line)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert len(messages(url)) == 4

    assert run(*line, *again).exit_code == 0

    assert [row.text for row in messages(url)] == texts


def test_a_missing_file_is_an_error(tmp_path):
    """Exit code 2, as for every wrong argument."""
    result = run(tmp_path / "none.jsonl", "--session", "old")

    assert result.exit_code == 2
    assert "does not exist" in says(result)
