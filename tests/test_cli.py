"""The command line: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autogen_persist import Store, __version__
from autogen_persist.cli.main import app
from autogen_persist.cli.terminal import clean
from autogen_persist.opening import open_session
from autogen_persist.store import engine
from autogen_persist.store.engine import open_engine, resolve
from autogen_persist.store.schema import VERSION_TABLE, wanted
from tests.support.shell import script

COMMANDS = (["db", "upgrade"], ["db", "current"], ["db", "check"], ["sessions"], ["show"], ["demo"],
            ["run"], ["replay"], ["answer"], ["learn"], ["learnings"], ["recall"],
            ["import"])  # fmt: skip
HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x9b2J [red]plain[/red] :smile: \x07\x08\r"
    "\u202eright to left\u202c \ud800 \x00 end"
)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def command(*arguments, **options):
    """The same in a process of its own."""
    environment = os.environ | options.pop("env", {})
    line = [sys.executable, "-m", "autogen_persist.cli", *map(str, arguments)]
    return subprocess.run(
        line, env=environment, capture_output=True, text=True, check=False, **options
    )


def execute(url, statement):
    engine = open_engine(resolve(url))
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


def says(result):
    return " ".join(result.stderr.split())


@pytest.fixture
def chats(url):
    """A database with two sessions, the second one active last."""
    with Store.open(url) as store:
        store.append("first", "coder", {"content": "one"})
        for text in ("hello", "two\nlines", "three"):
            store.append("second", "planner", {"content": text}, listener="coder")
    return url


@pytest.fixture
def journaled(sqlite_url):
    """A session with every kind of row."""
    call = {"name": "add", "arguments": json.dumps({"numbers": list(range(500)), "to": "x"})}
    with open_session("all", url=sqlite_url, process={"autogen": {"pyautogen": "0.9"}}) as session:
        place = {"listener": "manager", "audience": "group", "run": 1, "chat": "planner>manager"}
        session.event("run_started", {}, speaker="planner", listener="manager", run=1)
        session.message({"content": "Add them."}, speaker="planner", kind="text", **place)
        session.message({"content": "who next?"}, speaker="manager", kind="text",
                        internal=True, **place)  # fmt: skip
        session.message({"content": None, "tool_calls": [{"function": call}]},
                        speaker="coder", kind="tool_call", **place)  # fmt: skip
        session.message({"content": "y" * 900, "role": "tool",
                         "tool_responses": [{"role": "tool", "content": "y" * 900}]},
                        speaker="tester", kind="tool_result", **place)  # fmt: skip
        parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": "data:"}]
        session.message({"content": parts}, speaker="planner", kind="text", **place)
        session.event("clear_history", {}, speaker="coder", run=1)
        session.event("run_ended", {"reason": "max_round"}, speaker="planner", run=1)
    return sqlite_url


# Help and version.


def test_version_is_that_of_the_package():
    """--version prints one line."""
    assert run("--version").stdout == f"autogen-persist {__version__}\n"


@pytest.mark.parametrize("line", [[], *COMMANDS], ids=" ".join)
def test_every_help_has_an_example(line):
    """--help shows a line to copy."""
    assert f"Example: autogen-persist {' '.join(line)}" in run(*line, "--help").stdout


def test_autogen_is_not_imported_by_the_command_line():
    """Everything but the demo works without AutoGen, and starts fast."""
    code = "import autogen_persist.cli.main, sys; sys.exit('autogen' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# db.


def test_upgrade_says_from_where_to_where(tmp_path, new_postgres_url):
    """On both backends; the second time there is nothing to do."""
    for url in (f"sqlite:///{tmp_path}/new.db", new_postgres_url()):
        assert f"upgraded from none to {wanted()}" in run("db", "upgrade", "--url", url).stdout
        again = run("db", "upgrade", "--url", url)
        assert f"already at {wanted()}" in again.stdout
        assert again.exit_code == 0


def test_upgrade_uses_the_default_address(tmp_path, monkeypatch):
    """AUTOGEN_PERSIST_URL, else a file in the working directory."""
    run("db", "upgrade")
    assert (tmp_path / "autogen_persist.db").exists()

    monkeypatch.setenv("AUTOGEN_PERSIST_URL", str(tmp_path / "other.db"))
    run("db", "upgrade")
    assert (tmp_path / "other.db").exists()


def test_current_prints_the_version_alone(store):
    """A script can read it."""
    assert run("db", "current", "--url", _address(store)).stdout == f"{wanted()}\n"


def test_current_of_an_empty_database_is_none(tmp_path, new_postgres_url):
    """A database without a journal is no error."""
    (tmp_path / "empty.db").touch()
    for url in (tmp_path / "empty.db", new_postgres_url()):
        result = run("db", "current", "--url", url)
        assert (result.stdout, result.exit_code) == ("none\n", 0)


def test_check_agrees_after_an_upgrade(store):
    """Exit code 0 means: this release can use it."""
    result = run("db", "check", "--url", _address(store))
    assert result.exit_code == 0
    assert f"{wanted()} is current" in result.stdout


def test_check_of_an_empty_database_names_the_command(tmp_path, new_postgres_url):
    """Exit code 1, and what to do."""
    (tmp_path / "empty.db").touch()
    for url in (tmp_path / "empty.db", new_postgres_url()):
        result = run("db", "check", "--url", url)
        assert result.exit_code == 1
        assert "autogen-persist db upgrade --url" in says(result)


def test_check_finds_a_changed_table(store):
    """The version is right and a column is not there."""
    execute(_address(store), "ALTER TABLE persist_journal DROP COLUMN seal")
    result = run("db", "check", "--url", _address(store))
    assert result.exit_code == 1
    assert "add_column persist_journal.seal" in says(result)


def test_a_newer_schema_asks_for_a_newer_release(store):
    """Nothing is read or written that this release does not understand."""
    execute(_address(store), f"UPDATE {VERSION_TABLE} SET version_num='9999'")
    expected = {"upgrade": 2, "check": 1}
    for name, code in expected.items():
        result = run("db", name, "--url", _address(store))
        assert result.exit_code == code
        assert "pip install -U autogen-persist" in says(result)
    assert run("db", "current", "--url", _address(store)).stdout == "9999\n"
    assert run("sessions", "--url", _address(store)).exit_code == 2


def _address(store):
    return store.engine.url.render_as_string(hide_password=False)


# Errors.


@pytest.mark.parametrize("line", [["db", "current"], ["db", "check"], ["sessions"], ["show", "x"]],
                         ids=" ".join)  # fmt: skip
def test_a_missing_file_is_an_error_and_stays_missing(line, tmp_path):
    """Reading creates nothing."""
    for address in (tmp_path / "none.db", f"sqlite:///file:{tmp_path}/none.db?uri=true"):
        result = run(*line, "--url", address)
        assert result.exit_code == 2
        assert f"There is no file {tmp_path}/none.db" in says(result)
        assert "autogen-persist db upgrade" in says(result)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_an_error(tmp_path):
    """The driver's complaint in one line."""
    (tmp_path / "notes.db").write_text("these are my notes, not a database " * 100)
    for line in (["db", "check"], ["db", "upgrade"], ["sessions"], ["show", "x"]):
        result = run(*line, "--url", tmp_path / "notes.db")
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "file is not a database" in result.stderr


def test_a_password_is_never_printed():
    """Neither where the server is away nor where the address is wrong."""
    for url in (
        "postgresql://me:secret@127.0.0.1:1/x",
        "postgresql://127.0.0.1:1/x?user=me&password=secret",
        "mysql://me:secret@host/x",
        "post://me:secret@[x",
    ):
        for line in (["db", "upgrade"], ["db", "check"], ["sessions"], ["show", "x"]):
            result = run(*line, "--url", url)
            assert result.exit_code == 2
            assert "secret" not in result.stdout + result.stderr


def test_a_traceback_is_only_for_those_who_ask(tmp_path):
    """One line on stderr and nothing on stdout; AUTOGEN_PERSIST_DEBUG=1 says where."""
    line = ("sessions", "--url", tmp_path / "none.db")
    plain = command(*line)
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (2, "", 1)
    assert "Traceback" not in plain.stderr
    assert "Traceback" in command(*line, env={"AUTOGEN_PERSIST_DEBUG": "1"}).stderr


def test_errors_are_red_on_a_terminal(tmp_path):
    """And only there."""
    line = ("sessions", "--url", tmp_path / "none.db")
    assert "\x1b[31m" in command(*line, env={"FORCE_COLOR": "1", "TERM": "xterm"}).stderr
    assert "\x1b" not in command(*line).stderr


def test_a_wrong_session_id_offers_the_nearest(chats):
    """Typing errors are the usual reason."""
    result = run("show", "secnod", "--url", chats)
    assert result.exit_code == 2
    assert "Did you mean second?" in says(result)


# sessions.


def test_sessions_are_listed_newest_first(chats):
    """With their numbers."""
    lines = run("sessions", "--url", chats).stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["session", "messages", "runs"], ["second", "3", "0"], ["first", "1", "0"],
    ]  # fmt: skip


def test_sessions_as_json_are_one_document_per_line(chats):
    """Times are ISO 8601 in UTC."""
    found = [
        json.loads(line) for line in run("sessions", "--url", chats, "--json").stdout.splitlines()
    ]
    assert [(each["id"], each["messages"]) for each in found] == [("second", 3), ("first", 1)]
    assert found[0]["created"].endswith("+00:00")


def test_no_session_is_no_error(store):
    """Nothing on stdout, a remark on stderr."""
    result = run("sessions", "--url", _address(store))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "holds no session yet" in says(result)


def test_a_long_id_stays_whole_in_a_pipe(sqlite_url):
    """It is there to be copied."""
    with Store.open(sqlite_url) as store:
        store.append("x" * 200, "coder", {"content": "hi"})
    assert "x" * 200 in run("sessions", "--url", sqlite_url).stdout


# show.


def test_show_prints_who_said_what(chats):
    """Number, speaker, listener, time and text."""
    lines = run("show", "second", "--url", chats).stdout.splitlines()
    assert re.fullmatch(r"   1 planner → coder  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", lines[0])
    assert lines[1] == "     hello"
    assert re.fullmatch(r"   2 planner → coder  \d\d:\d\d:\d\d", lines[2])
    assert lines[3:5] == ["     two", "     lines"]


def test_show_has_runs_as_rules(journaled):
    """Begun, cleared, ended and why."""
    rules = [line for line in run("show", "all", "--url", journaled).stdout.splitlines()
             if line.startswith("──")]  # fmt: skip
    titles = [rule.strip("─ ") for rule in rules]
    assert titles[0].startswith("process ")
    assert titles[1:] == ["run 1 · planner → manager", "coder forgot its history",
                          "run 1 ended: max round"]  # fmt: skip
    assert {len(rule) for rule in rules} == {80}


def test_show_hides_internal_chatter_unless_asked(journaled):
    """And says that it did."""
    hidden = run("show", "all", "--url", journaled).stdout
    assert "who next?" not in hidden
    assert "1 internal message hidden; --internal shows them" in hidden

    asked = run("show", "all", "--url", journaled, "--internal").stdout
    assert "manager (internal)" in asked
    assert "who next?" in asked


def test_show_shortens_tool_calls_and_results(journaled):
    """A line each, whatever their size."""
    lines = run("show", "all", "--url", journaled).stdout.splitlines()
    (call,) = [line for line in lines if "add(" in line]
    (result,) = [line for line in lines if "yyy" in line]
    assert re.fullmatch(r'     ▸ add\(numbers=\[0, 1, .*…, to="x"\)', call)
    assert len(call) < 100
    assert result.startswith("     ◂ yyy")
    assert len(result) < 320


def test_show_names_parts_that_are_not_text(journaled):
    """An image is a word in brackets."""
    lines = run("show", "all", "--url", journaled).stdout.splitlines()
    assert lines[lines.index("     Look:") + 1] == "     [image_url]"


def test_show_says_that_a_run_has_no_end(sqlite_url):
    """As after a kill."""
    with open_session("s", url=sqlite_url) as session:
        session.event("run_started", {}, speaker="a", listener="b", run=1)
    assert "run 1 has no end" in run("show", "s", "--url", sqlite_url).stdout


def test_show_after_a_number_begins_behind_it(chats, journaled):
    """Events that follow the message included; after the last there is nothing."""
    assert "   1 " not in (rest := run("show", "second", "--url", chats, "--after", 1).stdout)
    assert "   2 " in rest
    assert run("show", "second", "--url", chats, "--after", 99).stdout == ""
    assert run("show", "all", "--url", journaled, "--after", 5).stdout.count("──\n") == 2


def test_show_as_json_is_the_journal(journaled):
    """One document per row, in order, with the body unchanged."""
    output = run("show", "all", "--url", journaled, "--json", "--internal").stdout
    found = [json.loads(line) for line in output.splitlines()]
    with Store.open(journaled) as store:
        rows = store.rows("all")
    assert set(found[0]) == {"seq", "pos", "run", "chat", "kind", "speaker", "listener",
                             "audience", "internal", "at", "body"}  # fmt: skip
    assert [each["body"] for each in found] == [row.body for row in rows]
    assert [each["at"] for each in found] == [row.at.isoformat() for row in rows]
    assert sum(each["internal"] for each in found) == 1


def test_show_as_json_has_a_form_for_what_json_lacks(sqlite_url):
    """Bytes, tuples and infinities are tagged as they are stored."""
    with Store.open(sqlite_url) as store:
        store.append("s", "coder", {"content": b"hi", "more": (1, float("inf"))})
    body = json.loads(run("show", "s", "--url", sqlite_url, "--json").stdout)["body"]
    assert body == {"content": {"$bytes": "aGk="}, "more": {"$tuple": [1, {"$float": "inf"}]}}


def test_show_leaves_effects_out(sqlite_url):
    """A transcript is what was said; --json has every row."""
    with open_session("s", url=sqlite_url) as session:
        session.write_effect(
            "intent", "model", {"digest": "x", "n": 1}, agent="coder", run=0, chat=""
        )
    assert "model" not in run("show", "s", "--url", sqlite_url).stdout
    assert '"kind": "model"' in run("show", "s", "--url", sqlite_url, "--json").stdout


# run. What it resumes and replays is tested by killing it, in tests/crash.

CHAT = """
one, two = scripted("alpha", "Yes."), scripted("bravo", "No.")
one.initiate_chat(two, message="First", max_turns=2)
import os
if "die" in sys.argv: os.kill(os.getpid(), 9)
one.initiate_chat(two, message="Second", max_turns=1)
"""


def on_a_terminal(*arguments):
    """What a person sees of standard output."""
    mine, theirs = pty.openpty()
    line = [sys.executable, "-m", "autogen_persist.cli", *arguments]
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL) as child:
        os.close(theirs)
        seen = b""
        try:
            while more := os.read(mine, 10_000):
                seen += more
        except OSError:  # the terminal is gone with its last process
            os.close(mine)
    return child.returncode, seen.decode()


def test_run_says_how_to_go_on(tmp_path):
    """At its start how it is resumed, at its end what can be done with a complete session."""
    done = command("run", "--session", "my chat", "--url", "a b.db", script(CHAT), "x y")
    assert done.returncode == 0
    first, last = done.stderr.splitlines()[1], done.stderr.splitlines()[-1]
    assert first == "resume: autogen-persist run --url 'a b.db' --session 'my chat' team.py 'x y'"
    assert "Session my chat is complete." in last
    assert "--session 'my chat' --again team.py 'x y'" in last
    assert "--replay" in last


def test_a_new_session_is_resumed_by_the_name_it_got(sqlite_url):
    """The hint holds all that is needed."""
    done = command("run", "--url", sqlite_url, "-m", "team", cwd=Path(script(CHAT)).parent)
    assert re.search(r"resume: .* --session [0-9a-f-]{36} -m team\n", done.stderr)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://me@db/chats", "autogen-persist show s --url postgresql://me@db/chats"),
        ("postgresql://me:secret@db/chats", "AUTOGEN_PERSIST_URL=… autogen-persist show s"),
        ("/var/chats.db", "autogen-persist show s --url /var/chats.db"),
        (None, "autogen-persist show s"),
    ],
)
def test_a_line_to_type_again_needs_no_more_than_it_has(url, expected):
    """The address in its shortest form; a password is left to the environment."""
    assert engine.command("show", "s", url=engine.shown(resolve(url))) == expected


def test_a_terminal_sees_one_line_for_what_was_said_before(sqlite_url):
    """The rest is new. A pipe gets everything."""
    line = ("run", "--session", "s", "--url", sqlite_url, script(CHAT))
    assert on_a_terminal(*line, "die")[0] == -9
    code, seen = on_a_terminal(*line)
    assert code == 0
    assert seen.startswith("… 4 messages replayed from the journal\r\n")
    assert seen.count("First") == 0
    assert seen.count("Second") == 1
    assert command("replay", "s", "--url", sqlite_url, "team.py").stdout.count("First") == 1


# Hostile content.


def test_a_message_cannot_steer_the_terminal(sqlite_url):
    """No escape, no control character, no turned text gets out; markup is printed as it is."""
    function = {"name": HOSTILE, "arguments": json.dumps({HOSTILE: HOSTILE})}
    body = {"content": HOSTILE, "tool_calls": [{"function": function}]}
    with open_session("s", url=sqlite_url) as session:
        session.message(body, speaker=HOSTILE, listener=HOSTILE, audience="peer", kind="text")
        session.message({"role": "tool", "content": HOSTILE}, speaker="coder", listener="x",
                        audience="peer", kind="tool_result")  # fmt: skip
        session.event("run_ended", {"reason": HOSTILE, "error": HOSTILE})

    for extra in ((), ("--json",)):
        result = command("show", "s", "--url", sqlite_url, *extra)
        assert result.returncode == 0
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", result.stdout)
        assert result.stdout.count("[red]plain[/red] :smile:") >= 5


def test_a_coloured_transcript_has_only_our_colours(sqlite_url):
    """On a terminal too, a message brings no escape of its own."""
    with Store.open(sqlite_url) as store:
        store.append("s", "coder", {"content": HOSTILE + "\x1b[5m\x1b[8mhidden"})
    shown = command("show", "s", "--url", sqlite_url, env={"FORCE_COLOR": "1", "TERM": "xterm"})
    assert "\x1b[1;36mcoder" in shown.stdout
    codes = set(re.findall("\x1b(.*?m)", shown.stdout))
    assert codes <= {"[0m", "[2m", "[1;36m"}
    assert "hidden" in shown.stdout


def test_clean_shows_what_it_disarms():
    """Colours vanish, other control characters leave a picture, line ends become one."""
    assert clean("a\x1b[1;31mb\x1b[m") == "ab"
    assert clean("\x1b]8;;http://x\x07link") == "␛]8;;http://x␇link"
    assert clean("a\r\nb\rc\u2028d\te") == "a\nb\nc\nd\te"
    assert clean("\udcff\x90") == "\ufffd\ufffd"
    assert clean("👩‍💻 שלום") == "👩‍💻 שלום"


def test_a_huge_message_is_cut_and_says_so(sqlite_url):
    """Five megabytes do not scroll by; JSON has them all."""
    with Store.open(sqlite_url) as store:
        store.append("s", "coder", {"content": "x" * 5_000_000})
    result = run("show", "s", "--url", sqlite_url)
    assert len(result.stdout) < 25_000
    assert "4,980,000 more characters: see --json" in result.stdout
    assert len(run("show", "s", "--url", sqlite_url, "--json").stdout) > 5_000_000


# Pipes and encodings.


@pytest.mark.parametrize("extra", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("lines", [0, 2])
def test_a_reader_that_leaves_is_no_error(extra, lines, sqlite_url):
    """`| head` ends quietly, whether much or nothing was read."""
    with Store.open(sqlite_url) as store:
        for _ in range(5):
            store.append("s", "coder", {"content": "x" * 100_000})
    line = [sys.executable, "-m", "autogen_persist.cli", "show", "s", "--url", sqlite_url, *extra]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as show:
        for _ in range(lines):
            show.stdout.readline()
        show.stdout.close()
        assert show.stderr.read() == ""


def test_a_terminal_without_utf8_gets_escapes(sqlite_url):
    """Nothing fails because a character is missing there."""
    with Store.open(sqlite_url) as store:
        store.append("s", "coder", {"content": "naïve 🎉"})
    shown = command("show", "s", "--url", sqlite_url, env={"PYTHONIOENCODING": "ascii"})
    assert shown.returncode == 0
    assert "na\\xefve \\U0001f389" in shown.stdout


def test_a_pipe_gets_whole_lines_and_a_terminal_wrapped_ones(sqlite_url):
    """grep finds words that a terminal would break."""
    text = "word " * 60 + "end"
    with Store.open(sqlite_url) as store:
        store.append("s", "coder", {"content": text})
    assert f"     {text}\n" in command("show", "s", "--url", sqlite_url).stdout

    terminal = {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "60"}
    wrapped = command("show", "s", "--url", sqlite_url, env=terminal).stdout
    plain = re.sub("\x1b\\[[0-9;]*m", "", wrapped).splitlines()
    assert max(map(len, plain)) <= 60


def test_python_m_is_the_command(tmp_path):
    """For where scripts are not on the path."""
    shown = command("--version", cwd=Path(tmp_path))
    assert shown.stdout == f"autogen-persist {__version__}\n"
